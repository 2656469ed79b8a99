#!/usr/bin/env python3
"""Reads hardware counters of the chapters' kernels with Nsight Compute and writes them as JSON.

    scripts/counters.py --build build --out results/nvidia-h200/counters.json
    scripts/counters.py --build build 05_coarse_1d 06_coarse_2d:vectorized

Runs on a machine with the GPU, `ncu` and nothing else but Python's standard library. Each kernel is profiled in one
launch, as itself, at the clocks it finds and with the caches emptied before each pass of the profiler. A metric that
this version of `ncu` rejects is reported, left out, and listed in the file.

Exit status: 0 every kernel was profiled, 1 some could not be, 2 bad input.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

SCHEMA_VERSION = 1
RUN_LIMIT_SECONDS = 300
SECTOR_BYTES = 32

STALLS = (
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
)


def stall_metric(reason: str) -> str:
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


METRICS = (
    "gpu__time_duration.sum",
    "sm__cycles_elapsed.max",
    "smsp__inst_executed.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__m_xbar2l1tex_read_bytes.sum",
    "lts__t_sectors.sum",
    "lts__t_sectors_srcunit_tex.sum",
    "lts__t_sectors_srcunit_ltcfabric.sum",
    "lts__t_sector_hit_rate.pct",
    "l1tex__t_sector_hit_rate.pct",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "sm__sass_inst_executed_op_ldgsts.sum",
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__sass_inst_executed_op_shared_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum",
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "launch__registers_per_thread",
    "launch__waves_per_multiprocessor",
    *(stall_metric(reason) for reason in STALLS),
)

Values = dict[str, dict]  # metric: {"value", "unit"}


class ProfileError(Exception):
    """A kernel that could not be profiled; the message is one line."""


def parse_csv(text: str) -> Values:
    """The first profiled launch in what `ncu --csv --page raw` printed: a row of names, one of units, then values.

    Lines of other output and metrics without a number ("n/a") are left out.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    header = next((i for i, row in enumerate(rows) if "Kernel Name" in row), None)
    if header is None or len(rows) < header + 3:
        return {}
    values = {}
    for name, unit, cell in zip(rows[header], rows[header + 1], rows[header + 2], strict=False):
        try:
            number = float(cell.replace(",", ""))
        except ValueError:
            continue
        if "__" in name:
            values[name] = {"value": number, "unit": unit}
    return values


def rejected(output: str, metrics: Sequence[str]) -> list[str]:
    """The metrics that a line of an error or warning names, with or without their rollup (".sum")."""
    complaints = " ".join(line for line in output.splitlines() if re.search(r"==(ERROR|WARNING)==|[Ff]ailed to", line))
    words = set(re.findall(r"[a-z0-9]+__[a-z0-9_]+(?:\.[a-z0-9_.]*[a-z0-9_])?", complaints))
    return [metric for metric in metrics if metric in words or metric.partition(".")[0] in words]


def last_lines(text: str, count: int = 3) -> str:
    return " / ".join([line.strip() for line in text.splitlines() if line.strip()][-count:]) or "no output"


def function_patterns(kernel: str) -> list[str]:
    """What a kernel's device function is called: <name>_kernel, or else <name>_<how>_kernel; libraries say gemm.

    Where there are both, <name>_kernel does the work and the others prepare it.
    """
    chapter = re.fullmatch(r"\d+_(\w+?)(?::.*)?", kernel)
    return [f"^{chapter[1]}_kernel", f"{chapter[1]}_.*kernel"] if chapter else ["gemm"]


def profile(ncu: str, runner: Path, kernel: str, size: int, metrics: Sequence[str]) -> tuple[Values, dict, str]:
    """The counters of one launch, the runner's own context, and everything that was printed."""
    for pattern in function_patterns(kernel):
        found = profile_function(ncu, runner, kernel, size, metrics, pattern)
        if found[0]:
            break
    return found


def profile_function(
    ncu: str, runner: Path, kernel: str, size: int, metrics: Sequence[str], pattern: str
) -> tuple[Values, dict, str]:
    """The same for device functions whose name has the pattern: one run of the runner under ncu."""
    with tempfile.TemporaryDirectory() as folder:
        log, results = Path(folder) / "ncu.csv", Path(folder) / "results.json"
        command = [ncu, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
        command += ["--metrics", ",".join(metrics), "-k", f"regex:{pattern}", "-c", "1"]
        command += ["--log-file", str(log), str(runner), "--kernel", kernel, "--sizes", str(size), "--no-verify"]
        command += ["--max-seconds", "0.1", "--out", str(results)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise ProfileError(f"it ran longer than {RUN_LIMIT_SECONDS} seconds") from None
        logged = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        context = json.loads(results.read_text(encoding="utf-8"))["context"] if results.exists() else {}
        # ncu adds what it knows about the device and the launch, and other rollups of the metrics.
        printed = parse_csv(logged)
        asked = {metric: printed[metric] for metric in metrics if metric in printed}
        return asked, context, "\n".join([done.stdout, done.stderr, logged])


def ratio(numerator: float | None, denominator: float | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None


def rounded(value):
    """Five significant digits; counters are not more exact than that."""
    return float(f"{value:.5g}") if isinstance(value, float) else value


def derive(values: Values, size: int) -> dict:
    """What the pages quote, from the raw counters; None where a counter is missing or says nothing about this kernel.

    fma_pipe_percent counts integer multiply-adds as well: they take the same pipe. Global loads include asynchronous
    copies. l2_to_sm_bytes is what the SMs read from the L2; l2_bytes is all that the L2's slices looked up: writes,
    and a second time what one half of the L2 fetches from the other (l2_fabric_bytes), but a sector that neighbouring
    SMs ask for together only once. The L2's hit rate is over the same look-ups. A bank conflict is a wavefront beyond
    those that the access needs; a few come from other traffic that had the banks at that moment.
    shared_pipe_percent is the data pipe that shared memory and the L1 cache have in common.
    """

    def raw(metric: str) -> float | None:
        entry = values.get(metric)
        return entry["value"] if entry else None

    def total(*metrics: str) -> float | None:
        known = [value for value in map(raw, metrics) if value is not None]
        return sum(known) if known else None

    flops = 2.0 * size**3
    time_entry = values.get("gpu__time_duration.sum")
    to_us = {"ns": 1e-3, "nsecond": 1e-3, "us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3, "s": 1e6, "second": 1e6}
    time_us = time_entry["value"] * to_us.get(time_entry["unit"], 1e-3) if time_entry else None
    ffma = raw("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")
    dram = total("dram__bytes_read.sum", "dram__bytes_write.sum")
    l2_to_sm = raw("l1tex__m_xbar2l1tex_read_bytes.sum")
    l2_sectors = raw("lts__t_sectors.sum")
    fabric_sectors = raw("lts__t_sectors_srcunit_ltcfabric.sum")
    load_requests = raw("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")
    # How often shared memory was accessed: by loads, by stores, by asynchronous copies into it.
    accesses = {
        "ld": raw("smsp__sass_inst_executed_op_shared_ld.sum"),
        "st": raw("smsp__sass_inst_executed_op_shared_st.sum"),
        "ldgsts": raw("sm__sass_inst_executed_op_ldgsts.sum"),
    }

    def wavefronts_per_access(how: str) -> float | None:
        return ratio(raw(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{how}.sum"), accesses[how])

    def bank_conflicts(how: str) -> float | None:
        return raw(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{how}.sum") if accesses[how] else None

    stalls = {reason: raw(stall_metric(reason)) for reason in STALLS}
    present = {reason: value for reason, value in stalls.items() if value is not None}
    derived = {
        "time_us": time_us,
        "tflops": ratio(flops, time_us * 1e6 if time_us else None),
        "sm_clock_mhz": ratio(raw("sm__cycles_elapsed.max"), time_us),
        "ffma": ffma,
        "ffma_percent_of_instructions": ratio(
            100 * ffma / 32 if ffma is not None else None, raw("smsp__inst_executed.sum")
        ),
        "fma_pipe_percent": raw("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"),
        "tensor_pipe_percent": raw("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"),
        "issue_slots_busy_percent": raw("smsp__issue_active.avg.pct_of_peak_sustained_active"),
        "achieved_occupancy_percent": raw("sm__warps_active.avg.pct_of_peak_sustained_active"),
        "registers": raw("launch__registers_per_thread"),
        "waves": raw("launch__waves_per_multiprocessor"),
        "dram_bytes": dram,
        "dram_gbytes_s": ratio(dram, time_us * 1e3 if time_us else None),
        "dram_percent_of_peak": raw("dram__throughput.avg.pct_of_peak_sustained_elapsed"),
        "flop_per_dram_byte": ratio(flops, dram),
        "l2_to_sm_bytes": l2_to_sm,
        "flop_per_l2_to_sm_byte": ratio(flops, l2_to_sm),
        "l2_bytes": None if l2_sectors is None else l2_sectors * SECTOR_BYTES,
        "l2_fabric_bytes": None if fabric_sectors is None else fabric_sectors * SECTOR_BYTES,
        "l2_hit_percent": raw("lts__t_sector_hit_rate.pct"),
        "l1_hit_percent": raw("l1tex__t_sector_hit_rate.pct"),
        "global_load_requests": load_requests,
        "global_load_sectors_per_request": ratio(raw("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), load_requests),
        "global_store_sectors_per_request": ratio(
            raw("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
            raw("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
        ),
        "async_copy_percent_of_loads": ratio(100 * accesses["ldgsts"], load_requests) if accesses["ldgsts"] else None,
        "shared_load_wavefronts_per_request": wavefronts_per_access("ld"),
        "shared_store_wavefronts_per_request": wavefronts_per_access("st"),
        "async_copy_wavefronts_per_request": wavefronts_per_access("ldgsts"),
        "shared_load_bank_conflicts": bank_conflicts("ld"),
        "shared_store_bank_conflicts": bank_conflicts("st"),
        "async_copy_bank_conflicts": bank_conflicts("ldgsts"),
        "shared_pipe_percent": raw("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed"),
        "stalls": {reason: rounded(present[reason]) for reason in sorted(present, key=present.get, reverse=True)},
    }
    return {name: rounded(value) for name, value in derived.items()}


def chapter_ids(listing: object) -> list[str]:
    """The ids of all chapters and variants in what `runner --list=json` prints."""
    entries = listing.get("kernels", []) if isinstance(listing, dict) else listing
    ids = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and (entry.get("number") or 0) > 0:
            variants = entry.get("variants") or [entry]
            ids += [variant["id"] for variant in variants if isinstance(variant, dict) and "id" in variant]
    return ids


def list_chapters(runner: Path) -> list[str]:
    done = subprocess.run([str(runner), "--list=json"], capture_output=True, text=True, check=False)
    try:
        ids = chapter_ids(json.loads(done.stdout))
    except ValueError:
        ids = []
    if not ids:
        raise ProfileError(f"{runner} --list=json names no chapters: {last_lines(done.stderr)}")
    return ids


def version_of(ncu: str) -> str:
    done = subprocess.run([ncu, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"Version\s+(\S+)", done.stdout)
    return found[1] if found else "unknown"


def write_atomically(path: Path, document: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".counters-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class Profiler:
    """Profiles kernels, and remembers the metrics that this ncu or this GPU does not have."""

    def __init__(self, ncu: str, runner: Path, size: int):
        self._ncu, self._runner, self._size = ncu, runner, size
        self.dropped: list[str] = []
        self.context: dict = {}

    def counters(self, kernel: str) -> Values:
        values = self._read(kernel, [metric for metric in METRICS if metric not in self.dropped])
        if not values:
            raise ProfileError("ncu gave no counters")
        return values

    def _read(self, kernel: str, metrics: list[str]) -> Values:
        values, context, output = profile(self._ncu, self._runner, kernel, self._size, metrics)
        self.context = context or self.context
        unknown = rejected(output, metrics)
        self._drop(unknown)
        if values:
            return values
        if unknown:
            rest = [metric for metric in metrics if metric not in unknown]
            return self._read(kernel, rest) if rest else {}
        if metrics == [METRICS[0]]:
            raise ProfileError(f"ncu gave no counters: {last_lines(output)}")
        if len(metrics) == 1:
            self._drop(metrics)
            return {}
        # Something is refused and not named: make sure that anything can be profiled at all, then search by halves.
        if METRICS[0] in metrics:
            self._read(kernel, [METRICS[0]])
        half = len(metrics) // 2
        return self._read(kernel, metrics[:half]) | self._read(kernel, metrics[half:])

    def _drop(self, metrics: Sequence[str]) -> None:
        new = [metric for metric in metrics if metric not in self.dropped]
        if new:
            print(f"ncu rejects {', '.join(new)}; going on without", file=sys.stderr)
            self.dropped += new


def collect(ncu: str, runner: Path, kernels: Sequence[str], size: int, out: Path) -> int:
    """Profiles the kernels one after another; the file holds what there is after each of them."""
    profiler, failures = Profiler(ncu, runner, size), 0
    document = {"schema_version": SCHEMA_VERSION, "context": {}, "kernels": {}, "derived": {}}
    for kernel in kernels:
        try:
            values = profiler.counters(kernel)
        except ProfileError as error:
            print(f"{kernel}: {error}", file=sys.stderr)
            failures += 1
            continue
        device = profiler.context.get("device") or {}
        document["context"] = {
            "device": device.get("name", "unknown"),
            "compute_capability": device.get("compute_capability", "unknown"),
            "driver": device.get("driver", "unknown"),
            "ncu": version_of(ncu),
            "size": size,
            "date": datetime.now().astimezone().isoformat(timespec="seconds"),
            "git_commit": profiler.context.get("git_commit", "unknown"),
            "git_dirty": profiler.context.get("git_dirty", False),
            "dropped_metrics": profiler.dropped,
        }
        document["kernels"][kernel] = values
        document["derived"][kernel] = derive(values, size)
        write_atomically(out, document)
        print(f"{kernel}: {len(values)} metrics", flush=True)
    if document["kernels"]:
        print(out)
    return 1 if failures else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="ID", help="kernel ids (default: every chapter and variant)")
    parser.add_argument("--build", type=Path, default=Path("build"), help="folder with the runner (default: build)")
    parser.add_argument("--size", type=int, default=4096, help="M = N = K (default: 4096)")
    parser.add_argument("--out", type=Path, default=Path("counters.json"), help="default: counters.json")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command line (default: ncu)")
    options = parser.parse_args(arguments)
    if options.size < 1:
        parser.error("--size takes a number above 0")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    runner = (options.build / "runner").resolve()
    for program in (str(runner), options.ncu):
        if shutil.which(program) is None:
            print(f"counters.py: there is no program {program}", file=sys.stderr)
            return 2
    try:
        kernels = options.kernels or list_chapters(runner)
    except ProfileError as error:
        print(f"counters.py: {error}", file=sys.stderr)
        return 2
    try:
        return collect(options.ncu, runner, kernels, options.size, options.out)
    except OSError as error:
        print(f"counters.py: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
