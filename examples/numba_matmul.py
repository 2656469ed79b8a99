#!/usr/bin/env python3
"""The tiled kernel of the Numba slides, as 02:numba_mapping has it in CUDA, with the slides' two defects mended.

Needs Numba, NumPy, and an NVIDIA GPU or Numba's simulator.

    examples/numba_matmul.py --size 1024
    NUMBA_ENABLE_CUDASIM=1 examples/numba_matmul.py --size 33
"""

import sys

from example_results import need, parser, write_json

TPB = 16  # threads per block, on each side


parse = parser(__doc__, "the error", size=(1024, "of square matrices")).parse_args


def make_kernel():
    """Its `cuda` is a global: Numba's simulator has another one in the place of a kernel's globals."""

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
        # The slides leave before the loop if row and col are both outside. With `or`, threads would miss barriers.
        if row < c.shape[0] and col < c.shape[1]:
            c[row, col] = total

    return matmul


def main() -> int:
    options = parse()
    global cuda, float32
    need("numba", "numba-cuda")
    np = need("numpy", "numpy")
    from numba import cuda, float32

    n = options.size
    random = np.random.default_rng(42)
    a, b = (random.uniform(-1, 1, (n, n)).astype(np.float32) for _ in "ab")
    c = np.full((n, n), np.nan, np.float32)
    blocks = -(-n // TPB)
    make_kernel()[(blocks, blocks), (TPB, TPB)](a, b, c)
    expected = a.astype(np.float64) @ b
    error = float(np.linalg.norm(c - expected) / np.linalg.norm(expected))
    print(f"{n} x {n} x {n}: relative error {error:.1e}")
    if options.out is not None:
        write_json(options.out, {"size": n, "error": error})
    return 0 if error < 1e-5 else 1


if __name__ == "__main__":
    sys.exit(main())
