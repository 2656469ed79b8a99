#pragma once

#include <cublas_v2.h>

#include <map>
#include <mutex>
#include <string>

#include "call.hpp"
#include "call_log.hpp"
#include "decision.hpp"
#include "settings.hpp"
#include "sgemm_library.hpp"

namespace drop_in {

/// Gives each call to the library or to cuBLAS. One for the process; threads may use it at the same time.
class DropIn {
 public:
  /// Lives until the process ends, as other threads may call it until then.
  static DropIn& instance();

  /// The library computes the call, or else `cublas()` does. Calls that the library or cuBLAS make on their own way
  /// through an intercepted function go to cuBLAS.
  template <class Cublas>
  cublasStatus_t run(const Call& call, const Cublas& cublas) {
    if (inside_ || !settings_.accuracy) {
      return cublas();
    }
    inside_ = true;
    const cublasStatus_t status = run_outermost(call, cublas);
    inside_ = false;
    return status;
  }

 private:
  DropIn();

  void write_log();

  template <class Cublas>
  cublasStatus_t run_outermost(const Call& call, const Cublas& cublas) {
    std::string why = call.refusal;
    if (why.empty() && computed_by_library(call, why)) {
      return CUBLAS_STATUS_SUCCESS;
    }
    const CallLog::Measured measured(log(), call, "cublas", why);
    return cublas();
  }

  /// What a decision depends on.
  struct Question {
    int device;
    int multiprocessors;
    sgemm_op_t transa, transb;
    int64_t m, n, k, lda, ldb, ldc, batch_count;
    bool bias, argument;
    Activation activation;

    auto operator<=>(const Question&) const = default;
  };

  /// Enqueues the call through the library. Otherwise `why` says why cuBLAS has to do it. Nothing is thrown.
  bool computed_by_library(const Call& call, std::string& why) noexcept;
  bool try_library(const Call& call, std::string& why);
  Decision decision(int device, const Call& call, sgemm_handle_t handle);
  static sgemm_status_t enqueue_product(const Call& call, sgemm_handle_t handle);
  CallLog* log() { return settings_.logs() ? &log_ : nullptr; }

  /// Whether this thread is in run().
  static thread_local bool inside_;

  Settings settings_;
  Handles handles_;
  CallLog log_;
  std::mutex decisions_mutex_;
  std::map<Question, Decision> decisions_;
};

}  // namespace drop_in
