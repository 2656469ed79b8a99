// What an epilogue costs: products of libsgemm alone, with an epilogue in their kernels, and followed by a pass of its
// own, beside cublasLtMatmul with the same epilogue. All four take turns, each sample with a cold L2. Sums have no pass
// beside: 0 stands there, as for what cuBLASLt does not support.
//
//     epilogue_benchmark [results.csv]
//
// Exit status: 0 fine, 2 usage, 3 where a call fails.

#include "base/statistics.hpp"
#include "cold_samples.hpp"
#include "device/cublas_handle.hpp"
#include "device/device_buffer.hpp"
#include "sgemm/sgemm.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace sgemm {
namespace {

constexpr int SAMPLES = 15;

/// A layer of a network: column-major, as cuBLASLt has it. D has `out` rows and `tokens` columns.
struct Layer {
  std::int64_t tokens;
  std::int64_t out;
  std::int64_t in;
};
constexpr Layer LAYERS[] = {{8192, 4096, 4096}, {8192, 4096, 1024}, {2048, 1024, 4096}};

struct Kind {
  const char* name;
  sgemm_activation_t activation;
  cublasLtEpilogue_t of_cublas;
  bool has_bias;
  bool has_aux;
  bool adds;  ///< another matrix, times beta = 1
  sgemm_sums_t sums_of = SGEMM_SUMS_NONE;

  bool sums_operand() const { return sums_of == SGEMM_SUMS_OF_A || sums_of == SGEMM_SUMS_OF_B; }
  /// A gradient's A is not transposed, as in dX = W^T dY with W as it lies in the layer's memory. In dW = X dY^T both
  /// operands lie across k.
  sgemm_op_t transa() const {
    return activation == SGEMM_ACTIVATION_RELU_GRADIENT || activation == SGEMM_ACTIVATION_GELU_GRADIENT ||
                   sums_operand()
               ? SGEMM_OP_N
               : SGEMM_OP_T;
  }
  sgemm_op_t transb() const { return sums_operand() ? SGEMM_OP_T : SGEMM_OP_N; }
  std::int64_t lda(const Layer& layer) const { return transa() == SGEMM_OP_T ? layer.in : layer.out; }
  std::int64_t ldb(const Layer& layer) const { return transb() == SGEMM_OP_T ? layer.tokens : layer.in; }
};
constexpr Kind KINDS[] = {
    {"bias", SGEMM_ACTIVATION_NONE, CUBLASLT_EPILOGUE_BIAS, true, false, false},
    {"add", SGEMM_ACTIVATION_NONE, CUBLASLT_EPILOGUE_DEFAULT, false, false, true},
    {"bias+add", SGEMM_ACTIVATION_NONE, CUBLASLT_EPILOGUE_BIAS, true, false, true},
    {"relu+bias", SGEMM_ACTIVATION_RELU, CUBLASLT_EPILOGUE_RELU_BIAS, true, false, false},
    {"relu+bias+mask", SGEMM_ACTIVATION_RELU, CUBLASLT_EPILOGUE_RELU_AUX_BIAS, true, true, false},
    {"drelu", SGEMM_ACTIVATION_RELU_GRADIENT, CUBLASLT_EPILOGUE_DRELU, false, true, false},
    {"gelu+bias", SGEMM_ACTIVATION_GELU, CUBLASLT_EPILOGUE_GELU_BIAS, true, false, false},
    {"gelu+bias+aux", SGEMM_ACTIVATION_GELU, CUBLASLT_EPILOGUE_GELU_AUX_BIAS, true, true, false},
    {"dgelu", SGEMM_ACTIVATION_GELU_GRADIENT, CUBLASLT_EPILOGUE_DGELU, false, true, false},
    {"bgrada", SGEMM_ACTIVATION_NONE, CUBLASLT_EPILOGUE_BGRADA, false, false, false, SGEMM_SUMS_OF_A},
    {"bgradb", SGEMM_ACTIVATION_NONE, CUBLASLT_EPILOGUE_BGRADB, false, false, false, SGEMM_SUMS_OF_B},
    {"drelu+bgrad", SGEMM_ACTIVATION_RELU_GRADIENT, CUBLASLT_EPILOGUE_DRELU_BGRAD, false, true, false,
     SGEMM_SUMS_OF_D_ROWS},
};

/// cublasLtMatmul with the algorithm that its heuristic takes first.
class LtProduct {
 public:
  LtProduct(cublasLtHandle_t lt, const Layer& layer, const Kind& kind, const float* bias, void* aux, float* sums)
      : lt_(lt) {
    cublas_check(cublasLtMatmulDescCreate(&description_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    const bool transposed = kind.transa() == SGEMM_OP_T;
    set(CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{transposed ? CUBLAS_OP_T : CUBLAS_OP_N});
    set(CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t{kind.sums_operand() ? CUBLAS_OP_T : CUBLAS_OP_N});
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(kind.of_cublas));
    if (kind.has_bias) {
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    } else if (kind.sums_of != SGEMM_SUMS_NONE) {
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums);
    }
    if (kind.has_aux) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, layer.out);
    }
    make(a_, kind.lda(layer), transposed ? layer.out : layer.in);
    make(b_, kind.ldb(layer), kind.sums_operand() ? layer.in : layer.tokens);
    make(d_, layer.out, layer.tokens);
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulPreferenceCreate(&preference);
    const std::size_t bytes = WORKSPACE_BYTES;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(lt_, description_, a_, b_, d_, d_, preference, 1, &heuristic_, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    supported_ = status == CUBLAS_STATUS_SUCCESS && found > 0;
  }
  ~LtProduct() {
    for (const cublasLtMatrixLayout_t layout : {a_, b_, d_}) {
      cublasLtMatrixLayoutDestroy(layout);
    }
    cublasLtMatmulDescDestroy(description_);
  }
  LtProduct(const LtProduct&) = delete;
  LtProduct& operator=(const LtProduct&) = delete;

  static constexpr std::size_t WORKSPACE_BYTES = std::size_t{64} << 20U;

  bool is_supported() const { return supported_; }
  void run(const float* a, const float* b, float beta, const float* c, float* d, void* workspace,
           cudaStream_t stream) const {
    const float one = 1.0F;
    cublas_check(cublasLtMatmul(lt_, description_, &one, a, a_, b, b_, &beta, c, d_, d, d_, &heuristic_.algo, workspace,
                                WORKSPACE_BYTES, stream),
                 "cublasLtMatmul");
  }

 private:
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t which, Value value) {
    cublas_check(cublasLtMatmulDescSetAttribute(description_, which, &value, sizeof value),
                 "cublasLtMatmulDescSetAttribute");
  }
  static void make(cublasLtMatrixLayout_t& layout, std::int64_t rows, std::int64_t columns) {
    cublas_check(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), rows),
                 "cublasLtMatrixLayoutCreate");
  }

  cublasLtHandle_t lt_;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t d_ = nullptr;
  cublasLtMatmulHeuristicResult_t heuristic_{};
  bool supported_ = false;
};

class Benchmark {
 public:
  Benchmark() {
    check(sgemm_create(&library_));
    check(sgemm_set_stream(library_, samples_.stream()));
    cublas_check(cublasLtCreate(&lt_), "cublasLtCreate");
  }
  ~Benchmark() {
    cublasLtDestroy(lt_);
    sgemm_destroy(library_);
  }
  Benchmark(const Benchmark&) = delete;
  Benchmark& operator=(const Benchmark&) = delete;

  void start(const Layer& layer) {
    layer_ = layer;
    a_ = random_numbers(layer.out * layer.in);
    b_ = random_numbers(layer.in * layer.tokens);
    c_ = random_numbers(layer.out * layer.tokens);
    d_ = random_numbers(layer.out * layer.tokens);
    aux_ = random_numbers(layer.out * layer.tokens);
    bias_ = random_numbers(layer.out);
    sums_ = random_numbers(std::max(layer.out, layer.tokens));
  }

  /// Microseconds, medians of the samples, and medians of the ratios of samples that followed one another.
  struct Times {
    double product, in_store, with_pass, cublas;
    double store_ratio, pass_ratio;
    std::string kernel;
  };

  Times compare(const Kind& kind, sgemm_accuracy_t accuracy) {
    check(sgemm_set_accuracy(library_, accuracy));
    const LtProduct lt(lt_, layer_, kind, bias_.data(), aux_.data(), sums_.data());
    const bool has_sums = kind.sums_of != SGEMM_SUMS_NONE;
    const sgemm_epilogue_t epilogue{kind.activation,
                                    SGEMM_BIAS_OF_ROWS,
                                    kind.has_bias ? bias_.data() : nullptr,
                                    kind.has_aux ? aux_.data() : nullptr,
                                    kind.has_aux ? layer_.out : 0,
                                    kind.sums_of,
                                    has_sums ? sums_.data() : nullptr};
    const float beta = kind.adds ? 1.0F : 0.0F;
    const auto product = [&] { multiply(kind, layer_.in, 0.0F, nullptr, {}); };
    const auto in_store = [&] { multiply(kind, layer_.in, beta, c_.data(), epilogue); };
    const auto with_pass = [&] {
      if (has_sums) {
        return;
      }
      if (kind.adds) {
        CUDA_CHECK(cudaMemcpyAsync(d_.data(), c_.data(), c_.size() * sizeof(float), cudaMemcpyDeviceToDevice,
                                   samples_.stream()));
      }
      multiply(kind, layer_.in, beta, d_.data(), {});
      multiply(kind, 0, 1.0F, d_.data(), epilogue);  // without a product the epilogue is a pass
    };
    const auto by_cublas = [&] {
      if (lt.is_supported()) {
        lt.run(a_.data(), b_.data(), beta, c_.data(), d_.data(), workspace_.data(), samples_.stream());
      }
    };
    std::vector<double> times[4];
    std::vector<double> store_ratios;
    std::vector<double> pass_ratios;
    for (int i = -1; i < SAMPLES; ++i) {  // the first calls load code and allocate
      const double all[4] = {samples_.time(product), samples_.time(in_store), samples_.time(with_pass),
                             samples_.time(by_cublas)};
      for (int way = 0; way < 4 && i >= 0; ++way) {
        times[way].push_back(all[way]);
      }
      if (i >= 0) {
        store_ratios.push_back(all[1] / all[0]);
        pass_ratios.push_back(all[2] / all[0]);
      }
    }
    sgemm_plan_t plan{};
    check(sgemm_gemm_with_epilogue_plan(library_, SGEMM_ORDER_COLUMN_MAJOR, kind.transa(), kind.transb(), layer_.out,
                                        layer_.tokens, layer_.in, kind.lda(layer_), kind.ldb(layer_), layer_.out,
                                        &epilogue, &plan));
    return {median(times[0]),
            median(times[1]),
            has_sums ? 0.0 : median(times[2]),
            lt.is_supported() ? median(times[3]) : 0.0,
            median(store_ratios),
            has_sums ? 0.0 : median(pass_ratios),
            std::string(plan.kernel) + " " + plan.configuration};
  }

 private:
  void multiply(const Kind& kind, std::int64_t k, float beta, const float* c, const sgemm_epilogue_t& epilogue) {
    const float one = 1.0F;
    check(sgemm_gemm_with_epilogue(library_, SGEMM_ORDER_COLUMN_MAJOR, kind.transa(), kind.transb(), layer_.out,
                                   layer_.tokens, k, &one, a_.data(), kind.lda(layer_), b_.data(), kind.ldb(layer_),
                                   &beta, c, layer_.out, d_.data(), layer_.out, &epilogue));
  }

  ColdSamples samples_;
  sgemm_handle_t library_ = nullptr;
  cublasLtHandle_t lt_ = nullptr;
  Layer layer_{};
  DeviceBuffer<float> a_;
  DeviceBuffer<float> b_;
  DeviceBuffer<float> c_;
  DeviceBuffer<float> d_;
  DeviceBuffer<float> aux_;
  DeviceBuffer<float> bias_;
  DeviceBuffer<float> sums_;
  DeviceBuffer<char> workspace_{LtProduct::WORKSPACE_BYTES};
};

void measure(const char* csv_path) {
  Benchmark benchmark;
  std::ofstream csv;
  if (csv_path != nullptr) {
    csv.open(csv_path);
    csv << "accuracy,tokens,out,in,epilogue,kernel,product_us,store_us,pass_us,cublaslt_us,store_ratio,pass_ratio\n";
  }
  fmt::print("{:14} {:16} {:15} {:>9} {:>9} {:>7} {:>9} {:>7} {:>9}\n", "accuracy", "tokens x out x in", "epilogue",
             "product", "in store", "+%", "and pass", "+%", "cuBLASLt");
  for (const Layer& layer : LAYERS) {
    benchmark.start(layer);
    for (const auto& [name, accuracy] : ACCURACIES) {
      for (const Kind& kind : KINDS) {
        const Benchmark::Times times = benchmark.compare(kind, accuracy);
        fmt::print("{:14} {:5} {:5} {:5} {:15} {:9.1f} {:9.1f} {:+6.1f}% {:9.1f} {:+6.1f}% {:9.1f}  {}\n", name,
                   layer.tokens, layer.out, layer.in, kind.name, times.product, times.in_store,
                   100 * (times.store_ratio - 1), times.with_pass, 100 * (times.pass_ratio - 1), times.cublas,
                   times.kernel);
        if (csv_path != nullptr) {
          csv << fmt::format("{},{},{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f},{:.5f},{:.5f}\n", name, layer.tokens,
                             layer.out, layer.in, kind.name, times.kernel, times.product, times.in_store,
                             times.with_pass, times.cublas, times.store_ratio, times.pass_ratio);
        }
      }
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace sgemm

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    fmt::print(stderr, "usage: epilogue_benchmark [results.csv]\n");
    return 2;
  }
  try {
    sgemm::measure(argc == 2 ? argv[1] : nullptr);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 3;
  }
  return 0;
}
