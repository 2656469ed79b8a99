#pragma once

#include <cstddef>

namespace simt::test {

/// Elements of the arrays that the kernels below get: `in` is an input, `out` an output.
constexpr std::size_t ELEMENTS = 256;

/// Uses memory in one way that no kernel may, on blocks of 64 or 96 threads.
using WrongAccess = void (*)(const float* in, float* out);

void read_global_beyond_end(const float* in, float* out);
void write_global_before_begin(const float* in, float* out);
void write_input(const float* in, float* out);
void write_shared_beyond_end(const float* in, float* out);
void write_dynamic_beyond_end(const float* in, float* out);
void read_uninitialised_shared(const float* in, float* out);
void read_what_another_thread_wrote(const float* in, float* out);
void overwrite_what_others_still_read(const float* in, float* out);
void overwrite_what_the_first_still_reads(const float* in, float* out);
void overwrite_what_the_last_still_reads(const float* in, float* out);
void read_what_the_next_phase_announces(const float* in, float* out);
void read_what_an_earlier_barrier_announced(const float* in, float* out);
void synchronise_half_of_the_readers(const float* in, float* out);
void two_threads_write_one_element(const float* in, float* out);
void two_blocks_write_one_element(const float* in, float* out);
void two_threads_write_one_byte(const float* in, float* out);
void two_blocks_write_one_byte(const float* in, float* out);
void read_element_of_which_others_wrote_bytes(const float* in, float* out);
void read_what_another_thread_of_a_solid_block_wrote(const float* in, float* out);
void read_copy_before_wait(const float* in, float* out);
void read_copy_of_another_thread_without_barrier(const float* in, float* out);
void copy_over_what_others_still_read(const float* in, float* out);
void copy_from_beyond_end(const float* in, float* out);
void misaligned_vector_load(const float* in, float* out);
void misaligned_vector_store_to_shared(const float* in, float* out);

/// Uses all of the above in allowed ways.
void right_accesses(const float* in, float* out);

}  // namespace simt::test
