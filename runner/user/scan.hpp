#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

struct Parameter {
  std::string type;  ///< words and signs as written, separated by single spaces: "const float *"
  std::string name;  ///< empty where it has none
  bool has_default = false;
};

/// A function that a source file defines outside of classes.
struct Function {
  std::string name;  ///< with the namespaces it is in: "mine::sgemm"
  int line = 0;
  std::size_t begin = 0;   ///< where its definition lies in the source
  std::size_t end = 0;     ///< behind its last brace
  bool is_kernel = false;  ///< __global__
  std::vector<Parameter> template_parameters;
  std::vector<Parameter> parameters;

  /// Whether it is a template that can not be named without arguments.
  bool needs_template_arguments() const;
  /// "name(int M, const float * A)", as a message shows it.
  std::string signature() const;
};

/// A line of the file for the runner.
struct Directive {
  std::string text;
  int line = 0;
};

struct Scan {
  std::vector<Function> functions;
  std::vector<Directive> launches;      ///< "// launch: ..."
  std::vector<Directive> requirements;  ///< "// requires: ..."
  std::vector<Directive> workspaces;    ///< "// workspace: ..."
  std::vector<std::string> words;       ///< all identifiers, sorted

  bool has_word(std::string_view word) const;
};

/// Finds functions and the runner's comments in CUDA source text. It reads words, brackets, comments and literals, and
/// no more: macros stay as they are, and what is hidden in them is not found. A comment of several lines is read to the
/// end of its brackets.
Scan scan(std::string_view source);

/// The source with spaces in place of main(): what a program does around its kernel may need libraries, or another
/// version of CUDA. Lines stay where they are. A main() with preprocessor lines in it is left as it is, because its end
/// is not known.
std::string without_main(std::string_view source);

/// The parts of `text` between commas that no bracket, angle brackets included, encloses; without spaces around them.
std::vector<std::string> split_arguments(std::string_view text);

/// `text` without spaces around it.
std::string trimmed(std::string_view text);

/// The statements of `text` that no bracket encloses, with their semicolons. All of `text` is in one of them.
std::vector<std::string> split_statements(std::string_view text);

/// "name<T, 8><<<grid, block, smem, stream>>>(arguments)" taken apart.
struct LaunchParts {
  std::string kernel;                      ///< "name<T, 8>"
  std::vector<std::string> configuration;  ///< grid, block, bytes of dynamic shared memory, stream; two at least
  std::string arguments;                   ///< "(arguments)"
};

/// Nothing where `statement` is more, or something else, than a launch of a kernel by its name.
std::optional<LaunchParts> parts_of_launch(std::string_view statement);

}  // namespace sgemm
