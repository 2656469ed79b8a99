// Mbarriers: who waits for whom, what they order, where they divide what is counted, and what is reported of kernels
// that use them wrongly.

#include "complaint.hpp"
#include "guarded_array.hpp"
#include "instructions.cuh"
#include "launch.cuh"
#include "simt/checked_arrays.hpp"
#include "simt/counter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace simt::test {
namespace {

using simt::AccessKind;
using simt::Traffic;

/// One block of 96 threads: a warp copies RING_STEPS rows of RING_WIDTH elements of `in` through a ring of three stages
/// in shared memory, two warps add up what they read there, to RING_CONSUMERS elements of `out`.
enum class Ring {
  right,
  consumers_first,    ///< they have the lower thread numbers
  one_lane_waits,     ///< of each warp of consumers, for all; and arrives for all
  half_of_the_lanes,  ///< of the consumers read in even steps, the others in odd ones
  // Mistakes that no kernel may make:
  producer_stops,  ///< before the last step
  wrong_parity,    ///< of the phases that consumers wait for
  read_before_wait,
  overwrite_unreleased,  ///< the producer does not wait for the consumers
  release_before_read,
  no_barrier_after_init,
  no_init,  ///< of one of the mbarriers
  init_twice,
  misaligned,
  no_arrivals,
  one_arrival_more,  ///< in a phase to which bytes are missing
  odd_parity,
};
constexpr unsigned RING_STEPS = 8;
constexpr unsigned RING_WIDTH = 32;
constexpr unsigned RING_CONSUMERS = 64;
/// The value that consumer number `consumer` reads in the step.
constexpr std::size_t ring_index(std::size_t step, std::size_t consumer) {
  return step * RING_WIDTH + (5 * consumer + step) % RING_WIDTH;
}

/// One block of two warps, of which the first hands something over to the second, once.
enum class Handover {
  right,
  copies_awaited_otherwise,  ///< they arrive at an mbarrier, but cp_async_wait_group and __syncthreads are what orders
                             ///< them
  // Mistakes that no kernel may make:
  own_copy_before_wait,
  other_barrier_instead,    ///< __syncthreads, which does not wait for copies
  store_announced_as_copy,  ///< an ordinary store, then an arrival that waits for copies alone
  arriver_reads_on,         ///< what the second warp overwrites, which waited for an earlier arrival
  arriver_does_not_wait,    ///< and reads what the second warp wrote before it arrived
  overwrite_mbarrier,
};

constexpr unsigned STAGES = 3;
constexpr unsigned LANES = 32;
constexpr unsigned BARRIER_BYTES = 8;

__device__ void init_ring(Ring which, unsigned full, unsigned empty) {
  for (unsigned stage = 0; stage < STAGES; ++stage) {
    if (which != Ring::no_init || stage != 1) {
      mbarrier_init(full + stage * BARRIER_BYTES, LANES);
    }
    mbarrier_init(empty + stage * BARRIER_BYTES,
                  which == Ring::one_lane_waits ? RING_CONSUMERS / LANES : RING_CONSUMERS);
  }
  if (which == Ring::init_twice) {
    mbarrier_init(full, LANES);
  } else if (which == Ring::misaligned) {
    mbarrier_init(full + 4, LANES);
  } else if (which == Ring::no_arrivals) {
    mbarrier_init(full, 0);
  } else if (which == Ring::one_arrival_more) {
    for (unsigned arrival = 0; arrival < LANES; ++arrival) {
      mbarrier_arrive_expect_tx(full, 16);
    }
    mbarrier_arrive(full);
  }
}

__device__ void produce(Ring which, const float* in, unsigned stages, unsigned full, unsigned empty) {
  const unsigned lane = threadIdx.x % LANES;
  for (unsigned step = 0; step < RING_STEPS; ++step) {
    const unsigned stage = step % STAGES;
    if (which != Ring::overwrite_unreleased) {
      mbarrier_wait(empty + stage * BARRIER_BYTES, which == Ring::odd_parity ? 2 : step / STAGES % 2 ^ 1);
    }
    if (which == Ring::producer_stops && step == RING_STEPS - 1) {
      return;
    }
    cp_async<4>(stages + (stage * RING_WIDTH + lane) * 4, in + step * RING_WIDTH + lane);
    cp_async_mbarrier_arrive_noinc(full + stage * BARRIER_BYTES);
  }
}

__device__ float consume(Ring which, unsigned consumer, const float* stages, unsigned full, unsigned empty) {
  const unsigned other = which == Ring::wrong_parity ? 1 : 0;
  const bool waits = which != Ring::one_lane_waits || consumer % LANES == 0;
  float sum = 0.0F;
  for (unsigned step = 0; step < RING_STEPS; ++step) {
    const unsigned stage = step % STAGES;
    const float* const value = stages + stage * RING_WIDTH + (5 * consumer + step) % RING_WIDTH;
    if (which == Ring::read_before_wait && step > 0) {
      sum += *value;
    }
    if (waits) {
      mbarrier_wait(full + stage * BARRIER_BYTES, step / STAGES % 2 ^ other);
    }
    if (which == Ring::one_lane_waits) {
      __syncwarp();
    }
    if (which == Ring::release_before_read) {
      mbarrier_arrive(empty + stage * BARRIER_BYTES);
    }
    if (which != Ring::half_of_the_lanes || consumer % LANES / (LANES / 2) == step % 2) {
      sum += *value;
    }
    if (which == Ring::one_lane_waits) {
      __syncwarp();
    }
    if (waits && which != Ring::release_before_read) {
      mbarrier_arrive(empty + stage * BARRIER_BYTES);
    }
  }
  return sum;
}

__global__ void ring_kernel(Ring which, const float* in, float* out) {
  __shared__ std::uint64_t full[STAGES];
  __shared__ std::uint64_t empty[STAGES];
  __shared__ float stages[STAGES * RING_WIDTH];
  const unsigned full_address = shared_address(full);
  const unsigned empty_address = shared_address(empty);
  if (threadIdx.x == 0) {
    init_ring(which, full_address, empty_address);
  }
  if (which != Ring::no_barrier_after_init) {
    __syncthreads();
  }
  const bool consumers_first = which == Ring::consumers_first;
  const unsigned consumer = threadIdx.x - (consumers_first ? 0 : LANES);
  if (consumer < RING_CONSUMERS) {
    out[consumer] = consume(which, consumer, stages, full_address, empty_address);
  } else {
    produce(which, in, shared_address(stages), full_address, empty_address);
  }
}

__global__ void handover_kernel(Handover which, const float* in, float* out) {
  __shared__ std::uint64_t barrier[1];
  __shared__ float values[LANES];
  const unsigned address = shared_address(barrier);
  const unsigned lane = threadIdx.x % LANES;
  const bool first_warp = threadIdx.x < LANES;
  out += blockIdx.x * blockDim.x;
  if (threadIdx.x == 0) {
    mbarrier_init(address, which == Handover::arriver_does_not_wait ? 2 * LANES : LANES);
    if (which == Handover::overwrite_mbarrier) {
      *barrier = 1;
    }
  }
  __syncthreads();
  if (which == Handover::arriver_does_not_wait) {
    if (!first_warp) {
      values[lane] = in[lane];
    }
    mbarrier_arrive(address);
    if (first_warp) {
      out[lane] = values[LANES - 1];
    }
    return;
  }
  if (first_warp) {
    if (which == Handover::arriver_reads_on || which == Handover::store_announced_as_copy) {
      values[lane] = in[lane];
    } else {
      cp_async<4>(shared_address(values + lane), in + lane);
    }
    if (which == Handover::arriver_reads_on) {
      mbarrier_arrive(address);
      out[lane] = values[lane];
      return;
    }
    cp_async_commit_group();
    cp_async_mbarrier_arrive_noinc(address);
    if (which == Handover::own_copy_before_wait) {
      out[lane] = values[lane];
    }
  }
  if (which == Handover::copies_awaited_otherwise || which == Handover::other_barrier_instead) {
    if (which == Handover::copies_awaited_otherwise) {
      cp_async_wait_group<0>();
    }
    __syncthreads();
  } else {
    mbarrier_wait(address, 0);
  }
  if (!first_warp) {
    out[threadIdx.x] = values[LANES - 1 - lane];
    if (which == Handover::arriver_reads_on) {
      values[lane] = 0.0F;
    }
  }
}

constexpr std::size_t ELEMENTS = 256;
constexpr std::size_t BYTES = ELEMENTS * sizeof(float);

/// `in` and `out` have ELEMENTS.
void execute(Ring which, const float* in, float* out) {
  launch(ring_kernel, 1, dim3(LANES + RING_CONSUMERS), 0, nullptr, which, in, out);
}

/// For the tests of checks alone, which builds with sanitizers do without.
[[maybe_unused]] void execute(Handover which, const float* in, float* out) {
  launch(handover_kernel, which == Handover::right ? 2 : 1, dim3(2 * LANES), 0, nullptr, which, in, out);
}

std::vector<float> execute(Ring which) {
  std::vector<float> in(ELEMENTS);
  std::iota(in.begin(), in.end(), 1.0F);
  std::vector<float> out(ELEMENTS, -1.0F);
  execute(which, in.data(), out.data());
  return out;
}

void expect_sums(Ring which) {
  const std::vector<float> out = execute(which);
  for (std::size_t consumer = 0; consumer < RING_CONSUMERS; ++consumer) {
    float sum = 0.0F;
    for (std::size_t step = 0; step < RING_STEPS; ++step) {
      const bool reads = which != Ring::half_of_the_lanes || consumer % 32 / 16 == step % 2;
      sum += reads ? static_cast<float>(1 + ring_index(step, consumer)) : 0.0F;
    }
    EXPECT_EQ(out[consumer], sum) << consumer;
  }
}

TEST(Mbarriers, RingHandsEveryStageOver) {
  for (const Ring which : {Ring::right, Ring::consumers_first, Ring::one_lane_waits, Ring::half_of_the_lanes}) {
    SCOPED_TRACE(static_cast<int>(which));
    expect_sums(which);
  }
}

TEST(Mbarriers, WrongUsesAreNamed) {
  for (const auto& [which, parts] : std::vector<std::pair<Ring, std::vector<std::string>>>{
           {Ring::producer_stops,  // step 7 is the third in stage 1
            {"block (0,0,0), thread (32,0,0)", "mbarriers_test.cu:", "consume", "waits for ever",
             "the mbarrier at shared address 0x", "phase 2 only 0 of 32 arrivals", "thread (0,0,0) has finished"}},
           {Ring::wrong_parity,
            {"thread (0,0,0)", "mbarriers_test.cu:", "produce", "to whose phase 0 only ", " of 64 arrivals",
             "thread (32,0,0) waits at ", "consume"}},
           {Ring::no_init,
            {"thread (0,0,0)", "mbarriers_test.cu:", "produce", "the mbarrier at shared address 0x",
             "was never initialised"}},
           {Ring::init_twice, {"thread (0,0,0)", "mbarriers_test.cu:", "init_ring", "is in use already"}},
           {Ring::misaligned, {"thread (0,0,0)", "init_ring", "not aligned to 8 bytes"}},
           {Ring::no_arrivals, {"init_ring", "1 to 1048575 arrivals, not 0"}},
           {Ring::one_arrival_more,
            {"thread (0,0,0)", "init_ring", "gets one arrival more than a phase takes: bytes are missing yet"}},
           {Ring::odd_parity, {"thread (0,0,0)", "mbarriers_test.cu:", "produce", "0 or 1, not 2"}}}) {
    SCOPED_TRACE(static_cast<int>(which));
    expect_parts(message_of([&, ring = which] { execute(ring); }), parts);
    expect_sums(Ring::right);  // nothing is left of it
  }
}

#ifdef SIMT_CHECKED

template <class Which>
std::string complaint(Which which) {
  GuardedArray in(ELEMENTS, 1.0F);
  GuardedArray out(ELEMENTS, 0.0F);
  const simt::CheckedArrays arrays({simt::input("IN", in.data(), ELEMENTS), simt::in_out("OUT", out.data(), ELEMENTS)});
  return message_of([&] { execute(which, in.data(), out.data()); });
}

template <class Which>
void expect_complaint(Which which, const std::vector<std::string>& parts) {
  SCOPED_TRACE(static_cast<int>(which));
  expect_message(complaint(which), "mbarriers_test.cu", parts);
  EXPECT_EQ(complaint(Which::right), "");
}

TEST(CheckedMbarriers, RightUses) {
  for (const Ring which : {Ring::right, Ring::consumers_first, Ring::one_lane_waits, Ring::half_of_the_lanes}) {
    EXPECT_EQ(complaint(which), "") << static_cast<int>(which);
  }
  for (const Handover which : {Handover::right, Handover::copies_awaited_otherwise}) {
    EXPECT_EQ(complaint(which), "") << static_cast<int>(which);
  }
}

TEST(CheckedMbarriers, WrongUsesAreNamed) {
  expect_complaint(Ring::read_before_wait, {"reads 4 bytes", "shared stages, which thread (", "wrote, and no barrier"});
  expect_complaint(Ring::overwrite_unreleased, {"thread (0,0,0)", "an asynchronous copy writes 4 bytes",
                                                "shared stages, which thread (0,0,0) wrote, and no barrier"});
  expect_complaint(Ring::release_before_read,
                   {"an asynchronous copy writes 4 bytes", "shared stages, which thread (", "read, and no barrier"});
  expect_complaint(Ring::wrong_parity, {"an asynchronous copy writes 4 bytes", "shared stages, which thread (",
                                        "read, and no barrier lies in between; it read at "});
  expect_complaint(Ring::no_barrier_after_init, {"thread (1,0,0)", "an operation on an mbarrier reads 8 bytes",
                                                 "shared empty, which thread (0,0,0) wrote, and no barrier"});
  expect_complaint(Handover::own_copy_before_wait,
                   {"thread (0,0,0)", "shared values, which thread (0,0,0) wrote, and no barrier"});
  expect_complaint(Handover::other_barrier_instead,
                   {"reads 4 bytes", "shared values, which thread (", "wrote, and no barrier"});
  expect_complaint(Handover::store_announced_as_copy,
                   {"thread (32,0,0)", "shared values, which thread (31,0,0) wrote, and no barrier"});
  expect_complaint(Handover::arriver_does_not_wait,
                   {"thread (0,0,0)", "reads 4 bytes", "shared values, which thread (63,0,0) wrote, and no barrier"});
  expect_complaint(Handover::arriver_reads_on,
                   {"thread (32,0,0)", "writes 4 bytes", "shared values, which thread (0,0,0) read, and no barrier"});
  expect_complaint(Handover::overwrite_mbarrier,
                   {"thread (0,0,0)", "writes 8 bytes", "shared barrier, which an mbarrier is kept in"});
}

simt::LaunchCounts counts_of(Ring which) {
  GuardedArray in(ELEMENTS, 1.0F);
  GuardedArray out(ELEMENTS, 0.0F);
  simt::Counting counting({{{"IN", in.data(), 1, BYTES, BYTES, false}}, {{"OUT", out.data(), 1, BYTES, BYTES, true}}},
                          [](std::size_t, unsigned) { return std::size_t{32768}; });
  execute(which, in.data(), out.data());
  return std::move(counting.take().front());
}

const Traffic& of(const simt::LaunchCounts& counts, AccessKind kind) {
  return counts.traffic[static_cast<std::size_t>(kind)];
}

constexpr std::uint64_t CONSUMER_WARPS = RING_CONSUMERS / 32;

TEST(CountedMbarriers, LanesAreTogetherAtWaits) {
  for (const Ring which : {Ring::right, Ring::consumers_first, Ring::one_lane_waits}) {
    SCOPED_TRACE(static_cast<int>(which));
    const simt::LaunchCounts counts = counts_of(which);
    constexpr std::uint64_t READS = CONSUMER_WARPS * RING_STEPS;
    EXPECT_EQ(of(counts, AccessKind::async_copy),
              (Traffic{RING_STEPS, 4 * RING_STEPS, RING_STEPS, RING_STEPS, 128 * RING_STEPS}));
    EXPECT_EQ(of(counts, AccessKind::shared_load), (Traffic{READS, 0, READS, READS, 128 * READS}));
    EXPECT_EQ(of(counts, AccessKind::global_store).requests, CONSUMER_WARPS);
    // Three warps at one barrier of the block; each then waits once a step.
    EXPECT_EQ(counts.barriers, 3U + (1 + CONSUMER_WARPS) * RING_STEPS);
    EXPECT_EQ(counts.smem_bytes, 3U * (32 * 4 + 2 * 8));
  }
}

TEST(CountedMbarriers, LanesOfDifferentStepsArePutTogetherByStep) {
  const simt::LaunchCounts counts = counts_of(Ring::half_of_the_lanes);
  EXPECT_EQ(of(counts, AccessKind::shared_load).requests, CONSUMER_WARPS * RING_STEPS);
  EXPECT_EQ(of(counts, AccessKind::shared_load).bytes, 64 * CONSUMER_WARPS * RING_STEPS);
}

TEST(CountedMbarriers, WhatFollowsAPhaseReachesTheL2Later) {
  const simt::LaunchCounts counts = counts_of(Ring::right);
  const simt::BlockTraffic& traffic = counts.executed.front()->traffic;
  std::vector<bool> writes;
  std::transform(traffic.begin(), traffic.end(), std::back_inserter(writes),
                 [](const simt::SectorAccess& access) { return access.write; });
  EXPECT_EQ(std::count(writes.begin(), writes.end(), true), 2);
  EXPECT_TRUE(std::is_sorted(writes.begin(), writes.end()));
}

#endif

}  // namespace
}  // namespace simt::test
