// Every access to memory checked: each of the wrong ones is found and placed.

#include "complaint.hpp"
#include "guarded_array.hpp"
#include "instructions.cuh"
#include "launch.cuh"

#include "simt/checked_arrays.hpp"
#include "simt/executor.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace simt::test {
namespace {

/// Elements of the arrays that the kernels get: `in` is an input, `out` an output.
constexpr std::size_t ELEMENTS = 256;

/// Uses memory in one way that no kernel may, on blocks of 64 or 96 threads.
struct WrongAccess {
  std::string name;
  void (*run)(const float* in, float* out);
  std::vector<std::string> parts;  ///< of the message
};

constexpr int THREADS = 64;
constexpr std::size_t DYNAMIC_BYTES = THREADS * sizeof(float);

template <class Kernel, class... Arguments>
void run(Kernel* kernel, int blocks, Arguments... arguments) {
  launch(kernel, blocks, dim3(THREADS), DYNAMIC_BYTES, nullptr, arguments...);
}

__global__ void read_global_beyond_end_kernel(const float* in, float* out) {
  out[threadIdx.x] = in[ELEMENTS - 10 + threadIdx.x];
}

__global__ void write_global_before_begin_kernel(float* out) { out[static_cast<int>(threadIdx.x) - 5] = 1.0F; }

__global__ void write_input_kernel(float* in) { in[threadIdx.x] = 1.0F; }

__global__ void write_shared_beyond_end_kernel(float* out) {
  __shared__ float values[THREADS - 1];
  values[threadIdx.x] = 1.0F;
  __syncthreads();
  out[threadIdx.x] = values[0];
}

__global__ void write_dynamic_beyond_end_kernel(float* out) {
  dynamic_smem()[threadIdx.x + 1] = 1.0F;
  __syncthreads();
  out[threadIdx.x] = dynamic_smem()[1];
}

__global__ void read_uninitialised_shared_kernel(float* out) {
  __shared__ float values[THREADS];
  if (threadIdx.x != 7) {
    values[threadIdx.x] = 1.0F;
  }
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

__global__ void read_what_another_thread_wrote_kernel(float* out) {
  __shared__ float values[THREADS];
  values[threadIdx.x] = 1.0F;
  if (threadIdx.x > 0) {
    out[threadIdx.x] = values[threadIdx.x - 1];
  }
}

__global__ void overwrite_what_others_still_read_kernel(float* out) {
  __shared__ float values[THREADS];
  float sum = 0.0F;
  for (int step = 0; step < 2; ++step) {
    values[threadIdx.x] = 1.0F;
    __syncthreads();
    sum += values[(threadIdx.x + 40) % THREADS];
  }
  out[threadIdx.x] = sum;
}

/// The last one of two that read is the one that writes.
__global__ void overwrite_what_the_first_still_reads_kernel(float* out) {
  float* const smem = dynamic_smem();
  smem[threadIdx.x] = 1.0F;
  __syncthreads();
  if (threadIdx.x == 0 || threadIdx.x == 33) {
    out[threadIdx.x] = smem[5];
  }
  if (threadIdx.x == 33) {
    smem[5] = 2.0F;
  }
}

/// The first one writes, after it has met a third thread.
__global__ void overwrite_what_the_last_still_reads_kernel(float* out) {
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
}

/// Who waits for the end of an mbarrier's phase learns nothing of those that have arrived in the next one.
__global__ void read_what_the_next_phase_announces_kernel(float* out) {
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
}

/// Who meets at a barrier learns nothing of those that arrived before it ended the last time.
__global__ void read_what_an_earlier_barrier_announced_kernel(float* out) {
  constexpr int USED_AGAIN = 1;
  if (threadIdx.x < 32) {
    dynamic_smem()[threadIdx.x] = 1.0F;
    bar_arrive(USED_AGAIN, 64);
  } else if (threadIdx.x < 64) {
    bar_sync(USED_AGAIN, 64);
  } else {
    bar_sync(USED_AGAIN, 32);
    out[threadIdx.x] = dynamic_smem()[threadIdx.x - 64];
  }
}

__global__ void synchronise_half_of_the_readers_kernel(float* out) {
  __shared__ float values[THREADS];
  values[threadIdx.x] = 1.0F;
  bar_sync(1 + static_cast<int>(threadIdx.x / 32), 32);
  out[threadIdx.x] = values[(threadIdx.x + 16) % THREADS];
}

__global__ void one_element_kernel(float* out, unsigned writers) {
  if (threadIdx.x < writers) {
    *out = 1.0F;
  }
}

/// As many neighbours write to each byte.
__device__ void write_byte(float* out, unsigned writers) {
  reinterpret_cast<unsigned char*>(out)[threadIdx.x / writers] = 0;
}

__global__ void one_byte_kernel(float* out, unsigned writers) { write_byte(out, writers); }

__global__ void read_bytes_of_others_kernel(float* out) {
  write_byte(out, 1);
  if (threadIdx.x == THREADS - 1) {
    out[THREADS] = out[0];
  }
}

/// The thread's number in a block of 8 x 4 x 2 threads.
__global__ void read_of_a_solid_block_kernel(float* out) {
  __shared__ float values[THREADS];
  const unsigned number = (threadIdx.z * 4 + threadIdx.y) * 8 + threadIdx.x;
  values[number] = 1.0F;
  if (number == THREADS - 1) {
    out[number] = values[(1 * 4 + 2) * 8 + 3];
  }
}

__global__ void read_copy_before_wait_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  cp_async<4>(shared_address(smem + threadIdx.x), in + threadIdx.x);
  cp_async_commit_group();
  out[threadIdx.x] = smem[threadIdx.x];
}

__global__ void copy_without_barrier_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  cp_async<4>(shared_address(smem + threadIdx.x), in + threadIdx.x);
  cp_async_commit_group();
  cp_async_wait_group<0>();
  if (threadIdx.x > 0) {
    out[threadIdx.x] = smem[threadIdx.x - 1];
  }
}

__global__ void copy_over_read_kernel(const float* in, float* out) {
  float* const smem = dynamic_smem();
  smem[threadIdx.x] = 1.0F;
  __syncthreads();
  out[threadIdx.x] = smem[THREADS - 1 - threadIdx.x];
  if (threadIdx.x < THREADS / 2) {
    cp_async<4>(shared_address(smem + threadIdx.x), in + threadIdx.x);
  }
}

__global__ void copy_from_beyond_end_kernel(const float* in) {
  cp_async<4>(shared_address(dynamic_smem() + threadIdx.x), in + ELEMENTS - 10 + threadIdx.x);
}

__global__ void misaligned_load_kernel(const float* in, float* out) { out[threadIdx.x] = load_float4(in + 1).x; }

__global__ void misaligned_store_kernel() {
  if (threadIdx.x == 0) {
    store_float4(dynamic_smem() + 2, float4{1.0F, 2.0F, 3.0F, 4.0F});
  }
}

__global__ void right_kernel(const float* in, float* out) {
  __shared__ float values[THREADS];
  float* const smem = dynamic_smem();
  float sum = 0.0F;
  write_byte(out + blockIdx.x * THREADS, 1);
  for (int step = 0; step < 3; ++step) {
    cp_async<4>(shared_address(smem + threadIdx.x), in + threadIdx.x);
    cp_async_commit_group();
    values[threadIdx.x] = in[threadIdx.x];
    cp_async_wait_group<0>();
    __syncthreads();
    sum += values[THREADS - 1 - threadIdx.x] + smem[(threadIdx.x + 5) % THREADS];
    __syncthreads();
  }
  // The warps on their own: one hands over to itself.
  values[threadIdx.x] = sum;
  bar_sync(1 + static_cast<int>(threadIdx.x / 32), 32);
  sum = values[threadIdx.x ^ 1U];
  __syncwarp();
  values[threadIdx.x ^ 1U] = sum + load_float4(in + 4 * (threadIdx.x % 16)).x;
  __syncthreads();
  out[blockIdx.x * THREADS + threadIdx.x] = values[threadIdx.x];
}

const std::vector<WrongAccess> WRONG_ACCESSES{
    {"read_global_beyond_end",
     [](const float* in, float* out) { run(read_global_beyond_end_kernel, 1, in, out); },
     {"thread (10,0,0)", "reads 4 bytes", "outside of all arrays"}},
    {"write_global_before_begin",
     [](const float*, float* out) { run(write_global_before_begin_kernel, 1, out); },
     {"thread (0,0,0)", "writes 4 bytes", "outside of all"}},
    {"write_input",
     [](const float* in, float*) { run(write_input_kernel, 1, const_cast<float*>(in)); },
     {"writes 4 bytes", "element 0 of IN, which is an input"}},
    {"write_shared_beyond_end",
     [](const float*, float* out) { run(write_shared_beyond_end_kernel, 1, out); },
     {"thread (63,0,0)", "writes 4 bytes"}},
    {"write_dynamic_beyond_end",
     [](const float*, float* out) { run(write_dynamic_beyond_end_kernel, 1, out); },
     {"thread (63,0,0)", "outside of shared memory"}},
    {"read_uninitialised_shared",
     [](const float*, float* out) { run(read_uninitialised_shared_kernel, 1, out); },
     {"thread (7,0,0)", "values, which nobody has written"}},
    {"read_what_another_thread_wrote",
     [](const float*, float* out) { run(read_what_another_thread_wrote_kernel, 1, out); },
     {"thread (1,0,0)", "which thread (0,0,0) wrote, and no barrier"}},
    {"overwrite_what_others_still_read",
     [](const float*, float* out) { run(overwrite_what_others_still_read_kernel, 1, out); },
     {"shared values, which thread (", "no barrier"}},
    {"overwrite_what_the_first_still_reads",
     [](const float*, float* out) { run(overwrite_what_the_first_still_reads_kernel, 1, out); },
     {"thread (33,0,0)", "writes 4 bytes", "thread (0,0,0) read, and no barrier"}},
    {"overwrite_what_the_last_still_reads",
     [](const float*, float* out) { run(overwrite_what_the_last_still_reads_kernel, 1, out); },
     {"thread (0,0,0)", "writes 4 bytes", "thread (33,0,0) read, and no barrier"}},
    {"read_what_the_next_phase_announces",
     [](const float*, float* out) { run(read_what_the_next_phase_announces_kernel, 1, out); },
     {"thread (2,0,0)", "reads 4 bytes", "thread (1,0,0) wrote, and no barrier"}},
    {"read_what_an_earlier_barrier_announced",
     [](const float*, float* out) {
       launch(read_what_an_earlier_barrier_announced_kernel, 1, dim3(96), DYNAMIC_BYTES, nullptr, out);
     },
     {"reads 4 bytes", "of dynamic shared memory, which thread (", "wrote, and no barrier"}},
    {"synchronise_half_of_the_readers",
     [](const float*, float* out) { run(synchronise_half_of_the_readers_kernel, 1, out); },
     {"shared values, which thread (", "no barrier lies in between; it read at "}},
    {"two_threads_write_one_element",
     [](const float*, float* out) { run(one_element_kernel, 1, out, 2U); },
     {"of OUT, which block (0,0,0), thread (0,0,0) wrote", "no barrier lies in between; it wrote at ",
      "checks_test.cu:"}},
    {"two_blocks_write_one_element",
     [](const float*, float* out) { run(one_element_kernel, 2, out, 1U); },
     {"block (0,0,0), thread (0,0,0)", "block (1,0,0), thread (0,0,0)",
      " wrote, and blocks are not ordered; it wrote at "}},
    {"two_threads_write_one_byte",
     [](const float*, float* out) { run(one_byte_kernel, 1, out, 2U); },
     {"writes 1 bytes", "of OUT, which block (0,0,0), thread (", "wrote, and no barrier"}},
    {"two_blocks_write_one_byte",
     [](const float*, float* out) { run(one_byte_kernel, 2, out, 1U); },
     {"writes 1 bytes", "of OUT, which block (", "wrote, and blocks are not ordered"}},
    {"read_element_of_which_others_wrote_bytes",
     [](const float*, float* out) { run(read_bytes_of_others_kernel, 1, out); },
     {"thread (63,0,0)", "reads 4 bytes", "of OUT, which block (0,0,0), thread (0,0,0) wrote, and no barrier"}},
    {"read_what_another_thread_of_a_solid_block_wrote",
     [](const float*, float* out) {
       launch(read_of_a_solid_block_kernel, 1, dim3(8, 4, 2), DYNAMIC_BYTES, nullptr, out);
     },
     {"thread (7,3,1)", "which thread (3,2,1) wrote"}},
    {"read_copy_before_wait",
     [](const float* in, float* out) { run(read_copy_before_wait_kernel, 1, in, out); },
     {"thread (0,0,0)", "asynchronous copy", "not been waited for"}},
    {"read_copy_of_another_thread_without_barrier",
     [](const float* in, float* out) { run(copy_without_barrier_kernel, 1, in, out); },
     {"thread (1,0,0)", "which thread (0,0,0) wrote, and no barrier"}},
    {"copy_over_what_others_still_read",
     [](const float* in, float* out) { run(copy_over_read_kernel, 1, in, out); },
     {"asynchronous copy writes", "read, and no barrier"}},
    {"copy_from_beyond_end",
     [](const float* in, float*) { run(copy_from_beyond_end_kernel, 1, in); },
     {"thread (10,0,0)", "asynchronous copy reads 4 bytes", "outside"}},
    {"misaligned_vector_load",
     [](const float* in, float* out) { run(misaligned_load_kernel, 1, in, out); },
     {"reads 16 bytes", "not aligned"}},
    {"misaligned_vector_store_to_shared",
     [](const float*, float*) { run(misaligned_store_kernel, 1); },
     {"writes 16 bytes", "not aligned"}},
};

/// Uses all of them in allowed ways.
void right_accesses(const float* in, float* out) { run(right_kernel, 4, in, out); }

/// The message of the checks about `kernel`; empty where there is none. Arrays are aligned for vectors, and bytes of
/// OUT may have different writers.
template <class Run>
std::string complaint(const Run& kernel) {
  GuardedArray in(ELEMENTS, 1.0F);
  GuardedArray out(ELEMENTS, 0.0F);
  float* const aligned_in = std::bit_cast<float*>((std::bit_cast<std::uintptr_t>(in.data()) + 15) / 16 * 16);
  simt::GlobalArray bytes_of_out = simt::in_out("OUT", out.data(), ELEMENTS);
  bytes_of_out.unit = 1;
  const simt::CheckedArrays arrays({simt::input("IN", aligned_in, ELEMENTS), bytes_of_out});
  return message_of([&] { kernel(aligned_in, out.data()); });
}

class WrongAccessTest : public testing::TestWithParam<WrongAccess> {};

TEST_P(WrongAccessTest, IsFoundAndPlaced) {
  for (int repetition = 0; repetition < 2; ++repetition) {  // the executor goes on after an error
    const std::string message = complaint(GetParam().run);
    EXPECT_EQ(message.rfind("block (", 0), 0U) << message;
    EXPECT_NE(message.find("checks_test.cu:"), std::string::npos) << message;
    for (const std::string& part : GetParam().parts) {
      EXPECT_NE(message.find(part), std::string::npos) << '\'' << part << "' is not in: " << message;
    }
    EXPECT_EQ(complaint(right_accesses), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Checks, WrongAccessTest, testing::ValuesIn(WRONG_ACCESSES),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace simt::test
