#!/usr/bin/env python3
"""Measures how long the host takes for a call of torch.mm, with cuBLAS and with sgemm.torch, in turns.

Needs PyTorch, an NVIDIA GPU, and libsgemm with its drop-in. The GPU works through the calls meanwhile, and
nothing waits for it within a round.

    examples/host_time.py --sizes 256 512
"""

import statistics
import time

from example_results import need, need_torch, parser, write_results

CALLS = 40  # of a round: few enough that the GPU's queue takes them all


arguments = parser(__doc__, "the times", sizes=([256, 512], "of square matrices"), rounds=(300, "of each mode"))
arguments.add_argument("--accuracy", default="componentwise", help="of sgemm.torch (componentwise)")
parse = arguments.parse_args


def round_us(torch, a, b, out) -> dict[str, float]:
    """The host's time of one call, of those that make a tensor and of those that get one."""
    times = {}
    for name, options in (("mm", {}), ("mm out", {"out": out})):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            torch.mm(a, b, **options)
        times[name] = (time.perf_counter() - start) / CALLS * 1e6
    return times


def main() -> None:
    options = parse()
    torch = need_torch()
    sgemm_torch = need("sgemm.torch", "./library/python")
    results = {}
    for size in options.sizes:
        a, b, out = (torch.randn(size, size, device="cuda") for _ in range(3))
        samples = {}
        for index in range(options.rounds + 20):
            for mode in ("cublas", "sgemm") if index % 2 == 0 else ("sgemm", "cublas"):
                if mode == "sgemm":
                    sgemm_torch.enable(options.accuracy)
                for name, us in round_us(torch, a, b, out).items():
                    if index >= 20:  # the first rounds load code
                        samples.setdefault(f"{name}, {mode}", []).append(us)
                sgemm_torch.disable()
        results[str(size)] = {name: statistics.median(of) for name, of in samples.items()}
        for name, us in results[str(size)].items():
            print(f"{size:6} {name:16} {us:6.2f} us")
    write_results(options.out, torch, {"host_us": results})


if __name__ == "__main__":
    main()
