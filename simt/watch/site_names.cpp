#include "watch/site_names.hpp"

#include "watch/shared_variables.hpp"

#include <algorithm>

namespace simt {

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

std::string without_folder(const std::string& file) { return file.substr(file.rfind('/') + 1); }

}  // namespace simt
