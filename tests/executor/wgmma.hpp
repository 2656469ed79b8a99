#pragma once

#include <cstddef>

namespace sgemm::test {

// What a warpgroup multiplies; matrices below are row-major without gaps, A with `k` columns and B with as many rows.
constexpr int WGMMA_ROWS = 64;
constexpr int WGMMA_COLS = 128;

enum class Half { fp16, bf16 };

/// One block of a warpgroup stores its A and B in that format, multiplies 16 k at a time and adds to D.
enum class Wgmma {
  right,
  overwriting,     ///< the first product does not add
  group_per_step,  ///< and a wait for the last one alone
  two_sums,        ///< even steps add to D, odd ones to an own sum that is stored below D
  older_sum,       ///< the same, and only D has been waited for
  uncommitted,     ///< the last step's product belongs to no group when it is waited for
  // What no kernel may do:
  no_wait,
  wait_for_too_few,  ///< groups; with one for each step
  write_before_wait,
  misaligned_tile,
  misaligned_slice,
  lanes_differ,
  warps_differ,    ///< in the tile that they take
  one_warp_stops,  ///< after the first product
  half_a_warpgroup,
};

/// `row_bytes` (64 or 128) hold the k of a column: half as many. `d` has room for twice its rows.
void multiply(Wgmma which, Half format, int row_bytes, const float* a, const float* b, float* d);

/// A producer warp brings tiles of B through a ring of two stages in shared memory, by bulk copies; a warpgroup
/// multiplies them with A and adds up in D.
enum class BulkRing {
  right,
  one_group_behind,  ///< a stage is released when the next one's products have been started
  halves,            ///< two copies for each stage
  // What no kernel may do:
  release_before_wait,
  release_one_group_too_early,
  read_unawaited,        ///< consumers do not wait for the copies
  read_other_stage,      ///< than that whose copies they waited for
  overwrite_unreleased,  ///< the producer does not wait for the consumers
  store_while_read,      ///< by a thread, to a stage whose products have not been waited for
  too_few_bytes,         ///< are copied
  too_many_bytes,        ///< in the last step
  nothing_expected,      ///< an ordinary arrival before the copies
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
constexpr int RING_TILE_K = 32;
constexpr std::size_t RING_TILE_BYTES = 2UL * RING_TILE_K * WGMMA_COLS;

/// `tiles` gets B, of RING_TILES * RING_TILE_K rows, in FP16 and as the ring has it in shared memory.
void pack_tiles(const float* b, unsigned char* tiles);
/// `tiles` is aligned to 16 bytes. The kernel as it is, and compiled to be watched.
void multiply(BulkRing which, const float* a, const unsigned char* tiles, float* d);
void multiply_watched(BulkRing which, const float* a, const unsigned char* tiles, float* d);

/// One block of two warps; the first fills 32 elements of shared memory, the second copies them to `out`, four times.
enum class NamedArrival {
  right,
  reader_first,  ///< it has the lower thread numbers
  // What no kernel may do:
  never_full,
  other_count,
  read_after_arrival,  ///< the second warp only arrives where it should wait
  release_before_read,
};
constexpr int NAMED_ROUNDS = 4;

/// `in` and `out` have NAMED_ROUNDS * 32 elements.
void hand_over(NamedArrival which, const float* in, float* out);
void hand_over_watched(NamedArrival which, const float* in, float* out);

}  // namespace sgemm::test
