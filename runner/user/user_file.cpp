#include "user/user_file.hpp"

#include "base/program.hpp"
#include "base/usage_error.hpp"
#include "base/words.hpp"
#include "user/compile.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <regex>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

namespace fs = std::filesystem;

/// Of the file and then of the others, one after the other.
std::string sha256_of(const std::string& path, const std::vector<fs::path>& files) {
  try {
    constexpr std::size_t DIGITS = 64;
    Words words{"sh", "-c", "cat -- \"$@\" | sha256sum", "sh", path};
    std::ranges::copy_if(files, std::back_inserter(words),
                         [&](const fs::path& file) { return file != fs::path(path).lexically_normal(); });
    const ProgramResult sum = run_program(words);
    return sum.status == 0 ? sum.output.substr(0, DIGITS) : "";
  } catch (const std::system_error&) {
    return "";
  }
}

std::string source_text(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw UsageError(fmt::format("there is no file {0}; {1} --new-kernel {0} writes one to start from", path,
                                 program_invocation_name));
  }
  if (!fs::is_regular_file(path, error) || access(path.c_str(), R_OK) != 0) {  // a pipe would wait for who writes
    throw UsageError(fmt::format("can not read {}: it is no regular file, or not readable", path));
  }
  std::string text = content_of(path);
  constexpr std::string_view BYTE_ORDER_MARK = "\xEF\xBB\xBF";  // compilers take it at a file's begin alone
  text.erase(0, text.starts_with(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.size() : 0);
  if (simt::trimmed(text).empty()) {
    throw UsageError(fmt::format("{} is empty: a kernel is expected in it", path));
  }
  static const std::regex PYTHON(R"(\s*(?:#!?[^\n]*python[^\n]*\n\s*)?(?:import \w+|from [\w.]+ import |\"\"\"))");
  const std::size_t fence = ("\n" + text).find("\n```");
  const bool has_cuda = has(text, "__global__") || has(text, "cuda");
  const std::array<std::pair<bool, const char*>, 6> others{{
      {text.starts_with("%%") || text.starts_with("!"),
       "begins with a notebook's line: it is none of CUDA, and has to go"},
      {text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"), "is in UTF-16, and has to be saved as UTF-8"},
      {std::regex_search(text, PYTHON, std::regex_constants::match_continuous),
       "is written in Python: the text of its kernel has to be in a file of its own"},
      {fence < std::min(text.find("/*"), text.find("R\"")),
       "is Markdown: its kernel, between the lines of ```, has to be in a file of its own"},
      {!has_cuda && (has(text, "__kernel ") || has(text, "__global ")),
       "is written in OpenCL C: what runs here has CUDA's words"},
      {(has(text, "include <hip/hip_runtime") || has(text, "include \"hip/hip_runtime")) &&
           !has(text, "cuda_runtime") && !has(text, "cudaM"),
       "is written for HIP: what runs here has CUDA's names"},
  }};
  for (const auto& [is_other, what] : others) {
    if (is_other) {
      throw UsageError(fmt::format("{} {}", path, what));
    }
  }
  return text;
}

}  // namespace

bool names_file(std::string_view term) {
  const std::string path = parse_file_term(term).path;
  std::error_code error;
  return path.ends_with(".cu") || path.ends_with(".cuh") || path.find('/') != std::string::npos ||
         fs::is_regular_file(path, error);
}

FileTerm parse_file_term(std::string_view term) {
  std::error_code error;
  const std::size_t colon = term.rfind(':');
  // "my.cu:mine::sgemm": the colon that ends the file's name is the first behind its ending.
  for (const std::string_view ending : {".cu:", ".cuh:"}) {
    const std::size_t at = term.find(ending);
    if (at != std::string_view::npos) {
      return {std::string(term.substr(0, at + ending.size() - 1)), std::string(term.substr(at + ending.size()))};
    }
  }
  if (colon != std::string_view::npos && !fs::exists(term, error) &&
      fs::is_regular_file(term.substr(0, colon), error)) {
    return {std::string(term.substr(0, colon)), std::string(term.substr(colon + 1))};
  }
  return {std::string(term), ""};
}

std::vector<FileTerm> single_functions(const FileTerm& term, const LaunchOptions& launch, Target target,
                                       const CompileOptions& options) {
  if (term.function != "*") {
    return {term};
  }
  if (launch.launch) {
    throw UsageError(fmt::format("--launch starts one kernel, and {}:* is all of a file", term.path));
  }
  const simt::Source source = read_code(term.path, source_text(term.path), target, options);
  std::vector<FileTerm> terms;
  for (const std::string& function : launchable_functions(source, term.path)) {
    terms.push_back({term.path, function});
  }
  return terms.empty() ? std::vector<FileTerm>{{term.path, ""}} : terms;  // reading the file says what it has instead
}

UserFile read_user_file(const FileTerm& term, const LaunchOptions& launch, Target target,
                        const CompileOptions& options) {
  const std::string text = source_text(term.path);
  UserFile file{term.path, term.function, text, "", {}, read_code(term.path, text, target, options)};
  file.hash = sha256_of(term.path, file.source.files);
  file.launch = find_launch(file.source, term.path, term.function, launch);
  return file;
}

}  // namespace sgemm
