#pragma once

// What the text of a .cu file says, for programs that take files of others: its functions, comments and words, and the
// parts of a launch. Words, brackets, comments and literals are read, and no more: a preprocessor comes first.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simt {

struct Parameter {
  std::string type;  ///< words and signs as written, separated by single spaces: "const float *"
  std::string name;  ///< empty where it has none
  bool has_default = false;
};

/// A function that a source file defines outside of classes, or a static one.
struct Function {
  std::string name;  ///< with the namespaces it is in: "mine::saxpy"
  std::string file;  ///< that a preprocessor's line marker names; or empty
  int line = 0;      ///< where its name stands
  int first_line = 0;
  int last_line = 0;
  std::size_t begin = 0;   ///< where its definition lies in Source::code
  std::size_t end = 0;     ///< behind its last brace
  bool is_kernel = false;  ///< __global__
  bool is_device = false;  ///< __device__, and not __host__
  bool is_method = false;  ///< of a class, which is in its name, and not static
  std::vector<Parameter> template_parameters;
  std::vector<Parameter> parameters;

  /// Whether it is a template that can not be named without arguments.
  bool needs_template_arguments() const;
  /// "name(int M, const float * A)", as a message shows it.
  std::string signature() const;
};

/// A comment, or what one says to a program.
struct Comment {
  std::string text;  ///< without the signs that make it a comment
  int line = 0;
  std::string file = {};  ///< as that of a function
};

struct Source {
  std::vector<Function> functions;
  std::vector<Comment> comments;
  std::vector<std::string> words;  ///< all identifiers, sorted
  std::string code;  ///< the text with a space in place of comments, literals and headers that are not the user's
  std::vector<std::filesystem::path> files;  ///< of read_file(): the user's own, as Translation has them
  std::vector<std::string> missing;          ///< likewise

  bool has_word(std::string_view word) const;
  /// What stands behind "word:" in the comments that begin so. One of several lines is read to the end of its
  /// parentheses.
  std::vector<Comment> directives(std::string_view word) const;
};

Source read_source(std::string_view text);

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

}  // namespace simt
