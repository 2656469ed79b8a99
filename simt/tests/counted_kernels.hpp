#pragma once

#include <cstdint>

#include <cstddef>

namespace simt::test {

/// C = alpha * A * B of row-major matrices without gaps: A is m x k, B is k x n.
struct Product {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  float alpha;
  const float* a;
  const float* b;
  float* c;
};

/// Elements of the arrays that the kernels of one block get.
constexpr std::size_t COUNTED_ELEMENTS = 4096;

/// One block that makes known requests.
using CountedKernel = void (*)(const float* in, float* out);

/// Each lane stores and loads shared memory once, so many words from its neighbour.
void shared_stride_1(const float* in, float* out);
void shared_stride_2(const float* in, float* out);
void shared_stride_32(const float* in, float* out);
void shared_stride_33(const float* in, float* out);
/// Those patterns with loads of global memory.
void global_broadcast(const float* in, float* out);
void global_stride_2(const float* in, float* out);
void global_stride_8(const float* in, float* out);
void global_vectors(const float* in, float* out);
/// Even lanes load once, all store.
void half_of_the_lanes(const float* in, float* out);
/// The upper lanes load before all do.
void upper_lanes_first(const float* in, float* out);
/// Lane l loads l % 4 times.
void different_trip_counts(const float* in, float* out);
/// 32 copies of 4 bytes, of which half write zeros, and 32 of 16 bytes.
void async_copies(const float* in, float* out);
/// Three warps at two barriers, then two of them at another.
void some_barriers(const float* in, float* out);
/// 33 threads: 3 multiplications, 2 additions, a subtraction and a division each.
void some_flops(const float* in, float* out);
/// Eight warps load the same line, twice.
void same_line_again(const float* in, float* out);

/// Products by blocks of 16 x 16 threads, none of which finds its tile as the others do.
/// Eight blocks that take tile after tile.
void persistent_product(const Product& p);
/// Blocks of the second half read an element of A once more.
void product_with_extra_reads(const Product& p);
/// Extra reads in the last block alone.
void product_with_extra_reads_at_the_end(const Product& p);
/// Blocks take tiles in an order without pattern.
void shuffled_product(const Product& p);
/// The same with one step, whose operands are copied in bulk.
void product_by_bulk_copies(const Product& p);
/// Every block's bank conflicts depend on its number.
void product_with_different_conflicts(const Product& p);
/// Reads nothing.
void fill(const Product& p);

}  // namespace simt::test
