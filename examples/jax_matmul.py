#!/usr/bin/env python3
"""Times JAX's FP32 products as XLA compiles them, with sgemm.jax.enable(), and by sgemm.jax.matmul().

Needs JAX, an NVIDIA GPU, and libsgemm with its library for JAX.

    examples/jax_matmul.py --sizes 1024 4096 8192
"""

import statistics
import time

from example_results import lacks, need, parser, write_json

SIZES = [1024, 4096, 8192], "of square matrices"
parse = parser(__doc__, "times and errors", sizes=SIZES, repeats=(10, "products that are timed together")).parse_args


def measure(jax, product, size: int, repeats: int) -> dict:
    keys = jax.random.split(jax.random.key(1))
    a, b = (jax.random.normal(key, (size, size), "float32") for key in keys)
    product = jax.jit(product)
    result = product(a, b).block_until_ready()
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(repeats):
            result = product(a, b)
        result.block_until_ready()
        seconds.append((time.perf_counter() - start) / repeats)
    rows = jax.device_get(a[:64]).astype("float64")
    exact = rows @ jax.device_get(b).astype("float64")
    difference = jax.device_get(result[:64]) - exact
    error = float((difference**2).sum() ** 0.5 / (exact**2).sum() ** 0.5)
    ms = statistics.median(seconds) * 1e3
    return {"ms": ms, "tflops": 2e-9 * size**3 / ms, "error": error}


def main() -> None:
    options = parse()
    jax = need("jax", "jax[cuda13]")
    if jax.default_backend() != "gpu":
        lacks("a GPU that JAX can use")
    sgemm_jax = need("sgemm.jax", "./library/python")
    results = {}
    for size in options.sizes:
        modes = {"XLA": (None, lambda a, b: jax.numpy.matmul(a, b, precision="highest"))}
        for accuracy in ("componentwise", "normwise"):
            modes[f"enable {accuracy}"] = (accuracy, modes["XLA"][1])
            modes[f"matmul {accuracy}"] = (None, lambda a, b, of=accuracy: sgemm_jax.matmul(a, b, of))
        for name, (enabled, product) in modes.items():
            if enabled:
                sgemm_jax.enable(enabled)
            result = results.setdefault(str(size), {})[name] = measure(jax, product, size, options.repeats)
            sgemm_jax.disable()
            speed = f"{result['ms']:8.3f} ms {result['tflops']:6.1f} TFLOP/s"
            print(f"{size:6} {name:22} {speed}, error {result['error']:.1e}")
    if options.out:
        write_json(options.out, {"sizes": results, "jax": jax.__version__, "device": jax.devices()[0].device_kind})


if __name__ == "__main__":
    main()
