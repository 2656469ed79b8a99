#include "core/tensor_operations.hpp"

#include "core/shared_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <sstream>
#include <string>

namespace simt {
namespace {

/// Registers hold this while wgmma computes them: NaN, all bits of which are set.
constexpr auto UNTOUCHED = [] {
  std::array<std::uint32_t, sizeof(WgmmaD) / sizeof(float)> bits{};
  bits.fill(~0U);
  return bits;
}();
std::size_t bytes_of_part(unsigned columns) { return elements_of_part(columns) * sizeof(float); }

}  // namespace

void TensorOperations::begin() {
  std::ranges::fill(committed_, 0U);
  for (Warp& warp : warps_) {
    for (Sum& sum : warp.sums) {
      sum.lanes = 0;
    }
    warp.all_given = 0;
  }
}

void TensorOperations::end() const {
  constexpr unsigned WARPS = WARPGROUP / WARP;
  const Scheduler& scheduler = context_.scheduler;
  const auto position = [&](unsigned warp) {
    return to_string(scheduler.position(static_cast<ThreadNumber>(warp * WARP)));
  };
  for (unsigned warp = 0; warp < (scheduler.threads() + WARP - 1) / WARP; ++warp) {
    const unsigned first = warp / WARPS * WARPS;
    if (warps_[warp].all_given != warps_[first].all_given) {
      throw Error("block " + to_string(context_.block) + ": the warps of thread " + position(first) +
                  " and of thread " + position(warp) +
                  " are of one warpgroup and have not started the same products with the same tiles (wgmma)");
    }
  }
}

void TensorOperations::check_whole_warp(Site site) const {
  if (context_.current() / WARP * WARP + WARP > context_.scheduler.threads()) {
    context_.fail("tensor cores take whole warps of 32 threads", site);
  }
}

void TensorOperations::tell_of_product(const MmaExtents& extents) const {
  context_.watcher->tensor_product(context_.current(), std::uint64_t{2} * extents.m * extents.n * extents.k / WARP);
}

template <class T>
std::array<T, 4> TensorOperations::mma(MmaFormat format, const MmaExtents& extents, const MmaRegisters& operands,
                                       const std::array<T, 4>& c, Site site) {
  check_whole_warp(site);
  tell_of_product(extents);
  auto& numbers = warp().numbers;
  numbers[lane()] = {format, operands};
  warp_barriers_.sync(ALL_LANES, site);
  const std::array<T, 4> d = multiply_registers(format, extents.k, numbers, lane(), c);
  warp_barriers_.sync(ALL_LANES, site);
  return d;
}
template std::array<float, 4> TensorOperations::mma(MmaFormat, const MmaExtents&, const MmaRegisters&,
                                                    const std::array<float, 4>&, Site);
template std::array<std::int32_t, 4> TensorOperations::mma(MmaFormat, const MmaExtents&, const MmaRegisters&,
                                                           const std::array<std::int32_t, 4>&, Site);

void TensorOperations::wgmma(Given given, const unsigned* registers, void* part, Site site) {
  if (context_.current() / WARPGROUP * WARPGROUP + WARPGROUP > context_.scheduler.threads()) {
    context_.fail("wgmma takes whole warpgroups of 128 threads", site);
  }
  for (const unsigned operand : {given.a.value_or(given.b), given.b}) {
    const unsigned in_tile = operand % WGMMA_ALIGNMENT;
    if (in_tile >= WGMMA_ROW_BYTES || in_tile % (WGMMA_PIECES_OF_ROW * WGMMA_PIECE) != 0) {
      std::ostringstream text;
      text << "wgmma takes tiles that are aligned to eight rows of " << WGMMA_ROW_BYTES
           << " bytes, and in them a multiple of 32 bytes, not shared address 0x" << std::hex << operand;
      context_.fail(text.str(), site);
    }
  }
  Warp& own = warp();
  tell_of_product({WGMMA_ROWS_OF_WARP, given.columns, wgmma_k(given.format)});
  if (registers != nullptr) {
    MmaRegisters operands;
    std::copy_n(registers, operands.a.size(), operands.a.begin());
    own.numbers[lane()] = {given.format, operands};
  }
  given.group = committed_[context_.current()] + 1;
  own.given[lane()] = given;
  own.parts[lane()] = part;
  if (warp_barriers_.sync(ALL_LANES, site)) {
    multiply(own, site);
  }
}

void TensorOperations::multiply(Warp& warp, Site site) {
  const Given& given = warp.given.front();
  if (std::ranges::count(warp.given, given) != WARP) {
    context_.fail("the lanes of a warp take different operands or groups for one wgmma", site);
  }
  std::optional<unsigned> rows = given.a;
  if (rows) {
    *rows += context_.current() % WARPGROUP / WARP * WGMMA_ROWS_OF_WARP * WGMMA_ROW_BYTES;
    read(*rows, WGMMA_ROWS_OF_WARP, given.group, site);
  }
  read(given.b, given.columns, given.group, site);
  for (const std::uint64_t part : {std::uint64_t{given.a.value_or(~0U)}, std::uint64_t{given.b},
                                   std::uint64_t{given.group}, std::uint64_t{given.accumulate}}) {
    constexpr std::uint64_t FNV = 0x100000001B3U;
    warp.all_given = (warp.all_given + part + 1) * FNV;
  }
  Sum& sum = sum_of(warp, site);
  sum.group = given.group;
  if (!given.accumulate) {
    std::visit([](auto& rows) { rows = {}; }, sum.rows);
  }
  multiply_tiles(given.format, rows, warp.numbers, given.b, given.columns, in_shared_memory(0), sum.rows);
}

void TensorOperations::read(unsigned operand, unsigned rows, std::uint32_t group, Site site) const {
  for (unsigned piece = 0; piece < rows * WGMMA_PIECES_OF_ROW; ++piece) {
    const std::byte* const at = in_shared_memory(address_of_piece(operand, piece));
    context_.check("wgmma ", context_.watcher->product_reads(context_.current(), at, group), site);
  }
}

TensorOperations::Sum& TensorOperations::sum_of(Warp& warp, Site site) const {
  const auto known =
      std::ranges::find_if(warp.sums, [&](const Sum& sum) { return sum.lanes != 0 && sum.parts == warp.parts; });
  if (known != warp.sums.end()) {
    if (known->lanes != ALL_LANES) {
      context_.fail("wgmma goes on with registers that only some lanes of the warp have waited for", site);
    }
    return *known;
  }
  const auto free = std::ranges::find(warp.sums, 0U, &Sum::lanes);
  Sum& sum = free != warp.sums.end() ? *free : warp.sums.emplace_back();
  sum.lanes = ALL_LANES;
  sum.parts = warp.parts;
  sum.columns = warp.given.front().columns;
  if (warp.given.front().format == MmaFormat::s8) {
    sum.rows.emplace<WgmmaRows<std::int32_t>>();
  } else {
    sum.rows.emplace<WgmmaRows<float>>();
  }
  for (unsigned lane = 0; lane < WARP; ++lane) {
    const auto take_over = [](auto& own, auto& of_rows) { of_rows = own; };
    std::visit([&](auto& rows) { for_elements(rows, sum.columns, lane, sum.parts[lane], take_over); }, sum.rows);
    std::memcpy(sum.parts[lane], UNTOUCHED.data(), bytes_of_part(sum.columns));
  }
  return sum;
}

void TensorOperations::wgmma_wait(unsigned pending, void* part, Site site) {
  const std::uint32_t committed = committed_[context_.current()];
  const std::uint32_t ended = committed - std::min(pending, committed);
  for (Sum& sum : warp().sums) {
    if ((sum.lanes >> lane() & 1U) != 0 && sum.group <= ended && sum.parts[lane()] == part) {
      if (std::memcmp(part, UNTOUCHED.data(), bytes_of_part(sum.columns)) != 0) {
        context_.fail("the kernel writes to registers of a wgmma that it has not waited for", site);
      }
      const auto hand_over = [](auto& own, auto& of_rows) { own = of_rows; };
      std::visit([&](auto& rows) { for_elements(rows, sum.columns, lane(), part, hand_over); }, sum.rows);
      sum.lanes &= ~(1U << lane());
    }
  }
  context_.watcher->products_awaited(context_.current(), ended);
}

}  // namespace simt
