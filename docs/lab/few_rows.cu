// Products with few rows at the speed of memory: a prototype. C = X W^T or X W, X has R rows, W is streamed once.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>
#define CHECK(x)                                        \
  do {                                                  \
    auto e = (x);                                       \
    if (int(e) != 0) {                                  \
      printf("%s: %d line %d\n", #x, int(e), __LINE__); \
      exit(1);                                          \
    }                                                   \
  } while (0)

#ifndef KWARPS_
#define KWARPS_ 4
#endif
constexpr int ROWS = 128;  // of W^T that a block has at a time
constexpr int BK = 64;
constexpr int ROW_WARPS = 4;  // of 32 rows
constexpr int KWARPS = KWARPS_;
constexpr int THREADS = 32 * ROW_WARPS * KWARPS;
constexpr int STEPS = BK / 16 / KWARPS;

struct Args {
  const float* w;
  int64_t ldw;  // K-major: N rows of K; else K rows of N
  const float* x;
  int64_t ldx;  // R rows of K
  float* c;
  int64_t ldc;  // R rows of N
  int n, k, r;
  float alpha, beta;
  float* partial;
  unsigned* counters;
  int tiles, chunks;
};

__device__ __forceinline__ void cp16(unsigned to, const void* from, bool ok) {
  int bytes = ok ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
/// Three BF16 terms of each of two numbers, the lower number in the lower half. Cut off, so that they are exact.
__device__ __forceinline__ void split2(float x, float y, unsigned& h, unsigned& m, unsigned& l) {
#ifdef ROUND
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(y), "f"(x));
  float rx = x - __uint_as_float(h << 16), ry = y - __uint_as_float(h & 0xFFFF0000u);
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(m) : "f"(ry), "f"(rx));
  rx = rx - __uint_as_float(m << 16);
  ry = ry - __uint_as_float(m & 0xFFFF0000u);
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(l) : "f"(ry), "f"(rx));
#else
  const unsigned xb = __float_as_uint(x), yb = __float_as_uint(y);
  h = __byte_perm(xb, yb, 0x7632);
  const float rx = x - __uint_as_float(xb & 0xFFFF0000u), ry = y - __uint_as_float(yb & 0xFFFF0000u);
  const unsigned rxb = __float_as_uint(rx), ryb = __float_as_uint(ry);
  m = __byte_perm(rxb, ryb, 0x7632);
  const float sx = rx - __uint_as_float(rxb & 0xFFFF0000u), sy = ry - __uint_as_float(ryb & 0xFFFF0000u);
  l = __byte_perm(__float_as_uint(sx), __float_as_uint(sy), 0x7632);
#endif
}

template <int NT>
struct Shape {
  static constexpr int W_BYTES = ROWS * BK * 4, X_BYTES = NT * 8 * BK * 4, STAGE = W_BYTES + X_BYTES;
  static constexpr int SUMS = ROWS * NT * 8 * 4;
  static constexpr int SPLIT = NT * 8 * BK * 6;  // the terms of a chunk of X
  static constexpr int REST = SUMS + 2 * SPLIT;
  static constexpr int STAGES = (227 * 1024 - REST) / STAGE > 4 ? 4 : (227 * 1024 - REST) / STAGE;
  static constexpr int SMEM = STAGES * STAGE + REST;
};

template <int NT, bool KMAJOR>
__global__ void __launch_bounds__(THREADS, 1) few_rows(Args p) {
  using S = Shape<NT>;
  extern __shared__ __align__(128) unsigned char smem[];
  const unsigned base = (unsigned)__cvta_generic_to_shared(smem);
  const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, g = lane / 4, t = lane % 4;
  const int rw = warp % ROW_WARPS, kw = warp / ROW_WARPS;
  // Blocks have equal shares of all chunks, one after the other.
  const unsigned total = p.tiles * p.chunks, share = total / gridDim.x, longer = total % gridDim.x;
  auto begin_of = [&](unsigned block) { return block * share + min(block, longer); };
  const int begin = begin_of(blockIdx.x), end = begin_of(blockIdx.x + 1);
  uint2* const split_x = (uint2*)(smem + S::STAGES * S::STAGE + S::SUMS);
  auto load_x = [&](int unit, unsigned to) {
    const int k0 = unit % p.chunks * BK;
    for (int e = tid; e < NT * 8 * 16; e += THREADS) {
      const int row = e / 16, u = e % 16;
      cp16(to + e * 16, p.x + row * p.ldx + k0 + u * 4, row < p.r && k0 + u * 4 < p.k);
    }
  };
  // Of a stage: W of a chunk and X of the next one.
  auto load = [&](int unit) {
    if (unit < end) {
      const int tile = unit / p.chunks, chunk = unit - tile * p.chunks;
      const unsigned stage = base + (unit - begin) % S::STAGES * S::STAGE;
      const int n0 = tile * ROWS, k0 = chunk * BK;
#pragma unroll
      for (int i = 0; i < ROWS * BK / 4 / THREADS; ++i) {
        const int e = tid + i * THREADS;
        if (KMAJOR) {
          const int row = e / 16, u = e % 16;
          cp16(stage + row * 256 + ((u ^ ((row & 1) << 2)) << 4), p.w + (n0 + row) * p.ldw + k0 + u * 4,
               n0 + row < p.n && k0 + u * 4 < p.k);
        } else {
          const int k = e / 32, u = e % 32;
          cp16(stage + k * 512 + ((u ^ (((k >> 2) & 3) << 1)) << 4), p.w + (k0 + k) * p.ldw + n0 + u * 4,
               n0 + u * 4 < p.n && k0 + k < p.k);
        }
      }
      if (unit + 1 < end) load_x(unit + 1, stage + S::W_BYTES);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  auto split = [&](const unsigned char* xs, uint2* to) {
    for (int e = tid; e < NT * 8 * 16; e += THREADS) {
      const int row = e / 16, u = e % 16;
      const float4 v = *(const float4*)(xs + e * 16);
      uint2 b[3];
      split2(v.x, v.y, b[0].x, b[1].x, b[2].x);
      split2(v.z, v.w, b[0].y, b[1].y, b[2].y);
#pragma unroll
      for (int i = 0; i < 3; ++i) to[((u / 4 * NT + row / 8) * 3 + i) * 32 + row % 8 * 4 + u % 4] = b[i];
    }
  };
  if (begin < end) load_x(begin, base + (S::STAGES - 1) * S::STAGE);
  asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll 1
  for (int i = 0; i < S::STAGES - 1; ++i) load(begin + i);
  asm volatile("cp.async.wait_group %0;" ::"n"(S::STAGES - 1) : "memory");
  __syncthreads();
  split(smem + (S::STAGES - 1) * S::STAGE, split_x);
  float sums[2][NT][4] = {};
  int unit = begin, stage_number = 0;
#pragma unroll 1
  while (unit < end) {
    const int tile = unit / p.chunks;
    const int tile_end = min(end, (tile + 1) * p.chunks);
    const int first = unit;
#pragma unroll 1
    for (; unit < tile_end; ++unit) {
      asm volatile("cp.async.wait_group %0;" ::"n"(S::STAGES - 2) : "memory");
      __syncthreads();
      load(unit + S::STAGES - 1);
      const unsigned char* stage = smem + stage_number * S::STAGE;
      stage_number = stage_number + 1 == S::STAGES ? 0 : stage_number + 1;
      const int odd = (unit - begin) & 1;
      if (unit + 1 < end) split(stage + S::W_BYTES, split_x + (odd ^ 1) * (S::SPLIT / 8));
      const uint2* const xb = split_x + odd * (S::SPLIT / 8) + lane;
#pragma unroll
      for (int s = 0; s < STEPS; ++s) {
        const int ks = kw * STEPS + s;
        unsigned a[3][2][4];
#pragma unroll
        for (int mt = 0; mt < 2; ++mt)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const int row = rw * 32 + mt * 16 + half * 8 + g;
            float4 v;
            if (KMAJOR) {
              v = *(const float4*)(stage + row * 256 + (((ks * 4 + t) ^ ((row & 1) << 2)) << 4));
            } else {
              float e[4];
#pragma unroll
              for (int j = 0; j < 4; ++j) {
                const int k = ks * 16 + t * 4 + j;
                e[j] = *(const float*)(stage + k * 512 + (((row / 4) ^ (t << 1)) << 4) + (row % 4) * 4);
              }
              v = {e[0], e[1], e[2], e[3]};
            }
            split2(v.x, v.y, a[0][mt][half], a[1][mt][half], a[2][mt][half]);
            split2(v.z, v.w, a[0][mt][half + 2], a[1][mt][half + 2], a[2][mt][half + 2]);
          }
        constexpr int GROUP = NT % 2 == 0 ? 2 : 1;  // columns whose sums are added up side by side
#pragma unroll
        for (int n0 = 0; n0 < NT; n0 += GROUP) {
          uint2 b[GROUP][3];
          float d[GROUP][2][4] = {};
#pragma unroll
          for (int j = 0; j < GROUP; ++j)
#pragma unroll
            for (int i = 0; i < 3; ++i) b[j][i] = xb[((ks * NT + n0 + j) * 3 + i) * 32];
#pragma unroll
          for (int q = 0; q < 6; ++q) {
            constexpr int OA[6] = {2, 1, 0, 1, 0, 0}, OB[6] = {0, 1, 2, 0, 1, 0};
#pragma unroll
            for (int j = 0; j < GROUP; ++j) {
              mma(d[j][0], a[OA[q]][0], b[j][OB[q]].x, b[j][OB[q]].y);
              mma(d[j][1], a[OA[q]][1], b[j][OB[q]].x, b[j][OB[q]].y);
            }
          }
#pragma unroll
          for (int j = 0; j < GROUP; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              sums[0][n0 + j][i] += d[j][0][i];
              sums[1][n0 + j][i] += d[j][1][i];
            }
        }
      }
    }
    // add up the warps along k
    float* const out = (float*)(smem + S::STAGES * S::STAGE);  // [column of C][128]
#pragma unroll 1
    for (int turn = KWARPS - 1; turn >= 0; --turn) {
      __syncthreads();
      if (kw == turn) {
#pragma unroll
        for (int mt = 0; mt < 2; ++mt)
#pragma unroll
          for (int nt = 0; nt < NT; ++nt)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              float* o = out + (nt * 8 + 2 * t + i % 2) * ROWS + rw * 32 + mt * 16 + i / 2 * 8 + g;
              *o = turn == KWARPS - 1 ? sums[mt][nt][i] : *o + sums[mt][nt][i];
              sums[mt][nt][i] = 0;
            }
      }
    }
    __syncthreads();
    const bool whole = first == tile * p.chunks && tile_end == (tile + 1) * p.chunks;
    bool store = whole;
    int from = blockIdx.x, to = blockIdx.x;
    if (!whole) {
      const int slot = first == begin ? 0 : 1;  // the first tile of a block, or its last
      float* mine = p.partial + ((int64_t)blockIdx.x * 2 + slot) * (ROWS * NT * 8);
      for (int e = tid; e < ROWS * NT * 8; e += THREADS) __stcg(mine + e, out[e]);
      __threadfence();
      __syncthreads();
      // Blocks whose range meets the tile.
      auto block_of = [&](unsigned u) {
        const unsigned of_longer = longer * (share + 1);
        return u < of_longer ? u / (share + 1) : longer + (u - of_longer) / share;
      };
      from = block_of(tile * p.chunks);
      to = block_of((tile + 1) * p.chunks - 1);
      __shared__ unsigned last;
      if (tid == 0) {
        last = atomicAdd(p.counters + tile, 1u) == unsigned(to - from) ? 1u : 0u;
        if (last) p.counters[tile] = 0;
      }
      __syncthreads();
      store = last != 0;
      if (store) {
        __threadfence();
        // The first block has the tile as its last one, unless it begins there.
        const float* other =
            p.partial + ((int64_t)from * 2 + (begin_of(from) / p.chunks == tile ? 0 : 1)) * (ROWS * NT * 8);
        const float* rest = p.partial + ((int64_t)from * 2 + 2) * (ROWS * NT * 8);
        for (int e = tid; e < ROWS * NT * 8; e += THREADS) {
          float sum = __ldcg(other + e);
#pragma unroll 4
          for (int b = 0; b < to - from; ++b) sum += __ldcg(rest + (int64_t)b * (2 * ROWS * NT * 8) + e);
          out[e] = sum;
        }
        __syncthreads();
      }
    }
    if (store) {
      for (int e = tid; e < ROWS * NT * 8; e += THREADS) {
        const int row = e / ROWS, n = tile * ROWS + e % ROWS;
        if (row < p.r && n < p.n) {
          float& c = p.c[row * p.ldc + n];
          c = p.beta == 0 ? p.alpha * out[e] : p.alpha * out[e] + p.beta * c;
        }
      }
    }
    __syncthreads();
  }
}

__global__ void fill(float* p, int64_t n, unsigned seed, float scale) {
  for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
    unsigned h = unsigned(i) * 2654435761u ^ seed;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    h ^= h >> 16;
    p[i] = (float(h) / 4294967296.0f * 2 - 1) * scale;
  }
}
__global__ void read_all(const float4* p, int64_t n, float* out) {
  float s = 0;
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  const int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (; i + 7 * step < n; i += 8 * step) {
    float4 v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = __ldcs(p + i + j * step);
#pragma unroll
    for (int j = 0; j < 8; ++j) s += v[j].x + v[j].y + v[j].z + v[j].w;
  }
  for (; i < n; i += step) {
    float4 v = p[i];
    s += v.x + v.y + v.z + v.w;
  }
  if (s == 123.456f) *out = s;
}

template <int NT, bool KM>
void launch_one(const Args& p, int blocks, cudaStream_t s) {
  static bool once = false;
  if (!once) {
    CHECK(cudaFuncSetAttribute(few_rows<NT, KM>, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape<NT>::SMEM));
    once = true;
  }
  few_rows<NT, KM><<<blocks, THREADS, Shape<NT>::SMEM, s>>>(p);
}
template <bool KM>
void launch(const Args& p, int blocks, cudaStream_t s) {
  const int nt = (p.r + 7) / 8;
  if (nt <= 1)
    launch_one<1, KM>(p, blocks, s);
  else if (nt <= 2)
    launch_one<2, KM>(p, blocks, s);
  else if (nt <= 4)
    launch_one<4, KM>(p, blocks, s);
  else if (nt <= 5)
    launch_one<5, KM>(p, blocks, s);
  else
    launch_one<8, KM>(p, blocks, s);
}

int main() {
  cudaDeviceProp prop;
  CHECK(cudaGetDeviceProperties(&prop, 0));
  const int sms = prop.multiProcessorCount;
  printf("%s %d SMs, KWARPS %d\n", prop.name, sms, KWARPS);
  cublasHandle_t handle;
  CHECK(cublasCreate(&handle));
  const int64_t most = (int64_t)512 << 18;  // floats: 512 MiB
  float *w, *x, *c, *c2, *partial;
  unsigned* counters;
  CHECK(cudaMalloc(&w, most * 4));
  CHECK(cudaMalloc(&x, 128 * 16384 * 4));
  CHECK(cudaMalloc(&c, 128 * 16384 * 4));
  CHECK(cudaMalloc(&c2, 128 * 16384 * 4));
  CHECK(cudaMalloc(&partial, (int64_t)sms * 2 * 128 * 64 * 4));
  CHECK(cudaMalloc(&counters, 4096));
  CHECK(cudaMemset(counters, 0, 4096));
  fill<<<1024, 256>>>(w, most, 1, 1);
  fill<<<1024, 256>>>(x, 128 * 16384, 2, 1);
  cudaEvent_t e0, e1;
  CHECK(cudaEventCreate(&e0));
  CHECK(cudaEventCreate(&e1));
  auto timed = [&](const std::function<void()>& f) {
    CHECK(cudaEventRecord(e0));
    f();
    CHECK(cudaEventRecord(e1));
    CHECK(cudaEventSynchronize(e1));
    float ms;
    CHECK(cudaEventElapsedTime(&ms, e0, e1));
    return ms * 1e3;
  };
  auto median = [](std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  };
  struct S {
    int n, k;
  } shapes[] = {{4096, 4096}, {14336, 4096}, {4096, 14336}, {8192, 8192}, {16384, 16384}};
  for (const S& shape : shapes) {
    const int n = shape.n, k = shape.k;
    const int64_t size = (int64_t)n * k;
    if (size > most) continue;
    const int copies = int(std::min<int64_t>(most / size, 6));
    for (int km = 1; km >= 0; --km)
      for (int r : {1, 8, 16, 32, 37, 64}) {
        std::vector<double> own, blas, read;
        bool ok = true;
        double worst = 0, worst_blas = 0;
        Args p{w,
               km ? k : n,
               x,
               k,
               c,
               n,
               n,
               k,
               r,
               1.0f,
               0.0f,
               partial,
               counters,
               (n + ROWS - 1) / ROWS,
               (k + BK - 1) / BK};
        const float one = 1, zero = 0;
        auto go = [&](int copy) {
          p.w = w + copy * size;
          km ? launch<true>(p, sms, 0) : launch<false>(p, sms, 0);
        };
        auto cb = [&](int copy) {
          CHECK(cublasSgemm(handle, km ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, n, r, k, &one, w + copy * size,
                            km ? k : n, x, k, &zero, c2, n));
        };
        go(0);
        cb(0);
        CHECK(cudaDeviceSynchronize());
        std::vector<float> hc((size_t)r * n), hc2((size_t)r * n), hx((size_t)r * k), hw((size_t)k);
        CHECK(cudaMemcpy(hc.data(), c, hc.size() * 4, cudaMemcpyDefault));
        CHECK(cudaMemcpy(hc2.data(), c2, hc2.size() * 4, cudaMemcpyDefault));
        CHECK(cudaMemcpy(hx.data(), x, hx.size() * 4, cudaMemcpyDefault));
        for (int col = 0; col < n; col += n / 13) {
          if (km)
            CHECK(cudaMemcpy(hw.data(), w + (int64_t)col * k, k * 4, cudaMemcpyDefault));
          else
            CHECK(cudaMemcpy2D(hw.data(), 4, w + col, (size_t)n * 4, 4, k, cudaMemcpyDefault));
          for (int row = 0; row < r; row += 3) {
            double sum = 0, mag = 0;
            for (int i = 0; i < k; ++i) {
              const double q = (double)hx[(size_t)row * k + i] * hw[i];
              sum += q;
              mag += std::fabs(q);
            }
            worst = std::max(worst, std::fabs(hc[(size_t)row * n + col] - sum) / mag);
            worst_blas = std::max(worst_blas, std::fabs(hc2[(size_t)row * n + col] - sum) / mag);
          }
        }
        for (int i = 0; i < 25; ++i) {
          own.push_back(timed([&] { go(i % copies); }));
          blas.push_back(timed([&] { cb((i + copies / 2) % copies); }));
          read.push_back(timed([&] {
            read_all<<<sms * 4, 512>>>((const float4*)(w + (i + copies / 3) % copies * size), size / 4, c2);
          }));
        }
        CHECK(cudaGetLastError());
        const double bytes = 4.0 * size, mr = median(read);
        printf(
            "%5d x %5d %s rows %3d: own %7.1f us (%.2f TB/s)  cublas %7.1f  read %7.1f (%.2f TB/s)  6+1.1*read' %6.1f  "
            "err %.1e cublas %.1e %s\n",
            n, k, km ? "K " : "MN", r, median(own), bytes / median(own) * 1e-6, median(blas), mr, bytes / mr * 1e-6,
            6 + 1.1 * bytes / 2.9e6, worst, worst_blas, ok ? "" : "BAD");
      }
  }
}
