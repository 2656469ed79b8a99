#pragma once

#include "device/telemetry.hpp"
#include "device/trace.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

namespace sgemm {

/// Samples a GPU about every 10 ms on a thread of its own, from the constructor to stop(). NVML is asked there while
/// the GPU works, and nothing is enqueued.
class Watch {
 public:
  static constexpr auto PERIOD = std::chrono::milliseconds(10);

  /// `telemetry` outlives the watch; null makes an empty trace.
  explicit Watch(const Telemetry* telemetry);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Takes a last sample and ends. To be called once.
  Trace stop();

 private:
  void take();
  void end();

  const Telemetry* const telemetry_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Trace trace_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace sgemm
