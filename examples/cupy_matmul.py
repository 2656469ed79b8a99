#!/usr/bin/env python3
"""Compares CuPy's FP32 products with FP64, and times them.

Needs CuPy and an NVIDIA GPU.

    examples/cupy_matmul.py
    LD_PRELOAD=build/library/libsgemm_cublas.so SGEMM_LOG=1 examples/cupy_matmul.py
"""

from example_results import lacks, need, parser, write_results

SIZES = [1024, 4096, 8192], "of square matrices"
parse = parser(__doc__, "times and errors", sizes=SIZES, repeats=(10, "products that are timed together")).parse_args


def measure(cupy, size: int, repeats: int) -> dict:
    a, b = (cupy.random.standard_normal((size, size), dtype=cupy.float32) for _ in range(2))
    product = a @ b
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    begin.record()
    for _ in range(repeats):
        product = a @ b
    end.record()
    end.synchronize()
    ms = cupy.cuda.get_elapsed_time(begin, end) / repeats
    # Some rows are enough for the error.
    exact = a[:64].astype(cupy.float64) @ b.astype(cupy.float64)
    error = float(cupy.linalg.norm(product[:64] - exact) / cupy.linalg.norm(exact))
    return {"ms": ms, "tflops": 2e-9 * size**3 / ms, "error": error}


def main() -> None:
    options = parse()
    cupy = need("cupy", "cupy-cuda13x")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        lacks(f"a GPU that CuPy can use: {error}")
    cupy.random.seed(1)
    results = {}
    for size in options.sizes:
        results[str(size)] = result = measure(cupy, size, options.repeats)
        print(f"{size:6}: {result['ms']:8.3f} ms {result['tflops']:6.1f} TFLOP/s, relative error {result['error']:.2e}")
    write_results(options.out, cupy, {"sizes": results})


if __name__ == "__main__":
    main()
