// The functions of drop_in.h.

#include <sgemm/drop_in.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "drop_in.hpp"
#include "redirection.hpp"

using drop_in::Accuracies;
using drop_in::Accuracy;
using drop_in::DropIn;

int sgemm_drop_in_attach(const char* object) { return drop_in::redirect(object); }

void sgemm_drop_in_detach(const char* object) { drop_in::undirect(object); }

void sgemm_drop_in_set_accuracy(int accuracy) {
  DropIn& drop_in = DropIn::instance();
  drop_in.accuracies().set(accuracy == SGEMM_DROP_IN_UNSET ? drop_in.accuracy_of_environment()
                                                           : Accuracies::accuracy(accuracy));
}

int64_t sgemm_drop_in_enter(int accuracy) {
  return DropIn::instance().accuracies().enter(Accuracies::accuracy(accuracy));
}

void sgemm_drop_in_leave(int64_t before) { Accuracies::leave(before); }

void sgemm_drop_in_set_tasks(int (*current)(void)) { DropIn::instance().accuracies().set_tasks(current); }

void sgemm_drop_in_set_task_accuracy(int task, int accuracy) {
  std::optional<Accuracy> of_task;
  if (accuracy != SGEMM_DROP_IN_UNSET) {
    of_task.emplace(Accuracies::accuracy(accuracy));
  }
  DropIn::instance().accuracies().set_of_task(task, of_task);
}

int sgemm_drop_in_accuracy() {
  const Accuracy accuracy = DropIn::instance().accuracies().of_call();
  return accuracy ? static_cast<int>(*accuracy) : SGEMM_DROP_IN_OFF;
}

void sgemm_drop_in_set_repeatable(int repeatable) { DropIn::instance().set_repeatable(repeatable); }

void sgemm_drop_in_set_log(int level) { DropIn::instance().note_calls(level > 0, level > 1); }

size_t sgemm_drop_in_table(char* text, size_t size) {
  const std::string table = DropIn::instance().table().table();
  if (size > 0) {
    const size_t copied = std::min(size - 1, table.size());
    std::memcpy(text, table.data(), copied);
    text[copied] = '\0';
  }
  return table.size();
}

void sgemm_drop_in_clear_table() { DropIn::instance().table().clear(); }
