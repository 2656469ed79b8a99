#pragma once

#include <cstdint>

namespace sgemm {

/// Which calls of a shape take the detour to cuBLAS, because operands of the last ones made the library slower. The GPU
/// says that some time after such a call. Detours end with a trial by the library, and grow as long as trials go badly.
class Detour {
 public:
  static constexpr int SHORTEST = 8;  ///< calls
  static constexpr int LONGEST = 256;

  /// Whether the next call takes it. `slow`: the GPU has told since the last question that the library was slower.
  bool next(bool slow) {
    if (slow) {
      length_ = length_ == 0 ? SHORTEST : length_ < LONGEST ? 2 * length_ : LONGEST;
      left_ = length_;
      on_trial_ = false;
    }
    if (left_ > 0) {
      --left_;
      return true;
    }
    if (on_trial_) {  // nothing was told of it for as long as a detour takes
      length_ = 0;
      on_trial_ = false;
    } else if (length_ > 0) {
      on_trial_ = true;
      left_ = length_;
    }
    return false;
  }

 private:
  int length_ = 0;
  int left_ = 0;
  bool on_trial_ = false;
};

/// A word that the host and all GPUs see, for a shape: kernels add the passes over tiles of C to it that compute
/// elements without tensor cores (deferred_elements.cuh). Words live as long as the context (cuda_guard.hpp), because
/// graphs may use them, and some shapes share one if there are many. Null: there is none. The executor's host is its
/// GPU, so tests on it bring an implementation of their own.
unsigned* word_for_recomputed(std::uint64_t context);

}  // namespace sgemm
