// How fast libsgemm is beside cublasSgemm, on products as programs make them: linear layers forward and backward,
// attention, experts, Gram matrices, and squares in all four layouts. The file gets a line for each product. The runner
// measures each case more carefully; this program has the list of products.
//
//     library_benchmark FILE.csv
//
// Each sample has a cold L2, and those of the library and of cuBLAS take turns. Exit status: 0 fine, 2 usage, 3 where a
// call fails.

#include "base/statistics.hpp"
#include "device/cublas_handle.hpp"
#include "device/cuda_handles.hpp"
#include "device/device_buffer.hpp"
#include "sgemm/sgemm.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sgemm {
namespace {

constexpr int SAMPLES = 7;
constexpr double SLOWER = 0.97;  ///< of cuBLAS's speed, below which a product counts as slower

constexpr std::pair<const char*, sgemm_accuracy_t> ACCURACIES[] = {{"fp32", SGEMM_ACCURACY_FP32},
                                                                   {"componentwise", SGEMM_ACCURACY_COMPONENTWISE},
                                                                   {"normwise", SGEMM_ACCURACY_NORMWISE},
                                                                   {"rowwise", SGEMM_ACCURACY_ROWWISE}};

/// Throws std::runtime_error unless a call of the library succeeded.
void check(sgemm_status_t status) {
  if (status != SGEMM_STATUS_SUCCESS) {
    throw std::runtime_error(fmt::format("{}: {}", sgemm_status_name(status), sgemm_status_string(status)));
  }
}

/// Numbers between -1 and 1. Power depends on the bits, so these are not all the same.
DeviceBuffer<float> random_numbers(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 2654435761U) % 16777216U) / 8388608.0F - 1.0F;
  }
  DeviceBuffer<float> buffer(values.size());
  buffer.copy_from_host(values);
  return buffer;
}

/// Times of work on a stream.
class ColdSamples {
 public:
  cudaStream_t stream() { return stream_.get(); }

  /// Microseconds of what `run` enqueues on the stream, with a cold L2.
  double time(const std::function<void()>& run) {
    flush_.enqueue(stream_.get());
    CUDA_CHECK(cudaEventRecord(start_.get(), stream_.get()));
    run();
    CUDA_CHECK(cudaEventRecord(stop_.get(), stream_.get()));
    CUDA_CHECK(cudaStreamSynchronize(stream_.get()));
    float milliseconds = 0.0F;
    CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()));
    return double{milliseconds} * 1000.0;
  }

 private:
  static std::size_t l2_bytes() {
    int device = 0;
    int bytes = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device));
    return static_cast<std::size_t>(bytes);
  }

  Stream stream_ = make_stream();
  Event start_ = make_event();
  Event stop_ = make_event();
  L2Flush flush_{l2_bytes()};
};

/// A row-major product, or a batch of them.
struct Product {
  std::string name;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  bool a_transposed = false;
  bool b_transposed = false;
  std::int64_t batch = 1;
  bool by_address = false;  ///< the batch has arrays of addresses on the GPU instead of strides

  std::int64_t lda() const { return a_transposed ? m : k; }
  std::int64_t ldb() const { return b_transposed ? k : n; }
  std::string layout() const { return std::string(a_transposed ? "T" : "N") + (b_transposed ? "T" : "N"); }
};

std::vector<Product> products() {
  std::vector<Product> all;
  const auto add_in_all_layouts = [&](const char* name, std::int64_t size) {
    for (const auto& [a, b] : {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
      all.push_back({name, size, size, size, a, b});
    }
  };
  for (const std::int64_t size : {512, 1024, 2048, 3000, 4096, 8192, 16384}) {
    add_in_all_layouts("square", size);
  }
  for (std::int64_t size = 192; size <= 1024; size += 64) {
    add_in_all_layouts("small", size);
  }
  // Y = X W^T, dX = dY W and dW = dY^T X, where W is out x in.
  const std::pair<std::int64_t, std::int64_t> layers[] = {// in, out
                                                          {768, 768},   {768, 2304},  {768, 3072},  {3072, 768},
                                                          {1024, 4096}, {2048, 2048}, {2048, 8192}, {4096, 4096},
                                                          {4096, 8192}, {8192, 2048}, {8192, 8192}};
  for (const std::int64_t tokens : {1024, 4096, 16384}) {
    for (const auto& [in, out] : layers) {
      all.push_back({"forward", tokens, out, in, false, true});
      all.push_back({"dgrad", tokens, in, out, false, false});
      all.push_back({"wgrad", out, in, tokens, true, false});
    }
  }
  for (const auto& [heads, length] : {std::pair{192, 512}, {96, 1024}, {32, 2048}, {16, 4096}}) {
    all.push_back({"scores", length, length, 64, false, true, heads});
    all.push_back({"values", length, 64, length, false, false, heads});
    all.push_back({"values", length, 64, length, true, false, heads});
    all.push_back({"scores by address", length, length, 64, false, true, heads, true});
  }
  // Layers of a network that answers few questions at a time.
  for (const std::int64_t tokens : {8, 32, 64, 128}) {
    for (const auto& [in, out] : {std::pair{4096, 4096}, {4096, 16384}, {8192, 8192}}) {
      all.push_back({"few tokens", tokens, out, in, false, true});
    }
  }
  // Experts, each with tokens of its own.
  for (const auto& [experts, tokens] : {std::pair{8, 1024}, {16, 512}, {64, 128}}) {
    for (const bool by_address : {false, true}) {
      const std::string name = by_address ? "experts by address" : "experts";
      all.push_back({name, tokens, 2048, 768, false, true, experts, by_address});
      all.push_back({name, tokens, 768, 2048, false, true, experts, by_address});
    }
  }
  for (const auto& [count, size] : {std::pair{1000, 256}, {100, 300}, {64, 512}, {16, 1024}, {4, 2048}, {2, 4096}}) {
    for (const bool by_address : {false, true}) {
      all.push_back({by_address ? "squares by address" : "squares", size, size, size, false, false, count, by_address});
    }
  }
  for (const auto& [rows, columns] : {std::pair{65536, 512}, {32768, 1024}, {16384, 4096}, {100000, 300}}) {
    all.push_back({"gram", columns, columns, rows, true, false});
  }
  for (const auto& [m, n, k] : {std::tuple{300, 5000, 700},
                                {5000, 700, 9000},
                                {32, 8192, 8192},
                                {8192, 32, 8192},
                                {1, 8192, 8192},
                                {16384, 16384, 64},
                                {1000, 1000, 1000},
                                {333, 333, 333},
                                {64, 64, 100000}}) {
    all.push_back({"odd", m, n, k});
  }
  return all;
}

class Benchmark {
 public:
  Benchmark() {
    check(sgemm_create(&library_));
    check(sgemm_set_stream(library_, samples_.stream()));
  }
  ~Benchmark() { sgemm_destroy(library_); }
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  /// The medians of both in microseconds.
  struct Times {
    double library;
    double cublas;
  };
  Times compare(const Product& product, sgemm_accuracy_t accuracy) {
    reserve(product);
    check(sgemm_set_accuracy(library_, accuracy));
    run_library(product);  // the first calls load code and allocate
    run_cublas(product);
    std::vector<double> library;
    std::vector<double> cublas;
    for (int i = 0; i < SAMPLES; ++i) {
      const bool library_first = order_() % 2 == 0;
      for (const bool of_library : {library_first, !library_first}) {
        (of_library ? library : cublas).push_back(samples_.time([&] {
          of_library ? run_library(product) : run_cublas(product);
        }));
      }
    }
    return {median(library), median(cublas)};
  }

  sgemm_plan_t plan(const Product& product, sgemm_accuracy_t accuracy) {
    sgemm_plan_t plan{};
    check(sgemm_set_accuracy(library_, accuracy));
    const sgemm_product_t call = call_of(product);
    check(sgemm_plan(library_, &call, &plan));
    return plan;
  }

 private:
  static sgemm_op_t op(bool transposed) { return transposed ? SGEMM_OP_T : SGEMM_OP_N; }

  void reserve(const Product& product) {
    const auto grow = [](DeviceBuffer<float>& buffer, std::int64_t count) {
      if (buffer.size() < static_cast<std::size_t>(count)) {
        buffer = {};
        buffer = random_numbers(count);
      }
    };
    grow(a_, product.m * product.k * product.batch);
    grow(b_, product.k * product.n * product.batch);
    grow(c_, product.m * product.n * product.batch);
    if (product.by_address) {
      each_a_ = addresses(a_, product.m * product.k, product.batch);
      each_b_ = addresses(b_, product.k * product.n, product.batch);
      each_c_ = addresses(c_, product.m * product.n, product.batch);
    }
  }

  static DeviceBuffer<float*> addresses(DeviceBuffer<float>& buffer, std::int64_t stride, std::int64_t count) {
    std::vector<float*> each;
    for (std::int64_t i = 0; i < count; ++i) {
      each.push_back(buffer.data() + i * stride);
    }
    DeviceBuffer<float*> on_device(each.size());
    on_device.copy_from_host(each);
    return on_device;
  }

  sgemm_product_t call_of(const Product& p) {
    static constexpr float alpha = 1.0F;
    static constexpr float beta = 0.0F;
    const auto addresses = [&](const auto& each) { return p.by_address ? each.data() : nullptr; };
    sgemm_product_t call{};
    call.size = sizeof call;
    call.order = SGEMM_ORDER_ROW_MAJOR;
    call.m = p.m;
    call.n = p.n;
    call.k = p.k;
    call.alpha = &alpha;
    call.a = {nullptr, op(p.a_transposed), a_.data(), p.lda(), p.m * p.k, addresses(each_a_)};
    call.b = {nullptr, op(p.b_transposed), b_.data(), p.ldb(), p.k * p.n, addresses(each_b_)};
    call.beta = &beta;
    call.d = c_.data();
    call.ldd = p.n;
    call.stride_of_d = p.m * p.n;
    call.addresses_of_d = addresses(each_c_);
    call.batch_count = p.batch;
    return call;
  }

  void run_library(const Product& p) {
    const sgemm_product_t call = call_of(p);
    check(sgemm_run(library_, &call));
  }

  void run_cublas(const Product& p) {
    const float alpha = 1.0F;
    const float beta = 0.0F;
    const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const cublasOperation_t a = operation(p.a_transposed);
    const cublasOperation_t b = operation(p.b_transposed);
    const cublasHandle_t handle = cublas_->on(samples_.stream());
    if (p.by_address) {
      cublas_check(cublasSgemmBatched_64(handle, b, a, p.n, p.m, p.k, &alpha, each_b_.data(), p.ldb(), each_a_.data(),
                                         p.lda(), &beta, each_c_.data(), p.n, p.batch),
                   "cublasSgemmBatched");
    } else if (p.batch == 1) {
      cublas_check(cublasSgemm_64(handle, b, a, p.n, p.m, p.k, &alpha, b_.data(), p.ldb(), a_.data(), p.lda(), &beta,
                                  c_.data(), p.n),
                   "cublasSgemm");
    } else {
      cublas_check(
          cublasSgemmStridedBatched_64(handle, b, a, p.n, p.m, p.k, &alpha, b_.data(), p.ldb(), p.k * p.n, a_.data(),
                                       p.lda(), p.m * p.k, &beta, c_.data(), p.n, p.m * p.n, p.batch),
          "cublasSgemmStridedBatched");
    }
  }

  ColdSamples samples_;
  std::mt19937 order_{42};  // of both within a round
  std::shared_ptr<CublasHandle> cublas_ = CublasHandle::shared();
  sgemm_handle_t library_ = nullptr;
  DeviceBuffer<float> a_;
  DeviceBuffer<float> b_;
  DeviceBuffer<float> c_;
  DeviceBuffer<float*> each_a_;
  DeviceBuffer<float*> each_b_;
  DeviceBuffer<float*> each_c_;
};

/// The sum over products of the logarithm of the speed relative to cuBLAS, and the lowest.
struct Total {
  double logarithms = 0.0;
  int count = 0;
  int slower = 0;
  double worst = 1e9;
};

void measure(const char* path) {
  Benchmark benchmark;
  std::ofstream csv(path);
  csv << "name,layout,m,n,k,batch,accuracy,kernel,configuration,us,predicted_us,cublas_us,cublas_at_least_us,speed\n";
  for (const auto& [name, accuracy] : ACCURACIES) {
    Total total;
    for (const Product& product : products()) {
      const sgemm_plan_t plan = benchmark.plan(product, accuracy);
      const Benchmark::Times times = benchmark.compare(product, accuracy);
      const double speed = times.cublas / times.library;
      total.logarithms += std::log(speed);
      ++total.count;
      total.slower += speed < SLOWER ? 1 : 0;
      total.worst = std::min(total.worst, speed);
      csv << fmt::format("{},{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.4f}\n", product.name,
                         product.layout(), product.m, product.n, product.k, product.batch, name, plan.kernel,
                         plan.configuration, times.library, plan.predicted_us, times.cublas, plan.cublas_us, speed);
    }
    fmt::print("{}: {} products, geometric mean {:.2f} times cuBLAS, {} below {}, worst {:.2f}\n", name, total.count,
               std::exp(total.logarithms / total.count), total.slower, SLOWER, total.worst);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    fmt::print(stderr, "usage: library_benchmark FILE.csv\n");
    return 2;
  }
  try {
    sgemm::measure(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
  return 0;
}
