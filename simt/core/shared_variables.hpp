#pragma once

#include "simt/counter.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

/// The thread-local variables of the program. Those within functions are `__shared__` variables. The table has the
/// layout of every OS thread's copy.
class SharedVariables {
 public:
  struct Variable {
    std::string name;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    bool shared = false;
    bool placed = false;  ///< room for variables that get their places in each block: placed_variable_at()
  };

  /// Throws std::runtime_error where the program has no symbols.
  static const SharedVariables& of_program();
  std::size_t bytes() const { return words_.size() * sizeof(float); }
  const std::vector<Variable>& all() const { return variables_; }
  /// The variable that the word at `offset` belongs to, or null.
  const Variable* at(std::size_t offset) const;

 private:
  SharedVariables();

  std::vector<Variable> variables_;
  std::vector<std::uint16_t> words_;  ///< of every 4 bytes, 1 + an index in variables_, or 0
};

}  // namespace simt
