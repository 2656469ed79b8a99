// Products of warpgroups, copies of whole pieces and arrivals at named barriers: what they compute, what they order,
// what is counted, and what is reported of kernels that use them wrongly.

#include "complaint.hpp"
#include "guarded_array.hpp"
#include "instructions.cuh"
#include "launch.cuh"
#include "simt/checked_arrays.hpp"
#include "simt/counter.hpp"
#include "simt/half_floats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace simt::test {
namespace {

using simt::AccessKind;
using simt::Traffic;

// The operands of a warpgroup; matrices below are row-major without gaps, A with `k` columns and B with as many rows.
constexpr int WGMMA_ROWS = 64;
constexpr int WGMMA_COLS = 128;

enum class Half { fp16, bf16 };

/// Where A lies, and how many columns B and D have.
enum class WgmmaForm { shared_128, registers_128, registers_64, registers_32 };
constexpr int columns_of(WgmmaForm form) {
  return form == WgmmaForm::registers_32   ? WGMMA_COLS / 4
         : form == WgmmaForm::registers_64 ? WGMMA_COLS / 2
                                           : WGMMA_COLS;
}

/// One block of a warpgroup stores its A and B in that format, WGMMA_KS of k, multiplies 16 of them at a time and adds
/// to D.
enum class Wgmma {
  right,
  overwriting,     ///< the first product does not add
  group_per_step,  ///< and a wait for the last one alone
  two_sums,        ///< even steps add to D, odd ones to an own sum that is stored below D
  two_at_once,     ///< the same, and one wait names both
  older_sum,       ///< the same, and only D's last group has been waited for
  other_sum,       ///< both groups have, but the wait does not name D
  uncommitted,     ///< the last step's product belongs to no group when it is waited for
  store_behind_b,  ///< by a thread before the wait, to the row behind those of B
  // Mistakes that no kernel may make:
  no_wait,
  wait_for_too_few,  ///< groups; with one for each step
  write_before_wait,
  store_to_b_while_read,  ///< the same to the last row of B
  misaligned_a,
  misaligned_b,
  misaligned_slice_of_a,
  misaligned_slice_of_b,
  lanes_differ_in_a,
  lanes_differ_in_b,
  warps_differ_in_a,  ///< which tile they take
  warps_differ_in_b,
  one_warp_stops,  ///< after the first product
  half_a_warpgroup,
};

constexpr int WGMMA_KS = 64;

/// Products of signed integers of 8 bits.
enum class IntegerWgmma {
  right,
  overwriting,  ///< the first product does not add
  no_wait,      ///< which no kernel may make
};
constexpr int INTEGER_WGMMA_KS = 128;

/// Two producer warps, each with a ring of two stages in shared memory, bring tiles of A and of B there by bulk copies;
/// a warpgroup multiplies them and adds up in D.
enum class BulkRing {
  right,
  one_group_behind,  ///< a stage is released when the next one's products have been started
  halves,            ///< two copies for each tile of B
  // Mistakes that no kernel may make:
  release_before_wait,
  release_one_group_too_early,
  read_a_unawaited,  ///< consumers do not wait for the copies
  read_b_unawaited,
  read_other_stage_of_a,  ///< than that whose copies they waited for
  read_other_stage_of_b,
  overwrite_unreleased,   ///< the producer does not wait for the consumers
  store_to_a_while_read,  ///< by a thread, to a stage whose products have not been waited for
  store_to_b_while_read,
  // With the copies of B:
  too_few_bytes,     ///< are copied
  too_many_bytes,    ///< in the last step
  nothing_expected,  ///< an ordinary arrival before the copies
  no_arrival,
  too_many_arrivals,  ///< while bytes are missing
  too_much_expected,  ///< for an mbarrier
  misaligned_source,
  misaligned_destination,
  misaligned_size,
  beyond_source,
  beyond_shared_memory,
};
constexpr int RING_TILES = 6;
constexpr int RING_TILE_K = 64;
constexpr unsigned RING_A_BYTES = 2U * RING_TILE_K * WGMMA_ROWS;
constexpr unsigned RING_B_BYTES = 2U * RING_TILE_K * WGMMA_COLS;
constexpr std::size_t RING_TILE_BYTES = RING_A_BYTES + RING_B_BYTES;

/// One block of two warps; the first fills 32 elements of shared memory, the second copies them to `out`, four times.
enum class NamedArrival {
  right,
  reader_first,  ///< it has the lower thread numbers
  // Mistakes that no kernel may make:
  read_after_arrival,  ///< the second warp only arrives where it should wait
  release_before_read,
};
constexpr int NAMED_ROUNDS = 4;
constexpr std::size_t NAMED_ELEMENTS = std::size_t{NAMED_ROUNDS} * 32;

constexpr unsigned LANES = 32;

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

__global__ void integer_kernel(IntegerWgmma which, const signed char* a, const signed char* b, int* d) {
  constexpr unsigned K = INTEGER_WGMMA_KS;
  auto* const a_tile = reinterpret_cast<signed char*>(dynamic_smem());
  auto* const b_tile = a_tile + A_BYTES;
  for (unsigned k = 0; k < K; ++k) {
    for (unsigned row = threadIdx.x; row < WGMMA_ROWS; row += blockDim.x) {
      a_tile[swizzled(row * WGMMA_ROW_BYTES + k)] = a[row * K + k];
    }
    for (unsigned col = threadIdx.x; col < WGMMA_COLS; col += blockDim.x) {
      b_tile[swizzled(col * WGMMA_ROW_BYTES + k)] = b[k * WGMMA_COLS + col];
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

/// A mistake is one with B: tiles of A are produced as is right.
__device__ void produce(BulkRing which, const unsigned char* tile, const TileRing& ring, unsigned step) {
  const unsigned barrier = ring.full(step);
  const bool last = step == TILES - 1;
  if (which != BulkRing::overwrite_unreleased) {
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
    if (which == BulkRing::release_before_wait) {
      mbarrier_arrive(b.empty(step));
    }
    if (which == BulkRing::release_one_group_too_early) {
      wgmma_wait_group<1>(d);
    } else {
      wgmma_wait_group<0>(d);
    }
    mbarrier_arrive(a.empty(step));
    if (which != BulkRing::release_before_wait) {
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
        mbarrier_init(ring.full(stage), 1);
        mbarrier_init(ring.empty(stage), WARPGROUP);
      }
    }
  }
  __syncthreads();
  if (threadIdx.x >= WARPGROUP) {
    for (unsigned step = 0; step < TILES; ++step) {
      const unsigned char* const a_tile = tiles + step * RING_TILE_BYTES;
      if (threadIdx.x == WARPGROUP) {
        produce(BulkRing::right, a_tile, a, step);
      } else if (threadIdx.x == WARPGROUP + LANES) {
        produce(which, a_tile + a.bytes, b, step);
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
      bar_arrive(FULL, BOTH);
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

void multiply(IntegerWgmma which, const signed char* a, const signed char* b, int* d) {
  launch(integer_kernel, 1, dim3(WARPGROUP), A_BYTES + B_BYTES, nullptr, which, a, b, d);
}

/// `tiles` gets A and B, in FP16 and as the rings have them in shared memory: each tile of A and behind it that of B.
void pack_tiles(const float* a, const float* b, unsigned char* tiles) {
  constexpr unsigned K = TILES * TILE_K;
  for (unsigned k = 0; k < K; k += 2) {
    unsigned char* const a_tile = tiles + k / TILE_K * RING_TILE_BYTES;
    for (unsigned row = 0; row < WGMMA_ROWS; ++row) {
      put_pair<Fp16>(a_tile, row, k % TILE_K, a[row * K + k], a[row * K + k + 1]);
    }
    for (unsigned col = 0; col < WGMMA_COLS; ++col) {
      put_pair<Fp16>(a_tile + RING_A_BYTES, col, k % TILE_K, b[k * WGMMA_COLS + col], b[(k + 1) * WGMMA_COLS + col]);
    }
  }
}

void multiply(Wgmma which, WgmmaForm form, Half format, const float* a, const float* b, float* d) {
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

void multiply(BulkRing which, const unsigned char* tiles, float* d) {
  launch(bulk_kernel, 1, dim3(WARPGROUP + 2 * LANES), STAGES * RING_TILE_BYTES, nullptr, which, tiles, d);
}

void hand_over(NamedArrival which, const float* in, float* out) {
  launch(named_kernel, 1, dim3(2 * LANES), 0, nullptr, which, in, out);
}

// ---- Tests ----

constexpr float INF = std::numeric_limits<float>::infinity();
constexpr std::size_t ELEMENTS = std::size_t{WGMMA_ROWS} * WGMMA_COLS;
constexpr int STEP = 16;

float as_read(Half format, float x) {
  return format == Half::fp16 ? simt::from_fp16(simt::to_fp16(x)) : simt::from_bf16(simt::to_bf16(x));
}

std::vector<float> random_matrix(std::size_t elements, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-2.0F, 2.0F);
  std::vector<float> matrix(elements);
  std::generate(matrix.begin(), matrix.end(), [&] { return value(random); });
  return matrix;
}

constexpr WgmmaForm FORMS[] = {WgmmaForm::shared_128, WgmmaForm::registers_128, WgmmaForm::registers_64,
                               WgmmaForm::registers_32};

/// A product, and what is expected of it.
class Product {
 public:
  explicit Product(Half format, WgmmaForm form = WgmmaForm::shared_128)
      : format_(format),
        form_(form),
        columns(static_cast<std::size_t>(columns_of(form))),
        elements(WGMMA_ROWS * columns),
        a(random_matrix(WGMMA_ROWS * K, 1)),
        b(random_matrix(K * columns, 2)),
        c(random_matrix(2 * elements, 3)) {}

  std::vector<float> run(Wgmma which) const {
    std::vector<float> d = c;
    multiply(which, form_, format_, a.data(), b.data(), d.data());
    return d;
  }
  /// The sum over those steps of 16 k for which `counts` is true.
  template <class Counts>
  double sum(std::size_t place, const Counts& counts) const {
    double total = 0.0;
    for (std::size_t k = 0; k < K; ++k) {
      if (counts(k / STEP)) {
        total += static_cast<double>(as_read(format_, a[place / columns * K + k])) *
                 as_read(format_, b[k * columns + place % columns]);
      }
    }
    return total;
  }
  double sum(std::size_t place) const {
    return sum(place, [](std::size_t) { return true; });
  }

 private:
  static constexpr std::size_t K = WGMMA_KS;
  Half format_;
  WgmmaForm form_;

 public:
  std::size_t columns;
  std::size_t elements;  ///< of D
  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> c;
};

/// Cut off after each of at most 24 steps, by less than 2^-16, as no sum comes to 256.
void expect_near(float got, double expected) { EXPECT_NEAR(got, expected, 24 * 0x1p-16); }

TEST(WgmmaTest, AddsProducts) {
  for (const WgmmaForm form : FORMS) {
    for (const Half format : {Half::fp16, Half::bf16}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(form) << ' ' << static_cast<int>(format));
      const Product product(format, form);
      for (const Wgmma which : {Wgmma::right, Wgmma::overwriting, Wgmma::group_per_step, Wgmma::store_behind_b}) {
        const std::vector<float> d = product.run(which);
        for (std::size_t place = 0; place < product.elements; ++place) {
          const double c = which == Wgmma::overwriting ? 0.0 : product.c[place];
          expect_near(d[place], c + product.sum(place));
        }
      }
    }
  }
}

TEST(WgmmaTest, CutsOffEachSum) {
  for (const WgmmaForm form : FORMS) {
    Product product(Half::bf16, form);
    std::fill(product.b.begin() + static_cast<std::ptrdiff_t>(STEP * product.columns), product.b.end(),
              0.0F);  // one step, then nothing is added
    const std::vector<float> d = product.run(Wgmma::right);
    for (std::size_t place = 0; place < product.elements; ++place) {
      const double expected = product.c[place] + product.sum(place);
      EXPECT_LE(std::fabs(d[place]), std::fabs(expected)) << place;
      EXPECT_GT(std::fabs(std::nextafter(d[place], expected > 0 ? INF : -INF)), std::fabs(expected)) << place;
    }
  }
}

TEST(WgmmaTest, PassesOnInfAndNan) {
  for (const WgmmaForm form : FORMS) {
    Product product(Half::fp16, form);
    product.a[0] = 1e6F;  // Inf in FP16
    product.b[0] = 1.0F;
    product.b[1] = 0.0F;
    const std::vector<float> d = product.run(Wgmma::right);
    EXPECT_EQ(d[0], INF);
    EXPECT_TRUE(std::isnan(d[1]));
    EXPECT_TRUE(std::isfinite(d[product.columns]));
  }
}

TEST(WgmmaTest, SeveralSums) {
  for (const WgmmaForm form : FORMS) {
    const Product product(Half::fp16, form);
    const std::vector<float> both = product.run(Wgmma::two_sums);
    EXPECT_EQ(product.run(Wgmma::two_at_once), both);
    const std::vector<float> older = product.run(Wgmma::older_sum);
    for (std::size_t place = 0; place < product.elements; ++place) {
      const double even = product.c[place] + product.sum(place, [](std::size_t step) { return step % 2 == 0; });
      const double odd = product.sum(place, [](std::size_t step) { return step % 2 == 1; });
      expect_near(both[place], even);
      expect_near(both[product.elements + place], odd);
      expect_near(older[place], even);
      EXPECT_TRUE(std::isnan(older[product.elements + place])) << place;
    }
  }
}

TEST(WgmmaTest, SumsAreThereOnceTheyHaveBeenWaitedFor) {
  for (const WgmmaForm form : FORMS) {
    const Product product(Half::fp16, form);
    for (const Wgmma which : {Wgmma::no_wait, Wgmma::wait_for_too_few, Wgmma::uncommitted, Wgmma::other_sum}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(form) << ' ' << static_cast<int>(which));
      const std::vector<float> d = product.run(which);
      EXPECT_TRUE(std::all_of(d.begin(), d.begin() + static_cast<std::ptrdiff_t>(product.elements),
                              [](float x) { return std::isnan(x); }));
      expect_near(product.run(Wgmma::right)[5], product.c[5] + product.sum(5));  // nothing is left of it
    }
  }
}

/// A product of integers, random ones of all 256 values.
struct IntegerProduct {
  static constexpr std::size_t K = INTEGER_WGMMA_KS;
  std::vector<signed char> a = std::vector<signed char>(WGMMA_ROWS * K);
  std::vector<signed char> b = std::vector<signed char>(K * WGMMA_COLS);
  std::vector<int> c = std::vector<int>(ELEMENTS);

  IntegerProduct() {
    std::mt19937 random(6);
    const auto digit = [&] { return static_cast<signed char>(static_cast<int>(random() % 256) - 128); };
    std::generate(a.begin(), a.end(), digit);
    std::generate(b.begin(), b.end(), digit);
    // So large that sums wrap around at both ends.
    std::generate(c.begin(), c.end(), [&] { return random() % 2 == 0 ? INT_MAX : INT_MIN; });
  }
  std::vector<int> run(IntegerWgmma which) const {
    std::vector<int> d = c;
    multiply(which, a.data(), b.data(), d.data());
    return d;
  }
};

TEST(WgmmaTest, SumsOfIntegersAreExactAndWrapAround) {
  const IntegerProduct product;
  int wrapped = 0;
  for (const IntegerWgmma which : {IntegerWgmma::right, IntegerWgmma::overwriting}) {
    const std::vector<int> d = product.run(which);
    for (std::size_t place = 0; place < ELEMENTS; ++place) {
      std::int64_t sum = which == IntegerWgmma::overwriting ? 0 : product.c[place];
      for (std::size_t k = 0; k < IntegerProduct::K; ++k) {
        const int step =
            product.a[place / WGMMA_COLS * IntegerProduct::K + k] * product.b[k * WGMMA_COLS + place % WGMMA_COLS];
        sum += step;
      }
      ASSERT_EQ(d[place], static_cast<int>(sum)) << place;
      wrapped += d[place] != sum ? 1 : 0;
    }
  }
  EXPECT_GT(wrapped, 0);
}

TEST(WgmmaTest, SumsOfIntegersAreThereOnceTheyHaveBeenWaitedFor) {
  const std::vector<int> d = IntegerProduct().run(IntegerWgmma::no_wait);
  EXPECT_EQ(std::count(d.begin(), d.end(), -1), ELEMENTS);
}

void expect_error(Wgmma which, WgmmaForm form, const std::vector<std::string>& parts) {
  const Product product(Half::fp16, form);
  expect_parts(message_of([&] { product.run(which); }), parts);
  expect_near(product.run(Wgmma::right)[5], product.c[5] + product.sum(5));
}

/// Mistakes with B, or with all of a product.
void expect_errors(Wgmma which, const std::vector<std::string>& parts) {
  for (const WgmmaForm form : FORMS) {
    SCOPED_TRACE(testing::Message() << static_cast<int>(form) << ' ' << static_cast<int>(which));
    expect_error(which, form, parts);
  }
}

TEST(WgmmaTest, TileThatIsNotAligned) {
  const std::vector<std::string> parts{"wgmma_test.cu:", "product_kernel", "aligned to eight rows of 128 bytes",
                                       "a multiple of 32 bytes, not shared address 0x"};
  for (const Wgmma which : {Wgmma::misaligned_a, Wgmma::misaligned_slice_of_a}) {
    SCOPED_TRACE(static_cast<int>(which));
    expect_error(which, WgmmaForm::shared_128, parts);
  }
  for (const Wgmma which : {Wgmma::misaligned_b, Wgmma::misaligned_slice_of_b}) {
    expect_errors(which, parts);
  }
}

TEST(WgmmaTest, LanesDoTheSame) {
  const std::vector<std::string> parts{"wgmma_test.cu:", "lanes of a warp", "different operands"};
  expect_error(Wgmma::lanes_differ_in_a, WgmmaForm::shared_128, parts);
  expect_errors(Wgmma::lanes_differ_in_b, parts);
}

TEST(WgmmaTest, WarpsDoTheSame) {
  const auto parts = [](int thread) {
    return std::vector<std::string>{"block (0,0,0)",
                                    "thread (" + std::to_string(thread) + ",0,0) are of one warpgroup"};
  };
  expect_error(Wgmma::warps_differ_in_a, WgmmaForm::shared_128, parts(64));
  expect_errors(Wgmma::warps_differ_in_b, parts(64));
  expect_errors(Wgmma::one_warp_stops, parts(32));
}

TEST(WgmmaTest, TakesWholeWarpgroups) {
  expect_errors(Wgmma::half_a_warpgroup, {"wgmma_test.cu:", "whole warpgroups of 128 threads"});
}

TEST(WgmmaTest, RegistersOfAProductUnderWay) {
  expect_errors(Wgmma::write_before_wait, {"wgmma_test.cu:", "product_kernel", "writes to registers of a wgmma"});
}

/// The product that the ring computes.
struct RingCase {
  static constexpr std::size_t K = std::size_t{RING_TILES} * RING_TILE_K;
  struct alignas(16) Piece {
    unsigned char bytes[16];
  };

  std::vector<float> a = random_matrix(WGMMA_ROWS * K, 4);
  std::vector<float> b = random_matrix(K * WGMMA_COLS, 5);
  std::vector<Piece> tiles = std::vector<Piece>(RING_TILES * RING_TILE_BYTES / sizeof(Piece) + 1);

  RingCase() { pack_tiles(a.data(), b.data(), tiles.front().bytes); }
  std::vector<float> run(BulkRing which) const {
    std::vector<float> d(ELEMENTS, 0.5F);
    multiply(which, tiles.front().bytes, d.data());
    return d;
  }
  void expect_product(BulkRing which) const {
    const std::vector<float> d = run(which);
    for (std::size_t place = 0; place < ELEMENTS; ++place) {
      double sum = 0.5;
      for (std::size_t k = 0; k < K; ++k) {
        sum += static_cast<double>(as_read(Half::fp16, a[place / WGMMA_COLS * K + k])) *
               as_read(Half::fp16, b[k * WGMMA_COLS + place % WGMMA_COLS]);
      }
      expect_near(d[place], sum);
    }
  }
};

TEST(BulkCopies, RingHandsEveryTileOver) {
  const RingCase ring;
  for (const BulkRing which : {BulkRing::right, BulkRing::one_group_behind, BulkRing::halves}) {
    SCOPED_TRACE(static_cast<int>(which));
    ring.expect_product(which);
  }
}

TEST(BulkCopies, WrongUsesAreNamed) {
  const std::vector<std::string> misaligned{"thread (160,0,0)", "wgmma_test.cu:", "produce", "multiples of 16, not 163",
                                            " bytes from 0x"};
  for (const auto& [which, parts] : std::vector<std::pair<BulkRing, std::vector<std::string>>>{
           {BulkRing::too_few_bytes,
            {"block (0,0,0), thread (0,0,0)", "wgmma_test.cu:", "consume", "waits for ever",
             "the mbarrier at shared address 0x",
             "phase 2 only 1 of 1 arrivals have come and 16 bytes are missing that it expects"}},
           {BulkRing::too_many_bytes,
            {"thread (160,0,0)", "wgmma_test.cu:", "produce", "16 bytes more than its phase 2 expects"}},
           // The arrival ends the first phase, and the copy counts for the one after it.
           {BulkRing::nothing_expected,
            {"thread (160,0,0)", "wgmma_test.cu:", "produce", "16384 bytes more than its phase 1 expects"}},
           {BulkRing::no_arrival,
            {"thread (0,0,0)", "wgmma_test.cu:", "consume", "waits for ever", "phase 0 only 0 of 1 arrivals have",
             " and 16384 bytes more than it expects so far"}},
           {BulkRing::too_many_arrivals,
            {"thread (160,0,0)", "wgmma_test.cu:", "produce", "one arrival more than a phase takes"}},
           {BulkRing::too_much_expected, {"thread (160,0,0)", "at most 1048575 bytes, not 1048576"}},
           {BulkRing::misaligned_source, misaligned},
           {BulkRing::misaligned_destination, misaligned},
           {BulkRing::misaligned_size, misaligned}}) {
    SCOPED_TRACE(static_cast<int>(which));
    const RingCase ring;
    expect_parts(message_of([&, copies = which] { ring.run(copies); }), parts);
    ring.expect_product(BulkRing::right);
  }
}

std::vector<float> hand_over(NamedArrival which) {
  std::vector<float> in(NAMED_ELEMENTS);
  std::iota(in.begin(), in.end(), 1.0F);
  std::vector<float> out(in.size(), -1.0F);
  hand_over(which, in.data(), out.data());
  return out;
}

void expect_handed_over(NamedArrival which) {
  const std::vector<float> out = hand_over(which);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t opposite = (i | 31U) - i % 32;  // lane 31 has what lane 0 gave
    EXPECT_EQ(out[i], static_cast<float>(opposite + 1)) << i;
  }
}

TEST(NamedBarriers, ArrivalsDoNotWait) {
  expect_handed_over(NamedArrival::right);
  expect_handed_over(NamedArrival::reader_first);
}

#ifdef SIMT_CHECKED

std::vector<simt::GlobalArray> arrays_of(const Product& product, std::vector<float>& d) {
  return {simt::input("A", product.a), simt::input("B", product.b), simt::in_out("D", d)};
}

std::vector<simt::GlobalArray> arrays_of(const RingCase& ring, std::vector<float>& d) {
  return {simt::input("TILES", ring.tiles.front().bytes, RING_TILES * RING_TILE_BYTES), simt::in_out("D", d)};
}

std::string complaint(Wgmma which, WgmmaForm form) {
  const Product product(Half::fp16, form);
  std::vector<float> d = product.c;
  const simt::CheckedArrays arrays(arrays_of(product, d));
  return message_of([&] { multiply(which, form, Half::fp16, product.a.data(), product.b.data(), d.data()); });
}

std::string complaint(BulkRing which) {
  const RingCase ring;
  std::vector<float> d(ELEMENTS);
  const simt::CheckedArrays arrays(arrays_of(ring, d));
  return message_of([&] { multiply(which, ring.tiles.front().bytes, d.data()); });
}

std::string complaint(NamedArrival which) {
  GuardedArray in(NAMED_ELEMENTS, 1.0F);
  GuardedArray out(NAMED_ELEMENTS, 0.0F);
  const simt::CheckedArrays arrays(
      {simt::input("IN", in.data(), NAMED_ELEMENTS), simt::in_out("OUT", out.data(), NAMED_ELEMENTS)});
  return message_of([&] { hand_over(which, in.data(), out.data()); });
}

/// The counts of what `run` launches.
template <class Run>
simt::LaunchCounts counts_of(const std::vector<simt::GlobalArray>& described, const Run& run) {
  std::vector<simt::CountedArray> arrays;
  for (const simt::GlobalArray& array : described) {
    arrays.push_back({array, 0, 1});
  }
  simt::Counting counting(std::move(arrays), [](std::size_t, unsigned) { return std::size_t{32768}; });
  run();
  return std::move(counting.take().front());
}

template <class Which>
void expect_complaint(Which which, const std::vector<std::string>& parts) {
  SCOPED_TRACE(static_cast<int>(which));
  expect_message(complaint(which), "wgmma_test.cu", parts);
  EXPECT_EQ(complaint(Which::right), "");
}

TEST(CheckedWgmma, RightUses) {
  for (const BulkRing which : {BulkRing::right, BulkRing::one_group_behind, BulkRing::halves}) {
    EXPECT_EQ(complaint(which), "") << static_cast<int>(which);
  }
  for (const WgmmaForm form : FORMS) {
    for (const Wgmma which : {Wgmma::right, Wgmma::two_at_once, Wgmma::store_behind_b}) {
      EXPECT_EQ(complaint(which, form), "") << static_cast<int>(form) << ' ' << static_cast<int>(which);
    }
  }
}

TEST(CheckedWgmma, TileOfBThatIsOverwrittenBeforeTheWait) {
  for (const WgmmaForm form : FORMS) {
    SCOPED_TRACE(static_cast<int>(form));
    expect_message(
        complaint(Wgmma::store_to_b_while_read, form), "wgmma_test.cu",
        {"thread (0,0,0)", "writes 1 bytes", "which wgmma reads in warp ", "no wait for it lies in between"});
  }
}

TEST(CheckedBulkCopies, WrongUsesAreNamed) {
  const std::vector<std::string> overwrites{"thread (0,0,0)", "writes 1 bytes", "which wgmma reads in warp ",
                                            "no wait for it lies in between"};
  const std::vector<std::string> reads_too_early{"wgmma reads 16 bytes", "of dynamic shared memory, which "};
  const std::vector<std::string> reads_other_stage{
      "wgmma reads 16 bytes", "of dynamic shared memory, which a bulk copy wrote, and no wait for"};
  expect_complaint(BulkRing::release_before_wait,
                   {"thread (160,0,0)", "a bulk copy writes 16384 bytes",
                    "of dynamic shared memory, which wgmma reads in warp ", ", and no wait for it lies in between"});
  expect_complaint(BulkRing::release_one_group_too_early,
                   {"a bulk copy writes ", "which wgmma reads in warp ", ", and no wait for it lies in between"});
  expect_complaint(BulkRing::overwrite_unreleased,
                   {"thread (160,0,0)", "a bulk copy writes 16384 bytes", "which a bulk copy wrote, and no wait for"});
  expect_complaint(BulkRing::store_to_a_while_read, overwrites);
  expect_complaint(BulkRing::store_to_b_while_read, overwrites);
  expect_complaint(BulkRing::read_a_unawaited, reads_too_early);
  expect_complaint(BulkRing::read_b_unawaited, reads_too_early);
  expect_complaint(BulkRing::read_other_stage_of_a, reads_other_stage);
  expect_complaint(BulkRing::read_other_stage_of_b, reads_other_stage);
  expect_complaint(BulkRing::beyond_source,
                   {"thread (160,0,0)", "a bulk copy reads 16384 bytes", "beyond the end of TILES"});
  expect_complaint(BulkRing::beyond_shared_memory,
                   {"thread (160,0,0)", "a bulk copy writes 16384 bytes", "outside of shared memory"});
}

TEST(CheckedNamedBarriers, WrongUsesAreNamed) {
  EXPECT_EQ(complaint(NamedArrival::reader_first), "");
  expect_complaint(NamedArrival::read_after_arrival, {"thread (63,0,0)", "reads 4 bytes", "of shared values, which ",
                                                      " wrote, and no barrier lies in between"});
  expect_complaint(NamedArrival::release_before_read,
                   {"thread (0,0,0)", "writes 4 bytes", "of shared values, which thread (", " read, and no barrier"});
}

const Traffic& of(const simt::LaunchCounts& counts, AccessKind kind) {
  return counts.traffic[static_cast<std::size_t>(kind)];
}

TEST(CountedWgmma, BulkCopiesAreOneRequestEach) {
  for (const BulkRing which : {BulkRing::right, BulkRing::one_group_behind, BulkRing::halves}) {
    SCOPED_TRACE(static_cast<int>(which));
    const RingCase ring;
    std::vector<float> d(ELEMENTS);
    const simt::LaunchCounts counts =
        counts_of(arrays_of(ring, d), [&] { multiply(which, ring.tiles.front().bytes, d.data()); });
    constexpr std::uint64_t BYTES = RING_TILES * RING_TILE_BYTES;
    const std::uint64_t copies = std::uint64_t{RING_TILES} * (which == BulkRing::halves ? 3 : 2);
    EXPECT_EQ(of(counts, AccessKind::async_copy), (Traffic{copies, BYTES / 32, 0, 0, BYTES}));
    EXPECT_EQ(of(counts, AccessKind::shared_load).requests, 0U);
    EXPECT_EQ(of(counts, AccessKind::shared_store).requests, 0U);
    EXPECT_EQ(counts.bytes_read[0], BYTES);
    EXPECT_EQ(counts.smem_bytes, 2 * RING_TILE_BYTES + 8 * sizeof(std::uint64_t));
    std::uint64_t sectors = 0;
    for (const simt::SectorAccess& access : counts.executed.front()->traffic) {
      sectors += access.array == 0 ? static_cast<std::uint64_t>(std::popcount(access.mask)) : 0U;
    }
    EXPECT_EQ(sectors, BYTES / 32);
    // Six warps at one barrier of the block; then the producers wait once a step and four others twice.
    EXPECT_EQ(counts.barriers, 6U + (2 + 2 * 4) * RING_TILES);
  }
}

TEST(CountedWgmma, OperationsGoByTheColumns) {
  for (const WgmmaForm form : FORMS) {
    const Product product(Half::fp16, form);
    std::vector<float> d = product.c;
    const simt::LaunchCounts counts = counts_of(arrays_of(product, d), [&] {
      multiply(Wgmma::right, form, Half::fp16, product.a.data(), product.b.data(), d.data());
    });
    EXPECT_EQ(counts.tensor_flops, product.columns * WGMMA_ROWS * WGMMA_KS * 2);
  }
}

TEST(CountedNamedBarriers, ArrivalsCount) {
  for (const NamedArrival which : {NamedArrival::right, NamedArrival::reader_first}) {
    GuardedArray in(NAMED_ELEMENTS, 1.0F);
    GuardedArray out(NAMED_ELEMENTS, 0.0F);
    const simt::LaunchCounts counts =
        counts_of({simt::input("IN", in.data(), NAMED_ELEMENTS), simt::in_out("OUT", out.data(), NAMED_ELEMENTS)},
                  [&] { hand_over(which, in.data(), out.data()); });
    EXPECT_EQ(of(counts, AccessKind::shared_load), (Traffic{NAMED_ROUNDS, 0, NAMED_ROUNDS, NAMED_ROUNDS, 512}));
    EXPECT_EQ(of(counts, AccessKind::shared_store), (Traffic{NAMED_ROUNDS, 0, NAMED_ROUNDS, NAMED_ROUNDS, 512}));
    EXPECT_EQ(counts.barriers, 4U * NAMED_ROUNDS - 2U);
  }
}

#endif

}  // namespace
}  // namespace simt::test
