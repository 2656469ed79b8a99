// The command `simt translate`, by which a build takes plain CUDA.

#include "simt/compile.hpp"
#include "simt/plain_cuda.hpp"

#include "translate/preprocess.hpp"

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

void translate(const Words& words) {
  Words names;
  std::vector<fs::path> include_folders;
  Words definitions;
  std::string depfile;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) {
      names.push_back(word);
      continue;
    }
    if (i + 1 == words.size()) {
      throw UsageError(word + " takes a value");
    }
    const std::string& value = words[++i];
    if (word == "-I") {
      include_folders.emplace_back(value);
    } else if (word == "-D") {
      definitions.push_back("-D" + value);
    } else if (word == "--depfile") {
      depfile = value;
    } else {
      throw UsageError("no such option: " + word);
    }
  }
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
  const Words words(argv + 1, argv + argc);
  const std::string_view first = words.empty() ? "" : std::string_view(words.front());
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
      throw UsageError(words.empty() ? "takes a command" : "there is no command " + words.front());
    }
    translate(Words(words.begin() + 1, words.end()));
    return 0;
  } catch (const UsageError& error) {
    std::cerr << "simt: " << error.what() << "\n\n" << USAGE;
  } catch (const std::exception& error) {
    std::cerr << "simt: " << error.what() << '\n';
  }
  return 2;
}
