// Kernels that are wrong, or that ask for what is not supported, in plain CUDA. The messages stand at the end.
#include <cooperative_groups.h>
#include <cublas_v2.h>
#include <stdexcept>
#include <type_traits>

__global__ void shared_into_next(const float* in, float* out) {
  __shared__ float first[64], second[64];
  first[threadIdx.x] = in[threadIdx.x];
  second[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x + 1] + second[threadIdx.x];
}

__global__ void missing_barrier(const float* in, float* out) {
  __shared__ float values[64];
  values[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = values[threadIdx.x == 0 ? 0 : threadIdx.x - 1];
}

__global__ void read_too_early(const float* in, float* out) {
  __shared__ float values[2][32];
  values[threadIdx.x / 32][threadIdx.x % 32] = in[threadIdx.x];
  out[threadIdx.x] = values[1 - threadIdx.x / 32][threadIdx.x % 32];
}

__global__ void unwritten(float* out) {
  __shared__ float sums[64];
  atomicAdd(&sums[threadIdx.x], 1.0f);
  out[threadIdx.x] = sums[threadIdx.x];
}

__global__ void atomic_and_plain_kernel(float* out) {
  if (threadIdx.x < 32)
    atomicAdd(&out[0], 1.0f);
  else
    out[0] = 2.0f;
}
void atomic_and_plain(const float*, float* out) {
  cudaMemset(out, 0, sizeof(float));
  atomic_and_plain_kernel<<<1, 64>>>(out);
}

__global__ void atomic_behind_plain(float* out) {
  if (threadIdx.x == 0) out[0] = 0;
  atomicAdd(&out[0], 1.0f);
}

__global__ void shared_atomic_behind_plain(float* out) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  atomicAdd(&sum, 1.0f);
  __syncthreads();
  out[threadIdx.x] = sum;
}

__device__ float lookup[4];
__global__ void variable_beyond_end(float* out) { out[threadIdx.x] = lookup[threadIdx.x]; }

// Blocks that pass data on to one another without an order.
__device__ float parts[64];
__global__ void two_phases_kernel(const float* in, float* out, bool barrier) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  parts[i] = in[i];
  if (barrier) cooperative_groups::this_grid().sync();
  out[i] = parts[63 - i];
  if (barrier) parts[i] = 0;
}
void two_phases(const float* in, float* out, bool barrier) {
  void* arguments[] = {&in, &out, &barrier};
  cudaLaunchCooperativeKernel((void*)two_phases_kernel, 4, 16, arguments);
}
void missing_grid_barrier(const float* in, float* out) { two_phases(in, out, false); }
void missing_second_grid_barrier(const float* in, float* out) { two_phases(in, out, true); }

__global__ void of_block_before_kernel(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = blockIdx.x == 0 ? in[i] : out[i - blockDim.x];
}
void of_block_before(const float* in, float* out) {
  cudaMemset(out, 0, 64 * sizeof(float));
  of_block_before_kernel<<<4, 16>>>(in, out);
}

__device__ unsigned tickets;
__device__ volatile int ready;
__global__ void without_fence(const float* in, float* out) {
  __shared__ bool last;
  parts[blockIdx.x] = in[blockIdx.x];
  if (threadIdx.x == 0) last = atomicInc(&tickets, gridDim.x) == gridDim.x - 1;
  if (last) out[0] = parts[0] + parts[1];
}

__global__ void fence_too_early(const float* in, float* out) {
  if (blockIdx.x == 0) {
    __threadfence();
    parts[0] = in[0];
    ready = 1;
  } else {
    while (ready == 0)
      ;
    out[0] = parts[0];
  }
}

__global__ void plain_flag(float* out) {
  if (blockIdx.x == 0) {
    __threadfence();
    tickets = 1;
  } else if (tickets == 1) {
    out[0] = 1;
  }
}

__global__ void copy_not_awaited(const float* in, float* out) {
  extern __shared__ float smem[];
  const unsigned to = (unsigned)__cvta_generic_to_shared(smem + threadIdx.x);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + threadIdx.x));
  asm volatile("cp.async.commit_group;");
  out[threadIdx.x] = smem[threadIdx.x];
}

template <class T>
__global__ void local_beyond_end_kernel(const T* in, T* out, int count) {
  T values[4] = {0, 0, 0, 0};
  for (int i = 0; i < count; ++i) {
    values[i] = in[i];
  }
  out[threadIdx.x] = values[threadIdx.x % 4];
}
void local_beyond_end(const float* in, float* out) { local_beyond_end_kernel<<<1, 1>>>(in, out, 5); }

__device__ void set(int* values, int at) { values[at] = 7; }
__global__ void vector_before_begin_kernel(float* out, int at) {
  int4 vector = make_int4(1, 2, 3, 4);
  set(reinterpret_cast<int*>(&vector), at);
  out[threadIdx.x] = vector.x;
}
void vector_before_begin(const float*, float* out) { vector_before_begin_kernel<<<1, 1>>>(out, -1); }

template <typename Vector>
__global__ void template_type_before_begin_kernel(float* out, int at) {
  Vector vector{1, 2, 3, 4};
  set(reinterpret_cast<int*>(&vector), at);
  out[threadIdx.x] = vector.x;
}
void template_type_before_begin(const float*, float* out) {
  template_type_before_begin_kernel<int4><<<1, 1>>>(out, -1);
}

__global__ void braces_beyond_end_kernel(float* out, int at) {
  int values[2][2]{{1, 2}, {3}};
  set(values[0], at);
  out[threadIdx.x] = values[1][0];
}
void braces_beyond_end(const float*, float* out) { braces_beyond_end_kernel<<<1, 1>>>(out, 4); }

__global__ void nothing_kernel() {}
void too_many_threads(const float*, float*) { nothing_kernel<<<1, dim3(33, 32)>>>(); }
void no_blocks(const float*, float*) { nothing_kernel<<<0, 32>>>(); }
void much_dynamic_smem(const float*, float*) { nothing_kernel<<<1, 32, 300000>>>(); }

template <int BYTES>
__global__ void large_kernel() {
  __shared__ char first[BYTES];
  __shared__ char second[BYTES];
  first[0] = second[0] = 0;
}
void much_static_smem(const float*, float*) { large_kernel<30000><<<1, 1>>>(); }

template <int WARPS>
__global__ void __launch_bounds__(WARPS * 32, /* blocks */ 1) bounded_kernel(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x];
}
void beyond_launch_bounds(const float* in, float* out) { bounded_kernel<1><<<1, 64>>>(in, out); }

__global__ void __cluster_dims__(2, 1, 1) of_clusters() {}

__global__ void beyond_cluster(float* out) {
  __shared__ float values[32];
  values[threadIdx.x] = 1;
  out[threadIdx.x] = cooperative_groups::this_cluster().map_shared_rank(values, 1)[threadIdx.x];
}

__constant__ float constants[4];
void copy_beyond_symbol(const float* in, float*) {
  if (cudaMemcpyToSymbol(constants, in, 12, 8) != cudaSuccess)
    throw std::runtime_error(cudaGetErrorName(cudaGetLastError()));
}
void copy_from_beyond_symbol(const float*, float* out) {
  if (cudaMemcpyFromSymbol(out, constants, 20) != cudaSuccess)
    throw std::runtime_error(cudaGetErrorName(cudaGetLastError()));
}

void must_succeed(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(cudaGetLastError()));
}
__global__ void beyond_allocation_kernel(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x + 1]; }
void beyond_allocation(const float*, float* out) {
  float* d_in[2];
  must_succeed(cudaMalloc((void**)&d_in[1], 64 * sizeof(float)));
  cudaMemset(d_in[1], 0, 64 * sizeof(float));
  beyond_allocation_kernel<<<1, 64>>>(d_in[1], out);
}
struct Memory {
  float* begin = nullptr;
  Memory() { cudaMalloc(&begin, 64 * sizeof(float)); }
  ~Memory() { cudaFree(begin); }
};
void set_beyond_allocation(const float*, float*) {
  const Memory memory;
  must_succeed(cudaMemset(memory.begin + 32, 0, 33 * sizeof(float)));
}
void copy_beyond_allocation(const float*, float* out) {
  const Memory memory;
  must_succeed(cudaMemcpy(out, memory.begin + 32, 33 * sizeof(float), cudaMemcpyDefault));
}
void free_twice(const float*, float*) {
  Memory memory;
  cudaFree(memory.begin);
  const cudaError_t error = cudaFree(memory.begin);
  memory.begin = nullptr;
  must_succeed(error);
}

__global__ void trap_at_nan_kernel(const float* in, float* out) {
  if (isnan(in[threadIdx.x])) __trap();
  out[threadIdx.x] = in[threadIdx.x];
}
void nothing_in_memory_yet(const float*, float* out) {
  const Memory memory;
  trap_at_nan_kernel<<<1, 64>>>(memory.begin, out);
}

__device__ void promise(bool kept) { assert(kept && "is kept"); }
__global__ void broken_promise_kernel(int threads) { promise(threadIdx.x < threads); }
void broken_promise(const float*, float*) { broken_promise_kernel<<<1, 64>>>(40); }
void broken_promise_of_host(const float*, float* out) { assert(out == nullptr); }

__global__ void unknown_instruction() { asm volatile("tcgen05.fence::before_thread_sync;\n" ::: "memory"); }

__global__ void rounding_in_ptx(float* out) { asm("add.rz.f32 %0, %0, %0;" : "+f"(out[0])); }
__global__ void conversion_in_ptx_kernel(unsigned* out) {
  asm("cvt.rz.f16x2.f32 %0, %1, %1;" : "=r"(out[0]) : "f"(1.0f));
}
void conversion_in_ptx(const float*, float* out) { conversion_in_ptx_kernel<<<1, 1>>>((unsigned*)out); }

// Modifiers that change what an instruction does and that the executor does not know.
#define REFUSED(name, text) \
  __global__ void name() { asm volatile(text); }
REFUSED(multicast,
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [0], [0], 16, [0], 3;")
REFUSED(store_to_cluster, "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [0], 1, [0];")
REFUSED(cluster_wait_alone, "barrier.cluster.wait.aligned;")
REFUSED(cluster_arrives_twice, "barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned;")
REFUSED(too_few_stored, "{ .reg .b32 a; stmatrix.sync.aligned.m8n8.x4.shared.b16 [0], {a}; }")
REFUSED(two_stored_as_one, "{ .reg .b32 a; st.shared.b32 [0], {a, a}; }")
REFUSED(too_few_loaded, "{ .reg .b32 a; ld.shared.v4.b32 {a, a, a}, [0]; }")
REFUSED(sum_with_carry, "{ .reg .u32 a; add.cc.u32 a, 1, 2; }")
REFUSED(bit_reduction, "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [0], 1, [0];")

__global__ void constraint(float* out) {
  out[0] = 0;
  asm volatile("mov.b32 %0, 1;" : "=C"(out[0]));
}

__global__ void grid_barrier_kernel() { cooperative_groups::this_grid().sync(); }
void grid_barrier(const float*, float*) { grid_barrier_kernel<<<1, 32>>>(); }

__global__ void leaving_grid_kernel() {
  if (blockIdx.x > 0) cooperative_groups::this_grid().sync();
}
void leaving_grid(const float*, float*) { cudaLaunchCooperativeKernel(leaving_grid_kernel, 2, 32, nullptr); }

void untyped_launch(const float*, float*) {
  const void* const kernel = reinterpret_cast<const void*>(grid_barrier_kernel);
  cudaLaunchCooperativeKernel(kernel, 1, 32, nullptr);
}
void large_cooperative_launch(const float*, float*) {
  throw std::runtime_error(
      cudaGetErrorName(cudaLaunchCooperativeKernel(grid_barrier_kernel, 1 << 20, 32, nullptr, 0, nullptr)));
}

__global__ void launching_kernel() { grid_barrier_kernel<<<1, 32>>>(); }
void launch_by_kernel(const float*, float*) { launching_kernel<<<1, 1>>>(); }

void cublas(const float*, float*) {
  cublasHandle_t handle;
  cublasCreate(&handle);
}

// Behind lines that messages name.
#include <cuda_fp16.h>
#include <mma.h>

__global__ void static_variable(float* out) {
  static __device__ float calls = 0.0f;
  out[0] = ++calls;
}

__global__ void odd_rows() {
  __shared__ half tile[16 * 17];
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, nvcuda::wmma::row_major> fragment;
  for (int i = threadIdx.x; i < 16 * 17; i += 32) {
    tile[i] = half(1.0f);
  }
  __syncwarp();
  nvcuda::wmma::load_matrix_sync(fragment, tile, 17);
}

// A box of 4 x 16 of the input, which goes to the array behind it as well, with one fault.
#include <cuda.h>
#include <cuda/barrier>
enum class OfBox {
  few_bytes,
  address,
  no_wait,
  dimensions,
  column,
  no_map,
  stored_input,
  stored_beyond,
  stored_before,
  freed,
  beyond,
  rounded
};
template <OfBox FAULT>
__global__ void wrong_box_kernel(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  namespace cde = cuda::device::experimental;
  __shared__ alignas(128) float box[128];
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    float* const there = box + (FAULT == OfBox::address ? 4 : FAULT == OfBox::beyond ? 96 : 0);
    if (FAULT == OfBox::dimensions) {
      cde::cp_async_bulk_tensor_3d_global_to_shared(there, &from, 0, 0, 0, full);
    } else {
      cde::cp_async_bulk_tensor_2d_global_to_shared(there, &from, FAULT == OfBox::column ? -1 : 0, 0, full);
    }
    auto token = cuda::device::barrier_arrive_tx(full, 1, FAULT == OfBox::few_bytes ? 128 : 256);
    if (FAULT != OfBox::no_wait) full.wait(token);
    cde::cp_async_bulk_tensor_2d_shared_to_global(FAULT == OfBox::stored_input ? &from : &to, 0,
                                                  FAULT == OfBox::stored_beyond   ? 2
                                                  : FAULT == OfBox::stored_before ? -1
                                                                                  : 0,
                                                  box);
  }
}
CUresult encode_box(CUtensorMap* map, const float* array, unsigned rows, CUtensorMapFloatOOBfill fill = {},
                    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32) {
  const cuuint64_t extents[] = {16, rows}, strides[] = {64};
  const cuuint32_t box[] = {16, 4}, steps[] = {1, 1};
  return cuTensorMapEncodeTiled(map, type, 2, (void*)array, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
}
template <OfBox FAULT>
void wrong_box(const float* in, float* out) {
  CUtensorMap from{}, to;
  if (FAULT != OfBox::no_map) encode_box(&from, in, 4);
  encode_box(&to, out, FAULT == OfBox::stored_beyond ? 8 : 4, {},
             FAULT == OfBox::rounded ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
  if (FAULT == OfBox::freed) {
    float* gone;
    cudaMalloc(&gone, 256);
    encode_box(&from, gone, 4);
    cudaFree(gone);
  }
  wrong_box_kernel<FAULT><<<1, 32>>>(from, to);
}
void filled_with_nan(const float* in, float*) {
  CUtensorMap map;
  encode_box(&map, in, 4, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
}
REFUSED(box_to_cluster,
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [0], "
        "[0, {0, 0}], [0], 3;")
REFUSED(sum_of_boxes, "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [0, {0, 0}], [0];")
REFUSED(box_of_images, "cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [0, {0, 0, 0, 0}], {0, 0};")
REFUSED(too_few_coordinates, "cp.async.bulk.prefetch.tensor.3d.L2.global [0, {0, 0}];")

#include "../plain_features.hpp"

template <auto KERNEL, int BLOCKS = 1, int THREADS = 64, int DYNAMIC_SMEM = 0>
void launched(const float* in, float* out) {
  if constexpr (std::is_invocable_v<decltype(KERNEL), const float*, float*>)
    KERNEL<<<BLOCKS, THREADS, DYNAMIC_SMEM>>>(in, out);
  else if constexpr (std::is_invocable_v<decltype(KERNEL), float*>)
    KERNEL<<<BLOCKS, THREADS>>>(out);
  else
    KERNEL<<<BLOCKS, THREADS>>>();
}

extern "C" simt::test::Table<simt::test::PlainFault> plain_faults() {
  static const simt::test::PlainFault faults[] = {
      {launched<shared_into_next>,
       {"faults.cu:12 in shared_into_next(float const*, float*): reads 4 bytes at element [64] of shared first, "
        "outside",
        "outside of shared memory, 4 bytes beyond the end of shared first"}},
      {launched<missing_barrier>, {"reads 4 bytes at element [0] of shared values, which thread (", "; it wrote at "}},
      {launched<read_too_early>,
       {"writes 4 bytes at element [1][0] of shared values, which thread (0,0,0) read",
        ", before it was written: a barrier is missing between ", "plain/faults.cu:23 and "}},
      {launched<unwritten>, {"faults.cu:29 in ", "an atomic operation writes 4 bytes at "}},
      {atomic_and_plain, {"of OUT, which block (0,0,0), thread (31,0,0) wrote"}},
      {launched<atomic_behind_plain>, {"of OUT, which block (0,0,0), thread (0,0,0) wrote"}},
      {launched<shared_atomic_behind_plain>, {"of shared sum, which thread (0,0,0) wrote"}},
      {missing_grid_barrier, {", and blocks are not ordered; it ", " of parts, which block ("}},
      {missing_second_grid_barrier, {"faults.cu:"}},
      {of_block_before, {", and blocks are not ordered; it "}},
      {launched<without_fence, 2, 1>, {"of parts, which block ("}},
      {launched<fence_too_early, 2, 1>, {"of parts, which block (0,0,0), thread (0,0,0) wrote, and blocks are not"}},
      {launched<plain_flag, 2, 1>, {"of tickets, which block ("}},
      {launched<variable_beyond_end>, {"thread (4,0,0), "}},
      {launched<copy_not_awaited, 1, 64, 256>, {"byte 0 of dynamic shared memory, to which an asynchronous copy"}},
      {local_beyond_end, {"thread (0,0,0) has written beyond the end of its local variable values ("}},
      {vector_before_begin, {"has written before its local variable vector ("}},
      {template_type_before_begin, {"has written before its local variable vector ("}},
      {braces_beyond_end, {"has written beyond the end of its local variable values ("}},
      {too_many_threads, {"a launch of 1056 threads (33 x 32 x 1) in a block, which may have 1024"}},
      {no_blocks, {"a launch of a grid of 0 x 1 x 1 blocks"}},
      {much_dynamic_smem, {"300000 bytes of dynamic shared memory, of which a block may have 232448"}},
      {much_static_smem, {"has 49152 bytes, and with second the block's variables take 60000"}},
      {beyond_launch_bounds, {"the block has 64 threads, and __launch_bounds__ of the kernel promises at most 32"}},
      {launched<of_clusters, 3, 32>, {"clusters of 2 x 1 x 1 blocks, which a launch of 3 x 1 x 1 blocks can not have"}},
      {launched<beyond_cluster, 1, 32>, {"there is no shared memory at shared address"}},
      {copy_beyond_symbol, {"cudaErrorInvalidValue"}},
      {copy_from_beyond_symbol, {"cudaErrorInvalidValue"}},
      {set_beyond_allocation, {"cudaMemset() beyond the end of an allocation"}},
      {copy_beyond_allocation, {"cudaMemcpy() beyond the end of an allocation"}},
      {beyond_allocation, {"reads 4 bytes at byte 256 of d_in, which has 256 bytes: outside"}},
      {free_twice, {"cudaFree() of what is no allocation"}},
      {nothing_in_memory_yet, {"__trap()"}},
      {broken_promise,
       {"block (0,0,0), thread (40,0,0), ", "(bool): the assertion does not hold: kept && \"is kept\""}},
      {broken_promise_of_host, {"the assertion does not hold: out == nullptr"}},
      {launched<unknown_instruction>, {"the instruction tcgen05.fence::before_thread_sync ("}},
      {launched<rounding_in_ptx, 1, 1>, {"the instruction add.rz.f32 ("}},
      {conversion_in_ptx, {"the instruction cvt.rz.f16x2.f32 ("}},
      {launched<multicast, 1, 1>,
       {"the instruction cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.mult"}},
      {launched<store_to_cluster, 1, 1>, {"the instruction st.async.shared::cluster.mbarrier::complete_tx::bytes.u"}},
      {launched<cluster_wait_alone, 1, 1>, {"waits at the cluster's barrier, where it has not arrived"}},
      {launched<cluster_arrives_twice, 1, 1>, {"arrives at the cluster's barrier a second time"}},
      {launched<too_few_stored, 1, 1>, {"the instruction stmatrix.sync.aligned.m8n8.x4.shared.b16 ("}},
      {launched<two_stored_as_one, 1, 1>, {"the instruction st.shared.b32 ("}},
      {launched<too_few_loaded, 1, 1>, {"the instruction ld.shared.v4.b32 ("}},
      {launched<sum_with_carry, 1, 1>, {"the instruction add.cc.u32 ("}},
      {launched<bit_reduction, 1, 1>,
       {"the instruction red.async.relaxed.cluster.shared::cluster.mbarrier::complete_"}},
      {launched<constraint, 1, 32>, {"the constraint C of an operand of inline assembly ("}},
      {grid_barrier, {"waits at a barrier of the grid, and its launch is not cooperative"}},
      {leaving_grid, {"waits for ever at a barrier of the grid: another block of it has ended"}},
      {untyped_launch, {"does not model a launch by a pointer without the kernel's type"}},
      {large_cooperative_launch, {"cudaErrorCooperativeLaunchTooLarge"}},
      {launch_by_kernel, {"launches by kernels ("}},
      {launched<static_variable, 1, 1>, {"static variables of kernels ("}},
      {launched<odd_rows, 1, 32>, {"wmma takes matrices whose rows are a multiple of 16 bytes apart"}},
      {wrong_box<OfBox::few_bytes>, {"expects"}},
      {wrong_box<OfBox::address>, {"a tensor copy takes shared addresses that are multiples of 128, not "}},
      {wrong_box<OfBox::no_wait>, {"of shared box, which a bulk copy wrote, and no wait for its mbarrier lies in"}},
      {wrong_box<OfBox::dimensions>, {"a tensor copy of 3 coordinates takes a tensor map of 2 dimensions"}},
      {wrong_box<OfBox::column>, {"a tensor copy begins at multiples of 16 bytes of a row, not -4"}},
      {wrong_box<OfBox::no_map>, {"a tensor copy takes a tensor map of cuTensorMapEncodeTiled() that is aligned"}},
      {wrong_box<OfBox::stored_input>, {"writes 4 bytes at element 0 of IN, which is an input"}},
      {wrong_box<OfBox::stored_beyond>, {"writes 4 bytes at element 64 of OUT, which has 64 elements: outside"}},
      {wrong_box<OfBox::stored_before>, {"a tensor copy to global memory takes no coordinates below 0"}},
      {wrong_box<OfBox::freed>, {"a tensor copy reads 64 bytes at ", "outside of all arrays"}},
      {wrong_box<OfBox::beyond>, {"a tensor copy writes 64 bytes at ", "outside"}},
      {wrong_box<OfBox::rounded>, {"the executor does not model stores by tensor maps of TF32"}},
      {filled_with_nan, {"the executor does not model tensor maps that fill with NaN"}},
      {launched<box_to_cluster, 1, 1>, {"the instruction cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrie"}},
      {launched<sum_of_boxes, 1, 1>, {"the instruction cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.b"}},
      {launched<box_of_images, 1, 1>, {"the instruction cp.async.bulk.prefetch.tensor.4d.L2.global.im2col ("}},
      {launched<too_few_coordinates, 1, 1>, {"the instruction cp.async.bulk.prefetch.tensor.3d.L2.global ("}},
      {cublas, {"cuBLAS, of which the host calls cublasCreate()"}},
  };
  return {faults, sizeof faults / sizeof faults[0]};
}
