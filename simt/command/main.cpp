// The command `simt translate`, by which a build takes plain CUDA.

#include "simt/compile.hpp"
#include "simt/plain_cuda.hpp"

#include "translate/preprocess.hpp"

#include <getopt.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::string_view USAGE =
    R"(usage: simt translate FILE.cu FOLDER [-I FOLDER]... [-D NAME[=VALUE]]... [--depfile FILE]

Writes C++ of a file of plain CUDA for the executor, and prints the path of what it wrote.
)";

/// What the command line should not say.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void translate(int argc, char** argv) {
  std::vector<fs::path> include_folders;
  Words definitions;
  std::string depfile;
  const std::array options{option{"depfile", required_argument, nullptr, 'd'}, option{}};
  opterr = 0;
  for (int found = 0; (found = getopt_long(argc, argv, ":I:D:", options.data(), nullptr)) != -1;) {
    if (found == 'I') {
      include_folders.emplace_back(optarg);
    } else if (found == 'D') {
      definitions.push_back(std::string("-D") + optarg);
    } else if (found == 'd') {
      depfile = optarg;
    } else {
      const bool letter = found == '?' && optopt != 0;  // whose word may go on
      const std::string word = letter ? std::string{'-', static_cast<char>(optopt)} : argv[optind - 1];
      throw UsageError(found == ':' ? word + " takes a value" : "no such option: " + word);
    }
  }
  const Words names(argv + optind, argv + argc);
  if (names.size() != 2) {
    throw UsageError("takes a source and a folder");
  }
  const fs::path source = names[0];
  const fs::path folder = names[1];
  const fs::path path = folder / source.stem() += ".cpp";
  // Whether accesses are observed is known when the translation is compiled.
  Words compile{simt::compiler(), "-std=c++20", "-DSIMT_IS_CHECKED=SIMT_IS_CHECKED"};
  for (const Words& more : {simt::header_flags(), simt::folder_flags(source, include_folders), definitions}) {
    compile.insert(compile.end(), more.begin(), more.end());
  }
  const simt::Translation translated = simt::translate_file(source, compile, folder);
  simt::write_file(path,
                   "#ifdef SIMT_CHECKED\n#define SIMT_IS_CHECKED true\n#else\n#define SIMT_IS_CHECKED false\n#endif\n" +
                       translated.text);
  std::cout << path.string() << '\n';
  if (!depfile.empty()) {
    std::string text = path.string() + ':';
    for (const fs::path& read : translated.files) {
      text += ' ' + read.string();
    }
    simt::write_file(depfile, text + '\n');
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--version") {
    std::cout << "simt " SIMT_VERSION "\n";
    return 0;
  }
  if (first == "--help") {
    std::cout << USAGE;
    return 0;
  }
  try {
    if (first != "translate") {
      throw UsageError(first.empty() ? "takes a command" : "there is no command " + first);
    }
    translate(argc - 1, argv + 1);
    return 0;
  } catch (const UsageError& error) {
    std::cerr << "simt: " << error.what() << "\n\n" << USAGE;
  } catch (const std::exception& error) {
    std::cerr << "simt: " << error.what() << '\n';
  }
  return 2;
}
