// Every access to memory checked: each of the wrong ones is found and placed.

#include "launch.cuh"
#include "observed.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace simt::test {
namespace {

/// Elements of the arrays that the kernels get: `in` is an input, `out` an output.
constexpr std::size_t ELEMENTS = 256;

constexpr int THREADS = 64;

/// Uses memory in one way that no kernel may, on blocks of 64 or 96 threads.
struct WrongAccess {
  std::string name;
  void (*kernel)(const float* in, float* out);
  std::vector<std::string> parts;  ///< of the message
  int blocks = 1;
  dim3 threads = THREADS;
};

/// As many neighbours write to each byte.
__device__ void write_byte(float* out, unsigned writers) {
  reinterpret_cast<unsigned char*>(out)[threadIdx.x / writers] = 0;
}

const std::vector<WrongAccess> WRONG_ACCESSES{
    {"write_global_before_begin",
     [](const float*, float* out) { out[static_cast<int>(threadIdx.x) - 5] = 1.0F; },
     {"thread (0,0,0)", "writes 4 bytes", "outside of all"}},
    {"write_shared_beyond_end",
     [](const float*, float* out) {
       __shared__ float values[THREADS - 1];
       values[threadIdx.x] = 1.0F;
       __syncthreads();
       out[threadIdx.x] = values[0];
     },
     {"thread (63,0,0)", "writes 4 bytes"}},
    {"write_dynamic_beyond_end",
     [](const float*, float* out) {
       dynamic_smem()[threadIdx.x + 1] = 1.0F;
       __syncthreads();
       out[threadIdx.x] = dynamic_smem()[1];
     },
     {"thread (63,0,0)", "outside of shared memory"}},
    {"read_uninitialised_shared",
     [](const float*, float* out) {
       __shared__ float values[THREADS];
       if (threadIdx.x != 7) {
         values[threadIdx.x] = 1.0F;
       }
       __syncthreads();
       out[threadIdx.x] = values[threadIdx.x];
     },
     {"thread (7,0,0)", "values, which nobody has written"}},
    {"overwrite_what_others_still_read",
     [](const float*, float* out) {
       __shared__ float values[THREADS];
       float sum = 0.0F;
       for (int step = 0; step < 2; ++step) {
         values[threadIdx.x] = 1.0F;
         __syncthreads();
         sum += values[(threadIdx.x + 40) % THREADS];
       }
       out[threadIdx.x] = sum;
     },
     {"shared values, which thread (", "no barrier"}},
    // The last one of two that read is the one that writes.
    {"overwrite_what_the_first_still_reads",
     [](const float*, float* out) {
       float* const smem = dynamic_smem();
       smem[threadIdx.x] = 1.0F;
       __syncthreads();
       if (threadIdx.x == 0 || threadIdx.x == 33) {
         out[threadIdx.x] = smem[5];
       }
       if (threadIdx.x == 33) {
         smem[5] = 2.0F;
       }
     },
     {"thread (33,0,0)", "writes 4 bytes", "thread (0,0,0) read, and no barrier"}},
    // The first one writes, after it has met a third thread.
    {"overwrite_what_the_last_still_reads",
     [](const float*, float* out) {
       const unsigned barrier = shared_address(dynamic_smem());
       float* const value = dynamic_smem() + 2;
       if (threadIdx.x == 0) {
         mbarrier_init(barrier, 1);
         *value = 1.0F;
       }
       __syncthreads();
       if (threadIdx.x == 0 || threadIdx.x == 33) {
         out[threadIdx.x] = *value;
       }
       if (threadIdx.x == 0) {
         mbarrier_wait(barrier, 0);
         *value = 2.0F;
       } else if (threadIdx.x == 40) {
         mbarrier_arrive(barrier);
       }
     },
     {"thread (0,0,0)", "writes 4 bytes", "thread (33,0,0) read, and no barrier"}},
    // Who waits for the end of an mbarrier's phase learns nothing of those that have arrived in the next one.
    {"read_what_the_next_phase_announces",
     [](const float*, float* out) {
       const unsigned barrier = shared_address(dynamic_smem());
       float* const value = dynamic_smem() + 2;
       if (threadIdx.x == 0) {
         mbarrier_init(barrier, 2);
       }
       __syncthreads();
       if (threadIdx.x == 0) {
         mbarrier_arrive(barrier);
         mbarrier_arrive(barrier);
       } else if (threadIdx.x == 1) {
         *value = 1.0F;
         mbarrier_arrive(barrier);
       } else if (threadIdx.x == 2) {
         mbarrier_wait(barrier, 0);
         *out = *value;
       }
     },
     {"thread (2,0,0)", "reads 4 bytes", "thread (1,0,0) wrote, and no barrier"}},
    // Who meets at a barrier learns nothing of those that arrived before it ended the last time.
    {"read_what_an_earlier_barrier_announced",
     [](const float*, float* out) {
       constexpr unsigned USED_AGAIN = 1;
       if (threadIdx.x < 32) {
         dynamic_smem()[threadIdx.x] = 1.0F;
         barrier_arrive(USED_AGAIN, 64);
       } else if (threadIdx.x < 64) {
         barrier(USED_AGAIN, 64);
       } else {
         barrier(USED_AGAIN, 32);
         out[threadIdx.x] = dynamic_smem()[threadIdx.x - 64];
       }
     },
     {"reads 4 bytes", "of dynamic shared memory, which thread (", "wrote, and no barrier"},
     1,
     dim3(96)},
    {"synchronise_half_of_the_readers",
     [](const float*, float* out) {
       __shared__ float values[THREADS];
       values[threadIdx.x] = 1.0F;
       barrier(1 + threadIdx.x / 32, 32);
       out[threadIdx.x] = values[(threadIdx.x + 16) % THREADS];
     },
     {"shared values, which thread (", "no barrier lies in between; it read at "}},
    {"two_threads_write_one_element",
     [](const float*, float* out) {
       if (threadIdx.x < 2 / gridDim.x) {
         *out = 1.0F;
       }
     },
     {"of OUT, which block (0,0,0), thread (0,0,0) wrote", "no barrier lies in between; it wrote at ",
      "checks_test.cu:"}},
    {"two_blocks_write_one_element",
     [](const float*, float* out) {
       if (threadIdx.x < 2 / gridDim.x) {
         *out = 1.0F;
       }
     },
     {"block (0,0,0), thread (0,0,0)", "block (1,0,0), thread (0,0,0)",
      " wrote, and blocks are not ordered; it wrote at "},
     2},
    {"two_threads_write_one_byte",
     [](const float*, float* out) { write_byte(out, 2 / gridDim.x); },
     {"writes 1 bytes", "of OUT, which block (0,0,0), thread (", "wrote, and no barrier"}},
    {"two_blocks_write_one_byte",
     [](const float*, float* out) { write_byte(out, 2 / gridDim.x); },
     {"writes 1 bytes", "of OUT, which block (", "wrote, and blocks are not ordered"},
     2},
    {"read_element_of_which_others_wrote_bytes",
     [](const float*, float* out) {
       write_byte(out, 1);
       if (threadIdx.x == THREADS - 1) {
         out[THREADS] = out[0];
       }
     },
     {"thread (63,0,0)", "reads 4 bytes", "of OUT, which block (0,0,0), thread (0,0,0) wrote, and no barrier"}},
    // The thread's number in a block of 8 x 4 x 2 threads.
    {"read_what_another_thread_of_a_solid_block_wrote",
     [](const float*, float* out) {
       __shared__ float values[THREADS];
       const unsigned number = (threadIdx.z * 4 + threadIdx.y) * 8 + threadIdx.x;
       values[number] = 1.0F;
       if (number == THREADS - 1) {
         out[number] = values[(1 * 4 + 2) * 8 + 3];
       }
     },
     {"thread (7,3,1)", "which thread (3,2,1) wrote"},
     1,
     dim3(8, 4, 2)},
    {"read_copy_of_another_thread_without_barrier",
     [](const float* in, float* out) {
       float* const smem = dynamic_smem();
       copy_async(shared_address(smem + threadIdx.x), in + threadIdx.x, 4);
       commit_copies();
       wait_for_copies(0);
       if (threadIdx.x > 0) {
         out[threadIdx.x] = smem[threadIdx.x - 1];
       }
     },
     {"thread (1,0,0)", "which thread (0,0,0) wrote, and no barrier"}},
    {"copy_over_what_others_still_read",
     [](const float* in, float* out) {
       float* const smem = dynamic_smem();
       smem[threadIdx.x] = 1.0F;
       __syncthreads();
       out[threadIdx.x] = smem[THREADS - 1 - threadIdx.x];
       if (threadIdx.x < THREADS / 2) {
         copy_async(shared_address(smem + threadIdx.x), in + threadIdx.x, 4);
       }
     },
     {"asynchronous copy writes", "read, and no barrier"}},
    {"copy_from_beyond_end",
     [](const float* in, float*) {
       copy_async(shared_address(dynamic_smem() + threadIdx.x), in + ELEMENTS - 10 + threadIdx.x, 4);
     },
     {"thread (10,0,0)", "asynchronous copy reads 4 bytes", "outside"}},
    {"misaligned_vector_load",
     [](const float* in, float* out) { out[threadIdx.x] = load_float4(in + 1).x; },
     {"reads 16 bytes", "not aligned"}},
    {"misaligned_vector_store_to_shared",
     [](const float*, float*) {
       if (threadIdx.x == 0) {
         store_float4(dynamic_smem() + 2, float4{1.0F, 2.0F, 3.0F, 4.0F});
       }
     },
     {"writes 16 bytes", "not aligned"}},
};

__global__ void right_kernel(const float* in, float* out) {
  __shared__ float values[THREADS];
  float* const smem = dynamic_smem();
  float sum = 0.0F;
  write_byte(out + blockIdx.x * THREADS, 1);
  for (int step = 0; step < 3; ++step) {
    copy_async(shared_address(smem + threadIdx.x), in + threadIdx.x, 4);
    commit_copies();
    values[threadIdx.x] = in[threadIdx.x];
    wait_for_copies(0);
    __syncthreads();
    sum += values[THREADS - 1 - threadIdx.x] + smem[(threadIdx.x + 5) % THREADS];
    __syncthreads();
  }
  // The warps on their own: one hands over to itself.
  values[threadIdx.x] = sum;
  barrier(1 + threadIdx.x / 32, 32);
  sum = values[threadIdx.x ^ 1U];
  __syncwarp();
  values[threadIdx.x ^ 1U] = sum + load_float4(in + 4 * (threadIdx.x % 16)).x;
  __syncthreads();
  out[blockIdx.x * THREADS + threadIdx.x] = values[threadIdx.x];
}

/// Uses all of them in allowed ways.
const WrongAccess NOT_WRONG{"right", right_kernel, {}, 4};

std::string complaint(const WrongAccess& wrong) {
  return InAndOut(ELEMENTS, 1).complaint_about([&](const float* in, float* out) {
    launch(wrong.kernel, wrong.blocks, wrong.threads, THREADS * sizeof(float), in, out);
  });
}

class WrongAccessTest : public testing::TestWithParam<WrongAccess> {};

TEST_P(WrongAccessTest, IsFoundAndPlaced) {
  for (int repetition = 0; repetition < 2; ++repetition) {  // the executor goes on after an error
    const std::string message = complaint(GetParam());
    EXPECT_EQ(message.rfind("block (", 0), 0U) << message;
    expect_parts(message, {"checks_test.cu:"});
    expect_parts(message, GetParam().parts);
    EXPECT_EQ(complaint(NOT_WRONG), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Checks, WrongAccessTest, testing::ValuesIn(WRONG_ACCESSES),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace simt::test
