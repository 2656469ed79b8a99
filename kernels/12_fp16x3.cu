// Chapter 12

#include "split_product.cuh"

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

template <bool VECTOR>
__global__ void __launch_bounds__(split_product::SPLIT_THREADS, 2) fp16x3_split_kernel(Problem p, void* workspace) {
  split_product::split<Fp16x3, VECTOR>(p, workspace);
}

template <class Shape, bool PAIRS>
__global__ void __launch_bounds__(Shape::THREADS, 1) fp16x3_kernel(Problem p, void* workspace) {
  split_product::multiply<Shape, PAIRS>(p, workspace);
}

using Wide = split_product::TileShape<Fp16x3, 2>;
using Narrow = split_product::TileShape<Fp16x3, 1>;

constexpr split_product::Kernels<Fp16x3> KERNELS{fp16x3_split_kernel<true>,   fp16x3_split_kernel<false>,
                                                 fp16x3_kernel<Wide, true>,   fp16x3_kernel<Wide, false>,
                                                 fp16x3_kernel<Narrow, true>, fp16x3_kernel<Narrow, false>};

const Registration registered =
    Chapter(12, "fp16x3")
        .summary("three FP16 products for each in FP32, operands scaled and split in two")
        .source("Ootomo and Yokota; Markidis et al.")
        .min_compute_capability(90)
        .accuracy(AccuracyClass::fp16_split)
        .max_compute_capability(90)  // wgmma went as it came
        .configurations([](const Problem& p) { return split_product::configurations(p, KERNELS); })
        .blocks_per_sm(1)
        .resources([] {
          return resources_of(fp16x3_kernel<Wide, true>, Wide::THREADS, split_product::Rings<Fp16x3>::SMEM_BYTES);
        })
        .registration();

}  // namespace
}  // namespace sgemm
