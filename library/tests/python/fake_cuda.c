/* NVIDIA's driver and cuBLAS for the tests of python -m sgemm: their memory is the host's, and events tell made-up
 * times. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int allocations, events, current;

/* Which stream waited for which, "later<earlier ", and which the host waited for, "stream! ", in turn. */
char fake_cuda_order[256];

/* What a test reads: what was not given back. */
int fake_cuda_left_over(void) { return allocations + events + current; }

/* A function that succeeds, and what it does. */
#define SUCCEEDS(signature, statement) \
  int signature {                      \
    statement;                         \
    return 0;                          \
  }

int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }
SUCCEEDS(cuGetErrorString(int status, const char** text), *text = status == 2 ? "out of memory" : "of the fake")
SUCCEEDS(cuDriverGetVersion(int* version), *version = 13010)
SUCCEEDS(cuDeviceGetCount(int* count), *count = 1)
SUCCEEDS(cuDeviceGetName(char* name, int size, int device), snprintf(name, (size_t)size, "Fake %d", device))
SUCCEEDS(cuDeviceTotalMem_v2(size_t* bytes, int device), *bytes = 1000 + (size_t)device)
SUCCEEDS(cuDeviceGetAttribute(int* value, int which, int device), *value = which + device)

SUCCEEDS(cuDevicePrimaryCtxRetain(void** context, int device), *context = device == 0 ? &current : NULL)
SUCCEEDS(cuCtxPushCurrent_v2(void* context), current = context == &current)
SUCCEEDS(cuCtxPopCurrent_v2(void** context), *context = &current)
SUCCEEDS(cuDevicePrimaryCtxRelease_v2(int device), current = device)

/* The device of all memory; -1: it is the host's. */
int fake_cuda_device;
int cuPointerGetAttribute(int* value, int which, uint64_t pointer) {
  *value = fake_cuda_device;
  return fake_cuda_device >= 0 && which == 9 && pointer != 0 ? 0 : 1;
}
SUCCEEDS(cuCtxGetDevice(int* device), *device = fake_cuda_device)

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (bytes > 100 << 20) {
    return 2;
  }
  ++allocations;
  *address = (uint64_t)(uintptr_t)malloc(bytes);
  return 0;
}
int cuMemFree_v2(uint64_t address) {
  --allocations;
  free((void*)(uintptr_t)address);
  return 0;
}
SUCCEEDS(cuMemcpyHtoD_v2(uint64_t address, const void* source, size_t bytes),
         memcpy((void*)(uintptr_t)address, source, bytes))

int cuEventCreate(void** event, unsigned flags) {
  ++events;
  *event = &events;
  return flags == 0 || flags == 2 ? 0 : 1;
}
static uintptr_t recorded;
int cuEventRecord(void* event, void* stream) {
  recorded = (uintptr_t)stream;
  return event == &events ? 0 : 1;
}
static void note(const char* format, void* stream) {
  char text[64];
  snprintf(text, sizeof text, format, (int)(uintptr_t)stream, (int)recorded);
  strncat(fake_cuda_order, text, sizeof fake_cuda_order - strlen(fake_cuda_order) - 1);
}
SUCCEEDS(cuStreamSynchronize(void* stream), note("%d! ", stream))
int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  note("%d<%d ", stream);
  return event == &events && flags == 0 ? 0 : 1;
}
int cuEventSynchronize(void* event) { return event == &events ? 0 : 1; }
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  *milliseconds = 10;
  return begin == end ? 0 : 1;
}
int cuEventDestroy_v2(void* event) {
  --events;
  return event == &events ? 0 : 1;
}

SUCCEEDS(cublasCreate_v2(void** handle), *handle = &current)
/* Column-major. */
int cublasSgemmStridedBatched_64(void* handle, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                 const float* alpha, const float* a, int64_t lda, long long stride_a, const float* b,
                                 int64_t ldb, long long stride_b, const float* beta, float* c, int64_t ldc,
                                 long long stride_c, int64_t batch_count) {
  for (int64_t batch = 0; batch < batch_count; ++batch) {
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          sum += (double)a[batch * stride_a + (transa ? l + i * lda : i + l * lda)] *
                 b[batch * stride_b + (transb ? j + l * ldb : l + j * ldb)];
        }
        c[batch * stride_c + i + j * ldc] = (float)(*alpha * sum) + *beta;
      }
    }
  }
  return handle == &current ? 0 : 1;
}
