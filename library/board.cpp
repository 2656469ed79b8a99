#include "board.hpp"

#include <algorithm>
#include <iterator>

namespace sgemm {
namespace {

constexpr int H200_MULTIPROCESSORS = 132;
constexpr double H200_CLOCK_MHZ = 1980;
constexpr double H200_BYTES_PER_US = 2 * 3201 * 6016 / 8.0;

// Of a board that was not measured.
constexpr double MARGIN = 1.25;
/// With half the power of an H200, tensor cores keep so much less of their clock in long products.
constexpr double THROTTLED = 0.6;

/// Boards of compute capability 9.0 whose tensor cores do as much in a cycle as those of an H200.
constexpr const char* FULL_TENSOR_CORES[] = {"H100", "H200", "H800"};

bool has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

bool has_full_tensor_cores(const std::string& name) {
  return std::any_of(std::begin(FULL_TENSOR_CORES), std::end(FULL_TENSOR_CORES),
                     [&](const char* board) { return has(name, board); });
}

}  // namespace

BoardModel model_of(const Board& board) {
  BoardModel model;
  const bool is_known = board.clock_mhz > 0 && board.bytes_per_us > 0 && board.multiprocessors > 0;
  const double clock = is_known ? board.clock_mhz / H200_CLOCK_MHZ : 1.0;
  const double bytes = is_known ? board.bytes_per_us / H200_BYTES_PER_US : 1.0;
  const bool is_sxm = board.name.starts_with("NVIDIA H200") || board.name.starts_with("NVIDIA H100 80GB HBM3");
  const bool is_part = has(board.name, "MIG");  // which shares the memory and the power with others
  const bool is_measured =
      is_known && is_sxm && !is_part && board.multiprocessors == H200_MULTIPROCESSORS && clock >= 1.0;
  const bool has_tensor_cores = is_measured || (is_known && has_full_tensor_cores(board.name));
  // A part of the multiprocessors has a part of the memory's bandwidth, which CUDA may not tell.
  const double part = static_cast<double>(board.multiprocessors) / H200_MULTIPROCESSORS;
  for (MethodRates& method : model.methods) {
    const bool is_throttled = !is_measured && method.throttled < method.clock;
    method.clock *= clock;
    method.throttled *= is_throttled ? clock * THROTTLED : clock;
    method.single *= is_measured ? clock : std::min(clock, part);
    method.bytes *= is_measured ? bytes : std::min(bytes, part);
  }
  model.full_clock_cycles *= is_measured ? clock : 0.0;
  model.cublas.flops *= clock;
  model.cublas.bytes *= bytes;
  model.margin = is_measured ? 1.0 : MARGIN;
  if (!has_tensor_cores) {
    for (const Method method : {Method::bf16x6, Method::tall_bf16x6, Method::fp16x3, Method::reproducible}) {
      model[method].clock = 0.0;
    }
  }
  return model;
}

}  // namespace sgemm
