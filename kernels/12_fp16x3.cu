// Chapter 12: each FP32 product becomes three FP16 products on Hopper's tensor cores
//
// Against 11: there are two terms instead of three, and so half the products and two thirds of the bytes. FP16 has 10
// mantissa bits where BF16 has 7, but only 5 bits of exponent:
//
//   x   |s|exponent|            23 mantissa bits             |     a b = a1 b1 + a1 b2 + a2 b1
//   x1  |s| 5 |10, rounded      |                                      + what is left out, some 2^-23 of it
//   x2                     |s| 5 |10, rounded       |
//
//   scaling    decides here: FP16 ends at 2^16 and begins to lose bits at 2^-14. An operand tile is scaled so that its
//              largest number lies between 2^7 and 2^15. Rows whose own largest number would lie below 2^-1 are scaled
//              by another 2^16, or twice. So x1 + x2 has 22 bits of every number from 2^-3 on. Below that it is off by
//              2^-25 at most, which is 2^-24 of the largest of its 64 neighbours in the k-tile, or less.
//   rings      have three slots for tiles of A and four for tiles of B, of 32 KB.
//
// Chapter 11 has and explains the rest. This kernel does not suit operands whose rows (of A) or columns (of B) span
// many decades: elements of C that are made of small numbers alone lose bits.
//
// Traffic per element of C: k / 256 numbers of A and k / 128 of B from global memory, two terms of 2 bytes each.
// Limit: as in 11 the power that the tensor cores draw, and the time for splitting, a tenth of the whole at 4096.

#include "engine/split_operands.cuh"
#include "engine/split_product.cuh"
#include "engine/split_schemes.cuh"
#include "host/chapter.cuh"
#include "host/launch.cuh"
#include "host/split_launch.cuh"

namespace sgemm {
namespace {

using split_product::Fp16x3;
using Wide = split_product::Tile128x256<Fp16x3>;
using Narrow = split_product::Tile128x128<Fp16x3>;

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
        .summary("three FP16 products by wgmma for each FP32 product, operands scaled and split into two terms")
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
