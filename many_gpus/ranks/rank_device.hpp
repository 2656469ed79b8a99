#pragma once

// The memory and the clock of one rank: a GPU, or the host for ranks on the executor.

#include "base/kernel.hpp"
#include "common/target.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sgemm {

class RankDevice {
 public:
  virtual ~RankDevice() = default;

  /// Makes the device the current one of the calling thread.
  virtual void bind() {}
  /// Throws CaseStopped (skipped) where there is no room.
  virtual std::shared_ptr<float> allocate(std::int64_t floats) = 0;
  virtual void upload(float* to, const std::vector<float>& from) = 0;
  /// Copies rows of so many floats, with distances between them, within the device.
  virtual void copy(float* to, std::int64_t ld_to, const float* from, std::int64_t ld_from, std::int64_t rows,
                    std::int64_t columns) = 0;
  virtual void fill_with_nan(float* memory, std::int64_t floats) = 0;
  /// Brings the caches to the state that a sample starts in, and waits.
  virtual void get_ready(bool /*cold_l2*/) {}
  /// Waits for the stream, as long as the patience of the rank lasts.
  virtual void synchronize() {}
  /// The build's own choice for the problem, with its workspace.
  virtual Prepared prepare(const Build& build, const Problem& problem) = 0;

  virtual cudaStream_t stream() const = 0;
  virtual Target target() const = 0;
};

/// For ranks on the executor, which runs one kernel at a time, whichever rank it is for.
class HostRankDevice : public RankDevice {
 public:
  std::shared_ptr<float> allocate(std::int64_t floats) override {
    return {new float[static_cast<std::size_t>(floats)], std::default_delete<float[]>()};
  }
  void upload(float* to, const std::vector<float>& from) override { std::copy(from.begin(), from.end(), to); }
  void copy(float* to, std::int64_t ld_to, const float* from, std::int64_t ld_from, std::int64_t rows,
            std::int64_t columns) override {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(from + row * ld_from, columns, to + row * ld_to);
    }
  }
  void fill_with_nan(float* memory, std::int64_t floats) override {
    std::fill_n(memory, floats, std::numeric_limits<float>::quiet_NaN());
  }
  Prepared prepare(const Build& build, const Problem& problem) override {
    const std::lock_guard lock(executor());
    Prepared prepared = build.prepare(problem);
    prepared.configuration.launch = [launch = std::move(prepared.configuration.launch)](
                                        const Problem& p, void* workspace, cudaStream_t stream) {
      const std::lock_guard lock(executor());
      launch(p, workspace, stream);
    };
    return prepared;
  }

  cudaStream_t stream() const override { return nullptr; }
  Target target() const override { return Target::for_executor; }

 private:
  static std::mutex& executor() {
    static std::mutex mutex;
    return mutex;
  }
};

}  // namespace sgemm
