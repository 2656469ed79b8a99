#pragma once

#include "simt/counter.hpp"
#include "watch/program.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

/// The thread-local variables of the program and of the library that launches come from, of which `__shared__` ones are
/// those within functions. The table has the layout of every OS thread's copy.
class SharedVariables {
 public:
  struct Variable {
    std::string name;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool shared = false;
  };

  /// Those for launches from Program::current(). Throws std::runtime_error where it has no symbols.
  static const SharedVariables& current();
  /// Where the table begins in this OS thread.
  const std::byte* begin() const { return Program::thread_local_data() + distance_; }
  std::size_t bytes() const { return words_.size() * sizeof(float); }
  const std::vector<Variable>& all() const { return variables_; }
  /// The variable that the word at `offset` belongs to, or null.
  const Variable* at(std::size_t offset) const;

 private:
  explicit SharedVariables(const Program& program);
  /// Adds the variables of an object, found in its file.
  void add(const Program& program);

  std::ptrdiff_t distance_ = 0;  ///< from the program's own variables to the begin of the table
  std::vector<Variable> variables_;
  std::vector<std::uint16_t> words_;  ///< of every 4 bytes, 1 + an index in variables_, or 0
};

}  // namespace simt
