#include "command/launches.hpp"

#include "simt/compile.hpp"
#include "simt/executor.hpp"
#include "simt/plain_cuda.hpp"
#include "simt/source.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

namespace simt::command {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string file;
  std::map<std::string, std::string> sizes;
  std::vector<std::string> launches;
  std::vector<fs::path> include_folders;
  std::vector<std::string> definitions;
};

Options options_of(Words words) {
  Options options;
  while (!words.empty()) {
    const std::string word = words.take();
    if (word == "--launch") {
      options.launches.push_back(words.value_of(word));
    } else if (word == "-I") {
      options.include_folders.emplace_back(words.value_of(word));
    } else if (word == "-D") {
      options.definitions.push_back("-D" + words.value_of(word));
    } else if (word.starts_with('-')) {
      throw UsageError("no such option: " + word);
    } else if (const std::size_t equals = word.find('='); equals != word.npos && !fs::exists(word)) {
      options.sizes[word.substr(0, equals)] = word.substr(equals + 1);
    } else if (options.file.empty()) {
      options.file = word;
    } else {
      throw UsageError("takes one file, and there are " + options.file + " and " + word);
    }
  }
  if (options.file.empty()) {
    throw UsageError("takes a file");
  }
  return options;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!fs::is_regular_file(path) || !file) {
    throw UsageError("can not read " + path);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A line to start from: one element a thread.
std::string suggestion(const Function& kernel) {
  std::string arguments;
  for (const Parameter& parameter : kernel.parameters) {
    const std::string& type = parameter.type;
    const std::size_t star = type.find('*');
    const bool is_real = type.find("float") != type.npos || type.find("double") != type.npos;
    arguments += arguments.empty() ? "" : ", ";
    arguments += star == type.npos ? (is_real ? "1.0f" : "n")
                                   : (type.find("const") < star ? "in " : "inout ") + parameter.name + "[n]";
  }
  return "simt: n = 1000; " + kernel.name + "<<<(n + 127) / 128, 128>>>(" + arguments + ")";
}

/// The launches that the command line describes, or else the file.
std::vector<LaunchDescription> launches_of(const Options& options, const Source& source) {
  std::vector<LaunchDescription> launches;
  const auto add = [&](const std::string& text, const std::string& file, int line) {
    try {
      launches.push_back(described_launch(text, file, line));
    } catch (const BadDescription& error) {
      throw UsageError(file + ":" + std::to_string(line) + ": " + error.what());
    }
  };
  for (const std::string& text : options.launches) {
    add(text, "--launch", 1);
  }
  if (launches.empty()) {
    for (const Comment& comment : source.directives("simt")) {
      add(comment.text, options.file, comment.line);
    }
  }
  if (launches.empty()) {
    const auto kernel = std::ranges::find_if(source.functions, &Function::is_kernel);
    throw UsageError(options.file + (kernel == source.functions.end()
                                         ? " has no kernel, and no line says what to call"
                                         : " does not say how its kernels are launched. A line to start from, as a "
                                           "comment or for --launch:\n  // " +
                                               suggestion(*kernel)));
  }
  std::set<std::string> unknown;
  for (const auto& [name, value] : options.sizes) {
    unknown.insert(name);
  }
  for (LaunchDescription& launch : launches) {
    for (auto& [name, value] : launch.sizes) {
      if (const auto given = options.sizes.find(name); given != options.sizes.end()) {
        value = given->second;
        unknown.erase(name);
      }
    }
  }
  if (!unknown.empty()) {
    throw UsageError("no launch has a size " + *unknown.begin() + " to be replaced");
  }
  return launches;
}

/// A folder that goes when this object does.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "simt-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), name);
    }
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// The file with its launches as functions simt_launch_0 and so on, compiled to be watched.
fs::path compiled(const Options& options, const std::vector<LaunchDescription>& launches, const fs::path& folder) {
  std::string functions = "\n#line 1 \"simt's part\"\n";
  for (std::size_t i = 0; i < launches.size(); ++i) {
    functions += function_of(launches[i], "simt_launch_" + std::to_string(i));
  }
  fs::path library = folder / "unit.so";
  std::vector<std::string> words{compiler()};
  for (const std::vector<std::string>& more :
       {header_flags(), folder_flags(options.file, options.include_folders), unit_flags(true)}) {
    words.insert(words.end(), more.begin(), more.end());
  }
  // What the launches need comes before the file's macros.
  std::vector<std::string> definitions{"-include", (include_folder() / "simt" / "described_arrays.hpp").string()};
  definitions.insert(definitions.end(), options.definitions.begin(), options.definitions.end());
  try {
    compile_file(options.file, words, definitions, folder / "translated", functions, library);
  } catch (const CompilerError& error) {
    throw CompilerError(std::string(error.what()) + "simt: " + options.file + " does not compile by " + words.front() +
                        "\n");
  }
  return library;
}

/// Launches, and throws where CUDA would not take it.
void run(void (*launch)(DescribedArrays&), DescribedArrays& arrays) {
  cudaGetLastError();
  launch(arrays);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    throw Error(std::string("the launch failed: ") + cudaGetErrorString(error));
  }
}

}  // namespace

void* LaunchArrays::allocate(std::size_t bytes) {
  constexpr std::size_t ZONE = std::size_t{1} << 16U;
  constexpr std::size_t ALIGNMENT = 256;
  std::vector<std::byte>& memory = memory_.emplace_back(bytes + 2 * ZONE + ALIGNMENT);
  void* begin = memory.data() + ZONE;
  std::size_t room = memory.size() - ZONE;
  return std::align(ALIGNMENT, bytes, begin, room);
}

LoadedFile load_launches(Words words) {
  const Options options = options_of(std::move(words));
  if (!can_compile_checks()) {
    throw UsageError("this build can not watch kernels: it takes GCC, without sanitizers");
  }
  const std::vector<LaunchDescription> launches = launches_of(options, read_source(text_of(options.file)));
  const auto folder = std::make_shared<const TemporaryFolder>();
  void* const library = dlopen(compiled(options, launches, folder->path()).c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    throw std::runtime_error(dlerror());
  }
  LoadedFile loaded{folder, {}};
  for (const LaunchDescription& launch : launches) {
    const std::string name = "simt_launch_" + std::to_string(loaded.launches.size());
    const auto function = reinterpret_cast<void (*)(DescribedArrays&)>(dlsym(library, name.c_str()));
    loaded.launches.push_back({launch.file + ":" + std::to_string(launch.line) + ": " + launch.heading(),
                               [function](DescribedArrays& arrays) { command::run(function, arrays); }});
  }
  return loaded;
}

}  // namespace simt::command
