#include "counted_kernels.hpp"

#include "instructions.cuh"
#include "launch.cuh"

namespace simt::test {
namespace {

constexpr std::size_t DYNAMIC_BYTES = 1024;

template <class Kernel, class... Arguments>
void run(Kernel* kernel, int threads, Arguments... arguments) {
  launch(kernel, 1, dim3(static_cast<unsigned>(threads)), DYNAMIC_BYTES, nullptr, arguments...);
}

template <int STRIDE>
__global__ void shared_stride_kernel(const float* in, float* out) {
  __shared__ float values[32 * STRIDE];
  values[threadIdx.x * STRIDE] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x * STRIDE];
}

template <int STRIDE>
__global__ void global_stride_kernel(const float* in, float* out) {
  out[threadIdx.x] = in[threadIdx.x * STRIDE];
}

__global__ void global_vectors_kernel(const float* in, float* out) {
  store_float4(out + 4 * threadIdx.x, load_float4(in + 4 * threadIdx.x));
}

__global__ void half_of_the_lanes_kernel(const float* in, float* out) {
  float value = 0.0F;
  if (threadIdx.x % 2 == 0) {
    value = in[threadIdx.x];
  }
  out[threadIdx.x] = value;
}

__global__ void upper_lanes_first_kernel(const float* in, float* out) {
  float value = 0.0F;
  if (threadIdx.x >= 16) {
    value = in[threadIdx.x];
  }
  out[threadIdx.x] = value + in[32 + threadIdx.x];
}

__global__ void different_trip_counts_kernel(const float* in, float* out) {
  float sum = 0.0F;
  for (unsigned i = 0; i < threadIdx.x % 4; ++i) {
    sum += in[32 * i + threadIdx.x];
  }
  out[threadIdx.x] = sum;
}

__global__ void async_copies_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  const unsigned lane = threadIdx.x;
  cp_async_zfill<4>(shared_address(smem + lane), in + lane, lane < 16);
  cp_async<16>(shared_address(smem + 32 + 4 * lane), in + 32 + 4 * lane);
  cp_async_commit_group();
  cp_async_wait_group<0>();
  out[lane] = smem[lane] + smem[32 + lane];
}

__global__ void some_barriers_kernel(float* out) {
  __syncthreads();
  out[threadIdx.x] = 1.0F;
  __syncthreads();
  if (threadIdx.x < 64) {
    bar_sync(1, 64);
  }
}

__global__ void some_flops_kernel(const float* in, float* out) {
  const float x = in[threadIdx.x];
  const float y = in[64 + threadIdx.x];
  out[threadIdx.x] = (x * y + x) * y * x / (x + 1.5F - y);
}

__global__ void same_line_again_kernel(const float* in, float* out) {
  float sum = 0.0F;
  for (int i = 0; i < 2; ++i) {
    sum += in[threadIdx.x % 32];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

constexpr int TILE = 16;

__device__ std::int64_t tiles_in(std::int64_t extent) { return (extent + TILE - 1) / TILE; }

__device__ void multiply_tile(const Product& p, std::int64_t tile) {
  const std::int64_t tiles_n = tiles_in(p.n);
  const std::int64_t row = tile / tiles_n * TILE + threadIdx.y;
  const std::int64_t col = tile % tiles_n * TILE + threadIdx.x;
  if (row >= p.m || col >= p.n) {
    return;
  }
  float sum = 0.0F;
  for (std::int64_t k = 0; k < p.k; ++k) {
    sum += p.a[row * p.k + k] * p.b[k * p.n + col];
  }
  p.c[row * p.n + col] = p.alpha * sum;
}

__global__ void persistent_kernel(Product p) {
  const std::int64_t tiles = tiles_in(p.m) * tiles_in(p.n);
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    multiply_tile(p, tile);
  }
}

__global__ void extra_reads_kernel(Product p, unsigned first_block) {
  multiply_tile(p, blockIdx.x);
  if (blockIdx.x >= first_block && threadIdx.x == 0 && p.a[1] == 0.0F) {
    p.c[0] = 0.0F;  // never: no operand is 0
  }
}

__global__ void shuffled_kernel(Product p) { multiply_tile(p, blockIdx.x * 7ULL % gridDim.x); }

__global__ void bulk_copies_kernel(Product p) {
  alignas(16) __shared__ float values[8];
  __shared__ std::uint64_t storage;
  const unsigned barrier = shared_address(&storage);
  const std::int64_t tile = blockIdx.x * 7ULL % gridDim.x;
  const std::int64_t row = tile / tiles_in(p.n) * TILE;
  const std::int64_t col = tile % tiles_in(p.n) * TILE;
  if (threadIdx.x + threadIdx.y == 0) {
    mbarrier_init(barrier, 1);
    mbarrier_arrive_expect_tx(barrier, sizeof(values));
    cp_async_bulk(shared_address(values), p.a + row * p.k, 16, barrier);
    cp_async_bulk(shared_address(values + 4), p.b + col, 16, barrier);
  }
  __syncthreads();
  mbarrier_wait(barrier, 0);
  p.c[(row + threadIdx.y) * p.n + col + threadIdx.x] = values[0] * values[4];
}

__global__ void different_conflicts_kernel(Product p) {
  __shared__ float values[1024];
  multiply_tile(p, blockIdx.x);
  values[threadIdx.x * (1 + blockIdx.x % 2 * 31)] = 1.0F;
  __syncthreads();
  if (values[threadIdx.x] == 2.0F) {
    p.c[0] = 0.0F;  // never
  }
}

__global__ void fill_kernel(Product p) {
  const std::int64_t element = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (element < p.m * p.n) {
    p.c[element / p.n * p.n + element % p.n] = p.alpha;
  }
}

template <class... Arguments>
void run_product(void (*kernel)(Product, Arguments...), std::int64_t blocks, const Product& p, Arguments... arguments) {
  launch(kernel, blocks, dim3(TILE, TILE), 0, nullptr, p, arguments...);
}

}  // namespace

void shared_stride_1(const float* in, float* out) { run(shared_stride_kernel<1>, 32, in, out); }
void shared_stride_2(const float* in, float* out) { run(shared_stride_kernel<2>, 32, in, out); }
void shared_stride_32(const float* in, float* out) { run(shared_stride_kernel<32>, 32, in, out); }
void shared_stride_33(const float* in, float* out) { run(shared_stride_kernel<33>, 32, in, out); }
void global_broadcast(const float* in, float* out) { run(global_stride_kernel<0>, 32, in, out); }
void global_stride_2(const float* in, float* out) { run(global_stride_kernel<2>, 32, in, out); }
void global_stride_8(const float* in, float* out) { run(global_stride_kernel<8>, 32, in, out); }
void global_vectors(const float* in, float* out) { run(global_vectors_kernel, 32, in, out); }
void half_of_the_lanes(const float* in, float* out) { run(half_of_the_lanes_kernel, 32, in, out); }
void upper_lanes_first(const float* in, float* out) { run(upper_lanes_first_kernel, 32, in, out); }
void different_trip_counts(const float* in, float* out) { run(different_trip_counts_kernel, 32, in, out); }
void async_copies(const float* in, float* out) { run(async_copies_kernel, 32, in, out); }
void some_barriers(const float*, float* out) { run(some_barriers_kernel, 96, out); }
void some_flops(const float* in, float* out) { run(some_flops_kernel, 33, in, out); }
void same_line_again(const float* in, float* out) { run(same_line_again_kernel, 256, in, out); }

std::int64_t tiles_of(const Product& p) { return tiles_in(p.m) * tiles_in(p.n); }

void persistent_product(const Product& p) { run_product(persistent_kernel, 8, p); }
void product_with_extra_reads(const Product& p) {
  const std::int64_t blocks = tiles_of(p);
  run_product(extra_reads_kernel, blocks, p, static_cast<unsigned>(blocks / 2));
}
void product_with_extra_reads_at_the_end(const Product& p) {
  const std::int64_t blocks = tiles_of(p);
  run_product(extra_reads_kernel, blocks, p, static_cast<unsigned>(blocks - 1));
}
void shuffled_product(const Product& p) { run_product(shuffled_kernel, tiles_of(p), p); }
void product_by_bulk_copies(const Product& p) { run_product(bulk_copies_kernel, tiles_of(p), p); }
void product_with_different_conflicts(const Product& p) { run_product(different_conflicts_kernel, tiles_of(p), p); }
void fill(const Product& p) { run_product(fill_kernel, (p.m * p.n + TILE * TILE - 1) / (TILE * TILE), p); }

}  // namespace simt::test
