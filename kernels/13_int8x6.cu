// Chapter 13: each FP32 product becomes six INT8 products on Hopper's tensor cores
//
// Against 12: tensor cores multiply integers of 8 bits twice as fast as numbers of 16 bits, and add them up exactly. A
// float becomes an integer of 23 bits by one power of two for its whole row of A or column of B, and the integer three
// signed digits to the base 256:
//
//   x 2^e = d1 2^16 + d2 2^8 + d3, rounded        a b 2^(e + f) = 2^32 (d1 d1)
//   digits from -128 to 127                                     + 2^24 (d1 d2 + d2 d1)
//                                                               + 2^16 (d1 d3 + d2 d2 + d3 d1) + what is left out
//
//   maxima     a kernel of its own finds the largest number of each row of A and each column of B.
//   split      another one writes the digits, operand tile by operand tile: 128 rows of A, or columns of B, by a k-tile
//              of 128. A digit takes a byte, so that an operand tile has the 48 KB and the layout of 11's.
//   lines      up to k = 4096, one kernel does both: the registers of a block hold 4 to 16 whole rows or columns, so
//              that each number is read once.
//   sums       three for each element of C, one for each power of 256. They stay in registers over all k: 192 of a
//              thread's, so that tiles of C are 128x128. Nothing is rounded, and no FP32 unit adds. The three sums
//              become one float at the end. INT32 has room for 43648 k; longer sums are cut into pieces.
//   rings      of two slots for tiles of A and two for tiles of B.
//
// Chapter 11 has and explains the rest. One scale for all of a row means that numbers far below the largest one lose
// digits: the error of an element is small beside K times the largest number of its row of A times that of its column
// of B, and need not be small beside the element. Rows and columns may be of any scale.
//
// Elements of C in rows or columns with Inf, NaN, numbers near FLT_MAX, or denormal numbers alone are computed again
// without tensor cores.
//
// Traffic per element of C: k / 128 numbers of A and of B from global memory, three digits of a byte each.
// Limit: tensor cores, six products at twice the rate of 12's three.

#include "common/problem.hpp"
#include "engine/int8_operands.cuh"
#include "engine/int8_product.cuh"
#include "engine/split_schemes.cuh"
#include "host/chapter.cuh"
#include "host/int8_launch.cuh"
#include "host/launch.cuh"

namespace sgemm {
namespace {

namespace int8 = split_product::int8;
using split_product::SPLIT_BLOCKS_PER_SM;
using split_product::SPLIT_THREADS;

template <bool VECTOR>
__global__ void __launch_bounds__(SPLIT_THREADS) int8x6_maxima_kernel(Problem p, void* maxima) {
  int8::find_maxima<VECTOR>(p, maxima);
}

template <bool VECTOR>
__global__ void __launch_bounds__(SPLIT_THREADS, SPLIT_BLOCKS_PER_SM)
    int8x6_split_kernel(Problem p, void* maxima, void* workspace) {
  int8::split<VECTOR>(p, maxima, workspace);
}

template <bool VECTOR>
__global__ void __launch_bounds__(SPLIT_THREADS, int8::LINES_BLOCKS_PER_SM)
    int8x6_split_lines_kernel(Problem p, void* workspace, int lines) {
  int8::split_lines<VECTOR>(p, workspace, lines);
}

template <bool PAIRS>
__global__ void __launch_bounds__(int8::Shape::THREADS, 1)
    int8x6_kernel(Problem p, void* maxima, void* workspace, Schedule schedule) {
  int8::multiply<PAIRS>(p, maxima, workspace, schedule);
}

constexpr int8::Kernels KERNELS{int8x6_maxima_kernel<true>,
                                int8x6_maxima_kernel<false>,
                                int8x6_split_kernel<true>,
                                int8x6_split_kernel<false>,
                                int8x6_split_lines_kernel<true>,
                                int8x6_split_lines_kernel<false>,
                                int8x6_kernel<true>,
                                int8x6_kernel<false>};

const Registration registered =
    Chapter(13, "int8x6")
        .summary("six INT8 products by wgmma for each FP32 product, exact sums of three digits with one scale per row")
        .source("Ootomo, Ozaki and Yokota")
        .min_compute_capability(90)
        .max_compute_capability(90)  // wgmma is gone from later ones
        .needs_code_for_sm_90a()
        .accuracy(AccuracyClass::int8_split)
        .configurations([](const Problem& p) { return int8::configurations(p, KERNELS); })
        .blocks_per_sm(1)
        .resources([] {
          return resources_of(int8x6_kernel<true>, int8::Shape::THREADS,
                              split_product::Rings<split_product::Int8x6>::SMEM_BYTES);
        })
        .registration();

}  // namespace
}  // namespace sgemm
