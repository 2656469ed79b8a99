#include "cli/flags.hpp"
#include "cli/values.hpp"
#include "simt/gpu_models.hpp"

#include <fmt/format.h>

#include <string_view>

namespace sgemm {
namespace {

constexpr std::string_view MORE_HELP = R"(
Kernels, separated by commas (--list shows them):
  5  coarse_1d  05_coarse_1d    the default variant of one chapter; 0 is cuBLAS
  1-7                           the default variants of chapters 1 to 7
  1:uncoalesced  1:*            one variant, or all variants, of chapter 1
  "9:64x64 stream-k"            one configuration in place of the kernel's own choice
  all  chapters  baselines      all variants of all kernels, of chapters, of other kernels
  my.cu  my.cu:sgemm            a file of your own, or one of its kernels

A file of your own is plain CUDA. A comment in it, or --launch, says how its product is launched,
unless it has one host function that launches, with parameters whose names tell:
  launch: sgemm<<<dim3(ceil_div(N, 32), ceil_div(M, 32)), dim3(32, 32)>>>(M, N, K, A, B, C)
  requires: M % 128 == 0 && alpha == 1 && beta == 0
  workspace: 4 * M * N
Names of the problem: M N K alpha beta A B C lda ldb ldc batch stream workspace

Sizes, separated by commas:
  1000                          M = N = K = 1000
  256:8192                      256, 512, 1024 and so on to 8192
  256:8192:256                  from 256 to 8192 in steps of 256
  4096x128x64                   M = 4096, N = 128, K = 64
  96x512x512x64                 a batch of 96 products of 512x512x64 in one call
  4096:nt  512:2048:tt          any of these, transposed in memory: B (nt), A (tn) or both (tt)
Libraries and files with a launch of their own compute the last two. Chapters do not.

Operands; --accuracy takes several separated by commas, or all, which leaves out the last four:
{data}
GPUs that --count counts for:
{gpus}
Flags of Google Benchmark (--benchmark_filter=REGEX, ...) work as well.

Examples:
  runner --kernel 5 --sizes 256:8192
  runner --kernel 0-7 --sizes 4096,4097 --l2 warm --out warm.json
  runner --kernel cpu_naive,cpu_blas --sizes 64:1024 --time end-to-end
  runner --kernel 1-7 --sizes 256 --device cpu
  runner --kernel 1-7 --sizes 4096 --count --gpu-model h200
  runner --kernel 5 --count --trace accesses.html
  runner --kernel all --accuracy --data uniform,cancelling
  runner --kernel "9,9:64x64 stream-k" --sizes 700,1000
  runner --new-kernel my.cu
  runner --judge my.cu --sizes 1024,4096 --json -
  runner --kernel my.cu --device cpu --check --sizes 100,257x130x9
  runner --kernel cublas,5,my.cu --sizes 256:4096
  runner --kernel libsgemm:* --sizes 4096,4096:nt,4096:tn,96x512x512x64:nt
  runner --kernel 9,12 --sizes 1024:8192 --energy
  runner --kernel 9,12 --sizes 8192 --sustain 20

Exit status:
  0    a case or more was measured, sustained, executed, compared, counted or profiled; none went
       wrong
  1    a case was incorrect, implausible or failed
  2    the usage was wrong or the output can not be written; nothing was measured
  3    no case could be measured, sustained, executed, compared, counted or profiled; with --judge a
       file could not be judged, as without a GPU for its speed, and none was refused
  4    --judge refused a file; it ends with 0 where all were accepted
  130  the run was interrupted; the file has the results so far
)";

/// A line of the help text for each.
std::string data_lines() {
  std::string lines;
  for (const Distribution data : KINDS) {
    lines += fmt::format("  {:<30}{}\n", to_string(data), summary(data));
  }
  return lines;
}

/// A line of the help text for each.
std::string gpu_lines() {
  std::string lines;
  for (const simt::GpuModel& gpu : simt::gpu_models()) {
    lines += fmt::format("  {:<30}{}, {} SMs, {} MiB of L2\n", gpu.id, gpu.name, gpu.sms, gpu.l2_bytes >> 20U);
  }
  return lines;
}

}  // namespace

std::string more_help() {
  return fmt::format(fmt::runtime(MORE_HELP), fmt::arg("data", data_lines()), fmt::arg("gpus", gpu_lines()));
}

}  // namespace sgemm
