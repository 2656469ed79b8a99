// Inline PTX: cp.async with its groups, with zeros, barriers, loads and stores of shared and global memory, cvta,
// registers of its own and predicates, in functions and macros.
#define CP_ASYNC_CA(dst, src, bytes) \
  asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(dst), "l"(src), "n"(bytes))
#define END ";"
#define COMMIT() asm volatile("cp.async.commit_group;\n" ::)

__device__ unsigned address_in_shared(const void* pointer) {
  unsigned address;
  asm("{ .reg .u64 u64addr;\n"
      " cvta.to.shared.u64 u64addr, %1;\n"
      " cvt.u32.u64 %0, u64addr; }\n"
      : "=r"(address)
      : "l"(pointer));
  return address;
}

__device__ float load_if(const float* source, bool wanted) {
  float value;
  asm volatile(
      "{\n"
      "  .reg .pred p;\n"
      "  setp.ne.b32 p, %2, 0;\n"
      "  mov.b32 %0, 0;\n"
      "  @p ld.global.nc.L1::no_allocate.f32 %0, [%1];\n"
      "}\n"
      : "=f"(value)
      : "l"(source), "r"((int)wanted));
  return value;
}

__global__ void ptx_copies_kernel(const float* in, float* out) {
  __shared__ __align__(16) float tile[64], other[16 * 4], guarded[16];
  const int thread = threadIdx.x;
  const bool copies = thread < 16;  // the others come to the barriers, which count whole warps
  const unsigned to = address_in_shared(&tile[thread % 16 * 4]);
  if (copies) {
    if (thread < 8) {
      CP_ASYNC_CA(to, in + thread * 4, 16);
    } else {
      asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(in + thread * 4),
                   "l"(0x14F0000000000000));
    }
  }
  COMMIT();
  if (copies) {
    const int bytes = thread < 8 ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address_in_shared(other + thread * 4)), "l"(in),
                 "r"(bytes)
                 : "memory");
    asm volatile(
        "{ .reg .pred p;\n"
        "  setp.eq.u32 p, %2, 0;\n"
        "  cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(address_in_shared(guarded + thread)),
        "l"(in + 2), "r"((unsigned)(thread < 4)));
  }
  // clang-format off
  asm volatile("cp.async.commit_group"
#if __CUDA_ARCH__ >= 800
               END
#else
               " of another architecture;"
#endif
  );
  // clang-format on
  asm volatile("cp.async.wait_group %0;" ::"n"(0));
  asm volatile("bar.sync 0;" ::: "memory");
  float4 a{};
  float b = 0;
  if (copies) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(a.x), "=f"(a.y), "=f"(a.z), "=f"(a.w)
                 : "r"(address_in_shared(tile) + (15 - thread) * 16));
    asm volatile("ld.shared.f32 %0, [%1+4];" : "=f"(b) : "r"(address_in_shared(&other[thread * 4])));
  }
  asm volatile("bar.sync 0, %0;" ::"r"(32) : "memory");
  if (copies) {
    const float odd = load_if(in + thread, thread % 2);
    asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to), "f"(a.w + b), "f"(a.z + odd) : "memory");
  }
  asm volatile("membar.cta;");
  __syncthreads();
  if (!copies) return;
  float2 c;
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(c.x) : "f"(tile[thread * 4]), "f"(2.0f), "f"(1.0f));
  asm("mov.u32 %0, %%laneid;" : "=r"(*reinterpret_cast<unsigned*>(&c.y)));
  unsigned lane = __float_as_uint(c.y);
  asm volatile("st.global.f32 [%0], %1;" ::"l"(out + thread * 4), "f"(c.x) : "memory");
  out[thread * 4 + 1] = tile[thread * 4 + 1];
  out[thread * 4 + 2] = lane;
  out[thread * 4 + 3] = guarded[thread];
}

void ptx_copies(const float* in, float* out) { ptx_copies_kernel<<<1, 32>>>(in, out); }

float ptx_copies_expected(const float* in, int i) {
  const int thread = i / 4;
  const int begin = (15 - thread) * 4;
  const float results[] = {2 * (in[begin + 3] + (thread < 8 ? in[1] : 0)) + 1,
                           in[begin + 2] + (thread % 2 ? in[thread] : 0), float(thread), thread < 4 ? in[2] : 0};
  return results[i % 4];
}
