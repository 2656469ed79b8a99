// Products of warpgroups, copies of whole pieces and arrivals at named barriers: what they compute, and what is
// reported of kernels that use them wrongly.

#include "wgmma.hpp"
#include "complaint.hpp"

#include "simt/half_floats.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace simt::test {
namespace {

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

TEST(WgmmaTest, RegistersOfAGiveWhatItsTileGives) {
  for (const Half format : {Half::fp16, Half::bf16}) {
    const Product tile(format);
    const std::vector<float> expected = tile.run(Wgmma::right);
    for (const WgmmaForm form : {WgmmaForm::registers_128, WgmmaForm::registers_64, WgmmaForm::registers_32}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(form) << ' ' << static_cast<int>(format));
      Product product(format, form);
      const auto first_columns = [&](const std::vector<float>& wide, std::vector<float>& narrow) {
        for (std::size_t place = 0; place < narrow.size(); ++place) {
          narrow[place] = wide[place / product.columns * tile.columns + place % product.columns];
        }
      };
      first_columns(tile.b, product.b);
      first_columns(tile.c, product.c);
      std::vector<float> expected_here(2 * product.elements);
      first_columns(expected, expected_here);
      const std::vector<float> d = product.run(Wgmma::right);
      EXPECT_TRUE(
          std::equal(d.begin(), d.begin() + static_cast<std::ptrdiff_t>(product.elements), expected_here.begin()));
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
  const std::vector<std::string> parts{"wgmma.cu:", "product_kernel", "aligned to eight rows of 128 bytes",
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
  const std::vector<std::string> parts{"wgmma.cu:", "lanes of a warp", "different operands"};
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
  expect_errors(Wgmma::half_a_warpgroup, {"wgmma.cu:", "whole warpgroups of 128 threads"});
}

TEST(WgmmaTest, RegistersOfAProductUnderWay) {
  expect_errors(Wgmma::write_before_wait, {"wgmma.cu:", "product_kernel", "writes to registers of a wgmma"});
}

/// The product that the ring computes.
struct RingCase {
  static constexpr std::size_t K = std::size_t{RING_TILES} * RING_TILE_K;
  struct alignas(16) Piece {
    unsigned char bytes[16];
  };

  std::vector<float> a = random_matrix(WGMMA_ROWS * K, 4);
  std::vector<float> b = random_matrix(K * WGMMA_COLS, 5);
  std::vector<Piece> tiles = std::vector<Piece>(RING_TILES * RING_TILE_BYTES / sizeof(Piece));

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
  const std::vector<std::string> misaligned{"thread (160,0,0)", "wgmma.cu:", "produce", "multiples of 16, not 163",
                                            " bytes from 0x"};
  for (const auto& [which, parts] : std::vector<std::pair<BulkRing, std::vector<std::string>>>{
           {BulkRing::too_few_bytes,
            {"block (0,0,0), thread (0,0,0)", "wgmma.cu:", "consume", "waits for ever",
             "the mbarrier at shared address 0x",
             "phase 2 only 1 of 1 arrivals have come and 16 bytes are missing that it expects"}},
           {BulkRing::too_many_bytes,
            {"thread (160,0,0)", "wgmma.cu:", "produce", "16 bytes more than its phase 2 expects"}},
           // The arrival ends the first phase, and the copy counts for the one after it.
           {BulkRing::nothing_expected,
            {"thread (160,0,0)", "wgmma.cu:", "produce", "16384 bytes more than its phase 1 expects"}},
           {BulkRing::no_arrival,
            {"thread (0,0,0)", "wgmma.cu:", "consume", "waits for ever", "phase 0 only 0 of 1 arrivals have",
             " and 16384 bytes more than it expects so far"}},
           {BulkRing::too_many_arrivals,
            {"thread (160,0,0)", "wgmma.cu:", "produce", "one arrival more than a phase takes"}},
           {BulkRing::too_much_expected, {"thread (160,0,0)", "at most 1048575 bytes, not 1048576"}},
           {BulkRing::misaligned_source, misaligned},
           {BulkRing::misaligned_destination, misaligned},
           {BulkRing::misaligned_size, misaligned},
           {BulkRing::no_init, {"the mbarrier at shared address 0x", "was never initialised"}}}) {
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

TEST(NamedBarriers, ArrivalsThatAreMissing) {
  expect_parts(message_of([] { hand_over(NamedArrival::never_full); }),
               {"waits for ever at barrier ", "which 32 of 64 threads reach", "wgmma.cu:", "named_kernel"});
  expect_handed_over(NamedArrival::right);
}

TEST(NamedBarriers, ArrivalsForAnotherCount) {
  expect_parts(message_of([] { hand_over(NamedArrival::other_count); }),
               {"thread (32,0,0)", "barrier 1 is for 64 threads here and for 96 in thread (31,0,0)"});
  expect_handed_over(NamedArrival::reader_first);
}

}  // namespace
}  // namespace simt::test
