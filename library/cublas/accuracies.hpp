#pragma once

#include <sgemm/sgemm.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace drop_in {

/// How accurate the product of a call is to be. Empty: cuBLAS computes it.
using Accuracy = std::optional<sgemm_accuracy_t>;

/// What holds for the process, for tasks and for threads.
class Accuracies {
 public:
  /// The accuracy of a number of drop_in.h, which is SGEMM_DROP_IN_OFF where cuBLAS computes.
  static Accuracy accuracy(int number) {
    return number < 0 ? std::nullopt : Accuracy(static_cast<sgemm_accuracy_t>(number));
  }

  explicit Accuracies(Accuracy of_process) : of_process_(number(of_process)) {}

  void set(Accuracy of_process) { of_process_ = number(of_process); }

  void set_tasks(int (*current)()) { current_task_ = current; }
  /// No accuracy: the task ended.
  void set_of_task(int task, std::optional<Accuracy> accuracy);

  /// Sets what holds on this thread, as long as it works for the task that it works for now, or for none. Returns what
  /// leave() needs to set what held before.
  int64_t enter(Accuracy accuracy);
  static void leave(int64_t before);

  Accuracy of_call() const;
  Accuracy of_process() const { return accuracy(of_process_); }

 private:
  static constexpr int kCublas = -1;
  static constexpr int kUnset = -2;

  struct OfThread {
    int accuracy = kUnset;
    int task = -1;
  };

  static int number(Accuracy accuracy) { return accuracy ? static_cast<int>(*accuracy) : kCublas; }
  int current_task() const;

  static thread_local OfThread of_thread_;

  std::atomic<int> of_process_;
  std::atomic<int (*)()> current_task_ = nullptr;
  std::atomic<int> task_count_ = 0;
  mutable std::mutex mutex_;
  std::map<int, int> of_tasks_;
};

}  // namespace drop_in
