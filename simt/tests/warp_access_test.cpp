// The cost of a warp's accesses, on patterns worked out by hand and counted by an H200 (Nsight Compute).

#include "simt/warp_access.hpp"
#include "simt/gpu_models.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string_view>

namespace simt::test {
namespace {

using simt::SharedOperation;
using simt::WarpAccess;
using simt::Wavefronts;

constexpr unsigned HALF = 0x0000ffff;

/// Lane l accesses so many bytes at `bytes` * slot_of(l).
template <class SlotOf>
WarpAccess access_of(unsigned bytes, SlotOf slot_of, std::uint32_t active = ~0U) {
  WarpAccess access{active, bytes, {}};
  for (unsigned lane = 0; lane < 32; ++lane) {
    access.address[lane] = std::uint64_t{bytes} * slot_of(lane);
  }
  return access;
}

WarpAccess strided(unsigned bytes, unsigned stride, std::uint32_t active = ~0U) {
  return access_of(
      bytes, [=](unsigned lane) { return lane * stride; }, active);
}

unsigned loads(const WarpAccess& access) { return shared_wavefronts(access, SharedOperation::load).taken; }
unsigned stores(const WarpAccess& access) { return shared_wavefronts(access, SharedOperation::store).taken; }

TEST(WarpAccess, Sectors) {
  EXPECT_EQ(sectors(strided(4, 0)), 1);
  EXPECT_EQ(sectors(strided(4, 1)), 4);
  EXPECT_EQ(sectors(strided(16, 1)), 16);
  EXPECT_EQ(sectors(strided(4, 4096)), 32);
  EXPECT_EQ(sectors(access_of(4, [](unsigned lane) { return lane + 1; })), 5);
  EXPECT_EQ(sectors(strided(4, 1, HALF)), 2);
  EXPECT_EQ(sectors(strided(4, 1, 0)), 0);
  EXPECT_EQ(sectors(strided(1, 1)), 1);
}

TEST(WarpAccess, WordsOfABankTakeTurns) {
  EXPECT_EQ(loads(strided(4, 1)), 1);
  EXPECT_EQ(loads(strided(4, 2)), 2);
  EXPECT_EQ(loads(strided(4, 8)), 8);
  EXPECT_EQ(loads(strided(4, 32)), 32);
  EXPECT_EQ(loads(strided(4, 33)), 1);
  EXPECT_EQ(stores(strided(4, 32)), 32);
  EXPECT_EQ(loads(strided(4, 32, HALF)), 16);
  EXPECT_EQ(loads(strided(4, 32, 0)), 0);
}

TEST(WarpAccess, LanesShareAWord) {
  EXPECT_EQ(loads(strided(4, 0)), 1);
  EXPECT_EQ(stores(strided(4, 0)), 1);
  EXPECT_EQ(loads(access_of(4, [](unsigned lane) { return lane / 8 * 32; })), 4) << "four words of one bank";
  EXPECT_EQ(loads(strided(1, 1)), 1);
  EXPECT_EQ(loads(strided(2, 1)), 1);
}

TEST(WarpAccess, WideAccessesGoByHalvesAndQuarters) {
  EXPECT_EQ(loads(strided(8, 1)), 2);
  EXPECT_EQ(loads(strided(16, 1)), 4);
  EXPECT_EQ(stores(strided(16, 1)), 4);
  EXPECT_EQ(loads(strided(16, 2)), 8);
  EXPECT_EQ(loads(strided(16, 1, HALF)), 2);
  EXPECT_EQ(loads(strided(16, 1, 1U << 31U)), 1);
  // The first four lanes of each quarter lie in the banks of its last four.
  EXPECT_EQ(loads(access_of(16, [](unsigned lane) { return lane % 4 + lane / 4 * 8; })), 8);
}

TEST(WarpAccess, PairsHalveWideLoads) {
  EXPECT_EQ(loads(access_of(16, [](unsigned lane) { return lane / 2; })), 2);
  EXPECT_EQ(loads(access_of(16, [](unsigned lane) { return lane / 4 * 2 + lane % 2; })), 2) << "lanes two apart";
  EXPECT_EQ(loads(access_of(8, [](unsigned lane) { return lane / 2; })), 1);
  EXPECT_EQ(loads(strided(16, 0)), 2);
  EXPECT_EQ(loads(access_of(16, [](unsigned lane) { return lane / 2 % 4; })), 2) << "quarters share them";
  // Not where other lanes are paired, or all but one, or for stores.
  EXPECT_EQ(loads(access_of(16, [](unsigned lane) { return lane / 8 * 4 + lane % 4; })), 4) << "lanes four apart";
  EXPECT_EQ(loads(access_of(16, [](unsigned lane) { return lane % 16; })), 4);
  EXPECT_EQ(loads(access_of(16, [](unsigned lane) { return lane == 0 ? 40 : lane / 2; })), 5);
  EXPECT_EQ(stores(access_of(16, [](unsigned lane) { return lane / 2; })), 4);
  // A lane whose partner does nothing is as good as paired.
  EXPECT_EQ(loads(access_of(
                16, [](unsigned lane) { return lane / 2; }, 0x55555555)),
            2);
}

TEST(WarpAccess, ConflictsAreWhatExceedsTheIdeal) {
  const Wavefronts contiguous = shared_wavefronts(strided(16, 1), SharedOperation::load);
  EXPECT_EQ(contiguous.taken, contiguous.ideal);
  const Wavefronts strided_by_2 = shared_wavefronts(strided(8, 2), SharedOperation::load);
  EXPECT_EQ(strided_by_2.taken - strided_by_2.ideal, 2);
  EXPECT_EQ(shared_wavefronts(strided(4, 16), SharedOperation::store).ideal, 1);
  EXPECT_EQ(shared_wavefronts(strided(16, 0), SharedOperation::load).ideal, 2);
}

TEST(WarpAccess, CopiesWaitForBothSides) {
  const WarpAccess contiguous = strided(4, 1);
  const WarpAccess two_rows = access_of(4, [](unsigned lane) { return lane % 16 + lane / 16 * 4096; });
  const WarpAccess transposed = access_of(4, [](unsigned lane) { return lane % 16 * 132 + lane / 16; });
  EXPECT_EQ(copy_wavefronts(contiguous, contiguous).taken, 1);
  EXPECT_EQ(copy_wavefronts(two_rows, contiguous).taken, 2) << "the same banks of two lines";
  EXPECT_EQ(copy_wavefronts(contiguous, transposed).taken, 2);
  EXPECT_EQ(copy_wavefronts(two_rows, transposed).taken, 3) << "warp tiles, A";
  EXPECT_EQ(copy_wavefronts(two_rows, transposed).ideal, 1);
  EXPECT_EQ(copy_wavefronts(contiguous, strided(4, 32)).taken, 32);
  EXPECT_EQ(copy_wavefronts(strided(4, 32), contiguous).taken, 32);
  EXPECT_EQ(copy_wavefronts(strided(4, 8), contiguous).taken, 8);
  EXPECT_EQ(copy_wavefronts(strided(8, 1), strided(8, 1)).taken, 2);
  EXPECT_EQ(copy_wavefronts(strided(8, 1), strided(8, 2)).taken, 4);
  EXPECT_EQ(copy_wavefronts(strided(8, 2), strided(8, 33)).ideal, 2);
  EXPECT_EQ(copy_wavefronts(strided(4, 32, 0), contiguous).taken, 1) << "zeros come from nowhere";
  EXPECT_EQ(copy_wavefronts(contiguous, strided(4, 1, 0)).taken, 0);
}

TEST(WarpAccess, CopiesOf16BytesGoLineByLine) {
  const WarpAccess contiguous = strided(16, 1);
  const WarpAccess next = access_of(16, [](unsigned lane) { return lane + 1; });
  EXPECT_EQ(copy_wavefronts(contiguous, contiguous).taken, 4);
  EXPECT_EQ(copy_wavefronts(contiguous, contiguous).ideal, 4);
  EXPECT_EQ(copy_wavefronts(next, contiguous).taken, 12);
  EXPECT_EQ(copy_wavefronts(contiguous, strided(16, 2)).taken, 32);
  EXPECT_EQ(copy_wavefronts(contiguous, strided(16, 3)).taken, 24);
  EXPECT_EQ(copy_wavefronts(contiguous, strided(16, 33)).taken, 32);
  const auto rows_of_16 = [](unsigned lane) { return lane % 16 + lane / 16 * 64; };
  EXPECT_EQ(copy_wavefronts(access_of(16, rows_of_16), access_of(16, rows_of_16)).taken, 4) << "warp tiles, B";
  for (const unsigned first : {0U, 64U}) {
    const WarpAccess every_second = access_of(
        16, [&](unsigned lane) { return first + lane; }, 0x55555555);
    EXPECT_EQ(copy_wavefronts(every_second, contiguous).taken, 8) << "zeros come from no line, wherever the others do";
  }
}

TEST(GpuModels, AreFoundByTheirIds) {
  std::set<std::string_view> ids;
  for (const simt::GpuModel& gpu : simt::gpu_models()) {
    EXPECT_EQ(simt::find_gpu_model(gpu.id), &gpu);
    EXPECT_GT(gpu.sms, 0) << gpu.id;
    EXPECT_GT(gpu.l2_bytes, 0) << gpu.id;
    EXPECT_GT(gpu.l2_partitions, 0) << gpu.id;
    EXPECT_GE(gpu.threads_per_sm, 1024) << gpu.id;
    EXPECT_LT(gpu.smem_per_sm, gpu.l1_bytes) << gpu.id;
    ids.insert(gpu.id);
  }
  EXPECT_EQ(ids.size(), simt::gpu_models().size());
  EXPECT_EQ(simt::find_gpu_model("h200")->sms, 132);
  EXPECT_EQ(simt::find_gpu_model("H200"), nullptr);
}

}  // namespace
}  // namespace simt::test
