#pragma once

// The floating-point operations in the program's machine code.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace simt {

/// An instruction that computes, and its number of operations: one for each value that it adds, subtracts, multiplies
/// or divides, and two for each multiply-add.
struct FlopInstruction {
  const void* code = nullptr;
  unsigned flops = 0;
};

using Instructions = std::vector<FlopInstruction>;

/// The instructions behind each of the trace calls that return to `codes` (in order), up to the next such call. Nothing
/// if objdump (binutils) is missing or the processor is not an x86-64.
std::optional<std::vector<Instructions>> flops_behind(std::span<const void* const> codes);

}  // namespace simt
