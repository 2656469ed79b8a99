// Mbarriers when every access is observed: what they order and what not, and where they divide what is counted.

#include "complaint.hpp"
#include "guarded_array.hpp"
#include "mbarriers.hpp"
#include "simt/checked_arrays.hpp"
#include "simt/counter.hpp"
#include "simt/executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace simt::test {
namespace {

using simt::AccessKind;
using simt::Traffic;

constexpr std::size_t ELEMENTS = 256;
constexpr std::size_t BYTES = ELEMENTS * sizeof(float);

template <class Which>
std::string complaint(Which which) {
  GuardedArray in(ELEMENTS, 1.0F);
  GuardedArray out(ELEMENTS, 0.0F);
  const simt::CheckedArrays arrays({simt::input("IN", in.data(), ELEMENTS), simt::in_out("OUT", out.data(), ELEMENTS)});
  return message_of([&] { execute_watched(which, in.data(), out.data()); });
}

template <class Which>
void expect_complaint(Which which, const std::vector<std::string>& parts) {
  expect_message(complaint(which), "mbarriers.cu", parts);
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

TEST(CheckedMbarriers, StageThatIsReadTooEarly) {
  expect_complaint(Ring::read_before_wait, {"reads 4 bytes", "shared stages, which thread (", "wrote, and no barrier"});
}

TEST(CheckedMbarriers, StageThatIsOverwrittenTooEarly) {
  expect_complaint(Ring::overwrite_unreleased, {"thread (0,0,0)", "an asynchronous copy writes 4 bytes",
                                                "shared stages, which thread (0,0,0) wrote, and no barrier"});
  expect_complaint(Ring::release_before_read,
                   {"an asynchronous copy writes 4 bytes", "shared stages, which thread (", "read, and no barrier"});
}

TEST(CheckedMbarriers, WaitForTheWrongParity) {
  expect_complaint(Ring::wrong_parity, {"an asynchronous copy writes 4 bytes", "shared stages, which thread (",
                                        "read, and no barrier lies in between; it read at "});
}

TEST(CheckedMbarriers, InitialisedWithoutABarrier) {
  expect_complaint(Ring::no_barrier_after_init, {"thread (1,0,0)", "an operation on an mbarrier reads 8 bytes",
                                                 "shared empty, which thread (0,0,0) wrote, and no barrier"});
}

TEST(CheckedMbarriers, CopiesAreThereForThoseWhoWait) {
  expect_complaint(Handover::own_copy_before_wait,
                   {"thread (0,0,0)", "shared values, which thread (0,0,0) wrote, and no barrier"});
  expect_complaint(Handover::other_barrier_instead,
                   {"reads 4 bytes", "shared values, which thread (", "wrote, and no barrier"});
}

TEST(CheckedMbarriers, CopiesAnnounceNothingElse) {
  expect_complaint(Handover::store_announced_as_copy,
                   {"thread (32,0,0)", "shared values, which thread (31,0,0) wrote, and no barrier"});
}

TEST(CheckedMbarriers, WhoArrivesAndDoesNotWaitLearnsNothing) {
  expect_complaint(Handover::arriver_does_not_wait,
                   {"thread (0,0,0)", "reads 4 bytes", "shared values, which thread (63,0,0) wrote, and no barrier"});
}

TEST(CheckedMbarriers, WhatFollowsAnArrivalIsNotPassedOn) {
  expect_complaint(Handover::arriver_reads_on,
                   {"thread (32,0,0)", "writes 4 bytes", "shared values, which thread (0,0,0) read, and no barrier"});
}

TEST(CheckedMbarriers, NothingElseUsesTheirMemory) {
  expect_complaint(Handover::overwrite_mbarrier,
                   {"thread (0,0,0)", "writes 8 bytes", "shared barrier, which an mbarrier is kept in"});
}

simt::LaunchCounts counts_of(Ring which) {
  GuardedArray in(ELEMENTS, 1.0F);
  GuardedArray out(ELEMENTS, 0.0F);
  simt::Counting counting({{{"IN", in.data(), 1, BYTES, BYTES, false}}, {{"OUT", out.data(), 1, BYTES, BYTES, true}}},
                          [](std::size_t, unsigned) { return std::size_t{32768}; });
  execute_watched(which, in.data(), out.data());
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

}  // namespace
}  // namespace simt::test
