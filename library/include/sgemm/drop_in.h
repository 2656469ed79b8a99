#ifndef SGEMM_DROP_IN_H
#define SGEMM_DROP_IN_H

/* libsgemm_cublas.so, the drop-in for cuBLAS, for programs that load it themselves instead of starting under
 * LD_PRELOAD.
 *
 * A program redirects the calls of a shared object that is linked to cuBLAS, and says how accurate products are to be.
 * With SGEMM_ACCURACY_REPRODUCIBLE these stay with cuBLAS all the same, and standard error says so once:
 * cublasSdot, cublasSger and cublasSgemmGroupedBatched. So do, without a word, all functions that are not in the table
 * of docs/preload.md. All functions may be called by several threads at the same time. */

#include <sgemm/sgemm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In place of an sgemm_accuracy_t: cuBLAS gets the calls. */
#define SGEMM_DROP_IN_OFF (-1)
/* In place of an sgemm_accuracy_t: what holds for the process. */
#define SGEMM_DROP_IN_UNSET (-2)

/* Redirects the calls of cuBLAS that the loaded shared objects of this file name ("libtorch_cuda.so") make. Returns how
 * many functions are redirected, also if they were before: 0 if no such object is loaded, or if it calls no function of
 * those that the drop-in has. -1: memory could not be made writable (errno), and nothing is redirected. */
SGEMM_API int sgemm_drop_in_attach(const char* object);

/* Undoes that. Calls that are under way end as they began. */
SGEMM_API void sgemm_drop_in_detach(const char* object);

/* ---- How accurate products are. What holds for a call is, in this order: what its thread has entered, what is set for
 * its task, what is set for the process. Without any it is what SGEMM_ACCURACY says, or SGEMM_ACCURACY_COMPONENTWISE.
 * ---- */

/* An sgemm_accuracy_t or SGEMM_DROP_IN_OFF. SGEMM_DROP_IN_UNSET: what the environment says. */
SGEMM_API void sgemm_drop_in_set_accuracy(int accuracy);

/* Sets what holds on this thread, an sgemm_accuracy_t or SGEMM_DROP_IN_OFF, until sgemm_drop_in_leave() gets the number
 * that is returned. A thread that works for a task enters for that task alone. */
SGEMM_API int64_t sgemm_drop_in_enter(int accuracy);
SGEMM_API void sgemm_drop_in_leave(int64_t before);

/* A task is work that several threads do for one another, as a backward pass is. `current` tells the number of the task
 * that a thread works for, or a negative one. Null: there are no tasks. */
SGEMM_API void sgemm_drop_in_set_tasks(int (*current)(void));

/* Sets what holds in a task, in the same numbers. SGEMM_DROP_IN_UNSET: the task ended. */
SGEMM_API void sgemm_drop_in_set_task_accuracy(int task, int accuracy);

/* What holds for a call of this thread: an sgemm_accuracy_t or SGEMM_DROP_IN_OFF. */
SGEMM_API int sgemm_drop_in_accuracy(void);

/* Whether products are repeatable (sgemm_set_repeatable()): 1 or 0. SGEMM_DROP_IN_UNSET: what the environment says. */
SGEMM_API void sgemm_drop_in_set_repeatable(int repeatable);

/* ---- The table of calls ---- */

/* 0: no calls are noted, unless SGEMM_LOG is set. 1: they are counted. 2: some are timed as well, between events. */
SGEMM_API void sgemm_drop_in_set_log(int level);

/* Writes the table to `text`, as far as `size` bytes hold it with a zero at the end, and returns the bytes that the
 * whole takes without the zero. Each line has these columns between tabs: calls, timed calls, mean time in us,
 * predicted time, predicted time of cuBLAS (0 where there is no prediction), function, ops, m, n, k, batch, by, why. */
SGEMM_API size_t sgemm_drop_in_table(char* text, size_t size);

/* Forgets the calls that were noted. */
SGEMM_API void sgemm_drop_in_clear_table(void);

#ifdef __cplusplus
}
#endif

#endif
