#pragma once

#include <cstdint>

namespace sgemm {

/// A word that the host and all GPUs see, for a shape: kernels add the passes over tiles of C to it that compute
/// elements without tensor cores (deferred_elements.cuh). Words live as long as the context (cuda_guard.hpp), because
/// graphs may use them, and some shapes share one if there are many. Null: there is none. The executor's host is its
/// GPU, so tests on it bring an implementation of their own.
unsigned* word_for_recomputed(std::uint64_t context);

}  // namespace sgemm
