#include "ranks/thread_team.hpp"

#include "base/outcome.hpp"
#include "common/cuda_check.hpp"
#include "device/cuda_handles.hpp"
#include "device/device.hpp"
#include "device/device_buffer.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace sgemm {
namespace {

std::size_t bytes(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }

/// CUDA device number `index`, for which a rank waits with `patience`, which outlives it.
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
    floats = std::max<std::int64_t>(floats, 1);
    const std::size_t needed = bytes(floats);
    if (const std::size_t free = free_device_bytes(); needed > free) {
      constexpr double GIB = 1024.0 * 1024.0 * 1024.0;
      throw CaseStopped(Outcome::skipped,
                        fmt::format("needs {:.1f} GiB more memory on GPU {}, {:.1f} GiB are free",
                                    static_cast<double>(needed) / GIB, index_, static_cast<double>(free) / GIB));
    }
    const auto memory = std::make_shared<DeviceBuffer<float>>(static_cast<std::size_t>(floats));
    return {memory, memory->data()};
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
        flush_ = std::make_unique<L2Flush>();
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
  Target target() const override { return Target::for_gpu; }

 private:
  int index_;
  const Patience& patience_;
  Stream stream_;
  std::unique_ptr<L2Flush> flush_;
};

}  // namespace

RankParts peer_parts(int gpus) {
  const auto device_of = [gpus](int rank) { return rank % gpus; };
  return {
      "peer copies",
      [=](int rank, const Patience& patience) { return std::make_unique<GpuRankDevice>(device_of(rank), patience); },
      [=](int rank, const Patience&, PanelsOf panels_of_rank) {
        return make_peer_exchange(device_of(rank), device_of, std::move(panels_of_rank));
      },
      {}};
}

RankParts nccl_parts(const NcclId& id, int ranks, const std::function<int(int rank)>& device_of) {
  return {"NCCL",
          [device_of](int rank, const Patience& patience) {
            return std::make_unique<GpuRankDevice>(device_of(rank), patience);
          },
          [=](int rank, const Patience& patience, const PanelsOf&) {
            return make_nccl_exchange(id, ranks, rank, device_of(rank), patience);
          },
          {}};
}

std::unique_ptr<Team> make_gpu_team(const RankOptions& options, StopToken stop) {
  int present = 0;
  CUDA_CHECK(cudaGetDeviceCount(&present));
  const int wanted = options.gpus.value_or(present);
  if (wanted > present) {
    throw CaseStopped(Outcome::not_supported, fmt::format("needs {} GPUs, this machine has {}", wanted, present));
  }
  std::string model;
  std::vector<std::string> addresses;
  for (int i = 0; i < wanted; ++i) {
    const DeviceQuery query = query_device(i);
    if (!query.device) {
      throw CaseStopped(Outcome::not_supported, fmt::format("GPU {} can not be used: {}", i, query.error));
    }
    if (i > 0 && query.device->name != model) {
      throw CaseStopped(Outcome::not_supported, fmt::format("GPU 0 is a {} and GPU {} a {}: a product is spread over "
                                                            "GPUs of one model",
                                                            model, i, query.device->name));
    }
    model = query.device->name;
    addresses.push_back(query.device->pci_bus_id);
  }
  CUDA_CHECK(cudaSetDevice(0));
  RankParts parts = options.exchange == GpuExchange::nccl
                        ? nccl_parts(make_nccl_id(), wanted, [](int rank) { return rank; })
                        : peer_parts(wanted);
  parts.gpu_addresses = std::move(addresses);
  return std::make_unique<ThreadTeam>(wanted, parts, stop);
}

}  // namespace sgemm
