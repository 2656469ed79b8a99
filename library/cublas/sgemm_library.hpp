#pragma once

#include <sgemm/sgemm.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "call.hpp"

namespace drop_in {

/// libsgemm, which is loaded when the first product comes: most programs that inherit LD_PRELOAD multiply nothing.
/// SGEMM_LIBRARY names its file; without it, it is the one beside the drop-in, or the one that the loader finds. If it
/// can not be used, a line on standard error says why.
class SgemmLibrary {
 public:
  /// Why it can not be used. Empty: it can.
  const std::string& error() const { return error_; }

  decltype(&sgemm_create) create = nullptr;
  decltype(&sgemm_set_stream) set_stream = nullptr;
  decltype(&sgemm_set_accuracy) set_accuracy = nullptr;
  decltype(&sgemm_set_pointer_mode) set_pointer_mode = nullptr;
  decltype(&sgemm_set_fallback) set_fallback = nullptr;
  decltype(&sgemm_set_workspace) set_workspace = nullptr;
  decltype(&sgemm_get_repeatable) get_repeatable = nullptr;
  decltype(&sgemm_set_repeatable) set_repeatable = nullptr;
  decltype(&sgemm_get_multiprocessors) get_multiprocessors = nullptr;
  decltype(&sgemm_set_multiprocessors) set_multiprocessors = nullptr;
  decltype(&sgemm_run) run = nullptr;
  decltype(&sgemm_plan) plan = nullptr;
  decltype(&sgemm_status_string) status_string = nullptr;

 private:
  friend const SgemmLibrary& sgemm_library();
  SgemmLibrary();
  void find_functions(void* library);

  std::string error_;
};

const SgemmLibrary& sgemm_library();

/// Handles of the library, some for each device. A thread takes one for a call and gives it back. They live as long as
/// the process: at its end CUDA may be gone already.
class Handles {
 public:
  struct GiveBack {
    Handles* owner;
    int device;
    void operator()(sgemm_handle_t handle) const { owner->give_back(device, handle); }
  };
  using Lease = std::unique_ptr<sgemm_context, GiveBack>;

  /// A handle of the current device, which is `device`, with the settings of the call. Null where this fails, and
  /// `why` is set then.
  Lease lease(int device, const Call& call, std::string& why);

  /// Whether handles are repeatable. SGEMM_DROP_IN_UNSET: as a new one is.
  void set_repeatable(int repeatable) { repeatable_ = repeatable; }

 private:
  /// The last one given back that takes the stream, or null.
  sgemm_handle_t take(int device, cudaStream_t stream);
  void give_back(int device, sgemm_handle_t handle);

  static constexpr int kNeverSet = -1;
  std::atomic<int> repeatable_ = kNeverSet;
  std::atomic<int> repeatable_at_first_ = 0;  ///< of a new handle
  std::mutex mutex_;
  std::map<int, std::vector<sgemm_handle_t>> free_;
};

}  // namespace drop_in
