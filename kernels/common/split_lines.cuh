#pragma once

// What chapters 13, 15 to 17 and 19 have in common. They split operands into terms of 16 or 8 bits: one scale for a
// whole line, which is a row of A or a column of B, and a power of two but in 19. The page of chapter 13 explains the
// steps.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "common/target.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace sgemm::SGEMM_TARGET {

/// 2^exponent, for exponents of normal floats.
__device__ __forceinline__ float power_of_2(int exponent) {
  return __uint_as_float(static_cast<unsigned>(exponent + 127) << 23U);
}

constexpr int TILE_LINES = 128;  // rows of A, or columns of B, that lie together in memory: an operand tile
constexpr int SPLIT_THREADS = 512;
constexpr int LINES = 8;                          // of a block: 32 bytes of each row of B
constexpr int SPLIT_BLOCKS = TILE_LINES / LINES;  // for each 128 lines

/// Some numbers of a line, which become 16 bytes of each term.
struct Group {
  int tile;    ///< of the line; those of B come after those of A
  int row;     ///< the line's number in it
  int k_tile;  ///< of Format::BK numbers
  int number;  ///< the group's among those of the line in the k-tile
  bool of_a;
};

/// The k-tiles of a line whose numbers are in the registers of a block at a time.
template <class Format>
constexpr int SPLIT_CHUNK = SPLIT_THREADS / LINES * 64 / Format::BK;
constexpr int KEPT_BYTES = SPLIT_THREADS * 64 * static_cast<int>(sizeof(float));

/// Splits eight lines in each of SPLIT_BLOCKS * (a_tiles + tiles of B) blocks. `kept` has KEPT_BYTES of shared memory,
/// or is null, which takes longer where lines are longer than SPLIT_CHUNK<Format> k-tiles. Format::scale_code(largest)
/// is the code of a line's scale, from the bits of its largest magnitude. Format::split(x, code, terms) makes four
/// words of each term of Format::GROUP numbers. store(group, code, terms) writes them.
template <class Format, class Store>
__device__ __forceinline__ void split_lines(const Problem& p, int a_tiles, int k_tiles, float* kept,
                                            const Store& store) {
  constexpr int GROUPS = Format::BK / Format::GROUP;        // of a line in a k-tile
  constexpr int OF_THREAD = 64 / Format::GROUP;             // groups that are in its registers at a time
  constexpr int STRIDE = SPLIT_THREADS / (LINES * GROUPS);  // k-tiles from one of them to the next
  constexpr int CHUNK = SPLIT_CHUNK<Format>;
  __shared__ unsigned maxima[LINES];
  const auto thread = static_cast<int>(threadIdx.x);
  const int tile = static_cast<int>(blockIdx.x) / SPLIT_BLOCKS;
  const bool of_a = tile < a_tiles;
  const int line_of_block = of_a ? thread / GROUPS % LINES : thread % LINES;
  const int group = of_a ? thread % GROUPS : thread / LINES % GROUPS;
  const int row = static_cast<int>(blockIdx.x) % SPLIT_BLOCKS * LINES + line_of_block;
  const std::int64_t line = std::int64_t{of_a ? tile : tile - a_tiles} * TILE_LINES + row;
  const int depth = line < (of_a ? p.m : p.n) ? static_cast<int>(p.k) : 0;
  const float* const numbers = of_a ? p.a + line * p.lda : p.b + line;
  const std::int64_t distance = of_a ? 1 : p.ldb;  // from one k to the next

  // Neighbouring threads read neighbours, in A and in B. The order of k in a k-tile is free as long as both agree.
  float x[OF_THREAD][Format::GROUP];
  const auto k_tile_of = [&](int chunk, int g) { return chunk * CHUNK + g * STRIDE + thread / (LINES * GROUPS); };
  const auto load = [&](int chunk) {
#pragma unroll
    for (int g = 0; g < OF_THREAD; ++g) {
#pragma unroll
      for (int i = 0; i < Format::GROUP; ++i) {
        const int k = k_tile_of(chunk, g) * Format::BK + i * GROUPS + group;
        x[g][i] = k < depth ? numbers[k * distance] : 0.0F;
      }
    }
  };

  const int chunks = ceil_div(k_tiles, CHUNK);
  unsigned largest = 0;  // bits of a magnitude, which have the order of the numbers; Inf and NaN are larger than all
  for (int chunk = 0; chunk < chunks; ++chunk) {
    load(chunk);
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      largest = max(largest, __float_as_uint(x[i / Format::GROUP][i % Format::GROUP]) & ~(1U << 31U));
      if (kept != nullptr && chunk == chunks - 2) {
        kept[i * SPLIT_THREADS + thread] = x[i / Format::GROUP][i % Format::GROUP];
      }
    }
  }
  for (int lanes = of_a ? 1 : LINES; lanes < (of_a ? GROUPS : 32); lanes *= 2) {  // lanes of the same line
    largest = max(largest, __shfl_xor_sync(~0U, largest, lanes));
  }
  if (thread < LINES) {
    maxima[thread] = 0;
  }
  __syncthreads();
  if (of_a ? group == 0 : thread % 32 < LINES) {
    atomicMax(&maxima[line_of_block], largest);
  }
  __syncthreads();
  const unsigned code = Format::scale_code(maxima[line_of_block]);

  // Back from the last chunk, which is in the registers still. Shared memory has the one before it.
  for (int chunk = chunks - 1; chunk >= 0; --chunk) {
    if (kept != nullptr && chunk == chunks - 2) {
#pragma unroll
      for (int i = 0; i < 64; ++i) {
        x[i / Format::GROUP][i % Format::GROUP] = kept[i * SPLIT_THREADS + thread];
      }
    } else if (chunk < chunks - 1) {
      load(chunk);
    }
#pragma unroll
    for (int g = 0; g < OF_THREAD; ++g) {
      if (k_tile_of(chunk, g) < k_tiles) {
        unsigned words[Format::TERMS][4];
        Format::split(x[g], code, words);
        uint4 terms[Format::TERMS];
#pragma unroll
        for (int term = 0; term < Format::TERMS; ++term) {
          terms[term] = uint4{words[term][0], words[term][1], words[term][2], words[term][3]};
        }
        store(Group{tile, row, k_tile_of(chunk, g), group, of_a}, code, terms);
      }
    }
  }
}

/// Three digits of 8 bits to the base 256, of integers of at most 0x7F7F7F: all digits of that are 127. A line is
/// multiplied by 2^(149 - code).
struct Int8Digits {
  static constexpr int BK = 128;
  static constexpr int GROUP = 16;
  static constexpr int TERMS = 3;
  static constexpr unsigned CODE_OF_ZEROS = 127;
  static constexpr unsigned UNSCALABLE = 255;  // lines with Inf, NaN or numbers near FLT_MAX, or of denormal ones alone

  /// A float with the biased exponent E and the mantissa 1.m is 1m * 2^(E - 150), so that 149 - E brings it to 1m / 2.
  /// Above 0x7F7F7F the sum carries into E.
  __device__ __forceinline__ static unsigned scale_code(unsigned largest) {
    const unsigned code = (largest + ((1U << 24U) - 2 * 0x7F7F7F - 1)) >> 23U;
    return largest == 0 ? CODE_OF_ZEROS : code > 0 && code < UNSCALABLE ? code : UNSCALABLE;
  }

  /// The digits of 16 numbers, the largest digits first.
  __device__ __forceinline__ static void split(const float (&x)[GROUP], unsigned code, unsigned (&digits)[TERMS][4]) {
    constexpr unsigned MIDDLES = 0x808080;  // 128 in each byte: a digit plus 128 needs no carries
    const int exponent = 149 - static_cast<int>(code);
    const float scale[2] = {power_of_2(exponent / 2), power_of_2(exponent - exponent / 2)};
#pragma unroll
    for (int i = 0; i < GROUP; i += 4) {
      unsigned bytes[4];  // of each number, the largest digit in byte 2
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int integer = __float2int_rn(code == UNSCALABLE ? 0.0F : x[i + j] * scale[0] * scale[1]);
        bytes[j] = (static_cast<unsigned>(integer) + MIDDLES) ^ MIDDLES;
      }
#pragma unroll
      for (unsigned digit = 0; digit < TERMS; ++digit) {
        const unsigned of_both = (6 - digit) << 4U | (2 - digit);
        digits[digit][i / 4] =
            __byte_perm(__byte_perm(bytes[0], bytes[1], of_both), __byte_perm(bytes[2], bytes[3], of_both), 0x5410);
      }
    }
  }
};

}  // namespace sgemm::SGEMM_TARGET
