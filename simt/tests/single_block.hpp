#pragma once

namespace simt::test {

// Kernels of one block that do one thing each, on the executor. `out` has an element for every thread.

/// 256 threads; thread 255 returns before the barrier.
void exit_before_barrier(float* out);
/// 128 threads; the first half waits at barrier 1 for all, the second at barrier 2.
void wait_at_different_barriers(float* out);
/// 128 threads at barrier 1: the second half says 64, the first 128.
void disagree_about_barrier(float* out);
/// 128 threads; barrier 1 is for 48, which is no multiple of 32.
void odd_barrier(float* out);
/// 64 threads; lane 3 of the second warp leaves before a shuffle whose mask names it.
void exit_before_shuffle(float* out);
/// 32 threads, of which the last does a misaligned copy when all others have finished.
void fail_last(float* out);
/// Lane 0 waits for lanes 0 and 1, those for lane 2 as well.
void meet_with_different_masks(float* out);
/// Lanes 3 and 20 leave before the upper half of the warp meets.
void exit_before_half_warp(float* out);
/// Blocks of 32 threads read dynamic shared memory and then start copies there that nobody waits for.
void leave_copies(const float* in, float* out, int blocks);
/// 32 threads ask for something that is not modelled.
void unmodelled(float* out);
/// 1025 threads.
void too_many_threads(float* out);
/// A block that is 65 threads deep.
void too_many_layers(float* out);
/// 32 threads copy 16 bytes to an address 4 bytes off.
void misaligned_copy(float* out);
/// 32 threads copy 16 bytes from an address that is no multiple of 16.
void misaligned_source(float* out);
/// 64 threads meet at a barrier whose number is one too large.
void barrier_16(float* out);
/// Lanes 0 to 15 read lane 16, which their mask does not name.
void shuffle_from_outside(float* out);
/// All lanes meet with a mask that leaves out lane 0.
void mask_without_caller(float* out);

/// A thread stores by how many bytes a shared variable misses the multiple of 16384 that it is to be aligned to.
void align_to_four_pages(float* out);
/// 96 threads: each half-warp rotates its threads' numbers by `delta`.
void rotate_half_warps(float* out, int delta);
/// 70 threads, a last warp of six: the sum over the warp of the threads' numbers, by xor shuffles of 1, 2, 4, ...
void sum_lanes(float* out);
/// 64 threads: the first warp passes its numbers to the second one by shared memory and a named barrier, while the rest
/// of 96 threads finish without it.
void pass_to_second_warp(float* out);

/// 32 threads copy `in` in two groups of cp.async, and read after waiting for the first. out[thread] is from the first
/// group, out[32 + thread] from the second, which has not arrived, and out[64 + thread] from it after its wait.
void read_before_wait(const float* in, float* out);
/// 32 threads read dynamic shared memory that nobody has written.
void read_uninitialised(float* out);

}  // namespace simt::test
