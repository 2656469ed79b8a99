#pragma once

// The floating-point operations in the program's machine code.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace simt {

/// An instruction that computes, and how many operations it makes: one for each value it adds, subtracts, multiplies or
/// divides, two for one it multiplies and adds. A call of fma() is one as well.
struct FlopInstruction {
  const void* code = nullptr;
  unsigned flops = 0;
};

using Instructions = std::vector<FlopInstruction>;

/// The instructions behind each of the trace calls that return to `codes` (in order, all in one file), up to the next
/// such call. Nothing where objdump (binutils) is missing or the processor is not an x86-64.
std::optional<std::vector<Instructions>> flops_behind(std::span<const void* const> codes);

}  // namespace simt
