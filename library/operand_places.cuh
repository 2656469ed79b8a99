#pragma once

// Operand tiles of A and of B that may lie apart: those of a packed operand (packed.hpp) stay where they are, and a
// call splits the other one into its workspace.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "engine/split_operands.cuh"

#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

/// Where the operand tiles of one operand are, and their scalings.
struct OperandPlace {
  unsigned char* terms = nullptr;
  unsigned char* scalings = nullptr;
};

/// Where those of both operands are, and the word for the progress of blocks. All lie in the GPU's memory, and the host
/// says where.
struct OperandPlaces {
  OperandPlace a;
  OperandPlace b;
  unsigned* progress = nullptr;
};

/// A number of operand tiles with their scalings behind them, as a Workspace has them.
template <class Split>
OperandPlace place_of(const void* memory, std::int64_t tiles) {
  auto* const terms = static_cast<unsigned char*>(const_cast<void*>(memory));
  return {terms, terms + tiles * OperandTile<Split>::BYTES};
}

/// The places of a call. `packed_a` and `packed_b` are the operand tiles of packed operands. The others are in
/// `memory`, which is the Workspace of a problem without the packed ones.
template <class Split>
OperandPlaces places_of(const Problem& p, const void* packed_a, const void* packed_b, void* memory) {
  const std::int64_t k_tiles = k_tiles_of<Split>(p);
  const std::int64_t a_tiles = tiles_along(p.m) * k_tiles;
  const std::int64_t b_tiles = tiles_along(p.n) * k_tiles;
  const std::int64_t split_a_tiles = packed_a == nullptr ? a_tiles : 0;
  const std::int64_t split_tiles = split_a_tiles + (packed_b == nullptr ? b_tiles : 0);
  const OperandPlace split = place_of<Split>(memory, split_tiles);
  OperandPlaces places;
  places.a = packed_a == nullptr ? split : place_of<Split>(packed_a, a_tiles);
  places.b = packed_b == nullptr ? OperandPlace{split.terms + split_a_tiles * OperandTile<Split>::BYTES,
                                                split.scalings + split_a_tiles * SCALING_BYTES}
                                 : place_of<Split>(packed_b, b_tiles);
  places.progress = reinterpret_cast<unsigned*>(split.scalings + split_tiles * SCALING_BYTES);
  return places;
}

/// A Workspace for kernels that multiply, whose operands may lie apart.
template <class Split>
class PlacedOperands {
 public:
  __device__ __forceinline__ PlacedOperands(const Problem& p, const OperandPlaces& places)
      : k_tiles_(static_cast<int>(k_tiles_of<Split>(p))),
        a_tiles_(static_cast<int>(tiles_along(p.m))),
        of_a_(static_cast<std::int64_t>(a_tiles_) * k_tiles_),
        places_(places) {}

  __device__ int k_tiles() const { return k_tiles_; }
  __device__ int a_tiles() const { return a_tiles_; }
  __device__ const unsigned char* terms(std::int64_t tile) const {
    return tile < of_a_ ? places_.a.terms + tile * OperandTile<Split>::BYTES
                        : places_.b.terms + (tile - of_a_) * OperandTile<Split>::BYTES;
  }
  __device__ const Scaling* scaling(std::int64_t tile) const {
    return tile < of_a_ ? reinterpret_cast<const Scaling*>(places_.a.scalings) + tile
                        : reinterpret_cast<const Scaling*>(places_.b.scalings) + (tile - of_a_);
  }
  __device__ unsigned* progress() const { return places_.progress; }

 private:
  int k_tiles_;
  int a_tiles_;
  std::int64_t of_a_;  ///< operand tiles
  OperandPlaces places_;
};

}  // namespace sgemm::SGEMM_TARGET::split_product
