#pragma once

// The code that launches come from, the program's own or a library's: where it lies in memory, and which source lines
// it was compiled from.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace simt {

/// The program, or the library that launch_from_library() chose.
struct Program {
  std::string path;  ///< its file; empty where that can not be told
  std::uintptr_t base = 0;
  std::uintptr_t code_begin = 0;
  std::uintptr_t code_end = 0;
  /// Where its thread-local variables begin: in every OS thread so far behind those of the program itself.
  std::ptrdiff_t thread_local_distance = 0;
  std::size_t thread_local_bytes = 0;

  /// The one that launches come from.
  static const Program& current();
  /// The one that main() is in, which holds the executor.
  static const Program& itself();
  /// This OS thread's thread-local variables of the program itself.
  static const std::byte* thread_local_data();
  /// The address in the file of a code address in memory.
  std::uintptr_t in_file(const void* code) const { return reinterpret_cast<std::uintptr_t>(code) - base; }
};

/// The lines that a shell command prints. Empty where it can not be run.
std::vector<std::string> output_of(const std::string& command);

/// A place in a source file; line 0 where it is not known.
struct SourcePlace {
  std::string function;
  std::string file;
  unsigned line = 0;
};

/// For each code address the place it was compiled from, then the one that this was inlined into, and so on outwards.
/// Empty where the program has no debug information or addr2line (binutils) is missing.
std::vector<std::vector<SourcePlace>> source_places(std::span<const void* const> codes);

/// "file:line in function, called at ..." of the instruction before `code`.
std::string source_line(const void* code);

}  // namespace simt
