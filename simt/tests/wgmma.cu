#include "wgmma.hpp"

#include "instructions.cuh"
#include "launch.cuh"

#include <cstdint>
#include <cstring>

#ifdef SIMT_CHECKED
#define MULTIPLY multiply_watched
#define HAND_OVER hand_over_watched
#else
#define MULTIPLY multiply
#define HAND_OVER hand_over
#endif

namespace simt::test {
namespace {

constexpr unsigned LANES = 32;
constexpr unsigned COLS = WGMMA_COLS;

/// Calls `body` with each element that this thread holds of D, and its place.
template <class T, unsigned ELEMENTS, class Body>
__device__ void for_elements(T (&d)[ELEMENTS], const Body& body) {
  constexpr unsigned COLUMNS = ELEMENTS * WARPGROUP / WGMMA_ROWS;
  const unsigned lane = threadIdx.x % LANES;
  for (unsigned i = 0; i < ELEMENTS; ++i) {
    const unsigned row = threadIdx.x / LANES * 16 + lane / 4 + i / 2 % 2 * 8;
    body(d[i], row * COLUMNS + i / 4 * 8 + lane % 4 * 2 + i % 2);
  }
}

/// Stores a pair of k of a row of A or a column of B where wgmma wants it.
template <class Format>
void put_pair(unsigned char* tile, unsigned row, unsigned k, float low, float high) {
  const unsigned pair = Format::pack(low, high);
  std::memcpy(tile + swizzled(row * WGMMA_ROW_BYTES + k * 2), &pair, sizeof pair);
}

constexpr unsigned A_BYTES = WGMMA_ROWS * WGMMA_ROW_BYTES;
constexpr unsigned B_BYTES = WGMMA_COLS * WGMMA_ROW_BYTES;

/// The thread's part of A from column `k` on.
template <class Format>
__device__ void load_fragment(unsigned (&fragment)[4], const float* a, unsigned k) {
  const unsigned lane = threadIdx.x % LANES;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = threadIdx.x / LANES * 16 + lane / 4 + i % 2 * 8;
    const float* const pair = a + row * WGMMA_KS + k + i / 2 * 8 + lane % 4 * 2;
    fragment[i] = Format::pack(pair[0], pair[1]);
  }
}

template <class Format, WgmmaForm FORM>
__global__ void product_kernel(Wgmma which, const float* a, const float* b, float* d) {
  constexpr unsigned K = WGMMA_KS;
  constexpr unsigned COLUMNS = columns_of(FORM);
  auto* const a_tile = reinterpret_cast<unsigned char*>(dynamic_smem()) + WGMMA_ALIGNMENT;
  auto* const b_tile = a_tile + A_BYTES + WGMMA_ALIGNMENT;
  for (unsigned k = 0; k < K; k += 2) {
    for (unsigned row = threadIdx.x; FORM == WgmmaForm::shared_128 && row < WGMMA_ROWS; row += blockDim.x) {
      put_pair<Format>(a_tile, row, k, a[row * K + k], a[row * K + k + 1]);
    }
    for (unsigned col = threadIdx.x; col < COLUMNS; col += blockDim.x) {
      put_pair<Format>(b_tile, col, k, b[k * COLUMNS + col], b[(k + 1) * COLUMNS + col]);
    }
  }
  __syncthreads();
  unsigned a_address = shared_address(a_tile);
  unsigned b_address = shared_address(b_tile);
  const bool odd_lane = threadIdx.x == 37;
  const bool odd_warp = threadIdx.x / LANES == 2;
  if (which == Wgmma::misaligned_a) {
    a_address += WGMMA_ALIGNMENT / 2;
  } else if (which == Wgmma::misaligned_b) {
    b_address += WGMMA_ALIGNMENT / 2;
  } else if (which == Wgmma::misaligned_slice_of_a) {
    a_address += 16;
  } else if (which == Wgmma::misaligned_slice_of_b) {
    b_address += 16;
  } else if ((which == Wgmma::lanes_differ_in_a && odd_lane) || (which == Wgmma::warps_differ_in_a && odd_warp)) {
    a_address += WGMMA_ALIGNMENT;
  } else if ((which == Wgmma::lanes_differ_in_b && odd_lane) || (which == Wgmma::warps_differ_in_b && odd_warp)) {
    b_address += WGMMA_ALIGNMENT;
  }
  const unsigned a_operand = a_address;
  const unsigned b_operand = b_address;
  const bool two_sums =
      which == Wgmma::two_sums || which == Wgmma::two_at_once || which == Wgmma::older_sum || which == Wgmma::other_sum;
  const bool many_groups = two_sums || which == Wgmma::group_per_step || which == Wgmma::wait_for_too_few;
  float sums[2][COLUMNS * WGMMA_ROWS / WARPGROUP];
  auto& sum = sums[0];
  auto& other = sums[1];
  for_elements(sum, [&](float& element, unsigned place) { element = d[place]; });
  for_elements(other, [&](float& element, unsigned) { element = 0.0F; });
  wgmma_fence();
  for (unsigned step = 0; step < K / WGMMA_K; ++step) {
    if (which == Wgmma::one_warp_stops && threadIdx.x / LANES == 1 && step > 0) {
      break;
    }
    const unsigned bytes = step * WGMMA_K * 2;
    auto& result = sums[two_sums ? step % 2 : 0];
    const unsigned b_slice = b_operand + bytes;
    const bool accumulate = which != Wgmma::overwriting || step > 0;
    if constexpr (FORM == WgmmaForm::shared_128) {
      wgmma_m64n128k16<Format>(result, a_operand + bytes, b_slice, accumulate);
    } else {
      unsigned fragment[4];
      load_fragment<Format>(fragment, a, step * WGMMA_K);
      wgmma_m64k16<Format>(result, fragment, b_slice, accumulate);
    }
    if (many_groups || (which == Wgmma::uncommitted && step + 2 == K / WGMMA_K)) {
      wgmma_commit_group();
    }
  }
  if (!many_groups && which != Wgmma::uncommitted) {
    wgmma_commit_group();
  }
  if (which == Wgmma::write_before_wait) {
    sum[3] = 1.0F;
  }
  if (threadIdx.x == 0 && which == Wgmma::store_to_b_while_read) {
    b_tile[COLUMNS * WGMMA_ROW_BYTES - 1] = 0;
  } else if (threadIdx.x == 0 && which == Wgmma::store_behind_b) {
    b_tile[COLUMNS * WGMMA_ROW_BYTES] = 0;
  }
  if (which == Wgmma::wait_for_too_few || which == Wgmma::older_sum) {
    wgmma_wait_group<1>(sum);
  } else if (which == Wgmma::two_at_once) {
    wgmma_wait_group<0>(sums);
  } else if (which != Wgmma::no_wait && which != Wgmma::other_sum) {
    wgmma_wait_group<0>(sum);
  }
  if (which == Wgmma::older_sum) {
    wgmma_wait_group<1>(other);
  } else if (two_sums && which != Wgmma::two_at_once) {
    wgmma_wait_group<0>(other);
  }
  for_elements(sum, [&](float& element, unsigned place) { d[place] = element; });
  for_elements(other, [&](float& element, unsigned place) { d[WGMMA_ROWS * COLUMNS + place] = element; });
}

template <WgmmaForm FORM>
void launch_product(Wgmma which, Half format, const float* a, const float* b, float* d) {
  const unsigned threads = which == Wgmma::half_a_warpgroup ? WARPGROUP / 2 : WARPGROUP;
  const std::size_t bytes = A_BYTES + B_BYTES + 4 * WGMMA_ALIGNMENT;
  launch(format == Half::fp16 ? product_kernel<Fp16, FORM> : product_kernel<Bf16, FORM>, 1, dim3(threads), bytes,
         nullptr, which, a, b, d);
}

#ifndef SIMT_CHECKED

__global__ void integer_kernel(IntegerWgmma which, const signed char* a, const signed char* b, int* d) {
  constexpr unsigned K = INTEGER_WGMMA_KS;
  auto* const a_tile = reinterpret_cast<signed char*>(dynamic_smem());
  auto* const b_tile = a_tile + A_BYTES;
  for (unsigned k = 0; k < K; ++k) {
    for (unsigned row = threadIdx.x; row < WGMMA_ROWS; row += blockDim.x) {
      a_tile[swizzled(row * WGMMA_ROW_BYTES + k)] = a[row * K + k];
    }
    for (unsigned col = threadIdx.x; col < COLS; col += blockDim.x) {
      b_tile[swizzled(col * WGMMA_ROW_BYTES + k)] = b[k * COLS + col];
    }
  }
  __syncthreads();
  const unsigned a_operand = shared_address(a_tile);
  const unsigned b_operand = shared_address(b_tile);
  int sums[1][64];
  for_elements(sums[0], [&](int& element, unsigned place) { element = d[place]; });
  wgmma_fence();
  for (unsigned k = 0; k < K; k += WGMMA_INTEGER_K) {
    wgmma_m64n128k32(sums[0], a_operand + k, b_operand + k, which != IntegerWgmma::overwriting || k > 0);
  }
  wgmma_commit_group();
  if (which != IntegerWgmma::no_wait) {
    wgmma_wait_group<0>(sums);
  }
  for_elements(sums[0], [&](int& element, unsigned place) { d[place] = element; });
}

#endif

// ---- Bulk copies ----

constexpr unsigned STAGES = 2;
constexpr unsigned TILE_K = RING_TILE_K;
constexpr unsigned TILES = RING_TILES;
static_assert(RING_TILE_K * 2 == WGMMA_ROW_BYTES);

/// A ring of tiles of A or of B, by shared addresses.
struct TileRing {
  unsigned bytes;  ///< of a tile
  unsigned first_tile;
  unsigned first_full;  ///< of its mbarriers
  unsigned first_empty;

  unsigned tile(unsigned step) const { return first_tile + step % STAGES * bytes; }
  unsigned full(unsigned step) const { return first_full + step % STAGES * MBARRIER_BYTES; }
  unsigned empty(unsigned step) const { return first_empty + step % STAGES * MBARRIER_BYTES; }
};

__device__ void produce_a(BulkRing which, const unsigned char* tile, const TileRing& ring, unsigned step) {
  if (which != BulkRing::overwrite_unreleased_a) {
    mbarrier_wait(ring.empty(step), step / STAGES % 2 ^ 1);
  }
  mbarrier_arrive_expect_tx(ring.full(step), ring.bytes);
  cp_async_bulk(ring.tile(step), tile, ring.bytes, ring.full(step));
}

__device__ void produce_b(BulkRing which, const unsigned char* tile, const TileRing& ring, unsigned step) {
  const unsigned barrier = ring.full(step);
  const bool last = step == TILES - 1;
  if (which != BulkRing::overwrite_unreleased_b) {
    mbarrier_wait(ring.empty(step), step / STAGES % 2 ^ 1);
  }
  if (which == BulkRing::nothing_expected) {
    mbarrier_arrive(barrier);
  } else if (which == BulkRing::no_arrival) {
    // nobody learns of the copy
  } else if (which == BulkRing::too_much_expected) {
    mbarrier_arrive_expect_tx(barrier, 1U << 20U);
  } else {
    mbarrier_arrive_expect_tx(barrier, ring.bytes);
  }
  if (which == BulkRing::too_many_arrivals) {
    mbarrier_arrive(barrier);
  }
  unsigned to = ring.tile(step);
  unsigned bytes = ring.bytes;
  if (which == BulkRing::halves) {
    bytes /= 2;
    cp_async_bulk(to + bytes, tile + bytes, bytes, barrier);
  } else if (which == BulkRing::too_few_bytes && last) {
    bytes -= 16;
  } else if (which == BulkRing::too_many_bytes && last) {
    bytes -= 16;
    cp_async_bulk(to, tile, 32, barrier);
  } else if (which == BulkRing::misaligned_source) {
    tile += 8;
  } else if (which == BulkRing::misaligned_destination) {
    to += 4;
  } else if (which == BulkRing::misaligned_size) {
    bytes -= 8;
  } else if (which == BulkRing::beyond_source && last) {
    tile += 16;
  } else if (which == BulkRing::beyond_shared_memory) {
    to += STAGES * ring.bytes - 32;
  }
  cp_async_bulk(to, tile, bytes, barrier);
}

__device__ void consume(BulkRing which, float (&d)[64], unsigned char* memory, const TileRing& a, const TileRing& b) {
  for (unsigned step = 0; step < TILES; ++step) {
    if (which != BulkRing::read_a_unawaited) {
      mbarrier_wait(a.full(step), step / STAGES % 2);
    }
    if (which != BulkRing::read_b_unawaited) {
      mbarrier_wait(b.full(step), step / STAGES % 2);
    }
    const unsigned a_tile = a.tile(which == BulkRing::read_other_stage_of_a ? step + 1 : step);
    const unsigned b_tile = b.tile(which == BulkRing::read_other_stage_of_b ? step + 1 : step);
    wgmma_fence();
    for (unsigned k = 0; k < TILE_K; k += WGMMA_K) {
      wgmma_m64n128k16<Fp16>(d, a_tile + k * 2, b_tile + k * 2, true);
    }
    wgmma_commit_group();
    if (threadIdx.x == 0 && step == 0) {
      if (which == BulkRing::store_to_a_while_read) {
        memory[6] = 0;
      } else if (which == BulkRing::store_to_b_while_read) {
        memory[STAGES * a.bytes + 6] = 0;
      }
    }
    if (which == BulkRing::one_group_behind) {
      wgmma_wait_group<1>(d);
      if (step > 0) {
        mbarrier_arrive(a.empty(step - 1));
        mbarrier_arrive(b.empty(step - 1));
      }
      continue;
    }
    const bool a_before_wait = which == BulkRing::release_a_before_wait;
    const bool b_before_wait = which == BulkRing::release_b_before_wait;
    if (a_before_wait) {
      mbarrier_arrive(a.empty(step));
    }
    if (b_before_wait) {
      mbarrier_arrive(b.empty(step));
    }
    if (which == BulkRing::release_one_group_too_early) {
      wgmma_wait_group<1>(d);
    } else {
      wgmma_wait_group<0>(d);
    }
    if (!a_before_wait) {
      mbarrier_arrive(a.empty(step));
    }
    if (!b_before_wait) {
      mbarrier_arrive(b.empty(step));
    }
  }
  wgmma_wait_group<0>(d);
}

__global__ void bulk_kernel(BulkRing which, const unsigned char* tiles, float* d) {
  __shared__ std::uint64_t barriers[4][STAGES];
  auto* const memory = reinterpret_cast<unsigned char*>(dynamic_smem());
  const unsigned begin = shared_address(memory);
  const TileRing a{RING_A_BYTES, begin, shared_address(barriers[0]), shared_address(barriers[1])};
  const TileRing b{RING_B_BYTES, begin + STAGES * a.bytes, shared_address(barriers[2]), shared_address(barriers[3])};
  if (threadIdx.x == 0) {
    for (const TileRing& ring : {a, b}) {
      for (unsigned stage = 0; stage < STAGES; ++stage) {
        if (which != BulkRing::no_init) {
          mbarrier_init(ring.full(stage), 1);
        }
        mbarrier_init(ring.empty(stage), WARPGROUP);
      }
    }
  }
  __syncthreads();
  if (threadIdx.x >= WARPGROUP) {
    for (unsigned step = 0; step < TILES; ++step) {
      const unsigned char* const a_tile = tiles + step * RING_TILE_BYTES;
      if (threadIdx.x == WARPGROUP) {
        produce_a(which, a_tile, a, step);
      } else if (threadIdx.x == WARPGROUP + LANES) {
        produce_b(which, a_tile + a.bytes, b, step);
      }
    }
    return;
  }
  float sum[64];
  for_elements(sum, [&](float& element, unsigned place) { element = d[place]; });
  consume(which, sum, memory, a, b);
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
        bar_sync(EMPTY, BOTH);
      }
      values[lane] = in[round * LANES + lane];
      if (which != NamedArrival::never_full || round == 0) {
        bar_arrive(FULL, which == NamedArrival::other_count ? BOTH + LANES : BOTH);
      }
    } else {
      if (which == NamedArrival::read_after_arrival) {
        bar_arrive(FULL, BOTH);
        if (lane < LANES - 1) {  // the last one to arrive reads
          return;
        }
      } else {
        bar_sync(FULL, BOTH);
      }
      const bool more = round + 1 < NAMED_ROUNDS;
      if (more && which == NamedArrival::release_before_read) {
        bar_arrive(EMPTY, BOTH);
      }
      out[round * LANES + lane] = values[LANES - 1 - lane];
      if (more && which != NamedArrival::release_before_read) {
        bar_arrive(EMPTY, BOTH);
      }
    }
  }
}

}  // namespace

#ifndef SIMT_CHECKED

void multiply(IntegerWgmma which, const signed char* a, const signed char* b, int* d) {
  launch(integer_kernel, 1, dim3(WARPGROUP), A_BYTES + B_BYTES, nullptr, which, a, b, d);
}

void pack_tiles(const float* a, const float* b, unsigned char* tiles) {
  constexpr unsigned K = TILES * TILE_K;
  for (unsigned k = 0; k < K; k += 2) {
    unsigned char* const a_tile = tiles + k / TILE_K * RING_TILE_BYTES;
    for (unsigned row = 0; row < WGMMA_ROWS; ++row) {
      put_pair<Fp16>(a_tile, row, k % TILE_K, a[row * K + k], a[row * K + k + 1]);
    }
    for (unsigned col = 0; col < COLS; ++col) {
      put_pair<Fp16>(a_tile + RING_A_BYTES, col, k % TILE_K, b[k * COLS + col], b[(k + 1) * COLS + col]);
    }
  }
}

#endif

void MULTIPLY(Wgmma which, WgmmaForm form, Half format, const float* a, const float* b, float* d) {
  if (form == WgmmaForm::shared_128) {
    launch_product<WgmmaForm::shared_128>(which, format, a, b, d);
  } else if (form == WgmmaForm::registers_128) {
    launch_product<WgmmaForm::registers_128>(which, format, a, b, d);
  } else if (form == WgmmaForm::registers_64) {
    launch_product<WgmmaForm::registers_64>(which, format, a, b, d);
  } else {
    launch_product<WgmmaForm::registers_32>(which, format, a, b, d);
  }
}

void MULTIPLY(BulkRing which, const unsigned char* tiles, float* d) {
  launch(bulk_kernel, 1, dim3(WARPGROUP + 2 * LANES), STAGES * RING_TILE_BYTES, nullptr, which, tiles, d);
}

void HAND_OVER(NamedArrival which, const float* in, float* out) {
  launch(named_kernel, 1, dim3(2 * LANES), 0, nullptr, which, in, out);
}

}  // namespace simt::test
