#include "command/command.hpp"
#include "simt/compile.hpp"
#include "simt/plain_cuda.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>

namespace simt::command {

int translate(Words words) {
  std::vector<std::string> names;
  std::vector<std::filesystem::path> include_folders;
  std::vector<std::string> definitions;
  std::string depfile;
  while (!words.empty()) {
    const std::string word = words.take();
    if (word == "-I") {
      include_folders.emplace_back(words.value_of(word));
    } else if (word == "-D") {
      definitions.push_back("-D" + words.value_of(word));
    } else if (word == "--depfile") {
      depfile = words.value_of(word);
    } else if (word.starts_with('-')) {
      throw UsageError("no such option: " + word);
    } else {
      names.push_back(word);
    }
  }
  if (names.size() != 2) {
    throw UsageError("takes a source and a folder");
  }
  const std::filesystem::path source = names[0];
  const std::filesystem::path folder = names[1];
  const std::filesystem::path path = folder / source.stem() += ".cpp";
  // Whether accesses are observed is known when the translation is compiled.
  std::vector<std::string> compile{compiler(), "-std=c++20", "-DSIMT_IS_CHECKED=SIMT_IS_CHECKED"};
  for (const std::vector<std::string>& more : {header_flags(), folder_flags(source, include_folders), definitions}) {
    compile.insert(compile.end(), more.begin(), more.end());
  }
  const Translation translated = translate_file(source, compile, folder);
  std::ofstream output(path, std::ios::binary);
  output << "#ifdef SIMT_CHECKED\n#define SIMT_IS_CHECKED true\n#else\n#define SIMT_IS_CHECKED false\n#endif\n"
         << translated.text;
  if (!output.flush()) {
    throw std::runtime_error("cannot write " + path.string());
  }
  std::cout << path.string() << '\n';
  if (!depfile.empty()) {
    std::ofstream file(depfile);
    file << path.string() << ':';
    for (const std::filesystem::path& read : translated.files) {
      file << ' ' << read.string();
    }
    file << '\n';
    if (!file.flush()) {
      throw std::runtime_error("cannot write " + depfile);
    }
  }
  return CLEAN;
}

}  // namespace simt::command
