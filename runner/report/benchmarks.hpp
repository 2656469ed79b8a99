#pragma once

#include "cli/selection.hpp"
#include "record/record.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// Google Benchmark's own command line. It takes the flags that it knows. Throws UsageError for a flag that it refuses.
///
/// Google Benchmark runs the loop over the cases, and each case is one iteration. So repetitions, their aggregates and
/// all flags of its reporters work. The interface of a benchmark's body is the same in all versions. The interface of
/// the runs that a reporter gets is not (`error_occurred` of 1.7 is `skipped` in 1.8).
class GoogleBenchmark {
 public:
  /// `flags` are the "--benchmark_..." arguments.
  GoogleBenchmark(const std::string& program, const std::vector<std::string>& flags);

  std::string filter() const;
  /// Prints the names of the cases where only these are asked for, and returns whether they are.
  bool lists(const std::vector<Case>& plan) const;
  /// Whether its own reporter prints the results, in a format that was asked for.
  bool prints_results() const;

  /// Registers every case as one benchmark of a single iteration with manual time, whose body is `body`: the whole
  /// protocol runs inside, and the iteration's time is the median. Runs them all; lines that aggregate repetitions go
  /// to `note`.
  void run(const std::vector<Case>& plan, const std::function<Record(const Case&)>& body,
           const std::function<void(const std::string&)>& note) const;

 private:
  /// The value of a flag: "" when it is given without one.
  std::optional<std::string> flag(std::string_view name) const;

  std::vector<std::string> flags_;
  std::vector<std::string> words_;  ///< with the program: Google Benchmark keeps a pointer to its name
};

}  // namespace sgemm
