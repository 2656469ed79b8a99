#pragma once

#include <sgemm/sgemm.h>

#include <atomic>
#include <memory>
#include <string>

#include "call.hpp"
#include "idle.hpp"

namespace drop_in {

/// What the drop-in calls of libsgemm, without the names' "sgemm_".
#define SGEMM_SETTERS(F) F(set_stream) F(set_accuracy) F(set_pointer_mode) F(set_fallback) F(set_workspace)
#define SGEMM_SETTINGS(F) F(get_repeatable) F(set_repeatable) F(get_multiprocessors) F(set_multiprocessors)
#define SGEMM_FUNCTIONS(F) SGEMM_SETTERS(F) SGEMM_SETTINGS(F) F(create) F(run) F(plan) F(status_string)

/// libsgemm, which is loaded when the first product comes: most programs that inherit LD_PRELOAD multiply nothing.
/// SGEMM_LIBRARY names its file; without it, it is the one beside the drop-in, or the one that the loader finds. If it
/// can not be used, a line on standard error says why.
class SgemmLibrary {
 public:
  /// Why it can not be used. Empty: it can.
  const std::string& error() const { return error_; }

#define DECLARE(name) decltype(&sgemm_##name) name = nullptr;
  SGEMM_FUNCTIONS(DECLARE)
#undef DECLARE

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
    void operator()(sgemm_handle_t handle) const { owner->idle_.put(device, handle); }
  };
  using Lease = std::unique_ptr<sgemm_context, GiveBack>;

  /// A handle of the current device, which is `device`, with the settings of the call. Null where this fails, and
  /// `why` is set then.
  Lease lease(int device, const Call& call, std::string& why);

  /// Whether handles are repeatable. SGEMM_DROP_IN_UNSET: as a new one is.
  void set_repeatable(int repeatable) { repeatable_ = repeatable; }

 private:
  static constexpr int kNeverSet = -1;
  std::atomic<int> repeatable_ = kNeverSet;
  std::atomic<int> repeatable_at_first_ = 0;  ///< of a new handle
  sgemm::Idle<sgemm_handle_t> idle_;
};

}  // namespace drop_in
