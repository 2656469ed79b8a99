#include "mbarriers.hpp"

#include "instructions.cuh"
#include "launch.cuh"

#include <cstdint>

#ifdef SIMT_CHECKED
#define EXECUTE execute_watched
#else
#define EXECUTE execute
#endif

namespace simt::test {
namespace {

constexpr unsigned STAGES = 3;
constexpr unsigned WIDTH = RING_WIDTH;
constexpr unsigned STEPS = RING_STEPS;
constexpr unsigned CONSUMERS = RING_CONSUMERS;
constexpr unsigned LANES = 32;
constexpr unsigned BARRIER_BYTES = 8;

__device__ void init_ring(Ring which, unsigned full, unsigned empty) {
  for (unsigned stage = 0; stage < STAGES; ++stage) {
    if (which != Ring::no_init || stage != 1) {
      mbarrier_init(full + stage * BARRIER_BYTES, LANES);
    }
    mbarrier_init(empty + stage * BARRIER_BYTES, which == Ring::one_lane_waits ? CONSUMERS / LANES : CONSUMERS);
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
  for (unsigned step = 0; step < STEPS; ++step) {
    const unsigned stage = step % STAGES;
    if (which != Ring::overwrite_unreleased) {
      mbarrier_wait(empty + stage * BARRIER_BYTES, which == Ring::odd_parity ? 2 : step / STAGES % 2 ^ 1);
    }
    if (which == Ring::producer_stops && step == STEPS - 1) {
      return;
    }
    cp_async<4>(stages + (stage * WIDTH + lane) * 4, in + step * WIDTH + lane);
    cp_async_mbarrier_arrive_noinc(full + stage * BARRIER_BYTES);
  }
}

__device__ float consume(Ring which, unsigned consumer, const float* stages, unsigned full, unsigned empty) {
  const unsigned other = which == Ring::wrong_parity ? 1 : 0;
  const bool waits = which != Ring::one_lane_waits || consumer % LANES == 0;
  float sum = 0.0F;
  for (unsigned step = 0; step < STEPS; ++step) {
    const unsigned stage = step % STAGES;
    const float* const value = stages + stage * WIDTH + (5 * consumer + step) % WIDTH;
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
  __shared__ float stages[STAGES * WIDTH];
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
  if (consumer < CONSUMERS) {
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

}  // namespace

void EXECUTE(Ring which, const float* in, float* out) {
  launch(ring_kernel, 1, dim3(LANES + CONSUMERS), 0, nullptr, which, in, out);
}

void EXECUTE(Handover which, const float* in, float* out) {
  launch(handover_kernel, 1, dim3(2 * LANES), 0, nullptr, which, in, out);
}

}  // namespace simt::test
