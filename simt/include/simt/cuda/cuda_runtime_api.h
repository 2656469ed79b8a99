#pragma once

// Stands in for CUDA's header of the same name: the types of the host's side of CUDA, and the calls that kernels'
// hosts make. Names and values are CUDA's; the functions belong to the executor, so that this and the CUDA runtime can
// be part of one program.

#include <cstddef>
#include <type_traits>

/// Tells sources which of the two headers they were compiled with.
#define SIMT_CUDA_RUNTIME 1
/// By this one the helpers of CUDA's samples, which others copy, know that cudaError_t is declared.
#define __DRIVER_TYPES_H__

// Most are there for switches of files that name them.
// clang-format off
enum cudaError {
  cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInitializationError = 3,
  cudaErrorCudartUnloading = 4, cudaErrorInvalidConfiguration = 9, cudaErrorInvalidPitchValue = 12,
  cudaErrorInvalidSymbol = 13, cudaErrorInvalidHostPointer = 16, cudaErrorInvalidDevicePointer = 17,
  cudaErrorInvalidMemcpyDirection = 21, cudaErrorInsufficientDriver = 35, cudaErrorMissingConfiguration = 52,
  cudaErrorInvalidDeviceFunction = 98, cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101,
  cudaErrorStartupFailure = 127, cudaErrorInvalidKernelImage = 200, cudaErrorDeviceUninitialized = 201,
  cudaErrorNoKernelImageForDevice = 209, cudaErrorECCUncorrectable = 214, cudaErrorInvalidPtx = 218,
  cudaErrorUnsupportedPtxVersion = 222, cudaErrorFileNotFound = 301, cudaErrorOperatingSystem = 304,
  cudaErrorInvalidResourceHandle = 400, cudaErrorIllegalState = 401, cudaErrorSymbolNotFound = 500,
  cudaErrorNotReady = 600, cudaErrorIllegalAddress = 700, cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702, cudaErrorPeerAccessAlreadyEnabled = 704, cudaErrorPeerAccessNotEnabled = 705,
  cudaErrorAssert = 710, cudaErrorHostMemoryAlreadyRegistered = 712, cudaErrorHostMemoryNotRegistered = 713,
  cudaErrorHardwareStackError = 714, cudaErrorIllegalInstruction = 715, cudaErrorMisalignedAddress = 716,
  cudaErrorInvalidAddressSpace = 717, cudaErrorInvalidPc = 718, cudaErrorLaunchFailure = 719,
  cudaErrorCooperativeLaunchTooLarge = 720, cudaErrorNotPermitted = 800, cudaErrorNotSupported = 801,
  cudaErrorSystemNotReady = 802, cudaErrorTimeout = 909, cudaErrorInvalidClusterSize = 912, cudaErrorUnknown = 999,
};
// clang-format on
using cudaError_t = cudaError;

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

namespace simt {
/// A call of CUDA's that returns `value` at `to`.
template <class T, class Value>
cudaError_t give(T* to, Value value) {
  *to = static_cast<T>(value);
  return cudaSuccess;
}
}  // namespace simt

/// Launches are complete when they return, so every stream is in order with all others and none needs to exist.
using cudaStream_t = struct CUstream_st*;

/// Every call is complete when it returns, so there is nothing to wait for.
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
#define CUDART_CB
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, void (*function)(void*), void* data) {
  function(data);
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaThreadSynchronize() { return cudaSuccess; }  // CUDA 12 and before
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }

inline cudaError_t cudaStreamCreate(cudaStream_t* stream) { return simt::give(stream, nullptr); }
#define cudaStreamDefault 0  // which is a stream as well
constexpr unsigned cudaStreamNonBlocking = 1;
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) { return cudaStreamCreate(stream); }
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  return cudaStreamCreate(stream);
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }

/// What the latest call that failed returned, until it is asked for. Launches throw instead.
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

/// Times between events are the executor's, by the host's clock.
using cudaEvent_t = struct CUevent_st*;
cudaError_t cudaEventCreate(cudaEvent_t* event);
constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) { return cudaEventCreate(event); }
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }

/// The device that kernels are told of: an H200, by simt/gpu_models.hpp.
cudaError_t cudaGetDevice(int* device);
// clang-format off
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxSharedMemoryPerBlock = 8, cudaDevAttrTotalConstantMemory = 9,
  cudaDevAttrWarpSize = 10, cudaDevAttrMaxRegistersPerBlock = 12, cudaDevAttrClockRate = 13,
  cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMemoryClockRate = 36, cudaDevAttrGlobalMemoryBusWidth = 37,
  cudaDevAttrL2CacheSize = 38, cudaDevAttrMaxThreadsPerMultiProcessor = 39, cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76, cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor = 82, cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};
// clang-format on
/// There is one, number 0.
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
enum cudaLimit { cudaLimitStackSize = 0, cudaLimitPrintfFifoSize = 1, cudaLimitMallocHeapSize = 2 };
inline cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) { return cudaSuccess; }
inline cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) { return simt::give(can, 0); }
inline cudaError_t cudaRuntimeGetVersion(int* version) { return simt::give(version, 12080); }
#define cudaDriverGetVersion cudaRuntimeGetVersion
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem = std::size_t{80} << 30U;
  std::size_t sharedMemPerBlock = 48 * 1024;
  std::size_t sharedMemPerBlockOptin = 227 * 1024;
  std::size_t sharedMemPerMultiprocessor = 228 * 1024;
  int regsPerBlock = 65536;
  int regsPerMultiprocessor = 65536;
  int warpSize = 32;
  int maxThreadsPerBlock = 1024;
  int maxThreadsPerMultiProcessor = 2048;
  int maxThreadsDim[3] = {1024, 1024, 64};
  int maxGridSize[3] = {2147483647, 65535, 65535};
  int clockRate = 1980000;
  int memoryClockRate = 3201000;
  int memoryBusWidth = 6144;
  int l2CacheSize = 50 << 20;
  std::size_t totalConstMem = 65536;
  int major = 9;
  int minor = 0;
  int multiProcessorCount = 0;
  int cooperativeLaunch = 1;
};
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);

/// Memory of the host, which checked and counted kernels may use from then on. Throws std::bad_alloc where there is not
/// enough.
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes);
inline cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t = nullptr) {
  return cudaMemset(memory, value, bytes);
}

/// The host's memory and the device's are one: the kind of a copy changes nothing, unless memory of cudaMalloc() shows
/// that it is wrong.
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};
cudaError_t cudaMemcpy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind);
inline cudaError_t cudaMemcpyAsync(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                                   cudaStream_t = nullptr) {
  return cudaMemcpy(destination, source, bytes, kind);
}
/// Rows of `row_bytes`, which begin a pitch apart, in bytes.
cudaError_t cudaMemcpy2D(void* destination, std::size_t destination_pitch, const void* source, std::size_t source_pitch,
                         std::size_t row_bytes, std::size_t rows, cudaMemcpyKind kind);
inline cudaError_t cudaMemset2D(void* memory, std::size_t pitch, int value, std::size_t row_bytes, std::size_t rows,
                                cudaStream_t = nullptr) {
  cudaError_t error = cudaSuccess;
  for (std::size_t row = 0; row < rows && error == cudaSuccess; ++row) {
    error = cudaMemset(static_cast<char*>(memory) + row * pitch, value, row_bytes);
  }
  return error;
}
#define cudaMemset2DAsync cudaMemset2D
constexpr int cudaCpuDeviceId = -1;
inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);

namespace simt {
cudaError_t allocate_for_cuda(void** memory, std::size_t bytes, bool of_device_alone);
}

// C++ has these for pointers and variables of every type.
template <class T>
cudaError_t cudaMalloc(T** memory, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(memory), bytes);
}
/// Rows of `row_bytes`, which begin at multiples of 512 bytes.
template <class T>
cudaError_t cudaMallocPitch(T** memory, std::size_t* pitch, std::size_t row_bytes, std::size_t rows) {
  constexpr std::size_t MULTIPLE = 512;
  *pitch = (row_bytes + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
  return cudaMalloc(memory, *pitch * rows);
}
constexpr unsigned cudaMemAttachGlobal = 1;
template <class T>
cudaError_t cudaMallocManaged(T** memory, std::size_t bytes, unsigned = cudaMemAttachGlobal) {
  return simt::allocate_for_cuda(reinterpret_cast<void**>(memory), bytes, false);
}
template <class T>
cudaError_t cudaMallocHost(T** memory, std::size_t bytes, unsigned = 0) {
  return simt::allocate_for_cuda(reinterpret_cast<void**>(memory), bytes, false);
}
constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2;
constexpr unsigned cudaHostAllocWriteCombined = 4, cudaDeviceMapHost = 8, cudaDeviceScheduleBlockingSync = 4;
template <class T>
cudaError_t cudaHostAlloc(T** memory, std::size_t bytes, unsigned) {
  return cudaMallocHost(memory, bytes);
}
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned) {
  return simt::give(device, host);
}
constexpr unsigned cudaHostRegisterDefault = 0;
inline cudaError_t cudaHostRegister(void*, std::size_t, unsigned) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
inline cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }
template <class T>
cudaError_t cudaMallocAsync(T** memory, std::size_t bytes, cudaStream_t) {
  return cudaMalloc(reinterpret_cast<void**>(memory), bytes);
}
inline cudaError_t cudaFreeAsync(void* memory, cudaStream_t) { return cudaFree(memory); }

namespace simt {
/// cudaErrorInvalidValue where `bytes` from `offset` on are no part of a variable of `size` bytes.
cudaError_t check_part(std::size_t offset, std::size_t bytes, std::size_t size);
}  // namespace simt

/// Of a __device__ or __constant__ variable.
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* source, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = nullptr) {
  const cudaError_t error = simt::check_part(offset, bytes, sizeof symbol);
  char* const begin = reinterpret_cast<char*>(const_cast<std::remove_cv_t<T>*>(&symbol));
  return error != cudaSuccess ? error : cudaMemcpy(begin + offset, source, bytes, kind);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* destination, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t = nullptr) {
  const cudaError_t error = simt::check_part(offset, bytes, sizeof symbol);
  const char* const begin = reinterpret_cast<const char*>(const_cast<std::remove_cv_t<T>*>(&symbol));
  return error != cudaSuccess ? error : cudaMemcpy(destination, begin + offset, bytes, kind);
}
#define cudaMemcpyToSymbolAsync cudaMemcpyToSymbol
#define cudaMemcpyFromSymbolAsync cudaMemcpyFromSymbol
template <class T>
cudaError_t cudaGetSymbolAddress(void** address, T& symbol) {
  return simt::give(address, const_cast<std::remove_cv_t<T>*>(&symbol));
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T& symbol) {
  return simt::give(bytes, sizeof symbol);
}

enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess,
  cudaDriverEntryPointSymbolNotFound,
  cudaDriverEntryPointVersionNotSufficent
};
constexpr unsigned long long cudaEnableDefault = 0;
/// Finds cuTensorMapEncodeTiled() alone.
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* found = nullptr);
inline cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                           cudaDriverEntryPointQueryResult* found = nullptr) {
  return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, found);
}
