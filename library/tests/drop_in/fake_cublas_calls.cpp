// Products of the libcublas for the tests that are noted and not computed. Of their arguments they read the handle,
// which comes first, so that they have no others here; cublas_v2.h, which says otherwise, is not included.

extern "C" {

int fake_product(const char* name, void* handle);

#define FAKE(name) \
  int name(void* handle) { return fake_product(#name, handle); }
#define FAKE_IN_BOTH_FORMS(name) FAKE(name) FAKE(name##_64)

FAKE(cublasSgemm_v2_64)
FAKE_IN_BOTH_FORMS(cublasSgemmStridedBatched)
FAKE_IN_BOTH_FORMS(cublasSgemmBatched)
FAKE_IN_BOTH_FORMS(cublasSgemmEx)
FAKE_IN_BOTH_FORMS(cublasSgemmGroupedBatched)
FAKE_IN_BOTH_FORMS(cublasGemmEx)
FAKE_IN_BOTH_FORMS(cublasGemmStridedBatchedEx)
FAKE_IN_BOTH_FORMS(cublasGemmBatchedEx)
FAKE_IN_BOTH_FORMS(cublasSgemv_v2)
FAKE_IN_BOTH_FORMS(cublasSgemvStridedBatched)
FAKE_IN_BOTH_FORMS(cublasSgemvBatched)
FAKE_IN_BOTH_FORMS(cublasSdot_v2)
FAKE_IN_BOTH_FORMS(cublasSger_v2)
}
