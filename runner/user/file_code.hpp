#pragma once

#include "user/readings.hpp"

#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>

namespace sgemm {

/// "saxpy" of "mine::saxpy".
std::string base_name(const std::string& name);

/// The code with one blank for each run of them, and only the begin of long statements and words: regular expressions
/// take a frame of the stack for each sign of what they repeat.
std::string shortened(std::string_view code);

/// The first group of every match.
Words all_matches(const std::string& text, const std::regex& pattern);

/// A file's text with all that it includes, for questions about what its functions do.
class Code {
 public:
  explicit Code(const simt::Source& source);

  /// Whether it makes a tensor for its result.
  bool returns_tensor(const simt::Function& function) const;

  /// Whether it launches a kernel, or calls what does.
  bool launches(const simt::Function& function) const;

  /// "; HEADER, which it includes, has kernels" where that is so, behind a file without any.
  std::string kernels_elsewhere() const;

  /// The parameter over which the function's product is summed: the only one that bounds a loop of the kernel that it
  /// launches, or the only one that its grid does not depend on. Empty where that does not tell.
  std::string summed_extent(const simt::Function& function) const;

  /// How the matrices of a function of tensors lie, by the names that it gives their extents ("int N = B.size(0);"),
  /// and the distance of rows of a kernel without sizes, where it has one only ("a[row * 256 + k]").
  Extents extents_of(const simt::Function& function) const;

  /// Whether a function has names out of a class, as in Config::TILE.
  bool has_members(const simt::Function& function, const std::string& name) const {
    return std::regex_search(body_of(function), std::regex("\\b" + name + R"(\s*::)"));
  }

  /// The kernel with its template arguments as the file's own launch of it has them, empty where that does not tell,
  /// and the configuration of a launch that passes it these values: the file's own in words of a launch line, as far as
  /// it depends on the problem's extents alone, and else that of a kernel that computes an element a thread. Where the
  /// file passes one number as several extents, the reading requires that they are equal.
  std::pair<std::string, std::string> launch_of(const simt::Function& kernel, Reading& reading) const;

  /// The function with its types as aliases and classes of the file have them, and with `float` for the type that it is
  /// a template over, where that is all that it is a template over; else with the arguments that the file calls it
  /// with.
  simt::Function instance_of(const simt::Function& function) const;

 private:
  simt::Function with_plain_types(simt::Function function) const;
  /// With the members of classes that have several matrices, as "Class.name", in place of the classes.
  simt::Function unfolded(simt::Function function) const;
  std::map<std::string, std::string> passed_to(const simt::Function& function) const;
  std::map<std::string, std::string> words_in(const simt::Function& function, const Words& arguments,
                                              Reading& reading) const;
  std::string in_words_of_problem(const std::string& expression, const std::string& body,
                                  const std::map<std::string, std::string>& extents, int depth) const;
  std::string configuration_of(const simt::Function& kernel, const std::string& block) const;
  const simt::Function* launched_by(const simt::Function& function, Words& arguments) const;
  std::string body_of(const simt::Function& function) const;

  const std::vector<simt::Function> functions_;
  const std::string text_;
  const std::string short_text_;
  std::map<std::string, std::vector<simt::Parameter>> classes_;  ///< of variables alone, by their names
  std::map<std::string, std::string> numbers_;                   ///< that variables outside of functions are
  std::set<std::string> launching_;                              ///< functions, macros and classes
  std::set<std::string> constants_;                              ///< and other variables outside of functions
};

}  // namespace sgemm
