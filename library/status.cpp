#include "sgemm/sgemm.h"

#include <utility>

namespace {

#define TEXT(status, sentence) \
  case status:                 \
    return {#status, sentence};

/// Its name, and a sentence.
std::pair<const char*, const char*> text_of(sgemm_status_t status) {
  switch (status) {
    TEXT(SGEMM_STATUS_SUCCESS, "The call succeeded.")
    TEXT(SGEMM_STATUS_NOT_INITIALIZED,
         "The handle is null, its device was reset or its process has forked, or there is no usable GPU.")
    TEXT(SGEMM_STATUS_ALLOC_FAILED, "There is no room in the memory of the host or of the GPU.")
    TEXT(SGEMM_STATUS_INVALID_VALUE, "An argument is wrong; sgemm.h says what is allowed.")
    TEXT(SGEMM_STATUS_ARCH_MISMATCH, "The current device is not the one that the handle was made on.")
    TEXT(SGEMM_STATUS_EXECUTION_FAILED, "CUDA refused to enqueue the work.")
    TEXT(SGEMM_STATUS_INTERNAL_ERROR, "There is an error in the library, or in cuBLAS.")
    TEXT(SGEMM_STATUS_NOT_SUPPORTED,
         "It would take cuBLAS, and that was not found, the handle's fallback is none, or a graph captures the first "
         "such call; or the product is to be reproducible, and the library has no kernel for it on the device.")
  }
  return {"unknown", "This is not a status of the library."};
}

}  // namespace

const char* sgemm_status_name(sgemm_status_t status) { return text_of(status).first; }
const char* sgemm_status_string(sgemm_status_t status) { return text_of(status).second; }
