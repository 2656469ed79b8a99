#include "simt/compile.hpp"

#include "simt/plain_cuda.hpp"

#include "translate/preprocess.hpp"
#include "translate/translator.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

namespace simt {
namespace fs = std::filesystem;
namespace {

/// What to do about Translation::missing, a line for each.
std::string about_missing(const std::vector<std::string>& headers) {
  std::string text;
  for (const std::string& header : headers) {
    text += header + " is not there: where it declares what is needed, name its folder with --include\n";
  }
  return text;
}

/// A compiler's messages without what led through the executor's templates, and without the ends of long lines, which
/// std::regex would go through on the stack.
std::string readable(const std::string& messages) {
  std::string text;
  std::istringstream lines(messages);
  bool of_launch = false;  // what is instantiated
  for (std::string line; std::getline(lines, line);) {
    const auto has = [&](const char* part) { return line.find(part) != line.npos; };
    const bool executors = has("/include/simt/") || has("<lambda(auto:");
    const bool begins = has(": In instantiation of ");
    of_launch = begins ? executors : of_launch;
    if (begins ? executors : (has("   required from ") && (executors || of_launch)) || has("[ skipping ")) {
      continue;
    }
    line.resize(std::min(line.size(), std::size_t{2000}));
    text += line + '\n';
  }
  return text;
}

}  // namespace

bool can_compile_checks() { return SIMT_CAN_CHECK; }

fs::path include_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = (program.parent_path() / SIMT_INCLUDE_FROM_PROGRAM).lexically_normal();
  return fs::exists(installed / "simt" / "plain_kernels.hpp", error) ? installed : fs::path(SIMT_SOURCE_INCLUDE);
}

std::string compiler() {
  const char* const chosen = std::getenv("CXX");
  return chosen != nullptr && *chosen != '\0' ? chosen : access(SIMT_COMPILER, X_OK) == 0 ? SIMT_COMPILER : "g++";
}

Translation translate_file(const fs::path& file, const std::vector<std::string>& compiler, const fs::path& folder,
                           const std::string& more, const RunProgram& run) {
  Translation translation = preprocess(file, compiler, folder, more, run);
  translation.text = translate_tokens(reached(tokens_of(translation.text, is_foreign)), file.string());
  return translation;
}

Source read_file(const fs::path& file, std::vector<std::string> compiler, const fs::path& folder,
                 const RunProgram& run) {
  compiler.emplace_back("-C");
  Translation preprocessed = preprocess(file, compiler, folder, "", run);
  Source source = read_source(preprocessed.text);
  source.files = std::move(preprocessed.files);
  source.missing = std::move(preprocessed.missing);
  return source;
}

void check_names(const std::string& compiled, const std::vector<std::string>& missing_headers) {
  const std::string messages = std::regex_replace(compiled, std::regex("‘|’"), "'");
  static const std::regex ERROR(R"(^([^\n]+:\d+):\d+: (?:fatal )?error: ([^\n]+)$)", std::regex::multiline);
  static const std::regex UNKNOWN(
      "'([^']+)' (?:was not declared|has not been declared|does not name a|is not a namespace|is not a member of "
      "'([^']+)'"
      "|in (?:namespace|class|struct) '([^']+)' does not name)|no arguments to '([^']+)' that depend on a template"
      "|'(?:const )?(?:struct |class )?([^']+)' has no member named '([^']+)'"
      "|no matching function for call to '([^']+)'");
  static const std::regex OF_CUDA(
      "(?!(?:cuda|CUDA|cublas|CUBLAS|CURAND|NCCL)_?(?:Check|CHECK|CALL|TRY))"
      "(?:cuda|cu[A-Z]|cublas|curand|cusparse|cusolver|cufft|cudnn|nccl|nvtx|nvml|nvrtc|CUDA|CU_|CUBLAS|CURAND|NCCL|"
      "atomic[A-Z]|tex[123]D|surf[123]D|half|bfloat|nv_|__).*"
      "|(?:thrust|cub|cute|cutlass|at|c10|torch|nvcuda|cooperative_groups|cg|wmma)(?:::.*)?");
  static const std::regex MODELLED("__pipeline_.*|cooperative_groups|nvcuda|(__)?half2?|(__)?nv_bfloat16");
  std::string text;
  std::set<std::string> known;
  for (std::sregex_iterator error(messages.begin(), messages.end(), ERROR), end; error != end; ++error) {
    std::smatch match;
    const std::string what = error->str(2);
    if (what.starts_with("variable or field ")) {
      continue;  // a function with a parameter of an unknown type, of which the next message tells
    }
    if (!std::regex_search(what, match, UNKNOWN)) {
      break;  // what else is wrong may follow from the names before it, or not
    }
    const std::string scope = match.str(2) + match.str(3) + match.str(5);
    const std::string name = (scope.empty() || scope == "::" ? "" : scope + "::") + match.str(1) + match.str(4) +
                             match.str(6) + match.str(7);
    const bool of_cuda = std::regex_match(name, OF_CUDA);
    // What the translator made of an array with an unknown extent, the same again, or what an unknown name declares.
    if (name.find("simt_shared_") != name.npos || name.find("<expression error>") != name.npos ||
        !known.insert(name).second || !(of_cuda || text.empty())) {
      continue;
    }
    const bool modelled = std::regex_match(name, MODELLED);
    if (!of_cuda && missing_headers.empty()) {
      break;
    }
    text += std::string(text.empty() ? "" : "\n") +
            (of_cuda && !modelled ? "the executor does not model " : "nothing declares ") + name +
            (modelled ? ", which a header of CUDA's has (" : " (") + error->str(1) + ")";
  }
  if (text.empty()) {
    return;
  }
  throw TranslationError(trimmed(text + "\n" + about_missing(missing_headers)));
}

std::vector<std::string> unit_flags(bool checked) {
  // Variables of templates would otherwise be one for all objects that have a template of that name. Where a launch is
  // wrong, the executor's own templates would fill a page behind the first error. A frame larger than a page touches
  // all of its pages, so that none of a full stack goes past the page below it.
  std::vector<std::string> flags{"-std=c++20",      "-fPIC", "-fno-gnu-unique", "-w", "-ftemplate-backtrace-limit=1",
                                 "-fmax-errors=100"};
  const std::string of_own_compiler = compiler() == SIMT_COMPILER ? SIMT_FILE_FLAGS " " : "";  // others may be older
  std::istringstream words(of_own_compiler + (checked ? SIMT_CHECKED_FLAGS : "-O2 " SIMT_FLAGS));
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

std::vector<std::string> folder_flags(const fs::path& file, const std::vector<fs::path>& more) {
  std::vector<std::string> flags{"-I" + (file.has_parent_path() ? file.parent_path().string() : ".")};
  for (const fs::path& folder : more) {
    flags.push_back("-I" + folder.string());
  }
  return flags;
}

void compile_file(const fs::path& file, const std::vector<std::string>& compiler,
                  const std::vector<std::string>& definitions, const fs::path& folder, const std::string& more,
                  const fs::path& library, const RunProgram& run) {
  std::vector<std::string> preprocessor = compiler;
  preprocessor.insert(preprocessor.end(), definitions.begin(), definitions.end());
  const Translation translation = translate_file(file, preprocessor, folder, more, run);
  const std::string source = folder / "translation.ii";
  const std::string object = folder / "translation.o";
  write_file(source, translation.text);
  std::vector<std::string> words = compiler;
  words.insert(words.end(), {"-c", "-o", object, source});
  ProgramEnd end = run(words);
  if (end.status == 0) {
    // A step of its own: with the flags of checks, one would link the thread sanitizer's library.
    words = {compiler.front(),
             "-shared",
             "-Wl,-z,lazy",
             "-Wl,--wrap=malloc,--wrap=free,--wrap=_Znwm,--wrap=_Znam,--wrap=_ZdlPv,--wrap=_ZdaPv",
             "-Wl,--wrap=_ZdlPvm,--wrap=_ZdaPvm",
             "-Wl,--dynamic-list=" + (include_folder() / "simt" / "executor_symbols.txt").string(),
             "-o",
             library.string(),
             object};
    if (translation.text.find(" omp_get_") != std::string::npos) {
      words.push_back("-lgomp");  // OpenMP's pragmas do nothing: its functions tell of one thread
    }
    end = run(words);
  }
  if (end.status != 0) {
    end.output = readable(end.output);
    check_names(end.output, translation.missing);
    throw CompilerError(end.output + about_missing(translation.missing));
  }
}

}  // namespace simt
