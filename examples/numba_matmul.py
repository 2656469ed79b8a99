"""The tiled kernel of the Numba slides, as 02:numba_mapping has it in CUDA, with the slides' two defects mended.

python examples/numba_matmul.py 1024
NUMBA_ENABLE_CUDASIM=1 python examples/numba_matmul.py 33    # without a GPU
"""

from __future__ import annotations

import sys

import numpy as np
from numba import cuda, float32

TPB = 16  # threads per block, on each side


@cuda.jit
def matmul(a, b, c):
    a_tile = cuda.shared.array((TPB, TPB), float32)
    b_tile = cuda.shared.array((TPB, TPB), float32)
    row, col = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(0, a.shape[1], TPB):
        # The slides load without a guard. Beyond the edge zeros stand for what is not there.
        a_tile[x, y] = a[row, k + y] if row < a.shape[0] and k + y < a.shape[1] else float32(0)
        b_tile[x, y] = b[k + x, col] if k + x < b.shape[0] and col < b.shape[1] else float32(0)
        cuda.syncthreads()
        for step in range(TPB):
            total += a_tile[x, step] * b_tile[step, y]
        cuda.syncthreads()
    # The slides leave before the loop if row and col are both outside. With `or` instead, threads would miss barriers.
    if row < c.shape[0] and col < c.shape[1]:
        c[row, col] = total


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    random = np.random.default_rng(42)
    a, b = (random.uniform(-1, 1, (n, n)).astype(np.float32) for _ in "ab")
    c = np.full((n, n), np.nan, np.float32)
    blocks = -(-n // TPB)
    matmul[(blocks, blocks), (TPB, TPB)](a, b, c)
    expected = a.astype(np.float64) @ b
    error = np.linalg.norm(c - expected) / np.linalg.norm(expected)
    print(f"{n} x {n} x {n}: relative error {error:.1e}")
    return 0 if error < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
