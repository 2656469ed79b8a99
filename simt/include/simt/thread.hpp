#pragma once

// The executor's services for a thread of a kernel. All of this is called from within simt::run() alone.

#include "simt/executor.hpp"
#include "simt/half_floats.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>

namespace simt {

/// Where a kernel calls something, for messages.
using Site = std::source_location;

// ---- Barriers and shuffles ----

/// bar.sync: waits until `threads` threads of the block have arrived at barrier `id`, 0 to 15.
void barrier(unsigned id, unsigned threads, Site site);
/// bar.arrive: arrives there as one of them and does not wait.
void barrier_arrive(unsigned id, unsigned threads, Site site);
/// __syncthreads: barrier() for all threads of the block and barrier 0.
void block_barrier(Site site);
/// __syncwarp: waits until all lanes in `mask` have arrived with this mask. Lanes that the block lacks do not count.
void warp_barrier(unsigned mask, Site site);
/// Lets the other threads of the block run until each of them waits, has finished or gave way as well.
void give_way();
/// Gives `value` to the warp, waits for the lanes in `mask` to do so too, and returns what lane `source` gave.
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source, Site site);
/// Position of this thread in its warp.
unsigned lane();

// ---- Tensor cores ----

/// A lane's part of A (16 x 8) and B (8 x 8) for mma.sync.m16n8k8 with TF32 operands.
struct MmaOperands {
  std::array<float, 4> a{};
  std::array<float, 2> b{};
};

/// mma.sync: gives this lane's part of A and B to the warp, waits for all lanes to do so too, and sets `d` to its part
/// of A * B + C. `d` may be `c`.
void mma(const MmaOperands& operands, const float (&c)[4], float (&d)[4], Site site);

/// A thread's part of D (64 x 128) in wgmma.m64n128k16.
using WgmmaD = float[64];

/// wgmma.mma_async: D = A * B, or D += A * B where `accumulate` says so, by the lanes of a warp together. `a` and `b`
/// are shared addresses of tiles in K-major order with 128-byte swizzling. The product is started and not waited for:
/// until a wait for `d` all its bits are set, which makes it NaN.
void wgmma(HalfFormat format, WgmmaD& d, unsigned a, unsigned b, bool accumulate, Site site);
/// wgmma.fence: does nothing, because registers are handed over when a product starts.
void wgmma_fence(Site site);
/// wgmma.commit_group: the products since the last commit are a group.
void wgmma_commit(Site site);
/// wgmma.wait_group: waits until at most `pending` of the youngest groups are under way, and takes `d` over.
void wgmma_wait(unsigned pending, WgmmaD& d, Site site);

// ---- Shared memory ----

/// The block's dynamic shared memory, aligned to 1024 bytes. The content of earlier blocks is gone: all bits are set
/// when the block starts, which makes every float a NaN.
void* dynamic_shared_memory();
/// Addresses of shared memory as PTX has them, 32 bits wide.
unsigned shared_address(const void* pointer);

// ---- Copies from global to shared memory ----

/// cp.async: starts a copy of `bytes` bytes, which arrives with a wait_for_copies() at the latest. Without a source it
/// writes zeros. Both ends are aligned to `bytes`.
void copy_async(unsigned destination, const void* source, unsigned bytes, Site site);
/// cp.async.commit_group: ends this thread's group of copies.
void commit_copies();
/// cp.async.wait_group: lets the copies of all groups arrive except the `pending` youngest.
void wait_for_copies(unsigned pending);
/// cp.async.bulk: copies bytes that count for the current phase of the mbarrier. Addresses and size are multiples of
/// 16.
void bulk_copy(unsigned destination, const void* source, unsigned bytes, unsigned mbarrier, Site site);

// ---- Mbarriers, at shared addresses that are multiples of 8 ----

/// mbarrier.init: makes an mbarrier. A phase ends when `arrivals` arrivals and all expected bytes have come. The next
/// begins at once.
void mbarrier_init(unsigned address, unsigned arrivals, Site site);
/// mbarrier.arrive: orders what this thread did so far before everything behind a wait for this phase.
void mbarrier_arrive(unsigned address, Site site);
/// cp.async.mbarrier.arrive.noinc: arrives when all of this thread's copies have arrived. It announces these copies and
/// nothing else.
void mbarrier_arrive_after_copies(unsigned address, Site site);
/// mbarrier.arrive.expect_tx: arrives, and makes the phase wait for that many bytes of bulk copies.
void mbarrier_arrive_expecting(unsigned address, unsigned bytes, Site site);
/// mbarrier.try_wait.parity, again and again: waits until the latest phase of that parity has ended. The phase before
/// phase 0 counts as ended.
void mbarrier_wait(unsigned address, unsigned parity, Site site);

// ---- Flags in global memory that blocks have for each other ----

/// st.release of 1.
void raise_flag(unsigned* flag);
/// Repeats ld.acquire until the flag is raised, and lowers it. Throws Stopped if the launch ends before.
void wait_for_flag(unsigned* flag);

/// Ends the launch with NotSupported.
[[noreturn]] void not_supported(const std::string& what);

}  // namespace simt
