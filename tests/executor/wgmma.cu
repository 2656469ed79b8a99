#include "wgmma.hpp"

#include "async_copy.cuh"
#include "bulk_copy.cuh"
#include "chapter.cuh"
#include "dynamic_smem.cuh"
#include "half_floats.cuh"
#include "mbarrier.cuh"
#include "named_barrier.cuh"
#include "wgmma.cuh"

#include <cstdint>
#include <cstring>

#ifdef SIMT_CHECKED
#define MULTIPLY multiply_watched
#define HAND_OVER hand_over_watched
#else
#define MULTIPLY multiply
#define HAND_OVER hand_over
#endif

namespace sgemm::test {
namespace {

constexpr unsigned LANES = 32;
constexpr unsigned COLS = WGMMA_COLS;

/// What this thread holds of 16 k of A, from `k` on.
template <class Format>
__device__ void load_a(unsigned (&part)[4], const float* a, unsigned lda, unsigned k) {
  const unsigned lane = threadIdx.x % LANES;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = threadIdx.x / LANES * 16 + lane / 4 + i % 2 * 8;
    const float* const pair = a + row * lda + k + i / 2 * 8 + lane % 4 * 2;
    part[i] = Format::pack(pair[0], pair[1]);
  }
}

/// Calls `body` with each element that this thread holds of D, and its place.
template <class Body>
__device__ void for_elements(float (&d)[64], const Body& body) {
  const unsigned lane = threadIdx.x % LANES;
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned row = threadIdx.x / LANES * 16 + lane / 4 + i / 2 % 2 * 8;
    body(d[i], row * COLS + i / 4 * 8 + lane % 4 * 2 + i % 2);
  }
}

/// Stores a column's pair of k, from row `k` of B, where wgmma wants it.
template <class Format, int ROW_BYTES>
void put_pair(unsigned char* tile, const float* b, unsigned k, unsigned col) {
  const unsigned pair = Format::pack(b[k * COLS + col], b[(k + 1) * COLS + col]);
  std::memcpy(tile + swizzled<ROW_BYTES>(col * ROW_BYTES + k * 2), &pair, sizeof pair);
}

#ifndef SIMT_CHECKED

template <class Format, int ROW_BYTES>
__global__ void product_kernel(Wgmma which, const float* a, const float* b, float* d) {
  constexpr unsigned K = ROW_BYTES / 2;
  auto* const tile = reinterpret_cast<unsigned char*>(dynamic_smem()) + SWIZZLE_ALIGNMENT<ROW_BYTES>;
  for (unsigned k = 0; k < K; k += 2) {
    for (unsigned col = threadIdx.x; col < COLS; col += blockDim.x) {
      put_pair<Format, ROW_BYTES>(tile, b, k, col);
    }
  }
  __syncthreads();
  unsigned address = shared_address(tile);
  if (which == Wgmma::misaligned_tile) {
    address += SWIZZLE_ALIGNMENT<ROW_BYTES> / 2;
  } else if (which == Wgmma::misaligned_slice) {
    address += 16;
  } else if ((which == Wgmma::lanes_differ && threadIdx.x == 37) ||
             (which == Wgmma::warps_differ && threadIdx.x / LANES == 2)) {
    address += SWIZZLE_ALIGNMENT<ROW_BYTES>;
  }
  const std::uint64_t operand = wgmma_operand<ROW_BYTES>(address);
  const bool two_sums = which == Wgmma::two_sums || which == Wgmma::older_sum;
  const bool many_groups = two_sums || which == Wgmma::group_per_step || which == Wgmma::wait_for_too_few;
  float sum[64];
  float other[64];
  for_elements(sum, [&](float& element, unsigned place) { element = d[place]; });
  for_elements(other, [&](float& element, unsigned) { element = 0.0F; });
  wgmma_fence();
  for (unsigned step = 0; step < K / WGMMA_K; ++step) {
    if (which == Wgmma::one_warp_stops && threadIdx.x / LANES == 1 && step > 0) {
      break;
    }
    unsigned part[4];
    load_a<Format>(part, a, K, step * WGMMA_K);
    const std::uint64_t slice = wgmma_operand_at(operand, step * WGMMA_K * 2);
    wgmma_64x128x16<Format>(two_sums && step % 2 == 1 ? other : sum, part, slice,
                            which != Wgmma::overwriting || step > 0);
    if (many_groups || (which == Wgmma::uncommitted && step + 2 == K / WGMMA_K)) {
      wgmma_commit();
    }
  }
  if (!many_groups && which != Wgmma::uncommitted) {
    wgmma_commit();
  }
  if (which == Wgmma::write_before_wait) {
    sum[3] = 1.0F;
  }
  if (which == Wgmma::wait_for_too_few || which == Wgmma::older_sum) {
    wgmma_wait<1>();
  } else if (which != Wgmma::no_wait) {
    wgmma_wait<0>();
  }
  for_elements(sum, [&](float& element, unsigned place) { d[place] = element; });
  for_elements(other, [&](float& element, unsigned place) { d[WGMMA_ROWS * COLS + place] = element; });
}

template <class Format, int ROW_BYTES>
void launch_product(Wgmma which, const float* a, const float* b, float* d) {
  const unsigned threads = which == Wgmma::half_a_warpgroup ? WARPGROUP / 2 : WARPGROUP;
  const std::size_t bytes = ROW_BYTES * COLS + 3 * SWIZZLE_ALIGNMENT<ROW_BYTES>;
  launch(product_kernel<Format, ROW_BYTES>, 1, dim3(threads), bytes, nullptr, which, a, b, d);
}

#endif

// ---- Bulk copies ----

constexpr unsigned STAGES = 2;
constexpr unsigned TILE_K = RING_TILE_K;
constexpr int TILE_ROW = RING_TILE_K * 2;
constexpr unsigned TILE_BYTES = RING_TILE_BYTES;
constexpr unsigned TILES = RING_TILES;
constexpr unsigned BARRIER_BYTES = MBARRIER_BYTES;

__device__ void produce(BulkRing which, const unsigned char* tiles, unsigned stages, unsigned full, unsigned empty) {
  for (unsigned step = 0; step < TILES; ++step) {
    const unsigned stage = step % STAGES;
    const unsigned barrier = full + stage * BARRIER_BYTES;
    const bool last = step == TILES - 1;
    if (which != BulkRing::overwrite_unreleased) {
      mbarrier_wait(empty + stage * BARRIER_BYTES, step / STAGES % 2 ^ 1);
    }
    if (which == BulkRing::nothing_expected) {
      mbarrier_arrive(barrier);
    } else if (which == BulkRing::no_arrival) {
      // nobody learns of the copy
    } else if (which == BulkRing::too_much_expected) {
      mbarrier_arrive_expecting(barrier, 1U << 20U);
    } else {
      mbarrier_arrive_expecting(barrier, TILE_BYTES);
    }
    if (which == BulkRing::too_many_arrivals) {
      mbarrier_arrive(barrier);
    }
    unsigned to = stages + stage * TILE_BYTES;
    const unsigned char* from = tiles + step * TILE_BYTES;
    unsigned bytes = TILE_BYTES;
    if (which == BulkRing::halves) {
      bytes /= 2;
      bulk_copy(to + bytes, from + bytes, bytes, barrier);
    } else if (which == BulkRing::too_few_bytes && last) {
      bytes -= 16;
    } else if (which == BulkRing::too_many_bytes && last) {
      bytes -= 16;
      bulk_copy(to, from, 32, barrier);
    } else if (which == BulkRing::misaligned_source) {
      from += 8;
    } else if (which == BulkRing::misaligned_destination) {
      to += 4;
    } else if (which == BulkRing::misaligned_size) {
      bytes -= 8;
    } else if (which == BulkRing::beyond_source && last) {
      from += 16;
    } else if (which == BulkRing::beyond_shared_memory) {
      to += STAGES * TILE_BYTES - 32;
    }
    bulk_copy(to, from, bytes, barrier);
  }
}

__device__ void consume(BulkRing which, float (&d)[64], const float* a, unsigned char* stages, unsigned full,
                        unsigned empty) {
  for (unsigned step = 0; step < TILES; ++step) {
    const unsigned stage = step % STAGES;
    if (which != BulkRing::read_unawaited) {
      mbarrier_wait(full + stage * BARRIER_BYTES, step / STAGES % 2);
    }
    const unsigned read = which == BulkRing::read_other_stage ? (stage + 1) % STAGES : stage;
    const std::uint64_t b = wgmma_operand<TILE_ROW>(shared_address(stages) + read * TILE_BYTES);
    unsigned part[2][4];
    load_a<Fp16>(part[0], a, TILES * TILE_K, step * TILE_K);
    load_a<Fp16>(part[1], a, TILES * TILE_K, step * TILE_K + WGMMA_K);
    wgmma_fence();
    wgmma_64x128x16<Fp16>(d, part[0], b, true);
    wgmma_64x128x16<Fp16>(d, part[1], wgmma_operand_at(b, WGMMA_K * 2), true);
    wgmma_commit();
    if (which == BulkRing::store_while_read && threadIdx.x == 0 && step == 0) {
      stages[6] = 0;
    }
    if (which == BulkRing::one_group_behind) {
      wgmma_wait<1>();
      if (step > 0) {
        mbarrier_arrive(empty + (step - 1) % STAGES * BARRIER_BYTES);
      }
      continue;
    }
    if (which == BulkRing::release_one_group_too_early) {
      wgmma_wait<1>();
    } else if (which != BulkRing::release_before_wait) {
      wgmma_wait<0>();
    }
    mbarrier_arrive(empty + stage * BARRIER_BYTES);
    if (which == BulkRing::release_before_wait) {
      wgmma_wait<0>();
    }
  }
  wgmma_wait<0>();
}

__global__ void bulk_kernel(BulkRing which, const float* a, const unsigned char* tiles, float* d) {
  __shared__ std::uint64_t full[STAGES];
  __shared__ std::uint64_t empty[STAGES];
  auto* const stages = reinterpret_cast<unsigned char*>(dynamic_smem());
  const unsigned full_address = shared_address(full);
  const unsigned empty_address = shared_address(empty);
  if (threadIdx.x == 0) {
    for (unsigned stage = 0; stage < STAGES; ++stage) {
      if (which != BulkRing::no_init) {
        mbarrier_init(full_address + stage * BARRIER_BYTES, 1);
      }
      mbarrier_init(empty_address + stage * BARRIER_BYTES, WARPGROUP);
    }
  }
  __syncthreads();
  if (threadIdx.x >= WARPGROUP) {
    if (threadIdx.x == WARPGROUP) {
      produce(which, tiles, shared_address(stages), full_address, empty_address);
    }
    return;
  }
  float sum[64];
  for_elements(sum, [&](float& element, unsigned place) { element = d[place]; });
  consume(which, sum, a, stages, full_address, empty_address);
  for_elements(sum, [&](float& element, unsigned place) { d[place] = element; });
}

// ---- Named barriers ----

constexpr int FULL = 1;
constexpr int EMPTY = 2;
constexpr int BOTH = 2 * LANES;

__global__ void named_kernel(NamedArrival which, const float* in, float* out) {
  __shared__ float values[LANES];
  const unsigned lane = threadIdx.x % LANES;
  const bool writer = (threadIdx.x < LANES) != (which == NamedArrival::reader_first);
  for (unsigned round = 0; round < NAMED_ROUNDS; ++round) {
    if (writer) {
      if (round > 0) {
        named_barrier_sync(EMPTY, BOTH);
      }
      values[lane] = in[round * LANES + lane];
      if (which != NamedArrival::never_full || round == 0) {
        named_barrier_arrive(FULL, which == NamedArrival::other_count ? BOTH + LANES : BOTH);
      }
    } else {
      if (which == NamedArrival::read_after_arrival) {
        named_barrier_arrive(FULL, BOTH);
        if (lane < LANES - 1) {  // the last one to arrive reads
          return;
        }
      } else {
        named_barrier_sync(FULL, BOTH);
      }
      const bool more = round + 1 < NAMED_ROUNDS;
      if (more && which == NamedArrival::release_before_read) {
        named_barrier_arrive(EMPTY, BOTH);
      }
      out[round * LANES + lane] = values[LANES - 1 - lane];
      if (more && which != NamedArrival::release_before_read) {
        named_barrier_arrive(EMPTY, BOTH);
      }
    }
  }
}

}  // namespace

#ifndef SIMT_CHECKED

void multiply(Wgmma which, Half format, int row_bytes, const float* a, const float* b, float* d) {
  if (format == Half::fp16) {
    (row_bytes == 128 ? launch_product<Fp16, 128> : launch_product<Fp16, 64>)(which, a, b, d);
  } else {
    (row_bytes == 128 ? launch_product<Bf16, 128> : launch_product<Bf16, 64>)(which, a, b, d);
  }
}

void pack_tiles(const float* b, unsigned char* tiles) {
  for (unsigned tile = 0; tile < TILES; ++tile) {
    for (unsigned k = 0; k < TILE_K; k += 2) {
      for (unsigned col = 0; col < COLS; ++col) {
        put_pair<Fp16, TILE_ROW>(tiles + tile * TILE_BYTES, b + tile * TILE_K * COLS, k, col);
      }
    }
  }
}

#endif

void MULTIPLY(BulkRing which, const float* a, const unsigned char* tiles, float* d) {
  launch(bulk_kernel, 1, dim3(WARPGROUP + LANES), STAGES * TILE_BYTES, nullptr, which, a, tiles, d);
}

void HAND_OVER(NamedArrival which, const float* in, float* out) {
  launch(named_kernel, 1, dim3(2 * LANES), 0, nullptr, which, in, out);
}

}  // namespace sgemm::test
