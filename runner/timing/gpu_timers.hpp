#pragma once

#include "base/kernel.hpp"
#include "device/cuda_handles.hpp"
#include "device/device.hpp"
#include "device/device_problem.hpp"
#include "problem/operands.hpp"
#include "timing/sampling.hpp"
#include "timing/turn.hpp"

#include <cuda_runtime_api.h>

#include <deque>
#include <functional>
#include <utility>
#include <vector>

namespace sgemm {

/// What is done around each sample where its operands are new; nothing where they stay.
struct SampleCare {
  std::function<int(int most)> draw_launches;  ///< of the next round
  std::function<void(int launches)> renew;     ///< enqueues new operands
  std::function<void(int contender)> look;     ///< at what its sample has left; throws CaseStopped where that is wrong
};

/// Times launches by events. A sample is, all enqueued on one stream:
///
///     C restored | L2 flushed (cold) | hold | event | launches | event | C looked at (with care)
///
/// The flush comes after the restore, so that C is cold as well. The hold keeps the GPU busy until the host has
/// enqueued the rest, so that the events enclose the launches' own time alone. Where the GPU was there before the host,
/// and that counts, the round is taken again with a longer hold. The host waits once per round, and with care once per
/// sample.
class EventTimer {
 public:
  /// `flush` is null for a warm L2. It and the stream outlive the timer.
  EventTimer(const Device& device, L2Flush* flush, cudaStream_t stream);

  /// Rounds of kernels that take turns on the same operands (sampling.hpp). `problem` outlives them.
  Round round_of(std::vector<Prepared> contenders, DeviceProblem& problem, SampleCare care = {});

  /// The time between two events around an empty kernel, and the smallest step that event times take.
  struct Floor {
    double empty_kernel_us = 0.0;
    double resolution_us = 0.0;
  };
  Floor measure_floor();
  const Hold& hold() const { return hold_; }

 private:
  struct EventPair {
    Event start = make_event();
    Event stop = make_event();
    double late_us = 0.0;  ///< the host's time for the launches if the GPU was at `start` before all were enqueued
  };

  void enqueue_hold(int launches);
  /// One round. Returns whether the host was late in a sample for which that counts.
  bool enqueue_round(const std::vector<Prepared>& contenders, DeviceProblem& problem, const std::vector<int>& order,
                     int launches, const SampleCare& care);

  double cycles_per_us_;
  Hold hold_;
  L2Flush* flush_;
  cudaStream_t stream_;
  std::vector<EventPair> pairs_;
};

/// Launches of one kernel on one set of operands, timed by events between the batches.
class EventQueue final : public LaunchQueue {
 public:
  /// The stream outlives the queue.
  EventQueue(Prepared kernel, const Problem& problem, cudaStream_t stream)
      : kernel_(std::move(kernel)), problem_(problem), stream_(stream) {}

  void enqueue(int launches) override;
  double finish() override;

 private:
  void record();

  Prepared kernel_;
  Problem problem_;
  cudaStream_t stream_;
  std::deque<Event> ends_;  ///< of the batch before the oldest one, and of all batches under way
};

/// Times by the host's clock, copies included: A, B and, where beta is not 0, C from pageable host memory to the
/// device, the product, and C back. Device memory is allocated beforehand.
class EndToEndTimer {
 public:
  /// As for EventTimer. The L2 is flushed before the clock starts.
  EndToEndTimer(L2Flush* flush, cudaStream_t stream) : flush_(flush), stream_(stream) {}

  /// Rounds with one launch. They read `inputs`, and the result goes to a C of the timer's own.
  Round round_of(std::vector<Prepared> contenders, DeviceProblem& problem, const HostOperands& inputs);

 private:
  double sample(const Prepared& contender, DeviceProblem& problem, const HostOperands& inputs);

  L2Flush* flush_;
  cudaStream_t stream_;
  std::vector<float> result_;
};

}  // namespace sgemm
