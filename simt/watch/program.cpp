#include "watch/program.hpp"

#include <link.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string_view>

namespace simt {
namespace {

using Places = std::vector<SourcePlace>;

/// Asks addr2line.
std::vector<Places> look_up(std::span<const void* const> codes) {
  std::vector<Places> places(codes.size());
  const std::string path = Program::path();
  const Program program = Program::find();
  // A command line has room for some thousands of addresses.
  constexpr std::size_t AT_ONCE = 2000;
  for (std::size_t first = 0; first < codes.size() && !path.empty(); first += AT_ONCE) {
    std::ostringstream command;
    command << "addr2line -a -C -f -i -e '" << path << '\'' << std::hex;
    const std::size_t end = std::min(first + AT_ONCE, codes.size());
    for (std::size_t i = first; i < end; ++i) {
      command << " 0x" << program.in_file(codes[i]);
    }
    // For each address a line with it, then two lines, function and place, for the code itself and for each function
    // that it was inlined into.
    std::size_t index = first;
    bool is_place = false;
    SourcePlace place;
    for (std::string& line : output_of(command.str())) {
      if (!is_place && line.starts_with("0x")) {
        ++index;
        continue;
      }
      if (is_place && index > first && index <= end) {
        line.erase(std::min(line.find(" (discriminator"), line.size()));
        const std::size_t colon = line.rfind(':');
        if (!line.starts_with('?') && colon != std::string::npos) {
          place.file = line.substr(line.starts_with("./") ? 2 : 0, colon - (line.starts_with("./") ? 2 : 0));
          place.line = 0;
          std::from_chars(line.data() + colon + 1, line.data() + line.size(), place.line);
          places[index - 1].push_back(place);
        }
      } else {
        place.function = line;
      }
      is_place = !is_place;
    }
  }
  return places;
}

}  // namespace

Program Program::find() {
  Program program;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        auto& found = *static_cast<Program*>(result);
        found.base = info->dlpi_addr;
        found.thread_local_data = static_cast<const std::byte*>(info->dlpi_tls_data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = info->dlpi_phdr[i];
          if (part.p_type == PT_TLS) {
            found.thread_local_bytes = part.p_memsz;
          } else if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
            found.code_begin = info->dlpi_addr + part.p_vaddr;
            found.code_end = found.code_begin + part.p_memsz;
          }
        }
        return 1;  // the program comes first
      },
      &program);
  return program;
}

std::string Program::path() {
  std::array<char, PATH_MAX> path{};
  return realpath("/proc/self/exe", path.data()) == nullptr ? "" : path.data();
}

std::vector<std::string> output_of(const std::string& command) {
  std::vector<std::string> lines;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>/dev/null").c_str(), "r"), pclose);
  std::array<char, 4096> part{};
  bool ended = true;
  while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) {
    std::string_view text(part.data());
    if (ended) {
      lines.emplace_back();
    }
    ended = text.ends_with('\n');
    text.remove_suffix(ended ? 1 : 0);
    lines.back() += text;
  }
  return lines;
}

std::vector<std::vector<SourcePlace>> source_places(std::span<const void* const> codes) {
  // It takes a while to read the debug information, and a program's code stays where it is.
  static std::mutex mutex;
  static std::map<const void*, Places> known;
  const std::lock_guard lock(mutex);
  std::vector<const void*> missing;
  for (const void* const code : codes) {
    if (known.try_emplace(code).second) {
      missing.push_back(code);
    }
  }
  const std::vector<Places> found = look_up(missing);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    known[missing[i]] = found[i];
  }
  std::vector<Places> places;
  for (const void* const code : codes) {
    places.push_back(known[code]);
  }
  return places;
}

std::string source_line(const void* code) {
  // The address is that of the next instruction.
  const void* const instruction = static_cast<const std::byte*>(code) - 1;
  const Places places = source_places({&instruction, 1}).front();
  std::ostringstream text;
  for (const SourcePlace& place : places) {
    text << (text.tellp() > 0 ? ", called at " : "") << place.file << ':';
    if (place.line > 0) {
      text << place.line;
    } else {
      text << '?';
    }
    text << " in " << place.function;
  }
  if (text.tellp() == 0) {
    text << "0x" << std::hex << Program::find().in_file(instruction);
  }
  return text.str();
}

}  // namespace simt
