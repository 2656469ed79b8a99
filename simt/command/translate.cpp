#include "command/command.hpp"
#include "simt/plain_cuda.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>

namespace simt::command {

int translate(Words words) {
  std::vector<std::string> names;
  std::vector<std::filesystem::path> include_folders;
  std::string depfile;
  while (!words.empty()) {
    const std::string word = words.take();
    if (word == "-I") {
      include_folders.emplace_back(words.value_of(word));
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
  const TranslatedFile translated = translate_with_includes(names[0], include_folders, names[1]);
  std::cout << translated.path.string() << '\n';
  if (!depfile.empty()) {
    std::ofstream file(depfile);
    file << translated.path.string() << ':';
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
