#pragma once

#include <cublas_v2.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "accuracies.hpp"
#include "call.hpp"
#include "call_log.hpp"
#include "sgemm_library.hpp"

namespace drop_in {

/// What the environment asks for.
struct Settings {
  /// SGEMM_ACCURACY=fp32|componentwise|normwise|rowwise|reproducible. SGEMM_DROP_IN_OFF where its value is none of
  /// these: cuBLAS gets all calls then.
  int accuracy;
  /// SGEMM_LOG: where the table of calls goes at exit. Empty: nowhere. "1": to standard error. Otherwise a file, which
  /// the table is appended to.
  std::string log;

  bool logs() const { return !log.empty(); }
};

/// Gives each call to the library or to cuBLAS. One for the process; threads may use it at the same time.
class DropIn {
 public:
  /// Lives until the process ends, as other threads may call it until then.
  static DropIn& instance();

  /// The library computes the call, or else `cublas()` does. Calls that cuBLAS makes on its own way through an
  /// intercepted function stay with cuBLAS. The library gives none to cuBLAS itself (SGEMM_FALLBACK_NONE), so that
  /// those go there with the program's handle and workspace. In a child that is forked after calls cuBLAS gets all:
  /// neither CUDA nor the locks of the parent's threads work there. A call that is to be reproducible, and that the
  /// library can not compute, fails: cuBLAS has other bits.
  template <class Cublas>
  cublasStatus_t run(Call& call, const Cublas& cublas) {
    const int accuracy = accuracies_.of_call();
    if (inside_cublas_ || accuracy == SGEMM_DROP_IN_OFF || in_forked_child_) {
      return cublas();
    }
    has_run_ = true;
    call.accuracy = static_cast<sgemm_accuracy_t>(accuracy);
    std::string why = call.refusal;
    if (why.empty()) {
      if (const std::optional<cublasStatus_t> status = status_of_library(call, why)) {
        return *status;
      }
    }
    if ((!call.refused() || call.is_fp32) && is_for_library_alone(call)) {
      const CallLog::Measured measured(log(), call, {"none", why, 0, {}});
      return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    const CallLog::Measured measured(log(), call, {"cublas", why, 0, {}});
    const Entrance entrance;
    return cublas();
  }

  /// Whether a call of this thread is to be reproducible.
  bool is_reproducible() const {
    return !inside_cublas_ && !in_forked_child_ && accuracies_.of_call() == SGEMM_ACCURACY_REPRODUCIBLE;
  }

  /// Says on standard error, once, that products by a function have cuBLAS's bits although they are to be reproducible.
  static void tell_of_other_bits(const std::string& function);

  Accuracies& accuracies() { return accuracies_; }
  CallLog& table() { return log_; }
  void set_repeatable(int repeatable) { handles_.set_repeatable(repeatable); }
  /// Calls are noted, and some of them timed, also where the environment does not ask for it.
  void note_calls(bool noted, bool timed) {
    notes_calls_ = noted || settings_.logs();
    log_.time_calls(timed || settings_.logs());
  }

 private:
  DropIn();

  void write_log();

  /// Marks a thread's way into cuBLAS and out again.
  class Entrance {
   public:
    Entrance() { inside_cublas_ = true; }
    ~Entrance() { inside_cublas_ = false; }
    Entrance(const Entrance&) = delete;
    Entrance& operator=(const Entrance&) = delete;
  };

  /// Enqueues the call through the library. Nothing: the call came to nothing, cuBLAS has to do it, and `why` says why.
  /// A failure: C may be written in part, so that cuBLAS can not begin again. Nothing is thrown.
  std::optional<cublasStatus_t> status_of_library(const Call& call, std::string& why) noexcept;
  std::optional<cublasStatus_t> try_library(const Call& call, std::string& why);
  /// Whether nobody else may compute the call. An empty C has no bits.
  static bool is_for_library_alone(const Call& call) {
    const sgemm_product_t& p = call.product;
    return call.accuracy == SGEMM_ACCURACY_REPRODUCIBLE && p.m > 0 && p.n > 0 && p.batch_count > 0;
  }
  Decision decision(int device, const Call& call, sgemm_handle_t handle);
  /// Enqueues the product, in the caller's workspace if a chapter that needs so many bytes fits into it.
  static sgemm_status_t enqueue_product(const Call& call, size_t bytes, sgemm_handle_t handle);
  CallLog* log() { return notes_calls_ ? &log_ : nullptr; }

  static thread_local bool inside_cublas_;
  static inline std::atomic<bool> has_run_ = false;
  static inline bool in_forked_child_ = false;  ///< of a process whose DropIn had calls

  Settings settings_;
  Accuracies accuracies_;
  Handles handles_;
  std::atomic<bool> notes_calls_;
  CallLog log_;
  std::mutex decisions_mutex_;
  std::map<std::pair<int, decltype(Call().question())>, Decision> decisions_;
};

}  // namespace drop_in
