#include "device/watch.hpp"

#include <utility>

namespace sgemm {

Watch::Watch(const Telemetry* telemetry) : telemetry_(telemetry) {
  if (telemetry_ == nullptr) {
    trace_.no_energy = "NVML is missing or does not know this GPU";
    return;
  }
  trace_.no_energy = telemetry_->no_energy();
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      const auto next = std::chrono::steady_clock::now() + PERIOD;
      take();
      stopped_.wait_until(lock, next, [this] { return stop_; });
    }
    take();
  });
}

Watch::~Watch() { end(); }

void Watch::take() {
  // The moment is that between the question and the answer.
  const auto before = std::chrono::steady_clock::now();
  TelemetrySample sample = telemetry_->sample();
  const auto after = std::chrono::steady_clock::now();
  trace_.points.push_back(
      {std::chrono::duration<double>(before - start_ + (after - before) / 2).count(), std::move(sample)});
}

void Watch::end() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    stopped_.notify_one();
    thread_.join();
  }
}

Trace Watch::stop() {
  end();
  return std::move(trace_);
}

}  // namespace sgemm
