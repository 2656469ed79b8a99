#pragma once

// Three FP16 products that keep small numbers (sm_90a), second half: the products of line terms (line_terms.cuh).
//
// A tile of C begins with the residuals. Those of A and of B meet where both have a flag. Then come the residuals of A
// and the terms of B, the terms of A and the residuals of B, and at last the terms of both, in which most tiles of C
// begin. The scaling of a residual tile says 2^-36, so that the main loop of all terms sees that the accumulators have
// to shrink between. The scales of lines are undone once, at the end.

#include "common/target.hpp"
#include "engine/int8_operands.cuh"
#include "engine/line_terms.cuh"
#include "engine/product_policy.cuh"
#include "engine/progress_window.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_terms.cuh"
#include "engine/stream_k.cuh"
#include "engine/terms_loop.cuh"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

/// For each stage of the ring of A, how many k-tiles of operands the segment takes that begins there.
using StepsAtStage = int[LineTerms::Split::A_STAGES];
__device__ __forceinline__ StepsAtStage& steps_at_stage() {
  __shared__ StepsAtStage steps;
  return steps;
}

/// The flags of a segment's operand tiles, word by word.
class SegmentFlags {
 public:
  __device__ __forceinline__ SegmentFlags(const LineTerms& lines, const Tile& tile, const Segment& segment)
      : a_(lines.flags(tile.a)),
        b_{lines.flags(lines.a_tiles() + tile.b), lines.flags(lines.a_tiles() + tile.b + tile.b_tiles - 1)},
        first_(segment.first),
        end_(segment.first + segment.count) {}

  __device__ int first_word() const { return first_ / 32; }
  __device__ int end_word() const { return (end_ + 31) / 32; }
  __device__ __forceinline__ unsigned of_a(int word) const { return a_[word] & within(word); }
  __device__ __forceinline__ unsigned of_b(int b_tile, int word) const { return b_[b_tile][word] & within(word); }
  __device__ __forceinline__ unsigned of_b(int word) const { return of_b(0, word) | of_b(1, word); }
  /// K-tiles of operands that hold residuals.
  __device__ __forceinline__ int residual_steps() const {
    int steps = 0;
    for (int word = first_word(); word < end_word(); ++word) {
      steps += __popc(of_a(word) & of_b(word)) + __popc(of_a(word)) + __popc(of_b(word));
    }
    return steps;
  }

 private:
  __device__ __forceinline__ unsigned within(int word) const {
    const int before = first_ - word * 32;
    const int behind = word * 32 + 32 - end_;
    return (before > 0 ? ~0U << static_cast<unsigned>(before) : ~0U) &
           (behind > 0 ? ~0U >> static_cast<unsigned>(behind) : ~0U);
  }

  const unsigned* a_;
  const unsigned* b_[2];
  int first_;
  int end_;
};

/// Copies the residuals of a segment, and the terms that they meet.
__device__ __forceinline__ void copy_residuals(const LineTerms& lines, const SegmentFlags& flags, const Tile& tile,
                                               Rings<LineTerms::Split>& rings) {
  using Split = LineTerms::Split;
  const std::int64_t a_first = static_cast<std::int64_t>(tile.a) * lines.k_tiles();
  const std::int64_t b_first = static_cast<std::int64_t>(lines.a_tiles() + tile.b) * lines.k_tiles();
#pragma unroll 1
  for (int pass = 0; pass < 3; ++pass) {  // residuals of both, of A, of B
#pragma unroll 1
    for (int word = flags.first_word(); word < flags.end_word(); ++word) {
      const unsigned a = flags.of_a(word);
      const unsigned b = flags.of_b(word);
#pragma unroll 1
      for (unsigned bits = pass == 0 ? a & b : pass == 1 ? a : b; bits != 0; bits &= bits - 1) {
        const int bit = __ffs(static_cast<int>(bits)) - 1;
        const std::int64_t at_a = a_first + word * 32 + bit;
        copy_tile<Split>(rings.a, lines, pass == 2 ? at_a : *lines.residual(at_a));
        for (int b_tile = 0; b_tile < tile.b_tiles; ++b_tile) {
          const std::int64_t at_b = b_first + std::int64_t{b_tile} * lines.k_tiles() + word * 32 + bit;
          const bool has_flag = (flags.of_b(b_tile, word) >> static_cast<unsigned>(bit) & 1U) != 0;
          copy_tile<Split>(rings.b, lines, pass == 1 ? at_b : has_flag ? *lines.residual(at_b) : lines.zeros());
        }
      }
    }
  }
}

/// The producer thread, as that of other operand tiles.
struct LinesProducer {
  template <class Policy>
  __device__ __forceinline__ static void produce(const typename Policy::Problem& p, const Schedule& schedule,
                                                 const LineTerms& lines, Rings<typename Policy::Shape::Split> rings) {
    using Split = LineTerms::Split;
    Work work(schedule);
    ProgressWindow window(schedule, Policy::FEWEST_ROUNDS_IN_WINDOW, lines.progress());
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      const Tile tile = Policy::tile_at(p, segment.tile);
      const SegmentFlags flags(lines, tile, segment);
      const int residual_steps = flags.residual_steps();
      rings.a.wait_until_empty();
      steps_at_stage()[rings.a.stage()] = residual_steps + segment.count;
      if (residual_steps > 0) {
        copy_residuals(lines, flags, tile, rings);
      }
      const std::int64_t a_first = static_cast<std::int64_t>(tile.a) * lines.k_tiles();
      const std::int64_t b_first = static_cast<std::int64_t>(lines.a_tiles() + tile.b) * lines.k_tiles();
      const bool whole = segment.tile < schedule.whole;
      for (int k_tile = segment.first; k_tile < segment.first + segment.count; ++k_tile) {
        if (whole) {
          window.advance();
        }
        copy_tile<Split>(rings.a, lines, a_first + k_tile);
        for (int b_tile = 0; b_tile < tile.b_tiles; ++b_tile) {
          copy_tile<Split>(rings.b, lines, b_first + std::int64_t{b_tile} * lines.k_tiles() + k_tile);
        }
      }
    }
  }
};

struct LinesLoop {
  using Split = LineTerms::Split;

  /// Undoes the scales of lines in a thread's sums. `rows` and `columns` are the codes from its first element on.
  __device__ __forceinline__ static void undo(const unsigned char* rows, const unsigned char* columns,
                                              float (&sums)[64]) {
    const int row_codes[2] = {rows[0], rows[8]};
    const float row_factors[2] = {LineTerms::undoing(row_codes[0]), LineTerms::undoing(row_codes[1])};
    uchar2 column_codes[16];
    float column_factors[32];
    float smallest = INFINITY;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      column_codes[i] = *reinterpret_cast<const uchar2*>(columns + 8 * i);
      column_factors[2 * i] = LineTerms::undoing(column_codes[i].x);
      column_factors[2 * i + 1] = LineTerms::undoing(column_codes[i].y);
      smallest = fminf(smallest, fminf(column_factors[2 * i], column_factors[2 * i + 1]));
    }
    if (smallest * fminf(row_factors[0], row_factors[1]) >= 0x1p-126F) {
#pragma unroll
      for (int i = 0; i < 64; ++i) {
        sums[i] *= row_factors[i / 2 % 2] * column_factors[i / 4 * 2 + i % 2];
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      const int row = row_codes[i / 2 % 2];
      const int column = i % 2 == 0 ? column_codes[i / 4].x : column_codes[i / 4].y;
      const bool scalable = row != int8::UNSCALABLE_LINE && column != int8::UNSCALABLE_LINE;
      sums[i] = scalable ? scaled(sums[i], LineTerms::undoing(row, column)) : NAN;
    }
  }

  /// A consumer warpgroup, as that of other terms.
  template <class Policy>
  __device__ __forceinline__ static void consume(const typename Policy::Problem& p, const Schedule& schedule,
                                                 const LineTerms& lines, Rings<Split> rings) {
    constexpr int B_TILES = Policy::Shape::B_TILES;
    Work work(schedule);
#pragma unroll 1
    while (!work.done(schedule)) {
      const Segment segment = work.next(schedule);
      Accumulators<B_TILES> accumulators;
      rings.a.wait_until_full();
      const TilePlace tile = TermsLoop<Split>::multiply(steps_at_stage()[rings.a.stage()], rings, accumulators);
#pragma unroll
      for (int b_tile = 0; b_tile < B_TILES; ++b_tile) {
        if (tile.b + b_tile < lines.b_tiles()) {
          undo(lines.codes(tile.a) + first_row(threadIdx.x),
               lines.codes(lines.a_tiles() + tile.b + b_tile) + first_column(threadIdx.x), accumulators.values[b_tile]);
        }
      }
      finish<Policy>(p, schedule, segment, tile, accumulators.values);
    }
  }
};

}  // namespace sgemm::SGEMM_TARGET::split_product
