#pragma once

// Three FP16 products that keep small numbers (sm_90a), first half: kernels write the terms of A and B.
//
// Each line, a row of A or a column of B, is multiplied by a power of two that brings its largest number to at most
// FP16's 65504, and to half of it at least, and each number becomes x1 + x2 + r with two FP16 terms and a rest. |r| is
// at most 2^-23 |x| or 2^-25. It is dropped where it is at most LIMIT |x|. An operand tile with other rests gets a
// flag, and a second tile: the residuals 2^RESIDUAL r in two terms. Numbers below SMALL are all residual, so that terms
// and residual never cancel. Those from SMALLEST on keep 2^-19 of themselves that way. Where many tiles have flags,
// where a number lies below SMALLEST, or where samples show the like, the product takes six BF16 products instead.
// Kernels decide that by themselves.
//
// The bound: docs/library.md#the-bound-of-componentwise.

#include "common/problem.hpp"
#include "common/target.hpp"
#include "engine/int8_operands.cuh"
#include "engine/progress_window.cuh"
#include "engine/split_configurations.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_terms.cuh"
#include "ptx/griddepcontrol.cuh"

#include <cuda_runtime.h>

#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product {

/// From how many steps with residuals on, for each step without them, six products are faster.
struct MostResiduals {
  float when_sampled = 0.0F;  ///< before lines are split
  float when_split = 0.0F;
  int b_tiles = 1;  ///< in a tile of C
};

/// The operand tiles of both matrices and what is known of them, in memory that may hold anything before. Behind the
/// tiles of A and of B come a tile of zeros, and then the residual tiles.
class LineTerms {
 public:
  using Split = Fp16x3Lines;
  using Tile = OperandTile<Split>;
  static constexpr int GROUP = split_product::GROUP;
  static constexpr int GROUPS_PER_THREAD = 8;
  static constexpr bool FOLLOWS_A_KERNEL = true;

  /// All places are computed on the host, so that kernels have them as parameters and not in registers.
  LineTerms(const Problem& p, void* memory, const MostResiduals& most = {})
      : most_(most),
        k_tiles_(static_cast<int>(k_tiles_of<Split>(p))),
        words_((k_tiles_ + WORD - 1) / WORD),
        a_tiles_(static_cast<int>(tiles_along(p.m))),
        b_tiles_(static_cast<int>(tiles_along(p.n))),
        count_(static_cast<std::int64_t>(a_tiles_ + b_tiles_) * k_tiles_) {
    auto* at = static_cast<unsigned char*>(memory);
    const auto take = [&](std::size_t bytes) {
      unsigned char* const from = at;
      at += (bytes + 127) / 128 * 128;
      return from;
    };
    const auto tiles = static_cast<std::size_t>(count_ + 1 + most_residuals());
    state_ = reinterpret_cast<State*>(take(sizeof(State)));
    flags_ = reinterpret_cast<unsigned*>(take(static_cast<std::size_t>(all_words()) * sizeof(unsigned)));
    residuals_ = reinterpret_cast<int*>(take(static_cast<std::size_t>(count_) * sizeof(int)));
    scalings_ = reinterpret_cast<Scaling*>(take(tiles * SCALING_BYTES));
    const std::size_t six_bytes = Workspace<Bf16x6>(p, nullptr).bytes();
    terms_ = take(tiles * Tile::BYTES > six_bytes ? tiles * Tile::BYTES : six_bytes);
    bytes_ = static_cast<std::size_t>(at - static_cast<unsigned char*>(memory));
  }

  __device__ int k_tiles() const { return k_tiles_; }
  __device__ int a_tiles() const { return a_tiles_; }
  __device__ int b_tiles() const { return b_tiles_; }
  std::size_t bytes() const { return bytes_; }
  /// Where the operand tiles of six BF16 products are. They replace all others.
  Workspace<Bf16x6> six(const Problem& p) const { return {p, terms_}; }

  __device__ unsigned char* terms(std::int64_t tile) const { return terms_ + tile * Tile::BYTES; }
  __device__ Scaling* scaling(std::int64_t tile) const { return scalings_ + tile; }
  __device__ unsigned* progress() const { return &state_->progress; }
  /// Words of flags: a bit for each k-tile of a panel, which is TILE_ROWS rows of A or, behind those, columns of B.
  __device__ unsigned* flags(int panel) const { return flags_ + static_cast<std::int64_t>(panel) * words_; }
  __device__ std::int64_t zeros() const { return count_; }
  /// The number of the residual tile of an operand tile that has a flag.
  __device__ int* residual(std::int64_t tile) const { return residuals_ + tile; }
  /// The scales of the lines of a panel.
  __device__ const unsigned char* codes(int panel) const { return scaling(std::int64_t{panel} * k_tiles_)->rows; }

  /// Whether the product is one of six BF16 products. It is known when all lines are split.
  __device__ bool takes_six() const {
    const State& now = *state_;
    return now.six != 0 || now.flagged[0] + now.flagged[1] > most_residuals() ||
           residual_steps(part_of(now.flagged[0], a_tiles_), part_of(now.flagged[1], b_tiles_)) > most_.when_split;
  }

  // ---- The first kernel ----

  static constexpr int SAMPLES = 128;  ///< blocks

  /// Lowers all flags, and looks at pieces of lines of both operands, so that no time is lost for operands of which
  /// so many tiles would get a flag that six products are faster.
  __device__ __forceinline__ void prepare(const Operand& a, bool a_k_major, const Operand& b, bool b_k_major) const {
    __shared__ unsigned small_of_warp[SPLIT_WARPS];
    griddepcontrol_launch_dependents();
    const int thread = static_cast<int>(blockIdx.x) * SPLIT_THREADS + static_cast<int>(threadIdx.x);
#pragma unroll 1
    for (std::int64_t i = thread; i < all_words(); i += SAMPLES * SPLIT_THREADS) {
      flags_[i] = 0;
    }
    if (thread < Tile::BYTES / static_cast<int>(sizeof(uint4))) {
      reinterpret_cast<uint4*>(terms(zeros()))[thread] = uint4{0, 0, 0, 0};
    }
    if (thread == 0) {
      State& at_first = *state_;
      at_first.progress = at_first.residuals = at_first.six = at_first.flagged[0] = at_first.flagged[1] = 0;
      store_residual_scaling(zeros(), 0, 1);
    }
    const bool of_a = blockIdx.x < SAMPLES / 2;
    const unsigned piece = blockIdx.x % (SAMPLES / 2) * SPLIT_WARPS + threadIdx.x / WARP;
    const Operand& lines = of_a ? a : b;
    unsigned small = 0;
    if (of_a ? a_k_major : b_k_major) {
      small = small_in_pieces<1>(lines, 1, lines.stride, piece);
    } else if (piece % NEIGHBOURS == 0) {
      small = small_in_pieces<NEIGHBOURS>(lines, lines.stride, 1, piece);
    }
    if (threadIdx.x % WARP == 0) {
      small_of_warp[threadIdx.x / WARP] = small;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      unsigned all = 0;
      for (const unsigned of_warp : small_of_warp) {
        all += of_warp;
      }
      state_->small[blockIdx.x] = all;
    }
  }

  // ---- The second kernel, which splits whole lines: int8::split_whole_lines() ----

  /// Whether lines are to be split.
  __device__ __forceinline__ bool begin() const {
    griddepcontrol_wait();
    unsigned small[2] = {};  // numbers of A and of B
#pragma unroll
    for (int i = 0; i < SAMPLES; i += WARP) {
      small[2 * i / SAMPLES] += state_->small[i + static_cast<int>(threadIdx.x) % WARP];
    }
    float flagged[2];
#pragma unroll
    for (int operand = 0; operand < 2; ++operand) {
#pragma unroll
      for (int lanes = 1; lanes < WARP; lanes *= 2) {
        small[operand] += __shfl_xor_sync(~0U, small[operand], lanes);
      }
      // Of tiles in which as many of the numbers are small, wherever they lie.
      constexpr float TILES = SAMPLES / 2 * SPLIT_WARPS * WARP * NUMBERS_OF_LANE / (TILE_ROWS * BK);
      flagged[operand] = 1.0F - expf(-static_cast<float>(small[operand]) / TILES);
    }
    const bool six = residual_steps(flagged[0], flagged[1]) > most_.when_sampled;
    if (six && blockIdx.x == 0 && threadIdx.x == 0) {
      state_->six = 1;
    }
    return !six;
  }

  /// The code of a line whose largest magnitude has these bits. It is multiplied by 2^(CODE_EXPONENT - code).
  __device__ __forceinline__ static int code_of(unsigned largest) {
    constexpr unsigned BEYOND = 0x1FFF;  // of numbers that would be larger than 65504, to the next power of two
    const unsigned exponent = (largest + BEYOND) >> MANTISSA_BITS;
    return largest == 0                     ? int8::CODE_OF_ZEROS
           : exponent == 0                  ? 1
           : exponent <= int8::LARGEST_CODE ? static_cast<int>(exponent)
                                            : int8::UNSCALABLE_LINE;  // also for Inf and NaN
  }

  /// Splits a group of a panel's line. Raises the flag of its operand tile where two terms are not enough.
  __device__ __forceinline__ void split(const float (&x)[GROUP], int code, int panel, int k_tile,
                                        uint4 (&terms)[Split::TERMS]) const {
    float numbers[GROUP];
    float rests[GROUP];
    scale(x, code, numbers);
    split_scaled(numbers, terms, rests);
    if (may_matter(numbers) && any_matters(numbers, rests)) {
      bool lost = false;
#pragma unroll
      for (float& number : numbers) {
        const float magnitude = fabsf(number);
        lost = lost || (magnitude < SMALLEST && magnitude > 0.0F);
        number = magnitude < SMALL ? 0.0F : number;
      }
      split_scaled(numbers, terms, rests);
      raise_flag(panel, k_tile, lost);
    }
  }

  // ---- The third kernel ----

  /// Writes the residual tiles of flagged operand tiles. The block takes so many flags at a time.
  template <class LoadA, class LoadB>
  __device__ __forceinline__ void split_residuals(const Problem& p, const int8::LineReader<LoadA>& reader_a,
                                                  const int8::LineReader<LoadB>& reader_b) const {
    constexpr int FLAGS = 4;
    __shared__ int slot;
#pragma unroll 1
    for (std::int64_t part = blockIdx.x; part < all_words() * (WORD / FLAGS); part += gridDim.x) {
      const auto word = static_cast<int>(part / (WORD / FLAGS));
      const int first = static_cast<int>(part % (WORD / FLAGS)) * FLAGS;
      const int panel = word / words_;
      const bool of_a = panel < a_tiles_;
      const int tile = of_a ? panel : panel - a_tiles_;
#pragma unroll 1
      for (unsigned bits = flags_[word] >> static_cast<unsigned>(first) & ((1U << FLAGS) - 1); bits != 0;
           bits &= bits - 1) {
        const int k_tile = word % words_ * WORD + first + __ffs(static_cast<int>(bits)) - 1;
        __syncthreads();  // all have read the slot before
        if (threadIdx.x == 0) {
          slot = static_cast<int>(zeros() + 1 + atomicAdd(&state_->residuals, 1U));
          *residual(std::int64_t{panel} * k_tiles_ + k_tile) = slot;
          store_residual_scaling(slot, tile, tile + 1 < tiles_along(of_a ? p.m : p.n) ? 1 : 0);
        }
        __syncthreads();
        if (of_a) {
          split_residual_tile(reader_a, tile, k_tile, codes(panel), terms(slot));
        } else {
          split_residual_tile(reader_b, tile, k_tile, codes(panel), terms(slot));
        }
      }
    }
  }

 private:
  /// What kernels tell those that follow.
  struct State {
    unsigned progress;        ///< of blocks that multiply
    unsigned residuals;       ///< residual tiles that are taken
    unsigned six;             ///< 1: six BF16 products
    unsigned flagged[2];      ///< operand tiles of A and of B that have flags
    unsigned small[SAMPLES];  ///< numbers in pieces of lines that may give a tile a flag
    unsigned unused[3];
  };
  static_assert(sizeof(State) % 16 == 0);

  static constexpr int WORD = 32;
  static constexpr int CODE_EXPONENT = EXPONENT_BIAS + 15;
  static constexpr float LIMIT = 0x1p-19F;
  static constexpr unsigned FREE_OF_RESTS = static_cast<unsigned>(EXPONENT_BIAS - 6) << MANTISSA_BITS;  // 2^-25 / LIMIT
  static constexpr int RESIDUAL = 36;
  static constexpr float SMALL = 0x1p-22F;
  static constexpr float SMALLEST = 0x1p-42F;
  /// As many of the pieces' numbers are below this part of the largest one as give a tile a flag: half of them are too
  /// large for one, and lines have larger numbers than pieces.
  static constexpr float SMALL_IN_PIECE = 0x1p-21F;
  static constexpr int NUMBERS_OF_LANE = 8;  ///< of a piece
  /// Where lines do not lie along k, a warp takes the pieces of so many of them: numbers of one alone would cost a
  /// sector of 32 bytes each.
  static constexpr int NEIGHBOURS = 4;

  SGEMM_HOST_DEVICE std::int64_t all_words() const { return std::int64_t{a_tiles_ + b_tiles_} * words_; }
  SGEMM_HOST_DEVICE std::int64_t most_residuals() const { return count_ / 2; }

  __device__ float part_of(unsigned flags, int panels) const {
    return static_cast<float>(flags) / (static_cast<float>(panels) * static_cast<float>(k_tiles_));
  }
  /// How many steps with residuals a step without them has, where such parts of the tiles of A and of B have flags.
  __device__ float residual_steps(float of_a, float of_b) const {
    const float of_both_tiles = most_.b_tiles == 1 ? of_b : of_b * (2.0F - of_b);
    return of_a + of_both_tiles + of_a * of_both_tiles;
  }

  __device__ __forceinline__ void store_residual_scaling(std::int64_t tile, int number, int has_next) const {
    Scaling& of_tile = *scaling(tile);
    of_tile.exponent = of_tile.uniform = -RESIDUAL;
    of_tile.tile = number;
    of_tile.has_next = has_next;
  }

  /// How many numbers of pieces of LINES neighbouring lines lie far below the largest one of their piece. The pieces
  /// lie all over the operand. The code is short, since it comes from memory and runs once, but for the loads, which
  /// are all under way at a time.
  template <int LINES>
  __device__ __forceinline__ static unsigned small_in_pieces(const Operand& lines, std::int64_t k_step,
                                                             std::int64_t line_step, unsigned piece) {
    constexpr int PIECES = SAMPLES / 2 * SPLIT_WARPS;
    const std::int64_t line = piece * lines.count / PIECES;
    const std::int64_t room = lines.depth - NUMBERS_OF_LANE * WARP;
    const std::int64_t first_k =
        room > 0 ? piece * 2654435761U % static_cast<unsigned>(room < INT_MAX ? room : INT_MAX) : 0;
    const float* const from = lines.data + line * line_step;
    float x[LINES][NUMBERS_OF_LANE];
#pragma unroll
    for (int i = 0; i < NUMBERS_OF_LANE; ++i) {
      const std::int64_t k = first_k + i * WARP + static_cast<int>(threadIdx.x) % WARP;
#pragma unroll
      for (int j = 0; j < LINES; ++j) {
        x[j][i] = load_or_zero(from + k * k_step + j * line_step, line + j < lines.count && k < lines.depth);
      }
    }
    unsigned small = 0;
#pragma unroll
    for (const float(&of_line)[NUMBERS_OF_LANE] : x) {
      unsigned largest = 0;
#pragma unroll
      for (const float value : of_line) {
        largest = larger(largest, magnitude(value));
      }
#pragma unroll
      for (int lanes = 1; lanes < WARP; lanes *= 2) {
        largest = larger(largest, __shfl_xor_sync(~0U, largest, lanes));
      }
      const float limit = SMALL_IN_PIECE * __uint_as_float(largest);
#pragma unroll
      for (const float value : of_line) {
        small += value != 0.0F && fabsf(value) < limit ? 1 : 0;
      }
    }
#pragma unroll
    for (int lanes = 1; lanes < WARP; lanes *= 2) {
      small += __shfl_xor_sync(~0U, small, lanes);
    }
    return small;
  }

  /// Zeros, where a line has Inf or NaN.
  __device__ __forceinline__ static void scale(const float (&x)[GROUP], int code, float (&numbers)[GROUP]) {
    const int exponent = CODE_EXPONENT - code;
    const float first = code == int8::UNSCALABLE_LINE ? 0.0F : power_of_2(exponent / 2);
    const float second = power_of_2(exponent - exponent / 2);
#pragma unroll
    for (int i = 0; i < GROUP; ++i) {
      numbers[i] = first == 0.0F ? 0.0F : x[i] * first * second;
    }
  }

  /// Two terms of each number, and what they leave.
  __device__ __forceinline__ static void split_scaled(const float (&numbers)[GROUP], uint4 (&terms)[Split::TERMS],
                                                      float (&rests)[GROUP]) {
    unsigned pairs[GROUP / 2][Split::TERMS];
#pragma unroll
    for (int i = 0; i < GROUP / 2; ++i) {
      split_pair<Split::Format>(numbers[2 * i], numbers[2 * i + 1], pairs[i]);
      const float2 large = Split::Format::unpack(pairs[i][0]);
      const float2 little = Split::Format::unpack(pairs[i][1]);
      rests[2 * i] = numbers[2 * i] - large.x - little.x;
      rests[2 * i + 1] = numbers[2 * i + 1] - large.y - little.y;
    }
#pragma unroll
    for (int term = 0; term < Split::TERMS; ++term) {
      terms[term] = uint4{pairs[0][term], pairs[1][term], pairs[2][term], pairs[3][term]};
    }
  }

  __device__ __forceinline__ static bool matters(float number, float rest) {
    return fabsf(rest) > LIMIT * fabsf(number);
  }
  /// Whether numbers other than 0 are so small that their rests may be above LIMIT, in few instructions.
  __device__ __forceinline__ static bool may_matter(const float (&numbers)[GROUP]) {
    unsigned smallest = ~0U;
#pragma unroll
    for (const float number : numbers) {
      const unsigned zero_is_large = 2 * __float_as_uint(number) - 1;
      smallest = zero_is_large < smallest ? zero_is_large : smallest;
    }
    return smallest < 2 * FREE_OF_RESTS;
  }
  __device__ __forceinline__ static bool any_matters(const float (&numbers)[GROUP], const float (&rests)[GROUP]) {
    bool any = false;
#pragma unroll
    for (int i = 0; i < GROUP; ++i) {
      any = any || matters(numbers[i], rests[i]);
    }
    return any;
  }

  __device__ __forceinline__ void raise_flag(int panel, int k_tile, bool lost) const {
    unsigned* const word = flags(panel) + k_tile / WORD;
    const unsigned bit = 1U << static_cast<unsigned>(k_tile % WORD);
    if ((atomicOr(word, bit) & bit) == 0) {
      atomicAdd(&state_->flagged[panel < a_tiles_ ? 0 : 1], 1U);
    }
    if (lost) {
      atomicOr(&state_->six, 1U);
    }
  }

  template <class Load>
  __device__ __forceinline__ static void split_residual_tile(const int8::LineReader<Load>& reader, int tile, int k_tile,
                                                             const unsigned char* codes, unsigned char* to) {
    constexpr int OF_THREAD = TILE_ROWS * GROUPS / SPLIT_THREADS;
    const int thread = static_cast<int>(threadIdx.x);
    const int first_row = reader.k_major ? thread / GROUPS : thread % TILE_ROWS;
    const int first_group = reader.k_major ? thread % GROUPS : thread / TILE_ROWS;
    const int row_step = reader.k_major ? SPLIT_THREADS / GROUPS : 0;
    const int group_step = reader.k_major ? 0 : SPLIT_THREADS / TILE_ROWS;
    float x[OF_THREAD][GROUP];
#pragma unroll
    for (int i = 0; i < OF_THREAD; ++i) {
      reader.load(std::int64_t{tile} * TILE_ROWS + first_row + i * row_step, std::int64_t{k_tile} * BK,
                  first_group + i * group_step, x[i]);
    }
#pragma unroll
    for (int i = 0; i < OF_THREAD; ++i) {
      const int row = first_row + i * row_step;
      float numbers[GROUP];
      float rests[GROUP];
      uint4 terms[Split::TERMS];
      scale(x[i], codes[row], numbers);
      split_scaled(numbers, terms, rests);
      const bool any = any_matters(numbers, rests);
#pragma unroll
      for (int j = 0; j < GROUP; ++j) {
        const float rest = fabsf(numbers[j]) < SMALL ? numbers[j] : rests[j];
        numbers[j] = any && matters(numbers[j], rest) ? rest * power_of_2(RESIDUAL) : 0.0F;
      }
      split_scaled(numbers, terms, rests);
      store_terms(to, place_in_term(row, first_group + i * group_step), terms);
    }
  }

 public:
  /// The exponent of the power of two that undoes the scales of a row and a column.
  __device__ __forceinline__ static int undoing(int row_code, int column_code) {
    return row_code + column_code - 2 * CODE_EXPONENT;
  }
  /// The same of one line, which is Inf for a line with Inf or NaN: its elements of C are computed again.
  __device__ __forceinline__ static float undoing(int code) {
    return code == int8::UNSCALABLE_LINE ? INFINITY : power_of_2(code - CODE_EXPONENT);
  }

 private:
  MostResiduals most_;
  int k_tiles_;
  int words_;
  int a_tiles_;
  int b_tiles_;
  std::int64_t count_;
  State* state_;
  unsigned* flags_;
  int* residuals_;
  Scaling* scalings_;
  unsigned char* terms_;
  std::size_t bytes_;
};

}  // namespace sgemm::SGEMM_TARGET::split_product
