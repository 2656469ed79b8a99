#pragma once

#include <cstddef>

namespace simt::test {

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
constexpr std::size_t RING_STEPS = 8;
constexpr std::size_t RING_WIDTH = 32;
constexpr std::size_t RING_CONSUMERS = 64;
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

/// `in` and `out` have 256 elements. The kernels as they are, and compiled to be watched.
void execute(Ring which, const float* in, float* out);
void execute(Handover which, const float* in, float* out);
void execute_watched(Ring which, const float* in, float* out);
void execute_watched(Handover which, const float* in, float* out);

}  // namespace simt::test
