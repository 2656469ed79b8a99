#pragma once

#include <cuda_runtime_api.h>

namespace sgemm {

/// Enqueues a kernel that does nothing. The time measured around it is the floor of every time.
void launch_empty(cudaStream_t stream);

/// Enqueues a kernel that does nothing for `cycles` cycles of the SM clock. While it runs, the host can enqueue a whole
/// sample, so that the time between two events holds no wait for the host.
void launch_hold(long long cycles, cudaStream_t stream);

}  // namespace sgemm
