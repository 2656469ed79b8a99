// Products of warps and warpgroups, copies of whole pieces and arrivals at named barriers: what they compute, what they
// order, what is counted, and what is reported of kernels that use them wrongly.

#include "launch.cuh"
#include "observed.hpp"
#include "simt/half_floats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
#include <type_traits>
#include <vector>

namespace simt::test {
namespace {

using Parts = std::vector<std::string>;

// The operands of a warpgroup; matrices below are row-major without gaps, A with `k` columns and B with as many rows.
constexpr unsigned WARPGROUP = 128;
constexpr unsigned ROWS = 64;
constexpr unsigned MOST_COLUMNS = 128;
constexpr unsigned STEP = 16;  // of k, in numbers of 16 bits
constexpr unsigned ROW_BYTES = 128;
constexpr unsigned ALIGNMENT = 8 * ROW_BYTES;
constexpr unsigned A_BYTES = ROWS * ROW_BYTES;
constexpr unsigned B_BYTES = MOST_COLUMNS * ROW_BYTES;
constexpr std::size_t ELEMENTS = std::size_t{ROWS} * MOST_COLUMNS;
constexpr int NOWHERE = INT_MAX;

/// Where A lies, and how many columns B and D have.
struct Form {
  bool in_registers;
  unsigned columns;
};
constexpr Form FORMS[] = {{false, 128}, {true, 128}, {true, 64}, {true, 32}};

/// One block of a warpgroup stores its A and B in a format of 16 bits or as integers of 8, multiplies 32 bytes of K at
/// a time and adds to D. What it does otherwise:
struct Wgmma {
  bool adds = true;             ///< the first product too
  bool group_per_step = false;  ///< and not one for all
  bool uncommitted = false;     ///< the last step's product belongs to no group
  bool two_sums = false;        ///< even steps add to D, odd ones to an own sum that is stored below D
  int pending = 0;              ///< groups that the wait for D leaves; NOWHERE: there is no wait
  int other_pending = 0;        ///< the same for the own sum
  int stores_at = NOWHERE;      ///< behind B, by a thread before the wait
  bool writes = false;          ///< to its part of D before the wait
  // What is added to the addresses of A and B in `moved` threads from one on.
  unsigned a = 0;
  unsigned b = 0;
  unsigned first_moved = 0;
  unsigned moved = WARPGROUP;
  unsigned stopping = WARPGROUP;  ///< a warp that stops after the first product
  unsigned threads = WARPGROUP;
};
constexpr unsigned K = 64;

constexpr unsigned INTEGER_K = 128;

/// Two producer warps, each with a ring of two stages in shared memory, bring tiles of A and of B there by bulk copies;
/// a warpgroup multiplies them and adds up in D. What they do otherwise:
struct BulkRing {
  /// By the producer of B:
  struct Copies {
    bool waits = true;          ///< for the consumers
    bool halves = false;        ///< two copies for each tile
    int expected = NOWHERE;     ///< bytes, other than a tile's; with none it arrives as usual
    int arrivals = 1;           ///< the first of which expects bytes
    bool in_last_step = false;  ///< and no other one:
    unsigned source = 0;        ///< what is added to addresses and sizes
    unsigned destination = 0;
    int bytes = 0;
    unsigned more = 0;  ///< bytes that another copy brings
  } copies{};
  // By the consumers:
  bool wait_for_a = true;
  bool wait_for_b = true;
  unsigned a_ahead = 0;  ///< stages, of those whose copies they waited for
  unsigned b_ahead = 0;
  int stores_at = NOWHERE;  ///< by a thread, before it has waited for the first product
  unsigned pending = 0;     ///< groups that waits leave
  unsigned behind = 0;      ///< the step whose stage is released
  bool releases_b_early = false;
};
constexpr unsigned STAGES = 2;
constexpr unsigned TILES = 6;
constexpr unsigned TILE_K = 64;
constexpr unsigned RING_A_BYTES = 2U * TILE_K * ROWS;
constexpr unsigned RING_B_BYTES = 2U * TILE_K * MOST_COLUMNS;
constexpr std::size_t RING_TILE_BYTES = RING_A_BYTES + RING_B_BYTES;
const BulkRing ONE_GROUP_BEHIND{.pending = 1, .behind = 1};
const BulkRing HALVES{.copies = {.halves = true}};

/// One block of two warps; the first fills 32 elements of shared memory, the second copies them to `out`, four times.
struct NamedArrival {
  bool reader_first = false;  ///< it has the lower thread numbers
  // Mistakes that no kernel may make:
  bool reader_arrives = false;  ///< where it should wait
  bool releases_early = false;
};
constexpr unsigned NAMED_ROUNDS = 4;
constexpr std::size_t NAMED_ELEMENTS = std::size_t{NAMED_ROUNDS} * LANES;

/// Calls `body` with each element that this thread holds of D, and its place.
template <class T, class Body>
__device__ void for_elements(T* d, unsigned columns, const Body& body) {
  const unsigned lane = threadIdx.x % LANES;
  for (unsigned i = 0; i < columns / 2; ++i) {
    const unsigned row = threadIdx.x / LANES * 16 + lane / 4 + i / 2 % 2 * 8;
    body(d[i], row * columns + i / 4 * 8 + lane % 4 * 2 + i % 2);
  }
}

/// The place of byte `offset` of a tile after swizzling.
constexpr unsigned swizzled(unsigned offset) { return offset ^ (offset >> 3U & 0x70U); }

unsigned pack(MmaFormat format, const float* low, const float* high) {
  const auto bits = [&](float x) { return format == MmaFormat::fp16 ? to_fp16(x) : to_bf16(x); };
  return bits(*low) | static_cast<unsigned>(bits(*high)) << 16U;
}

/// Stores `tile_k` of k of rows of A, or of columns of B, where wgmma wants them.
void put(MmaFormat format, unsigned char* tile, unsigned row, unsigned tile_k, const float* first, unsigned stride) {
  for (unsigned k = 0; k < tile_k; k += 2) {
    const unsigned pair = pack(format, first + k * stride, first + (k + 1) * stride);
    std::memcpy(tile + swizzled(row * ROW_BYTES + k * 2), &pair, sizeof pair);
  }
}

void put(MmaFormat, unsigned char* tile, unsigned row, unsigned tile_k, const signed char* first, unsigned stride) {
  for (unsigned k = 0; k < tile_k; ++k) {
    tile[swizzled(row * ROW_BYTES + k)] = static_cast<unsigned char>(first[k * stride]);
  }
}

template <class Number, class Sum>
__global__ void product_kernel(Wgmma how, Form form, MmaFormat format, const Number* a, const Number* b, Sum* d) {
  constexpr bool INTEGERS = std::is_integral_v<Number>;
  constexpr unsigned K = INTEGERS ? INTEGER_K : test::K;
  auto* const a_tile = reinterpret_cast<unsigned char*>(dynamic_smem()) + ALIGNMENT;
  auto* const b_tile = a_tile + A_BYTES + ALIGNMENT;
  for (unsigned row = threadIdx.x; !form.in_registers && row < ROWS; row += blockDim.x) {
    put(format, a_tile, row, K, a + row * K, 1);
  }
  for (unsigned column = threadIdx.x; column < form.columns; column += blockDim.x) {
    put(format, b_tile, column, K, b + column, form.columns);
  }
  __syncthreads();
  const bool moved = threadIdx.x - how.first_moved < how.moved;
  const unsigned a_operand = shared_address(a_tile) + (moved ? how.a : 0);
  const unsigned b_operand = shared_address(b_tile) + (moved ? how.b : 0);
  const bool many_groups = how.two_sums || how.group_per_step;
  Sum sums[2][64];
  for_elements(sums[0], form.columns, [&](Sum& element, unsigned place) { element = d[place]; });
  for_elements(sums[1], form.columns, [&](Sum& element, unsigned) { element = 0; });
  wgmma_fence();
  for (unsigned step = 0; step < 4 && (step == 0 || threadIdx.x / LANES != how.stopping); ++step) {
    auto& sum = sums[how.two_sums ? step % 2 : 0];
    const bool adds = how.adds || step > 0;
    const unsigned b_slice = b_operand + step * 32;
    if constexpr (INTEGERS) {
      wgmma(MmaFormat::s8, sum, form.columns, a_operand + step * 32, b_slice, adds);
    } else if (form.in_registers) {
      const unsigned lane = threadIdx.x % LANES;
      WgmmaA fragment;
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = threadIdx.x / LANES * 16 + lane / 4 + i % 2 * 8;
        const float* const pair = a + row * K + step * STEP + i / 2 * 8 + lane % 4 * 2;
        fragment[i] = pack(format, pair, pair + 1);
      }
      wgmma(format, sum, form.columns, fragment, b_slice, adds);
    } else {
      wgmma(format, sum, form.columns, a_operand + step * 32, b_slice, adds);
    }
    if (many_groups || step == (how.uncommitted ? 2 : 3)) {
      wgmma_commit();
    }
  }
  if (how.writes) {
    sums[0][3] = 1;
  }
  if (threadIdx.x == 0 && how.stores_at != NOWHERE) {
    b_tile[static_cast<int>(form.columns * ROW_BYTES) + how.stores_at] = 0;
  }
  if (how.pending != NOWHERE) {
    wgmma_wait(static_cast<unsigned>(how.pending), sums[0]);
  }
  if (how.two_sums) {
    wgmma_wait(static_cast<unsigned>(how.other_pending), sums[1]);
  }
  for_elements(sums[0], form.columns, [&](Sum& element, unsigned place) { d[place] = element; });
  if (how.two_sums) {
    for_elements(sums[1], form.columns,
                 [&](Sum& element, unsigned place) { d[ROWS * form.columns + place] = element; });
  }
}

/// d = a * b + c of 16 x 8 x 8 numbers, of which a tensor core reads the bits that TF32 has.
__global__ void tf32_kernel(const float* a, const float* b, const float* c, float* d) {
  const unsigned row = threadIdx.x / 4;
  const unsigned column = threadIdx.x % 4;
  const auto at = [](const float* matrix, unsigned i, unsigned j) {
    return std::bit_cast<unsigned>(matrix[i * 8 + j]);
  };
  const auto place = [&](unsigned i) { return (row + i / 2 * 8) * 8 + 2 * column + i % 2; };
  const MmaRegisters operands{
      {at(a, row, column), at(a, row + 8, column), at(a, row, column + 4), at(a, row + 8, column + 4)},
      {at(b, column, row), at(b, column + 4, row)}};
  const std::array sums{c[place(0)], c[place(1)], c[place(2)], c[place(3)]};
  const std::array part = mma(MmaFormat::tf32, {16, 8, 8}, operands, sums);
  for (unsigned i = 0; i < 4; ++i) {
    d[place(i)] = part[i];
  }
}

// ---- Bulk copies ----

/// A ring of tiles of A or of B, by shared addresses.
struct TileRing {
  unsigned bytes;  ///< of a tile
  unsigned first_tile;
  unsigned first_full;  ///< of its mbarriers
  unsigned first_empty;

  unsigned tile(unsigned step) const { return first_tile + step % STAGES * bytes; }
  unsigned full(unsigned step) const { return first_full + step % STAGES * sizeof(std::uint64_t); }
  unsigned empty(unsigned step) const { return first_empty + step % STAGES * sizeof(std::uint64_t); }
};

__device__ void produce(const BulkRing::Copies& how, const unsigned char* tile, const TileRing& ring, unsigned step) {
  const unsigned barrier = ring.full(step);
  if (how.waits) {
    mbarrier_wait(ring.empty(step), step / STAGES % 2 ^ 1);
  }
  const unsigned expected = how.expected != NOWHERE ? static_cast<unsigned>(how.expected) : ring.bytes;
  for (int arrival = 0; arrival < how.arrivals; ++arrival) {
    arrival == 0 && expected != 0 ? mbarrier_arrive_expecting(barrier, expected) : mbarrier_arrive(barrier);
  }
  const BulkRing::Copies here = how.in_last_step && step < TILES - 1 ? BulkRing::Copies{} : how;
  const unsigned to = ring.tile(step) + here.destination;
  unsigned bytes = ring.bytes + static_cast<unsigned>(here.bytes);
  tile += here.source;
  if (here.halves) {
    bytes /= 2;
    bulk_copy(to + bytes, tile + bytes, bytes, barrier);
  }
  if (here.more > 0) {
    bulk_copy(to, tile, here.more, barrier);
  }
  bulk_copy(to, tile, bytes, barrier);
}

__device__ void consume(const BulkRing& how, WgmmaD& d, unsigned char* memory, const TileRing& a, const TileRing& b) {
  for (unsigned step = 0; step < TILES; ++step) {
    if (how.wait_for_a) {
      mbarrier_wait(a.full(step), step / STAGES % 2);
    }
    if (how.wait_for_b) {
      mbarrier_wait(b.full(step), step / STAGES % 2);
    }
    wgmma_fence();
    for (unsigned k = 0; k < TILE_K; k += STEP) {
      wgmma(MmaFormat::fp16, d, MOST_COLUMNS, a.tile(step + how.a_ahead) + k * 2, b.tile(step + how.b_ahead) + k * 2,
            true);
    }
    wgmma_commit();
    if (threadIdx.x == 0 && step == 0 && how.stores_at != NOWHERE) {
      memory[how.stores_at] = 0;
    }
    if (how.releases_b_early) {
      mbarrier_arrive(b.empty(step));
    }
    wgmma_wait(how.pending, d);
    if (step >= how.behind) {
      mbarrier_arrive(a.empty(step - how.behind));
      if (!how.releases_b_early) {
        mbarrier_arrive(b.empty(step - how.behind));
      }
    }
  }
  wgmma_wait(0, d);
}

__global__ void bulk_kernel(BulkRing how, const unsigned char* tiles, float* d) {
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
        produce({}, a_tile, a, step);
      } else if (threadIdx.x == WARPGROUP + LANES) {
        produce(how.copies, a_tile + a.bytes, b, step);
      }
    }
    return;
  }
  WgmmaD sum;
  for_elements(sum, MOST_COLUMNS, [&](float& element, unsigned place) { element = d[place]; });
  consume(how, sum, memory, a, b);
  for_elements(sum, MOST_COLUMNS, [&](float& element, unsigned place) { d[place] = element; });
}

// ---- Named barriers ----

constexpr unsigned FULL = 1;
constexpr unsigned EMPTY = 2;
constexpr unsigned BOTH = 2 * LANES;

__global__ void named_kernel(NamedArrival how, const float* in, float* out) {
  __shared__ float values[LANES];
  const unsigned lane = threadIdx.x % LANES;
  const bool writer = (threadIdx.x < LANES) != how.reader_first;
  for (unsigned round = 0; round < NAMED_ROUNDS; ++round) {
    if (writer) {
      if (round > 0) {
        barrier(EMPTY, BOTH);
      }
      values[lane] = in[round * LANES + lane];
      barrier_arrive(FULL, BOTH);
      continue;
    }
    if (how.reader_arrives) {
      barrier_arrive(FULL, BOTH);
      if (lane < LANES - 1) {  // the last one to arrive reads
        return;
      }
    } else {
      barrier(FULL, BOTH);
    }
    const bool more = round + 1 < NAMED_ROUNDS;
    if (more && how.releases_early) {
      barrier_arrive(EMPTY, BOTH);
    }
    out[round * LANES + lane] = values[LANES - 1 - lane];
    if (more && !how.releases_early) {
      barrier_arrive(EMPTY, BOTH);
    }
  }
}

// ---- Tests ----

constexpr float INF = std::numeric_limits<float>::infinity();

float as_read(MmaFormat format, float x) {
  return format == MmaFormat::fp16 ? from_fp16(to_fp16(x)) : from_bf16(to_bf16(x));
}

std::vector<float> random_matrix(std::size_t elements, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-2.0F, 2.0F);
  std::vector<float> matrix(elements);
  std::generate(matrix.begin(), matrix.end(), [&] { return value(random); });
  return matrix;
}

/// That a number has been cut off.
void expect_cut(float got, double exact) {
  EXPECT_LE(std::fabs(got), std::fabs(exact));
  EXPECT_GT(std::fabs(std::nextafter(got, exact > 0 ? INF : -INF)), std::fabs(exact));
}

struct Tf32Product {
  std::vector<float> a = random_matrix(16 * 8, 1);
  std::vector<float> b = random_matrix(8 * 8, 2);
  std::vector<float> c = random_matrix(16 * 8, 3);

  std::vector<float> run(unsigned threads = LANES) const {
    std::vector<float> d(c.size());
    launch(tf32_kernel, 1, threads, 0, a.data(), b.data(), c.data(), d.data());
    return d;
  }
};

TEST(TensorCoreTest, MultipliesTilesAndRoundsTowardsZero) {
  const Tf32Product product;
  const std::vector<float> d = product.run();
  const auto as_read = [](float x) { return std::bit_cast<float>(std::bit_cast<unsigned>(x) & ~0U << 13U); };
  for (std::size_t place = 0; place < d.size(); ++place) {
    double sum = product.c[place];
    for (std::size_t k = 0; k < 8; ++k) {
      sum += static_cast<double>(as_read(product.a[place / 8 * 8 + k])) * as_read(product.b[k * 8 + place % 8]);
    }
    expect_cut(d[place], sum);
  }
}

TEST(TensorCoreTest, PassesOnInfAndNan) {
  Tf32Product product;
  product.a[0] = INF;
  product.b[0] = 1.0F;
  product.b[1] = 0.0F;
  const std::vector<float> d = product.run();
  EXPECT_EQ(d[0], INF);
  EXPECT_TRUE(std::isnan(d[1]));
  EXPECT_TRUE(std::isfinite(d[8]));
}

TEST(TensorCoreTest, TakesWholeWarps) { EXPECT_THROW(Tf32Product().run(LANES / 2), Error); }

/// A product, and what is expected of it.
struct Product {
  MmaFormat format;
  Form form;
  std::size_t elements = std::size_t{ROWS} * form.columns;  ///< of D
  std::vector<float> a = random_matrix(std::size_t{ROWS} * K, 1);
  std::vector<float> b = random_matrix(std::size_t{K} * form.columns, 2);
  std::vector<float> c = random_matrix(2 * elements, 3);

  void run(const Wgmma& how, std::vector<float>& d) const {
    launch(product_kernel<float, float>, 1, how.threads, A_BYTES + B_BYTES + 4 * ALIGNMENT, how, form, format, a.data(),
           b.data(), d.data());
  }
  std::vector<float> run(const Wgmma& how = {}) const {
    std::vector<float> d = c;
    run(how, d);
    return d;
  }
  /// The sum over all steps of 16 k, or the even or odd ones alone.
  double sum(std::size_t place, bool even = true, bool odd = true) const {
    double total = 0.0;
    for (std::size_t k = 0; k < K; ++k) {
      if (k / STEP % 2 == 0 ? even : odd) {
        total += static_cast<double>(as_read(format, a[place / form.columns * K + k])) *
                 as_read(format, b[k * form.columns + place % form.columns]);
      }
    }
    return total;
  }
};

/// Cut off after each of at most 24 steps, by less than 2^-16, as no sum comes to 256.
void expect_near(float got, double expected) { EXPECT_NEAR(got, expected, 24 * 0x1p-16); }

TEST(WgmmaTest, AddsProducts) {
  for (const Form form : FORMS) {
    for (const MmaFormat format : {MmaFormat::fp16, MmaFormat::bf16}) {
      SCOPED_TRACE(testing::Message() << form.columns << ' ' << static_cast<int>(format));
      const Product product{format, form};
      for (const Wgmma& how : {Wgmma{}, {.adds = false}, {.group_per_step = true}, {.stores_at = 0}}) {
        const std::vector<float> d = product.run(how);
        for (std::size_t place = 0; place < product.elements; ++place) {
          expect_near(d[place], (how.adds ? product.c[place] : 0.0) + product.sum(place));
        }
      }
    }
  }
}

TEST(WgmmaTest, CutsOffEachSum) {
  for (const Form form : FORMS) {
    Product product{MmaFormat::bf16, form};
    std::fill(product.b.begin() + STEP * form.columns, product.b.end(), 0.0F);  // one step, then nothing is added
    const std::vector<float> d = product.run();
    for (std::size_t place = 0; place < product.elements; ++place) {
      expect_cut(d[place], product.c[place] + product.sum(place));
    }
  }
}

TEST(WgmmaTest, SeveralSums) {
  for (const Form form : FORMS) {
    const Product product{MmaFormat::fp16, form};
    const std::vector<float> both = product.run({.two_sums = true});
    const std::vector<float> older = product.run({.two_sums = true, .pending = 1, .other_pending = 1});
    for (std::size_t place = 0; place < product.elements; ++place) {
      const double even = product.c[place] + product.sum(place, true, false);
      expect_near(both[place], even);
      expect_near(both[product.elements + place], product.sum(place, false, true));
      expect_near(older[place], even);
      EXPECT_TRUE(std::isnan(older[product.elements + place])) << place;
    }
  }
}

TEST(WgmmaTest, SumsAreThereOnceTheyHaveBeenWaitedFor) {
  for (const Form form : FORMS) {
    const Product product{MmaFormat::fp16, form};
    for (const Wgmma& how : {Wgmma{.pending = NOWHERE},
                             {.group_per_step = true, .pending = 1},
                             {.uncommitted = true},
                             {.two_sums = true, .pending = NOWHERE}}) {
      const std::vector<float> d = product.run(how);
      const auto numbers =
          std::ranges::count_if(d.begin(), d.begin() + product.elements, [](float x) { return !std::isnan(x); });
      EXPECT_EQ(numbers, 0) << form.columns << ' ' << how.uncommitted << how.two_sums;
      expect_near(product.run()[5], product.c[5] + product.sum(5));  // nothing is left of it
    }
  }
}

/// A product of integers, random ones of all 256 values.
struct IntegerProduct {
  std::vector<signed char> a = std::vector<signed char>(std::size_t{ROWS} * INTEGER_K);
  std::vector<signed char> b = std::vector<signed char>(std::size_t{INTEGER_K} * MOST_COLUMNS);
  std::vector<int> c = std::vector<int>(ELEMENTS);

  IntegerProduct() {
    std::mt19937 random(6);
    const auto digit = [&] { return static_cast<signed char>(static_cast<int>(random() % 256) - 128); };
    std::generate(a.begin(), a.end(), digit);
    std::generate(b.begin(), b.end(), digit);
    // So large that sums wrap around at both ends.
    std::generate(c.begin(), c.end(), [&] { return random() % 2 == 0 ? INT_MAX : INT_MIN; });
  }
  std::vector<int> run(const Wgmma& how) const {
    std::vector<int> d = c;
    launch(product_kernel<signed char, int>, 1, WARPGROUP, A_BYTES + B_BYTES + 4 * ALIGNMENT, how, FORMS[0],
           MmaFormat::fp16, a.data(), b.data(), d.data());
    return d;
  }
};

TEST(WgmmaTest, SumsOfIntegersAreExactAndWrapAround) {
  const IntegerProduct product;
  int wrapped = 0;
  for (const bool adds : {true, false}) {
    const std::vector<int> d = product.run({.adds = adds});
    for (std::size_t place = 0; place < ELEMENTS; ++place) {
      std::int64_t sum = adds ? product.c[place] : 0;
      for (std::size_t k = 0; k < INTEGER_K; ++k) {
        sum += product.a[place / MOST_COLUMNS * INTEGER_K + k] * product.b[k * MOST_COLUMNS + place % MOST_COLUMNS];
      }
      ASSERT_EQ(d[place], static_cast<int>(sum)) << place;
      wrapped += d[place] != sum ? 1 : 0;
    }
  }
  EXPECT_GT(wrapped, 0);
}

/// In each form, or in that with A in shared memory alone.
void expect_errors(const Wgmma& how, const Parts& parts) {
  for (const Form form : FORMS) {
    if (how.a == 0 || !form.in_registers) {
      SCOPED_TRACE(form.columns);
      const Product product{MmaFormat::fp16, form};
      expect_parts(message_of([&] { product.run(how); }), parts);
      expect_near(product.run()[5], product.c[5] + product.sum(5));
    }
  }
}

TEST(WgmmaTest, TileThatIsNotAligned) {
  const Parts parts{"tensor_cores_test.cu:", "product_kernel", "aligned to eight rows of 128 bytes",
                    "a multiple of 32 bytes, not shared address 0x"};
  for (const unsigned bytes : {ALIGNMENT / 2, 16U}) {
    expect_errors({.a = bytes}, parts);
    expect_errors({.b = bytes}, parts);
  }
}

TEST(WgmmaTest, LanesDoTheSame) {
  const Parts parts{"tensor_cores_test.cu:", "lanes of a warp", "different operands"};
  expect_errors({.a = ALIGNMENT, .first_moved = 37, .moved = 1}, parts);
  expect_errors({.b = ALIGNMENT, .first_moved = 37, .moved = 1}, parts);
}

TEST(WgmmaTest, WarpsDoTheSame) {
  expect_errors({.a = ALIGNMENT, .first_moved = 64, .moved = LANES},
                {"block (0,0,0)", "thread (64,0,0) are of one warpgroup"});
  expect_errors({.b = ALIGNMENT, .first_moved = 64, .moved = LANES},
                {"block (0,0,0)", "thread (64,0,0) are of one warpgroup"});
  expect_errors({.stopping = 1}, {"block (0,0,0)", "thread (32,0,0) are of one warpgroup"});
}

TEST(WgmmaTest, TakesWholeWarpgroups) {
  expect_errors({.threads = WARPGROUP / 2}, {"tensor_cores_test.cu:", "whole warpgroups of 128 threads"});
}

TEST(WgmmaTest, RegistersOfAProductUnderWay) {
  expect_errors({.writes = true}, {"tensor_cores_test.cu:", "product_kernel", "writes to registers of a wgmma"});
}

/// The product that the ring computes.
struct RingCase {
  static constexpr unsigned K = TILES * TILE_K;
  struct alignas(16) Piece {
    unsigned char bytes[16];
  };

  std::vector<float> a = random_matrix(ROWS * K, 4);
  std::vector<float> b = random_matrix(K * MOST_COLUMNS, 5);
  /// Both in FP16 and as the rings have them in shared memory: each tile of A and behind it that of B.
  std::vector<Piece> tiles = std::vector<Piece>(TILES * RING_TILE_BYTES / sizeof(Piece) + 1);

  RingCase() {
    for (unsigned k = 0; k < K; k += TILE_K) {
      unsigned char* const tile = tiles.front().bytes + k / TILE_K * RING_TILE_BYTES;
      for (unsigned row = 0; row < ROWS; ++row) {
        put(MmaFormat::fp16, tile, row, TILE_K, &a[row * K + k], 1);
      }
      for (unsigned column = 0; column < MOST_COLUMNS; ++column) {
        put(MmaFormat::fp16, tile + RING_A_BYTES, column, TILE_K, &b[k * MOST_COLUMNS + column], MOST_COLUMNS);
      }
    }
  }
  void run(const BulkRing& how, std::vector<float>& d) const {
    launch(bulk_kernel, 1, WARPGROUP + 2 * LANES, STAGES * RING_TILE_BYTES, how, tiles.front().bytes, d.data());
  }
  void expect_product(const BulkRing& how) const {
    std::vector<float> d(ELEMENTS, 0.5F);
    run(how, d);
    for (std::size_t place = 0; place < ELEMENTS; ++place) {
      double sum = 0.5;
      for (std::size_t k = 0; k < K; ++k) {
        sum += static_cast<double>(as_read(MmaFormat::fp16, a[place / MOST_COLUMNS * K + k])) *
               as_read(MmaFormat::fp16, b[k * MOST_COLUMNS + place % MOST_COLUMNS]);
      }
      expect_near(d[place], sum);
    }
  }
};

TEST(BulkCopies, RingHandsEveryTileOver) {
  const RingCase ring;
  for (const BulkRing& how : {BulkRing{}, ONE_GROUP_BEHIND, HALVES}) {
    ring.expect_product(how);
  }
}

TEST(BulkCopies, WrongUsesAreNamed) {
  const RingCase ring;
  std::vector<float> d(ELEMENTS);
  const auto expect_error = [&](const BulkRing::Copies& copies, const Parts& parts) {
    expect_parts(message_of([&] { ring.run({.copies = copies}, d); }), parts);
    ring.expect_product({});
  };
  const Parts misaligned{"thread (160,0,0)", "tensor_cores_test.cu:", "produce", "multiples of 16, not 163",
                         " bytes from 0x"};
  expect_error({.in_last_step = true, .bytes = -16},
               {"block (0,0,0), thread (0,0,0)", "tensor_cores_test.cu:", "consume", "waits for ever",
                "the mbarrier at shared address 0x",
                "phase 2 only 1 of 1 arrivals have come and 16 bytes are missing that it expects"});
  expect_error({.in_last_step = true, .bytes = -16, .more = 32},
               {"thread (160,0,0)", "tensor_cores_test.cu:", "produce", "16 bytes more than its phase 2 expects"});
  // The arrival ends the first phase, and the copy counts for the one after it.
  expect_error({.expected = 0},
               {"thread (160,0,0)", "tensor_cores_test.cu:", "produce", "16384 bytes more than its phase 1 expects"});
  expect_error({.arrivals = 0}, {"thread (0,0,0)", "tensor_cores_test.cu:", "consume", "waits for ever",
                                 "phase 0 only 0 of 1 arrivals have", " and 16384 bytes more than it expects so far"});
  expect_error({.arrivals = 2},
               {"thread (160,0,0)", "tensor_cores_test.cu:", "produce", "one arrival more than a phase takes"});
  expect_error({.expected = 1 << 20}, {"thread (160,0,0)", "at most 1048575 bytes, not 1048576"});
  expect_error({.source = 8}, misaligned);
  expect_error({.destination = 4}, misaligned);
  expect_error({.bytes = -8}, misaligned);
}

void hand_over(const NamedArrival& how, const float* in, float* out) {
  launch(named_kernel, 1, 2 * LANES, 0, how, in, out);
}

TEST(NamedBarriers, ArrivalsDoNotWait) {
  for (const bool reader_first : {false, true}) {
    std::vector<float> in(NAMED_ELEMENTS);
    std::iota(in.begin(), in.end(), 1.0F);
    std::vector<float> out(in.size(), -1.0F);
    hand_over({.reader_first = reader_first}, in.data(), out.data());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t opposite = (i | 31U) - i % 32;  // lane 31 has what lane 0 gave
      EXPECT_EQ(out[i], static_cast<float>(opposite + 1)) << i;
    }
  }
}

#ifdef SIMT_CHECKED

std::vector<GlobalArray> arrays_of(const Product& product, std::vector<float>& d) {
  return {input("A", product.a), input("B", product.b), in_out("D", d)};
}

std::vector<GlobalArray> arrays_of(const RingCase& ring, std::vector<float>& d) {
  return {input("TILES", ring.tiles.front().bytes, TILES * RING_TILE_BYTES), in_out("D", d)};
}

std::string complaint(const Wgmma& how, Form form) {
  const Product product{MmaFormat::fp16, form};
  std::vector<float> d = product.c;
  return complaint_about(arrays_of(product, d), [&] { product.run(how, d); });
}

std::string complaint(const BulkRing& how) {
  const RingCase ring;
  std::vector<float> d(ELEMENTS);
  return complaint_about(arrays_of(ring, d), [&] { ring.run(how, d); });
}

std::string complaint(const NamedArrival& how) {
  return InAndOut(NAMED_ELEMENTS).complaint_about([&](const float* in, float* out) { hand_over(how, in, out); });
}

template <class How>
void expect_complaint(const How& how, const Parts& parts) {
  expect_message(complaint(how), "tensor_cores_test.cu", parts);
  EXPECT_EQ(complaint(How{}), "");
}

TEST(CheckedWgmma, RightUses) {
  for (const BulkRing& how : {BulkRing{}, ONE_GROUP_BEHIND, HALVES}) {
    EXPECT_EQ(complaint(how), "");
  }
  for (const Form form : FORMS) {
    for (const Wgmma& how : {Wgmma{}, {.two_sums = true}, {.stores_at = 0}}) {
      EXPECT_EQ(complaint(how, form), "") << form.columns << how.two_sums;
    }
  }
}

const Parts OVERWRITES{"thread (0,0,0)", "writes 1 bytes", "which wgmma reads in warp ",
                       "no wait for it lies in between"};

TEST(CheckedWgmma, TileOfBThatIsOverwrittenBeforeTheWait) {
  for (const Form form : FORMS) {
    SCOPED_TRACE(form.columns);
    expect_message(complaint({.stores_at = -1}, form), "tensor_cores_test.cu", OVERWRITES);
  }
}

TEST(CheckedBulkCopies, WrongUsesAreNamed) {
  const Parts reads_too_early{"wgmma reads 16 bytes", "of dynamic shared memory, which "};
  const Parts reads_other_stage{"wgmma reads 16 bytes",
                                "of dynamic shared memory, which a bulk copy wrote, and no wait for"};
  for (const auto& [how, parts] : std::vector<std::pair<BulkRing, Parts>>{
           {{.releases_b_early = true},
            {"thread (160,0,0)", "a bulk copy writes 16384 bytes",
             "of dynamic shared memory, which wgmma reads in warp ", ", and no wait for it lies in between"}},
           {{.pending = 1},
            {"a bulk copy writes ", "which wgmma reads in warp ", ", and no wait for it lies in between"}},
           {{.copies = {.waits = false}},
            {"thread (160,0,0)", "a bulk copy writes 16384 bytes", "which a bulk copy wrote, and no wait for"}},
           {{.stores_at = 6}, OVERWRITES},
           {{.stores_at = STAGES * RING_A_BYTES + 6}, OVERWRITES},
           {{.wait_for_a = false}, reads_too_early},
           {{.wait_for_b = false}, reads_too_early},
           {{.a_ahead = 1}, reads_other_stage},
           {{.b_ahead = 1}, reads_other_stage},
           {{.copies = {.in_last_step = true, .source = 16}},
            {"thread (160,0,0)", "a bulk copy reads 16384 bytes", "beyond the end of TILES"}},
           {{.copies = {.destination = STAGES * RING_B_BYTES - 32}},
            {"thread (160,0,0)", "a bulk copy writes 16384 bytes", "outside of shared memory"}}}) {
    expect_complaint(how, parts);
  }
}

TEST(CheckedNamedBarriers, WrongUsesAreNamed) {
  EXPECT_EQ(complaint(NamedArrival{.reader_first = true}), "");
  expect_complaint(
      NamedArrival{.reader_arrives = true},
      {"thread (63,0,0)", "reads 4 bytes", "of shared values, which ", " wrote, and no barrier lies in between"});
  expect_complaint(NamedArrival{.releases_early = true},
                   {"thread (0,0,0)", "writes 4 bytes", "of shared values, which thread (", " read, and no barrier"});
}

TEST(CountedWgmma, BulkCopiesAreOneRequestEach) {
  for (const BulkRing& how : {BulkRing{}, ONE_GROUP_BEHIND, HALVES}) {
    const RingCase ring;
    std::vector<float> d(ELEMENTS);
    const LaunchCounts counts = counts_of(arrays_of(ring, d), [&] { ring.run(how, d); });
    constexpr std::uint64_t BYTES = TILES * RING_TILE_BYTES;
    const std::uint64_t copies = std::uint64_t{TILES} * (how.copies.halves ? 3 : 2);
    EXPECT_EQ(counts.of(AccessKind::async_copy), (Traffic{copies, BYTES / 32, 0, 0, BYTES}));
    EXPECT_EQ(counts.of(AccessKind::shared_load).requests, 0U);
    EXPECT_EQ(counts.of(AccessKind::shared_store).requests, 0U);
    EXPECT_EQ(counts.bytes_read[0], BYTES);
    EXPECT_EQ(counts.smem_bytes, 2 * RING_TILE_BYTES + 8 * sizeof(std::uint64_t));
    std::uint64_t sectors = 0;
    for (const SectorAccess& access : counts.executed.front()->traffic) {
      sectors += access.array == 0 ? static_cast<std::uint64_t>(std::popcount(access.mask)) : 0U;
    }
    EXPECT_EQ(sectors, BYTES / 32);
    // Six warps at one barrier of the block; then the producers wait once a step and four others twice.
    EXPECT_EQ(counts.barriers, 6U + (2 + 2 * 4) * TILES);
  }
}

TEST(CountedWgmma, OperationsGoByTheColumns) {
  for (const Form form : FORMS) {
    const Product product{MmaFormat::fp16, form};
    std::vector<float> d = product.c;
    const LaunchCounts counts = counts_of(arrays_of(product, d), [&] { product.run({}, d); });
    EXPECT_EQ(counts.tensor_flops, form.columns * ROWS * K * 2);
  }
}

TEST(CountedNamedBarriers, ArrivalsCount) {
  for (const bool reader_first : {false, true}) {
    const LaunchCounts counts = InAndOut(NAMED_ELEMENTS).counts_of([&](const float* in, float* out) {
      hand_over({.reader_first = reader_first}, in, out);
    });
    for (const AccessKind kind : {AccessKind::shared_load, AccessKind::shared_store}) {
      EXPECT_EQ(counts.of(kind), (Traffic{NAMED_ROUNDS, 0, NAMED_ROUNDS, NAMED_ROUNDS, 512}));
    }
    EXPECT_EQ(counts.barriers, 4U * NAMED_ROUNDS - 2U);
  }
}

#endif

}  // namespace
}  // namespace simt::test
