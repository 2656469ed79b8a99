"""Writes tests/scripts/fixtures/synthetic-gpu: results of a GPU that does not exist.

Every number comes from the simple model below and a seeded generator; none was measured. Run it again after a change
of the results' schema: python3 tests/scripts/make_fixtures.py
"""

from __future__ import annotations

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent / "fixtures" / "synthetic-gpu"
SAMPLES = 5
CUBLAS_TFLOPS = 50.0
CPU_TFLOPS = {"cpu_naive": 0.0012, "cpu_blas": 0.9}
CPU_CAPS = {"cpu_naive": 1024, "cpu_blas": 4096}
LAUNCH_US = 4.0
COPY_BYTES_PER_US = 12e3
COPY_START_US = 40.0
SIZES = [256, 512, 1024, 2048, 4096, 8192]

DEVICE = {
    "index": 0,
    "name": "Synthetic GPU",
    "compute_capability": "9.0",
    "multiprocessors": 132,
    "l2_bytes": 60 << 20,
    "memory_bytes": 100 << 30,
    "smem_per_sm_bytes": 228 << 10,
    "smem_per_block_optin_bytes": 227 << 10,
    "max_sm_clock_mhz": 1980,
    "max_memory_clock_mhz": 2600,
    "memory_bus_bits": 5120,
    "fp32_peak_gflops": 66908.16,
    "fp32_peak_basis": "132 SMs x 128 FP32 lanes x 2 x 1980 MHz (maximum SM clock)",
    "dram_peak_gbytes_s": 3328.0,
    "dram_peak_basis": "2 x 2600 MHz x 5120 bits",
    "driver": "000.00 (synthetic)",
}

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
    "cublas": (0, CUBLAS_TFLOPS, 700, "cublasSgemm"),
    "cublaslt_best": (-1, 51.0, 650, "the fastest of cuBLASLt's heuristic results"),
    "cublas_tf32": (-1, 410.0, 1900, "cuBLAS in TF32, another precision"),
}


def context(l2: str, time: str) -> dict:
    protocol = {
        "l2": l2,
        "time": time,
        "data": "uniform",
        "seed": 42,
        "alpha": 1.0,
        "beta": 0.0,
        "max_seconds": 1.0,
        "verify": True,
        "flush_bytes": 256 << 20 if l2 == "cold" else 0,
        "min_samples": SAMPLES,
        "max_samples": SAMPLES,
        "target_ci": 0.005,
        "confidence": 0.95,
        "empty_kernel_us": 2.0,
        "event_resolution_us": 0.5,
    }
    if time == "end-to-end":
        protocol["host_memory"] = "pageable"
    return {
        "schema_version": 1,
        "date": "2000-01-01T00:00:00+00:00",
        "host_name": "synthetic",
        "executable": "./runner",
        "argv": ["./runner", "--l2", l2, "--time", time],
        "num_cpus": 16,
        "cpu": "Synthetic CPU",
        "library": "sgemm-worklog 0.0.0",
        "git_commit": "0" * 40,
        "git_dirty": False,
        "device": DEVICE,
        "device_error": "",
        "cuda_runtime": "13.0",
        "cuda_driver_api": "13.0",
        "cublas_version": "13.1.0",
        "cublas_math_mode": "CUBLAS_DEFAULT_MATH (FP32, no TF32)",
        "cublas_workspace_bytes": 32 << 20,
        "nvidia_tf32_override": None,
        "build": {
            "cxx_compiler": "GNU 12.2.0",
            "cxx_flags": "-O3",
            "nvcc": "13.0.88",
            "nvcc_flags": "-lineinfo",
            "cuda_architectures": "90a-real",
            "build_type": "Release",
        },
        "protocol": protocol,
    }


def seconds_us(size: int, tflops: float, half: float, warm: bool) -> float:
    """Time of one product on the modelled GPU."""
    efficiency = size**2 / (size**2 + half**2)
    if warm:
        efficiency = efficiency ** (0.8 if size <= 2048 else 0.99)
    return LAUNCH_US + 2 * size**3 / (tflops * efficiency * 1e6)


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def record(rng: random.Random, kernel: str, number: int, size: int, time: float | None, rival: float | None) -> dict:
    variant = kernel.partition(":")[2]
    data = {
        "name": f"sgemm/{kernel}/{size}x{size}x{size}",
        "run_name": f"sgemm/{kernel}/{size}x{size}x{size}",
        "run_type": "aggregate" if time is None else "iteration",
        "time_unit": "none" if time is None else "us",
        "repetitions": 1,
        "repetition_index": 0,
        "threads": 1,
    }
    tail = {
        "kernel": kernel,
        "number": number,
        "variant": variant,
        "platform": "cpu" if kernel in CPU_TFLOPS else "gpu",
        "accuracy_class": "tf32" if "tf32" in kernel else "fp32",
        "m": size,
        "n": size,
        "k": size,
    }
    if time is None:
        reason = f"the product needs more operations than the cap of {CPU_CAPS.get(kernel, 0)} cubed"
        tail |= {"outcome": "skipped", "reason": reason, "verified": False, "detail": ""}
        return data | tail | {"telemetry": None, "throttled": False}
    samples = sorted(round(time * rng.gauss(1, 0.004), 3) for _ in range(SAMPLES))
    rng.shuffle(samples)
    middle = median(samples)
    data |= {"iterations": SAMPLES, "real_time": middle, "cpu_time": middle}
    tail |= {
        "outcome": "measured",
        "reason": "",
        "verified": True,
        "detail": "",
        "gflops": round(2 * size**3 / middle / 1e3, 4),
    }
    if rival is not None:
        if "tf32" not in kernel:
            tail["percent_of_peak"] = round(100 * tail["gflops"] / DEVICE["fp32_peak_gflops"], 4)
        rivals = [round(rival * rng.gauss(1.01, 0.004), 3) for _ in samples]
        ratios = sorted(b / a for a, b in zip(samples, rivals, strict=True))
        tail |= {
            "vs_cublas": round(median(ratios), 6),
            "vs_cublas_ci": [round(ratios[1], 6), round(ratios[-2], 6)],
            "vs_cublas_alone": round(rival / middle, 6),
            "cublas_alone_us": round(rival, 3),
            "cublas_samples_us": rivals,
        }
    scale = 1e-4 if "tf32" in kernel else 1e-6
    tail |= {"rel_err": float(f"{scale * (size / 4096) ** 0.5 * rng.uniform(1.0, 1.4):.3e}"), "max_bound_ratio": 0.01}
    if kernel in CHAPTERS:
        _, _, _, threads, registers, smem, blocks, _ = CHAPTERS[kernel]
        tail |= {
            "registers": registers,
            "smem_bytes": smem,
            "spill_bytes": 0,
            "blocks_per_sm": blocks,
            "threads_per_block": threads,
            "occupancy": threads * blocks / 2048,
        }
    tail["time_us"] = {
        "median": middle,
        "ci_low": sorted(samples)[1],
        "ci_high": sorted(samples)[-2],
        "min": min(samples),
        "max": max(samples),
        "mean": round(sum(samples) / SAMPLES, 3),
        "stddev": round(time * 0.004, 4),
    }
    tail |= {"samples_us": samples, "launches_per_sample": 1, "telemetry": None, "throttled": False}
    return data | tail


def kernel_records(rng: random.Random, sizes: list[int], warm: bool) -> list[dict]:
    records = []
    for size in sizes:
        rival = seconds_us(size, *LIBRARIES["cublas"][1:3], warm)
        for kernel, (number, tflops, half, *_) in {**LIBRARIES, **CHAPTERS}.items():
            records.append(record(rng, kernel, number, size, seconds_us(size, tflops, half, warm), rival))
    return records


def cpu_records(rng: random.Random, sizes: list[int]) -> list[dict]:
    records = []
    for size in sizes:
        for kernel, tflops in CPU_TFLOPS.items():
            time = (0.2 if kernel == "cpu_naive" else 2.0) + 2 * size**3 / (tflops * 1e6)
            records.append(record(rng, kernel, -1, size, time if size <= CPU_CAPS[kernel] else None, None))
    return records


def end_to_end_records(rng: random.Random) -> list[dict]:
    sizes = [16, 32, 64, 512, 1024, 4096, 10000]
    records = cpu_records(rng, sizes)
    for size in sizes:
        copies = 3 * COPY_START_US + 12 * size**2 / COPY_BYTES_PER_US
        for kernel in ("cublas", "01_naive"):
            number, tflops, half, *_ = {**LIBRARIES, **CHAPTERS}[kernel]
            rival = copies + seconds_us(size, *LIBRARIES["cublas"][1:3], False)
            records.append(record(rng, kernel, number, size, copies + seconds_us(size, tflops, half, False), rival))
    return records


STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


def figures(values: dict[str, float], size: int) -> dict:
    """The figures that the runner derives from a launch's counters, as far as these are made up."""

    def ratio(part: float, whole: float) -> float | None:
        return part / whole if whole else None

    time_us = values["gpu__time_duration.sum"] / 1e3
    dram = values["dram__bytes_read.sum"] + values["dram__bytes_write.sum"]
    l2_to_sm = values["l1tex__m_xbar2l1tex_read_bytes.sum"]
    requests = values["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]
    shared = values["smsp__sass_inst_executed_op_shared_ld.sum"]
    ffma = values["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"]
    derived = {
        "time_us": time_us,
        "tflops": 2 * size**3 / time_us / 1e6,
        "sm_clock_mhz": values["sm__cycles_elapsed.max"] / time_us,
        "ffma_percent_of_instructions": 100 * ffma / 32 / values["smsp__inst_executed.sum"],
        "fma_pipe_percent": values["sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"],
        "tensor_pipe_percent": None,
        "issue_slots_busy_percent": values["smsp__issue_active.avg.pct_of_peak_sustained_active"],
        "achieved_occupancy_percent": values["sm__warps_active.avg.pct_of_peak_sustained_active"],
        "registers": values["launch__registers_per_thread"],
        "dram_bytes": dram,
        "dram_gbytes_s": dram / time_us / 1e3,
        "flop_per_dram_byte": 2 * size**3 / dram,
        "l2_to_sm_bytes": l2_to_sm,
        "flop_per_l2_to_sm_byte": 2 * size**3 / l2_to_sm,
        "l2_bytes": 32 * values["lts__t_sectors.sum"],
        "l2_hit_percent": values["lts__t_sector_hit_rate.pct"],
        "l1_hit_percent": None,
        "global_load_requests": requests,
        "global_load_sectors_per_request": values["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] / requests,
        "shared_load_wavefronts_per_request": ratio(
            values["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"], shared
        ),
        "shared_load_bank_conflicts": values["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"]
        if shared
        else None,
    }
    stalls = {reason: values[STALLED.format(reason)] for reason in ("long_scoreboard", "barrier")}
    return {name: None if value is None else float(f"{value:.5g}") for name, value in derived.items()} | {
        "stalls": dict(sorted(stalls.items(), key=lambda item: -item[1]))
    }


def counters() -> dict:
    """What tools/counters.py writes, from made-up counts."""
    size = 4096
    kernels = {}
    for kernel, (_, tflops, half, threads, registers, smem, blocks, _) in CHAPTERS.items():
        time_us = seconds_us(size, tflops, half, False)
        reuse = {1: 1, 2: 16 if threads == 256 else 32, 3: 16, 4: 16, 5: 64, 6: 128, 7: 170}[int(kernel[:2])]
        dram = 4 * size**2 * (4 + size / reuse / 40) * (1.25 if "row_order" in kernel else 1)
        requests = 2 * size**3 / 32 / reuse
        sectors = requests * (16.5 if "uncoalesced" in kernel else 2.5 if reuse == 1 else 4)
        shared = size**3 / 32 / 4 if smem else 0
        metrics = {
            "gpu__time_duration.sum": (time_us * 1e3, "ns"),
            "sm__cycles_elapsed.max": (time_us * DEVICE["max_sm_clock_mhz"], "cycle"),
            "smsp__inst_executed.sum": (size**3 / 32 * 1.6, "inst"),
            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": (size**3, "inst"),
            "smsp__issue_active.avg.pct_of_peak_sustained_active": (70, "%"),
            "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active": (100 * tflops / 67, "%"),
            "sm__warps_active.avg.pct_of_peak_sustained_active": (98 * threads * blocks / 2048, "%"),
            "dram__bytes_read.sum": (dram * 0.8, "byte"),
            "dram__bytes_write.sum": (dram * 0.2, "byte"),
            "l1tex__m_xbar2l1tex_read_bytes.sum": (sectors * 32, "byte"),
            "lts__t_sectors.sum": (sectors * 1.1, "sector"),
            "lts__t_sector_hit_rate.pct": (75 if "row_order" in kernel else 85, "%"),
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": (requests, ""),
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": (sectors, "sector"),
            "smsp__sass_inst_executed_op_shared_ld.sum": (shared, "inst"),
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": (shared * 1.1, ""),
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": (shared * 0.1, ""),
            "launch__registers_per_thread": (registers, "register/thread"),
            STALLED.format("long_scoreboard"): (4 / reuse, "inst"),
            STALLED.format("barrier"): (2.5 if "strip" in kernel else 0.4, "inst"),
        }
        kernels[kernel] = {name: {"value": round(value, 4), "unit": unit} for name, (value, unit) in metrics.items()}
    return {
        "schema_version": 1,
        "context": {
            "device": "Synthetic GPU",
            "compute_capability": "9.0",
            "ncu": "0000.0.0 (synthetic)",
            "size": size,
            "date": "2000-01-01T00:00:00+00:00",
            "git_commit": "0" * 40,
            "git_dirty": False,
            "dropped_metrics": [],
        },
        "kernels": kernels,
        "derived": {
            kernel: figures({name: counter["value"] for name, counter in counters.items()}, size)
            for kernel, counters in kernels.items()
        },
    }


# id: elements of A and of B per multiply-add, sectors per global load request, wavefronts per shared load
COUNTED = {
    "01_naive": (1.0, 1.0, 2.5, None),
    "02_smem_tiled": (1 / 32, 1 / 32, 4.0, 1.0),
    "07_warptile_hilbert": (1 / 256, 1 / 128, 8.0, 2.0),
}


def count_of(requests: float, **others: float) -> dict:
    return {"requests": round(requests), **{name: round(value) for name, value in others.items()}}


def counted_record(kernel: str) -> dict:
    """What the runner writes of a kernel it counted: in agreement with counters(), but for the sectors of 07."""
    size = 4096
    number, _, _, threads, _, smem, blocks, _ = CHAPTERS[kernel]
    of_a, of_b, sectors, wavefronts = COUNTED[kernel]
    multiply_adds = size**3
    metrics = {name: entry["value"] for name, entry in counters()["kernels"][kernel].items()}
    requests = metrics["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"]
    shared = metrics["smsp__sass_inst_executed_op_shared_ld.sum"]
    none = count_of(0, wavefronts=0, conflicts=0, bytes=0)
    copies = number == 7
    loads = count_of(requests, sectors=requests * sectors, bytes=requests * 128)
    dram = metrics["dram__bytes_read.sum"] + metrics["dram__bytes_write.sum"]

    def traffic(factor: float) -> dict:
        return {
            "read_bytes": round(requests * sectors * 32),
            "written_bytes": 4 * size**2,
            "hit_rate": 0.8,
            "dram_read_bytes": round(dram * factor) - 4 * size**2,
            "dram_written_bytes": 4 * size**2,
        }

    def line(number: int, kind: str, array: str, lanes: list[int | None], **counts: float) -> dict:
        every = {"requests": 0, "sectors": 0, "bytes": 0, "wavefronts": 0, "conflicts": 0, "flops": 0}
        every |= {name: round(value) for name, value in counts.items()}
        if lanes:
            every["example"] = {"bytes": 4, "lanes": lanes}
        return {"file": f"{kernel.partition(':')[0]}.cu", "line": number, "kind": kind, "array": array, **every}

    row = [4 * lane for lane in range(32)]
    kind = "async_copy" if copies else "global_load"
    lines = [
        line(10, kind, "A", [0] * 32, requests=requests / 2, sectors=requests / 2),
        line(11, kind, "B", row, requests=requests / 2, sectors=requests * 2),
        line(12, "flops", "", [], flops=2 * multiply_adds),
        line(13, "global_store", "C", [*row[:31], None], requests=size**2 / 32, sectors=size**2 / 8),
    ]
    if wavefronts:
        lines.insert(
            2, line(12, "shared_load", "tile", [8 * lane for lane in range(32)], requests=shared, wavefronts=shared * 2)
        )
    counts = {
        "gpu_model": {"id": "synthetic", "name": "Synthetic GPU", "sms": 132, "l2_bytes": 60 << 20},
        "blocks": size**2 // threads,
        "blocks_executed": 9,
        "threads_per_block": threads,
        "smem_bytes": smem,
        "blocks_per_sm": blocks,
        "resident_blocks": 132 * blocks,
        "global_loads": count_of(0, sectors=0, bytes=0) if copies else loads,
        "global_stores": count_of(size**2 / 32, sectors=size**2 / 8, bytes=4 * size**2),
        "shared_loads": count_of(
            shared,
            wavefronts=shared * (wavefronts or 0),
            conflicts=shared * ((wavefronts or 1) - 1),
            bytes=shared * 128,
        ),
        "shared_stores": none,
        "async_copies": {**none, **loads} if copies else {**none, "sectors": 0},
        "flops": 2 * multiply_adds,
        "barriers": 4096,
        "reads_per_element": {"a": size * of_a, "b": size * of_b, "c": 0.0},
        "first_wave": {"blocks": 132 * blocks, "elements": 3072 * size},
        "l2": {"in_step": traffic(0.9), "in_turn": traffic(1.6)},
        "lines": lines,
    }
    data = record(random.Random(0), kernel, number, size, None, None)
    data |= {"outcome": "counted", "reason": "", "verified": False, "threads_per_block": threads, "counts": counts}
    return data


# kind: relative error in FP32, how many times larger in TF32, condition
ACCURACY_KINDS = {
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


def accuracy_records(rng: random.Random, sizes: list[int]) -> list[dict]:
    """What `runner --accuracy` writes: FP32 kernels that sum one by one agree in every digit."""
    records = []
    for size in sizes:
        for kind, (error, of_tf32, condition) in ACCURACY_KINDS.items():
            for kernel, (number, *_) in {**LIBRARIES, **CHAPTERS, "cpu_blas": (-1,), "cpu_naive": (-1,)}.items():
                data = record(rng, kernel, number, size, None, None)
                if kernel == "cpu_naive" and size > CPU_CAPS[kernel]:
                    records.append(data | {"name": f"{data['name']}/{kind}", "data": kind})
                    continue
                tf32 = "tf32" in kernel
                here = error * (of_tf32 if tf32 else 0.3 if kernel == "cpu_blas" else 1) * (size / 4096) ** 0.5
                promised = not (tf32 and kind == "denormals")
                accuracy = {
                    "promised": promised,
                    "full": True,
                    "compared": size**2,
                    "wrong": 0 if promised else size**2 // 2,
                    "non_finite": size**2 // 16 if kind in ("inf", "nan") else 0,
                    "non_finite_wrong": 0,
                    "componentwise_err": here / (condition or 1) * 5,
                }
                if condition:
                    accuracy["condition"] = condition
                if here:
                    accuracy["rel_err_vs_cublas"] = of_tf32 if tf32 else 0.3 if kernel == "cpu_blas" else 1.0
                data |= {"name": f"{data['name']}/{kind}", "data": kind, "outcome": "compared", "reason": ""}
                data |= {"verified": promised, "rel_err": here, "max_bound_ratio": 0.03 if promised else 900.0}
                records.append(data | {"accuracy": accuracy})
    return records


def turn(gflops: float, size: int, watts: float, seconds: float) -> dict:
    """Launches back to back on a GPU whose clock falls in the first half of the time."""
    batch_us, launch_us = seconds * 25e3, 2 * size**3 / gflops / 1e3
    launches = max(1, round(batch_us / launch_us))
    batches = round(seconds * 1e6 / (launches * launch_us)) or 1
    points = range(0, round(seconds * 1e3) + 1, round(seconds * 50))
    trace = {
        "mean_sm_clock_mhz": 1700.0,
        "mean_power_w": watts,
        "throttled_share": 0.5,
        "throttle_shares": {"sw_power_cap": 0.5},
        "power_is": "instant",
        "no_energy": "",
        "samples": {
            "ms": list(points),
            "sm_clock_mhz": [1500 if 2 * ms < seconds * 1e3 else 1900 for ms in points],
            "power_w": [watts for _ in points],
            "temperature_c": [50 for _ in points],
            "energy_j": [round(watts * (ms // 100) / 10, 3) for ms in points],
        },
        "reasons": [{"sample": 0, "reasons": ["sw_power_cap"]}, {"sample": len(points) // 2, "reasons": []}],
    }
    measured = batches * launches * launch_us / 1e6
    return {
        "seconds": measured,
        "launches": batches * launches,
        "launch_us": launch_us,
        "gflops": gflops,
        "joules_per_product": watts * launch_us / 1e6,
        "gflops_per_watt": gflops / watts,
        "watts": watts,
        "energy": {"source": "counter", "from_s": 0.1, "to_s": 0.9, "joules": watts * 0.8, "uncertainty": 0.012},
        "cut_short": False,
        "launches_per_batch": launches,
        "batch_us": [round(launches * launch_us, 3)] * batches,
        "trace": trace,
    }


def energy_records(rng: random.Random, sizes: list[int]) -> list[dict]:
    """What `runner --energy` writes: each kernel draws 10 W for each TFLOP/s, and 150 W besides."""
    records = kernel_records(rng, sizes, False)
    for data in records:
        rivals = 2 * data["m"] ** 3 / data["cublas_alone_us"] / 1e3
        data["energy"] = {
            name: turn(gflops, data["m"], 150 + gflops / 100, 1.0)
            for name, gflops in (("kernel", data["gflops"]), ("cublas", rivals))
        }
    return records


def sustained_records(rng: random.Random, size: int) -> list[dict]:
    """What `runner --sustain 20` writes."""
    records = []
    for kernel in ("cublas", "07_warptile_hilbert"):
        number, tflops, *_ = {**LIBRARIES, **CHAPTERS}[kernel]
        data = record(rng, kernel, number, size, None, None)
        data |= {"outcome": "sustained", "reason": "", "verified": True, "rel_err": 1e-6, "throttled": True}
        idle = {"seconds": 4.5, "from_c": 60, "to_c": 42}
        data["sustained"] = {
            "asked_s": 20.0,
            "kernel": turn(1e3 * tflops, size, 650.0, 20.0),
            "cublas": turn(1e3 * CUBLAS_TFLOPS, size, 640.0, 20.0),
            "cool_downs": {"before_kernel": idle, "before_cublas": idle},
        }
        records.append(data)
    return records


def listing() -> list[dict]:
    """What `runner --list=json` prints."""
    chapters: dict[str, dict] = {}
    for kernel, (number, *_, summary) in CHAPTERS.items():
        name, _, variant = kernel.partition(":")
        entry = chapters.setdefault(name, {"number": number, "name": name[3:], "id": name, "variants": []})
        entry["variants"].append({"variant": variant, "id": kernel, "summary": summary})
    libraries = [
        {
            "number": None if number < 0 else number,
            "name": name,
            "id": name,
            "variants": [{"variant": "", "id": name, "summary": summary}],
        }
        for name, (number, _, _, summary) in LIBRARIES.items()
    ]
    return libraries + list(chapters.values())


def write(name: str, text: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_text(text + "\n", encoding="utf-8")


def write_results(name: str, context_: dict, records: list[dict]) -> None:
    lines = ",\n".join(json.dumps(r, separators=(",", ":")) for r in records)
    head = f'"context": {json.dumps(context_, indent=1)},\n"interrupted": false'
    write(name, f'{{\n{head},\n"benchmarks": [\n{lines}\n]\n}}')


def main() -> None:
    rng = random.Random(20000101)
    write_results(
        "cold.json", context("cold", "kernel"), [*kernel_records(rng, SIZES, False), *cpu_records(rng, [256, 4096])]
    )
    write_results("warm.json", context("warm", "kernel"), kernel_records(rng, [256, 4096], True))
    write_results("end-to-end.json", context("cold", "end-to-end"), end_to_end_records(rng))
    write("counters.json", json.dumps(counters()).replace('}, "', '},\n"'))
    context_of_counts = context("cold", "kernel") | {"device": None}
    write_results("counts_4096.json", context_of_counts, [counted_record(kernel) for kernel in COUNTED])
    context_of_errors = context("cold", "kernel")
    context_of_errors["protocol"] |= {"data": list(ACCURACY_KINDS), "accuracy": True}
    write_results("accuracy.json", context_of_errors, accuracy_records(random.Random(0), [1024, 4096]))
    of_energy = context("cold", "kernel") | {"schema_version": 2}
    of_energy["protocol"] |= {"energy": True, "energy_s": 1.0, "sustain": False}
    write_results("energy.json", of_energy, energy_records(random.Random(1), [1024, 4096]))
    of_turns = context("warm", "kernel") | {"schema_version": 2}
    of_turns["protocol"] |= {"energy": False, "sustain": True, "sustain_s": 20.0, "cool_kelvin": 2, "cool_s": 60.0}
    write_results("sustained.json", of_turns, sustained_records(random.Random(2), 8192))
    write("kernels.json", json.dumps(listing(), indent=1))


if __name__ == "__main__":
    main()
