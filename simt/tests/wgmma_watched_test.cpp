// Products of warpgroups, bulk copies and arrivals at named barriers when every access is observed.

#include "complaint.hpp"
#include "guarded_array.hpp"
#include "simt/checked_arrays.hpp"
#include "simt/counter.hpp"
#include "simt/executor.hpp"
#include "wgmma.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace simt::test {
namespace {

using simt::AccessKind;
using simt::Traffic;

constexpr std::size_t K = std::size_t{RING_TILES} * RING_TILE_K;

/// A ring's matrices, filled with anything.
struct RingArrays {
  struct alignas(16) Piece {
    unsigned char bytes[16];
  };

  std::vector<float> a = std::vector<float>(WGMMA_ROWS * K, 1.0F);
  std::vector<float> b = std::vector<float>(K * WGMMA_COLS, 1.0F);
  std::vector<Piece> tiles = std::vector<Piece>(RING_TILES * RING_TILE_BYTES / sizeof(Piece) + 1);
  std::vector<float> d = std::vector<float>(std::size_t{WGMMA_ROWS} * WGMMA_COLS, 0.0F);

  RingArrays() { pack_tiles(a.data(), b.data(), tiles.front().bytes); }
  std::vector<simt::GlobalArray> all() {
    return {simt::input("TILES", tiles.front().bytes, RING_TILES * RING_TILE_BYTES), simt::in_out("D", d)};
  }
  void run(BulkRing which) { multiply_watched(which, tiles.front().bytes, d.data()); }
};

/// A product's matrices, filled with anything.
struct ProductArrays {
  WgmmaForm form;
  std::size_t columns = static_cast<std::size_t>(columns_of(form));
  std::vector<float> a = std::vector<float>(std::size_t{WGMMA_ROWS} * WGMMA_KS, 1.0F);
  std::vector<float> b = std::vector<float>(columns * WGMMA_KS, 1.0F);
  std::vector<float> d = std::vector<float>(columns * WGMMA_ROWS * 2, 0.0F);

  std::vector<simt::GlobalArray> all() { return {simt::input("A", a), simt::input("B", b), simt::in_out("D", d)}; }
  void run(Wgmma which) { multiply_watched(which, form, Half::fp16, a.data(), b.data(), d.data()); }
};
constexpr WgmmaForm FORMS[] = {WgmmaForm::shared_128, WgmmaForm::registers_128, WgmmaForm::registers_64,
                               WgmmaForm::registers_32};

std::string complaint(Wgmma which, WgmmaForm form) {
  ProductArrays product{form};
  const simt::CheckedArrays arrays(product.all());
  return message_of([&] { product.run(which); });
}

std::string complaint(BulkRing which) {
  RingArrays ring;
  const simt::CheckedArrays arrays(ring.all());
  return message_of([&] { ring.run(which); });
}

std::string complaint(NamedArrival which) {
  GuardedArray in(NAMED_ELEMENTS, 1.0F);
  GuardedArray out(NAMED_ELEMENTS, 0.0F);
  const simt::CheckedArrays arrays(
      {simt::input("IN", in.data(), NAMED_ELEMENTS), simt::in_out("OUT", out.data(), NAMED_ELEMENTS)});
  return message_of([&] { hand_over_watched(which, in.data(), out.data()); });
}

template <class Which>
void expect_complaint(Which which, const std::vector<std::string>& parts) {
  expect_message(complaint(which), "wgmma.cu", parts);
  EXPECT_EQ(complaint(Which::right), "");
}

TEST(CheckedWgmma, RightUses) {
  for (const BulkRing which : {BulkRing::right, BulkRing::one_group_behind, BulkRing::halves}) {
    EXPECT_EQ(complaint(which), "") << static_cast<int>(which);
  }
}

TEST(CheckedWgmma, RightProducts) {
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
        complaint(Wgmma::store_to_b_while_read, form), "wgmma.cu",
        {"thread (0,0,0)", "writes 1 bytes", "which wgmma reads in warp ", "no wait for it lies in between"});
  }
}

TEST(CheckedWgmma, StageThatIsReleasedBeforeTheWait) {
  expect_complaint(BulkRing::release_a_before_wait,
                   {"thread (128,0,0)", "a bulk copy writes 8192 bytes",
                    "of dynamic shared memory, which wgmma reads in warp ", ", and no wait for it lies in between"});
  expect_complaint(BulkRing::release_b_before_wait,
                   {"thread (160,0,0)", "a bulk copy writes 16384 bytes",
                    "of dynamic shared memory, which wgmma reads in warp ", ", and no wait for it lies in between"});
  expect_complaint(BulkRing::release_one_group_too_early,
                   {"a bulk copy writes ", "which wgmma reads in warp ", ", and no wait for it lies in between"});
}

TEST(CheckedWgmma, StageThatIsOverwrittenUnreleased) {
  expect_complaint(BulkRing::overwrite_unreleased_a,
                   {"thread (128,0,0)", "a bulk copy writes 8192 bytes", "which a bulk copy wrote, and no wait for"});
  expect_complaint(BulkRing::overwrite_unreleased_b,
                   {"thread (160,0,0)", "a bulk copy writes 16384 bytes", "which a bulk copy wrote, and no wait for"});
  for (const BulkRing which : {BulkRing::store_to_a_while_read, BulkRing::store_to_b_while_read}) {
    expect_complaint(
        which, {"thread (0,0,0)", "writes 1 bytes", "which wgmma reads in warp ", "no wait for it lies in between"});
  }
}

TEST(CheckedWgmma, CopiesAreThereForThoseWhoWaitThere) {
  for (const BulkRing which : {BulkRing::read_a_unawaited, BulkRing::read_b_unawaited}) {
    expect_complaint(which, {"wgmma reads 16 bytes", "of dynamic shared memory, which "});
  }
  for (const BulkRing which : {BulkRing::read_other_stage_of_a, BulkRing::read_other_stage_of_b}) {
    expect_complaint(which,
                     {"wgmma reads 16 bytes", "of dynamic shared memory, which a bulk copy wrote, and no wait for"});
  }
}

TEST(CheckedBulkCopies, StayWithinBothEnds) {
  expect_complaint(BulkRing::beyond_source,
                   {"thread (160,0,0)", "a bulk copy reads 16384 bytes", "beyond the end of TILES"});
  expect_complaint(BulkRing::beyond_shared_memory,
                   {"thread (160,0,0)", "a bulk copy writes 16384 bytes", "outside of shared memory"});
}

TEST(CheckedNamedBarriers, RightUses) {
  EXPECT_EQ(complaint(NamedArrival::right), "");
  EXPECT_EQ(complaint(NamedArrival::reader_first), "");
}

TEST(CheckedNamedBarriers, WhoArrivesLearnsNothing) {
  expect_complaint(NamedArrival::read_after_arrival, {"thread (63,0,0)", "reads 4 bytes", "of shared values, which ",
                                                      " wrote, and no barrier lies in between"});
}

TEST(CheckedNamedBarriers, WhatFollowsAnArrivalIsNotPassedOn) {
  expect_complaint(NamedArrival::release_before_read,
                   {"thread (0,0,0)", "writes 4 bytes", "of shared values, which thread (", " read, and no barrier"});
}

const Traffic& of(const simt::LaunchCounts& counts, AccessKind kind) {
  return counts.traffic[static_cast<std::size_t>(kind)];
}

TEST(CountedWgmma, BulkCopiesAreOneRequestEach) {
  for (const BulkRing which : {BulkRing::right, BulkRing::one_group_behind, BulkRing::halves}) {
    SCOPED_TRACE(static_cast<int>(which));
    RingArrays ring;
    std::vector<simt::CountedArray> arrays;
    for (simt::GlobalArray& array : ring.all()) {
      arrays.push_back({std::move(array), 0, 1});
    }
    simt::Counting counting(std::move(arrays), [](std::size_t, unsigned) { return std::size_t{32768}; });
    ring.run(which);
    const simt::LaunchCounts counts = std::move(counting.take().front());
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
    ProductArrays product{form};
    std::vector<simt::CountedArray> arrays;
    for (simt::GlobalArray& array : product.all()) {
      arrays.push_back({std::move(array), 0, 1});
    }
    simt::Counting counting(std::move(arrays), [](std::size_t, unsigned) { return std::size_t{32768}; });
    product.run(Wgmma::right);
    EXPECT_EQ(counting.take().front().tensor_flops, product.columns * WGMMA_ROWS * WGMMA_KS * 2);
  }
}

TEST(CountedNamedBarriers, ArrivalsCount) {
  for (const NamedArrival which : {NamedArrival::right, NamedArrival::reader_first}) {
    GuardedArray in(NAMED_ELEMENTS, 1.0F);
    GuardedArray out(NAMED_ELEMENTS, 0.0F);
    simt::Counting counting(
        {{simt::input("IN", in.data(), NAMED_ELEMENTS)}, {simt::in_out("OUT", out.data(), NAMED_ELEMENTS)}},
        [](std::size_t, unsigned) { return std::size_t{32768}; });
    hand_over_watched(which, in.data(), out.data());
    const simt::LaunchCounts counts = std::move(counting.take().front());
    EXPECT_EQ(of(counts, AccessKind::shared_load), (Traffic{NAMED_ROUNDS, 0, NAMED_ROUNDS, NAMED_ROUNDS, 512}));
    EXPECT_EQ(of(counts, AccessKind::shared_store), (Traffic{NAMED_ROUNDS, 0, NAMED_ROUNDS, NAMED_ROUNDS, 512}));
    EXPECT_EQ(counts.barriers, 4U * NAMED_ROUNDS - 2U);
  }
}

}  // namespace
}  // namespace simt::test
