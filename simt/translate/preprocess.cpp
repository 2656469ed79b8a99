#include "translate/preprocess.hpp"

#include "simt/compile.hpp"

#include "translate/tokens.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <system_error>

namespace simt {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || fs::is_directory(path)) {
    throw fs::filesystem_error("cannot read", path, std::error_code(file ? EISDIR : errno, std::generic_category()));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

/// "my.cu:3: helper_cuda.h" of "my.cu:3:10: fatal error: helper_cuda.h: No such file or directory".
std::string missing_header(const std::string& messages) {
  static const std::regex MISSING(R"(([^\n]+):\d+: fatal error: ([^\n]+): No such file or directory\n)");
  std::smatch match;
  return std::regex_search(messages, match, MISSING) ? match.str(1) + ": " + match.str(2) : "";
}

/// The header of a CUDA Toolkit that a preprocessor's output or messages name first, as files include it; the
/// executor's headers do not go with it.
std::string toolkit_header(const std::string& text) {
  const fs::path own = include_folder() / "simt" / "cuda";
  for (const std::string_view before : {"\n# 1 \"/", "from /"}) {
    for (std::size_t at = text.find(before); at != text.npos; at = text.find(before, at + 1)) {
      const std::size_t begin = at + before.size() - 1;
      const fs::path path = text.substr(begin, text.find_first_of("\":", begin) - begin);
      for (fs::path folder = path.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
        const fs::path name = path.lexically_relative(folder);
        if (folder != own && fs::exists(folder / "cuda_runtime_api.h") && !fs::exists(own / name)) {
          return name.string();
        }
      }
    }
  }
  return "";
}

/// Of "kernel<< <grid, block>> >(...)", as Visual Studio writes it and nvcc takes it, blanks go behind the brackets.
void join_launches(std::string& text, const std::vector<Token>& tokens) {
  bool launching = false;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    const bool opens = tokens[i].is("<<");
    launching = (launching || opens || tokens[i].is("<<<")) && !tokens[i].is(";");
    const bool closes = launching && i > 0 && tokens[i - 1].is(">") && tokens[i].is(">");
    const Token& blank = tokens[i + 1];
    if ((opens || closes) && blank.kind == TokenKind::space && tokens[i + 2].is(opens ? "<" : ">")) {
      const std::size_t at = blank.text.data() - text.data();
      std::rotate(text.begin() + at, text.begin() + at + blank.text.size(), text.begin() + at + blank.text.size() + 1);
    }
  }
}

/// Letters of names, of which the preprocessor makes \U00007532, in UTF-8 again.
void restore_letters(std::string& text) {
  constexpr std::size_t DIGITS = 8;
  for (std::size_t at = text.find("\\U"); at != text.npos; at = text.find("\\U", at + 1)) {
    const std::string digits = text.substr(at + 2, DIGITS);
    char* end = nullptr;
    const unsigned long code = std::strtoul(digits.c_str(), &end, 16);
    if (end == digits.c_str() + DIGITS && !(at > 0 && text[at - 1] == '\\')) {
      text.replace(at, 2 + DIGITS, fs::path(std::u32string(1, code)).string());
    }
  }
}

/// Before __attribute__((global, noinline)) comes __global__, of which CUDA's headers make such an attribute.
void take_out_words(std::string& text) {
  static const std::regex WORD(
      R"(__attribute__\s*\(\([^()]*?\b((?:__)?(global|device|host|shared|constant|managed)(?:__)?)\b)");
  std::smatch match;
  for (std::size_t at = text.find("__attribute__"); at != text.npos; at = text.find("__attribute__", at + 1)) {
    const auto begin = text.cbegin() + static_cast<std::ptrdiff_t>(at);
    if (std::regex_search(begin, text.cend(), match, WORD, std::regex_constants::match_continuous)) {
      const std::string word = "__" + match.str(2) + "__ ";
      text.erase(at + static_cast<std::size_t>(match.position(1)), static_cast<std::size_t>(match.length(1)));
      text.insert(at, word);
    }
  }
}

/// What stands in for a header that is not there. <thrust/sort.h> and the like declare a namespace of their folder's
/// name, which files say that they use.
std::string stand_in_for(const fs::path& header) {
  const std::string space = header.begin()->string();
  const bool is_name = std::ranges::all_of(space, [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; });
  return header.has_parent_path() && is_name ? "namespace " + space + " {}\n" : "";
}

}  // namespace

void write_file(const fs::path& path, std::string_view text) {
  fs::create_directories(fs::absolute(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) {
    throw fs::filesystem_error("cannot write", path,
                               std::error_code(errno != 0 ? errno : EIO, std::generic_category()));
  }
}

ProgramEnd run_program(const std::vector<std::string>& words) {
  std::string command = "LANGUAGE=en exec";
  for (const std::string& word : words) {
    command += " '" + std::regex_replace(word, std::regex("'"), "'\\''") + '\'';
  }
  FILE* const pipe = popen((command + " 2>&1").c_str(), "re");
  if (pipe == nullptr) {
    throw std::system_error(errno, std::generic_category(), "popen");
  }
  ProgramEnd result{-1, {}};
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) {
    result.output += static_cast<char>(c);
  }
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  constexpr int NOT_FOUND = 127;  // by the shell
  if (result.status == NOT_FOUND) {
    throw std::runtime_error("can not run the compiler " + words.front() + ": install g++, or name one in $CXX");
  }
  return result;
}

bool is_foreign(std::string_view file) {
  static const std::string headers = include_folder().string() + '/';
  return file.starts_with('<') || file.starts_with(headers);
}

Translation preprocess(const fs::path& file, const std::vector<std::string>& compiler, const fs::path& folder,
                       const std::string& more, const RunProgram& run) {
  constexpr std::string_view BYTE_ORDER_MARK = "\xEF\xBB\xBF";
  std::string source = content_of(file);
  source.erase(0, source.starts_with(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.size() : 0);
  // The text is a copy elsewhere: headers beside the file do not come before the executor's of the same name.
  const fs::path unit = folder / "unit.cu";
  const fs::path output = folder / "unit.ii";
  const fs::path missing_ones = folder / "missing";
  // As deep as "../../common.h" may go up.
  const fs::path stand_ins = missing_ones / "d/d/d/d/d/d/d/d";
  fs::create_directories(stand_ins);
  write_file(unit, "#include <simt/plain_kernels.hpp>\n#line 1 \"" + escaped(file.string()) + "\"\n" + source + "\n" +
                       std::string(more.empty() ? "" : BEGIN_OF_MORE) + "\n" + more);
  std::vector<std::string> words = compiler;
  words.insert(words.begin() + 1, "-I" + stand_ins.string());
  words.insert(words.end(), {"-E", "-fpch-preprocess", "-w", "-fdiagnostics-plain-output", "-x", "c++", "-o",
                             output.string(), unit.string()});
  Translation result;
  while (true) {
    const ProgramEnd end = run(words);
    result.text = end.status == 0 ? content_of(output) : "";
    const std::string missing = missing_header(end.output);
    const std::string header = missing.empty() ? toolkit_header(end.status == 0 ? result.text : end.output) : missing;
    if (header.empty() && end.status == 0) {
      break;
    }
    const fs::path name = header.substr(header.find(": ") == header.npos ? 0 : header.rfind(": ") + 2);
    const fs::path path = (stand_ins / name).lexically_normal();
    if (header.empty() || name.is_absolute() || *path.lexically_relative(missing_ones).begin() == ".." ||
        fs::exists(path)) {
      throw CompilerError(end.output);
    }
    write_file(path, stand_in_for(name));
    if (!missing.empty()) {
      result.missing.push_back(missing);
    }
  }
  restore_letters(result.text);
  take_out_words(result.text);
  std::set<fs::path> known{unit};
  const std::vector<Token> tokens = tokens_of(result.text, is_foreign);
  join_launches(result.text, tokens);
  for (const Token& token : tokens) {
    const fs::path path = fs::path(token.file).lexically_normal();
    if (!path.empty() && !path.string().starts_with(missing_ones.string()) && known.insert(path).second &&
        fs::is_regular_file(path)) {  // a marker may name the folder
      result.files.push_back(path);
    }
  }
  return result;
}

}  // namespace simt
