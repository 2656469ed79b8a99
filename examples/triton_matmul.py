"""A product in Triton with tiles of one size and k in one order, whatever the operands' sizes are, for same_bits.py.

This is the way in which vLLM makes products independent of the batch (vllm/model_executor/layers/batch_invariant.py): a
block of threads for each multiprocessor, which takes one tile of C after the other.
"""

import torch
import triton
import triton.language as tl

TILE_M, TILE_N, TILE_K = 128, 128, 32
GROUP = 8  # rows of tiles that share columns in the L2


@triton.jit
def multiply(
    a, b, c, m, n, k, stride_a, stride_b, stride_c,
    TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr, GROUP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """C = A * B^T, of which each row is contiguous."""
    tiles_m = tl.cdiv(m, TILE_M)
    tiles_n = tl.cdiv(n, TILE_N)
    for tile in range(tl.program_id(0), tiles_m * tiles_n, tl.num_programs(0)):
        first_m = tile // (GROUP * tiles_n) * GROUP
        rows = min(tiles_m - first_m, GROUP)
        in_group = tile % (GROUP * tiles_n)
        at_m = (first_m + in_group % rows) * TILE_M + tl.arange(0, TILE_M)
        at_n = in_group // rows * TILE_N + tl.arange(0, TILE_N)
        at_k = tl.arange(0, TILE_K)
        from_a = a + (at_m % m)[:, None] * stride_a + at_k[None, :]
        from_b = b + (at_n % n)[None, :] * stride_b + at_k[:, None]
        sums = tl.zeros((TILE_M, TILE_N), tl.float32)
        for done in range(0, k, TILE_K):
            of_a = tl.load(from_a + done, mask=at_k[None, :] < k - done, other=0.0)
            of_b = tl.load(from_b + done, mask=at_k[:, None] < k - done, other=0.0)
            sums = tl.dot(of_a, of_b, sums, input_precision=PRECISION)
        to = c + at_m[:, None] * stride_c + at_n[None, :]
        tl.store(to, sums, mask=(at_m[:, None] < m) & (at_n[None, :] < n))


def linear(x: torch.Tensor, weight: torch.Tensor, precision: str) -> torch.Tensor:
    """x * weight^T. `precision` is that of tl.dot: "ieee", "tf32x3" or "tf32"."""
    (m, k), n = x.shape, weight.shape[0]
    result = torch.empty(m, n, device=x.device)
    tiles = triton.cdiv(m, TILE_M) * triton.cdiv(n, TILE_N)
    blocks = min(torch.cuda.get_device_properties(x.device).multi_processor_count, tiles)
    multiply[(blocks,)](
        x, weight, result, m, n, k, x.stride(0), weight.stride(0), n,
        TILE_M, TILE_N, TILE_K, GROUP, precision, num_warps=8, num_stages=3,
    )  # fmt: skip
    return result
