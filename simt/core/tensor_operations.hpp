#pragma once

#include "core/block_context.hpp"
#include "core/tensor_core.hpp"
#include "core/warp_barriers.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace simt {

/// Products of warps on tensor cores. mma.sync is complete at once; wgmma is under way until the thread waits for it.
class TensorOperations {
 public:
  TensorOperations(BlockContext& context, WarpBarriers& warp_barriers)
      : context_(context), warp_barriers_(warp_barriers), committed_(MAX_THREADS_PER_BLOCK) {}

  void begin();
  /// The block has ended. Fails if not all warps of a warpgroup did the same.
  void end() const;
  /// A lane's arguments of a wgmma.
  struct Given {
    MmaFormat format = MmaFormat::fp16;
    unsigned columns = 0;
    std::optional<unsigned> a;  ///< shared address; without it A lies in registers
    unsigned b = 0;
    bool accumulate = false;
    std::uint32_t group = 0;  ///< which wgmma() tells
    bool operator==(const Given&) const = default;
  };

  template <class T>
  std::array<T, 4> mma(MmaFormat format, const MmaExtents& extents, const MmaRegisters& operands,
                       const std::array<T, 4>& c, Site site);
  /// By the current thread, whose registers of D are `part`, and of A `registers`, or null.
  void wgmma(Given given, const unsigned* registers, void* part, Site site);
  void wgmma_commit() { ++committed_[context_.current()]; }
  void wgmma_wait(unsigned pending, void* part, Site site);

 private:
  /// A sum of products that wgmma has computed and not all lanes have waited for.
  struct Sum {
    unsigned lanes = 0;               ///< lanes that have not waited yet; if 0, the place is free for the next sum
    std::uint32_t group = 0;          ///< of the last wgmma, counted from 1
    std::array<void*, WARP> parts{};  ///< of each lane, its elements of D
    unsigned columns = 0;
    WgmmaSums rows;
  };

  struct Warp {
    std::array<MmaNumbers, WARP> numbers;
    std::array<Given, WARP> given{};
    std::array<void*, WARP> parts{};
    std::vector<Sum> sums;
    std::uint64_t all_given = 0;  ///< a hash of the arguments that all warps of a warpgroup have to agree in
  };

  /// Fails where the current thread's warp lacks lanes.
  void check_whole_warp(Site site) const;
  Warp& warp() { return warps_[context_.current() / WARP]; }
  unsigned lane() const { return context_.current() % WARP; }
  /// Tells the watcher of a product of the current thread's warp, to which each of its lanes comes.
  void tell_of_product(const MmaExtents& extents) const;
  /// Computes a product. All lanes of the warp have given their arguments.
  void multiply(Warp& warp, Site site);
  /// Tells the watcher what a product reads: `rows` rows (or columns) from the shared address `operand` on.
  void read(unsigned operand, unsigned rows, std::uint32_t group, Site site) const;
  /// The sum that the lanes' registers belong to.
  Sum& sum_of(Warp& warp, Site site) const;

  BlockContext& context_;
  WarpBarriers& warp_barriers_;
  std::vector<std::uint32_t> committed_;  ///< groups of wgmma, of each thread
  std::array<Warp, MAX_THREADS_PER_BLOCK / WARP> warps_;
};

}  // namespace simt
