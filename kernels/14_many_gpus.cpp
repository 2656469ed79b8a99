// Chapter 14: many_gpus, one product on all GPUs of a machine
//
//                 columns q of B                    The GPU at (p, q) of a P x Q grid computes one block of C. It owns
//                 +-----+                           one block of A and one of B, and needs
//              P  |. . .|                             all K of its rows of A:    Q - 1 blocks from its grid row,
//                 |     |                             all K of its columns of B: P - 1 blocks from its grid column.
//                 +-----+
//  rows p  +-----+ +---+      received: 4 (M/P K (Q-1)/Q + K N/Q (P-1)/P) bytes a GPU, 4 N^2 / 4 on 2 x 2 GPUs
//  of A    |. . .| | C |      computed: 2 M N K / (P Q) FLOP a GPU
//          +-----+ +---+
//             Q              With 395 GB/s a link and 54 TFLOP/s a GPU, 2 x 2 GPUs at N = 16384 receive for 1.4 ms and
//                            compute for 41: the copies cost nothing if they run beside the products.
//
// So the product is cut along k (many_gpus/schedule/schedule.hpp). A GPU begins with what it owns; meanwhile the copy
// engines, which take no SM from the product, bring the pieces for the steps to come. Each step is a product by a
// chapter for one GPU, as it stands there: 09 in FP32, 11, 12 and 13 on tensor cores. Chapter 13 scales a row of A or a
// column of B as a whole; here that is the part of it that a step multiplies.
//
// Chapter 15 needs all of K at once: its scales, and one rounding at the end. So it waits for all pieces, and its bits
// do not depend on the grid (many_gpus/ranks/rank.cpp).

#include "schedule/product.hpp"

#include "common/problem.hpp"
#include "host/chapter.hpp"

#include <string>
#include <vector>

namespace sgemm {

std::vector<Problem> problems_of(const Schedule& schedule, const Shape& shape, const Panels& panels,
                                 const PanelMemory& memory, float* c) {
  std::vector<Problem> problems;
  float beta = shape.beta;
  for (const Step& step : schedule.steps) {
    Problem problem{{panels.rows, panels.columns, step.k.size(), shape.alpha, beta}};
    problem.a = memory.a + panels.a_at(step.a_block.begin) + (step.k.begin - step.a_block.begin);
    problem.lda = step.a_block.size();
    problem.b = memory.b + panels.b_at(step.k.begin);
    problem.ldb = panels.columns;
    problem.c = c;
    problem.ldc = panels.columns;
    problems.push_back(problem);
    beta = 1.0F;  // what the steps before have added up
  }
  return problems;
}

void multiply(const std::vector<LocalProduct>& products, const PanelMemory& memory, const Transfers& transfers,
              Exchange& exchange, cudaStream_t stream) {
  exchange.start(memory, transfers);
  for (const LocalProduct& product : products) {
    exchange.await(product.pieces, stream);
    product.kernel(product.problem, stream);
  }
}

namespace {

CompiledChapter chapter(const std::string& variant, const std::string& local, const std::string& summary,
                        AccuracyClass accuracy, int min_compute_capability) {
  CompiledChapter kernel;
  kernel.number = 14;
  kernel.name = "many_gpus";
  kernel.variant = variant;
  kernel.summary = summary;
  kernel.source = "van de Geijn and Watts 1997";
  kernel.accuracy = accuracy;
  kernel.min_compute_capability = min_compute_capability;
  kernel.local_kernel = local;
  kernel.unsupported = nullptr;  // asking would make the operands in one place
  return kernel;
}

const Registration fp32(chapter("", "09_every_shape", "several GPUs exchange blocks while chapter 09 multiplies",
                                AccuracyClass::fp32, 80));
const Registration bf16x6(chapter("bf16x6", "11_bf16x6", "several GPUs exchange blocks while chapter 11 multiplies",
                                  AccuracyClass::bf16_split, 90));
const Registration fp16x3(chapter("fp16x3", "12_fp16x3", "several GPUs exchange blocks while chapter 12 multiplies",
                                  AccuracyClass::fp16_split, 90));
const Registration int8x6(chapter("int8x6", "13_int8x6", "several GPUs exchange blocks while chapter 13 multiplies",
                                  AccuracyClass::int8_split, 90));
const Registration reproducible(chapter("reproducible", "15_reproducible",
                                        "several GPUs exchange blocks, and chapter 15 multiplies at the end",
                                        AccuracyClass::int8_split, 90));

}  // namespace
}  // namespace sgemm
