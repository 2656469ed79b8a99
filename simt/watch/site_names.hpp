#pragma once

// The names that a reader knows sites and memories by.

#include "simt/counter.hpp"
#include "watch/counting_context.hpp"
#include "watch/program.hpp"

#include <span>
#include <string>
#include <vector>

namespace simt {

/// The place in the file of the function into which everything was inlined, where a reader looks for it. `places` is
/// one of source_places().
SourcePlace place_in_kernel(const std::vector<SourcePlace>& places);
/// Those places of sites.
std::vector<SourcePlace> places_in_kernel(std::span<const AccessSites::Site> sites);

/// The name of the array or the shared variable; empty for any other memory.
std::string name_of(Memory memory, std::span<const CountedArray> arrays);

/// "kernel.cu" of "/path/kernel.cu".
std::string without_folder(const std::string& file);

}  // namespace simt
