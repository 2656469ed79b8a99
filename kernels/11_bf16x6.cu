// Chapter 11: FP32 products on Hopper's warpgroup-wide tensor cores, six in BF16 for each
//
// Against 10: instead of mma.sync, whose operands each warp loads from shared memory and splits again and again, wgmma,
// which reads them from shared memory itself. So they have to lie there in parts, and a kernel before the product
// splits A and B once. A float is the sum of three BF16 numbers, as good as exactly and over its whole range of
// exponents:
//
//   x   |s|exponent|            23 mantissa bits             |     a b = a1 b1 + a1 b2 + a2 b1
//   x1  |s|exponent| 7, rounded|                                       + a2 b2 + a1 b3 + a3 b1
//   x2              |s|exponent| 7, rounded|                         + what is left out, some 2^-25 of it
//   x3                          |s|exponent| 7, rounded|
//
//   a piece of A or B       block 128 x 256, 12 warps           a piece in memory
//   +----------+ 128 rows   +-----------+-----------+           part 1, 16 KB: 128 rows or columns of 64 k, 128 bytes,
//   |          | or         |  w0-w3    |  w0-w3    |  64 rows    whose 16-byte groups have changed places: swizzled
//   +----------+ columns    +-----------+-----------+           part 2
//       64 k                |  w4-w7    |  w4-w7    |  64 rows  part 3
//                           +-----------+-----------+           elsewhere: by how much it was scaled
//                           a piece     another one
//                           of B                      w8 copies
//
//   split      a block for each piece of 128 rows of A, or columns of B, by 64 k. It is written in the order in which
//              shared memory will hold it, so that a piece is copied in one go: one instruction of one thread, carried
//              out by the tensor memory accelerator. Edges are filled with zeros; nothing else knows of them.
//   scaling    by a power of two for all of a piece, so that what is nearly FLT_MAX does not round to Inf and parts of
//              what is nearly denormal do not vanish.
//   rings      of two pieces of A and two of B, as in 08: a thread fills stages, eight warps empty them. An mbarrier
//              counts the bytes that have arrived in a stage, another one the warps that are done with it.
//   promotion  tensor cores cut off the last bits of their sums. Those of 64 k start at 0, with the smallest products
//              first, and are added to the sums over all k by FADDs. With both in registers, 64 rows by 128 columns of
//              the former are all that there is room for: B's pieces take turns, and A's is used twice.
//   overlap    while one warpgroup adds, the tensor cores have the other's products to work on.
//   blocks     one for each SM, which takes tile after tile along the Hilbert curve. The first pieces are on their way
//              while the last tile is stored.
//
// Traffic per element of C: k / 256 pieces' numbers of A and k / 128 of B from global memory, 6 bytes each.
// Limit: tensor cores, which are busy nearly all of the time; how fast they are is up to the power that the chip draws.
//
// What is not finite, and what has rows, columns or ranges of k more than 2^46 times smaller than others, is computed
// again without tensor cores, which takes much longer.
//
// A tile of 128x128 takes the place of 128x256 where that keeps more SMs busy, and where tiles do not keep all of them
// busy k is divided among blocks as well: stream-k, as in 09.
//
// Variants: `1_wgmma` to `6_persistent` come here from 10 step by step, each in a file of its own.

#include "host/split_launch.cuh"

namespace sgemm {
namespace {

using split_product::PartsOfProduct;

struct Bf16x6 {
  using Format = Bf16;
  static constexpr int PARTS = 3;
  static constexpr int PRODUCTS = 6;
  __device__ static constexpr PartsOfProduct product(int i) {
    constexpr PartsOfProduct ORDER[PRODUCTS] = {{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}};
    return ORDER[i];
  }
  // Rows have no scale of their own: BF16 has as many binades as a float.
  static constexpr int ROW_STEP = split_product::LARGEST_SPREAD + 1;
  static constexpr int A_STAGES = 2;
  static constexpr int B_STAGES = 2;
};

using Wide = split_product::TileShape<Bf16x6, 2>;
using Narrow = split_product::TileShape<Bf16x6, 1>;

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
        .summary(
            "six BF16 products for each in FP32, by wgmma, of operands that a kernel before has split in three; bulk "
            "copies, warps that copy and warps that multiply, sums of 64 k added in FP32")
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
