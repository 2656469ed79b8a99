#pragma once

// FP32 products on 8-bit tensor cores (sm_90a), first half: a kernel finds the largest number of each row of A and each
// column of B, and writes all numbers as signed digits, operand tile by operand tile. A cluster of blocks holds whole
// rows or columns in its registers, or reads them twice. Chapter 13 explains the digits.

#include "common/ceil_div.hpp"
#include "common/problem.hpp"
#include "common/vector_access.cuh"
#include "engine/progress_window.cuh"
#include "engine/split_configurations.cuh"
#include "engine/split_operands.cuh"
#include "engine/split_terms.cuh"
#include "ptx/cluster_reads.cuh"
#include "ptx/griddepcontrol.cuh"
#include "ptx/shared_memory.cuh"

#include <cstddef>
#include <cstdint>

namespace sgemm::SGEMM_TARGET::split_product::int8 {

// ---- Scales ----

/// A row of A or a column of B is multiplied by 2^exponent and rounded to integers of at most this, all three digits of
/// which are 127.
constexpr int LARGEST_INTEGER = 0x7F7F7F;
/// The exponent is LARGEST_EXPONENT minus a code of 8 bits, from 1 to LARGEST_CODE.
constexpr int LARGEST_EXPONENT = 149;
constexpr int LARGEST_CODE = 254;
/// The code of a line of zeros, for which the factor that undoes the scaling is 1.
constexpr int CODE_OF_ZEROS = EXPONENT_BIAS;
/// The code of a line that has Inf or NaN, or numbers above 0x7F7F7F * 2^105, which are 0.996 * 2^128, or nothing but
/// numbers below 0.992 * 2^-126, which would take a larger scale. Its elements of C are computed without tensor cores.
constexpr int UNSCALABLE_LINE = 255;

/// The code of a line whose largest magnitude has these bits. The exponent is the largest by which that number comes to
/// at most LARGEST_INTEGER, and so to about half of it at least.
///
/// A float with the biased exponent E and the mantissa 1.m is the integer 1m * 2^(E - 150), so that 149 - E brings it
/// to 1m / 2. That is too much from 1m = 2 * LARGEST_INTEGER + 1 on, for which the sum below carries into E.
__device__ __forceinline__ int scale_code(unsigned largest) {
  constexpr unsigned TOO_LARGE = 2 * LARGEST_INTEGER + 1 - (1U << MANTISSA_BITS);
  const unsigned code = (largest + ((1U << MANTISSA_BITS) - TOO_LARGE)) >> MANTISSA_BITS;
  if (largest == 0) {
    return CODE_OF_ZEROS;
  }
  return code > 0 && code <= LARGEST_CODE ? static_cast<int>(code) : UNSCALABLE_LINE;
}

/// The scale of a line, in two factors, because their product need not be a float. Without a scale all digits are 0:
/// the elements of C are computed from the numbers.
struct Scale {
  float first;
  float second;

  __device__ __forceinline__ explicit Scale(int code)
      : first(code == UNSCALABLE_LINE ? 0.0F : power_of_2((LARGEST_EXPONENT - code) / 2)),
        second(power_of_2(LARGEST_EXPONENT - code - (LARGEST_EXPONENT - code) / 2)) {}
};

/// The digits of four numbers in two's complement, four equal ones in a word, the largest first. A digit from -128 to
/// 127, plus 128, is a byte, and the bytes of a sum need no carries: integer + MIDDLES has them. To flip the upper bit
/// of a byte is to subtract 128 again.
__device__ __forceinline__ void split_four(const float (&x)[4], const Scale& scale, unsigned (&digits)[Int8x6::TERMS]) {
  constexpr unsigned MIDDLES = 0x80808080;  // 128 in each byte
  unsigned sums[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sums[i] = static_cast<unsigned>(__float2int_rn(x[i] * scale.first * scale.second)) + (MIDDLES & 0xFFFFFF);
  }
  const unsigned low = __byte_perm(sums[0], sums[1], 0x5140);  // bytes 0 of both, then bytes 1
  const unsigned high = __byte_perm(sums[2], sums[3], 0x5140);
  digits[0] = __byte_perm(__byte_perm(sums[0], sums[1], 0x62), __byte_perm(sums[2], sums[3], 0x62), 0x5410) ^ MIDDLES;
  digits[1] = __byte_perm(low, high, 0x7632) ^ MIDDLES;
  digits[2] = __byte_perm(low, high, 0x5410) ^ MIDDLES;
}

// ---- What is read ----

// A thread has 64 numbers, in groups of 16 that make 16 bytes of each digit. Group g of a row holds the elements at k =
// 4g to 4g + 3, 32 + 4g to 32 + 4g + 3, and so on, as k_in_tile() has it.
constexpr int GROUP = 16;
constexpr int GROUPS = Int8x6::BK / GROUP;  // in a row
constexpr int GROUPS_PER_THREAD = 4;
static_assert(TILE_ROWS * Int8x6::BK == SPLIT_THREADS * GROUPS_PER_THREAD * GROUP);

/// The bits of a group's largest magnitude, which have the order of the numbers. Inf and NaN are larger than all
/// others.
template <int NUMBERS>
__device__ __forceinline__ unsigned largest_bits(const float (&x)[NUMBERS]) {
  unsigned largest = 0;
#pragma unroll
  for (const float value : x) {
    largest = larger(largest, __float_as_uint(value) & ~(1U << 31U));
  }
  return largest;
}

/// The digits of a group: 16 bytes for each digit, the largest digit first.
__device__ __forceinline__ void split_group(const float (&x)[GROUP], const Scale& scale,
                                            uint4 (&digits)[Int8x6::TERMS]) {
  unsigned words[GROUP / 4][Int8x6::TERMS];
#pragma unroll
  for (int i = 0; i < GROUP / 4; ++i) {
    split_four({x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]}, scale, words[i]);
  }
#pragma unroll
  for (int digit = 0; digit < Int8x6::TERMS; ++digit) {
    digits[digit] = uint4{words[0][digit], words[1][digit], words[2][digit], words[3][digit]};
  }
}

// ---- The kernel ----

constexpr int LINES_BLOCKS_PER_SM = 2;
constexpr int BLOCKS_THAT_READ_FIRST = LINES_BLOCKS_PER_SM * 132;  // as many as an H100 runs at a time

constexpr int MOST_LINES = 8;
constexpr int FEWEST_LINES = 4;  // fewer would read less than half of each 32 bytes from B
constexpr int LARGEST_CLUSTER = 8;
constexpr std::size_t LINES_SMEM_BYTES = MOST_LINES * sizeof(unsigned);
constexpr int LINE_K_TILES = SPLIT_THREADS * GROUPS_PER_THREAD / GROUPS;  // of a line that a block has alone

/// Lines that a cluster of blocks splits. Each block has a part of all of them along k in its registers, or of each of
/// some pieces of them.
struct LinesOfCluster {
  int lines;
  int blocks;
  int pieces;

  /// The fewest blocks for as many lines as fit into a cluster's registers, or pieces of as many lines as possible.
  SGEMM_HOST_DEVICE static LinesOfCluster of(std::int64_t k_tiles) {
    for (int lines = MOST_LINES; lines >= FEWEST_LINES; lines /= 2) {
      for (int blocks = 1; blocks <= LARGEST_CLUSTER; blocks *= 2) {
        if (k_tiles * lines <= LINE_K_TILES * blocks) {
          return {lines, blocks, 1};
        }
      }
    }
    return {MOST_LINES, LARGEST_CLUSTER,
            static_cast<int>(ceil_div<std::int64_t>(k_tiles * MOST_LINES, LINE_K_TILES * LARGEST_CLUSTER))};
  }
};

/// What a thread has in split_whole_lines(): groups of one line, at the same place of several k-tiles.
struct GroupsOfLine {
  int line;
  int group;
  int first_k_tile;  ///< of the first piece
  int k_tile_stride;
  int piece_stride;

  /// Neighbouring threads have neighbouring groups of a line, where k is contiguous along it, or the same group of
  /// neighbouring lines. A thread has so many groups of a piece.
  __device__ __forceinline__ GroupsOfLine(bool k_major, const LinesOfCluster& share, int groups)
      : line(k_major ? static_cast<int>(threadIdx.x) / GROUPS % share.lines
                     : static_cast<int>(threadIdx.x) % share.lines),
        group(k_major ? static_cast<int>(threadIdx.x) % GROUPS : static_cast<int>(threadIdx.x) / share.lines % GROUPS),
        k_tile_stride(SPLIT_THREADS / (GROUPS * share.lines)),
        piece_stride(share.blocks * groups * k_tile_stride) {
    const int rank = static_cast<int>(blockIdx.x) % share.blocks;
    first_k_tile = rank * groups * k_tile_stride + static_cast<int>(threadIdx.x) / (GROUPS * share.lines);
  }
};

/// The largest of what the blocks of a cluster have at `maxima[line]`, after a barrier of each block. `maxima` is
/// aligned to 16 bytes.
__device__ __forceinline__ unsigned largest_in_cluster(const unsigned* maxima, int line, int blocks) {
  cluster_sync_blocks(threadIdx.x < WARP);
  const unsigned four_lines = shared_address(maxima + line / 4 * 4);
  unsigned largest = 0;
  for (int rank = 0; rank < blocks; ++rank) {
    const float4 bits = ld_cluster_v4_f32(four_lines, static_cast<unsigned>(rank));
    const float two[2] = {line % 2 == 0 ? bits.x : bits.y, line % 2 == 0 ? bits.z : bits.w};
    largest = larger(largest, __float_as_uint(line / 2 % 2 == 0 ? two[0] : two[1]));
  }
  return largest;
}

/// How a block of split_whole_lines() reads an operand.
template <class Load>
struct LineReader {
  bool k_major;  ///< whether k is contiguous along lines
  Load load;     ///< load(line, first_k, group, x) reads a group
};
template <class Load>
LineReader(bool, Load) -> LineReader<Load>;

/// What split_whole_lines() makes of lines: digits.
struct DigitLines : Workspace<Int8x6> {
  using Split = Int8x6;
  static constexpr int GROUP = int8::GROUP;
  static constexpr int GROUPS_PER_THREAD = int8::GROUPS_PER_THREAD;
  /// Whether a kernel of the same launch goes before, which begin() waits for.
  static constexpr bool FOLLOWS_A_KERNEL = false;

  using Workspace::Workspace;
  /// Whether lines are to be split.
  __device__ static bool begin() { return true; }
  __device__ static int code_of(unsigned largest) { return scale_code(largest); }
  /// Splits a group of the operand tile of this number, in a panel of TILE_ROWS lines.
  __device__ static void split(const float (&x)[GROUP], int code, int, int, uint4 (&digits)[Int8x6::TERMS]) {
    split_group(x, Scale(code), digits);
  }
};

/// Finds the largest numbers of rows of A or columns of B, and writes the terms of all their numbers, as Lines has
/// them. There is a cluster for each `share.lines` of them, which reads them by `reader_a` or `reader_b`. Loops over
/// pieces would take time where there is one.
template <bool IN_PIECES, class Lines, class LoadA, class LoadB>
__device__ __forceinline__ void split_whole_lines(const Problem& p, const Lines& to_lines, const LinesOfCluster& share,
                                                  const LineReader<LoadA>& reader_a,
                                                  const LineReader<LoadB>& reader_b) {
  using Split = typename Lines::Split;
  unsigned* const maxima = reinterpret_cast<unsigned*>(dynamic_smem());  // of each line, as far as the block has it
  griddepcontrol_launch_dependents();
  // The first blocks run beside the kernel before, and read meanwhile.
  const bool reads_first = static_cast<int>(blockIdx.x) < BLOCKS_THAT_READ_FIRST;
  if (!reads_first && !to_lines.begin()) {
    return;
  }
  const int lines = share.lines;
  const int clusters_of_tile = TILE_ROWS / lines;
  const int cluster = static_cast<int>(blockIdx.x) / share.blocks;
  const int tile_of_both = cluster / clusters_of_tile;
  const bool of_a = tile_of_both < to_lines.a_tiles();
  const int tile = of_a ? tile_of_both : tile_of_both - to_lines.a_tiles();
  const bool k_major = of_a ? reader_a.k_major : reader_b.k_major;
  const GroupsOfLine mine(k_major, share, Lines::GROUPS_PER_THREAD);
  const int row = cluster % clusters_of_tile * lines + mine.line;  // in the tile
  const std::int64_t line = std::int64_t{tile} * TILE_ROWS + row;

  float x[Lines::GROUPS_PER_THREAD][Lines::GROUP];
  const auto load = [&](int piece) {
#pragma unroll
    for (int i = 0; i < Lines::GROUPS_PER_THREAD; ++i) {
      const int k_tile = mine.first_k_tile + piece * mine.piece_stride + i * mine.k_tile_stride;
      if (of_a) {
        reader_a.load(line, std::int64_t{k_tile} * Split::BK, mine.group, x[i]);
      } else {
        reader_b.load(line, std::int64_t{k_tile} * Split::BK, mine.group, x[i]);
      }
    }
  };
  unsigned largest = 0;
  const auto look = [&] {
#pragma unroll
    for (int i = 0; i < Lines::GROUPS_PER_THREAD; ++i) {
      largest = larger(largest, largest_bits(x[i]));
    }
  };
  load(0);
  if (reads_first && !to_lines.begin()) {
    return;
  }
  if (threadIdx.x < MOST_LINES) {
    maxima[threadIdx.x] = 0;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    ProgressWindow::reset(to_lines.progress());
  }
  look();
#pragma unroll 1
  for (int piece = 1; IN_PIECES && piece < share.pieces; ++piece) {
    load(piece);
    look();
  }
  // Lanes of the same line: eight neighbours, or every `lines`-th lane.
  const int first = k_major ? 1 : lines;
  const int last = k_major ? GROUPS : WARP;
  for (int lanes = first; lanes < last; lanes *= 2) {
    largest = larger(largest, __shfl_xor_sync(~0U, largest, lanes));
  }
  __syncthreads();
  if (largest > 0 && threadIdx.x % last / first == 0) {
    atomicMax(&maxima[mine.line], largest);
  }
  __syncthreads();

  const int code =
      Lines::code_of(share.blocks == 1 ? maxima[mine.line] : largest_in_cluster(maxima, mine.line, share.blocks));
  const std::int64_t first_tile = std::int64_t{tile_of_both} * to_lines.k_tiles();
  const unsigned place = place_in_term(row, mine.group);
  const auto split = [&](int piece) {
#pragma unroll
    for (int i = 0; i < Lines::GROUPS_PER_THREAD; ++i) {
      const int k_tile = mine.first_k_tile + piece * mine.piece_stride + i * mine.k_tile_stride;
      if (k_tile >= to_lines.k_tiles()) {
        break;
      }
      uint4 terms[Split::TERMS];
      to_lines.split(x[i], code, tile_of_both, k_tile, terms);
      store_terms(to_lines.terms(first_tile + k_tile), place, terms);
      if (mine.group == 0) {
        Scaling& scaling = *to_lines.scaling(first_tile + k_tile);
        scaling.rows[row] = static_cast<unsigned char>(code);
        if (row == 0) {
          scaling.exponent = 0;
          scaling.uniform = 0;
          scaling.tile = tile;
          scaling.has_next = tile + 1 < tiles_along(of_a ? p.m : p.n) ? 1 : 0;
        }
      }
    }
  };
  split(IN_PIECES ? share.pieces - 1 : 0);  // which is in the registers still
#pragma unroll 1
  for (int piece = 0; IN_PIECES && piece < share.pieces - 1; ++piece) {
    load(piece);
    split(piece);
  }
  if (share.blocks > 1) {
    cluster_sync_relaxed();  // nobody reads this block's maxima any more
  }
}

}  // namespace sgemm::SGEMM_TARGET::split_product::int8
