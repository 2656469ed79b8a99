// Chapter 12: FP32 products on Hopper's tensor cores, three in FP16 for each
//
// Against 11: two parts instead of three, and so half the products and two thirds of the bytes. FP16 has 10 mantissa
// bits to BF16's 7, but 5 bits of exponent:
//
//   x   |s|exponent|            23 mantissa bits             |     a b = a1 b1 + a1 b2 + a2 b1
//   x1  |s| 5 |10, rounded      |                                      + what is left out, some 2^-23 of it
//   x2                     |s| 5 |10, rounded       |
//
//   scaling    is what it takes now. 2^16 is where FP16 ends and 2^-14 where it begins to lose bits. A piece is scaled
//              so that its largest number lies between 2^7 and 2^15, and rows whose own largest would come below 2^-1
//              by another 2^16, or twice. So x1 + x2 has 22 bits of every number from 2^-3 on, and is off by 2^-25 at
//              most below: by 2^-24 of the largest of its 64 neighbours along k, or less.
//   rings      three pieces of A and four of B, of 32 KB.
//
// The rest is chapter 11's: see there. Not for operands whose rows (of A) or columns (of B) span many decades, where
// what is small is what counts: elements of C that are made of nothing else lose bits.
//
// Traffic per element of C: k / 256 pieces' numbers of A and k / 128 of B from global memory, 4 bytes each.
// Limit: as in 11 the power that the tensor cores draw; and the time for splitting, a tenth of the whole at 4096.

#include "host/split_launch.cuh"

namespace sgemm {
namespace {

using split_product::PartsOfProduct;

struct Fp16x3 {
  using Format = Fp16;
  static constexpr int PARTS = 2;
  static constexpr int PRODUCTS = 3;
  __device__ static constexpr PartsOfProduct product(int i) {
    constexpr PartsOfProduct ORDER[PRODUCTS] = {{1, 0}, {0, 1}, {0, 0}};
    return ORDER[i];
  }
  static constexpr int ROW_STEP = 16;  // binades
  static constexpr int A_STAGES = 3;
  static constexpr int B_STAGES = 4;
};

using Wide = split_product::TileShape<Fp16x3, 2>;
using Narrow = split_product::TileShape<Fp16x3, 1>;

template <bool VECTOR>
__global__ void __launch_bounds__(split_product::SPLIT_THREADS, split_product::SPLIT_BLOCKS_PER_SM)
    fp16x3_split_kernel(Problem p, void* workspace) {
  split_product::split<Fp16x3, VECTOR>(p, workspace);
}

template <class Shape, bool PAIRS>
__global__ void __launch_bounds__(Shape::THREADS, 1) fp16x3_kernel(Problem p, void* workspace, Schedule schedule) {
  split_product::multiply<Shape, PAIRS>(p, workspace, schedule);
}

constexpr split_product::Kernels<Fp16x3> KERNELS{fp16x3_split_kernel<true>,   fp16x3_split_kernel<false>,
                                                 fp16x3_kernel<Wide, true>,   fp16x3_kernel<Wide, false>,
                                                 fp16x3_kernel<Narrow, true>, fp16x3_kernel<Narrow, false>};

const Registration registered =
    Chapter(12, "fp16x3")
        .summary(
            "three FP16 products for each in FP32, the same way: operands scaled by powers of two and split in two")
        .source("Ootomo and Yokota; Markidis et al.")
        .min_compute_capability(90)
        .max_compute_capability(90)  // wgmma is gone from later ones
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::fp16_split)
        .configurations([](const Problem& p) { return split_product::configurations(p, KERNELS); })
        .blocks_per_sm(1)
        .resources([] {
          return resources_of(fp16x3_kernel<Wide, true>, Wide::THREADS, split_product::Rings<Fp16x3>::SMEM_BYTES);
        })
        .registration();

}  // namespace
}  // namespace sgemm
