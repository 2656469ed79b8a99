#pragma once

// The OS threads that run blocks, for whatever runs only some blocks of a launch or wants something of each.

#include "block.hpp"
#include "executor.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace simt {

/// Runs the blocks `numbers`, all where it is null, in this order. After each, `done` is called by the OS thread that
/// ran it with the position in `numbers`. Throws as run() does.
void run_blocks(const Launch& launch, const Watching& watching, const std::vector<std::uint64_t>* numbers,
                const std::function<void(Block&, std::uint64_t position)>& done);

/// Whether a block of the launch under way has failed, or stop_when() says so: blocks must not wait for others then.
bool launch_ends();

}  // namespace simt
