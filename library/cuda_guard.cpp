#include "cuda_guard.hpp"

namespace sgemm {
namespace {

/// Sets the mode of this thread, and returns the one before.
int exchange(int mode) {
  auto exchanged = static_cast<cudaStreamCaptureMode>(mode);
  cudaThreadExchangeStreamCaptureMode(&exchanged);
  return exchanged;
}

}  // namespace

RelaxedCapture::RelaxedCapture() : mode_(exchange(cudaStreamCaptureModeRelaxed)) {}
RelaxedCapture::~RelaxedCapture() { exchange(mode_); }

}  // namespace sgemm
