#include "problem/guarded_operands.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <random>

#include <sys/mman.h>

namespace sgemm {
namespace {

/// Behind each row of A, in elements: a multiple of what kernels load at once, so that rows keep their alignment. Rows
/// of B have two and those of C three, so that a leading dimension in place of another one shows where B has as many
/// columns as C.
constexpr std::int64_t GAP = 32;
/// Before and behind each matrix, in elements.
constexpr std::int64_t ZONE = 1 << 14;
/// A GPU's allocator aligns matrices to so many elements, at least.
constexpr std::int64_t ALIGNMENT = 64;

std::int64_t rounded_up(std::int64_t value) { return (value + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/// The matrices of a problem, all of a batch one behind the other.
struct Rows {
  const float* begin;
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t columns;

  const float* row(std::int64_t index) const { return begin + index * stride; }
  std::int64_t extent() const { return rounded_up(rows * stride); }
  bool has(const float* at) const {
    const std::int64_t offset = at - begin;
    return offset >= 0 && offset < rows * stride && offset % stride < columns;
  }
};

Rows a_of(const Problem& p) { return {p.a, p.lda, p.batch * (p.transposed_a ? p.k : p.m), p.transposed_a ? p.m : p.k}; }
Rows b_of(const Problem& p) { return {p.b, p.ldb, p.batch * (p.transposed_b ? p.n : p.k), p.transposed_b ? p.k : p.n}; }
Rows c_of(const Problem& p) { return {p.c, p.ldc, p.batch * p.m, p.n}; }

void copy_rows(const Rows& from, float* to, std::int64_t to_stride) {
  for (std::int64_t row = 0; row < from.rows; ++row) {
    std::copy_n(from.row(row), from.columns, to + row * to_stride);
  }
}

/// Whether two matrices have the same bits.
bool same_rows(const Rows& x, const Rows& y) {
  for (std::int64_t row = 0; row < x.rows; ++row) {
    if (std::memcmp(x.row(row), y.row(row), static_cast<std::size_t>(x.columns) * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

/// Memory at one of 2^32 pages. Where that one is taken, the system chooses another place.
std::shared_ptr<float> map_somewhere(std::size_t elements) {
  constexpr std::uintptr_t FIRST = std::uintptr_t{1} << 45U;  // above what AddressSanitizer keeps for itself
  constexpr std::uintptr_t PAGE = 4096;
  const std::size_t bytes = elements * sizeof(float);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a place is drawn
  void* const wanted = reinterpret_cast<void*>(FIRST + std::random_device{}() * PAGE);
  void* const memory = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return {static_cast<float*>(memory), [bytes](float* begin) { munmap(begin, bytes); }};
}

}  // namespace

GuardedOperands::GuardedOperands(const Problem& original, bool padded) : original_(original), problem_(original) {
  if (padded) {
    problem_.lda = a_of(original).columns + GAP;
    problem_.ldb = b_of(original).columns + 2 * GAP;
    problem_.ldc = original.n + 3 * GAP;
  }
  const std::int64_t a = ZONE;
  const std::int64_t b = a + a_of(problem_).extent() + ZONE;
  const std::int64_t c = b + b_of(problem_).extent() + ZONE;
  const std::int64_t end = c + c_of(problem_).extent() + ZONE;
  mapping_ = map_somewhere(static_cast<std::size_t>(end));
  memory_ = {mapping_.get(), static_cast<std::size_t>(end)};
  std::ranges::fill(memory_, std::numeric_limits<float>::quiet_NaN());
  float* const begin = mapping_.get();
  copy_rows(a_of(original), begin + a, problem_.lda);
  copy_rows(b_of(original), begin + b, problem_.ldb);
  copy_rows(c_of(original), begin + c, problem_.ldc);
  problem_.a = begin + a;
  problem_.b = begin + b;
  problem_.c = begin + c;
}

std::optional<std::string> GuardedOperands::damage() const {
  if (!same_rows(a_of(original_), a_of(problem_))) {
    return "writes to A, which is an input";
  }
  if (!same_rows(b_of(original_), b_of(problem_))) {
    return "writes to B, which is an input";
  }
  // What is no part of a matrix has been NaN since the begin.
  for (const float& element : memory_) {
    if (!std::isnan(element) && !a_of(problem_).has(&element) && !b_of(problem_).has(&element) &&
        !c_of(problem_).has(&element)) {
      return "writes outside of A, B and C";
    }
  }
  return std::nullopt;
}

void GuardedOperands::copy_result() const { copy_rows(c_of(problem_), original_.c, original_.ldc); }

}  // namespace sgemm
