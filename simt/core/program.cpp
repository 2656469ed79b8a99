#include "core/program.hpp"

#include <dlfcn.h>
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
#include <optional>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>

namespace simt {
namespace {

using Places = std::vector<SourcePlace>;

/// Asks addr2line for addresses in the program's file.
std::vector<Places> look_up(const Program& program, std::span<const std::uintptr_t> codes) {
  std::vector<Places> places(codes.size());
  static const std::regex HALF(R"(simt::Half<\(simt::HalfFormat\)0>)");
  static const std::regex BFLOAT(R"(simt::Half<\(simt::HalfFormat\)1>)");
  // A command line has room for some thousands of addresses.
  constexpr std::size_t AT_ONCE = 2000;
  for (std::size_t first = 0; first < codes.size() && !program.path.empty(); first += AT_ONCE) {
    std::ostringstream command;
    command << "addr2line -a -C -f -i -e '" << program.path << '\'' << std::hex;
    const std::size_t end = std::min(first + AT_ONCE, codes.size());
    for (std::size_t i = first; i < end; ++i) {
      command << " 0x" << codes[i];
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
          std::size_t begin = 0;
          while (line.compare(begin, 2, "./") == 0) {
            begin += 2;
          }
          place.file = line.substr(begin, colon - begin);
          place.line = 0;
          std::from_chars(line.data() + colon + 1, line.data() + line.size(), place.line);
          places[index - 1].push_back(place);
        }
      } else {
        place.function = std::regex_replace(line, HALF, "__half");
        place.function = std::regex_replace(place.function, BFLOAT, "__nv_bfloat16");
      }
      is_place = !is_place;
    }
  }
  return places;
}

bool is_lambda(const SourcePlace& place) {
  return place.function.find("lambda") != std::string::npos || place.function.starts_with("operator()");
}

bool is_of_library(const SourcePlace& place) {
  return place.file.find("/include/simt/") != std::string::npos ||
         place.file.find("/include/c++/") != std::string::npos;
}

/// Whether this is the lambda at a launch, or something that calls it.
bool launches_kernel(const SourcePlace& place) { return is_of_library(place) || is_lambda(place); }

Program described(const dl_phdr_info& info) {
  Program program;
  program.base = info.dlpi_addr;
  program.path = info.dlpi_name;
  if (program.path.empty()) {
    std::array<char, PATH_MAX> path{};
    program.path = realpath("/proc/self/exe", path.data()) == nullptr ? "" : path.data();
  }
  program.thread_local_data = static_cast<const std::byte*>(info.dlpi_tls_data);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    if (part.p_type == PT_TLS) {
      program.thread_local_bytes = part.p_memsz;
    } else if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
      program.code_begin = info.dlpi_addr + part.p_vaddr;
      program.code_end = program.code_begin + part.p_memsz;
    }
  }
  return program;
}

}  // namespace

Program Program::find() { return of(nullptr); }

Program Program::of(const void* code) {
  struct Search {
    std::uintptr_t code;
    std::optional<Program> found = {};
  } search{reinterpret_cast<std::uintptr_t>(code)};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        Search& wanted = *static_cast<Search*>(data);
        const Program program = described(*info);
        const bool holds = wanted.code >= program.code_begin && wanted.code < program.code_end;
        if (holds || !wanted.found) {  // the program comes first
          wanted.found = program;
        }
        return holds || wanted.code == 0 ? 1 : 0;
      },
      &search);
  return *search.found;
}

bool is_data_of_program(const void* address, bool write) {
  const auto is_constant = [](dl_phdr_info* info, std::size_t, void* wanted) {
    return std::any_of(
               info->dlpi_phdr, info->dlpi_phdr + info->dlpi_phnum,
               [&](const ElfW(Phdr) & part) {
                 return (part.p_type == PT_GNU_RELRO || (part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0)) &&
                        reinterpret_cast<std::uintptr_t>(wanted) - info->dlpi_addr - part.p_vaddr < part.p_memsz;
               })
               ? 1
               : 0;
  };
  if (!write && dl_iterate_phdr(is_constant, const_cast<void*>(address)) != 0) {
    return true;
  }
  // The compiler has one weak symbol for a template's variable, wherever that is used.
  Dl_info object{};
  const ElfW(Sym)* symbol = nullptr;
  return dladdr1(address, &object, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT) != 0 &&
         symbol != nullptr && ELF64_ST_BIND(symbol->st_info) == STB_WEAK &&
         ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT;
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
  // It takes a while to read the debug information, and code stays where it is in its file.
  static std::mutex mutex;
  static std::map<std::string, std::map<std::uintptr_t, Places>> known;
  const std::lock_guard lock(mutex);
  std::map<std::string, std::pair<Program, std::vector<std::uintptr_t>>> missing;  // by file
  std::vector<const Places*> found;
  for (const void* const code : codes) {
    const Program program = Program::of(code);
    const auto [entry, is_new] = known[program.path].try_emplace(program.in_file(code));
    found.push_back(&entry->second);
    if (is_new) {
      auto& [of_file, addresses] = missing[program.path];
      of_file = program;
      addresses.push_back(entry->first);
    }
  }
  for (const auto& [path, asked] : missing) {
    const auto& [program, addresses] = asked;
    std::vector<Places> places = look_up(program, addresses);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      known[path][addresses[i]] = std::move(places[i]);
    }
  }
  std::vector<Places> places;
  for (const Places* const each : found) {
    places.push_back(*each);
  }
  return places;
}

std::string first_kernel(std::span<const void* const> codes) {
  std::vector<const void*> instructions;
  for (const void* const code : codes) {
    instructions.push_back(static_cast<const std::byte*>(code) - 1);
  }
  for (const Places& places : source_places(instructions)) {
    const auto kernel = std::find_if_not(places.rbegin(), places.rend(), launches_kernel);
    if (kernel != places.rend()) {
      return kernel->function;
    }
  }
  return "";
}

std::string source_line(const void* code) {
  // The address is that of the next instruction.
  const void* const instruction = static_cast<const std::byte*>(code) - 1;
  Places places = source_places({&instruction, 1}).front();
  // What a function of CUDA's is made of tells nobody anything: the place that called it does, nor does a second place
  // on the same line, of a lambda that inline assembly became.
  const auto told_by_next = [&](const SourcePlace& place, const SourcePlace& next) {
    return is_of_library(place) || (place.file == next.file && place.line == next.line && is_lambda(place));
  };
  for (std::size_t i = 0; i + 1 < places.size();) {
    if (told_by_next(places[i], places[i + 1])) {
      places.erase(places.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  while (places.size() > 1 && launches_kernel(places.back())) {
    places.pop_back();
  }
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
    text << "0x" << std::hex << Program::of(instruction).in_file(instruction);
  }
  return text.str();
}

}  // namespace simt
