#pragma once

// Stands in for CUDA's header of the same name: matrices that a warp holds together and multiplies, by mma.sync. Which
// element a lane holds is left open by CUDA, and may differ here from what GPUs do; code that relies on it is wrong
// there as well.

#include <simt/thread.hpp>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32 {};
}  // namespace precision

/// Rounds as a product of TF32 wants its operands; tensor cores cut off what is not.
inline float __float_to_tf32(float x) { return simt::to_tf32(x); }

/// What a fragment of this type holds in registers.
template <class T>
struct Storage {
  using Type = T;
};
template <>
struct Storage<precision::tf32> {
  using Type = float;
};

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static constexpr bool IS_A = std::is_same_v<Use, matrix_a>;
  static constexpr bool IS_B = std::is_same_v<Use, matrix_b>;
  static constexpr bool TF32 = std::is_same_v<T, precision::tf32>;
  static_assert(K == (TF32 ? 8 : 16) || !(IS_A || IS_B), "wmma: no such shape of FP16, BF16 or TF32");
  static_assert((M == 16 && N == 16) || (!TF32 && ((M == 32 && N == 8) || (M == 8 && N == 32))),
                "wmma: no such shape of FP16, BF16 or TF32");
  static_assert(IS_A || IS_B ? TF32 || std::is_same_v<T, half> || std::is_same_v<T, __nv_bfloat16>
                             : std::is_same_v<T, float> || std::is_same_v<T, half>,
                "wmma: of this type there is no fragment here: FP16, BF16, TF32, and FP32 or FP16 for accumulators");

  static constexpr int ROWS = IS_B ? K : M;
  static constexpr int COLUMNS = IS_A ? K : N;
  static constexpr int num_elements = ROWS * COLUMNS / 32;
  using element_type = T;
  using storage_element_type = typename Storage<T>::Type;

  storage_element_type x[num_elements];

  /// Where element i of a lane lies in a matrix: as in the registers of mma.sync.m16n8, of which one has the first 16
  /// rows and 8 columns and the next the 16 rows below, or the first 8 columns further on.
  static unsigned place(int i, unsigned stride, bool in_rows) {
    constexpr int PAIR = TF32 ? 1 : 2;  // neighbours in a register
    constexpr int TILE_ROWS = ROWS < 16 || IS_B ? ROWS : 16;
    constexpr int TILE_COLUMNS = IS_A ? K : 8;
    constexpr int ELEMENTS = TILE_ROWS * TILE_COLUMNS / 32;
    const int tile = i / ELEMENTS;
    const int number = i % ELEMENTS / PAIR;  // of the register
    const int group = static_cast<int>(simt::lane()) / 4;
    const int in_group = static_cast<int>(simt::lane()) % 4 * PAIR + i % PAIR;
    constexpr int DOWN = IS_B ? 1 : TILE_ROWS / 8;  // registers below one another
    const int along = in_group + number / DOWN * 4 * PAIR;
    const int across = group + number % DOWN * 8;
    const int row = (IS_B ? along : across) + tile % (ROWS / TILE_ROWS) * TILE_ROWS;
    const int column = (IS_B ? across : along) + tile / (ROWS / TILE_ROWS) * TILE_COLUMNS;
    return static_cast<unsigned>(in_rows ? row * stride + column : column * stride + row);
  }
};

template <class Fragment, class T>
void fill_fragment(Fragment& fragment, const T& value) {
  for (auto& element : fragment.x) {
    element = static_cast<typename Fragment::storage_element_type>(value);
  }
}

/// Of an access by all lanes. Rows are multiples of 16 bytes apart. That they begin at multiples of 32 is not looked
/// at: shared arrays lie elsewhere here.
template <class Memory>
inline void begin(const Memory*, unsigned stride, simt::Site site) {
  simt::warp_barrier(0xFFFFFFFFU, site);
  if (stride * sizeof(Memory) % 16 != 0) {
    simt::fail("wmma takes matrices whose rows are a multiple of 16 bytes apart", site);
  }
}

// Accesses to the caller's memory are told of at the line that asks for them, so these functions are parts of it.

template <class Use, int M, int N, int K, class T, class Layout, class Memory>
inline void load_matrix_sync(fragment<Use, M, N, K, T, Layout>& fragment, const Memory* memory, unsigned stride,
                             simt::Site site = simt::Site::current()) {
  static_assert(!std::is_void_v<Layout>, "wmma: an accumulator is loaded with its layout");
  begin(memory, stride, site);
  for (int i = 0; i < fragment.num_elements; ++i) {
    fragment.x[i] = memory[fragment.place(i, stride, std::is_same_v<Layout, row_major>)];
  }
}

template <int M, int N, int K, class T, class Memory>
inline void load_matrix_sync(fragment<accumulator, M, N, K, T>& fragment, const Memory* memory, unsigned stride,
                             layout_t layout, simt::Site site = simt::Site::current()) {
  begin(memory, stride, site);
  for (int i = 0; i < fragment.num_elements; ++i) {
    fragment.x[i] = memory[fragment.place(i, stride, layout == mem_row_major)];
  }
}

template <int M, int N, int K, class T, class Memory>
inline void store_matrix_sync(Memory* memory, const fragment<accumulator, M, N, K, T>& fragment, unsigned stride,
                              layout_t layout, simt::Site site = simt::Site::current()) {
  begin(memory, stride, site);
  for (int i = 0; i < fragment.num_elements; ++i) {
    memory[fragment.place(i, stride, layout == mem_row_major)] = fragment.x[i];
  }
}

/// D = A * B + C.
template <int M, int N, int K, class T, class LayoutA, class LayoutB, class D, class C>
void mma_sync(fragment<accumulator, M, N, K, D>& d, const fragment<matrix_a, M, N, K, T, LayoutA>& a,
              const fragment<matrix_b, M, N, K, T, LayoutB>& b, const fragment<accumulator, M, N, K, C>& c,
              simt::Site site = simt::Site::current()) {
  using Format = simt::MmaFormat;
  constexpr Format FORMAT = std::is_same_v<T, precision::tf32> ? Format::tf32
                            : std::is_same_v<T, half>          ? Format::fp16
                                                               : Format::bf16;
  constexpr unsigned ROWS = M < 16 ? M : 16;  // of a product by mma.sync
  constexpr unsigned DOWN = M / ROWS;
  constexpr unsigned SUMS = ROWS / 4;
  const auto of_a = std::bit_cast<std::array<std::uint32_t, sizeof a.x / 4>>(a.x);
  const auto of_b = std::bit_cast<std::array<std::uint32_t, sizeof b.x / 4>>(b.x);
  for (unsigned tile = 0; tile < DOWN * N / 8; ++tile) {
    simt::MmaRegisters factors{{}, {of_b[tile / DOWN * 2], of_b[tile / DOWN * 2 + 1]}};
    for (unsigned i = 0; i < SUMS; ++i) {  // with 8 rows, every second register is empty
      factors.a[i * 4 / SUMS] = of_a[tile % DOWN * SUMS + i];
    }
    std::array<float, 4> sums{};
    for (unsigned i = 0; i < SUMS; ++i) {
      sums[i] = static_cast<float>(c.x[tile * SUMS + i]);
    }
    sums = simt::mma(FORMAT, {ROWS, 8, K}, factors, sums, site);
    for (unsigned i = 0; i < SUMS; ++i) {
      d.x[tile * SUMS + i] = static_cast<D>(sums[i]);
    }
  }
}

}  // namespace nvcuda::wmma
