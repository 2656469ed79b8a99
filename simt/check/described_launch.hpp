#pragma once

// A launch as a comment or the command line describes it:
//
//     n = 1000; saxpy<<<(n + 127) / 128, 128>>>(n, 2.0f, in x[n], inout y[n])

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace simt {

/// "in float x[m][k] = i % 7"
struct ArrayDescription {
  std::string use;   ///< "in", "out", "inout"
  std::string type;  ///< or empty
  std::string name;
  std::vector<std::string> extents;
  std::string element;  ///< in terms of its index i, or empty
};

struct LaunchDescription {
  struct Argument {
    std::string expression;  ///< an array's name
    std::optional<ArrayDescription> array;
  };

  std::string file;  ///< in which it stands
  int line = 1;
  std::vector<std::pair<std::string, std::string>> sizes;  ///< names and values
  std::string callee;                                      ///< a kernel with its template arguments, or a function
  std::vector<std::string> configuration;                  ///< of a kernel; empty for a function
  std::vector<Argument> arguments;

  /// "saxpy<<<(n + 127) / 128, 128>>>"
  std::string heading() const;
};

class BadDescription : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws BadDescription.
LaunchDescription described_launch(const std::string& text, const std::string& file, int line);

/// Plain CUDA: a function of that name, which makes the arrays by a DescribedArrays and launches.
std::string function_of(const LaunchDescription& launch, const std::string& name);

}  // namespace simt
