#include "base/outcome.hpp"
#include "common/cuda_check.hpp"
#include "device/cuda_handles.hpp"
#include "device/l2_flush.hpp"
#include "ranks/rank_device.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace sgemm {
namespace {

class GpuRankDevice final : public RankDevice {
 public:
  explicit GpuRankDevice(int index) : index_(index) {
    bind();
    stream_ = make_stream();
  }
  ~GpuRankDevice() override { cudaSetDevice(index_); }

  void bind() override { CUDA_CHECK(cudaSetDevice(index_)); }

  std::shared_ptr<float> allocate(std::int64_t floats) override {
    const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(floats, 1)) * sizeof(float);
    std::size_t free = 0;
    std::size_t total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    if (bytes > free) {
      constexpr double GIB = 1024.0 * 1024.0 * 1024.0;
      throw CaseStopped(Outcome::skipped, fmt::format("needs {:.1f} GiB more memory on GPU {}, {:.1f} GiB are free",
                                                      static_cast<double>(bytes) / GIB, index_,
                                                      static_cast<double>(free) / GIB));
    }
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, bytes));
    return {static_cast<float*>(memory), [index = index_](float* pointer) {
              cudaSetDevice(index);
              cudaFree(pointer);
            }};
  }

  void upload(float* to, const std::vector<float>& from) override {
    CUDA_CHECK(cudaMemcpy(to, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice));
  }

  void copy(float* to, std::int64_t ld_to, const float* from, std::int64_t ld_from, std::int64_t rows,
            std::int64_t columns) override {
    if (rows == 0 || columns == 0) {
      return;
    }
    const auto bytes = [](std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); };
    CUDA_CHECK(cudaMemcpy2DAsync(to, bytes(ld_to), from, bytes(ld_from), bytes(columns), static_cast<std::size_t>(rows),
                                 cudaMemcpyDeviceToDevice, stream()));
  }

  void fill_with_nan(float* memory, std::int64_t floats) override {
    // All bits set are a NaN.
    CUDA_CHECK(cudaMemsetAsync(memory, 0xFF, static_cast<std::size_t>(floats) * sizeof(float), stream()));
  }

  void get_ready(bool cold_l2) override {
    if (cold_l2 && !flush_) {
      int bytes = 0;
      CUDA_CHECK(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, index_));
      flush_ = std::make_unique<L2Flush>(static_cast<std::size_t>(bytes));
    }
    if (cold_l2) {
      flush_->enqueue(stream());
    }
    CUDA_CHECK(cudaStreamSynchronize(stream()));
  }

  void synchronize(const std::function<void()>& watch) override {
    constexpr std::uint64_t OFTEN = 4096;  // polls, so that a run's end is not seen late
    for (std::uint64_t polls = 1;; ++polls) {
      const cudaError_t status = cudaStreamQuery(stream());
      if (status != cudaErrorNotReady) {
        CUDA_CHECK(status);
        return;
      }
      if (polls % OFTEN == 0) {
        watch();
      }
    }
  }

  cudaStream_t stream() const override { return stream_.get(); }
  Platform platform() const override { return Platform::gpu; }
  Target target() const override { return Target::for_gpu; }

 private:
  int index_;
  Stream stream_;
  std::unique_ptr<L2Flush> flush_;
};

}  // namespace

std::unique_ptr<RankDevice> make_gpu_rank_device(int index) { return std::make_unique<GpuRankDevice>(index); }

}  // namespace sgemm
