#include "count/site_names.hpp"

#include "core/shared_variables.hpp"

#include <algorithm>
#include <regex>

namespace simt {
namespace {

/// "kernel<Tile, 4>" of "void scope::kernel<other::Tile, 4>(int)".
std::string without_scopes(const std::string& function) {
  static const std::regex scope(R"((\(anonymous namespace\)|\w+)::)");
  const std::string text = std::regex_replace(function, scope, "");
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' && depth == 0) {
      return text.substr(begin, i - begin);
    }
    depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
    begin = c == ' ' && depth == 0 ? i + 1 : begin;
  }
  return text.substr(begin);
}

}  // namespace

SourcePlace place_in_kernel(const std::vector<SourcePlace>& places) {
  if (places.empty()) {
    return {};
  }
  return *std::ranges::find(places, places.back().file, &SourcePlace::file);
}

std::vector<SourcePlace> places_in_kernel(std::span<const AccessSites::Site> sites) {
  std::vector<const void*> instructions;
  for (const AccessSites::Site& site : sites) {
    instructions.push_back(site.code == nullptr ? nullptr : static_cast<const std::byte*>(site.code) - 1);
  }
  const std::vector<std::vector<SourcePlace>> found = source_places(instructions);
  std::vector<SourcePlace> places;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const AccessSites::Site& site = sites[i];
    places.push_back(site.code != nullptr ? place_in_kernel(found[i])
                                          : SourcePlace{"", site.place.file_name(), site.place.line()});
  }
  return places;
}

std::string name_of(Memory memory, std::span<const CountedArray> arrays) {
  if (memory.index == Memory::ELSEWHERE) {
    return "";
  }
  return memory.shared ? SharedVariables::of_program().all()[memory.index].name : arrays[memory.index].array.name;
}

std::string name_of_kernel(std::span<const void* const> first_code) { return without_scopes(first_kernel(first_code)); }

}  // namespace simt
