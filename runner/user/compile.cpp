#include "user/compile.hpp"

#include "base/program.hpp"
#include "base/usage_error.hpp"
#include "base/words.hpp"
#include "record/results_file.hpp"
#include "simt/plain_cuda.hpp"
#include "simt/source.hpp"
#include "user/wrapper.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace sgemm {
namespace {

namespace fs = std::filesystem;

fs::path compiler_for(Target target) {
  const bool gpu = target == Target::for_gpu;
  if (const auto found = gpu ? find_chosen_program("NVCC", {SGEMM_CUDA_COMPILER_FILE, "nvcc"})
                             : find_chosen_program("CXX", {SGEMM_CXX_COMPILER_FILE, "g++"})) {
    return *found;
  }
  throw UsageError(gpu ? "a .cu file is compiled by nvcc for a GPU, and there is none: put the CUDA Toolkit's nvcc on "
                         "PATH or name it in $NVCC, or run on the CPU with --device cpu"
                       : "a .cu file is compiled by g++ for the CPU, and there is none: install g++ (apt-get install "
                         "g++) or name it in $CXX");
}

/// "sm_90a": with the instructions that a GPU has and its successors lack, where there are such.
std::string architecture(int compute_capability) {
  constexpr int FIRST_WITH_OWN_INSTRUCTIONS = 90;
  return fmt::format("sm_{}{}", compute_capability, compute_capability >= FIRST_WITH_OWN_INSTRUCTIONS ? "a" : "");
}

std::string_view word_for(Target target) {
  return target == Target::for_gpu ? "gpu" : target == Target::for_checks ? "checked" : "executor";
}

bool is_writable_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  return !error && access(folder.c_str(), W_OK) == 0;
}

/// Names a folder that need not be writable.
constexpr const char* CACHE_VARIABLE = "SGEMM_COMPILED_FILES";

fs::path cache_folder() {
  if (const char* const shared = std::getenv(CACHE_VARIABLE)) {
    return shared;
  }
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const fs::path below_home = home == nullptr ? fs::path() : fs::path(home) / ".cache";
  const fs::path users = (cache == nullptr || *cache == '\0' ? below_home : fs::path(cache)) / "sgemm-worklog";
  for (const fs::path& folder : {fs::path(SGEMM_USER_KERNELS_FOLDER), users}) {
    if (is_writable_folder(folder)) {
      return folder;
    }
  }
  throw UsageError(
      fmt::format("can not write compiled kernels to {}, nor to {}: set XDG_CACHE_HOME to a folder of yours",
                  SGEMM_USER_KERNELS_FOLDER, users.string()));
}

/// The begin of a file's name, of signs that every tool takes.
std::string simple_name(const fs::path& path) {
  constexpr std::size_t LONGEST = 64;
  std::string name = path.stem().string().substr(0, LONGEST);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '_');
  return name;
}

/// The file's name and when it was changed, by which another version of a program differs.
std::string state_of(const fs::path& path) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  return fmt::format("{} of {}", file.string(), fs::last_write_time(file, error).time_since_epoch().count());
}

/// When a file below the folder was changed last, by which versions of headers differ.
std::string state_of_files(const fs::path& folder) {
  fs::file_time_type latest = fs::file_time_type::min();
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; at != end; at.increment(error)) {
    constexpr int DEEP_ENOUGH = 3;  // a user's folder may have a disk below it
    if (at.depth() >= DEEP_ENOUGH) {
      at.disable_recursion_pending();
    }
    latest = std::max(latest, fs::last_write_time(*at, error));
  }
  return fmt::format("files of {}", latest.time_since_epoch().count());
}

/// By what the file's own text and that of what it includes differ between versions.
std::string state_of_text(const UserFile& file, const CompileOptions& options) {
  std::string state = file.text;
  for (const fs::path& path : file.source.files) {
    state += content_of(path);
  }
  if (file.source.files.empty()) {  // it is not known what it includes
    state += state_of_files(fs::absolute(file.path).parent_path());
    for (const std::string& folder : options.include_folders) {
      state += state_of_files(folder);
    }
  }
  return state;
}

/// The text with empty lines in place of main(): what a program does around its kernel may need libraries, or another
/// version of CUDA. A main() with preprocessor lines in it is left as it is, because its end is not known.
std::string without_main(const UserFile& file) {
  const auto main = std::ranges::find_if(file.source.functions, [&](const simt::Function& function) {
    return function.name == "main" && (function.file.empty() || function.file == file.path);
  });
  if (main == file.source.functions.end()) {
    return file.text;
  }
  std::string text;
  std::istringstream lines(file.text);
  int number = 0;
  for (std::string line; std::getline(lines, line); text += line + '\n') {
    if (++number >= main->first_line && number <= main->last_line) {
      if (simt::trimmed(line).starts_with('#')) {
        return file.text;
      }
      line.clear();
    }
  }
  return text;
}

/// Flags with their values: where `flags` has one of `names`, the word itself, or with the next one where that is its
/// value: "-DX=1", "-D X=1".
Words with_values(const Words& flags, std::initializer_list<std::string_view> names) {
  Words found;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const auto name =
        std::find_if(names.begin(), names.end(), [&](std::string_view flag) { return flags[i].starts_with(flag); });
    if (name == names.end()) {
      continue;
    }
    found.push_back(flags[i]);
    if (flags[i] == *name && i + 1 < flags.size()) {
      found.push_back(flags[++i]);
    }
  }
  return found;
}

/// The messages, and where they are about a launch line the names that it may use.
std::string with_names(const std::string& messages) {
  return messages + (messages.find("--launch:") != std::string::npos
                         ? fmt::format("A launch line's own names: {}\n", NAMES_OF_PROBLEM)
                         : "");
}

UsageError does_not_compile(const std::string& compiler, const std::string& path, Target target,
                            const std::string& messages) {
  const char* const variable = std::getenv("CXX");
  const bool chosen = target != Target::for_gpu && variable != nullptr && *variable != '\0';
  return UsageError(fmt::format("{} does not compile for {}{}", path, target == Target::for_gpu ? "the GPU" : "the CPU",
                                chosen ? fmt::format(" by $CXX ({}), which has to be a GCC", compiler) : ""),
                    with_names(messages));
}

constexpr std::chrono::seconds LONGEST_COMPILATION{600};

/// Files of 1 GiB, in blocks of 512 bytes, and half of the machine's memory, in KiB: a file may include /dev/zero.
std::string most_of_compilers() {
  return fmt::format("ulimit -f {}; ulimit -v {}", 1 << 21,
                     sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024) / 2);
}

/// Runs a compiler to its end, which comes after LONGEST_COMPILATION at last. `own` is for what it makes, and goes
/// where it is ended. Throws CaseStopped where the run is interrupted.
ProgramResult run_to_end(const Words& words, const TemporaryFolder& own) {
  const fs::path& folder = own.path();
  return run_program(words, {{"TMPDIR=" + folder.string(), "LANGUAGE=en"},
                             StopToken(interrupted),
                             LONGEST_COMPILATION,
                             {folder},
                             most_of_compilers()});
}

/// Removes the folders in the cache that precompiled_headers() made for other compilers or versions of the executor,
/// and that nobody has used for a day. Errors mean that another process was faster, or that they are somebody else's.
void remove_old_headers(const fs::path& used) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(used.parent_path(), error)) {
    std::error_code ignored;
    if (entry.path() != used && entry.path().filename().string().starts_with("headers-") &&
        fs::last_write_time(entry.path(), ignored) < fs::file_time_type::clock::now() - std::chrono::hours(24)) {
      fs::remove_all(entry.path(), ignored);
    }
  }
}

/// A folder to look in before that of the executor's headers: they are in it as the compiler reads them fastest, which
/// makes them at the first time.
fs::path precompiled_headers(const fs::path& compiler, Target target) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);  // the files of a run wait for one compiler
  Words words{compiler.string()};
  append(words, simt::unit_flags(target == Target::for_checks));
  const std::string recipe =
      fmt::format("{}\n{}\n{}", quoted(words), state_of(compiler), state_of_files(simt::include_folder()));
  fs::path folder =
      cache_folder() / fmt::format("headers-{}-{:016x}", word_for(target), std::hash<std::string>()(recipe));
  const fs::path header = fs::path("simt") / "plain_kernels.hpp";
  const fs::path finished = (folder / header) += ".gch";
  if (!fs::exists(finished)) {
    fs::create_directories(finished.parent_path());
    const TemporaryFolder own(cache_folder());
    const fs::path unfinished = own.path() / "unfinished.gch";
    append(words, simt::header_flags());
    append(words, {"-x", "c++-header", "-o", unfinished.string(), (simt::include_folder() / header).string()});
    if (run_to_end(words, own).status == 0) {  // or else the compiler reads the headers themselves
      fs::rename(unfinished, finished);
    }
    remove_old_headers(folder);
  }
  std::error_code ignored;
  fs::last_write_time(folder, fs::file_time_type::clock::now(), ignored);
  return folder;
}

/// A compiler's command line without the names of files.
struct Flags {
  Words words;        ///< the compiler, and all that is the same on every machine
  Words definitions;  ///< for the executor's preprocessor alone
  Words before;       ///< what names folders of this machine, to come before the words behind the compiler
  Words behind;       ///< and behind all of them

  Words all() const {
    Words result{words.front()};
    append(result, before);
    result.insert(result.end(), words.begin() + 1, words.end());
    append(result, behind);
    return result;
  }
};

Flags flags_for(Target target, const std::string& path, const CompileOptions& options) {
  Flags flags;
  flags.words = {compiler_for(target).string()};
  if (target == Target::for_gpu) {
    append(flags.words, {"-std=c++17", "-O3", "-arch=" + architecture(options.compute_capability), "-lineinfo"});
    append(flags.words, options.device_code ? Words{"-cubin", "--expt-relaxed-constexpr"}
                                            : Words{"--cudart=shared", "-Xcompiler=-fPIC,-fvisibility=hidden"});
    append(flags.words, options.nvcc_flags);
  } else {
    append(flags.words, simt::unit_flags(target == Target::for_checks));
    flags.definitions = with_values(options.nvcc_flags, {"-D", "-U", "-include"});
    flags.before = simt::header_flags();
  }
  append(flags.words, simt::folder_flags(path, {options.include_folders.begin(), options.include_folders.end()}));
  flags.behind = {"-I" SGEMM_PYTORCH_INCLUDE};
  return flags;
}

/// The words of the executor's compiler.
Words executor_words(const Flags& flags, Target target) {
  Words words = flags.all();
  words.insert(words.begin() + 1, "-I" + precompiled_headers(words.front(), target).string());
  return words;
}

simt::RunProgram runs_to_end(const TemporaryFolder& own) {
  return [&own](const Words& program) {
    ProgramResult result = run_to_end(program, own);
    return simt::ProgramEnd{result.status, std::move(result.output)};
  };
}

/// Throws UsageError with the compiler's messages.
void compile_for_executor(const Flags& flags, const UserFile& file, const std::string& wrapper, Target target,
                          const TemporaryFolder& own, const fs::path& library) {
  const Words words = executor_words(flags, target);
  try {
    simt::compile_file(file.path, words, flags.definitions, own.path(), wrapper, library, runs_to_end(own));
  } catch (const simt::CompilerError& error) {
    throw does_not_compile(words.front(), file.path, target, error.what());
  } catch (const simt::TranslationError& error) {
    throw UsageError(fmt::format("{} can not be executed on the CPU", file.path),
                     with_names(fmt::format("{}\n", error.what())));
  }
}

}  // namespace

simt::Source read_code(const std::string& path, const std::string& text, Target target, const CompileOptions& options) {
  const Target executor = target == Target::for_gpu ? Target::for_executor : target;
  try {
    const Flags flags = flags_for(executor, path, options);
    Words words = executor_words(flags, executor);
    append(words, flags.definitions);
    const TemporaryFolder own;
    try {
      return simt::read_file(path, words, own.path(), runs_to_end(own));
    } catch (const simt::CompilerError& error) {
      throw does_not_compile(words.front(), path, executor, error.what());
    }
  } catch (const UsageError&) {
    if (target == Target::for_gpu) {
      return simt::read_source(text);
    }
    throw;
  }
}

void share_cache() { setenv(CACHE_VARIABLE, cache_folder().c_str(), 1); }

void require_compiler(Target target) { compiler_for(target); }

CompiledFile compile(const UserFile& file, Target target, const CompileOptions& options) {
  const Flags flags = flags_for(target, file.path, options);
  Words words = flags.all();
  const bool device_code = target == Target::for_gpu && options.device_code;
  const std::string wrapper = device_code ? device_wrapper_of(file) : wrapper_of(file, target);
  Flags anywhere = flags;
  anywhere.before.clear();  // folders of this machine: where the file lies changes nothing in the library
  append(anywhere.words, flags.definitions);
  const std::string recipe =
      fmt::format("{}\n{}\n{}\n{}{}", quoted(anywhere.all()), state_of(words.front()),
                  target == Target::for_gpu ? "" : state_of("/proc/self/exe") + state_of_files(simt::include_folder()),
                  state_of_text(file, options), wrapper);
  const std::string name =
      fmt::format("{}-{}-{:016x}", simple_name(file.path), word_for(target), std::hash<std::string>()(recipe));
  const fs::path library = cache_folder() / (name + ".so");
  const fs::path recipe_of_library = cache_folder() / (name + ".recipe");
  CompiledFile compiled{library, quoted(anywhere.words)};
  std::error_code error;
  if (fs::exists(library, error) && content_of(recipe_of_library) == recipe) {
    return compiled;
  }
  const TemporaryFolder own(cache_folder());
  const fs::path unfinished = own.path() / "unfinished.so";
  if (target == Target::for_gpu) {
    const fs::path source = own.path() / (name + ".cu");
    write_atomically(source, line_directive({"", file.path, 1}) + without_main(file) + wrapper);
    if (!device_code) {
      append(words, {"-shared", "-Xlinker=-z,lazy"});
      for (const std::string_view function : LAUNCHING_FUNCTIONS) {
        words.push_back(fmt::format("-Xlinker=--wrap={}", function));
      }
    }
    append(words, {"-o", unfinished.string(), source.string()});
    if (const ProgramResult result = run_to_end(words, own); result.status != 0) {
      throw does_not_compile(words.front(), file.path, target, result.output);
    }
  } else {
    compile_for_executor(flags, file, wrapper, target, own, unfinished);
  }
  fs::rename(unfinished, library);
  write_atomically(recipe_of_library, recipe);
  return compiled;
}

}  // namespace sgemm
