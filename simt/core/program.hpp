#pragma once

// The running program and what it has loaded: where they lie in memory, and which source lines their code comes from.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace simt {

/// Where a piece of the program lies in memory, which is the program itself or a shared object that it has loaded.
struct Program {
  std::string path;  ///< of its file; empty where that can not be told
  std::uintptr_t base = 0;
  std::uintptr_t code_begin = 0;
  std::uintptr_t code_end = 0;
  const std::byte* thread_local_data = nullptr;  ///< this OS thread's copy
  std::size_t thread_local_bytes = 0;

  /// The program itself.
  static Program find();
  /// The piece that the code belongs to; the program itself where none is known.
  static Program of(const void* code);
  /// The address in the file of a code address in memory.
  std::uintptr_t in_file(const void* code) const { return reinterpret_cast<std::uintptr_t>(code) - base; }
};

/// Whether the program, or what it has loaded, has data there that its code may use without being told of: constants
/// and tables of virtual functions, which are read, and variables of templates.
bool is_data_of_program(const void* address, bool write);

/// The lines that a shell command prints; empty if it can not be run.
std::vector<std::string> output_of(const std::string& command);

/// A place in a source file; line 0 where it is not known.
struct SourcePlace {
  std::string function;
  std::string file;
  unsigned line = 0;
};

/// For each code address, the place that it was compiled from, then the place into which that was inlined, and so on
/// outwards. Empty if the program has no debug information or addr2line (binutils) is missing.
std::vector<std::vector<SourcePlace>> source_places(std::span<const void* const> codes);

/// The function of the first of these codes that belongs to a kernel and does not only lead there, with all that was
/// inlined into it. Empty where there is none, or where nothing is known about them.
std::string first_kernel(std::span<const void* const> codes);

/// "file:line in function, called at ..." of the instruction before `code`.
std::string source_line(const void* code);

}  // namespace simt
