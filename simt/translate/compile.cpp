#include "simt/compile.hpp"

#include "simt/plain_cuda.hpp"

#include <sstream>
#include <system_error>

namespace simt {
namespace fs = std::filesystem;

bool can_compile_checks() { return SIMT_CAN_CHECK; }

fs::path include_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = (program.parent_path() / SIMT_INCLUDE_FROM_PROGRAM).lexically_normal();
  return fs::exists(installed / "simt" / "plain_kernels.hpp", error) ? installed : fs::path(SIMT_SOURCE_INCLUDE);
}

std::string translation_unit(const fs::path& file, const std::vector<fs::path>& include_folders, const fs::path& folder,
                             const std::string& more) {
  fs::create_directories(folder);
  const TranslatedFile translation = translate_with_includes(file, include_folders, folder);
  const fs::path named = folder / "translation.cpp";  // #include does not take every name that a file may have
  fs::rename(translation.path, named);
  return "#include <cuda_runtime.h>\n#include \"" + named.string() + "\"\n" + translate(more, file.string());
}

std::vector<std::string> unit_flags(bool checked) {
  // Variables of templates would otherwise be one for all objects that have a template of that name. Where a launch is
  // wrong, the executor's own templates would fill a page behind the first error. A frame larger than a page touches
  // all of its pages, so that none of a full stack goes past the page below it.
  std::vector<std::string> flags{"-std=c++20", "-fPIC", "-fno-gnu-unique", "-w", "-ftemplate-backtrace-limit=1"};
  std::istringstream words(checked ? SIMT_CHECKED_FLAGS : "-O2 " SIMT_FLAGS);
  for (std::string word; words >> word;) {
    flags.push_back(word);
  }
  flags.insert(flags.end(), {"-fstack-clash-protection", "-gdwarf-4"});
  return flags;
}

std::vector<std::string> header_flags() {
  // Messages name lines as the file was named. In DWARF 5, addr2line 2.40 takes the first #line's file for the
  // compiler's own.
  const fs::path headers = include_folder();
  return {"-fdebug-prefix-map=" + fs::current_path().string() + "=.", "-I" + (headers / "simt" / "cuda").string(),
          "-I" + headers.string()};
}

std::vector<std::string> link_flags() {
  return {"-shared", "-Wl,-z,lazy",
          "-Wl,--dynamic-list=" + (include_folder() / "simt" / "executor_symbols.txt").string()};
}

}  // namespace simt
