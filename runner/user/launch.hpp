#pragma once

#include "simt/source.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgemm {

/// C++ text and where it stands, for the compiler's messages.
struct PlacedText {
  std::string text;
  std::string file;  ///< "my.cu", "--launch"
  int line = 1;
};

constexpr std::string_view NAMES_OF_PROBLEM = "M N K alpha beta A B C lda ldb ldc batch stream workspace";

/// How a file's product is started, in terms of NAMES_OF_PROBLEM.
struct UserLaunch {
  PlacedText statement;                   ///< "sgemm<<<grid, block>>>(M, N, K, A, B, C)", or a call of a host function
  std::optional<PlacedText> requirement;  ///< a condition on the problem, or nothing
  std::optional<PlacedText> workspace = {};  ///< its bytes, present exactly where the statement names it
  bool as_written = false;                   ///< by a person, who knows the layout of the operands
  std::vector<UserLaunch> others = {};       ///< of the same function, to try before its product is called wrong

  /// Whether the distance between rows is taken from lda, ldb and ldc. A launch without them knows no padding.
  bool uses_leading_dimensions() const;
  bool takes_batches() const;
};

/// What the command line says about files.
struct LaunchOptions {
  std::optional<std::string> launch;       ///< --launch
  std::optional<std::string> requirement;  ///< --requires
  std::optional<std::string> workspace;    ///< --workspace
  std::vector<std::string> command;        ///< the whole command line, which proposals begin with
};

/// The kernels with a launch line and the host functions that launch, with parameters of a product, in the order of the
/// file `path`, which `source` has with all that it includes.
std::vector<std::string> launchable_functions(const simt::Source& source, const std::string& path);

/// Finds how to launch the function or kernel `chosen` of the file `path`, or its only one where that is empty: from
/// `options`, then the file's own "// launch:", then a host function that launches, which may be a template over the
/// type of the elements. Throws UsageError, with what the file has and command lines to choose from, where nothing fits
/// or names do not tell, and where the launch names a workspace of which nothing says how large it is.
UserLaunch find_launch(const simt::Source& source, const std::string& path, const std::string& chosen,
                       const LaunchOptions& options);

}  // namespace sgemm
