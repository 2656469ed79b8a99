#pragma once

// The memory and the clock of one rank: a GPU, or the host for ranks on the executor.

#include "base/kernel.hpp"
#include "common/target.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
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

}  // namespace sgemm
