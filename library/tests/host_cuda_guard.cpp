#include "cuda_guard.hpp"
#include "host_blas.hpp"

namespace sgemm {

test::CaptureState& test::capture_state() {
  thread_local CaptureState state;
  return state;
}

std::uint64_t context_id() { return test::capture_state().context; }

RelaxedCapture::RelaxedCapture() : mode_(test::capture_state().relaxed) { test::capture_state().relaxed = 1; }
RelaxedCapture::~RelaxedCapture() { test::capture_state().relaxed = mode_; }

bool test::CaptureState::forbids() {
  if (!elsewhere || relaxed != 0) {
    return false;
  }
  ++broken;
  return true;
}

}  // namespace sgemm
