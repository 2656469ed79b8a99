// Inline PTX of clusters: mapa, loads from another block, the cluster's barrier; bulk copies to global memory.
__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__global__ void ptx_clusters_kernel(const float* in, float* out) {
  extern __shared__ __align__(16) float values[];
  const unsigned rank = blockIdx.x % 2;
  values[threadIdx.x] = in[32 * rank + threadIdx.x];
  cluster_sync();
  float other, own;
  asm volatile(
      "{ .reg .b32 there;\n mapa.shared::cluster.u32 there, %2, %3;\n ld.shared::cluster.f32 %0, [there];\n"
      " ld.shared::cluster.f32 %1, [%2]; }"
      : "=f"(other), "=f"(own)
      : "r"((unsigned)__cvta_generic_to_shared(values + threadIdx.x)), "r"(rank ^ 1));
  cluster_sync();
  values[threadIdx.x] = other + 100 * own;
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile(
        "fence.proxy.async.shared::cta;\n cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;\n"
        "cp.async.bulk.commit_group;\n cp.async.bulk.wait_group.read 0;" ::"l"(out + 32 * rank),
        "r"((unsigned)__cvta_generic_to_shared(values)));
  }
}

void ptx_clusters(const float* in, float* out) {
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = 2;
  config.blockDim = 32;
  config.dynamicSmemBytes = 128;
  config.attrs = &attribute;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, ptx_clusters_kernel, in, out);
}

float ptx_clusters_expected(const float* in, int i) { return in[(i + 32) % 64] + 100 * in[i]; }
