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

/// How a file's product is started, in terms of M N K alpha beta A B C lda ldb ldc stream workspace.
struct UserLaunch {
  PlacedText statement;                   ///< "sgemm<<<grid, block>>>(M, N, K, A, B, C)", or a call of a host function
  std::optional<PlacedText> requirement;  ///< a condition on the problem, or nothing
  std::optional<PlacedText> workspace;    ///< its bytes, present exactly where the statement names it

  /// Whether the distance between rows is taken from lda, ldb and ldc. A launch without them knows no padding.
  bool uses_leading_dimensions() const;
};

/// What the command line says about files.
struct LaunchOptions {
  std::optional<std::string> launch;       ///< --launch
  std::optional<std::string> requirement;  ///< --requires
  std::optional<std::string> workspace;    ///< --workspace
};

/// The arguments of a product that a function's parameters stand for, by their names where these tell and else in the
/// usual order.
struct Arguments {
  std::vector<std::string> values;  ///< "M", "lda", "&alpha", "torch::from_blob(A, {M, K})", one for each parameter
  std::string requirement;          ///< what a function without some of them can not do, e.g. "beta == 0"; or empty
};

/// Nothing where the parameters are not those of a product in single precision.
std::optional<Arguments> arguments_for(const simt::Function& function);

/// The kernels with a launch line and the host functions with a usual signature, in the order of the file.
std::vector<std::string> launchable_functions(const simt::Source& source);

/// Finds how to launch the function or kernel `chosen` of the file `path`, or its only one where that is empty: from
/// `options`, then the file's own "// launch:", then a host function with a usual signature, which may be a template
/// over the type of the elements. Throws UsageError, with what the file has and a line to start from, where nothing
/// fits, and where the launch names a workspace of which nothing says how large it is.
UserLaunch find_launch(const simt::Source& source, const std::string& path, const std::string& chosen,
                       const LaunchOptions& options);

}  // namespace sgemm
