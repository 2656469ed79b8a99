// libsgemm_cublas.so for the tests of the Python package: what holds for calls and what is redirected are the drop-in's
// own code, and the table of calls is what a test has set.

#include <sgemm/drop_in.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "accuracies.hpp"
#include "redirection.hpp"

namespace {

drop_in::Accuracies accuracies{SGEMM_ACCURACY_COMPONENTWISE};
std::string noted;

}  // namespace

extern "C" {

SGEMM_API int fake_log_level = 0;
SGEMM_API int fake_repeatable = 5;
SGEMM_API void fake_note(const char* table) { noted = table; }

int sgemm_drop_in_attach(const char* object) { return drop_in::redirect(object); }
void sgemm_drop_in_detach(const char* object) { drop_in::undirect(object); }
void sgemm_drop_in_set_accuracy(int accuracy) { accuracies.set(accuracy); }
int64_t sgemm_drop_in_enter(int accuracy) { return accuracies.enter(accuracy); }
void sgemm_drop_in_leave(int64_t before) { drop_in::Accuracies::leave(before); }
void sgemm_drop_in_set_tasks(int (*current)()) { accuracies.set_tasks(current); }
void sgemm_drop_in_set_task_accuracy(int task, int accuracy) { accuracies.set_of_task(task, accuracy); }
int sgemm_drop_in_accuracy() { return accuracies.of_call(); }
SGEMM_API int fake_accuracy_of_interrupted = 0;
SGEMM_API void fake_interrupt() {  // while a product is called
  std::raise(SIGINT);
  fake_accuracy_of_interrupted = sgemm_drop_in_accuracy();
}
void sgemm_drop_in_set_repeatable(int repeatable) { fake_repeatable = repeatable; }
void sgemm_drop_in_set_log(int level) { fake_log_level = level; }
size_t sgemm_drop_in_table(char* text, size_t size) {
  return static_cast<size_t>(std::snprintf(text, size, "%s", noted.c_str()));
}
void sgemm_drop_in_clear_table() { noted.clear(); }

// What PyTorch calls of cuBLAS. Nothing calls these where there is no GPU.
SGEMM_API void cublasSgemm_v2() {}
SGEMM_API void cublasSgemmStridedBatched() {}
SGEMM_API void cublasGemmEx() {}
SGEMM_API void cublasGemmStridedBatchedEx() {}
SGEMM_API void cublasLtMatmul() {}
}
