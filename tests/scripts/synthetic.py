"""Results of a GPU that does not exist, for the tests: every number comes from the simple model below and a seeded
generator, and none was measured. What no test looks at is as the results of the H200 have it."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from statistics import mean, median

H200 = Path(__file__).resolve().parents[2] / "results" / "nvidia-h200"
LIKE = json.loads((H200 / "cold.json").read_text(encoding="utf-8"))
NEVER = {"date": "2000-01-01T00:00:00+00:00", "git_commit": "0" * 40, "git_dirty": False}

SAMPLES = 5
SIZES = (256, 512, 1024, 2048, 4096, 8192)
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


PROFILED = 4096  # the size
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_ld.sum"
SHARED = "l1tex__data_{}_mem_shared_op_ld.sum"


@cache
def counters() -> dict:
    """What tools/counters.py writes, from made-up counts."""
    document: dict = {"schema_version": 1, "kernels": {}, "derived": {}}
    document["context"] = {"device": "Synthetic GPU", "compute_capability": "9.0", "size": PROFILED, **NEVER}
    document["context"] |= {"ncu": "0000.0.0 (synthetic)", "dropped_metrics": []}
    work = PROFILED**3
    for kernel, (number, tflops, _, threads, registers, smem, blocks, _) in CHAPTERS.items():
        time_us = time_on_gpu(kernel, PROFILED)
        reuse = {1: 1, 2: 16 if threads == 256 else 32, 3: 16, 4: 16, 5: 64, 6: 128, 7: 170}[number]
        dram = 4 * PROFILED**2 * (4 + PROFILED / reuse / 40) * (1.25 if "row_order" in kernel else 1)
        requests = 2 * work / 32 / reuse
        sectors = requests * (16.5 if "uncoalesced" in kernel else 2.5 if reuse == 1 else 4)
        shared = work / 32 / 4 if smem else 0
        metrics = {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": work}
        metrics |= {"dram__bytes_read.sum": dram * 0.8, "dram__bytes_write.sum": dram * 0.2}
        metrics |= {"l1tex__m_xbar2l1tex_read_bytes.sum": sectors * 32}
        metrics |= {GLOBAL.format("requests"): requests, GLOBAL.format("sectors"): sectors}
        metrics |= {
            SHARED.format("pipe_lsu_wavefronts"): shared * 1.1,
            "smsp__sass_inst_executed_op_shared_ld.sum": shared,
        }
        metrics |= {SHARED.format("bank_conflicts_pipe_lsu"): shared * 0.1}
        document["kernels"][kernel] = {name: {"value": round(v, 4), "unit": ""} for name, v in metrics.items()}
        figures = {"time_us": time_us, "tflops": 2 * work / time_us / 1e6, "sm_clock_mhz": 1980}
        figures |= {"ffma_percent_of_instructions": 62.5, "fma_pipe_percent": 100 * tflops / 67}
        figures |= {"issue_slots_busy_percent": 70, "achieved_occupancy_percent": 98 * threads * blocks / 2048}
        figures |= {"registers": registers, "dram_bytes": dram, "dram_gbytes_s": dram / time_us / 1e3}
        figures |= {"flop_per_dram_byte": 2 * work / dram, "l2_to_sm_bytes": sectors * 32}
        figures |= {"flop_per_l2_to_sm_byte": 2 * work / (sectors * 32), "l2_bytes": 32 * sectors * 1.1}
        figures |= {"l2_hit_percent": 75 if "row_order" in kernel else 85, "global_load_requests": requests}
        figures |= {"global_load_sectors_per_request": sectors / requests}
        if shared:
            figures |= {"shared_load_wavefronts_per_request": 1.1, "shared_load_bank_conflicts": shared * 0.1}
        stalls = {"long_scoreboard": 4 / reuse, "barrier": 2.5 if number == 3 else 0.4}
        document["derived"][kernel] = {name: float(f"{value:.5g}") for name, value in figures.items()}
        document["derived"][kernel] |= {"tensor_pipe_percent": None, "l1_hit_percent": None}
        document["derived"][kernel]["stalls"] = dict(sorted(stalls.items(), key=lambda item: -item[1]))
    return document


# id: elements of A and of B per multiply-add, sectors per global load request, wavefronts per shared load
COUNTED = {
    "01_naive": (1.0, 1.0, 2.5, None),
    "02_smem_tiled": (1 / 32, 1 / 32, 4.0, 1.0),
    "07_warptile_hilbert": (1 / 256, 1 / 128, 8.0, 2.0),
}


def count_of(requests: float, **others: float) -> dict:
    return {"requests": round(requests), **{name: round(value) for name, value in others.items()}}


def counted(kernel: str) -> dict:
    """What the runner writes of a kernel that it counted: in agreement with counters(), but for the sectors of 07."""
    number, _, _, threads, _, smem, blocks, _ = CHAPTERS[kernel]
    of_a, of_b, sectors, wavefronts = COUNTED[kernel]
    metrics = {name: entry["value"] for name, entry in counters()["kernels"][kernel].items()}
    requests, shared = metrics[GLOBAL.format("requests")], metrics["smsp__sass_inst_executed_op_shared_ld.sum"]
    elements = PROFILED**2
    none = count_of(0, wavefronts=0, conflicts=0, bytes=0)
    copies = number == 7
    loads = count_of(requests, sectors=requests * sectors, bytes=requests * 128)

    def traffic(factor: float) -> dict:
        dram = factor * (metrics["dram__bytes_read.sum"] + metrics["dram__bytes_write.sum"])
        written = {"written_bytes": 4 * elements, "dram_written_bytes": 4 * elements, "hit_rate": 0.8}
        return {"read_bytes": loads["sectors"] * 32, "dram_read_bytes": round(dram) - 4 * elements, **written}

    def line(number: int, kind: str, array: str, lanes: list[int | None], **counts: float) -> dict:
        every = dict.fromkeys(("requests", "sectors", "bytes", "wavefronts", "conflicts", "flops"), 0)
        every |= {name: round(value) for name, value in counts.items()}
        if lanes:
            every["example"] = {"bytes": 4, "lanes": lanes}
        return {"file": f"{kernel.partition(':')[0]}.cu", "line": number, "kind": kind, "array": array, **every}

    row = [4 * lane for lane in range(32)]
    half = requests / 2
    kind = "async_copy" if copies else "global_load"
    lines = [line(10, kind, "A", [0] * 32, requests=half, sectors=half)]
    lines.append(line(11, kind, "B", row, requests=half, sectors=half * 4))
    if wavefronts:
        pairs = [2 * at for at in row]
        lines.append(line(12, "shared_load", "tile", pairs, requests=shared, wavefronts=shared * 2))
    lines.append(line(12, "flops", "", [], flops=2 * PROFILED**3))
    lines.append(line(13, "global_store", "C", [*row[:31], None], requests=elements / 32, sectors=elements / 8))
    counts = {
        "gpu_model": {"id": "synthetic", "name": "Synthetic GPU", "sms": 132, "l2_bytes": 60 << 20},
        "global_loads": count_of(0, sectors=0, bytes=0) if copies else loads,
        "global_stores": count_of(elements / 32, sectors=elements / 8, bytes=4 * elements),
        "shared_loads": count_of(
            shared,
            wavefronts=shared * (wavefronts or 0),
            conflicts=shared * ((wavefronts or 1) - 1),
            bytes=shared * 128,
        ),
        "shared_stores": none,
        "async_copies": {**none, **loads} if copies else {**none, "sectors": 0},
        "reads_per_element": {"a": PROFILED * of_a, "b": PROFILED * of_b, "c": 0.0},
        "first_wave": {"blocks": 132 * blocks, "elements": 3072 * PROFILED},
        "l2": {"in_step": traffic(0.9), "in_turn": traffic(1.6)},
    }
    counts |= {"blocks": elements // threads, "blocks_executed": 9, "resident_blocks": 132 * blocks, "lines": lines}
    counts |= {"smem_bytes": smem, "blocks_per_sm": blocks, "threads_per_block": threads}
    counts |= {"flops": 2 * PROFILED**3, "barriers": 4096}
    return case_of(kernel, PROFILED, "counted", threads_per_block=threads, counts=counts)


# kind: relative error in FP32, how many times larger in TF32, condition
OPERANDS = {
    "uniform": (1.1e-6, 240, 48.0),
    "uniform01": (8.5e-7, 30, 1.0),
    "normal": (1.1e-6, 240, 40.7),
    "lognormal1": (9.9e-7, 30, 1.0),
    "lognormal4": (6.2e-8, 3000, 1.0),
    "denormals": (1.1e-6, 300000, 48.0),
    "huge": (1.1e-6, 240, 48.0),
    "integers": (0.0, 0, 47.0),
    "cancelling": (1.2e-3, 300, 69500.0),
    "inf": (1.1e-6, 240, 48.0),
    "nan": (1.1e-6, 240, 48.0),
    "zeros": (0.0, 0, None),
}


def compared(kernel: str, size: int, data: str) -> dict:
    """What `runner --accuracy` writes of a case: FP32 kernels that sum one by one agree in every digit."""
    error, of_tf32, condition = OPERANDS[data]
    case = skipped(kernel, size) if kernel == "cpu_naive" and size > 1024 else case_of(kernel, size, "compared")
    case |= {"name": f"{case['name']}/{data}", "data": data}
    if case["outcome"] == "skipped":
        return case
    of_fp32 = of_tf32 if "tf32" in kernel else 0.3 if kernel == "cpu_blas" else 1.0
    here = error * of_fp32 * (size / 4096) ** 0.5
    promised = "tf32" not in kernel or data != "denormals"
    accuracy = {"promised": promised, "wrong": 0 if promised else size**2 // 2, "full": True, "compared": size**2}
    accuracy |= {"non_finite": size**2 // 16 if data in ("inf", "nan") else 0, "non_finite_wrong": 0}
    accuracy |= {"componentwise_err": here / (condition or 1) * 5} | ({"condition": condition} if condition else {})
    accuracy |= {"rel_err_vs_cublas": of_fp32} if here else {}
    bound = {"verified": promised, "max_bound_ratio": 0.03 if promised else 900.0}
    return case | {"rel_err": here, "accuracy": accuracy} | bound


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
    found: dict[str, dict] = {}
    for kernel, (number, *_, summary) in ON_GPU.items():
        id_, _, variant = kernel.partition(":")
        entry = {"number": None if number < 0 else number, "name": id_[3:] if number > 0 else id_, "id": id_}
        capabilities = {"min_compute_capability": "8.0" if number > 6 else "7.5", "max_compute_capability": None}
        found.setdefault(id_, entry | {"variants": []})["variants"].append(
            {"variant": variant, "id": kernel, "summary": summary, **capabilities}
        )
    return list(found.values())


def write_results(folder: Path) -> Path:
    """Writes what results/<device>/ holds, and what the executor counted."""
    rng, of_energy = random.Random(20000101), random.Random(1)
    kinds = {"accuracy": True, "data": list(OPERANDS)}
    energy = {"energy": True, "energy_s": 1.0, "sustain": False}
    turns = {"energy": False, "sustain": True, "sustain_s": 20.0, "cool_kelvin": 2, "cool_s": 60.0}
    errors = [compared(kernel, size, data) for size in (1024, 4096) for data in OPERANDS for kernel in (*ON_GPU, *CPU)]
    files = {
        "cold": (context(), [*gpu_cases(rng, SIZES), *cpu_cases(rng, [256, 4096])]),
        "warm": (context("warm"), gpu_cases(rng, [256, 4096], warm=True)),
        "end-to-end": (context(time="end-to-end"), end_to_end_cases(rng)),
        "counts_4096": (context() | {"device": None}, list(map(counted, COUNTED))),
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
