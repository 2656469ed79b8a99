"""Results of a GPU that does not exist, for the tests: every number comes from the simple model below and a seeded
generator, and none was measured. What no test looks at is as the results of the H200 have it."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, median

H200 = Path(__file__).resolve().parents[3] / "results" / "nvidia-h200"
LIKE = json.loads((H200 / "cold.json").read_text(encoding="utf-8"))
NEVER = {"date": "2000-01-01T00:00:00+00:00", "git_commit": "0" * 40, "git_dirty": False}

SAMPLES = 5
SIZES = (256, 512, 1024, 2048, 4096, 8192)
COUNTED = ("01_naive", "02_smem_tiled", "07_warptile_hilbert")
CPU = {"cpu_naive": (0.0012, 0.2, 1024), "cpu_blas": (0.9, 2.0, 4096)}  # TFLOP/s, microseconds to start, largest size
LAUNCH_US = 4.0
COPY_BYTES_PER_US = 12e3
COPY_START_US = 40.0

# id: number, saturated TFLOP/s, half-speed size, threads, registers, shared memory, blocks per SM, summary
CHAPTERS = {
    "01_naive": (1, 6.3, 350, 1024, 32, 0, 2, "one thread per element of C, a warp along a row of C"),
    "01_naive:uncoalesced": (1, 0.52, 100, 1024, 32, 0, 2, "one thread per element of C, a warp along a column of C"),
    "02_smem_tiled": (2, 9.3, 400, 1024, 38, 8192, 1, "square tiles of A and B in shared memory"),
    "02_smem_tiled:numba_mapping": (2, 2.6, 400, 256, 36, 2048, 7, "tiles of 16, the slides' thread mapping"),
    "02_smem_tiled:tile16": (2, 8.4, 400, 256, 38, 2048, 6, "tiles of 16"),
    "03_smem_strip_tiled": (3, 2.1, 300, 1024, 30, 256, 2, "one strip of A and one of B per step"),
    "04_smem_register_tiled": (4, 5.8, 500, 64, 64, 256, 16, "A in registers, B in shared memory"),
    "05_coarse_1d": (5, 17.2, 420, 512, 48, 4096, 2, "each thread computes 8 elements of a column of C"),
    "06_coarse_2d": (6, 26.5, 900, 256, 128, 16384, 2, "each thread computes 8 x 8 elements of C"),
    "06_coarse_2d:vectorized": (6, 35.0, 950, 256, 128, 16384, 2, "8 x 8 elements, 128-bit copies"),
    "07_warptile_hilbert": (7, 48.6, 1000, 256, 226, 49152, 1, "warp tiles in Hilbert-curve order"),
    "07_warptile_hilbert:row_order": (7, 46.0, 1000, 256, 222, 49152, 1, "the same in row-major order"),
}
LIBRARIES = {
    "cublas": (0, 50.0, 700, "cublasSgemm"),
    "cublaslt_best": (-1, 51.0, 650, "the fastest of cuBLASLt's heuristic results"),
    "cublas_tf32": (-1, 410.0, 1900, "cuBLAS in TF32, another precision"),
}
ON_GPU = {**LIBRARIES, **CHAPTERS}


def context(l2: str = "cold", time: str = "kernel", schema_version: int = 1, **protocol) -> dict:
    """Of schema 1, from before there were modes."""
    device = {"name": "Synthetic GPU", "memory_bytes": 100 << 30, "driver": "000.00 (synthetic)"}
    device |= {"max_memory_clock_mhz": 2600, "memory_bus_bits": 5120, "dram_peak_gbytes_s": 3328.0}
    made = LIKE["context"] | NEVER | {"schema_version": schema_version, "cpu": "Synthetic CPU"}
    made["device"] = LIKE["context"]["device"] | device | {"dram_peak_basis": "2 x 2600 MHz x 5120 bits"}
    modes = ("check", "count", "accuracy", "profile", "energy", "sustain")
    made["protocol"] = {name: value for name, value in LIKE["context"]["protocol"].items() if name not in modes}
    made["protocol"] |= {"l2": l2, "time": time, "min_samples": SAMPLES, "max_samples": SAMPLES} | protocol
    if time == "end-to-end":
        made["protocol"]["host_memory"] = "pageable"
    return made


def time_on_gpu(kernel: str, size: int, warm: bool = False) -> float:
    """Microseconds of one product."""
    _, tflops, half, *_ = ON_GPU[kernel]
    efficiency = size**2 / (size**2 + half**2)
    if warm:
        efficiency = efficiency ** (0.8 if size <= 2048 else 0.99)
    return LAUNCH_US + 2 * size**3 / (tflops * efficiency * 1e6)


def case_of(kernel: str, size: int, outcome: str, **fields) -> dict:
    """A case without times."""
    name = f"sgemm/{kernel}/{size}x{size}x{size}"
    case = {"name": name, "run_name": name, "run_type": "aggregate", "time_unit": "none", "threads": 1}
    case |= {"repetitions": 1, "repetition_index": 0, "kernel": kernel, "variant": kernel.partition(":")[2]}
    case |= {"number": ON_GPU.get(kernel, (-1,))[0], "platform": "cpu" if kernel in CPU else "gpu"}
    case |= {"accuracy_class": "tf32" if "tf32" in kernel else "fp32", "m": size, "n": size, "k": size}
    case |= {"outcome": outcome, "reason": "", "detail": "", "verified": False, "telemetry": None, "throttled": False}
    return case | fields


def skipped(kernel: str, size: int) -> dict:
    return case_of(kernel, size, "skipped", reason=f"more operations than the cap of {CPU[kernel][2]} cubed")


def measured(rng: random.Random, kernel: str, size: int, time: float, rival: float | None = None) -> dict:
    samples = sorted(round(time * rng.gauss(1, 0.004), 3) for _ in range(SAMPLES))
    low, middle, high = samples[1], median(samples), samples[-2]
    rng.shuffle(samples)
    case = case_of(kernel, size, "measured", run_type="iteration", time_unit="us", verified=True)
    case |= {"iterations": SAMPLES, "real_time": middle, "cpu_time": middle, "launches_per_sample": 1}
    case |= {"gflops": round(2 * size**3 / middle / 1e3, 4), "samples_us": samples, "max_bound_ratio": 0.01}
    case["time_us"] = {"median": middle, "ci_low": low, "ci_high": high, "min": min(samples), "max": max(samples)}
    case["time_us"] |= {"mean": round(mean(samples), 3), "stddev": round(time * 0.004, 4)}
    if rival is not None:
        if "tf32" not in kernel:
            case["percent_of_peak"] = round(100 * case["gflops"] / LIKE["context"]["device"]["fp32_peak_gflops"], 4)
        rivals = [round(rival * rng.gauss(1.01, 0.004), 3) for _ in samples]
        ratios = sorted(b / a for a, b in zip(samples, rivals, strict=True))
        case |= {"vs_cublas": round(median(ratios), 6), "vs_cublas_ci": [round(ratios[i], 6) for i in (1, -2)]}
        case |= {"vs_cublas_alone": round(rival / middle, 6), "cublas_alone_us": round(rival, 3)}
        case["cublas_samples_us"] = rivals
    scale = 1e-4 if "tf32" in kernel else 1e-6
    case["rel_err"] = float(f"{scale * (size / 4096) ** 0.5 * rng.uniform(1.0, 1.4):.3e}")
    if kernel in CHAPTERS:
        _, _, _, threads, registers, smem, blocks, _ = CHAPTERS[kernel]
        case |= {"threads_per_block": threads, "registers": registers, "smem_bytes": smem, "spill_bytes": 0}
        case |= {"blocks_per_sm": blocks, "occupancy": threads * blocks / 2048}
    return case


def gpu_cases(rng: random.Random, sizes: Iterable[int], warm: bool = False) -> list[dict]:
    return [
        measured(rng, kernel, size, time_on_gpu(kernel, size, warm), time_on_gpu("cublas", size, warm))
        for size in sizes
        for kernel in ON_GPU
    ]


def cpu_cases(rng: random.Random, sizes: Iterable[int]) -> list[dict]:
    return [
        measured(rng, kernel, size, start + 2 * size**3 / (tflops * 1e6)) if size <= cap else skipped(kernel, size)
        for size in sizes
        for kernel, (tflops, start, cap) in CPU.items()
    ]


def end_to_end_cases(rng: random.Random) -> list[dict]:
    sizes = [16, 32, 64, 512, 1024, 4096, 10000]
    cases = cpu_cases(rng, sizes)
    for size in sizes:
        copies = 3 * COPY_START_US + 12 * size**2 / COPY_BYTES_PER_US
        for kernel in ("cublas", "01_naive"):
            times = (copies + time_on_gpu(of, size) for of in (kernel, "cublas"))
            cases.append(measured(rng, kernel, size, *times))
    return cases


def of_h200(name: str, folder: Path = H200) -> dict:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def counters() -> dict:
    """What tools/counters.py writes: those of the H200."""
    document = of_h200("counters")
    document["context"] |= {"device": "Synthetic GPU", **NEVER}
    for part in ("kernels", "derived"):
        document[part] = {kernel: of for kernel, of in document[part].items() if kernel in CHAPTERS}
    del document["launches"]
    return document


def counted() -> list[dict]:
    """What the runner writes of kernels that it counted."""
    cases = of_h200("counts_4096", H200.parent / "cpu-executor")["benchmarks"]
    for case in (cases := [case for case in cases if case["kernel"] in COUNTED]):
        case["counts"]["gpu_model"] |= {"id": "synthetic", "name": "Synthetic GPU"}
    return cases


def compared() -> list[dict]:
    """What `runner --accuracy` writes."""
    return [case for case in of_h200("accuracy")["benchmarks"] if case["kernel"] in (*ON_GPU, *CPU)]


def turn(gflops: float, size: int, watts: float, seconds: float) -> dict:
    """Launches back to back on a GPU whose clock falls in the first half of the time."""
    launch_us = 2 * size**3 / gflops / 1e3
    launches = max(1, round(seconds * 25e3 / launch_us))  # of a batch
    batches = round(seconds * 1e6 / (launches * launch_us)) or 1
    points = range(0, round(seconds * 1e3) + 1, round(seconds * 50))
    samples = {"ms": [*points], "sm_clock_mhz": [1500 if 2 * ms < seconds * 1e3 else 1900 for ms in points]}
    samples |= {"power_w": [watts] * len(points), "temperature_c": [50] * len(points)}
    trace = {"mean_sm_clock_mhz": 1700.0, "mean_power_w": watts, "power_is": "instant", "no_energy": ""}
    trace |= {"throttled_share": 0.5, "throttle_shares": {"sw_power_cap": 0.5}, "samples": samples}
    trace["reasons"] = [{"sample": 0, "reasons": ["sw_power_cap"]}, {"sample": len(points) // 2, "reasons": []}]
    made = {"seconds": batches * launches * launch_us / 1e6, "launches": batches * launches, "launch_us": launch_us}
    made |= {"gflops": gflops, "joules_per_product": watts * launch_us / 1e6, "gflops_per_watt": gflops / watts}
    made |= {"watts": watts, "cut_short": False, "trace": trace}
    made["energy"] = {"source": "counter", "from_s": 0.1, "to_s": 0.9, "joules": watts * 0.8, "uncertainty": 0.012}
    return made | {"launches_per_batch": launches, "batch_us": [round(launches * launch_us, 3)] * batches}


def with_energy(case: dict) -> dict:
    """As `runner --energy` writes it: each kernel draws 10 W for each TFLOP/s, and 150 W besides."""
    speeds = {"kernel": case["gflops"], "cublas": 2 * case["m"] ** 3 / case["cublas_alone_us"] / 1e3}
    return case | {"energy": {name: turn(speed, case["m"], 150 + speed / 100, 1.0) for name, speed in speeds.items()}}


def sustained(kernel: str, size: int) -> dict:
    """What `runner --sustain 20` writes of a case."""
    idle = {"seconds": 4.5, "from_c": 60, "to_c": 42}
    both = {"kernel": (ON_GPU[kernel][1], 650.0), "cublas": (ON_GPU["cublas"][1], 640.0)}
    turns = {name: turn(1e3 * tflops, size, watts, 20.0) for name, (tflops, watts) in both.items()}
    turns |= {"asked_s": 20.0, "cool_downs": {"before_kernel": idle, "before_cublas": idle}}
    return case_of(kernel, size, "sustained", verified=True, rel_err=1e-6, throttled=True, sustained=turns)


def listing() -> list[dict]:
    """What `runner --list=json` prints."""
    return [chapter for chapter in of_h200("kernels") if chapter["id"] in ON_GPU]


def write_results(folder: Path) -> Path:
    """Writes what results/<device>/ holds, and what the executor counted."""
    rng, of_energy, errors = random.Random(20000101), random.Random(1), compared()
    kinds = {"accuracy": True, "data": list(dict.fromkeys(case["data"] for case in errors))}
    energy = {"energy": True, "energy_s": 1.0, "sustain": False}
    turns = {"energy": False, "sustain": True, "sustain_s": 20.0, "cool_kelvin": 2, "cool_s": 60.0}
    files = {
        "cold": (context(), [*gpu_cases(rng, SIZES), *cpu_cases(rng, [256, 4096])]),
        "warm": (context("warm"), gpu_cases(rng, [256, 4096], warm=True)),
        "end-to-end": (context(time="end-to-end"), end_to_end_cases(rng)),
        "counts_4096": (context() | {"device": None}, counted()),
        "accuracy": (context(**kinds), errors),
        "energy": (context(schema_version=2, **energy), list(map(with_energy, gpu_cases(of_energy, [1024, 4096])))),
        "sustained": (
            context("warm", schema_version=2, **turns),
            [sustained(kernel, 8192) for kernel in ("cublas", "07_warptile_hilbert")],
        ),
    }
    documents = {"counters": counters(), "kernels": listing()}
    documents |= {n: {"context": c, "interrupted": False, "benchmarks": cases} for n, (c, cases) in files.items()}
    folder.mkdir()
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


_MADE = tempfile.TemporaryDirectory()  # goes with the interpreter
SYNTHETIC = write_results(Path(_MADE.name) / "synthetic-gpu")
