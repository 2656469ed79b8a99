#include "ranks/rank_device.hpp"

#include "base/outcome.hpp"
#include "common/cuda_check.hpp"
#include "device/cuda_handles.hpp"
#include "device/device_buffer.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace sgemm {
namespace {

std::size_t bytes(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

class GpuRankDevice final : public RankDevice {
 public:
  GpuRankDevice(int index, const Patience& patience) : index_(index), patience_(patience) {
    bind();
    stream_ = make_stream();
  }
  ~GpuRankDevice() override { cudaSetDevice(index_); }  // for the members, which go with it
  GpuRankDevice(const GpuRankDevice&) = delete;
  GpuRankDevice& operator=(const GpuRankDevice&) = delete;

  void bind() override { CUDA_CHECK(cudaSetDevice(index_)); }

  std::shared_ptr<float> allocate(std::int64_t floats) override {
    const std::size_t needed = bytes(std::max<std::int64_t>(floats, 1));
    std::size_t free = 0;
    std::size_t total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    if (needed > free) {
      constexpr double GIB = 1024.0 * 1024.0 * 1024.0;
      throw CaseStopped(Outcome::skipped,
                        fmt::format("needs {:.1f} GiB more memory on GPU {}, {:.1f} GiB are free",
                                    static_cast<double>(needed) / GIB, index_, static_cast<double>(free) / GIB));
    }
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, needed));
    return {static_cast<float*>(memory), [](float* pointer) { cudaFree(pointer); }};
  }

  void upload(float* to, const std::vector<float>& from) override {
    CUDA_CHECK(cudaMemcpyAsync(to, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice, stream()));
    CUDA_CHECK(cudaStreamSynchronize(stream()));
  }

  void copy(float* to, std::int64_t ld_to, const float* from, std::int64_t ld_from, std::int64_t rows,
            std::int64_t columns) override {
    if (rows > 0 && columns > 0) {
      CUDA_CHECK(cudaMemcpy2DAsync(to, bytes(ld_to), from, bytes(ld_from), bytes(columns),
                                   static_cast<std::size_t>(rows), cudaMemcpyDeviceToDevice, stream()));
    }
  }

  void fill_with_nan(float* memory, std::int64_t floats) override {
    if (floats > 0) {
      CUDA_CHECK(cudaMemsetAsync(memory, 0xFF, bytes(floats), stream()));  // all bits set are a NaN
    }
  }

  void get_ready(bool cold_l2) override {
    if (cold_l2) {
      if (!flush_) {
        int l2_bytes = 0;
        CUDA_CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, index_));
        flush_ = std::make_unique<L2Flush>(static_cast<std::size_t>(l2_bytes));
      }
      flush_->enqueue(stream());
    }
    synchronize();
  }

  // Polls: a thread that sleeps would see the end of a run late.
  void synchronize() override {
    cudaError_t status = cudaStreamQuery(stream());
    while (status == cudaErrorNotReady) {
      patience_.check();
      status = cudaStreamQuery(stream());
    }
    CUDA_CHECK(status);
  }

  Prepared prepare(const Build& build, const Problem& problem) override { return build.prepare(problem); }

  cudaStream_t stream() const override { return stream_.get(); }
  Platform platform() const override { return Platform::gpu; }
  Target target() const override { return Target::for_gpu; }

 private:
  int index_;
  const Patience& patience_;
  Stream stream_;
  std::unique_ptr<L2Flush> flush_;
};

}  // namespace

std::unique_ptr<RankDevice> make_gpu_rank_device(int index, const Patience& patience) {
  return std::make_unique<GpuRankDevice>(index, patience);
}

}  // namespace sgemm
