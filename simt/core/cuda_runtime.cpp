// The calls of CUDA's runtime that the hosts of kernels use.

#include "core/block.hpp"
#include "core/cluster.hpp"
#include "simt/device.hpp"
#include "simt/device_memory.hpp"
#include "simt/gpu_models.hpp"
#include "simt/launch_observer.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace {

/// As set_multiprocessors() says; 0 before.
int multiprocessors_set = 0;

int multiprocessors() {
  return multiprocessors_set > 0 ? multiprocessors_set : static_cast<int>(simt::find_gpu_model("h200")->sms);
}

/// What cudaGetLastError() returns.
cudaError_t last_error = cudaSuccess;
/// What cudaGetErrorString() says of cudaErrorInvalidValue: what was wrong in the last call that returned it.
const char* invalid_value = "invalid argument";

cudaError_t refuse(const char* what) {
  invalid_value = what;
  return last_error = cudaErrorInvalidValue;
}

struct AboutError {
  cudaError_t error;
  const char* name;
  const char* text;
};
#define SIMT_ERROR(error, text) \
  AboutError { error, #error, text }
constexpr std::array ERRORS{SIMT_ERROR(cudaSuccess, "no error"),
                            SIMT_ERROR(cudaErrorInvalidValue, "invalid argument"),
                            SIMT_ERROR(cudaErrorMemoryAllocation, "out of memory"),
                            SIMT_ERROR(cudaErrorInvalidConfiguration, "invalid configuration argument"),
                            SIMT_ERROR(cudaErrorInvalidDevice, "invalid device ordinal"),
                            SIMT_ERROR(cudaErrorNotReady, "device not ready"),
                            SIMT_ERROR(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
                            SIMT_ERROR(cudaErrorNotSupported, "operation not supported"),
                            SIMT_ERROR(cudaErrorInvalidClusterSize, "cluster misconfiguration"),
                            SIMT_ERROR(cudaErrorUnknown, "unknown error")};
#undef SIMT_ERROR

AboutError about(cudaError_t error) {
  const auto* const found = std::ranges::find(ERRORS, error, &AboutError::error);
  return found != ERRORS.end() ? *found : AboutError{error, "unrecognized error code", "unrecognized error code"};
}

/// What a launch of plain CUDA may have: more than this only after cudaFuncSetAttribute().
std::size_t most_dynamic_smem = std::size_t{48} * 1024;

/// Whether some of it lies in an allocation, and some beyond its end.
bool leaves_allocation(const void* begin, std::size_t bytes) {
  const std::vector<simt::Allocation> all = simt::allocations();
  return std::ranges::any_of(all, [&](const simt::Allocation& memory) {
    const auto offset =
        static_cast<std::size_t>(static_cast<const std::byte*>(begin) - static_cast<const std::byte*>(memory.begin));
    return offset < memory.bytes && bytes > memory.bytes - offset;
  });
}

bool is_of_device_alone(const void* address) { return simt::allocation_at(address).of_device_alone; }

/// Whether a device can reach it as well. Of what the caller has passed in that is not known.
bool is_of_device(const void* address) {
  return simt::allocation_at(address).bytes > 0 ||
         std::ranges::any_of(simt::device_variables(), [&](const simt::DeviceVariable* variable) {
           return static_cast<std::size_t>(static_cast<const std::byte*>(address) -
                                           static_cast<const std::byte*>(variable->address())) < variable->bytes();
         });
}

void tell_observer(const void* begin, std::size_t bytes) {
  if (simt::LaunchObserver* const observer = simt::LaunchObserver::current()) {
    observer->host_wrote(begin, bytes);
  }
}

}  // namespace

const char* cudaGetErrorName(cudaError_t error) { return about(error).name; }

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorInvalidValue ? invalid_value : about(error).text;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaGetDevice(int* device) { return simt::give(device, 0); }

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  const cudaDeviceProp device{};
  const std::map<cudaDeviceAttr, std::size_t> values{
      {cudaDevAttrMaxThreadsPerBlock, simt::MAX_THREADS_PER_BLOCK},
      {cudaDevAttrMaxSharedMemoryPerBlock, simt::MAX_STATIC_SMEM},
      {cudaDevAttrTotalConstantMemory, device.totalConstMem},
      {cudaDevAttrWarpSize, simt::WARP},
      {cudaDevAttrMaxRegistersPerBlock, device.regsPerBlock},
      {cudaDevAttrClockRate, device.clockRate},
      {cudaDevAttrMultiProcessorCount, multiprocessors()},
      {cudaDevAttrMemoryClockRate, device.memoryClockRate},
      {cudaDevAttrGlobalMemoryBusWidth, device.memoryBusWidth},
      {cudaDevAttrL2CacheSize, device.l2CacheSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, device.maxThreadsPerMultiProcessor},
      {cudaDevAttrComputeCapabilityMajor, device.major},
      {cudaDevAttrComputeCapabilityMinor, device.minor},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, device.sharedMemPerMultiprocessor},
      {cudaDevAttrMaxRegistersPerMultiprocessor, device.regsPerMultiprocessor},
      {cudaDevAttrCooperativeLaunch, 1},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, simt::MAX_DYNAMIC_SMEM}};
  const auto found = values.find(attribute);
  if (found == values.end()) {
    return refuse("invalid argument: an attribute that the executor does not know");
  }
  return simt::give(value, found->second);
}

cudaError_t simt::allocate_for_cuda(void** memory, std::size_t bytes, bool of_device_alone) {
  constexpr int NOT_A_NUMBER = 0xFF;  // what holds nothing yet is not to pass for zeros
  *memory = simt::allocate(bytes, of_device_alone);
  std::memset(*memory, NOT_A_NUMBER, bytes);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) { return simt::allocate_for_cuda(memory, bytes, true); }

cudaError_t cudaFree(void* memory) {
  return memory == nullptr || simt::release(memory)
             ? cudaSuccess
             : refuse("invalid argument: cudaFree() of what is no allocation, or has been released before");
}

cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  if (leaves_allocation(memory, bytes)) {
    return refuse("invalid argument: cudaMemset() beyond the end of an allocation");
  }
  std::memset(memory, value, bytes);
  tell_observer(memory, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* destination, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  if ((kind == cudaMemcpyHostToDevice && is_of_device_alone(source) && !is_of_device(destination)) ||
      (kind == cudaMemcpyDeviceToHost && is_of_device_alone(destination) && !is_of_device(source))) {
    return refuse("invalid argument: cudaMemcpy() in the other direction than its kind says");
  }
  if (leaves_allocation(destination, bytes) || leaves_allocation(source, bytes)) {
    return refuse("invalid argument: cudaMemcpy() beyond the end of an allocation");
  }
  std::memmove(destination, source, bytes);
  tell_observer(destination, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void* destination, std::size_t destination_pitch, const void* source, std::size_t source_pitch,
                         std::size_t row_bytes, std::size_t rows, cudaMemcpyKind kind) {
  for (std::size_t row = 0; row < rows; ++row) {
    const cudaError_t error = cudaMemcpy(static_cast<std::byte*>(destination) + row * destination_pitch,
                                         static_cast<const std::byte*>(source) + row * source_pitch, row_bytes, kind);
    if (error != cudaSuccess) {
      return error;
    }
  }
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  constexpr std::size_t GIB = std::size_t{1} << 30U;
  *total = 80 * GIB;
  return simt::give(free, *total);
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaGetDeviceCount(int* count) { return simt::give(count, 1); }

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : (last_error = cudaErrorInvalidDevice); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) {
    return last_error = cudaErrorInvalidDevice;
  }
  *properties = {};
  std::strncpy(properties->name, "simt", sizeof properties->name);
  properties->multiProcessorCount = multiprocessors();
  return cudaSuccess;
}

struct CUevent_st {
  std::chrono::steady_clock::time_point when;
};

cudaError_t cudaEventCreate(cudaEvent_t* event) { return simt::give(event, new CUevent_st); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->when = std::chrono::steady_clock::now();
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->when - begin->when).count();
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(simt::AnyKernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
    return cudaSuccess;
  }
  if (value < 0 || static_cast<std::size_t>(value) > simt::MAX_DYNAMIC_SMEM) {
    return refuse("invalid argument: cudaFuncSetAttribute() for more dynamic shared memory than a block may have");
  }
  most_dynamic_smem = std::max(most_dynamic_smem, static_cast<std::size_t>(value));
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, simt::AnyKernel) { return cudaErrorNotSupported; }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, simt::AnyKernel, int, std::size_t) {
  return simt::give(blocks, 1);
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t* config) {
  const simt::Index3 cluster = simt::launch_of(*config).cluster;
  return simt::give(clusters, multiprocessors() / static_cast<int>(cluster.x * cluster.y * cluster.z));
}

namespace simt {

void set_multiprocessors(int count) { multiprocessors_set = count; }

Launch launch_of(const cudaLaunchConfig_t& config) {
  Launch launch{};
  launch.grid = {config.gridDim.x, config.gridDim.y, config.gridDim.z};
  launch.block = {config.blockDim.x, config.blockDim.y, config.blockDim.z};
  launch.dynamic_smem = config.dynamicSmemBytes;
  for (const cudaLaunchAttribute& attribute : std::span(config.attrs, config.numAttrs)) {
    if (attribute.id == cudaLaunchAttributeClusterDimension) {
      const dim3& cluster = attribute.val.clusterDim;
      launch.cluster = {cluster.x, cluster.y, cluster.z};
    } else if (attribute.id == cudaLaunchAttributeCooperative) {
      launch.cooperative = attribute.val.cooperative != 0;
    }
  }
  return launch;
}

cudaError_t check(const cudaLaunchConfig_t& config) {
  constexpr unsigned MOST_BLOCKS_X = 0x7FFFFFFFU;
  constexpr unsigned MOST_BLOCKS_YZ = 0xFFFFU;
  constexpr unsigned MOST_THREADS_Z = 64;
  const dim3& grid = config.gridDim;
  const dim3& block = config.blockDim;
  const auto within = [](unsigned value, unsigned most) { return value >= 1 && value <= most; };
  const bool valid = within(grid.x, MOST_BLOCKS_X) && within(grid.y, MOST_BLOCKS_YZ) &&
                     within(grid.z, MOST_BLOCKS_YZ) && within(block.x, MAX_THREADS_PER_BLOCK) &&
                     within(block.y, MAX_THREADS_PER_BLOCK) && within(block.z, MOST_THREADS_Z) &&
                     block.x * block.y * block.z <= MAX_THREADS_PER_BLOCK;
  if (!valid) {
    return last_error = cudaErrorInvalidConfiguration;
  }
  const Launch launch = launch_of(config);
  const Index3& cluster = launch.cluster;
  const unsigned blocks = cluster.x * cluster.y * cluster.z;
  if (!within(blocks, Cluster::MOST_BLOCKS) || grid.x % cluster.x != 0 || grid.y % cluster.y != 0 ||
      grid.z % cluster.z != 0) {
    return last_error = cudaErrorInvalidClusterSize;
  }
  if (launch.cooperative && together(launch) > static_cast<unsigned>(multiprocessors())) {
    return last_error = cudaErrorCooperativeLaunchTooLarge;
  }
  if (launch.cooperative && blocks > 1) {
    return last_error = cudaErrorNotSupported;
  }
  return config.dynamicSmemBytes <= MAX_DYNAMIC_SMEM ? cudaSuccess : last_error = cudaErrorInvalidValue;
}

cudaError_t check_part(std::size_t offset, std::size_t bytes, std::size_t size) {
  return offset <= size && bytes <= size - offset
             ? cudaSuccess
             : refuse("invalid argument: a copy beyond the end of a __device__ or __constant__ variable");
}

void check_launch(const cudaLaunchConfig_t& launch, Site site) {
  if (Block::on_this_thread() != nullptr) {
    const InExecutor in_executor;
    throw NotSupported("the executor does not model launches by kernels (" + std::string(site.file_name()) + ':' +
                       std::to_string(site.line()) + ')');
  }
  const auto fail = [&](const std::string& what) {
    throw Error(std::string(site.file_name()) + ':' + std::to_string(site.line()) + ": a launch " + what);
  };
  const auto extents = [](const dim3& d) { return extents_text({d.x, d.y, d.z}); };
  const dim3& block = launch.blockDim;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads > MAX_THREADS_PER_BLOCK) {
    fail("of " + std::to_string(threads) + " threads (" + extents(block) + ") in a block, which may have " +
         std::to_string(MAX_THREADS_PER_BLOCK));
  }
  const std::size_t smem = launch.dynamicSmemBytes;
  if (smem > MAX_DYNAMIC_SMEM) {
    fail("with " + std::to_string(smem) + " bytes of dynamic shared memory, of which a block may have " +
         std::to_string(MAX_DYNAMIC_SMEM));
  }
  if (smem > most_dynamic_smem) {
    fail("with " + std::to_string(smem) + " bytes of dynamic shared memory, which takes a call of " +
         "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before it above " +
         std::to_string(most_dynamic_smem));
  }
  if (check(launch) != cudaSuccess) {
    fail("of a grid of " + extents(launch.gridDim) + " blocks of " + extents(block) +
         " threads: there has to be at least one of each, and at most 2147483647 x 65535 x 65535 blocks of 1024 x 1024 "
         "x 64 threads");
  }
}

}  // namespace simt
