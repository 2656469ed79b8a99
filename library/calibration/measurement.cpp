#include "calibration/measurement.hpp"

#include "common/cuda_check.hpp"
#include "gemm_call.hpp"
#include "status_error.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace sgemm {
namespace {

constexpr int MOST_SAMPLES = 7;
constexpr int FEWEST_SAMPLES = 3;
constexpr double MICROSECONDS_OF_SAMPLES = 20e3;  // for which a product is called more often than that
constexpr std::size_t CACHES_FLUSHED = 4;
/// Size of a square that cuBLAS multiplies before each call: in a program other kernels come between two calls, so that
/// the code of a kernel has to be fetched again. One of the library's takes up to 4 us longer.
constexpr std::int64_t BETWEEN = 640;
constexpr double WARM_UP = 500e3;  // microseconds until clocks have settled
enum { A, B, C, FLUSHED, WORKSPACE };

std::size_t l2_bytes() {
  int device = 0;
  int bytes = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
  return static_cast<std::size_t>(bytes);
}

/// Ordinary numbers of both signs: power depends on the bits.
void fill(void* memory, std::size_t bytes) {
  std::vector<float> numbers(std::min<std::size_t>(bytes / sizeof(float), std::size_t{1} << 20U));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::generate(numbers.begin(), numbers.end(), [&] { return uniform(random); });
  std::size_t filled = numbers.size() * sizeof(float);
  CUDA_CHECK(cudaMemcpy(memory, numbers.data(), filled, cudaMemcpyHostToDevice));
  while (filled < bytes) {
    const std::size_t more = std::min(filled, bytes - filled);
    CUDA_CHECK(cudaMemcpy(static_cast<char*>(memory) + filled, memory, more, cudaMemcpyDeviceToDevice));
    filled += more;
  }
}

}  // namespace

GemmBatch contiguous(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed, bool b_transposed,
                     std::int64_t count) {
  const auto operand = [](bool transposed, std::int64_t rows, std::int64_t columns) {
    return matrix_of(transposed ? SGEMM_OP_T : SGEMM_OP_N, nullptr, transposed ? rows : columns, rows * columns);
  };
  return row_major(product_of(SGEMM_ORDER_ROW_MAJOR, m, n, k, nullptr, operand(a_transposed, m, k),
                              operand(b_transposed, k, n), nullptr, nullptr, n, m * n, count),
                   SGEMM_POINTER_MODE_HOST);
}

Measurement::Measurement(std::size_t elements) : Measurement() {  // so that the destructor frees what a failure leaves
  std::size_t free = 0;
  std::size_t total = 0;
  CUDA_CHECK(cudaMemGetInfo(&free, &total));
  elements_ = std::min(elements, free / 8 / sizeof(float));
  flushed_bytes_ = CACHES_FLUSHED * l2_bytes();
  for (const int buffer : {A, B, C}) {
    CUDA_CHECK(cudaMalloc(&memory_[buffer], elements_ * sizeof(float)));
    fill(memory_[buffer], elements_ * sizeof(float));
  }
  CUDA_CHECK(cudaMalloc(&memory_[FLUSHED], flushed_bytes_));
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  CUDA_CHECK(cudaEventCreate(&begin_));
  CUDA_CHECK(cudaEventCreate(&end_));
  if (!blas_.make_ready(stream_)) {
    throw StatusError(SGEMM_STATUS_NOT_SUPPORTED);
  }
  blas_.set_stream(stream_, nullptr, 0);
  CUDA_CHECK(cudaDeviceSynchronize());
  GemmBatch warm = contiguous(1024, 1024, 1024, false, false);
  for (double us = 0; place(warm) && us < WARM_UP;) {
    us += sample([&] { blas_.gemm(warm); });
  }
}

Measurement::~Measurement() {
  for (void* const buffer : memory_) {
    cudaFree(buffer);
  }
  for (cudaEvent_t event : {begin_, end_}) {
    if (event != nullptr) {
      cudaEventDestroy(event);
    }
  }
  if (stream_ != nullptr) {
    cudaStreamDestroy(stream_);
  }
}

bool Measurement::place(GemmBatch& batch) const {
  batch.first.a = static_cast<const float*>(memory_[A]);
  batch.first.b = static_cast<const float*>(memory_[B]);
  batch.first.c = static_cast<float*>(memory_[C]);
  batch.first.alpha = 1.0F;
  batch.first.beta = 0.0F;
  const auto largest = static_cast<std::size_t>(std::max({batch.stride_a, batch.stride_b, batch.stride_c}));
  return largest * static_cast<std::size_t>(batch.count) <= elements_;
}

double Measurement::sample(const std::function<void()>& enqueue) {
  CUDA_CHECK(cudaMemsetAsync(memory_[FLUSHED], 0, flushed_bytes_, stream_));
  GemmBatch before = contiguous(BETWEEN, BETWEEN, BETWEEN, false, true);
  if (place(before)) {
    blas_.gemm(before);
  }
  CUDA_CHECK(cudaEventRecord(begin_, stream_));
  enqueue();
  CUDA_CHECK(cudaEventRecord(end_, stream_));
  CUDA_CHECK(cudaEventSynchronize(end_));
  float milliseconds = 0.0F;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
  return 1e3 * static_cast<double>(milliseconds);
}

double Measurement::median_of(const std::function<void()>& enqueue) {
  const double first = sample(enqueue);  // which loads code
  const int count = std::clamp(static_cast<int>(MICROSECONDS_OF_SAMPLES / first), FEWEST_SAMPLES, MOST_SAMPLES);
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) {
    samples.push_back(sample(enqueue));
  }
  std::nth_element(samples.begin(), samples.begin() + count / 2, samples.end());
  return samples[static_cast<std::size_t>(count / 2)];
}

std::optional<double> Measurement::of_cublas(const GemmBatch& shape) {
  GemmBatch batch = shape;
  return place(batch) ? std::optional(median_of([&] { blas_.gemm(batch); })) : std::nullopt;
}

std::optional<double> Measurement::of(const Algorithm& algorithm, const GemmBatch& shape) {
  GemmBatch batch = shape;
  if (!place(batch)) {
    return std::nullopt;
  }
  if (algorithm.workspace_bytes > workspace_bytes_) {
    CUDA_CHECK(cudaFree(memory_[WORKSPACE]));
    memory_[WORKSPACE] = nullptr;
    workspace_bytes_ = 0;
    if (cudaMalloc(&memory_[WORKSPACE], algorithm.workspace_bytes) != cudaSuccess) {
      cudaGetLastError();
      return std::nullopt;
    }
    workspace_bytes_ = algorithm.workspace_bytes;
  }
  return median_of([&] { algorithm.launch(batch, memory_[WORKSPACE], stream_); });
}

}  // namespace sgemm
