#include "core/shared_variables.hpp"

#include "core/program.hpp"
#include "core/shared_memory.hpp"
#include "simt/launch_observer.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

namespace simt {
namespace {

constexpr std::size_t WORD_BYTES = 4;

std::string demangled(const char* name) {
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, nullptr), std::free);
  return text ? text.get() : name;
}

/// The part of a name behind the last "::" outside of brackets.
std::string last_part(const std::string& name) {
  const std::size_t at = name.rfind("::");
  return at == std::string::npos ? name : name.substr(at + 2);
}

}  // namespace

const SharedVariables& SharedVariables::of_program() {
  static const SharedVariables& variables = *new SharedVariables;  // as threads run blocks while exit() is under way
  return variables;
}

SharedVariables::SharedVariables() : words_((Program::find().thread_local_bytes + WORD_BYTES - 1) / WORD_BYTES) {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
  const auto at = [&](std::size_t offset) { return image.data() + offset; };
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(image.data());
  const auto* const sections = reinterpret_cast<const ElfW(Shdr)*>(at(header.e_shoff));
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) {
      continue;
    }
    const auto* const symbols = reinterpret_cast<const ElfW(Sym)*>(at(sections[i].sh_offset));
    const char* const names = at(sections[sections[i].sh_link].sh_offset);
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof(ElfW(Sym)); ++s) {
      if (ELF64_ST_TYPE(symbols[s].st_info) != STT_TLS || symbols[s].st_shndx == SHN_UNDEF) {
        continue;
      }
      const char* const name = names + symbols[s].st_name;
      const std::string text = demangled(name);
      const bool in_function = std::string_view(name).starts_with("_ZZ");
      const bool placed = text == STATIC_MEMORY_SYMBOL;
      variables_.push_back({text == DYNAMIC_MEMORY_SYMBOL ? std::string(DYNAMIC_SHARED_MEMORY)
                            : placed                      ? std::string(STATIC_SHARED_MEMORY)
                                                          : last_part(text),
                            symbols[s].st_value, symbols[s].st_size,
                            in_function || placed || text == DYNAMIC_MEMORY_SYMBOL, placed});
    }
  }
  if (variables_.empty()) {
    throw std::runtime_error("the program has been stripped of the symbols that tell its shared variables");
  }
  for (std::size_t index = 0; index < variables_.size(); ++index) {
    const Variable& variable = variables_[index];
    const std::size_t end = std::min((variable.offset + variable.bytes + WORD_BYTES - 1) / WORD_BYTES, words_.size());
    std::fill(words_.begin() + static_cast<std::ptrdiff_t>(variable.offset / WORD_BYTES),
              words_.begin() + static_cast<std::ptrdiff_t>(end), static_cast<std::uint16_t>(index + 1));
  }
}

std::string why_unobserved() {
  try {
    SharedVariables::of_program();
    return "";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

const SharedVariables::Variable* SharedVariables::at(std::size_t offset) const {
  const std::uint16_t index = words_[offset / WORD_BYTES];
  return index == 0 ? nullptr : &variables_[index - 1U];
}

}  // namespace simt
