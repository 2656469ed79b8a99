#pragma once

#include <cstddef>

namespace simt::test {

// The operands of a warpgroup; matrices below are row-major without gaps, A with `k` columns and B with as many rows.
constexpr int WGMMA_ROWS = 64;
constexpr int WGMMA_COLS = 128;

enum class Half { fp16, bf16 };

/// Where A lies, and how many columns B and D have.
enum class WgmmaForm { shared_128, registers_128, registers_64, registers_32 };
constexpr int columns_of(WgmmaForm form) {
  return form == WgmmaForm::registers_32   ? WGMMA_COLS / 4
         : form == WgmmaForm::registers_64 ? WGMMA_COLS / 2
                                           : WGMMA_COLS;
}

/// One block of a warpgroup stores its A and B in that format, WGMMA_KS of k, multiplies 16 of them at a time and adds
/// to D.
enum class Wgmma {
  right,
  overwriting,     ///< the first product does not add
  group_per_step,  ///< and a wait for the last one alone
  two_sums,        ///< even steps add to D, odd ones to an own sum that is stored below D
  two_at_once,     ///< the same, and one wait names both
  older_sum,       ///< the same, and only D's last group has been waited for
  other_sum,       ///< both groups have, but the wait does not name D
  uncommitted,     ///< the last step's product belongs to no group when it is waited for
  store_behind_b,  ///< by a thread before the wait, to the row behind those of B
  // Mistakes that no kernel may make:
  no_wait,
  wait_for_too_few,  ///< groups; with one for each step
  write_before_wait,
  store_to_b_while_read,  ///< the same to the last row of B
  misaligned_a,
  misaligned_b,
  misaligned_slice_of_a,
  misaligned_slice_of_b,
  lanes_differ_in_a,
  lanes_differ_in_b,
  warps_differ_in_a,  ///< which tile they take
  warps_differ_in_b,
  one_warp_stops,  ///< after the first product
  half_a_warpgroup,
};

constexpr int WGMMA_KS = 64;

/// `d` has room for twice its rows. The kernel as it is, and compiled to be watched.
void multiply(Wgmma which, WgmmaForm form, Half format, const float* a, const float* b, float* d);
void multiply_watched(Wgmma which, WgmmaForm form, Half format, const float* a, const float* b, float* d);

/// Products of signed integers of 8 bits.
enum class IntegerWgmma {
  right,
  overwriting,  ///< the first product does not add
  no_wait,      ///< which no kernel may make
};
constexpr int INTEGER_WGMMA_KS = 128;

/// One block of a warpgroup stores A and B, INTEGER_WGMMA_KS of k, multiplies 32 of them at a time and adds to D.
void multiply(IntegerWgmma which, const signed char* a, const signed char* b, int* d);

/// Two producer warps, each with a ring of two stages in shared memory, bring tiles of A and of B there by bulk copies;
/// a warpgroup multiplies them and adds up in D.
enum class BulkRing {
  right,
  one_group_behind,  ///< a stage is released when the next one's products have been started
  halves,            ///< two copies for each tile of B
  // Mistakes that no kernel may make:
  release_a_before_wait,
  release_b_before_wait,
  release_one_group_too_early,
  read_a_unawaited,  ///< consumers do not wait for the copies
  read_b_unawaited,
  read_other_stage_of_a,  ///< than that whose copies they waited for
  read_other_stage_of_b,
  overwrite_unreleased_a,  ///< their producer does not wait for the consumers
  overwrite_unreleased_b,
  store_to_a_while_read,  ///< by a thread, to a stage whose products have not been waited for
  store_to_b_while_read,
  // With the copies of B:
  too_few_bytes,     ///< are copied
  too_many_bytes,    ///< in the last step
  nothing_expected,  ///< an ordinary arrival before the copies
  no_arrival,
  too_many_arrivals,  ///< while bytes are missing
  too_much_expected,  ///< for an mbarrier
  misaligned_source,
  misaligned_destination,
  misaligned_size,
  no_init,
  beyond_source,
  beyond_shared_memory,
};
constexpr int RING_TILES = 6;
constexpr int RING_TILE_K = 64;
constexpr unsigned RING_A_BYTES = 2U * RING_TILE_K * WGMMA_ROWS;
constexpr unsigned RING_B_BYTES = 2U * RING_TILE_K * WGMMA_COLS;
constexpr std::size_t RING_TILE_BYTES = RING_A_BYTES + RING_B_BYTES;

/// `tiles` gets A and B, of RING_TILES * RING_TILE_K columns and rows, in FP16 and as the rings have them in shared
/// memory: each tile of A and behind it that of B.
void pack_tiles(const float* a, const float* b, unsigned char* tiles);
/// `tiles` is aligned to 16 bytes. The kernel as it is, and compiled to be watched.
void multiply(BulkRing which, const unsigned char* tiles, float* d);
void multiply_watched(BulkRing which, const unsigned char* tiles, float* d);

/// One block of two warps; the first fills 32 elements of shared memory, the second copies them to `out`, four times.
enum class NamedArrival {
  right,
  reader_first,  ///< it has the lower thread numbers
  // Mistakes that no kernel may make:
  never_full,
  other_count,
  read_after_arrival,  ///< the second warp only arrives where it should wait
  release_before_read,
};
constexpr int NAMED_ROUNDS = 4;
constexpr std::size_t NAMED_ELEMENTS = std::size_t{NAMED_ROUNDS} * 32;

/// `in` and `out` have NAMED_ELEMENTS.
void hand_over(NamedArrival which, const float* in, float* out);
void hand_over_watched(NamedArrival which, const float* in, float* out);

}  // namespace simt::test
