#pragma once

namespace simt::test {

/// out[i] for the i-th of `blocks` blocks: the sum of what all blocks of its cluster have in shared memory, each its
/// own number + 1, by one load from each.
void sum_clusters(float* out, int blocks, int cluster);

/// The blocks of even rank end, and those of odd rank wait for them.
void leave_cluster(float* out);

/// A block reads from a rank that the cluster has not.
void read_beyond_cluster(float* out);

/// A block reads between two floats.
void read_misaligned(float* out);

}  // namespace simt::test
