#include "timing/gpu_timers.hpp"

#include "base/statistics.hpp"
#include "common/cuda_check.hpp"
#include "problem/batch.hpp"
#include "timing/probe.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace sgemm {
namespace {

constexpr int FLOOR_SAMPLES = 101;

double microseconds(const Event& start, const Event& stop) {
  float milliseconds = 0.0F;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return double{milliseconds} * 1000.0;
}

}  // namespace

EventTimer::EventTimer(const Device& device, L2Flush* flush, cudaStream_t stream)
    : cycles_per_us_(device.max_sm_clock_mhz), flush_(flush), stream_(stream), pairs_(2) {}

void EventTimer::enqueue_hold(int launches) {
  launch_hold(static_cast<long long>(hold_.us(launches) * cycles_per_us_), stream_);
}

Round EventTimer::round_of(std::vector<Prepared> contenders, DeviceProblem& problem, SampleCare care) {
  hold_.begin_case();
  return [this, contenders = std::move(contenders), &problem, care = std::move(care)](const std::vector<int>& order,
                                                                                      int launches) {
    problem.reserve(launches);
    int count = launches;
    const auto drawn = [&] { return count = care.draw_launches ? care.draw_launches(launches) : launches; };
    hold_.outlast([&] { return enqueue_round(contenders, problem, order, drawn(), care); });
    std::vector<double> times(contenders.size());
    for (const int index : order) {
      const EventPair& pair = pairs_[static_cast<std::size_t>(index)];
      times[static_cast<std::size_t>(index)] = microseconds(pair.start, pair.stop) / count;
    }
    hold_.follow(count * std::accumulate(times.begin(), times.end(), 0.0));
    return times;
  };
}

bool EventTimer::enqueue_round(const std::vector<Prepared>& contenders, DeviceProblem& problem,
                               const std::vector<int>& order, int launches, const SampleCare& care) {
  for (const int index : order) {
    const Prepared& kernel = contenders[static_cast<std::size_t>(index)];
    EventPair& pair = pairs_[static_cast<std::size_t>(index)];
    if (care.renew) {
      care.renew(launches);
      CUDA_CHECK(cudaStreamSynchronize(stream_));
      cudaCtxResetPersistingL2Cache();  // what a kernel has set aside would outlive the flush, its rival's as well
      cudaGetLastError();               // GPUs that can set nothing aside refuse it
    }
    // Filling C would evict the operands that a warm sample expects in the L2. So warm samples fill C only if the
    // kernel reads it.
    if (flush_ != nullptr || problem.operands().beta != 0.0F) {
      problem.restore(launches, stream_);
    }
    if (flush_ != nullptr) {
      flush_->enqueue(stream_);
    }
    enqueue_hold(launches);
    const double before = steady_seconds();
    CUDA_CHECK(cudaEventRecord(pair.start.get(), stream_));
    for (int launch = 0; launch < launches; ++launch) {
      kernel(problem.operands(launch), stream_);
    }
    CUDA_CHECK(cudaEventRecord(pair.stop.get(), stream_));
    pair.late_us = cudaEventQuery(pair.start.get()) == cudaSuccess ? (steady_seconds() - before) * 1e6 : 0.0;
    cudaGetLastError();  // that it was not ready is no error
    if (care.look) {
      CUDA_CHECK(cudaEventSynchronize(pair.stop.get()));  // before it, the signs of the look are not on the GPU
      care.look(index);
    }
  }
  CUDA_CHECK(cudaStreamSynchronize(stream_));
  return std::ranges::any_of(order, [&](int index) {
    const EventPair& pair = pairs_[static_cast<std::size_t>(index)];
    return Hold::counts(pair.late_us, microseconds(pair.start, pair.stop));
  });
}

EventTimer::Floor EventTimer::measure_floor() {
  std::vector<double> times(FLOOR_SAMPLES);
  for (double& time : times) {
    enqueue_hold(1);
    CUDA_CHECK(cudaEventRecord(pairs_[0].start.get(), stream_));
    launch_empty(stream_);
    CUDA_CHECK(cudaEventRecord(pairs_[0].stop.get(), stream_));
    CUDA_CHECK(cudaStreamSynchronize(stream_));
    time = microseconds(pairs_[0].start, pairs_[0].stop);
  }
  Floor floor;
  floor.empty_kernel_us = median(times);
  std::ranges::sort(times);
  // Times are single-precision milliseconds; differences below a nanosecond are rounding.
  constexpr double ROUNDING_US = 1e-3;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double step = times[i] - times[i - 1];
    if (step > ROUNDING_US && (floor.resolution_us == 0.0 || step < floor.resolution_us)) {
      floor.resolution_us = step;
    }
  }
  return floor;
}

void EventQueue::record() {
  ends_.push_back(make_event());
  CUDA_CHECK(cudaEventRecord(ends_.back().get(), stream_));
}

void EventQueue::enqueue(int launches) {
  if (ends_.size() <= 1) {
    ends_.clear();  // the queue is empty: the time until now belongs to no batch
    record();
  }
  for (int launch = 0; launch < launches; ++launch) {
    kernel_(problem_, stream_);
  }
  record();
}

double EventQueue::finish() {
  CUDA_CHECK(cudaEventSynchronize(ends_.at(1).get()));
  const double us = microseconds(ends_[0], ends_[1]);
  ends_.pop_front();
  return us;
}

Round EndToEndTimer::round_of(std::vector<Prepared> contenders, DeviceProblem& problem, const HostOperands& inputs) {
  return [this, contenders = std::move(contenders), &problem, &inputs](const std::vector<int>& order, int) {
    std::vector<double> times(contenders.size());
    for (const int index : order) {
      times[static_cast<std::size_t>(index)] = sample(contenders[static_cast<std::size_t>(index)], problem, inputs);
    }
    return times;
  };
}

double EndToEndTimer::sample(const Prepared& contender, DeviceProblem& problem, const HostOperands& inputs) {
  using Clock = std::chrono::steady_clock;
  const auto to_device = [this](const float* target, const std::vector<float>& source) {
    CUDA_CHECK(cudaMemcpyAsync(const_cast<float*>(target), source.data(), source.size() * sizeof(float),
                               cudaMemcpyHostToDevice, stream_));
  };
  const Problem operands = problem.operands();
  result_.resize(elements_of_c(operands));
  problem.restore(1, stream_);
  if (flush_ != nullptr) {
    flush_->enqueue(stream_);
  }
  CUDA_CHECK(cudaStreamSynchronize(stream_));
  const Clock::time_point start = Clock::now();
  to_device(operands.a, inputs.a);
  to_device(operands.b, inputs.b);
  if (!inputs.c0.empty()) {
    to_device(operands.c, inputs.c0);
  }
  contender(operands, stream_);
  CUDA_CHECK(
      cudaMemcpyAsync(result_.data(), operands.c, result_.size() * sizeof(float), cudaMemcpyDeviceToHost, stream_));
  CUDA_CHECK(cudaStreamSynchronize(stream_));
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

}  // namespace sgemm
