#pragma once

// The names that a reader knows sites and memories by.

#include "core/program.hpp"
#include "count/counting_context.hpp"
#include "simt/counter.hpp"

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

/// The name of a kernel, without namespaces and parameters, of which a thread runs this code first, in this order.
/// Empty where the program has no debug information.
std::string name_of_kernel(std::span<const void* const> first_code);

}  // namespace simt
