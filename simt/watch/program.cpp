#include "watch/program.hpp"

#include "simt/kernel_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace simt {
namespace {

using Places = std::vector<SourcePlace>;

/// Asks addr2line.
std::vector<Places> look_up(std::span<const void* const> codes) {
  std::vector<Places> places(codes.size());
  const Program& program = Program::current();
  const std::string& path = program.path;
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

/// Takes down where the object of `info` lies.
void describe(const dl_phdr_info& info, Program& program) {
  program.base = info.dlpi_addr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    if (part.p_type == PT_TLS) {
      program.thread_local_bytes = part.p_memsz;
    } else if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) {
      program.code_begin = info.dlpi_addr + part.p_vaddr;
      program.code_end = program.code_begin + part.p_memsz;
    }
  }
}

Program find_itself() {
  Program program;
  std::array<char, PATH_MAX> path{};
  program.path = realpath("/proc/self/exe", path.data()) == nullptr ? "" : path.data();
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        describe(*info, *static_cast<Program*>(result));
        return 1;  // the program comes first
      },
      &program);
  return program;
}

/// Whether the library's thread-local variables lie at one distance from the program's in all OS threads.
bool has_static_variables(const link_map& library) {
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_STATIC_TLS) != 0) {
      return true;
    }
  }
  return false;
}

/// What the compiler calls for a thread-local variable of a library.
struct VariableIndex {
  std::size_t module = 0;
  std::size_t offset = 0;
};
extern "C" void* __tls_get_addr(VariableIndex*);

Program find_library(void* handle) {
  Program program;
  link_map* library = nullptr;
  VariableIndex variables;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &library) != 0 || dlinfo(handle, RTLD_DI_TLS_MODID, &variables.module) != 0) {
    throw std::runtime_error(dlerror());
  }
  program.path = library->l_name;
  struct Search {
    const link_map& library;
    Program& program;
  } search{*library, program};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* state) {
        const Search& search = *static_cast<Search*>(state);
        if (info->dlpi_addr != search.library.l_addr || search.program.path != info->dlpi_name) {
          return 0;
        }
        describe(*info, search.program);
        return 1;
      },
      &search);
  if (program.thread_local_bytes > 0) {
    if (!has_static_variables(*library)) {
      throw std::runtime_error(program.path + " was not compiled with -ftls-model=initial-exec");
    }
    program.thread_local_distance =
        static_cast<const std::byte*>(__tls_get_addr(&variables)) - Program::thread_local_data();
  }
  return program;
}

/// Null for the program itself.
std::atomic<const Program*> current_library{nullptr};

}  // namespace

void launch_from_library(void* handle) {
  static std::map<void*, Program> known;  // none is forgotten
  if (handle == nullptr) {
    current_library = nullptr;
    return;
  }
  auto place = known.find(handle);
  if (place == known.end()) {
    place = known.emplace(handle, find_library(handle)).first;
  }
  current_library = &place->second;
}

const Program& Program::itself() {
  static const Program program = find_itself();
  return program;
}

const Program& Program::current() {
  const Program* const library = current_library;
  return library == nullptr ? itself() : *library;
}

const std::byte* Program::thread_local_data() {
  const std::byte* data = nullptr;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<const std::byte**>(result) = static_cast<const std::byte*>(info->dlpi_tls_data);
        return 1;  // the program comes first
      },
      &data);
  return data;
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
    text << "0x" << std::hex << Program::current().in_file(instruction);
  }
  return text.str();
}

}  // namespace simt
