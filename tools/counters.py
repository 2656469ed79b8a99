"""Reads hardware counters of kernels with Nsight Compute: prints a table of them, or writes them to one file.

    python -m tools.counters --build build --out results/nvidia-h200/counters.json
    python -m tools.counters --build build 05_coarse_1d my.cu --size 2048 --launch="mine<<<64, 64>>>(A, B, C)"

Runs on a machine with the GPU and `ncu`: the one that $NCU names, or the one on PATH, or CUDA's own. Each kernel has a
process of `runner --profile` under `ncu`, which verifies it and then launches one product between marks. `ncu` repeats
each launch until it has read all counters. It leaves the clocks as they are, and empties the caches before each time.
A metric that this `ncu` does not know is left out, and listed in the file. Flags that are not listed here go to the
runner. Of a product with several launches, `kernels` and `derived` have the one that takes longest, and `launches` has
what is derived for each, with its function. The file takes nothing but Python's standard library.

Exit status: 0 every kernel was profiled, 1 some could not be, 2 bad input.
"""

import contextlib
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools import needs
from tools.limits import flops

SECTOR_BYTES = 32
WARP = 32

STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS = """barrier branch_resolving dispatch_stall drain imc_miss lg_throttle long_scoreboard math_pipe_throttle membar
mio_throttle misc no_instruction not_selected selected short_scoreboard sleeping tex_throttle wait""".split()  # noqa: SIM905

# Ways to access shared memory: the metric that counts each, and its word in the names of others. The last are
# asynchronous, from global memory.
SHARED = {
    "shared_load": ("smsp__sass_inst_executed_op_shared_ld.sum", "ld"),
    "shared_store": ("smsp__sass_inst_executed_op_shared_st.sum", "st"),
    "async_copy": ("sm__sass_inst_executed_op_ldgsts.sum", "ldgsts"),
}
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"

FIGURES = json.loads((needs.ROOT / "tools" / "counter_rows.json").read_text(encoding="utf-8"))
# Figures that are a metric as it is.
PLAIN = {field: metric for _, field, _, *metrics in FIGURES["rows"] for metric in metrics} | FIGURES["without_row"]
TIME = "gpu__time_duration.sum"
CYCLES = "sm__cycles_elapsed.max"
INSTRUCTIONS = "smsp__inst_executed.sum"
DRAM = ("dram__bytes_read.sum", "dram__bytes_write.sum")
L2_SECTORS = "lts__t_sectors.sum"
FABRIC_SECTORS = "lts__t_sectors_srcunit_ltcfabric.sum"
LOAD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
STORE_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
STORE_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"

METRICS = [TIME, CYCLES, INSTRUCTIONS, *DRAM, L2_SECTORS, FABRIC_SECTORS, "lts__t_sectors_srcunit_tex.sum"]
METRICS += [LOAD_SECTORS, STORE_SECTORS, STORE_REQUESTS, *PLAIN.values()]
for count, word in SHARED.values():
    METRICS += [count, WAVEFRONTS.format(word), CONFLICTS.format(word)]
METRICS += [STALL.format(reason) for reason in STALLS]

MICROSECONDS = {"us": 1.0, "usecond": 1.0, "ms": 1e3, "msecond": 1e3, "s": 1e6, "second": 1e6}  # ncu's base is ns

NO_PERMISSION = "ERR_NVGPUCTRPERM"


class ProfileError(Exception):
    """A kernel that could not be profiled; the message is one line."""


def ratio(numerator: float | None, denominator: float | None, factor: float = 1.0) -> float | None:
    return factor * numerator / denominator if numerator is not None and denominator else None


def time_us(counters: dict) -> float | None:
    time = counters.get(TIME)
    return time and time["value"] * MICROSECONDS.get(time["unit"], 1e-3)


def derive(counters: dict, flops: float | None) -> dict:
    """The figures of a launch that tables show. A figure is null where a counter is missing or says nothing about this
    kernel, and those with FLOP where `flops` is None. They have five digits: counters are not more exact than that.
    """

    def raw(metric: str) -> float | None:
        return counters[metric]["value"] if metric in counters else None

    time = time_us(counters)
    figures = {field: raw(metric) for field, metric in PLAIN.items()}
    bytes_ = [value for value in map(raw, DRAM) if value is not None]
    dram, copies = sum(bytes_) if bytes_ else None, raw(SHARED["async_copy"][0]) or None
    figures |= {
        "time_us": time,
        "tflops": ratio(flops, time, 1e-6),
        "sm_clock_mhz": ratio(raw(CYCLES), time),
        "ffma_percent_of_instructions": ratio(figures["ffma"], raw(INSTRUCTIONS), 100 / WARP),
        "dram_bytes": dram,
        "dram_gbytes_s": ratio(dram, time, 1e-3),
        "flop_per_dram_byte": ratio(flops, dram),
        "flop_per_l2_to_sm_byte": ratio(flops, figures["l2_to_sm_bytes"]),
        # All that the L2's slices looked up, and a second time what one half of the L2 fetches from the other.
        "l2_bytes": ratio(raw(L2_SECTORS), 1, SECTOR_BYTES),
        "l2_fabric_bytes": ratio(raw(FABRIC_SECTORS), 1, SECTOR_BYTES),
        "global_load_sectors_per_request": ratio(raw(LOAD_SECTORS), figures["global_load_requests"]),
        "global_store_sectors_per_request": ratio(raw(STORE_SECTORS), raw(STORE_REQUESTS)),
        "async_copy_percent_of_loads": ratio(copies, figures["global_load_requests"], 100),
    }
    for name, (metric, word) in SHARED.items():
        count = raw(metric) or None  # without accesses of a kind there is nothing to say of them
        figures[f"{name}_wavefronts_per_request"] = ratio(raw(WAVEFRONTS.format(word)), count)
        figures[f"{name}_bank_conflicts"] = raw(CONFLICTS.format(word)) if count else None
    stalls = {reason: value for reason in STALLS if (value := raw(STALL.format(reason))) is not None}
    most_first = dict(sorted(stalls.items(), key=lambda item: -item[1]))
    rounded = {name: None if value is None else float(f"{value:.5g}") for name, value in figures.items()}
    return rounded | {"stalls": {reason: float(f"{value:.5g}") for reason, value in most_first.items()}}


def number_in(cell: str) -> float | None:
    """ "1,234.5" as a number; None for "n/a" and the like."""
    with contextlib.suppress(ValueError):
        return float(cell.replace(",", ""))


def launches_in(text: str) -> Iterator[tuple[str, dict]]:
    """The function and the counters of each launch in what `ncu --csv --page raw` prints: a row of names, one of units,
    and one of values for each launch. Other lines, and metrics without a number, are left out.
    """
    rows = list(csv.reader(line for line in text.splitlines() if line.startswith('"')))
    start = next((i for i, row in enumerate(rows) if "Kernel Name" in row), len(rows))
    names, units = (*rows[start : start + 2], [], [])[:2]
    for row in rows[start + 2 :]:
        if len(row) == len(names) == len(units):  # no line that is cut off
            cells = {name: (number_in(cell), unit) for name, cell, unit in zip(names, row, units, strict=True)}
            known = {name: cells[name] for name in METRICS if cells.get(name, (None,))[0] is not None}
            counters = {name: {"value": value, "unit": unit} for name, (value, unit) in known.items()}
            yield row[names.index("Kernel Name")], counters


def rejected_metrics(output: str) -> list[str]:
    """The metrics that a line of an error or warning names, with or without their rollup (".sum")."""
    complaints = [line for line in output.splitlines() if re.search("==ERROR==|==WARNING==|ailed to", line)]
    words = set(re.findall(r"[a-z0-9]+__[a-z0-9_]+(?:\.[a-z0-9_.]*[a-z0-9_])?", "\n".join(complaints)))
    return [metric for metric in METRICS if metric in words or metric.partition(".")[0] in words]


def find_ncu() -> str:
    chosen = os.environ.get("NCU")
    found = shutil.which(chosen) if chosen else shutil.which("ncu") or shutil.which("/usr/local/cuda/bin/ncu")
    if not found:
        comes = "Nsight Compute's program, which comes with the CUDA Toolkit"
        raise FileNotFoundError(f"there is no ncu, {comes}: put it on PATH or name it in $NCU")
    return found


def output_of(command: Sequence[str], seconds: float) -> str:
    """What a program prints. With its end, or this one's, or when the time is over, all ends that it has started."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, errors="replace", start_new_session=True, **streams) as process:
        try:
            return process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            raise ProfileError(f"took longer than {seconds:g} s under ncu, which --timeout changes") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


class Profiler:
    """Profiles cases of one command line of the runner."""

    def __init__(self, command: Sequence[str], seconds: float) -> None:
        self.command = list(command)
        self.seconds = seconds
        self.ncu = find_ncu()
        version = re.search(r"Version\s+(\S+)", output_of([self.ncu, "--version"], seconds))
        self.version = version[1] if version else "unknown"
        self.dropped: list[str] = []

    def cases(self) -> list[str]:
        """Their names. The runner says on standard error why there are none."""
        command = [*self.command, "--benchmark_list_tests"]
        listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        return listed.stdout.splitlines() if listed.returncode == 0 else []

    def profile(self, case: str) -> tuple[dict, dict, list[dict]]:
        """The context of its run, its record, and its launches. Throws ProfileError where there are none."""
        pattern = re.sub(r"([][(){}.*+?^$|\\])", r"\\\1", case)
        while True:
            with tempfile.TemporaryDirectory() as folder:
                log, results = Path(folder) / "ncu.csv", Path(folder) / "results.json"
                wanted = ",".join(metric for metric in METRICS if metric not in self.dropped)
                command = [self.ncu, "--clock-control", "none", "--profile-from-start", "off", "--csv", "--page", "raw"]
                command += ["--print-units", "base", "--print-kernel-base", "function", "--metrics", wanted]
                command += ["--log-file", str(log), *self.command]
                command += [f"--benchmark_filter=^{pattern}$", "--out", str(results)]
                output = output_of(command, self.seconds) + (log.read_text(errors="replace") if log.exists() else "")
                document = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {"benchmarks": []}
            for record in document["benchmarks"]:
                if record["outcome"] != "profiled":
                    raise ProfileError(record["reason"])
                if launches := launches_of(record, output):
                    return document["context"], record, launches
            if NO_PERMISSION in output:
                raise ProfileError(
                    f"the driver lets this user read no counters ({NO_PERMISSION}): run it as root, or let all users "
                    f"read them as https://developer.nvidia.com/{NO_PERMISSION} says"
                )
            rejected = [metric for metric in rejected_metrics(output) if metric not in self.dropped]
            if not rejected:
                lines = [line.strip() for line in output.splitlines() if line.strip()]
                raise ProfileError(f"ncu gave no counters: {' / '.join(lines[-3:]) or 'it printed nothing'}")
            self.dropped += rejected


def launches_of(record: dict, output: str) -> list[dict]:
    """The launches of a product, whose FLOP are put down to the one that takes longest."""
    found = list(launches_in(output))
    longest = max((counters for _, counters in found), key=lambda counters: time_us(counters) or 0, default=None)
    work = flops(record)
    return [
        {"function": name, "counters": counters, "derived": derive(counters, work if counters is longest else None)}
        for name, counters in found
    ]


def document_of(context: dict, profiles: dict[str, list[dict]], profiler: Profiler, size: int) -> dict:
    document = {"schema_version": 1, "context": {}, "kernels": {}, "derived": {}, "launches": {}}
    for kernel, launches in profiles.items():
        launch = max(launches, key=lambda launch: launch["derived"]["time_us"] or 0)
        document["kernels"][kernel] = launch["counters"]
        document["derived"][kernel] = launch["derived"]
        if len(launches) > 1:
            kept = ("function", "derived")
            document["launches"][kernel] = [{name: launch[name] for name in kept} for launch in launches]
    document["context"] = {
        "device": context["device"]["name"],
        "compute_capability": context["device"]["compute_capability"],
        "driver": context["device"].get("driver", "unknown"),
        "ncu": profiler.version,
        "size": size,
        **{name: context[name] for name in ("date", "git_commit", "git_dirty")},
        "dropped_metrics": sorted(profiler.dropped),
    }
    return document


def print_table(kernel: str, launches: Sequence[dict]) -> None:
    """A column for each launch. Rows without a value are left out."""
    from tools.forms import COUNTER_ROWS, maybe  # with pandas, which files go without

    rows = [[kernel, *(launch["function"] for launch in launches)]]
    for title, field, form in COUNTER_ROWS:
        cells = [maybe(form, launch["derived"][field]) for launch in launches]
        rows += [[title, *cells]] if any(cells) else []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for title, *cells in rows:
        print("  ".join([title.ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells, widths[1:], strict=True))]))
    print()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = needs.parser(__doc__)
    parser.allow_abbrev = False
    which = "as --kernel takes them (default: chapters, with their variants)"
    parser.add_argument("kernels", nargs="*", metavar="ID", help=which)
    parser.add_argument("--build", type=Path, default=Path("build"), help="folder with the runner (default: build)")
    parser.add_argument("--size", type=int, default=4096, help="M = N = K (default: 4096)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for a kernel (default: 300)")
    parser.add_argument("--out", type=Path, help="file to write, in place of tables")
    options, flags = parser.parse_known_args(arguments)
    if options.size < 1:
        parser.error("--size takes a number above 0")
    runner = (options.build / "runner").resolve()
    kernels = ",".join(options.kernels or ["chapters"])
    context, profiles, failed = {}, {}, False
    with needs.stopping(OSError):
        if not os.access(runner, os.X_OK):
            raise FileNotFoundError(f"there is no program {runner}")
        command = [str(runner), "--profile", "--kernel", kernels, "--sizes", str(options.size), *flags]
        profiler = Profiler(command, options.timeout)
        cases = profiler.cases()
        if not cases:
            raise FileNotFoundError("the runner has no case, as it says above")
        for case in cases:
            try:
                context, record, launches = profiler.profile(case)
            except ProfileError as error:
                print(f"{case}: {error}", file=sys.stderr)
                failed = True
                if NO_PERMISSION in str(error):
                    break
            else:
                profiles[record["kernel"]] = launches
                if not options.out:
                    print_table(record["kernel"], launches)
        if profiles and options.out:
            document = document_of(context, profiles, profiler, options.size)
            options.out.parent.mkdir(parents=True, exist_ok=True)
            needs.write_whole(options.out, json.dumps(document, indent=1) + "\n")
            print(options.out)
    return 1 if failed else 0


if __name__ == "__main__":
    for ending in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(ending) != signal.SIG_IGN:  # as under nohup
            signal.signal(ending, lambda number, _: sys.exit(128 + number))  # through what ends ncu
    raise SystemExit(main())
