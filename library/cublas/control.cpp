// The functions of drop_in.h.

#include <sgemm/drop_in.h>

#include <cstdio>

#include "drop_in.hpp"
#include "redirection.hpp"

using drop_in::DropIn;

static const char* name_of(const char* object) { return object == nullptr ? "" : object; }

int sgemm_drop_in_attach(const char* object) { return drop_in::redirect(name_of(object)); }
void sgemm_drop_in_detach(const char* object) { drop_in::undirect(name_of(object)); }
void sgemm_drop_in_set_accuracy(int accuracy) { DropIn::instance().accuracies().set(accuracy); }
int64_t sgemm_drop_in_enter(int accuracy) { return DropIn::instance().accuracies().enter(accuracy); }
void sgemm_drop_in_leave(int64_t before) { drop_in::Accuracies::leave(before); }
void sgemm_drop_in_set_tasks(int (*current)(void)) { DropIn::instance().accuracies().set_tasks(current); }
void sgemm_drop_in_set_task_accuracy(int task, int accuracy) {
  DropIn::instance().accuracies().set_of_task(task, accuracy);
}
int sgemm_drop_in_accuracy() { return DropIn::instance().accuracies().of_call(); }
void sgemm_drop_in_set_repeatable(int repeatable) { DropIn::instance().set_repeatable(repeatable); }
void sgemm_drop_in_set_log(int level) { DropIn::instance().note_calls(level > 0, level > 1); }
size_t sgemm_drop_in_table(char* text, size_t size) {
  return static_cast<size_t>(std::snprintf(text, size, "%s", DropIn::instance().table().table().c_str()));
}
void sgemm_drop_in_clear_table() { DropIn::instance().table().clear(); }
