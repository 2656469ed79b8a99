#pragma once

// What a thread of a kernel asks of the executor. All of this is called from within simt::run() alone.

#include "executor.hpp"
#include "tensor_core.hpp"

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

namespace simt {

/// Where a kernel calls something, for messages.
using Site = std::source_location;

/// Waits until `threads` threads of the block have arrived at barrier `id`, 0 to 15.
void barrier(unsigned id, unsigned threads, Site site);
/// Arrives there as one of them and does not wait.
void barrier_arrive(unsigned id, unsigned threads, Site site);
/// The same as barrier() for all threads of the block and barrier 0.
void block_barrier(Site site);
/// Waits until all lanes in `mask` have arrived with the same mask. Lanes that the block does not have do not count.
void warp_barrier(unsigned mask, Site site);
/// Lets the other threads of the block run until each of them waits, has finished or gave way as well.
void give_way();

/// Gives `value` to the warp, waits for the lanes in `mask` to do the same, and returns what lane `source` gave.
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, Site site);
/// Gives this lane's part of A and B to the warp, waits for all lanes to do the same, and sets `d` to its part of
/// A * B + C. `d` may be `c`.
void mma(const MmaOperands& operands, const float (&c)[4], float (&d)[4], Site site);
/// Products by warpgroups, each a meeting of the lanes of a warp: kernels/ptx/wgmma.cuh tells what these do. `a` and
/// `b` are shared addresses. Until a wait for `d` all its bits are set, which makes it NaN.
void wgmma(HalfFormat format, WgmmaD& d, unsigned a, unsigned b, bool accumulate, Site site);
void wgmma_fence(Site site);
void wgmma_commit(Site site);
void wgmma_wait(unsigned pending, WgmmaD& d, Site site);
/// Position of this thread in its warp.
unsigned lane();

/// The block's dynamic shared memory, aligned to 1024 bytes. What earlier blocks left in it is gone: all its bits are
/// set when the block starts, which makes every float a NaN.
void* dynamic_shared_memory();
/// Addresses of shared memory as PTX has them, 32 bits wide.
unsigned shared_address(const void* pointer);

/// Starts a copy of `bytes` bytes from global to shared memory that arrives with a wait_for_copies() at last. Without
/// a source it copies zeros. Both ends are aligned to `bytes`.
void copy_async(unsigned destination, const void* source, unsigned bytes, Site site);
/// Ends this thread's group of copies.
void commit_copies();
/// Lets the copies of all groups arrive but the `pending` youngest.
void wait_for_copies(unsigned pending);

/// Mbarriers lie at shared addresses that are multiples of 8. kernels/ptx/mbarrier.cuh tells what these do.
void mbarrier_init(unsigned address, unsigned arrivals, Site site);
void mbarrier_arrive(unsigned address, Site site);
void mbarrier_arrive_after_copies(unsigned address, Site site);
void mbarrier_wait(unsigned address, unsigned parity, Site site);
/// The same and copies of whole pieces that arrive there: kernels/ptx/cp_async_bulk.cuh.
void mbarrier_arrive_expecting(unsigned address, unsigned bytes, Site site);
void bulk_copy(unsigned destination, const void* source, unsigned bytes, unsigned mbarrier, Site site);

/// Flags in global memory that blocks have for each other: kernels/ptx/global_flag.cuh. A wait that the launch's end
/// makes futile throws Stopped.
void raise_flag(unsigned* flag);
void wait_for_flag(unsigned* flag);

/// Ends the launch with NotSupported.
[[noreturn]] void not_supported(const std::string& what);

}  // namespace simt
