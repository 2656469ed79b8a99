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
#include "device/device.hpp"
#include "device/device_buffer.hpp"
#include "device/trace.hpp"
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

/// A product of the list. Its matrices are nowhere yet.
struct Product {
  std::string name;
  sgemm_product_t call;
  bool by_address;  ///< the batch has arrays of addresses on the GPU instead of strides
};

/// A row-major product of contiguous matrices, or a batch of them.
Product product(std::string name, std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed = false,
                bool b_transposed = false, std::int64_t batch = 1, bool by_address = false) {
  static constexpr float ONE = 1.0F;
  static constexpr float ZERO = 0.0F;
  const sgemm_operand_t a{nullptr, a_transposed ? SGEMM_OP_T : SGEMM_OP_N, nullptr, a_transposed ? m : k, m * k,
                          nullptr};
  const sgemm_operand_t b{nullptr, b_transposed ? SGEMM_OP_T : SGEMM_OP_N, nullptr, b_transposed ? k : n, k * n,
                          nullptr};
  const sgemm_product_t call{
      sizeof call, SGEMM_ORDER_ROW_MAJOR, m, n, k, &ONE, a, b, &ZERO, nullptr, 0, nullptr, n, m * n, nullptr, batch,
      nullptr};
  return {std::move(name), call, by_address};
}

std::vector<Product> products() {
  std::vector<Product> all;
  const auto add_in_all_layouts = [&](const char* name, std::int64_t size) {
    for (const auto& [a, b] : {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
      all.push_back(product(name, size, size, size, a, b));
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
      all.push_back(product("forward", tokens, out, in, false, true));
      all.push_back(product("dgrad", tokens, in, out, false, false));
      all.push_back(product("wgrad", out, in, tokens, true, false));
    }
  }
  for (const auto& [heads, length] : {std::pair{192, 512}, {96, 1024}, {32, 2048}, {16, 4096}}) {
    all.push_back(product("scores", length, length, 64, false, true, heads));
    all.push_back(product("values", length, 64, length, false, false, heads));
    all.push_back(product("values", length, 64, length, true, false, heads));
    all.push_back(product("scores by address", length, length, 64, false, true, heads, true));
  }
  // Layers of a network that answers few questions at a time.
  for (const std::int64_t tokens : {8, 32, 64, 128}) {
    for (const auto& [in, out] : {std::pair{4096, 4096}, {4096, 16384}, {8192, 8192}}) {
      all.push_back(product("few tokens", tokens, out, in, false, true));
    }
  }
  // Experts, each with tokens of its own.
  for (const auto& [experts, tokens] : {std::pair{8, 1024}, {16, 512}, {64, 128}}) {
    for (const bool by_address : {false, true}) {
      const std::string name = by_address ? "experts by address" : "experts";
      all.push_back(product(name, tokens, 2048, 768, false, true, experts, by_address));
      all.push_back(product(name, tokens, 768, 2048, false, true, experts, by_address));
    }
  }
  for (const auto& [count, size] : {std::pair{1000, 256}, {100, 300}, {64, 512}, {16, 1024}, {4, 2048}, {2, 4096}}) {
    for (const bool by_address : {false, true}) {
      all.push_back(
          product(by_address ? "squares by address" : "squares", size, size, size, false, false, count, by_address));
    }
  }
  for (const auto& [rows, columns] : {std::pair{65536, 512}, {32768, 1024}, {16384, 4096}, {100000, 300}}) {
    all.push_back(product("gram", columns, columns, rows, true, false));
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
    all.push_back(product("odd", m, n, k));
  }
  return all;
}

class Benchmark {
 public:
  Benchmark() {
    check(sgemm_create(&library_));
    check(sgemm_set_stream(library_, stream_.get()));
  }
  ~Benchmark() { sgemm_destroy(library_); }
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  /// Gives a product its matrices, until the next one has them.
  void place(Product& product) {
    sgemm_product_t& p = product.call;
    p.a.x = a_.place(p.a.stride, p.batch_count, product.by_address, p.a.addresses);
    p.b.x = b_.place(p.b.stride, p.batch_count, product.by_address, p.b.addresses);
    p.d = c_.place(p.stride_of_d, p.batch_count, product.by_address, p.addresses_of_d);
  }

  sgemm_plan_t plan(const sgemm_product_t& p, sgemm_accuracy_t accuracy) {
    sgemm_plan_t plan{};
    check(sgemm_set_accuracy(library_, accuracy));
    check(sgemm_plan(library_, &p, &plan));
    return plan;
  }

  /// The medians of both in microseconds, and the share of the time in which something held the clock down.
  struct Times {
    double library;
    double cublas;
    double throttled;
  };
  /// With the accuracy of the last plan.
  Times compare(const sgemm_product_t& p) {
    run_library(p);  // the first calls load code and allocate
    run_cublas(p);
    std::vector<double> library;
    std::vector<double> cublas;
    Watch watch(telemetry_.get());
    for (int i = 0; i < SAMPLES; ++i) {
      const bool library_first = order_() % 2 == 0;
      for (const bool of_library : {library_first, !library_first}) {
        (of_library ? library : cublas).push_back(time([&] { of_library ? run_library(p) : run_cublas(p); }));
      }
    }
    return {median(library), median(cublas), watch.stop().throttled_share()};
  }

 private:
  /// A matrix of each product of a batch.
  class Matrices {
   public:
    /// The first of them, and where the addresses of all are, if they are asked for.
    template <class Element>
    float* place(std::int64_t stride, std::int64_t count, bool by_address, Element* const*& addresses) {
      if (numbers_.size() < static_cast<std::size_t>(stride * count)) {
        numbers_ = {};
        numbers_ = random_numbers(stride * count);
      }
      if (by_address) {
        std::vector<float*> each;
        for (std::int64_t i = 0; i < count; ++i) {
          each.push_back(numbers_.data() + i * stride);
        }
        each_ = DeviceBuffer<float*>(each.size());
        each_.copy_from_host(each);
        addresses = each_.data();
      }
      return numbers_.data();
    }

   private:
    DeviceBuffer<float> numbers_;
    DeviceBuffer<float*> each_;
  };

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

  void run_library(const sgemm_product_t& p) { check(sgemm_run(library_, &p)); }

  /// cuBLAS is column-major: C^T = op(B)^T op(A)^T.
  void run_cublas(const sgemm_product_t& p) {
    const cublasHandle_t handle = cublas_->on(stream_.get());
    const auto op_a = static_cast<cublasOperation_t>(p.a.op);  // of the same numbers
    const auto op_b = static_cast<cublasOperation_t>(p.b.op);
    if (p.addresses_of_d != nullptr) {
      cublas_check(cublasSgemmBatched_64(handle, op_b, op_a, p.n, p.m, p.k, p.alpha, p.b.addresses, p.b.ld,
                                         p.a.addresses, p.a.ld, p.beta, p.addresses_of_d, p.ldd, p.batch_count),
                   "cublasSgemmBatched");
    } else if (p.batch_count == 1) {
      cublas_check(
          cublasSgemm_64(handle, op_b, op_a, p.n, p.m, p.k, p.alpha, p.b.x, p.b.ld, p.a.x, p.a.ld, p.beta, p.d, p.ldd),
          "cublasSgemm");
    } else {
      cublas_check(
          cublasSgemmStridedBatched_64(handle, op_b, op_a, p.n, p.m, p.k, p.alpha, p.b.x, p.b.ld, p.b.stride, p.a.x,
                                       p.a.ld, p.a.stride, p.beta, p.d, p.ldd, p.stride_of_d, p.batch_count),
          "cublasSgemmStridedBatched");
    }
  }

  Stream stream_ = make_stream();
  Event start_ = make_event();
  Event stop_ = make_event();
  const Device device_ = query_device(0).device.value();
  L2Flush flush_{device_.l2_bytes};
  std::unique_ptr<Telemetry> telemetry_ = Telemetry::open(device_.pci_bus_id);
  std::mt19937 order_{42};  // of both within a round
  std::shared_ptr<CublasHandle> cublas_ = CublasHandle::shared();
  sgemm_handle_t library_ = nullptr;
  Matrices a_;
  Matrices b_;
  Matrices c_;
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
  std::vector<Product> list = products();
  std::ofstream csv(path);
  csv << "name,layout,m,n,k,batch,accuracy,kernel,configuration,us,predicted_us,cublas_us,cublas_at_least_us,speed,"
         "throttled\n";
  for (const auto& [name, accuracy] : ACCURACIES) {
    Total total;
    for (Product& product : list) {
      const sgemm_product_t& p = product.call;
      benchmark.place(product);
      const sgemm_plan_t plan = benchmark.plan(p, accuracy);
      const Benchmark::Times times = benchmark.compare(p);
      const double speed = times.cublas / times.library;
      total.logarithms += std::log(speed);
      ++total.count;
      total.slower += speed < SLOWER ? 1 : 0;
      total.worst = std::min(total.worst, speed);
      csv << fmt::format("{},{}{},{},{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.4f},{:.2f}\n", product.name,
                         "NT"[p.a.op], "NT"[p.b.op], p.m, p.n, p.k, p.batch_count, name, plan.kernel,
                         plan.configuration, times.library, plan.predicted_us, times.cublas, plan.cublas_us, speed,
                         times.throttled);
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
