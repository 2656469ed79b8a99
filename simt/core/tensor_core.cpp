#include "core/tensor_core.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace simt {
namespace {

/// Numbers along k of rows of A or columns of B: as many as 32 bytes hold.
template <std::size_t COUNT>
using Operand = std::array<std::array<double, COUNT>, wgmma_k(MmaFormat::s8)>;
/// The operand B of a product. It is too large for a fiber's stack. It stands outside of the function because
/// thread-local variables within functions count as `__shared__`.
thread_local Operand<WGMMA_COLUMNS> columns_of_b;

/// The function has no branches, so that compilers can vectorise loops over it.
float rounded_towards_zero(double x) {
  const float nearest = static_cast<float>(x);
  const double magnitude = std::fabs(static_cast<double>(nearest));
  const bool away = (magnitude > std::fabs(x)) & (magnitude <= std::numeric_limits<float>::max());
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - (away ? 1U : 0U));
}
void set(float& to, double sum) { to = rounded_towards_zero(sum); }
void set(std::int32_t& to, double sum) { to = static_cast<std::int32_t>(static_cast<std::int64_t>(sum)); }

/// Compiles a function for each kind of processor, too. Sums of exact products are the same on all of them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define SIMT_FOR_EACH_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SIMT_FOR_EACH_PROCESSOR
#endif

/// The first `count` rows or columns.
template <std::size_t COUNT>
void read_operand(MmaFormat format, unsigned address, unsigned count, const std::byte* shared,
                  Operand<COUNT>& operand) {
  const unsigned k_of_piece = wgmma_k(format) / WGMMA_PIECES_OF_ROW;
  for (unsigned piece = 0; piece < count * WGMMA_PIECES_OF_ROW; ++piece) {
    std::array<float, WGMMA_PIECE> numbers;
    read_numbers(format, shared + static_cast<int>(address_of_piece(address, piece)), WGMMA_PIECE, numbers.data());
    for (unsigned k = 0; k < k_of_piece; ++k) {
      operand[piece % WGMMA_PIECES_OF_ROW * k_of_piece + k][piece / WGMMA_PIECES_OF_ROW] = numbers[k];
    }
  }
}

/// Adds `rows` * `columns_of_b` to `d`, and anything to columns of `d` from number `columns` on.
template <class T>
SIMT_FOR_EACH_PROCESSOR void add_product(const Operand<WGMMA_ROWS_OF_WARP>& rows, unsigned columns, unsigned depth,
                                         WgmmaRows<T>& d) {
  for (unsigned row = 0; row < WGMMA_ROWS_OF_WARP; ++row) {
    constexpr unsigned AT_A_TIME = 16;  // sums that stay in registers
    for (unsigned begin = 0; begin < columns; begin += AT_A_TIME) {
      std::array<double, AT_A_TIME> sums;
      for (unsigned i = 0; i < AT_A_TIME; ++i) {
        sums[i] = d[row][begin + i];
      }
      for (unsigned k = 0; k < depth; ++k) {
        for (unsigned i = 0; i < AT_A_TIME; ++i) {
          sums[i] += rows[k][row] * columns_of_b[k][begin + i];
        }
      }
      for (unsigned i = 0; i < AT_A_TIME; ++i) {
        set(d[row][begin + i], sums[i]);
      }
    }
  }
}

}  // namespace

MmaNumbers::MmaNumbers(MmaFormat format, const MmaRegisters& registers) {
  read_numbers(format, registers.a.data(), sizeof registers.a, a.data());
  read_numbers(format, registers.b.data(), sizeof registers.b, b.data());
}

template <class T>
std::array<T, 4> multiply_registers(MmaFormat format, unsigned k, const std::array<MmaNumbers, WARP>& numbers,
                                    unsigned lane, const std::array<T, 4>& c) {
  // Of rows a register of A holds neighbouring k, of columns one of B does: of four groups of lanes one after the
  // other. The next register of A is eight rows further down, and the one after the next 4 * per_register k further.
  const unsigned per_register = sizeof(std::uint32_t) / bytes_of(format);
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
          sums[i] += double{numbers[row * 4 + q].a[(group * 2 + i / 2) * per_register + number]} *
                     numbers[(column + i % 2) * 4 + q].b[group * per_register + number];
        }
      }
    }
  }
  std::array<T, 4> d;
  for (unsigned i = 0; i < d.size(); ++i) {
    set(d[i], sums[i]);
  }
  return d;
}
template std::array<float, 4> multiply_registers(MmaFormat, unsigned, const std::array<MmaNumbers, WARP>&, unsigned,
                                                 const std::array<float, 4>&);
template std::array<std::int32_t, 4> multiply_registers(MmaFormat, unsigned, const std::array<MmaNumbers, WARP>&,
                                                        unsigned, const std::array<std::int32_t, 4>&);

void multiply_tiles(MmaFormat format, std::optional<unsigned> a, const std::array<MmaNumbers, WARP>& registers,
                    unsigned b, unsigned columns, const std::byte* shared, WgmmaSums& d) {
  Operand<WGMMA_ROWS_OF_WARP> rows;
  if (a) {
    read_operand(format, *a, WGMMA_ROWS_OF_WARP, shared, rows);
  }
  for (unsigned k = 0; !a && k < wgmma_k(format); ++k) {
    for (unsigned row = 0; row < WGMMA_ROWS_OF_WARP; ++row) {
      rows[k][row] = registers[row % 8 * 4 + k / 2 % 4].a[(k / 8 * 2 + row / 8) * 2 + k % 2];
    }
  }
  read_operand(format, b, columns, shared, columns_of_b);
  std::visit([&](auto& sums) { add_product(rows, columns, wgmma_k(format), sums); }, d);
}

}  // namespace simt
