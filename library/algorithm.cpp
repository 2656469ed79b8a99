#include "algorithm.hpp"

#include "common/cuda_check.hpp"
#include "status_error.hpp"

namespace sgemm {

bool enqueue(const Algorithm& algorithm, const GemmBatch& batch, const GemmEpilogue* epilogue, void* workspace,
             cudaStream_t stream) {
  try {
    if (epilogue == nullptr) {
      algorithm.launch(batch, workspace, stream);
    } else {
      algorithm.launch_with_epilogue(batch, *epilogue, workspace, stream);
    }
    return true;
  } catch (const CudaError&) {
    // The last kernel of a launch is the one that writes C or D. Of several launches, some may have done so.
    const bool reads_c = batch.first.scalars_on_device() || batch.first.beta != 0.0F;
    if (algorithm.launches > 1 && reads_c) {
      throw StatusError(SGEMM_STATUS_EXECUTION_FAILED);
    }
    return false;
  }
}

}  // namespace sgemm
