// cooperative_groups: thread blocks, tiles, their shuffles and reductions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void groups_kernel(const float* in, float* out) {
  __shared__ float values[64];
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  values[block.thread_rank()] = in[block.thread_index().x];
  block.sync();
  const float sum = cg::reduce(tile, values[63 - block.thread_rank()], cg::plus<float>());
  const float next = warp.shfl_down(sum, 8);
  tile.sync();
  out[block.thread_rank()] = sum + next + tile.meta_group_rank() + (tile.any(tile.thread_rank() == 3) ? 1 : 0);
}

void groups(const float* in, float* out) { groups_kernel<<<1, 64>>>(in, out); }

float groups_expected(const float* in, int i) {
  const auto sum = [&](int tile) {
    float result = 0;
    for (int lane = 0; lane < 8; ++lane) result += in[63 - tile * 8 - lane];
    return result;
  };
  const int tile = i / 8;
  return sum(tile) + sum(tile % 4 == 3 ? tile : tile + 1) + tile + 1;
}
