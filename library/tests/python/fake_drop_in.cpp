// libsgemm_cublas.so for the tests of the Python package: what holds for calls and what is redirected are the drop-in's
// own code, and the table of calls is what a test has set.

#include <sgemm/drop_in.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <string>

#include "accuracies.hpp"
#include "redirection.hpp"

namespace {

using drop_in::Accuracies;
using drop_in::Accuracy;

Accuracies accuracies{SGEMM_ACCURACY_COMPONENTWISE};
std::string noted;

Accuracy accuracy_of(int number) { return number < 0 ? std::nullopt : Accuracy(static_cast<sgemm_accuracy_t>(number)); }

}  // namespace

extern "C" {

SGEMM_API int fake_log_level = 0;
SGEMM_API int fake_repeatable = 5;
SGEMM_API void fake_note(const char* table) { noted = table; }

int sgemm_drop_in_attach(const char* object) { return drop_in::redirect(object); }
void sgemm_drop_in_detach(const char* object) { drop_in::undirect(object); }
void sgemm_drop_in_set_accuracy(int number) {
  accuracies.set(number == SGEMM_DROP_IN_UNSET ? SGEMM_ACCURACY_COMPONENTWISE : accuracy_of(number));
}
int64_t sgemm_drop_in_enter(int accuracy) { return accuracies.enter(accuracy_of(accuracy)); }
void sgemm_drop_in_leave(int64_t before) { Accuracies::leave(before); }
void sgemm_drop_in_set_tasks(int (*current)()) { accuracies.set_tasks(current); }
void sgemm_drop_in_set_task_accuracy(int task, int accuracy) {
  std::optional<Accuracy> of_task;
  if (accuracy != SGEMM_DROP_IN_UNSET) {
    of_task.emplace(accuracy_of(accuracy));
  }
  accuracies.set_of_task(task, of_task);
}
int sgemm_drop_in_accuracy() {
  const Accuracy accuracy = accuracies.of_call();
  return accuracy ? static_cast<int>(*accuracy) : SGEMM_DROP_IN_OFF;
}
SGEMM_API int fake_accuracy_of_interrupted = 0;
SGEMM_API void fake_interrupt() {  // while a product is called
  std::raise(SIGINT);
  fake_accuracy_of_interrupted = sgemm_drop_in_accuracy();
}
void sgemm_drop_in_set_repeatable(int repeatable) { fake_repeatable = repeatable; }
void sgemm_drop_in_set_log(int level) { fake_log_level = level; }
size_t sgemm_drop_in_table(char* text, size_t size) {
  if (size > 0) {
    const size_t copied = std::min(size - 1, noted.size());
    std::memcpy(text, noted.data(), copied);
    text[copied] = '\0';
  }
  return noted.size();
}
void sgemm_drop_in_clear_table() { noted.clear(); }

// What PyTorch calls of cuBLAS. Nothing calls these where there is no GPU.
SGEMM_API void cublasSgemm_v2() {}
SGEMM_API void cublasSgemmStridedBatched() {}
SGEMM_API void cublasGemmEx() {}
SGEMM_API void cublasGemmStridedBatchedEx() {}
SGEMM_API void cublasLtMatmul() {}
}
