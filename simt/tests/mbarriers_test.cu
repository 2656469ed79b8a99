// Mbarriers: who waits for whom, what they order, where they divide what is counted, and what is reported of kernels
// that use them wrongly.

#include "launch.cuh"
#include "observed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace simt::test {
namespace {

using Parts = std::vector<std::string>;

constexpr unsigned STEPS = 8;
constexpr unsigned WIDTH = 32;
constexpr unsigned CONSUMERS = 64;
constexpr unsigned STAGES = 3;
constexpr unsigned BARRIER_BYTES = 8;

/// One block of 96 threads: a warp copies STEPS rows of WIDTH elements of `in` through a ring of three stages in shared
/// memory, two warps add up what they read there, to CONSUMERS elements of `out`. What they do otherwise:
struct Ring {
  bool consumers_first = false;    ///< they have the lower thread numbers
  bool one_lane_waits = false;     ///< of each warp of consumers, for all; and arrives for all
  bool half_of_the_lanes = false;  ///< of the consumers read in even steps, the others in odd ones
  // Mistakes that no kernel may make:
  unsigned produced = STEPS;
  unsigned parity = 0;              ///< added to that of the phases that consumers wait for
  bool reads_early = false;         ///< before a wait
  bool waits_for_consumers = true;  ///< the producer does
  bool releases_early = false;      ///< before it reads
  bool waits_for_init = true;
  unsigned without_init = STAGES;  ///< the stage whose mbarrier nobody initialises
};
/// The value that consumer number `consumer` reads in the step.
constexpr std::size_t ring_index(std::size_t step, std::size_t consumer) {
  return step * WIDTH + (5 * consumer + step) % WIDTH;
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

__device__ void produce(const Ring& how, const float* in, unsigned stages, unsigned full, unsigned empty) {
  const unsigned lane = threadIdx.x % LANES;
  for (unsigned step = 0; step < STEPS; ++step) {
    const unsigned stage = step % STAGES;
    if (how.waits_for_consumers) {
      mbarrier_wait(empty + stage * BARRIER_BYTES, step / STAGES % 2 ^ 1);
    }
    if (step == how.produced) {
      return;
    }
    copy_async(stages + (stage * WIDTH + lane) * 4, in + step * WIDTH + lane, 4);
    mbarrier_arrive_after_copies(full + stage * BARRIER_BYTES);
  }
}

__device__ float consume(const Ring& how, unsigned consumer, const float* stages, unsigned full, unsigned empty) {
  const bool waits = !how.one_lane_waits || consumer % LANES == 0;
  float sum = 0.0F;
  for (unsigned step = 0; step < STEPS; ++step) {
    const unsigned stage = step % STAGES;
    const float* const value = stages + stage * WIDTH + (5 * consumer + step) % WIDTH;
    if (how.reads_early && step > 0) {
      sum += *value;
    }
    if (waits) {
      mbarrier_wait(full + stage * BARRIER_BYTES, step / STAGES % 2 ^ how.parity);
    }
    if (how.one_lane_waits) {
      __syncwarp();
    }
    if (how.releases_early) {
      mbarrier_arrive(empty + stage * BARRIER_BYTES);
    }
    if (!how.half_of_the_lanes || consumer % LANES / (LANES / 2) == step % 2) {
      sum += *value;
    }
    if (how.one_lane_waits) {
      __syncwarp();
    }
    if (waits && !how.releases_early) {
      mbarrier_arrive(empty + stage * BARRIER_BYTES);
    }
  }
  return sum;
}

__global__ void ring_kernel(Ring how, const float* in, float* out) {
  __shared__ std::uint64_t full[STAGES];
  __shared__ std::uint64_t empty[STAGES];
  __shared__ float stages[STAGES * WIDTH];
  const unsigned full_address = shared_address(full);
  const unsigned empty_address = shared_address(empty);
  for (unsigned stage = 0; threadIdx.x == 0 && stage < STAGES; ++stage) {
    if (stage != how.without_init) {
      mbarrier_init(full_address + stage * BARRIER_BYTES, LANES);
    }
    mbarrier_init(empty_address + stage * BARRIER_BYTES, how.one_lane_waits ? CONSUMERS / LANES : CONSUMERS);
  }
  if (how.waits_for_init) {
    __syncthreads();
  }
  const unsigned consumer = threadIdx.x - (how.consumers_first ? 0 : LANES);
  if (consumer < CONSUMERS) {
    out[consumer] = consume(how, consumer, stages, full_address, empty_address);
  } else {
    produce(how, in, shared_address(stages), full_address, empty_address);
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
      copy_async(shared_address(values + lane), in + lane, 4);
    }
    if (which == Handover::arriver_reads_on) {
      mbarrier_arrive(address);
      out[lane] = values[lane];
      return;
    }
    commit_copies();
    mbarrier_arrive_after_copies(address);
    if (which == Handover::own_copy_before_wait) {
      out[lane] = values[lane];
    }
  }
  if (which == Handover::copies_awaited_otherwise || which == Handover::other_barrier_instead) {
    if (which == Handover::copies_awaited_otherwise) {
      wait_for_copies(0);
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

/// `in` and `out` have ELEMENTS.
void execute(const Ring& how, const float* in, float* out) {
  launch(ring_kernel, 1, LANES + CONSUMERS, 0, how, in, out);
}

/// For the tests of checks alone, which builds with sanitizers do without.
[[maybe_unused]] void execute(Handover which, const float* in, float* out) {
  launch(handover_kernel, which == Handover::right ? 2 : 1, 2 * LANES, 0, which, in, out);
}

void expect_sums(const Ring& how = {}) {
  std::vector<float> in(ELEMENTS);
  std::iota(in.begin(), in.end(), 1.0F);
  std::vector<float> out(ELEMENTS, -1.0F);
  execute(how, in.data(), out.data());
  for (std::size_t consumer = 0; consumer < CONSUMERS; ++consumer) {
    float sum = 0.0F;
    for (std::size_t step = 0; step < STEPS; ++step) {
      const bool reads = !how.half_of_the_lanes || consumer % 32 / 16 == step % 2;
      sum += reads ? in[ring_index(step, consumer)] : 0.0F;
    }
    EXPECT_EQ(out[consumer], sum) << consumer;
  }
}

const std::vector<Ring> RIGHT_RINGS{
    {}, {.consumers_first = true}, {.one_lane_waits = true}, {.half_of_the_lanes = true}};

TEST(Mbarriers, RingHandsEveryStageOver) {
  for (const Ring& how : RIGHT_RINGS) {
    expect_sums(how);
  }
}

TEST(Mbarriers, WrongUsesAreNamed) {
  const auto expect_error = [](const Parts& parts, const auto& run) {
    expect_parts(message_of(run), parts);
    expect_sums();  // nothing is left of it
  };
  const std::vector<float> in(ELEMENTS);
  std::vector<float> out(ELEMENTS);
  for (const auto& [how, parts] : std::vector<std::pair<Ring, Parts>>{
           {{.produced = STEPS - 1},  // step 7 is the third in stage 1
            {"block (0,0,0), thread (32,0,0)", "mbarriers_test.cu:", "consume", "waits for ever",
             "the mbarrier at shared address 0x", "phase 2 only 0 of 32 arrivals", "thread (0,0,0) has finished"}},
           {{.parity = 1},
            {"thread (0,0,0)", "mbarriers_test.cu:", "produce", "to whose phase 0 only ", " of 64 arrivals",
             "thread (32,0,0) waits at ", "consume"}},
           {{.without_init = 1},
            {"thread (0,0,0)", "mbarriers_test.cu:", "produce", "the mbarrier at shared address 0x",
             "was never initialised"}}}) {
    expect_error(parts, [&, ring = how] { execute(ring, in.data(), out.data()); });
  }
  for (const auto& [kernel, part] : std::vector<std::pair<void (*)(), std::string>>{
           {[] { mbarrier_init(0, LANES), mbarrier_init(0, LANES); }, "is in use already"},
           {[] { mbarrier_init(4, LANES); }, "not aligned to 8 bytes"},
           {[] { mbarrier_init(0, 0); }, "1 to 1048575 arrivals, not 0"},
           {[] { mbarrier_init(0, 1), mbarrier_wait(0, 2); }, "0 or 1, not 2"},
           {[] {
              mbarrier_init(0, 1);
              mbarrier_arrive_expecting(0, 16);
              mbarrier_arrive(0);
            },
            "gets one arrival more than a phase takes: bytes are missing yet"}}) {
    expect_error({"thread (0,0,0)", "mbarriers_test.cu:", part}, [&, run = kernel] { launch(run, 1, 1, 8); });
  }
}

#ifdef SIMT_CHECKED

template <class How>
std::string complaint(const How& how) {
  return InAndOut(ELEMENTS).complaint_about([&](const float* in, float* out) { execute(how, in, out); });
}

template <class How>
void expect_complaint(const How& how, const Parts& parts) {
  expect_message(complaint(how), "mbarriers_test.cu", parts);
  EXPECT_EQ(complaint(Ring{}), "");
}

TEST(CheckedMbarriers, RightUses) {
  for (const Ring& how : RIGHT_RINGS) {
    EXPECT_EQ(complaint(how), "");
  }
  for (const Handover which : {Handover::right, Handover::copies_awaited_otherwise}) {
    EXPECT_EQ(complaint(which), "") << static_cast<int>(which);
  }
}

TEST(CheckedMbarriers, WrongUsesAreNamed) {
  expect_complaint(Ring{.reads_early = true},
                   {"reads 4 bytes", "shared stages, which thread (", "wrote, and no barrier"});
  expect_complaint(Ring{.waits_for_consumers = false}, {"thread (0,0,0)", "an asynchronous copy writes 4 bytes",
                                                        "shared stages, which thread (0,0,0) wrote, and no barrier"});
  expect_complaint(Ring{.releases_early = true},
                   {"an asynchronous copy writes 4 bytes", "shared stages, which thread (",
                    "read, and no barrier lies in between; it read at "});
  expect_complaint(Ring{.waits_for_init = false}, {"thread (1,0,0)", "an operation on an mbarrier reads 8 bytes",
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

LaunchCounts counts_of(const Ring& how) {
  return InAndOut(ELEMENTS).counts_of([&](const float* in, float* out) { execute(how, in, out); });
}

constexpr std::uint64_t CONSUMER_WARPS = CONSUMERS / 32;

TEST(CountedMbarriers, LanesAreTogetherAtWaits) {
  for (const Ring& how : {Ring{}, {.consumers_first = true}, {.one_lane_waits = true}}) {
    const LaunchCounts counts = counts_of(how);
    constexpr std::uint64_t READS = CONSUMER_WARPS * STEPS;
    EXPECT_EQ(counts.of(AccessKind::async_copy), (Traffic{STEPS, 4 * STEPS, STEPS, STEPS, 128 * STEPS}));
    EXPECT_EQ(counts.of(AccessKind::shared_load), (Traffic{READS, 0, READS, READS, 128 * READS}));
    EXPECT_EQ(counts.of(AccessKind::global_store).requests, CONSUMER_WARPS);
    // Three warps at one barrier of the block; each then waits once a step.
    EXPECT_EQ(counts.barriers, 3U + (1 + CONSUMER_WARPS) * STEPS);
    EXPECT_EQ(counts.smem_bytes, 3U * (32 * 4 + 2 * 8));
  }
}

TEST(CountedMbarriers, LanesOfDifferentStepsArePutTogetherByStep) {
  const LaunchCounts counts = counts_of({.half_of_the_lanes = true});
  EXPECT_EQ(counts.of(AccessKind::shared_load).requests, CONSUMER_WARPS * STEPS);
  EXPECT_EQ(counts.of(AccessKind::shared_load).bytes, 64 * CONSUMER_WARPS * STEPS);
}

TEST(CountedMbarriers, WhatFollowsAPhaseReachesTheL2Later) {
  const LaunchCounts counts = counts_of({});
  const BlockTraffic& traffic = counts.executed.front()->traffic;
  std::vector<bool> writes;
  std::transform(traffic.begin(), traffic.end(), std::back_inserter(writes),
                 [](const SectorAccess& access) { return access.write; });
  EXPECT_EQ(std::count(writes.begin(), writes.end(), true), 2);
  EXPECT_TRUE(std::is_sorted(writes.begin(), writes.end()));
}

#endif

}  // namespace
}  // namespace simt::test
