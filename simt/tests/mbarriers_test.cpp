// Mbarriers: who waits for whom, and what is reported of kernels that use them wrongly.

#include "mbarriers.hpp"
#include "complaint.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace simt::test {
namespace {

constexpr std::size_t ELEMENTS = 256;

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
            {"block (0,0,0), thread (32,0,0)", "mbarriers.cu:", "consume", "waits for ever",
             "the mbarrier at shared address 0x", "phase 2 only 0 of 32 arrivals", "thread (0,0,0) has finished"}},
           {Ring::wrong_parity,
            {"thread (0,0,0)", "mbarriers.cu:", "produce", "to whose phase 0 only ", " of 64 arrivals",
             "thread (32,0,0) waits at ", "consume"}},
           {Ring::no_init,
            {"thread (0,0,0)", "mbarriers.cu:", "produce", "the mbarrier at shared address 0x",
             "was never initialised"}},
           {Ring::init_twice, {"thread (0,0,0)", "mbarriers.cu:", "init_ring", "is in use already"}},
           {Ring::misaligned, {"thread (0,0,0)", "init_ring", "not aligned to 8 bytes"}},
           {Ring::no_arrivals, {"init_ring", "1 to 1048575 arrivals, not 0"}},
           {Ring::one_arrival_more,
            {"thread (0,0,0)", "init_ring", "gets one arrival more than a phase takes: bytes are missing yet"}},
           {Ring::odd_parity, {"thread (0,0,0)", "mbarriers.cu:", "produce", "0 or 1, not 2"}}}) {
    SCOPED_TRACE(static_cast<int>(which));
    expect_parts(message_of([&, ring = which] { execute(ring); }), parts);
    expect_sums(Ring::right);  // nothing is left of it
  }
}

}  // namespace
}  // namespace simt::test
