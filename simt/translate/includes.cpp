// A file with all that it includes, translated.

#include "simt/plain_cuda.hpp"

#include "translate/translator.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace simt {
namespace {

namespace fs = std::filesystem;

/// Stand-ins for these are in include/simt/cuda/, or no header of that name is to be taken: CUDA's own would not
/// compile.
bool is_of_cuda(std::string_view name) {
  static constexpr std::array<std::string_view, 20> NAMES{"cooperative_groups.h",
                                                          "cooperative_groups/memcpy_async.h",
                                                          "cooperative_groups/reduce.h",
                                                          "cublas_v2.h",
                                                          "cuda.h",
                                                          "cuda/barrier",
                                                          "cuda/pipeline",
                                                          "cuda_bf16.h",
                                                          "cuda_fp16.h",
                                                          "cuda_fp8.h",
                                                          "cuda_pipeline.h",
                                                          "cuda_pipeline_primitives.h",
                                                          "cuda_profiler_api.h",
                                                          "cuda_runtime.h",
                                                          "cuda_runtime_api.h",
                                                          "curand.h",
                                                          "device_launch_parameters.h",
                                                          "mma.h",
                                                          "vector_functions.h",
                                                          "vector_types.h"};
  return std::ranges::find(NAMES, name) != NAMES.end();
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path)) {
    throw fs::filesystem_error("cannot read", path,
                               std::make_error_code(file ? std::errc::is_a_directory : std::errc::permission_denied));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

class Closure {
 public:
  Closure(const std::vector<fs::path>& include_folders, const fs::path& output)
      : include_folders_(include_folders), output_(fs::absolute(output)) {
    fs::create_directories(output_);
  }

  /// The translation's path.
  fs::path add(const fs::path& source) {
    const auto [known, is_new] = translations_.try_emplace(fs::canonical(source));
    if (!is_new) {
      return known->second;
    }
    // Files of the same name may come from different folders.
    const fs::path name =
        files_.empty() ? source.stem() += ".cpp" : fs::path(std::to_string(files_.size()) + '_') += source.filename();
    fs::path result = output_ / name;
    known->second = result;
    files_.push_back(source);
    const std::string text =
        translate_file(content_of(source), source.string(), [&](const std::string& name, bool quoted) {
          const std::optional<fs::path> found = find(name, quoted ? source.parent_path() : fs::path(), quoted);
          return found ? std::optional(add(*found).string()) : std::nullopt;
        });
    std::ofstream file(result, std::ios::binary);
    file << text;
    if (!file.flush()) {
      throw fs::filesystem_error("cannot write", result, std::make_error_code(std::errc::io_error));
    }
    return result;
  }

  std::vector<fs::path> files() && { return std::move(files_); }

 private:
  std::optional<fs::path> find(const std::string& name, const fs::path& own_folder, bool quoted) const {
    if (is_of_cuda(name)) {
      return std::nullopt;
    }
    std::vector<fs::path> folders = include_folders_;
    if (quoted) {
      folders.insert(folders.begin(), own_folder);
    }
    for (const fs::path& folder : folders) {
      const fs::path path = (folder / name).lexically_normal();
      if (fs::is_regular_file(path)) {
        return path;
      }
    }
    return std::nullopt;
  }

  const std::vector<fs::path>& include_folders_;
  const fs::path output_;
  std::map<fs::path, fs::path> translations_;  ///< by the sources' canonical paths
  std::vector<fs::path> files_;
};

}  // namespace

TranslatedFile translate_with_includes(const fs::path& source, const std::vector<fs::path>& include_folders,
                                       const fs::path& output) {
  if (!fs::exists(source)) {
    throw fs::filesystem_error("cannot read", source, std::make_error_code(std::errc::no_such_file_or_directory));
  }
  Closure closure(include_folders, output);
  const fs::path result = closure.add(source);
  return {result, std::move(closure).files()};
}

}  // namespace simt
