#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <utility>

/// All that the drop-in asks of CUDA.
namespace drop_in {

/// The device that is current on this thread. Empty: there is none.
std::optional<int> current_device();

/// That, or -1, and the number of its context: events of one are nothing to another.
using Place = std::pair<int, uint64_t>;
Place current_place();

/// Whether the stream's work is being captured into a graph.
bool is_capturing(cudaStream_t stream);

/// Times calls on the device that is current in the first one, one at a time, without waiting for any: while one is
/// under way, others go untimed.
class Stopwatch {
 public:
  Stopwatch() = default;
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// False: the last sample is not there yet, or CUDA can not time this.
  bool start(cudaStream_t stream);
  void stop(cudaStream_t stream);
  /// The sample of the last start() and stop(), in microseconds, once.
  std::optional<double> sample();

 private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
  bool running_ = false;
  bool stopped_ = false;
};

}  // namespace drop_in
