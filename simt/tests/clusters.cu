#include "clusters.hpp"

#include "instructions.cuh"
#include "launch.cuh"

namespace simt::test {
namespace {

constexpr int THREADS = 64;
constexpr std::size_t SMEM_BYTES = THREADS * sizeof(float4);

void cluster_sync(Site site = Site::current()) { cluster_barrier(site); }

float load_first(unsigned address, unsigned rank, Site site = Site::current()) {
  return load_four_in_cluster(address, rank, site)[0];
}

void run(void (*kernel)(float*, int), float* out, int blocks, int cluster) {
  cudaLaunchAttribute clusters{};
  clusters.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(THREADS);
  config.dynamicSmemBytes = SMEM_BYTES;
  config.attrs = &clusters;
  config.numAttrs = 1;
  if (const cudaError_t error = cudaLaunchKernelEx(&config, kernel, out, cluster); error != cudaSuccess) {
    throw std::runtime_error(cudaGetErrorName(error));
  }
}

__global__ void sum_kernel(float* out, int cluster) {
  float4* const values = reinterpret_cast<float4*>(dynamic_smem());
  values[threadIdx.x].x = static_cast<float>(blockIdx.x + 1);
  cluster_sync();
  float sum = 0.0F;
  for (int rank = 0; rank < cluster; ++rank) {
    sum += load_first(shared_address(values + threadIdx.x), static_cast<unsigned>(rank));
  }
  cluster_sync();
  values[threadIdx.x].x = -1.0F;  // nobody may see it
  out[blockIdx.x * THREADS + threadIdx.x] = sum;
}

__global__ void leaving_kernel(float* out, int) {
  if (blockIdx.x % 2 == 1) {
    cluster_sync();
  }
  *out = 1.0F;
}

__global__ void beyond_kernel(float* out, int cluster) {
  cluster_sync();
  *out = load_first(0, static_cast<unsigned>(cluster));
}

__global__ void misaligned_kernel(float* out, int) {
  cluster_sync();
  *out = load_first(4, 0);
}

}  // namespace

void sum_clusters(float* out, int blocks, int cluster) { run(sum_kernel, out, blocks, cluster); }
void leave_cluster(float* out) { run(leaving_kernel, out, 2, 2); }
void read_beyond_cluster(float* out) { run(beyond_kernel, out, 2, 2); }
void read_misaligned(float* out) { run(misaligned_kernel, out, 1, 1); }

}  // namespace simt::test
