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

/// A launch to start from, in words of a launch line: the file's own, as far as it depends on the problem's extents
/// alone, and else that of a kernel that computes an element a thread.
struct Launching {
  std::string kernel;  ///< with its template arguments; empty where the file does not tell
  std::string configuration;
  Reading reading;  ///< which requires that extents are equal for which the file passes one number
};

/// A file's text with all that it includes, for questions about what its functions do.
class Code {
 public:
  /// What a class has.
  struct Class {
    std::vector<simt::Parameter> members;  ///< of the type "private" where they are not public
    bool plain = false;                    ///< and nothing else
  };

  explicit Code(const simt::Source& source);

  /// Whether it makes a tensor for its result.
  bool returns_tensor(const simt::Function& function) const;

  /// Whether it launches a kernel, or calls what does, and leaves the product to it.
  bool launches(const simt::Function& function) const;

  /// Whether it does so, but leaves in an array that it takes what it, or a reference that it calls, computes: all of
  /// the product or a part.
  bool computes(const simt::Function& function) const;

  /// Why no kernel is a matrix product: all go over arrays side by side. Or empty, where any might be part of one.
  std::string why_no_product() const;

  /// "; HEADER, which it includes, has kernels" where that is so, behind a file without any.
  std::string kernels_elsewhere() const;

  /// The parameter over which the function's product is summed: the only one that bounds a loop of the kernel that it
  /// launches, or the only one that its grid does not depend on. Empty where that does not tell.
  std::string summed_extent(const simt::Function& function) const;

  /// How the matrices of a function of tensors lie, by the names that it gives their extents ("int N = B.size(0);"),
  /// and the distance of rows of a kernel without sizes, where it has one only ("a[row * 256 + k]").
  Extents extents_of(const simt::Function& function) const;

  /// Whether the file may have arrays besides those that its kernels take.
  bool keeps_arrays() const;

  /// "Matrix, whose members are not all public", where a launch line can not make the class that the kernel takes; or
  /// empty.
  std::string why_closed(const simt::Parameter& parameter) const;

  /// Whether a function has a word of this pattern.
  bool says(const simt::Function& function, const std::string& pattern) const {
    return std::regex_search(body_of(function), std::regex("\\b" + pattern));
  }

  /// The file's launches of the kernel, for one that passes it what the reading says; without any, one that is likely.
  std::vector<Launching> launches_of(const simt::Function& kernel, const Reading& reading) const;

  /// The function with its types as aliases and classes of the file have them, and with `float` for the type that it is
  /// a template over, where that is all that it is a template over; else with the arguments that the file calls it
  /// with.
  simt::Function instance_of(const simt::Function& function) const;

 private:
  /// A call or a launch of a function.
  struct Call {
    const simt::Function* caller = nullptr;
    std::string template_arguments;  ///< "<64, 8>"
    std::string configuration;       ///< "grid, block"; empty for a call
    Words arguments;
    std::string before;  ///< what stands before it in the caller's body
  };

  std::map<std::string, Class>::const_iterator class_of(const simt::Parameter& parameter) const;
  void read_classes();
  void find_launches();
  void find_products_of_the_host();
  /// What a host function computes by itself as a sum of products of elements: variables, and arrays by their names.
  std::set<std::string> computed_by(const simt::Function& function) const;
  /// Whether a kernel combines elements of its arrays with those at the same place alone.
  bool reads_in_place(const simt::Function& kernel) const;
  simt::Function with_plain_types(simt::Function function) const;
  /// With the members of classes of matrices or of extents, as "Class* parameter.member", or "Class(data rows)*
  /// parameter.rows" where a class is not plain, in place of the classes.
  simt::Function unfolded(simt::Function function) const;
  std::vector<Call> calls_of(const simt::Function& function) const;
  Launching launching_of(const simt::Function& kernel, const Call& call, Reading reading) const;
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
  std::string outside_;                         ///< of functions, shortened
  std::map<std::string, Class> classes_;        ///< by their names
  std::map<std::string, std::string> numbers_;  ///< that variables outside of functions are
  std::set<std::string> launching_;             ///< functions, macros and classes
  std::set<std::size_t> computing_;             ///< where functions begin that compute the product on the host
  std::set<std::string> constants_;             ///< and other variables outside of functions
};

}  // namespace sgemm
