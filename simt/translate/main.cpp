// simt-translate: plain CUDA to C++ for the executor, on the command line.

#include "simt/plain_cuda.hpp"

#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::string_view USAGE =
    "usage: simt-translate SOURCE.cu FOLDER [-I INCLUDE_FOLDER]... [--depfile FILE]\n"
    "Translates the source and the files that it includes into FOLDER, and prints the path of the source's "
    "translation.\n"
    "The depfile tells make or ninja which files were read.\n";

int usage(const std::string& what) {
  std::cerr << "simt-translate: " << what << '\n' << USAGE;
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  std::vector<std::filesystem::path> include_folders;
  std::string depfile;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--help") {
      std::cout << USAGE;
      return 0;
    }
    if (argument == "-I" || argument == "--depfile") {
      if (++i == argc) {
        return usage(argument + " takes a value");
      }
      if (argument == "-I") {
        include_folders.emplace_back(argv[i]);
      } else {
        depfile = argv[i];
      }
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
    const simt::TranslatedFile translated = simt::translate_with_includes(names[0], include_folders, names[1]);
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
  } catch (const simt::TranslationError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "simt-translate: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
