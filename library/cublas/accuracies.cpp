#include "accuracies.hpp"

namespace drop_in {

thread_local Accuracies::OfThread Accuracies::of_thread_;

int Accuracies::current_task() const {
  int (*const current)() = current_task_;
  return current == nullptr ? -1 : current();
}

void Accuracies::set_of_task(int task, int accuracy) {
  const std::lock_guard lock(mutex_);
  if (accuracy != SGEMM_DROP_IN_UNSET) {
    of_tasks_[task] = set_number(accuracy);
  } else {
    of_tasks_.erase(task);
  }
  task_count_ = static_cast<int>(of_tasks_.size());
}

int64_t Accuracies::enter(int accuracy) {
  const OfThread before = of_thread_;
  of_thread_ = {set_number(accuracy), current_task()};
  return (int64_t{before.task} << 32) | static_cast<uint32_t>(before.accuracy);
}

void Accuracies::leave(int64_t before) {
  of_thread_ = {static_cast<int>(before & 0xffffffff), static_cast<int>(before >> 32)};
}

int Accuracies::of_call() const {
  if (of_thread_.accuracy == SGEMM_DROP_IN_UNSET && task_count_ == 0) {
    return of_process_;
  }
  const int task = current_task();
  if (of_thread_.accuracy != SGEMM_DROP_IN_UNSET && of_thread_.task == task) {
    return of_thread_.accuracy;
  }
  const std::lock_guard lock(mutex_);
  const auto found = of_tasks_.find(task);
  return found == of_tasks_.end() ? of_process_.load() : found->second;
}

}  // namespace drop_in
