// simt-translate: plain CUDA to C++ for the executor, on the command line.

#include "simt/plain_cuda.hpp"

#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view USAGE =
    "usage: simt-translate SOURCE.cu FOLDER [-I INCLUDE_FOLDER]...\n"
    "Translates the source and the files that it includes into FOLDER, and prints the translation's path.\n";

int usage(const std::string& what) {
  std::cerr << "simt-translate: " << what << '\n' << USAGE;
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  std::vector<std::filesystem::path> include_folders;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help") {
      std::cout << USAGE;
      return 0;
    }
    if (argument == "-I") {
      if (++i == argc) {
        return usage("-I takes a folder");
      }
      include_folders.emplace_back(argv[i]);
    } else if (argument.starts_with('-')) {
      return usage("no such option: " + argument);
    } else {
      names.push_back(argument);
    }
  }
  if (names.size() != 2) {
    return usage("takes a source and a folder");
  }
  try {
    std::cout << simt::translate_with_includes(names[0], include_folders, names[1]).path.string() << '\n';
  } catch (const simt::TranslationError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "simt-translate: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
