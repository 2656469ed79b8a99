#pragma once

#include <sgemm/drop_in.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace drop_in {

/// What holds for the process, for tasks and for threads, in the numbers of drop_in.h: an sgemm_accuracy_t or
/// SGEMM_DROP_IN_OFF, where cuBLAS computes.
class Accuracies {
 public:
  explicit Accuracies(int of_environment) : of_environment_(of_environment), of_process_(of_environment) {}

  /// SGEMM_DROP_IN_UNSET: that of the environment.
  void set(int of_process) {
    of_process_ = of_process == SGEMM_DROP_IN_UNSET ? of_environment_ : set_number(of_process);
  }

  void set_tasks(int (*current)()) { current_task_ = current; }
  /// SGEMM_DROP_IN_UNSET: the task ended.
  void set_of_task(int task, int accuracy);

  /// Sets what holds on this thread, as long as it works for the task that it works for now, or for none. Returns what
  /// leave() needs to set what held before.
  int64_t enter(int accuracy);
  static void leave(int64_t before);

  int of_call() const;

 private:
  struct OfThread {
    int accuracy = SGEMM_DROP_IN_UNSET;
    int task = -1;
  };

  static int set_number(int accuracy) { return std::max(accuracy, SGEMM_DROP_IN_OFF); }
  int current_task() const;

  static thread_local OfThread of_thread_;

  int of_environment_;
  std::atomic<int> of_process_;
  std::atomic<int (*)()> current_task_ = nullptr;
  std::atomic<int> task_count_ = 0;
  mutable std::mutex mutex_;
  std::map<int, int> of_tasks_;
};

}  // namespace drop_in
