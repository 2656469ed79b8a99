#include "core/tensor_core.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace simt {
namespace {

/// 16 elements along k of rows of A or columns of B.
template <std::size_t COUNT>
using Operand = std::array<std::array<double, COUNT>, WGMMA_K>;
/// 32 integers along k of them. Sums of 32 products are below 2^24, so that floats hold them exactly; compilers
/// vectorise products of floats best.
template <std::size_t COUNT>
using IntegerOperand = std::array<std::array<float, COUNT>, WGMMA_INTEGER_K>;
/// The operand B of a product. It is too large for a fiber's stack. It stands outside of the function because
/// thread-local variables within functions count as `__shared__`.
thread_local Operand<WGMMA_COLUMNS> columns_of_b;
thread_local IntegerOperand<WGMMA_COLUMNS> integer_columns;

double as_tf32(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~0U << 13U); }

/// The function has no branches, so that compilers can vectorise loops over it.
float rounded_towards_zero(double x) {
  const float nearest = static_cast<float>(x);
  const double magnitude = std::fabs(static_cast<double>(nearest));
  const bool away = (magnitude > std::fabs(x)) & (magnitude <= std::numeric_limits<float>::max());
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - (away ? 1U : 0U));
}

float as_float(HalfFormat format, std::uint16_t half) {
  return format == HalfFormat::fp16 ? from_fp16(half) : from_bf16(half);
}
float as_float(MmaFormat format, std::uint16_t half) {
  return format == MmaFormat::fp16 ? from_fp16(half) : from_bf16(half);
}

/// Compiles a function for each kind of processor, too. Sums of exact products are the same on all of them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define SIMT_FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SIMT_FOR_EACH_PROCESSOR
#endif

/// The first `count` rows or columns, of which `convert` makes numbers of the elements of a piece.
template <class Element, class Numbers, class Convert>
void read_pieces(unsigned address, unsigned count, const std::byte* shared, Numbers& operand, const Convert& convert) {
  constexpr unsigned K_OF_PIECE = WGMMA_PIECE / sizeof(Element);
  for (unsigned piece = 0; piece < count * WGMMA_PIECES_OF_ROW; ++piece) {
    std::array<Element, K_OF_PIECE> elements;
    std::memcpy(elements.data(), shared + static_cast<int>(address_of_piece(address, piece)), sizeof elements);
    const auto numbers = convert(elements);
    for (unsigned k = 0; k < K_OF_PIECE; ++k) {
      operand[piece % WGMMA_PIECES_OF_ROW * K_OF_PIECE + k][piece / WGMMA_PIECES_OF_ROW] = numbers[k];
    }
  }
}

template <std::size_t COUNT>
void read_operand(HalfFormat format, unsigned address, unsigned count, const std::byte* shared,
                  Operand<COUNT>& operand) {
  read_pieces<std::uint16_t>(address, count, shared, operand, [&](const auto& halves) {
    std::array<float, WGMMA_PIECE / sizeof(std::uint16_t)> numbers;
    from_halves(format, halves, numbers);
    return numbers;
  });
}

template <std::size_t COUNT>
void read_operand(unsigned address, unsigned count, const std::byte* shared, IntegerOperand<COUNT>& operand) {
  read_pieces<std::int8_t>(address, count, shared, operand, [](const auto& integers) { return integers; });
}

/// Adds `rows` * `columns_of_b` to `d`, and anything to columns of `d` from number `columns` on.
SIMT_FOR_EACH_PROCESSOR
void add_product(const Operand<WGMMA_ROWS_OF_WARP>& rows, unsigned columns, WgmmaRows<float>& d) {
  for (unsigned row = 0; row < WGMMA_ROWS_OF_WARP; ++row) {
    constexpr unsigned AT_A_TIME = 16;  // sums that stay in registers
    for (unsigned begin = 0; begin < columns; begin += AT_A_TIME) {
      std::array<double, AT_A_TIME> sums;
      for (unsigned i = 0; i < AT_A_TIME; ++i) {
        sums[i] = d[row][begin + i];
      }
      for (unsigned k = 0; k < WGMMA_K; ++k) {
        for (unsigned i = 0; i < AT_A_TIME; ++i) {
          sums[i] += rows[k][row] * columns_of_b[k][begin + i];
        }
      }
      for (unsigned i = 0; i < AT_A_TIME; ++i) {
        d[row][begin + i] = rounded_towards_zero(sums[i]);
      }
    }
  }
}

SIMT_FOR_EACH_PROCESSOR
void add_product(const IntegerOperand<WGMMA_ROWS_OF_WARP>& rows, unsigned columns, WgmmaRows<std::int32_t>& d) {
  for (unsigned row = 0; row < WGMMA_ROWS_OF_WARP; ++row) {
    constexpr unsigned AT_A_TIME = 16;
    for (unsigned begin = 0; begin < columns; begin += AT_A_TIME) {
      std::array<float, AT_A_TIME> sums{};
      for (unsigned k = 0; k < WGMMA_INTEGER_K; ++k) {
        for (unsigned i = 0; i < AT_A_TIME; ++i) {
          sums[i] += rows[k][row] * integer_columns[k][begin + i];
        }
      }
      for (unsigned i = 0; i < AT_A_TIME; ++i) {
        std::int32_t& sum = d[row][begin + i];
        sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) +
                                        static_cast<std::uint32_t>(static_cast<std::int32_t>(sums[i])));
      }
    }
  }
}

}  // namespace

MmaNumbers::MmaNumbers(MmaFormat format, const MmaRegisters& registers) {
  const auto read = [&](const auto& from, auto& to) {
    for (unsigned i = 0; i < from.size(); ++i) {
      if (format == MmaFormat::tf32) {
        to[i] = as_tf32(std::bit_cast<float>(from[i]));
        continue;
      }
      to[2 * i] = as_float(format, static_cast<std::uint16_t>(from[i]));
      to[2 * i + 1] = as_float(format, static_cast<std::uint16_t>(from[i] >> 16U));
    }
  };
  read(registers.a, a);
  read(registers.b, b);
}

std::array<float, 4> multiply_registers(MmaFormat format, unsigned k, const std::array<MmaNumbers, WARP>& numbers,
                                        unsigned lane, const std::array<float, 4>& c) {
  // Of rows a register of A holds neighbouring k, of columns one of B does: of four groups of lanes one after the
  // other. The next register of A is eight rows further down, and the one after the next 4 * per_register k further.
  const unsigned per_register = format == MmaFormat::tf32 ? 1 : 2;
  const unsigned row = lane / 4;  // in a half of the rows
  const unsigned column = lane % 4 * 2;
  std::array<double, 4> sums;
  for (unsigned i = 0; i < sums.size(); ++i) {
    sums[i] = c[i];
  }
  for (unsigned group = 0; group < k / (4 * per_register); ++group) {
    for (unsigned q = 0; q < 4; ++q) {
      for (unsigned number = 0; number < per_register; ++number) {
        for (unsigned i = 0; i < sums.size(); ++i) {  // of two rows and two columns
          sums[i] += numbers[row * 4 + q].a[(group * 2 + i / 2) * per_register + number] *
                     numbers[(column + i % 2) * 4 + q].b[group * per_register + number];
        }
      }
    }
  }
  std::array<float, 4> d;
  for (unsigned i = 0; i < d.size(); ++i) {
    d[i] = rounded_towards_zero(sums[i]);
  }
  return d;
}

std::array<std::int32_t, 4> multiply_registers(const std::array<MmaRegisters, WARP>& operands, unsigned lane,
                                               const std::array<std::int32_t, 4>& c) {
  constexpr std::size_t GROUP_LANES = 4;
  constexpr std::size_t GROUPS = INTEGER_MMA_K / (GROUP_LANES * sizeof(std::uint32_t));
  // Rows and columns as bytes in a row: compilers vectorise sums of their products.
  std::array<std::array<std::uint32_t, GROUPS * GROUP_LANES>, 2> rows;
  std::array<std::array<std::uint32_t, GROUPS * GROUP_LANES>, 2> columns;
  for (unsigned half = 0; half < 2; ++half) {
    const unsigned row = lane / 4;
    const unsigned column = lane % 4 * 2 + half;
    for (unsigned group = 0; group < GROUPS; ++group) {
      for (unsigned q = 0; q < GROUP_LANES; ++q) {
        rows[half][group * GROUP_LANES + q] = operands[row * GROUP_LANES + q].a[group * 2 + half];
        columns[half][group * GROUP_LANES + q] = operands[column * GROUP_LANES + q].b[group];
      }
    }
  }
  using Integers = std::array<std::int8_t, INTEGER_MMA_K>;
  std::array<std::int32_t, 4> d;
  for (unsigned i = 0; i < d.size(); ++i) {
    const auto a = std::bit_cast<Integers>(rows[i / 2]);
    const auto b = std::bit_cast<Integers>(columns[i % 2]);
    std::int32_t sum = 0;
    for (unsigned k = 0; k < a.size(); ++k) {
      sum += a[k] * b[k];
    }
    d[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(c[i]) + static_cast<std::uint32_t>(sum));
  }
  return d;
}

void multiply_fragments(MmaFormat format, const MmaExtents& extents, const std::array<const void*, WARP>& a,
                        const std::array<const void*, WARP>& b, unsigned lane, float* c) {
  const auto element = [&](const std::array<const void*, WARP>& of, unsigned number) -> double {
    const void* const elements = of[number % WARP];
    const unsigned index = number / WARP;
    return format == MmaFormat::tf32 ? as_tf32(static_cast<const float*>(elements)[index])
                                     : as_float(format, static_cast<const std::uint16_t*>(elements)[index]);
  };
  for (unsigned number = lane; number < extents.m * extents.n; number += WARP) {
    const unsigned row = number / extents.n;
    const unsigned column = number % extents.n;
    double sum = c[number / WARP];
    for (unsigned k = 0; k < extents.k; ++k) {
      sum += element(a, row * extents.k + k) * element(b, k * extents.n + column);
    }
    c[number / WARP] = rounded_towards_zero(sum);
  }
}

void multiply_half(HalfFormat format, unsigned a, unsigned b, const std::byte* shared, WgmmaRows<float>& d) {
  Operand<WGMMA_ROWS_OF_WARP> rows;
  read_operand(format, a, WGMMA_ROWS_OF_WARP, shared, rows);
  read_operand(format, b, WGMMA_COLUMNS, shared, columns_of_b);
  add_product(rows, WGMMA_COLUMNS, d);
}

void multiply_half(HalfFormat format, const std::array<MmaRegisters, WARP>& a, unsigned b, unsigned columns,
                   const std::byte* shared, WgmmaRows<float>& d) {
  Operand<WGMMA_ROWS_OF_WARP> rows;
  for (unsigned k = 0; k < WGMMA_K; ++k) {
    for (unsigned row = 0; row < WGMMA_ROWS_OF_WARP; ++row) {
      const std::uint32_t pair = a[row % 8 * 4 + k / 2 % 4].a[k / 8 * 2 + row / 8];
      rows[k][row] = as_float(format, static_cast<std::uint16_t>(pair >> 16U * (k % 2)));
    }
  }
  read_operand(format, b, columns, shared, columns_of_b);
  add_product(rows, columns, d);
}

void multiply_integers(unsigned a, unsigned b, unsigned columns, const std::byte* shared, WgmmaRows<std::int32_t>& d) {
  IntegerOperand<WGMMA_ROWS_OF_WARP> rows;
  read_operand(a, WGMMA_ROWS_OF_WARP, shared, rows);
  read_operand(b, columns, shared, integer_columns);
  add_product(rows, columns, d);
}

}  // namespace simt
