#pragma once

// The OS threads that run blocks, for code that runs only some blocks of a launch or asks each block something.

#include "core/block.hpp"
#include "core/watcher.hpp"
#include "simt/executor.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace simt {

/// Makes an OS thread's watcher at the begin of a launch, on that thread. The watcher will watch the given block.
using MakeWatcher = std::function<std::shared_ptr<Watcher>(Block&)>;

/// Runs the blocks `numbers` in this order, or all blocks if it is null. Of a cluster they are all blocks in a row.
/// After each block, the OS thread that ran it calls `done` with its watcher and the position in `numbers`. Throws as
/// run() does.
void run_watched_blocks(const Launch& launch, const std::vector<std::uint64_t>* numbers, const MakeWatcher& make,
                        const std::function<void(Watcher&, std::uint64_t position)>& done);

/// The position of a block in its grid. Blocks are numbered cluster by cluster, and in each of them with x fastest.
Index3 position_of_block(std::uint64_t number, const Launch& launch);

/// Whether a block of the current launch has failed, or stop_when() asks to stop. Blocks must not wait for other blocks
/// then.
bool launch_ends();
/// How a block may wait for others: it looks for what they do, and finds nothing whatever they have done.
enum class Waiting : std::uint8_t { polling, stuck };
/// How often a block has begun or ended, or has told of a change: that it waits, or no longer.
std::uint64_t changes();
std::uint64_t tell_of_change();
/// A block has waited since there were so many changes, which `agreed` notes. Whether all blocks that run have.
bool all_agree(Waiting how, std::uint64_t changes, std::uint64_t* agreed);
/// Has blocks begin that would have waited until others end. Returns whether there are any. Throws NotSupported where
/// the system gives no more threads.
bool begin_more_blocks();
/// While a block waits for another one: gives way to the block's other threads and to other OS threads. Throws Stopped
/// where the launch ends.
void wait_for_other_blocks(Scheduler& scheduler);

}  // namespace simt
