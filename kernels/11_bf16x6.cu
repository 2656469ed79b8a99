// Chapter 11: each FP32 product becomes six BF16 products on Hopper's tensor cores
//
// Against 10: with mma.sync each warp loads its operands from shared memory and splits them again and again. wgmma
// reads operands from shared memory itself, so they have to lie there as terms. A kernel before the product splits A
// and B once. A float is the sum of three BF16 numbers, nearly exactly and over its whole range of exponents:
//
//   x   |s|exponent|            23 mantissa bits             |     a b = a1 b1 + a1 b2 + a2 b1
//   x1  |s|exponent| 7, rounded|                                       + a2 b2 + a1 b3 + a3 b1
//   x2              |s|exponent| 7, rounded|                         + what is left out, some 2^-25 of it
//   x3                          |s|exponent| 7, rounded|
//
//   a tile of A or B        block 128 x 256, 12 warps           an operand tile in memory
//   +----------+ 128 rows   +-----------+-----------+           term 1, 16 KB: 128 rows or columns, BK = 64, 128 bytes,
//   |          | or         |  w0-w3    |  w0-w3    |  64 rows    whose 16-byte groups have changed places: swizzled
//   +----------+ columns    +-----------+-----------+           term 2
//     BK = 64               |  w4-w7    |  w4-w7    |  64 rows  term 3
//                           +-----------+-----------+           elsewhere: by how much it was scaled
//                           a tile      another one
//                           of B                      w8 copies
//
//   split      a block for each operand tile: 128 rows of A, or columns of B, by a k-tile of 64. It is written in the
//              order in which shared memory will hold it. So one instruction of one thread copies a tile, and the
//              tensor memory accelerator carries it out. The kernel fills edges with zeros, and no other code deals
//              with them.
//   scaling    a power of two for the whole tile. Numbers near FLT_MAX then do not round to Inf, and the terms of
//              nearly denormal numbers do not vanish.
//   rings      of two slots for tiles of A and two for tiles of B, as in 08: a producer thread fills them, and eight
//              consumer warps empty them. An mbarrier counts the bytes that have arrived in a slot, another one the
//              warps that are done with it.
//   promotion  tensor cores cut off the last bits of their sums. The sums of a k-tile start at 0, with the smallest
//              products first, and FADDs add them to the accumulators over all k. Both lie in registers, so there is
//              room only for the sums of 64 rows by 128 columns: B's tiles take turns, and A's tile is used twice.
//   overlap    while one warpgroup adds, the tensor cores compute the products of the other.
//   blocks     each SM has one, which takes tile after tile of C along the Hilbert curve. The first operand tiles
//              arrive while the last accumulators are stored.
//
// Traffic per element of C: k / 256 numbers of A and k / 128 of B from global memory, three terms of 2 bytes each.
// Limit: tensor cores, which are busy nearly all of the time. Their clock depends on the power that the chip draws.
//
// Elements of C that are not finite are computed again without tensor cores, which takes much longer. The same holds
// for elements of rows, columns or k-tiles that are more than 2^46 times smaller than others.
//
// Tiles of 128x128 replace those of 128x256 if they keep more SMs busy. If tiles do not keep all SMs busy, k is divided
// among blocks as well: stream-k, as in 09.
//
// Variants: `1_wgmma` to `6_persistent` lead from 10 to this kernel step by step, each in a file of its own.

#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "host/chapter.cuh"
#include "host/launch.cuh"
#include "host/split_launch.cuh"

namespace sgemm {
namespace {

using split_product::Bf16x6;
using Wide = split_product::Tile128x256<Bf16x6>;
using Narrow = split_product::Tile128x128<Bf16x6>;

template <bool VECTOR>
__global__ void __launch_bounds__(split_product::SPLIT_THREADS, split_product::SPLIT_BLOCKS_PER_SM)
    bf16x6_split_kernel(Problem p, void* workspace) {
  split_product::split<Bf16x6, VECTOR>(p, workspace);
}

template <class Shape, bool PAIRS>
__global__ void __launch_bounds__(Shape::THREADS, 1) bf16x6_kernel(Problem p, void* workspace, Schedule schedule) {
  split_product::multiply<Shape, PAIRS>(p, workspace, schedule);
}

constexpr split_product::Kernels<Bf16x6> KERNELS{bf16x6_split_kernel<true>,   bf16x6_split_kernel<false>,
                                                 bf16x6_kernel<Wide, true>,   bf16x6_kernel<Wide, false>,
                                                 bf16x6_kernel<Narrow, true>, bf16x6_kernel<Narrow, false>};

const Registration registered =
    Chapter(11, "bf16x6")
        .summary("six BF16 products by wgmma for each FP32 product, operands split into three terms")
        .source("Henry et al.; Ootomo and Yokota")
        .min_compute_capability(90)
        .max_compute_capability(90)  // wgmma is gone from later ones
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::bf16_split)
        .configurations([](const Problem& p) { return split_product::configurations(p, KERNELS); })
        .blocks_per_sm(1)
        .resources([] {
          return resources_of(bf16x6_kernel<Wide, true>, Wide::THREADS, split_product::Rings<Bf16x6>::SMEM_BYTES);
        })
        .registration();

}  // namespace
}  // namespace sgemm
