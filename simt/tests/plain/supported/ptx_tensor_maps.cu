// Inline PTX of tensor maps: boxes with each swizzle, beyond all edges, of several dimensions, and stores.
#include <cudaTypedefs.h>
#include <cuda/barrier>

__device__ unsigned tensor_address(const void* pointer) { return (unsigned)__cvta_generic_to_shared(pointer); }

__device__ void wait_for_tensor(unsigned long long* full) {
  asm volatile("{ .reg .pred p;\n again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n @!p bra again; }" ::"r"(
      tensor_address(full)));
}

/// Rows and columns of `in` from (row, column) on, of which there are 8 in an array of 16 columns, as a box of 8 x 32
/// floats. Adds 1 to `bad` for each that is not where the swizzle has it.
__global__ void swizzled_box(const __grid_constant__ CUtensorMap map, const float* in, int width, int swizzle, int row,
                             int column, int* bad) {
  __shared__ alignas(1024) float box[8 * 32];
  __shared__ unsigned long long full;
  if (threadIdx.x == 0) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map));
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global [%0, {%1, %2}];" ::"l"(&map), "r"(column), "r"(row));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(tensor_address(&full)));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(tensor_address(&full)),
                 "r"(8 * width * 4));
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
        "[%1, {%2, %3}], [%4], %5;" ::"r"(tensor_address(box)),
        "l"(&map), "r"(column), "r"(row), "r"(tensor_address(&full)), "l"(0ull)
        : "memory");
  }
  __syncthreads();
  wait_for_tensor(&full);
  for (int i = threadIdx.x; i < 8 * width; i += blockDim.x) {
    // Which piece of four floats, and in which line of 128 bytes it lies: the number of pieces in a span is 2, 4 or 8,
    // and 8, 4 or 2 lines have the same order of them.
    const int line = i / 32, piece = i / 4 % 8, pieces = swizzle / 16;
    const int there = swizzle == 0 ? piece : piece / pieces * pieces + (piece % pieces ^ line % pieces);
    const int y = row + i / width, x = column + i % width;
    const float expected = y >= 0 && y < 4 && x >= 0 && x < 16 ? in[y * 16 + x] : 0;
    if (box[line * 32 + there * 4 + i % 4] != expected) {
      atomicAdd(bad, 1);
    }
  }
}

/// Rows 1 and 2 of the second plane of 4 x 8 x 2, which stores put half outside of another array.
__global__ void planes(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  namespace cde = cuda::device::experimental;
  __shared__ alignas(128) float box[8 * 2];
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  if (threadIdx.x == 0) init(&full, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_3d_global_to_shared(box, &from, 0, 1, 1, full);
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    token = cuda::device::barrier_arrive_tx(full, 1, sizeof box);
    full.wait(std::move(token));
    cde::fence_proxy_async_shared_cta();
    cde::cp_async_bulk_tensor_3d_shared_to_global(&to, 4, 2, 0, box);
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {4, 3, 1}], [%1];" ::"l"(&to),
                 "r"(tensor_address(box)));
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  } else {
    full.arrive_and_wait();
  }
}

__constant__ CUtensorMap constant_map;

/// 256 bytes as an array of RANK dimensions, of which all but the first have 2 places, in boxes of 16 bytes and of 2
/// places. Two boxes arrive in each of two phases. Adds 1 to `bad` for each byte that is wrong.
template <int RANK>
__global__ void box_of_rank(const CUtensorMap* map, const unsigned char* in, int element, int first, int at, int* bad) {
  namespace cde = cuda::device::experimental;
  constexpr int ROW = 512 >> RANK, BYTES = 8 << RANK;
  __shared__ alignas(128) unsigned char boxes[2][256];
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  init(&full, 1);
  map = map != nullptr ? map : &constant_map;
  for (int phase = 0; phase < 2; ++phase) {
    for (unsigned char* box : {boxes[0], boxes[1]}) {
      if constexpr (RANK == 1) cde::cp_async_bulk_tensor_1d_global_to_shared(box, map, first, full);
      if constexpr (RANK == 2) cde::cp_async_bulk_tensor_2d_global_to_shared(box, map, first, at, full);
      if constexpr (RANK == 4) cde::cp_async_bulk_tensor_4d_global_to_shared(box, map, first, at, at, at, full);
      if constexpr (RANK == 5) cde::cp_async_bulk_tensor_5d_global_to_shared(box, map, first, at, at, at, at, full);
    }
    full.wait(cuda::device::barrier_arrive_tx(full, 1, 2 * BYTES));
  }
  for (int i = 0; i < 2 * BYTES; ++i) {
    long long from = (long long)first * element + i % 16;
    int rest = i % BYTES / 16, stride = ROW;
    bool inside = from >= 0 && from < ROW;
    for (int d = 1; d < RANK; ++d, stride *= 2, rest /= 2) {
      inside = inside && (at + rest % 2 == 0 || at + rest % 2 == 1);
      from += (at + rest % 2) * stride;
    }
    *bad += boxes[i / BYTES][i % BYTES] != (inside ? in[from] : 0);
  }
}

/// As programs get it that do not link the driver.
PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  void* function = nullptr;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, nullptr);
  return (PFN_cuTensorMapEncodeTiled_v12000)function;
}

template <int RANK>
void boxes_of_rank(const float* in, CUtensorMap* global_map, int* bad) {
  constexpr cuuint64_t ROW = 512 >> RANK;
  for (auto [type, element] : {std::pair{CU_TENSOR_MAP_DATA_TYPE_UINT8, 1},
                               {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2},
                               {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8}}) {
    const cuuint64_t extents[] = {ROW / element, 2, 2, 2, 2}, strides[] = {ROW, 2 * ROW, 4 * ROW, 8 * ROW};
    const cuuint32_t box[] = {16u / element, 2, 2, 2, 2}, steps[] = {1, 1, 1, 1, 1};
    CUtensorMap map;
    *bad += encoder()(&map, type, RANK, (void*)in, extents, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                      CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    cudaMemcpyToSymbol(constant_map, &map, sizeof map);
    cudaMemcpy(global_map, &map, sizeof map, cudaMemcpyHostToDevice);
    const int step = 16 / element;
    for (int first : {-step, 0, step, int(ROW) / element - step, int(ROW) / element, -2147483647 - 1}) {
      for (int at : {-2, -1, 0, 1, 2}) {
        box_of_rank<RANK><<<1, 1>>>(at == 0 ? nullptr : global_map, (const unsigned char*)in, element, first, at, bad);
      }
    }
    cudaDeviceSynchronize();  // the host adds to `bad` as well
  }
}

/// Loads round to TF32, ties to even, and all NaN are one.
__global__ void rounded_box(const __grid_constant__ CUtensorMap map, int* bad) {
  __shared__ alignas(128) unsigned box[4];
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  init(&full, 1);
  cuda::device::experimental::cp_async_bulk_tensor_1d_global_to_shared(box, &map, 0, full);
  full.wait(cuda::device::barrier_arrive_tx(full, 1, sizeof box));
  *bad += box[0] != 0x3F800000 || box[1] != 0x3F804000 || box[2] != 0xC0000000 || box[3] != 0x7FFFE000;
}

CUtensorMap tensor_map_of(const float* array, int rank, cuuint64_t width, cuuint64_t rows, cuuint32_t box_width,
                          cuuint32_t box_rows, CUtensorMapSwizzle swizzle) {
  CUtensorMap map;
  const cuuint64_t extents[3] = {width, rows, 2}, strides[2] = {width * 4, width * rows * 4};
  const cuuint32_t box[3] = {box_width, box_rows, 1}, steps[3] = {1, 1, 1};
  const CUresult error = encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, rank, (void*)array, extents, strides, box,
                                   steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  assert(error == CUDA_SUCCESS);
  return map;
}

void ptx_tensor_maps(const float* in, float* out) {
  int* bad;
  unsigned* numbers;
  CUtensorMap* global_map;
  cudaMalloc(&global_map, sizeof *global_map);
  cudaMallocManaged(&numbers, 16);
  cudaMallocManaged(&bad, sizeof(int));
  *bad = 0;
  boxes_of_rank<1>(in, global_map, bad);
  boxes_of_rank<2>(in, global_map, bad);
  boxes_of_rank<4>(in, global_map, bad);
  boxes_of_rank<5>(in, global_map, bad);
  for (int swizzle : {0, 32, 64, 128}) {
    const int width = swizzle == 0 ? 12 : swizzle / 4;
    const CUtensorMap map = tensor_map_of(in, 2, 16, 4, width, 8,
                                          swizzle == 0    ? CU_TENSOR_MAP_SWIZZLE_NONE
                                          : swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                          : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                          : CU_TENSOR_MAP_SWIZZLE_128B);
    for (int row : {-9, -3, 0, 2}) {
      for (int column : {-40, -4, 0, 8}) {
        swizzled_box<<<1, 64>>>(map, in, width, swizzle, row, column, bad);
      }
    }
  }
  cudaMemset(out, 0, 64 * sizeof(float));
  planes<<<1, 32>>>(tensor_map_of(in, 3, 8, 4, 8, 2, CU_TENSOR_MAP_SWIZZLE_NONE),
                    tensor_map_of(out, 3, 8, 4, 8, 2, CU_TENSOR_MAP_SWIZZLE_NONE));
  cuuint64_t extents[2] = {16, 4}, strides[1] = {60};
  cuuint32_t box[2] = {16, 4}, steps[2] = {1, 1};
  CUtensorMap map;
  cudaDeviceSynchronize();
  numbers[0] = 0x3F801000, numbers[1] = 0x3F803000, numbers[2] = 0xBFFFF000, numbers[3] = 0x7F800001;
  extents[0] = box[0] = 4;
  *bad += encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 1, numbers, extents, strides, box, steps,
                    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  rounded_box<<<1, 1>>>(map, bad);
  cudaDeviceSynchronize();
  extents[0] = 16;
  for (int wrong = 0; wrong < 6; ++wrong) {  // one rule after the other is kept
    strides[0] = wrong == 0 ? 60 : 64;
    box[1] = wrong == 1 ? 257 : 4;
    box[0] = wrong == 2 ? 7 : wrong == 3 ? 64 : 16;
    const bool refused =
        encoder()(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, wrong == 5 ? 6 : 2, (char*)in + (wrong == 4 ? 8 : 0), extents,
                  strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_64B,
                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_ERROR_INVALID_VALUE;
    *bad += !refused;
  }
  cudaMemcpy(out, bad, sizeof *bad, cudaMemcpyDefault);
  cudaFree(bad);
  cudaFree(numbers);
  cudaFree(global_map);
}

float ptx_tensor_maps_expected(const float* in, int i) {
  const int plane = i / 32, row = i / 8 % 4, column = i % 8;
  const float* const from = in + 32 + 8;  // the first of the box
  return plane == 0 && row >= 2 && column >= 4   ? from[(row - 2) * 8 + column - 4]
         : plane == 1 && row == 3 && column >= 4 ? from[column - 4]
                                                 : 0;
}
