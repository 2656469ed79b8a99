#!/usr/bin/env python3
"""Writes the tables in README.md and docs/*.md from the results, between markers:

    <!-- generated: ladder 4096 -->
    ...
    <!-- end generated -->

    scripts/tables.py           writes the blocks
    scripts/tables.py --check   writes nothing, prints a diff and exits with 1 when a block is not what it would write

Blocks, all from cold measurements unless they say otherwise:

    ladder SIZE       every kernel at one size
    sweep ID...       TFLOP/s of the kernels over the sizes, of every kernel without IDs
    shapes ID...      the first kernel at every problem of shapes.json or of the file named before the IDs, square or
                      not, with the configuration that it took, beside the ratios of the others; before there is that
                      file, a line that says so
    chapter ID...     every size of the kernels, each in a table of its own, with its resources
    resources ID...   what a block of each kernel takes
    counters ID...    Nsight Compute's counters of the kernels, from counters.json or from the file named before the IDs
    environment       the machine, the build and the protocol
    claims            the claims of the source documents beside what was found
    errors SIZE       relative errors by kernel and distribution, from accuracy.json; "errors SIZE componentwise" has
                      the componentwise ones. Before there is that file, a line that says so
    chart NAME TEXT   a chart that scripts/plot.py drew, with its alternative text; before that, a line that says so

Blocks about what the executor counted, from the files counts_SIZE.json of another folder:

    validation SIZE   the counts of every kernel beside Nsight Compute's counters, and which bars they meet
    counts ID...      the same of single kernels, with what can only be counted
    lines ID...       what each source line asks for, of single kernels
    reads             how often each element is read, counted and worked out by hand

An ID is a kernel's name ("05_coarse_1d", "06_coarse_2d:vectorized") or a chapter's number, which stands for all its
variants. Of a kernel that has a page and is not in the results yet, blocks say that it was not measured. Markers in
fenced code are left alone.

Exit status: 0 fine, 1 stale (with --check), 2 bad input.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import counts
from claims import ABOUT, CLAIMS, SIZE, SOURCES, VERDICTS, Evidence, find
from results import (
    ACCURACY_FILE,
    COUNTERS_FILE,
    SHAPES_FILE,
    Record,
    Results,
    ResultsError,
    Shape,
    accuracy_of_folder,
    counters_of_folder,
    load_folder,
    read_json,
    shapes_of_folder,
    stop,
)

ROOT = Path(__file__).resolve().parent.parent
START = re.compile(r"^<!-- generated: (.*?) -->\s*$")
END = re.compile(r"^<!-- end generated -->\s*$")
FENCE = re.compile(r"^ {0,3}(```+|~~~+)")


class NotMeasured(ResultsError):
    """The results hold nothing about a kernel that has a page: it was written and not measured yet."""


def has_page(kernel: str) -> bool:
    """Whether docs/ has a page of the kernel, which is given by its id or its number."""
    pattern = f"{int(kernel):02}_*.md" if kernel.isdigit() else f"{kernel.partition(':')[0]}.md"
    return any((ROOT / "docs").glob(pattern))


@dataclass(frozen=True)
class Folder:
    """The results of one device: cold.json, and where they exist warm.json, end-to-end.json, counters.json,
    accuracy.json, shapes.json and kernels.json (what `runner --list=json` prints); and the folder of what was
    counted."""

    path: Path
    counts: Path

    @cached_property
    def results(self) -> Results:
        return load_folder(self.path)

    @cached_property
    def accuracy(self) -> Results | None:
        return accuracy_of_folder(self.path)

    @cached_property
    def counters(self) -> dict | None:
        return counters_of_folder(self.path)

    @cached_property
    def summaries(self) -> dict[str, str]:
        """One line about each kernel, by id."""
        path = self.path / "kernels.json"
        listing = read_json(path) if path.exists() else []
        entries = listing.get("kernels", []) if isinstance(listing, dict) else listing
        variants = [variant for entry in entries for variant in (entry.get("variants") or [entry])]
        return {variant["id"]: variant.get("summary", "") for variant in variants if "id" in variant}

    def counted(self, size: int = counts.USUAL_SIZE) -> counts.Comparison:
        return counts.compare(self.counts, self.path, size)

    def cold(self, outcome: str | None = None, **fields) -> list[Record]:
        """Records of the cold sweep, every outcome; CPU kernels among them."""
        records = self.results.pick(lambda r: r.size is not None, outcome=outcome, l2="cold", time="kernel", **fields)
        if not records:
            raise ResultsError(f"{self.path} holds no cold measurement for {fields or 'any kernel'}")
        return records

    def ids(self, arguments: Sequence[str]) -> list[str]:
        """The kernels that a block's arguments name."""
        known = list(dict.fromkeys(record.id for record in self.cold()))
        numbers = {record.id: record.number for record in self.cold()}
        found: list[str] = []
        for argument in arguments:
            if argument.isdigit():
                matches = [name for name in known if numbers[name] == int(argument)]
            else:
                matches = [name for name in known if name == argument]
            if not matches:
                kind = NotMeasured if has_page(argument) else ResultsError
                raise kind(f"there is no kernel {argument} in {self.path}; it has {', '.join(known)}")
            found += matches
        if not found:
            raise ResultsError("the block names no kernel")
        return list(dict.fromkeys(found))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; the first `left` columns are text, the others numbers."""
    rule = ["---" if column < left else "---:" for column in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


def significant(value: float, digits: int = 3) -> str:
    """Fixed notation with so many significant digits, all digits before the point."""
    if value == 0:
        return "0"
    text = f"{value:#.{digits}g}"
    if "e" in text:
        text = f"{value:.0f}" if abs(value) >= 1 else f"{value:.{digits}f}"
    return text.rstrip(".")


def tflops(record: Record | None) -> str:
    if record is None:
        return ""
    return significant(record.tflops) if record.measured else record.outcome.replace("_", " ")


def share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def error_size(value: float | None) -> str:
    if value is None:
        return ""
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def duration(microseconds: float) -> str:
    for limit, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= limit:
            return f"{significant(microseconds / limit, 4)} {unit}"
    return f"{significant(microseconds, 4)} µs"


def count(value: float | None) -> str:
    """1234567 as 1.23 M."""
    if value is None:
        return ""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{significant(value / limit)} {unit}"
    return significant(value)


def cell(record: Record, field: str) -> str:
    value = record.get(field)
    return "" if value is None else f"{value}"


def linked(kernel: str, page: Path) -> str:
    """The kernel's name, as a link to its chapter's page where there is one that is not the page itself."""
    target = ROOT / "docs" / f"{kernel.partition(':')[0]}.md"
    if not target.exists() or target == page:
        return f"`{kernel}`"
    inside = target.name if page.parent == target.parent else f"docs/{target.name}"
    return f"[`{kernel}`]({inside})"


def ladder(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    if len(arguments) != 1 or not arguments[0].isdigit():
        raise ResultsError("ladder takes one size")
    rows = []
    for record in folder.cold(size=int(arguments[0])):
        rows.append(
            [
                linked(record.id, page),
                folder.summaries.get(record.id, ""),
                tflops(record),
                share(1.0 if record.id == "cublas" and record.measured else record.vs_cublas),
                error_size(record.get("rel_err")),
                cell(record, "registers"),
            ]
        )
    return table(["kernel", "what it does", "TFLOP/s", "of cuBLAS", "relative error", "registers"], rows, left=2)


def sweep(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    records = folder.cold()
    sizes = sorted({record.size for record in records})
    cells = {(record.id, record.size): tflops(record) for record in records}
    names = folder.ids(arguments) if arguments else list(dict.fromkeys(record.id for record in records))
    rows = [[linked(name, page), *(cells.get((name, size), "") for size in sizes)] for name in names]
    return table(["TFLOP/s", *map(str, sizes)], rows)


def shape_text(shape: Shape) -> str:
    m, n, k = shape
    return str(m) if m == n == k else f"{m} x {n} x {k}"


def shapes(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    file = SHAPES_FILE
    if arguments and arguments[0].endswith(".json"):
        file, arguments = arguments[0], arguments[1:]
    if not arguments:
        raise ResultsError("shapes takes the names of kernels")
    results = shapes_of_folder(folder.path, file)
    if results is None:
        return f"Not measured yet: `scripts/measure_device.sh` writes `{file}`."
    for name in arguments:
        if name not in results.ids:
            kind = NotMeasured if has_page(name) else ResultsError
            raise kind(f"{file} holds nothing about {name}; it has {', '.join(results.ids)}")
    kernel, *others = arguments
    cases = {(record.id, record.shape): record for record in results}
    rows = []
    # Squares first, by their size.
    for shape in sorted({r.shape for r in results}, key=lambda shape: (len(set(shape)) > 1, shape)):
        record, library = cases.get((kernel, shape)), cases.get(("cublaslt_best", shape))
        others_cells = [share(other.vs_cublas) if other else "" for other in (cases.get((o, shape)) for o in others)]
        if record is None or not record.measured:
            rows.append([shape_text(shape), "", "", tflops(record), "", "", *others_cells])
            continue
        known = library is not None and library.measured
        rows.append(
            [
                shape_text(shape),
                record.get("detail") or "",
                duration(record.microseconds),
                tflops(record),
                share(record.vs_cublas),
                share(library.microseconds / record.microseconds) if known else "",
                *others_cells,
            ]
        )
    head = ["M x N x K", "configuration", "time", "TFLOP/s", "of cuBLAS", "of the best of cuBLASLt"]
    head += [f"{linked(name, page)}, of cuBLAS" for name in others]
    context = next(record.context for record in results if record.id == kernel)
    source = (
        f"`{kernel}`, {context['protocol']['l2']} L2, commit {context.get('git_commit', 'unknown')[:12]}. One number "
        "stands for M = N = K. Ratios to cuBLAS are the smaller of paired and alone, those to cuBLASLt are ratios of "
        "median times."
    )
    return f"{table(head, rows, left=2)}\n\n{source}"


def resources_line(record: Record) -> str:
    text = (
        f"{record['threads_per_block']} threads a block, {record['registers']} registers a thread, "
        f"{record['smem_bytes']} B of shared memory, {record['blocks_per_sm']} blocks an SM"
    )
    if record.get("occupancy") is not None:
        text += f" (occupancy {share(record['occupancy'])})"
    spills = record["spill_bytes"]
    return text + (f", {spills} B of local memory a thread." if spills else ", no spills.")


def chapter(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    parts = []
    for name in folder.ids(arguments):
        records = folder.cold(id=name)
        rows = []
        for record in records:
            if not record.measured:
                rows.append([str(record.size), tflops(record), *[""] * 5])
                continue
            percent = record.get("percent_of_peak")
            rows.append(
                [
                    str(record.size),
                    duration(record.microseconds),
                    tflops(record),
                    "" if percent is None else f"{percent:.1f} %",
                    share(record.get("vs_cublas")),
                    share(record.get("vs_cublas_alone")),
                    error_size(record.get("rel_err")),
                ]
            )
        head = [
            "M = N = K",
            "time",
            "TFLOP/s",
            "of FP32 peak",
            "of cuBLAS, paired",
            "of cuBLAS, alone",
            "relative error",
        ]
        # A kernel that does not multiply on the FP32 units has no share of their peak.
        if not any(row[3] for row in rows):
            head, rows = [*head[:3], *head[4:]], [[*row[:3], *row[4:]] for row in rows]
        title = f"`{name}`"
        if summary := folder.summaries.get(name):
            title += f": {summary}"
        part = f"{title}\n\n{table(head, rows, left=0)}"
        with_resources = [record for record in records if record.get("registers") is not None]
        if with_resources:
            part += f"\n\n{resources_line(with_resources[-1])}"
        parts.append(part)
    return "\n\n".join(parts)


def resources(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    rows = []
    for name in folder.ids(arguments):
        record = next((r for r in folder.cold(id=name) if r.get("registers") is not None), None)
        if record is None:
            raise ResultsError(f"the records of {name} hold no resources")
        fields = ("threads_per_block", "registers", "smem_bytes", "spill_bytes", "blocks_per_sm")
        rows.append([linked(name, page), *(cell(record, field) for field in fields), share(record.get("occupancy"))])
    head = ["kernel", "threads a block", "registers", "shared memory, B", "spills, B", "blocks an SM", "occupancy"]
    return table(head, rows)


def mebibytes(bytes_: float) -> str:
    return f"{bytes_ / 2**20:,.0f} MiB".replace(",", " ")


def environment(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    if arguments:
        raise ResultsError("environment takes no argument")
    context = folder.cold()[0].context
    device, build, protocol = context["device"] or {}, context.get("build", {}), context["protocol"]
    commit = context.get("git_commit", "unknown")[:12] + (" with changes" if context.get("git_dirty") else "")
    rows = [["measured", f"{context.get('date', 'unknown')}, commit {commit}, {context.get('library', 'unknown')}"]]
    if device:
        rows += [
            [
                "GPU",
                f"{device['name']}, compute capability {device.get('compute_capability')}, "
                f"{device.get('multiprocessors')} SMs, L2 {mebibytes(device.get('l2_bytes', 0))}, "
                f"memory {mebibytes(device.get('memory_bytes', 0))}",
            ],
            ["driver, CUDA, cuBLAS", f"{device.get('driver', 'unknown')}, {context.get('cuda_runtime')}, "
             f"{context.get('cublas_version')} ({context.get('cublas_math_mode')})"],
        ]  # fmt: skip
        if device.get("fp32_peak_gflops"):
            peak = f"{device['fp32_peak_gflops'] / 1e3:.1f} TFLOP/s ({device.get('fp32_peak_basis')})"
            rows.append(["FP32 peak", peak])
        if device.get("dram_peak_gbytes_s"):
            peak = f"{device['dram_peak_gbytes_s'] / 1e3:.2f} TB/s ({device.get('dram_peak_basis')})"
            rows.append(["DRAM peak", peak])
    rows += [
        ["host", f"{context.get('cpu', 'unknown')}, {context.get('num_cpus', '?')} logical CPUs"],
        [
            "build",
            f"{build.get('cxx_compiler')}, nvcc {build.get('nvcc')}, architectures {build.get('cuda_architectures')}, "
            f"{build.get('build_type')}, `{build.get('nvcc_flags')}`",
        ],
        [
            "protocol",
            f"{protocol['l2']} L2, {protocol.get('data')} data (seed {protocol.get('seed')}), "
            f"alpha {protocol.get('alpha'):g}, beta {protocol.get('beta'):g}, "
            f"{protocol.get('min_samples')} to {protocol.get('max_samples')} samples within "
            f"{protocol.get('max_seconds'):g} s, until the median's {100 * protocol.get('confidence', 0):g} % interval "
            f"is within {100 * protocol.get('target_ci', 0):g} %",
        ],
        ["verified", "yes" if protocol.get("verify") else "no"],
    ]
    return table(["", ""], rows, left=2)


COUNTER_ROWS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("time under the profiler", "time_us", duration),
    ("TFLOP/s", "tflops", significant),
    ("FMA pipe busy", "fma_pipe_percent", lambda v: f"{v:.1f} %"),
    ("tensor cores busy", "tensor_pipe_percent", lambda v: f"{v:.1f} %"),
    ("SM clock", "sm_clock_mhz", lambda v: f"{v:.0f} MHz"),
    ("issue slots busy", "issue_slots_busy_percent", lambda v: f"{v:.1f} %"),
    ("FFMA among all instructions", "ffma_percent_of_instructions", lambda v: f"{v:.1f} %"),
    ("achieved occupancy", "achieved_occupancy_percent", lambda v: f"{v:.1f} %"),
    ("DRAM bytes", "dram_bytes", lambda v: f"{count(v)}B"),
    ("DRAM throughput", "dram_gbytes_s", lambda v: f"{significant(v)} GB/s"),
    ("FLOP per DRAM byte", "flop_per_dram_byte", significant),
    ("bytes from L2 to the SMs", "l2_to_sm_bytes", lambda v: f"{count(v)}B"),
    ("FLOP per byte from L2", "flop_per_l2_to_sm_byte", significant),
    ("bytes looked up in L2", "l2_bytes", lambda v: f"{count(v)}B"),
    ("L2 hit rate", "l2_hit_percent", lambda v: f"{v:.1f} %"),
    ("L1 hit rate", "l1_hit_percent", lambda v: f"{v:.1f} %"),
    ("global load requests", "global_load_requests", count),
    ("sectors per global load request", "global_load_sectors_per_request", significant),
    ("sectors per global store request", "global_store_sectors_per_request", significant),
    ("asynchronous copies among global loads", "async_copy_percent_of_loads", lambda v: f"{v:.1f} %"),
    ("wavefronts per shared load", "shared_load_wavefronts_per_request", significant),
    ("wavefronts per shared store", "shared_store_wavefronts_per_request", significant),
    ("wavefronts per asynchronous copy", "async_copy_wavefronts_per_request", significant),
    ("bank conflicts, shared loads", "shared_load_bank_conflicts", count),
    ("bank conflicts, shared stores", "shared_store_bank_conflicts", count),
    ("bank conflicts, asynchronous copies", "async_copy_bank_conflicts", count),
    ("data pipe of L1 and shared memory busy", "shared_pipe_percent", lambda v: f"{v:.1f} %"),
)
STALLS_SHOWN = 4


def counters(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    file = COUNTERS_FILE
    if arguments and arguments[0].endswith(".json"):
        file, arguments = arguments[0], arguments[1:]
    document = counters_of_folder(folder.path, file)
    if document is None:
        raise ResultsError(f"{folder.path} has no {file}")
    derived = document["derived"]
    names = folder.ids(arguments)
    if missing := [name for name in names if name not in derived]:
        kind = NotMeasured if all(map(has_page, missing)) else ResultsError
        raise kind(f"{file} holds nothing about {', '.join(missing)}")
    rows = []
    for title, field, form in COUNTER_ROWS:
        values = [derived[name].get(field) for name in names]
        if any(value is not None for value in values):
            rows.append([title, *("" if value is None else form(value) for value in values)])
    stalls = []
    for name in names:
        reasons = {reason: value for reason, value in derived[name].get("stalls", {}).items() if reason != "selected"}
        top = sorted(reasons, key=reasons.get, reverse=True)[:STALLS_SHOWN]
        stalls.append(", ".join(f"{reason.replace('_', ' ')} {significant(reasons[reason], 2)}" for reason in top))
    if any(stalls):
        rows.append(["warps stalled per issued instruction", *stalls])
    context = document["context"]
    tool = f"Nsight Compute {context.get('ncu', 'unknown')}"
    source = f"{tool}, {context['device']}, M = N = K = {context['size']}, one launch."
    return f"{table([' ', *(f'`{name}`' for name in names)], rows)}\n\n{source}"


def claims(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    if arguments:
        raise ResultsError("claims takes no argument")
    evidence = Evidence(folder.results, folder.counters, counts.counted_in(folder.counts))
    findings = {claim.id: find(claim, evidence) for claim in CLAIMS}
    tally = [f"{sum(f.verdict == verdict for f in findings.values())} {verdict}" for verdict in VERDICTS]
    parts = [
        f"{len(CLAIMS)} claims: {', '.join(tally)}. A measured value reproduces a claimed one when it is within "
        f"{100 * ABOUT:g} % of it; where a document names no size, M = N = K = {SIZE}, cold."
    ]
    for source in SOURCES:
        rows = [
            [c.text, c.kind, findings[c.id].measured, findings[c.id].verdict, findings[c.id].why]
            for c in CLAIMS
            if c.source == source
        ]
        parts.append(f"### {source}\n\n{table(['claim', 'kind', 'here', 'verdict', 'why'], rows, left=5)}")
    return "\n\n".join(parts)


MEASURES: dict[str, Callable[[Record], float | None]] = {
    "relative": lambda record: record.get("rel_err"),
    "componentwise": lambda record: record.get("accuracy", {}).get("componentwise_err"),
}
PATTERNS = ("inf", "nan")  # of these operands the places of Inf and NaN are told instead of an error


def error_cell(record: Record | None, measure: str) -> str:
    if record is None:
        return ""
    accuracy = record.get("accuracy")
    if accuracy is None:
        return record.outcome.replace("_", " ")
    value = MEASURES[measure](record)
    if record.distribution in PATTERNS:
        wrong = accuracy["non_finite_wrong"]
        text = f"{wrong} differ" if wrong else "match"
    elif value is None:
        text = "infinite"
    else:
        text = "0" if value == 0 else error_size(value)
    if record["verified"]:
        return text
    return f"{text} (incorrect)" if record.outcome == "incorrect" else f"{text} (not promised)"


def errors(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    size, *measure = arguments or [""]
    measure = measure or ["relative"]
    if not size.isdigit() or len(measure) > 1 or measure[0] not in MEASURES:
        raise ResultsError(f"errors takes a size and one of {', '.join(MEASURES)}")
    if folder.accuracy is None:
        return f"Not measured yet: `scripts/measure_device.sh --steps accuracy` writes `{ACCURACY_FILE}`."
    records = folder.accuracy.pick(outcome=None, size=int(size))
    if not records:
        raise ResultsError(f"{ACCURACY_FILE} holds nothing at {size}")
    context = records[0].context
    kinds = context["protocol"]["data"]
    cases = {(record.id, record.distribution): record for record in records}
    conditions = {
        record.distribution: value for record in records if (value := record.get("accuracy", {}).get("condition"))
    }
    cells = {
        name: [error_cell(cases.get((name, kind)), measure[0]) for kind in kinds]
        for name in dict.fromkeys(record.id for record in records if record.get("accuracy"))
    }
    shown = [name for name in cells if ":" not in name or cells[name] != cells.get(name.partition(":")[0])]
    rows = [[linked(name, page), *cells[name]] for name in shown]
    rows.append(["condition", *(maybe(significant, conditions.get(kind)) for kind in kinds)])
    device = context["device"]["name"] if context["device"] else f"{context['cpu']} (executed)"
    sampled = any(record.get("accuracy", {}).get("full") is False for record in records)
    source = (
        f"M = N = K = {size}, {device}, cuBLAS {context.get('cublas_version') or 'none'}, "
        f"seed {context['protocol']['seed']}, commit {context.get('git_commit', 'unknown')[:12]}; "
        f"over {'sampled rows and columns' if sampled else 'all elements'}."
    )
    if len(shown) < len(cells):
        source += " Variants that are not listed have the errors of their chapter's default."
    return f"{table([f'{measure[0]} error', *kinds], rows)}\n\n{source}"


def chart(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    if len(arguments) < 2:
        raise ResultsError("chart takes a name and a text")
    path = folder.path / "charts" / f"{arguments[0]}.png"
    if not path.exists():
        return f"The chart `{path.name}` is not drawn yet: `scripts/plot.py` draws it from the results."
    return f"![{' '.join(arguments[1:])}]({os.path.relpath(path, page.parent)})"


def difference(pair: counts.Pair, bar: float | None = None) -> str:
    """Of a count from a measurement, bold where it misses the bar."""
    if pair.difference is None:
        return "" if pair.counted is None or pair.measured is None else "**only counted**"
    if pair.difference == 0:
        return "exact"
    percent = f"{100 * pair.difference:+.1f}".replace("-", "−")
    text = f"{'0' if percent in ('+0.0', '−0.0') else percent} %"
    return text if bar is None or pair.within(bar) else f"**{text}**"


def maybe(form: Callable[[float], str], value: float | None) -> str:
    return "" if value is None else form(value)


def one_size(arguments: Sequence[str]) -> int:
    if len(arguments) != 1 or not arguments[0].isdigit():
        raise ResultsError("the block takes one size")
    return int(arguments[0])


def sources_line(comparison: counts.Comparison) -> str:
    of_counts, of_counters = comparison.contexts
    gpu = comparison.cases[0].counted.counts["gpu_model"]["name"]
    text = f"M = N = K = {comparison.size}. Counted for {gpu} at commit {of_counts.get('git_commit', 'unknown')[:12]}"
    if of_counters is None:
        return f"{text}; not measured."
    return f"{text}; measured on {of_counters['device']} with Nsight Compute {of_counters['ncu']}."


def global_table(comparison: counts.Comparison, page: Path) -> str:
    rows = []
    for case in comparison.cases:
        pairs = [case.pair(quantity.name) for quantity in counts.GLOBAL]
        known = [pair for pair in pairs if pair.within(counts.GLOBAL_BAR) is not None]
        worst = max(
            known, key=lambda pair: float("inf") if pair.difference is None else abs(pair.difference), default=None
        )
        rows.append(
            [
                linked(case.id, page),
                *(cell for pair in pairs for cell in (count(pair.counted), count(pair.measured))),
                "" if worst is None else difference(worst, counts.GLOBAL_BAR),
            ]
        )
    head = ["kernel"]
    for quantity in counts.GLOBAL:
        head += [f"{quantity.name.removeprefix('global ')}, counted", "measured"]
    return f"**Global memory**\n\n{table([*head, 'largest difference'], rows)}"


def hundredths(value: float) -> str:
    return f"{value:.2f}"


def shared_table(comparison: counts.Comparison, page: Path) -> str:
    rows = []
    for case in comparison.cases:
        for kind in case.accesses():
            requests, wavefronts, conflicts = counts.SHARED[kind]
            pairs = [case.pair(requests.name), case.pair(wavefronts.name)]
            of_request = case.per_request(kind, conflicts)
            rows.append(
                [
                    linked(case.id, page),
                    requests.name.removesuffix(" requests").removeprefix("shared "),
                    *(cell for pair in pairs for cell in (count(pair.counted), count(pair.measured), difference(pair))),
                    *(maybe(hundredths, value) for value in of_request.both),
                    case.explanation(kind),
                ]
            )
    head = ["kernel", "access", "requests, counted", "measured", "difference", "wavefronts, counted", "measured"]
    head += ["difference", "conflicts a request, counted", "measured", "why"]
    return f"**Shared memory**\n\n{table(head, rows, left=2)}"


def dram_table(comparison: counts.Comparison, page: Path) -> str:
    rows = []
    for case in comparison.cases:
        to_sm, nearest = case.pair(counts.L2_TO_SM.name), case.nearest_dram
        bar = counts.DRAM_BAR if case.counted.exceeds_l2 else None
        rows.append(
            [
                linked(case.id, page),
                count(to_sm.counted) + "B",
                maybe(lambda value: count(value) + "B", to_sm.measured),
                difference(to_sm),
                *(count(case.dram(schedule).counted) + "B" for schedule in counts.SCHEDULES),
                maybe(lambda value: count(value) + "B", case.dram_measured),
                *(difference(case.dram(schedule)) for schedule in counts.SCHEDULES),
                difference(nearest, bar),
            ]
        )
    head = ["kernel", "L2 to SMs, counted", "measured", "difference", "DRAM, in step", "in turn", "measured"]
    head += ["in step differs by", "in turn by", "the nearer by"]
    return f"**From the L2 and from DRAM**\n\n{table(head, rows)}"


def verdict(what: str, missed: dict[str, list[str]], known: int) -> str:
    if not known:
        return f"{what}: nothing was measured."
    if not missed:
        return f"{what}: all {known} measured kernels."
    names = "; ".join(f"`{kernel}` ({', '.join(items)})" for kernel, items in missed.items())
    return f"{what}: {known - len(missed)} of {known} measured kernels, not {names}."


def verdicts(comparison: counts.Comparison) -> str:
    of_global: dict[str, list[str]] = {}
    of_dram: dict[str, list[str]] = {}
    known = [case for case in comparison.cases if case.dram_measured is not None]
    for case in known:
        missed = [q.name for q in counts.GLOBAL if case.pair(q.name).within(counts.GLOBAL_BAR) is False]
        if missed:
            of_global[case.id] = missed
        if not case.nearest_dram.within(counts.DRAM_BAR):
            between = ", between the two" if case.dram_lies_between else ""
            of_dram[case.id] = [difference(case.nearest_dram) + between]
    lines = [
        verdict(
            f"Global requests and sectors within {100 * counts.GLOBAL_BAR:g} % of those measured", of_global, len(known)
        )
    ]
    if comparison.cases[0].counted.exceeds_l2:
        text = f"DRAM bytes of the nearer schedule within {100 * counts.DRAM_BAR:g} %"
        lines.append(verdict(text, of_dram, len(known)))
    else:
        lines.append("DRAM: no bar, as the matrices fit in the L2.")
    return "\n".join(f"- {line}" for line in lines)


def validation(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    comparison = folder.counted(one_size(arguments))
    return "\n\n".join(
        [
            sources_line(comparison),
            verdicts(comparison),
            global_table(comparison, page),
            shared_table(comparison, page),
            dram_table(comparison, page),
        ]
    )


def plain_count(value: float) -> str:
    """Few as they are, many in short."""
    return f"{value:g}" if value < 10_000 and value == int(value) else count(value)


Row = tuple[str, float | None, float | None, Callable[[float], str]]


def rows_of(case: counts.Case) -> list[Row]:
    """A title, the counted and the measured value, and how to write them."""
    rows: list[Row] = []

    def add(title: str, pair: counts.Pair, form: Callable[[float], str] = significant) -> None:
        rows.append((title, pair.counted, pair.measured, form))

    def only(title: str, value: float | None, form: Callable[[float], str] = significant) -> None:
        rows.append((title, value, None, form))

    counted, values = case.counted, case.counted.counts
    for array in ("a", "b"):
        only(f"times each element of {array.upper()} is read", values["reads_per_element"][array], plain_count)
    asked = counted.of("global_loads", "global_stores", "async_copies", field="bytes")
    only("bytes asked of global memory per element of C", asked / counted.elements, plain_count)
    for what in ("global load", "global store"):
        requests, sectors = case.pair(f"{what} requests"), case.pair(f"{what} sectors")
        add(f"{what} requests", requests, count)
        per_request = [counts.ratio(s, r) for s, r in zip(sectors.both, requests.both, strict=True)]
        add(f"sectors per {what} request", counts.Pair(*per_request))
    for kind in counts.SHARED:
        requests, wavefronts, conflicts = counts.SHARED[kind]
        what = requests.name.removesuffix(" requests")
        made = kind in case.accesses()
        add(requests.name, case.pair(requests.name) if made else counts.NOTHING, count)
        add(f"wavefronts per {what}", case.per_request(kind, wavefronts) if made else counts.NOTHING, hundredths)
        add(f"conflicts per {what}", case.per_request(kind, conflicts) if made else counts.NOTHING, hundredths)
    only("arrivals of a warp at a barrier", values["barriers"], count)
    add("FLOP", case.pair(counts.FLOPS.name), count)
    l2 = case.pair(counts.L2_TO_SM.name)
    in_bytes: Callable[[float], str] = lambda value: f"{count(value)}B"  # noqa: E731
    add(counts.L2_TO_SM.name, l2, in_bytes)
    for schedule in counts.SCHEDULES:
        add(f"DRAM bytes, blocks {schedule.replace('_', ' ')}", case.dram(schedule), in_bytes)
    flops = case.pair(counts.FLOPS.name).counted
    only("FLOP per byte asked of global memory", counts.ratio(flops, asked))
    return rows


def counts_of_kernels(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    comparison = folder.counted()
    cases = [comparison.case(name) for name in folder.ids(arguments)]
    by_title: dict[str, dict[str, tuple[str, str]]] = {}
    for case in cases:
        for title, counted, measured, form in rows_of(case):
            by_title.setdefault(title, {})[case.id] = (maybe(form, counted), maybe(form, measured))
    rows = [[title, *(cell for case in cases for cell in cells[case.id])] for title, cells in by_title.items()]
    rows = [row for row in rows if any(row[1:])]
    head = [" ", *(text for case in cases for text in (f"{linked(case.id, page)} counted", "measured"))]
    executed = ", ".join(
        f"{case.counted.counts['blocks_executed']} of {case.counted.counts['blocks']}" for case in cases
    )
    return f"{table(head, rows)}\n\n{sources_line(comparison)} Blocks executed: {executed}."


KINDS = {
    "global_load": "global load",
    "global_store": "global store",
    "shared_load": "shared load",
    "shared_store": "shared store",
    "async_copy": "asynchronous copy",
    "flops": "arithmetic",
}


def lines_of_kernels(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    comparison = folder.counted()
    parts: list[tuple[str, str]] = []
    for name in folder.ids(arguments):
        case = comparison.case(name)
        rows = []
        for line in case.counted.counts["lines"]:
            requests = line.get("requests") or None
            rows.append(
                [
                    f"`{line['file']}:{line['line']}`",
                    KINDS[line["kind"]],
                    f"`{line['array']}`" if line.get("array") else "",
                    maybe(count, requests),
                    maybe(significant, counts.ratio(line.get("sectors") or None, requests)),
                    maybe(significant, counts.ratio(line.get("wavefronts") or None, requests)),
                    maybe(significant, counts.ratio(line.get("conflicts") or None, requests)),
                    maybe(count, line.get("flops") or None),
                ]
            )
        head = ["line", "what it does", "where", "requests", "sectors a request", "wavefronts a request"]
        head += ["conflicts a request", "FLOP"]
        parts.append((f"`{name}`", table(head, rows, left=3)))
    texts = [parts[0][1]] if len(parts) == 1 else [text for part in parts for text in part]
    return "\n\n".join([*texts, f"{sources_line(comparison).partition(';')[0]}."])


def reads(folder: Folder, arguments: Sequence[str], page: Path) -> str:
    if arguments:
        raise ResultsError("reads takes no argument")
    comparison = folder.counted()
    rows = []
    for case in comparison.cases:
        if case.id not in counts.TILES:
            raise ResultsError(f"counts.py does not know the tiles of {case.id}")
        m, n, _ = case.counted.record.shape
        tile, expected = counts.TILES[case.id], counts.expected_reads(case.id, m, n)
        cells = [linked(case.id, page)]
        for array, letter, extent, length in (("a", "N", n, tile.columns), ("b", "M", m, tile.rows)):
            by_hand = letter if length == 1 else f"{letter} / {length}"
            rounded = ", rounded up," if extent % length else ""
            cells += [f"{by_hand}{rounded} = {expected[array]}", f"{case.counted.counts['reads_per_element'][array]:g}"]
        rows.append(cells)
    head = ["kernel", "an element of A, by hand", "counted", "an element of B, by hand", "counted"]
    return f"{table(head, rows)}\n\nM = N = K = {comparison.size}."


BLOCKS: dict[str, Callable[[Folder, Sequence[str], Path], str]] = {
    "ladder": ladder,
    "sweep": sweep,
    "shapes": shapes,
    "chapter": chapter,
    "resources": resources,
    "environment": environment,
    "counters": counters,
    "claims": claims,
    "errors": errors,
    "chart": chart,
    "validation": validation,
    "counts": counts_of_kernels,
    "lines": lines_of_kernels,
    "reads": reads,
}


def generate(header: str, folder: Folder, page: Path) -> str:
    name, *arguments = header.split() or [""]
    if name not in BLOCKS:
        raise ResultsError(f"there is no block {name!r}; there are {', '.join(BLOCKS)}")
    try:
        return BLOCKS[name](folder, arguments, page)
    except NotMeasured as reason:
        return f"Not measured yet: {str(reason).partition(';')[0].replace(str(folder.path), 'the results')}."


def rewrite(text: str, folder: Folder, page: Path) -> str:
    """The page with every block generated anew. Raises ResultsError, naming the line, for a block that is not right."""
    output: list[str] = []
    opened: int | None = None
    fence: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        mark = FENCE.match(line)
        if opened is None and mark:
            if fence is None:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = None
        if fence is not None:
            output.append(line)
        elif start := START.match(line):
            if opened is not None:
                raise ResultsError(f"{page}:{opened}: the block has no end marker before line {number}")
            try:
                block = generate(start[1], folder, page)
            except ResultsError as error:
                raise ResultsError(f"{page}:{number}: {error}") from None
            opened = number
            output += [line, "", block, ""]
        elif END.match(line):
            if opened is None:
                raise ResultsError(f"{page}:{number}: an end marker without a start")
            opened = None
            output.append(line)
        elif opened is None:
            output.append(line)
    if opened is not None:
        raise ResultsError(f"{page}:{opened}: the block has no end marker")
    return "\n".join(output) + "\n"


def default_pages() -> list[Path]:
    return [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if page.exists()]


def shown(page: Path) -> str:
    return str(page.relative_to(ROOT)) if page.is_relative_to(ROOT) else str(page)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=Path, help="Markdown files (default: README.md and docs/*.md)")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "nvidia-h200", help="folder of the results")
    parser.add_argument(
        "--counts", type=Path, default=ROOT / "results" / "cpu-executor", help="folder of what the executor counted"
    )
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a block is stale")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    folder = Folder(options.results.resolve(), options.counts.resolve())
    stale = 0
    try:
        pages = [page.resolve() for page in options.pages] or default_pages()
        new = {page: (old, rewrite(old, folder, page)) for page in pages for old in [page.read_text(encoding="utf-8")]}
    except (ResultsError, OSError) as error:
        stop(error)
    for page, (before, after) in new.items():
        if before == after:
            continue
        stale += 1
        if options.check:
            names = (f"{shown(page)} (as it is)", f"{shown(page)} (generated)")
            sys.stdout.writelines(
                difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), *names)
            )
        else:
            page.write_text(after, encoding="utf-8")
            print(f"wrote {shown(page)}")
    if options.check and stale:
        print(f"{stale} of {len(new)} pages are stale: run scripts/tables.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
