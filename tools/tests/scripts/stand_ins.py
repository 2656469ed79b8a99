"""Stand-ins for boards that were not there, for tests of contributed boards alone: none of their times was measured. A
board's properties are NVIDIA's, and what its kernels do is what the executor counted when it executed them
(results/cpu-executor). A time is that of the busiest of FP32 units, shared memory and DRAM at the board's rates. Files
have "stand-in" as their host."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import NamedTuple

from conftest import ROOT, device
from synthetic import CHAPTERS, LIKE, measured

HOST = "stand-in"
COUNTS = ROOT / "results" / "cpu-executor"
SIZES = (2048, 4096, 8192)
REACHED = 0.85  # of the rates
OF_CUBLAS = 0.92  # of the FP32 peak
LAUNCH_US = 4.0


class Board(NamedTuple):
    name: str
    compute_capability: str
    multiprocessors: int
    lanes: int  # FP32 units of a multiprocessor
    sm_mhz: int
    memory_mhz: int
    bus_bits: int
    memory_gib: int
    l2_mib: int
    smem_kib: int  # of a multiprocessor

    @property
    def peak_gflops(self) -> float:
        return 2 * self.multiprocessors * self.lanes * self.sm_mhz / 1e3

    @property
    def dram_gbytes_s(self) -> float:
        return 2 * self.memory_mhz * self.bus_bits / 8e3


A100 = Board("NVIDIA A100-SXM4-80GB", "8.0", 108, 64, 1410, 1593, 5120, 80, 40, 164)
RTX_4090 = Board("NVIDIA GeForce RTX 4090", "8.9", 128, 128, 2520, 10501, 384, 24, 72, 100)


def properties(board: Board) -> dict:
    of_memory = {"memory_bytes": board.memory_gib << 30, "l2_bytes": board.l2_mib << 20}
    of_memory |= {"max_memory_clock_mhz": board.memory_mhz, "memory_bus_bits": board.bus_bits}
    of_memory |= {"dram_peak_gbytes_s": board.dram_gbytes_s, "dram_peak_basis": "stand-in"}
    of_sms = {"multiprocessors": board.multiprocessors, "compute_capability": board.compute_capability}
    of_sms |= {"smem_per_sm_bytes": board.smem_kib << 10, "smem_per_block_optin_bytes": (board.smem_kib - 1) << 10}
    of_sms |= {"max_sm_clock_mhz": board.sm_mhz, "fp32_peak_gflops": board.peak_gflops, "fp32_peak_basis": "stand-in"}
    return {"name": board.name, "driver": HOST, **of_memory, **of_sms}


def microseconds(board: Board, counts: dict) -> float:
    """Of a kernel that does what the executor counted."""
    kinds = ("shared_loads", "shared_stores", "async_copies")
    wavefronts = sum(counts[kind].get("wavefronts", 0) for kind in kinds)
    dram = counts["l2"]["in_step"]["dram_read_bytes"] + counts["l2"]["in_step"]["dram_written_bytes"]
    of_fp32 = counts["flops"] / board.peak_gflops / 1e3
    of_smem = wavefronts / board.multiprocessors / board.sm_mhz
    return LAUNCH_US + max(of_fp32, of_smem, dram / board.dram_gbytes_s / 1e3) / REACHED


def sweep(board: Board) -> dict:
    """What `runner --kernel all --sizes 256:8192` writes, of the kernels and sizes that were executed."""
    rng = random.Random(board.name)
    document = {"context": json.loads(json.dumps(LIKE["context"])), "benchmarks": [], "interrupted": False}
    document["context"] |= {"host_name": HOST, "git_commit": "0" * 40, "git_dirty": False}
    device(**properties(board))(document)
    for size in SIZES:
        cublas = LAUNCH_US + 2 * size**3 / (OF_CUBLAS * board.peak_gflops) / 1e3
        counted = json.loads((COUNTS / f"counts_{size}.json").read_text(encoding="utf-8"))["benchmarks"]
        times = {case["kernel"]: microseconds(board, case["counts"]) for case in counted if case["kernel"] in CHAPTERS}
        for kernel, time in {"cublas": cublas, **times}.items():
            case = measured(rng, kernel, size, time, cublas)
            case["percent_of_peak"] = round(100 * case["gflops"] / board.peak_gflops, 4)
            document["benchmarks"].append(case)
    return document


def calibration(board: Board) -> str:
    """What `python -m sgemm calibrate` writes."""
    key = {"device": board.name, "multiprocessors": board.multiprocessors, "clock_khz": 1000 * board.sm_mhz}
    lines = ["libsgemm calibration 1", "date 2000-01-01T00:00:00Z", *(f"key.{name} {of}" for name, of in key.items())]
    flops = OF_CUBLAS * board.peak_gflops * 1e3 / board.multiprocessors
    lines += [f"cublas {LAUNCH_US} {flops:.6g} {1e3 * board.dram_gbytes_s:.6g}", "end"]
    return "\n".join(lines) + "\n"


def write(board: Board, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "cold.json").write_text(json.dumps(sweep(board)), encoding="utf-8")
    (folder / "calibration.txt").write_text(calibration(board), encoding="utf-8")
