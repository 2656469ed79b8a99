#pragma once

// Stands in for CUDA's header of the same name: grids, clusters, blocks and tiles of their warps as objects.

#include <simt/thread.hpp>

#include <cuda_runtime.h>

#include <type_traits>

namespace cooperative_groups {

class thread_block {
 public:
  void sync(simt::Site site = simt::Site::current()) const { simt::block_barrier(site); }
  unsigned thread_rank() const { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
  unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
  unsigned num_threads() const { return size(); }
  dim3 thread_index() const { return threadIdx; }
  dim3 group_index() const { return blockIdx; }
  dim3 dim_threads() const { return blockDim; }
  dim3 group_dim() const { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

class grid_group {
 public:
  void sync(simt::Site site = simt::Site::current()) const { simt::grid_barrier(site); }
  unsigned long long thread_rank() const {
    const thread_block block;
    return ((static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) *
               block.size() +
           block.thread_rank();
  }
  unsigned long long size() const {
    return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z * thread_block().size();
  }
  unsigned long long num_threads() const { return size(); }
  unsigned long long block_rank() const { return thread_rank() / thread_block().size(); }
  unsigned long long num_blocks() const { return size() / thread_block().size(); }
  bool is_valid() const { return simt::is_cooperative(); }
};
inline grid_group this_grid() { return {}; }

class cluster_group {
 public:
  static void sync(simt::Site site = simt::Site::current()) { simt::cluster_barrier(site); }
  static void barrier_arrive(simt::Site site = simt::Site::current()) { simt::cluster_arrive(site); }
  static void barrier_wait(simt::Site site = simt::Site::current()) { simt::cluster_wait(site); }
  static unsigned block_rank() { return simt::cluster_rank(); }
  static dim3 dim_blocks() {
    const simt::Index3 extents = simt::cluster_extents();
    return {extents.x, extents.y, extents.z};
  }
  static dim3 block_index() {
    const dim3 dim = dim_blocks();
    return {blockIdx.x % dim.x, blockIdx.y % dim.y, blockIdx.z % dim.z};
  }
  static unsigned num_blocks() { return dim_blocks().x * dim_blocks().y * dim_blocks().z; }
  static unsigned num_threads() { return num_blocks() * thread_block().size(); }
  static unsigned size() { return num_threads(); }
  static unsigned thread_rank() { return block_rank() * thread_block().size() + thread_block().thread_rank(); }
  template <class T>
  static T* map_shared_rank(T* own, unsigned rank, simt::Site site = simt::Site::current()) {
    return static_cast<T*>(simt::in_cluster(own, rank, site));
  }
};
inline cluster_group this_cluster() { return {}; }

/// SIZE neighbouring lanes of a warp.
template <unsigned SIZE, class Parent = void>
class thread_block_tile {
  static_assert(SIZE >= 1 && SIZE <= simt::WARP && (SIZE & (SIZE - 1)) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");

 public:
  thread_block_tile() = default;
  template <class Other>
  thread_block_tile(const thread_block_tile<SIZE, Other>&) {}

  void sync(simt::Site site = simt::Site::current()) const { simt::warp_barrier(mask(), site); }
  static unsigned thread_rank() { return thread_block().thread_rank() % SIZE; }
  static constexpr unsigned size() { return SIZE; }
  static constexpr unsigned num_threads() { return SIZE; }
  unsigned meta_group_rank() const { return thread_block().thread_rank() / SIZE; }
  unsigned meta_group_size() const { return (thread_block().size() + SIZE - 1) / SIZE; }

  template <class T>
  T shfl(T value, int source, simt::Site site = simt::Site::current()) const {
    return __shfl_sync(mask(), value, source, SIZE, site);
  }
  template <class T>
  T shfl_up(T value, unsigned delta, simt::Site site = simt::Site::current()) const {
    return __shfl_up_sync(mask(), value, delta, SIZE, site);
  }
  template <class T>
  T shfl_down(T value, unsigned delta, simt::Site site = simt::Site::current()) const {
    return __shfl_down_sync(mask(), value, delta, SIZE, site);
  }
  template <class T>
  T shfl_xor(T value, unsigned lanes, simt::Site site = simt::Site::current()) const {
    return __shfl_xor_sync(mask(), value, static_cast<int>(lanes), SIZE, site);
  }
  int any(int predicate, simt::Site site = simt::Site::current()) const { return ballot(predicate, site) != 0; }
  int all(int predicate, simt::Site site = simt::Site::current()) const { return ballot(predicate == 0, site) == 0; }
  unsigned ballot(int predicate, simt::Site site = simt::Site::current()) const {
    return __ballot_sync(mask(), predicate, site) >> first();
  }

 private:
  static unsigned first() { return simt::lane() / SIZE * SIZE; }
  static unsigned mask() { return (SIZE == simt::WARP ? 0xFFFFFFFFU : (1U << SIZE) - 1U) << first(); }
};

template <unsigned SIZE, class Group>
thread_block_tile<SIZE, Group> tiled_partition(const Group&) {
  return {};
}

template <class Group>
void sync(const Group& group, simt::Site site = simt::Site::current()) {
  group.sync(site);
}

}  // namespace cooperative_groups
