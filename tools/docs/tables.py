"""Writes the tables in README.md and docs/*.md from the results, into blocks that cog fills, and the numbers in prose:

    <!-- [[[cog ladder(4096) ]]] -->
    ...
    <!-- [[[end]]] -->
    12 runs at <!--= tflops.12.4096 -->228<!--/--> TFLOP/s.

    python -m tools.docs.tables           writes the blocks and the numbers
    python -m tools.docs.tables --check   writes nothing, and prints what is stale

The methods of Blocks are the blocks. A kernel is given by its id ("05_coarse_1d", "06_coarse_2d:vectorized") or by a
chapter's number, which stands for all its variants. Where a kernel has a page and is not in the results yet, a block
says that it was not measured.

Exit status: 0 fine, 1 stale (with --check), 2 bad input.
"""

import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, wraps
from itertools import product
from operator import itemgetter
from pathlib import Path
from statistics import geometric_mean

import pandas as pd

from tools import compare, counts, forms, needs, programs, results, turns
from tools.counters import ratio
from tools.counts import Pair
from tools.docs import listing, pages
from tools.docs.values import Folders, Values
from tools.fleet import load_boards
from tools.forms import error_size, maybe, share, significant, table
from tools.results import NotMeasured, ResultsError, Row, load, one, pick, require_measured, rows_of, squares

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

Kernel = str | int


def table_of(rows: Iterable, columns: Mapping[str, Callable[..., str]], sparse: bool = False, **layout) -> str:
    """A line for each row, whose cells the columns tell. A `sparse` one has no column that is empty in all rows."""
    cells = {title: [cell(row) for row in rows] for title, cell in columns.items()}
    shown = {title: column for title, column in cells.items() if any(column) or not sparse}
    return table(list(shown), list(zip(*shown.values(), strict=True)), **layout)


def merged(rows: Iterable[tuple[str, Sequence[str]]]) -> list[list[str]]:
    """One row for all names that have the same cells, each name once."""
    names: dict[tuple[str, ...], list[str]] = {}
    for name, cells in rows:
        of = names.setdefault(tuple(cells), [])
        of += [name] * (name not in of)
    return [[", ".join(of), *cells] for cells, of in names.items()]


def table_by_mode(head: str, rows: Sequence[Sequence[str]]) -> str:
    """Rows with a cell for each of programs.MODES. A mode that no program ran has no column."""
    titles = [head, *programs.MODES.values()]
    return table_of(rows, {title: itemgetter(place) for place, title in enumerate(titles)}, sparse=True)


def tflops(row: Row | None) -> str:
    if row is None:
        return ""
    return significant(row.tflops) if row.measured else row.outcome.replace("_", " ")


THROTTLED = "†"


def speed(row: Row | None) -> str:
    """TFLOP/s, with marks that `notes` explains."""
    if row is None or not row.measured:
        return tflops(row)
    few = "" if pd.isna(row.few_samples) else f" ({row.few_samples:.0f} samples)"
    return tflops(row) + few + f" {THROTTLED}" * (row.throttled is True)


def with_notes(text: str, rows: Iterable[Row], *more: str) -> str:
    """A table, and what the marks in its speeds mean, those that occur."""
    measured, lines = [row for row in rows if row.measured], [text]
    if throttled := [row for row in measured if row.throttled is True]:
        ends = [row.telemetry["end"] for row in throttled if isinstance(row.telemetry, dict)]
        reasons = dict.fromkeys(f"`{reason}`" for end in ends for reason in end["throttle_reasons"])
        why = f" ({', '.join(reasons)})" if reasons else ""
        lines.append(f"{THROTTLED} The driver reported a limit on the clock{why} when this measurement ended.")
    if few := [row for row in measured if not pd.isna(row.few_samples)]:
        level = few[0].context["protocol"].get("confidence", results.CONFIDENCE)
        too_small = f"below {results.least_samples(level)}, too small for a {100 * level:g} % interval of the median"
        lines.append(f"A number of samples in parentheses is {too_small}.")
    return "\n\n".join([*lines, *more])


def by_shape(shape: tuple) -> tuple:
    """The order of problems: squares first, by their size."""
    return len(set(shape)) > 1, shape


def of_cublas(row: Row) -> str:
    return share(1.0 if row.kernel == "cublas" and row.measured else row.of_cublas)


def source_of(context: Mapping) -> str:
    return f"commit {context['git_commit'][:12]}"


def resources_line(row: Row) -> str:
    text = (
        f"{row.threads_per_block:.0f} threads a block, {row.registers:.0f} registers a thread, "
        f"{row.smem_bytes:.0f} B of shared memory, {row.blocks_per_sm:.0f} blocks an SM"
    )
    text += maybe(lambda value: f" (occupancy {share(value)})", row.occupancy)
    return text + (f", {row.spill_bytes:.0f} B of local memory a thread." if row.spill_bytes else ", no spills.")


def difference(pair: Pair) -> str:
    """Of a count from a measurement, in per cent."""
    return "only counted" if pair.difference is None else f"{100 * pair.difference:+.1f} %".replace("-", "−")


def verdict(what: str, missed: dict[str, str], known: int) -> str:
    if not known:
        return f"- {what}: nothing was measured."
    if not missed:
        return f"- {what}: all {known} measured kernels."
    names = "; ".join(f"`{kernel}` ({items})" for kernel, items in missed.items())
    return f"- {what}: {known - len(missed)} of {known} measured kernels, not {names}."


# What became of a checked case, in a word.
VERDICTS = {"executed": "right", "incorrect": "wrong", "failed": "wrong", "not_supported": "not supported"}


def complaint(row: Row | None) -> str:
    """What a check reported, with its line, but without what differs from run to run: which thread came first, and
    where it was."""
    if row is None:
        return ""
    if local := re.search(r"thread \S+ (has written .*) \((?:.*/)?(.*:\d+)\)", row.reason):
        return f"`{local[2]}`: {local[1]}"
    place = re.search(r"([^/\s]+:\d+) in .*?\)( \[with .*?\])?: (.*)", row.reason)
    text = place[3] if place else row.reason
    text = re.sub(r" at row -?\d+, column -?\d+ of", " of", text)
    text = re.sub(r" at 0x[0-9a-f]+,? ", " ", text)
    text = re.sub(r", which \d+ of \d+ threads reach.*", ", which not all threads reach", text)
    text = re.sub(r", which has \d+ rows of \d+", "", text).partition(";")[0].replace("|", "or")
    return f"`{place[1]}`: {text}" if place else text


ERROR_FILES = ("cold.json", results.SHAPES_FILE, results.TENSOR_SHAPES_FILE, results.ACCURACY_FILE)
LESS_ACCURATE = 1.01  # from which ratio of errors on a kernel is called less accurate
RATIOS = ("vs_cublas", "vs_cublas_alone")
OF_LAYOUT = {"nt": "A B^T", "nn": "A B", "tn": "A^T B", "tt": "A^T B^T"}
PRODUCTS = ("squares", "batches", "at most 128 rows", *OF_LAYOUT.values())  # kinds of products of the library


def kind_of_product(row: Row) -> str:
    if row.batch > 1:
        return "batches"
    m, n, k = row.shape[:3]
    return "squares" if m == n == k else "at most 128 rows" if m <= 128 else OF_LAYOUT[row.ops]


def errors_of(row: Row | None) -> dict[str, float]:
    """The errors of a case that have a value, by measure."""
    if row is None:
        return {}
    compared = row.accuracy if isinstance(row.accuracy, dict) else {}
    found = {"relative": row.rel_err, "componentwise": compared.get("componentwise_err")}
    return {measure: value for measure, value in found.items() if not pd.isna(value)}


def error_cell(row: Row | None, measure: str) -> str:
    if row is None:
        return ""
    if not isinstance(row.accuracy, dict):
        return row.outcome.replace("_", " ")
    if row.data in ("inf", "nan"):  # the places of Inf and NaN are told instead of an error
        wrong = row.accuracy["non_finite_wrong"]
        text = f"{wrong} differ" if wrong else "match"
    else:
        value = errors_of(row).get(measure)
        text = "infinite" if value is None else error_size(value) if value else "0"
    return text if row.verified else f"{text} ({'incorrect' if row.outcome == 'incorrect' else 'not promised'})"


def noise_line(cold: pd.DataFrame) -> str:
    """How far cuBLAS is from itself."""
    own = pick(cold, kernel="cublas").dropna(subset=list(RATIOS))
    if own.empty:
        return ""
    paired, alone = (f"{100 * own[field].min():.1f} to {100 * own[field].max():.1f} %" for field in RATIOS)
    sizes = f"squares from {own.side.min()} to {own.side.max()}"
    return f"cuBLAS against itself is at {paired} in pairs, and at {alone} of cuBLAS alone ({sizes})"


@cache
def chapters() -> dict[str, dict]:
    """What ladder.toml says about each chapter, by id."""
    return tomllib.loads(Path(__file__).with_name("ladder.toml").read_text(encoding="utf-8"))


class Blocks:
    """The blocks of one page: its public methods."""

    def __init__(self, folders: Folders, page: Path):
        self._folders, self._page = folders, page

    def _ids(self, kernels: Sequence[Kernel]) -> list[str]:
        """The kernels that a block's arguments name."""
        cold = self._folders.cold
        found: list[str] = []
        for kernel in kernels:
            matches = cold.kernel[cold.number == kernel if isinstance(kernel, int) else cold.kernel == kernel]
            if matches.empty:
                kind = NotMeasured if pages.has_page(kernel) else ResultsError
                known = ", ".join(cold.kernel.unique())
                raise kind(f"there is no kernel {kernel} in {self._folders.path}; it has {known}")
            found += matches.to_list()
        if not found:
            raise ResultsError("the block names no kernel")
        return list(dict.fromkeys(found))

    def _demand(self, kernels: Sequence[str], known: Sequence[str], file: str) -> None:
        if missing := [kernel for kernel in kernels if kernel not in known]:
            kind = NotMeasured if all(map(pages.has_page, missing)) else ResultsError
            raise kind(f"{file} holds nothing about {', '.join(missing)}; it has {', '.join(known)}")

    def _linked(self, kernel: str) -> str:
        """The kernel's name, as a link to its chapter's page where there is one that is not this page."""
        target = pages.ROOT / "docs" / f"{kernel.partition(':')[0]}.md"
        if not target.exists() or target == self._page:
            return f"`{kernel}`"
        inside = target.name if self._page.parent == target.parent else f"docs/{target.name}"
        return f"[`{kernel}`]({inside})"

    def _at(self, size: int) -> list[Row]:
        if rows := list(rows_of(pick(self._folders.cold, None, side=size))):
            return rows
        raise ResultsError(f"{self._folders.path} holds no cold measurement at {size}")

    def _summary(self, kernel: str) -> str:
        return self._folders.summaries.get(kernel, "")

    def ladder(self, size: int) -> str:
        """A row for each chapter at one size, with what ladder.toml says about it, and cuBLAS."""
        shown = [row for row in self._at(size) if not row.variant and (row.kernel == "cublas" or row.is_chapter)]
        about = {row.kernel: chapters().get(row.kernel, {}) for row in shown}
        columns = {
            "chapter": lambda row: self._linked(row.kernel) + " (detour)" * about[row.kernel].get("detour", False),
            "idea": lambda row: about[row.kernel].get("idea", self._summary(row.kernel)),
            "TFLOP/s": speed,
            "of cuBLAS": of_cublas,
            "why": lambda row: about[row.kernel].get("why", ""),
        }
        return with_notes(table_of(shown, columns, left=2, text_last=True), shown)

    def all_variants(self, size: int) -> str:
        """Every kernel at one size."""
        columns = {
            "kernel": lambda row: self._linked(row.kernel),
            "what it does": lambda row: self._summary(row.kernel),
            "TFLOP/s": speed,
            "of cuBLAS": of_cublas,
            "relative error": lambda row: maybe(error_size, row.rel_err),
        }
        return with_notes(table_of(self._at(size), columns, left=2), self._at(size))

    def across_boards(self, kernel: str, files: Sequence[str]) -> str:
        """Speeds of a kernel on several boards, one for each file, at the squares of the first file."""
        boards = [
            board._replace(rows=pick(board.rows, kernel=kernel).dropna(subset=["side"]))
            for board in load_boards(require_measured(self._folders.path, file) for file in files)
        ]
        sides = boards[0].rows.side
        same = [board._replace(rows=board.rows[board.rows.side.isin(sides)]) for board in boards]
        return compare.across(same, "time").partition("\n\n")[2]

    def devices(self, size: int, *kernels: str) -> str:
        """A column for each board with results here: its ceilings, the kernels at one size, and its calibration."""
        columns = [["", "compute capability", "SMs", "FP32 peak", "DRAM peak, TB/s", *kernels, "calibrated"]]
        for path in sorted(self._folders.path.parent.glob("*/cold.json")):
            cases = load([path])
            gpu, file = results.device_of(cases), path.parent / results.CALIBRATION_FILE
            peak = f"{gpu['fp32_peak_gflops'] / 1e3:.1f}" if "fp32_peak_gflops" in gpu else "-"
            facts = [gpu["name"], gpu["compute_capability"], f"{gpu['multiprocessors']}", peak]
            speeds = [tflops(one(cases, kernel=name, side=size)) for name in kernels]
            calibrated = results.read_calibration(file)["date"][:10] if file.exists() else "none yet"
            columns.append([*facts, f"{gpu['dram_peak_gbytes_s'] / 1e3:.2f}", *speeds, calibrated])
        head, *rows = zip(*columns, strict=True)
        return table(head, rows)

    def sweep(self, *kernels: Kernel, file: str = "", errors: bool = False) -> str:
        """TFLOP/s, or relative errors, of the kernels over the sizes, of every kernel where none are named: of the cold
        sweep, or of squares in a file, which may be another device's ("../FOLDER/FILE")."""
        found = squares(self._folders.file(file)) if file else self._folders.cold
        known = list(found.kernel.unique())
        if file:
            self._demand([str(kernel) for kernel in kernels], known, file)
        names = (list(kernels) if file else self._ids(kernels)) if kernels else known
        sides = sorted(found.side.unique())
        cases = {(row.kernel, row.side): row for row in rows_of(found)}
        written = (lambda row: maybe(error_size, row and row.rel_err)) if errors else speed
        rows = [[self._linked(name), *(written(cases.get((name, side))) for side in sides)] for name in names]
        marked = [row for row in cases.values() if row.kernel in names and not errors]
        context = found.context.iloc[0]
        source = [f"{context['device']['name']}, cold L2, {source_of(context)}."] if file else []
        text = table(["relative error" if errors else "TFLOP/s", *map(str, sides)], rows)
        return with_notes(text, marked, *source)

    def shapes(self, kernel: str, *others: str, file: str = results.SHAPES_FILE) -> str:
        """The kernel at every problem of the file, square or not, with the configuration that it took, beside the
        ratios of the others."""
        found = self._folders.file(file)
        self._demand([kernel, *others], list(found.kernel.unique()), file)
        cases = {(row.kernel, row.shape): row for row in rows_of(found)}
        own = sorted((row for row in cases.values() if row.kernel == kernel), key=lambda row: by_shape(row.shape))

        def of(name: str, row: Row, column: str) -> float | None:
            """What another kernel has at the same problem."""
            return getattr(cases.get((name, row.shape)), column, None)

        def lead(row: Row) -> float | None:
            return ratio(of("cublaslt_best", row, "microseconds"), row.microseconds)

        columns = {
            "M x N x K": lambda row: forms.shape_text(row.shape),
            "configuration": lambda row: row.detail.removesuffix(", by cost model") if row.measured else "",
            "time": lambda row: maybe(forms.duration, row.microseconds),
            "TFLOP/s": speed,
            "of cuBLAS": lambda row: share(row.of_cublas),
            "of the best of cuBLASLt": lambda row: share(lead(row)),
            **{
                f"{self._linked(name)}, of cuBLAS": lambda row, name=name: share(of(name, row, "of_cublas"))
                for name in others
            },
        }
        context = own[0].context
        source = f"`{kernel}`, {context['protocol']['l2']} L2, {source_of(context)}. One number stands for M = N = K. "
        source += "Ratios to cuBLAS are the smaller of paired and alone, those to cuBLASLt are ratios of median times."
        return with_notes(table_of(own, columns, sparse=True, left=2), own, source)

    def chapter(self, *kernels: Kernel) -> str:
        """The first kernel at every size, and folded a table of its own for each, with its resources."""
        names = self._ids(kernels)
        first = list(rows_of(pick(self._folders.cold, None, kernel=names[0])))
        columns = {"M = N = K": lambda row: str(row.side), "TFLOP/s": speed, "of cuBLAS": of_cublas}
        shown = [f"`{names[0]}`", with_notes(table_of(first, columns, left=0), first)]
        rest = ["<details>\n<summary>Times, both ratios, errors and resources</summary>"]
        rest += [self._sizes(name, open_above=name == names[0]) for name in names]
        return "\n\n".join([*shown, *rest, "</details>"])

    def _sizes(self, kernel: str, open_above: bool) -> str:
        """Without the speeds where a table above has them: with their shares of the FP32 peak instead."""
        records = pick(self._folders.cold, None, kernel=kernel)
        columns = {
            "M = N = K": lambda row: str(row.side),
            "time": lambda row: maybe(forms.duration, row.microseconds),
            # A kernel that does not multiply on the FP32 units has no share of their peak.
            "of FP32 peak": lambda row: maybe(forms.percent, row.percent_of_peak) if open_above else "",
            "TFLOP/s": lambda row: "" if open_above else speed(row),
            "of cuBLAS, paired": lambda row: share(row.vs_cublas),
            "of cuBLAS, alone": lambda row: share(row.vs_cublas_alone),
            "relative error": lambda row: maybe(error_size, row.rel_err),
        }
        title = f"`{kernel}`" + (f": {summary}" if (summary := self._summary(kernel)) else "")
        resources = [resources_line(row) for row in rows_of(records.dropna(subset="registers").tail(1))]
        rows = list(rows_of(records))
        text = table_of(rows, columns, sparse=True, left=0)
        return f"{title}\n\n" + with_notes(text, [] if open_above else rows, *resources)

    def capabilities(self) -> str:
        """Which GPUs the chapters run on."""
        groups: dict[tuple[float, float], list[int]] = {}
        for chapter in self._folders.kernels:
            if chapter["number"]:
                kernel = chapter["variants"][0]
                first, last = kernel["min_compute_capability"], kernel["max_compute_capability"]
                groups.setdefault((float(first), float(last or "inf")), []).append(chapter["number"])
        rows = []
        for (first, last), numbers in sorted(groups.items()):
            until = " and later" if last == float("inf") else " alone" if first == last else f" to {last}"
            rows.append([f"{first}{until}", ", ".join(forms.chapters_name(numbers))])
        return table(["compute capability", "chapters"], rows, left=2)

    def environment(self) -> str:
        """The machine, the build and the protocol."""
        context = self._folders.cold.context.iloc[0]
        device, build, protocol = context["device"], context["build"], context["protocol"]
        if not device:
            raise ResultsError(f"{self._folders.path} has no results of a GPU")
        commit = source_of(context) + " with changes" * context["git_dirty"]
        rows = {
            "measured": f"{context['date']}, {commit}, {context['library']}",
            "GPU": f"{device['name']}, compute capability {device['compute_capability']}, "
            f"{device['multiprocessors']} SMs, L2 {forms.mebibytes(device['l2_bytes'])}, "
            f"memory {forms.mebibytes(device['memory_bytes'])}",
            "driver, CUDA, cuBLAS": f"{device.get('driver', 'unknown')}, {context['cuda_runtime']}, "
            f"{context['cublas_version']} ({context['cublas_math_mode']})",
            "FP32 peak": maybe(
                lambda peak: f"{peak / 1e3:.1f} TFLOP/s ({device['fp32_peak_basis']})", device.get("fp32_peak_gflops")
            ),
            "DRAM peak": f"{device['dram_peak_gbytes_s'] / 1e3:.2f} TB/s ({device['dram_peak_basis']})",
            "host": f"{context['cpu']}, {context['num_cpus']} logical CPUs",
            "build": f"{build['cxx_compiler']}, nvcc {build['nvcc']}, architectures {build['cuda_architectures']}, "
            f"{build['build_type']}, `{build['nvcc_flags']}`",
            "protocol": f"{protocol['l2']} L2, {protocol['data']} data (seed {protocol['seed']}), "
            f"alpha {protocol['alpha']:g}, beta {protocol['beta']:g}, "
            f"{protocol['min_samples']} to {protocol['max_samples']} samples, until the median's "
            f"{100 * protocol['confidence']:g} % interval is within {100 * protocol['target_ci']:g} %; "
            f"fewer where {protocol['max_seconds']:g} s are used up",
            "noise": noise_line(self._folders.cold),
            "verified": "yes" if protocol["verify"] else "no",
        }
        return table(["", ""], [row for row in rows.items() if row[1]], left=2)

    def noise(self) -> str:
        """cuBLAS against itself, which should be 100 %."""
        own = pick(self._folders.file("cold.json"), kernel="cublas").dropna(subset=list(RATIOS))
        columns = {
            "M x N x K": lambda row: forms.shape_text(row.shape),
            "cuBLAS in pairs with cuBLAS": lambda row: share(row.vs_cublas),
            "cuBLAS in pairs against cuBLAS alone": lambda row: share(row.vs_cublas_alone),
            "samples": lambda row: f"{len(row.samples_us)}",
        }
        return f"{table_of(list(rows_of(own)), columns)}\n\ncold L2, `cold.json`."

    def energy(self, size: int) -> str:
        """A row for each kernel of energy.json: what its turn at one size took, and how it compares with cuBLAS's turn
        beside it."""
        cases = pick(squares(self._folders.file(results.ENERGY_FILE)), side=size)
        if cases.empty:
            raise ResultsError(f"{results.ENERGY_FILE} holds nothing at {size}")
        rows = []
        for row in rows_of(cases):
            own, rival = row.energy["kernel"], row.energy["cublas"]
            cells = [self._linked(row.kernel), significant(own["gflops"] / 1e3), maybe(forms.whole, own.get("watts"))]
            cells += [maybe(forms.whole, own["trace"].get("mean_sm_clock_mhz")), share(own["trace"]["throttled_share"])]
            joules, joules_of_rival = (turn.get("joules_per_product") for turn in (own, rival))
            cells += [maybe(forms.joules, joules), maybe(significant, own.get("gflops_per_watt"))]
            rows.append([*cells, share(ratio(joules, joules_of_rival))])
        head = ["kernel", "TFLOP/s", "W", "SM clock, MHz", "time with a lower clock", "a product", "GFLOP/J"]
        unknown = (turn.get("no_energy") for energy in cases.energy for turn in (energy["kernel"], energy["cublas"]))
        reasons = [f"Without energy: {reason}." for reason in dict.fromkeys(filter(None, unknown))]
        return "\n\n".join([table([*head, "energy, of cuBLAS's"], rows), *reasons, self._turns_source(cases)])

    def energies(self) -> str:
        """GFLOP/J over the sizes of energy.json, with the energy of a product in per cent of cuBLAS's."""
        cases = squares(self._folders.file(results.ENERGY_FILE))
        cases = cases[cases.measured]
        sides = sorted(cases.side.unique())

        def cell(energy: Mapping) -> str:
            own, rival = (energy[of].get("gflops_per_watt") for of in ("kernel", "cublas"))
            return f"{significant(own)} ({100 * rival / own:.0f}\u00a0%)" if own and rival else ""  # does not break

        of_case = {(row.kernel, row.side): cell(row.energy) for row in rows_of(cases)}
        names = dict.fromkeys(cases.kernel)
        rows = [[self._linked(name), *(of_case.get((name, side), "") for side in sides)] for name in names]
        head = ["GFLOP/J (energy, of cuBLAS's)", *map(str, sides)]
        return f"{table(head, rows)}\n\n{self._turns_source(cases)}"

    def sustained(self) -> str:
        """A row for each kernel of sustained.json at its largest size, and for cuBLAS beside the first: the speed of a
        burst with the same state of the L2, that of the first and of the last second, and how the GPU ended."""
        cases = pick(squares(self._folders.file(results.SUSTAINED_FILE)), "sustained")
        cases = cases[cases.side == cases.side.max()]
        bursts = {row.kernel: row for row in rows_of(pick(self._folders.file("warm.json"), side=cases.side.max()))}
        flops = 2.0 * cases.side.max() ** 3
        rows = []
        for row in rows_of(cases):
            turn, rival, short = row.sustained["kernel"], row.sustained.get("cublas"), bursts.get(row.kernel)
            first, last = turns.ends_of(turn, flops)
            moment = turns.moments(turn, flops, max(1, round(turn["seconds"])))[-1]
            cells = [self._linked(row.kernel), tflops(short), significant(first), significant(last)]
            cells.append(share(last / short.tflops) if short else "")
            cells.append(share(last / turns.ends_of(rival, flops)[1] if rival else 1.0))
            ends = (moment.get("mhz"), moment.get("watts"), turns.last_temperature(turn))
            rows.append([*cells, *(maybe(forms.whole, value) for value in ends)])
        head = ["TFLOP/s", "burst", "first second", "last second", "last of burst", "last of cuBLAS", "MHz", "W", "°C"]
        asked = cases.context.iloc[0]["protocol"]["sustain_s"]
        text = f"M = N = K = {cases.side.max()}, {asked:g} s for each. Bursts are those of `warm.json`"
        if len({one["git_commit"] for row in bursts.values() for one in (row.context, cases.context.iloc[0])}) > 1:
            text += f", of another {source_of(next(iter(bursts.values())).context)}"
        text += ". MHz, W and °C are of the last second."
        return f"{table(head, rows)}\n\n{text} {self._turns_source(cases)}"

    def _turns_source(self, cases: pd.DataFrame) -> str:
        context = cases.context.iloc[0]
        return f"Back to back, with a warm L2; {context['device']['name']}, {source_of(context)}."

    def counters(self, *kernels: Kernel, file: str = results.COUNTERS_FILE) -> str:
        """Nsight Compute's counters of the kernels."""
        document = results.load_counters(require_measured(self._folders.path, file))
        names, derived = self._ids(kernels), document["derived"]
        self._demand(names, list(derived), file)
        rows = [
            [title, *(maybe(form, derived[n].get(field)) for n in names)] for title, field, form in forms.COUNTER_ROWS
        ]
        context = document["context"]
        source = f"Nsight Compute {context['ncu']}, {context['device']}, M = N = K = {context['size']}, one launch."
        head = [" ", *(f"`{name}`" for name in names)]
        return f"{table(head, [row for row in rows if any(row[1:])])}\n\n{source}"

    def launches(self, *kernels: Kernel, file: str = results.COUNTERS_FILE) -> str:
        """A row for each launch of products that take several, in their order, from Nsight Compute."""
        document = results.load_counters(require_measured(self._folders.path, file))
        names, launches = self._ids(kernels), document.get("launches", {})
        if missing := [name for name in names if name not in launches]:
            raise NotMeasured(f"{file} holds no launches of {', '.join(missing)}")
        whole = {name: sum(launch["derived"]["time_us"] or 0 for launch in launches[name]) for name in names}
        rows = [launch["derived"] | {"kernel": name, **launch} for name in names for launch in launches[name]]
        columns = {
            "kernel": lambda of: self._linked(of["kernel"]),
            "launch": lambda of: f"`{of['function'].partition('<')[0].rpartition('::')[2]}`",
            "time": lambda of: maybe(forms.duration, of["time_us"]),
            "of all": lambda of: share(ratio(of["time_us"], whole[of["kernel"]])),
            "DRAM bytes": lambda of: maybe(forms.in_bytes, of.get("dram_bytes")),
            "DRAM throughput": lambda of: maybe(lambda value: f"{significant(value)} GB/s", of.get("dram_gbytes_s")),
            "tensor cores busy": lambda of: maybe(forms.percent, of.get("tensor_pipe_percent")),
        }
        context = document["context"]
        source = f"Nsight Compute {context['ncu']}, M = N = K = {context['size']}."
        return f"{table_of(rows, columns, left=2)}\n\n{source} Each launch runs alone, with empty caches."

    def errors(self, size: int, measure: str = "relative") -> str:
        """Relative or componentwise errors by kernel and distribution, from accuracy.json."""
        if measure not in ("relative", "componentwise"):
            raise ResultsError(f"errors are relative or componentwise, not {measure}")
        records = pick(self._folders.file(results.ACCURACY_FILE), None, side=size)
        if records.empty:
            raise ResultsError(f"{results.ACCURACY_FILE} holds nothing at {size}")
        compared = records.dropna(subset="accuracy")
        context, kinds = records.context.iloc[0], records.context.iloc[0]["protocol"]["data"]
        cases = {(row.kernel, row.data): row for row in reversed(list(rows_of(records)))}
        cells = {
            kernel: [error_cell(cases.get((kernel, kind)), measure) for kind in kinds]
            for kernel in compared.kernel.unique()
        }
        shown = [name for name in cells if ":" not in name or cells[name] != cells.get(name.partition(":")[0])]
        rows = merged((self._linked(name), cells[name]) for name in shown)
        conditions = {case.data: case.accuracy.get("condition") or None for case in rows_of(compared)}
        rows.append(["condition", *(maybe(significant, conditions.get(kind)) for kind in kinds)])
        device = context["device"]["name"] if context["device"] else f"{context['cpu']} (executed)"
        sampled = any(accuracy.get("full") is False for accuracy in compared.accuracy)
        over = "sampled rows and columns" if sampled else "all elements"
        source = f"M = N = K = {size}, {device}, cuBLAS {context.get('cublas_version') or 'none'}, "
        source += f"seed {context['protocol']['seed']}, {source_of(context)}; over {over}."
        if len(shown) < len(cells):
            source += " Variants that are not listed have the errors of their chapter's default."
        return f"{table([f'{measure} error', *kinds], rows)}\n\n{source}"

    code = staticmethod(listing.code)

    def less_accurate(self, *kernels: Kernel) -> str:
        """Where the kernels have a larger error than cuBLAS, in every file that holds errors of both."""
        names, rows = self._ids(kernels), []
        files = [name for name in ERROR_FILES if (self._folders.path / name).exists()]
        cases: dict[tuple, dict[str, Row]] = {}
        for file, row in ((name, row) for name in files for row in rows_of(self._folders.file(name))):
            data = row.data if isinstance(row.data, str) else row.context["protocol"]["data"]
            if data not in ("inf", "nan"):
                cases.setdefault((data, *by_shape(row.shape), file), {})[row.kernel] = row
        for name, ((data, _, shape, _), case) in product(names, sorted(cases.items(), key=lambda item: item[0])):
            library = errors_of(case.get("cublas"))
            for measure, error in errors_of(case.get(name)).items():
                if error > LESS_ACCURATE * library.get(measure, float("inf")):
                    text = error_size(error) + ("" if case[name].verified else " (not promised)")
                    cells = [forms.shape_text(shape), data, measure, text, error_size(library[measure])]
                    rows.append((self._linked(name), cells))
        rule = f"Errors above {LESS_ACCURATE:g} times cuBLAS's, of all cases in {', '.join(f'`{f}`' for f in files)}."
        head = ["kernel", "M x N x K", "operands", "error", "kernel's", "cuBLAS's"]
        return f"{table(head, merged(rows), left=4)}\n\n{rule}" if rows else f"None. {rule}"

    def many_gpus(self, *files: str) -> str:
        """A row for each product that was spread over GPUs, of files given as "FOLDER/FILE" below results/."""
        shown: dict[tuple, Row] = {}
        for file in files:
            for row in rows_of(load([self._folders.path.parent / file])):
                if isinstance(getattr(row, "spread", None), dict) and row.measured:
                    shown[row.kernel, row.shape, row.spread["gpus"]] = row
        if not shown:
            raise ResultsError(f"no file of {', '.join(files)} holds a product on several GPUs")
        rows = []
        for (kernel, shape, gpus), row in sorted(shown.items(), key=lambda item: (item[0][0], item[0][1], item[0][2])):
            spread, alone = row.spread, shown.get((kernel, shape, 1))
            faster = "" if alone is None else forms.hundredths(alone.microseconds / row.microseconds)
            received = maybe(forms.in_bytes, spread["received_bytes"] or None)
            cells = [f"`{kernel}`", forms.shape_text(shape), f"{gpus} as {spread['grid']}", speed(row), faster]
            rows.append([*cells, share(spread["of_ceiling"]), received, error_size(row.rel_err)])
        head = ["kernel", "M x N x K", "GPUs", "TFLOP/s", "times one GPU", "of the ceiling", "received", "error"]
        return with_notes(table(head, rows, left=3), shown.values())

    def exchanges(self, **files: str) -> str:
        """The speed of products on several GPUs with each exchange, given as NAME="FOLDER/FILE" below results/.
        Underscores in names stand for spaces."""
        of_file = [rows_of(load([self._folders.path.parent / file])) for file in files.values()]
        columns = [{(row.kernel, row.shape): row for row in rows if row.measured} for rows in of_file]

        def cell(row: Row | None) -> str:
            return "" if row is None else f"{speed(row)} ({share(row.spread['of_ceiling'])})"

        lines = [
            [f"`{kernel}`", forms.shape_text(shape), *(cell(column.get((kernel, shape))) for column in columns)]
            for kernel, shape in sorted({product for column in columns for product in column})
        ]
        head = ["TFLOP/s (of the ceiling)", "M x N x K", *(name.replace("_", " ") for name in files)]
        return with_notes(table(head, lines, left=2), [row for of in columns for row in of.values()])

    def other_kernels(self, *sizes: int) -> str:
        """A row for each kernel of a public repository, below its repository, with its speed and its part of cuBLAS at
        each size; before them those of the ladder that ran beside the first repository's. Where a kernel ran with
        several values of beta, the largest counts."""
        repositories = results.other_kernels(self._folders.path)
        beside = [row for row in next(iter(repositories.values()), []) if not results.is_of_file(row)]
        groups = {"the ladder": beside}
        groups |= {name: list(filter(results.is_of_file, rows)) for name, rows in repositories.items()}
        lines, shown = [], []

        def cell(row: Row | None) -> str:
            return speed(row) + (f" ({share(row.vs_cublas)})" if row is not None and row.measured else "")

        for group, cases in groups.items():
            betas = " and ".join(f"{beta:g}" for beta in sorted({results.beta_of(row) for row in cases}))
            lines.append([f"**{group}**, beta = {betas}", *[""] * len(sizes)])
            for own in of_each_kernel(cases):
                by_size = {row.side: row for row in own if row.side in sizes}
                shown += by_size.values()
                lines.append([self._short(own[0]), *(cell(by_size.get(size)) for size in sizes)])
        return with_notes(table(["TFLOP/s", *map(str, sizes)], lines), shown)

    def _short(self, row: Row) -> str:
        """The kernel's name, for kernels of files without the file where a function was chosen."""
        return f"`{results.short_name(row)}`" if results.is_of_file(row) else self._linked(row.kernel)

    def checks(self) -> str:
        """What the executor said of each kernel of a public repository, checked: a row for each kernel, a column for
        each size, one for beta = 0, and what was found first."""
        repositories = results.other_kernels(self._folders.counted)
        shapes = list(dict.fromkeys(row.shape for rows in repositories.values() for row in rows))
        shapes.sort(key=lambda shape: len(set(shape)))
        lines = []
        for repository, cases in repositories.items():
            lines.append([f"**{repository}**", *[""] * (len(shapes) + 2)])
            for own in of_each_kernel(cases):
                of_shape = {row.shape: row for row in own}
                without_beta = next((row for row in own if results.beta_of(row) == 0 and row.shape == shapes[0]), None)
                failed = (row for row in [*of_shape.values(), without_beta] if row and row.outcome == "failed")
                shown = [*map(of_shape.get, shapes), without_beta]
                verdicts = ["" if row is None else VERDICTS.get(row.outcome, row.outcome) for row in shown]
                lines.append([self._short(own[0]), *verdicts, complaint(next(failed, None))])
        head = ["kernel", *map(forms.shape_text, shapes), "beta = 0", "what is found first"]
        return table(head, lines, left=len(head))

    def programs(self) -> str:
        """What programs gain from the drop-in: times and errors by mode, of the files below programs/."""
        return table_by_mode("", programs.program_rows(self._folders.path / "programs"))

    def training(self) -> str:
        """How close the losses of long trainings are to those of cuBLAS, of the files programs/curves*.json."""
        on_average = f"on average, last {programs.LAST_STEPS} steps"
        head = ["products by", "seed", "steps", "loss of the last step", "furthest from cuBLAS", on_average]
        return table(head, programs.curve_rows(self._folders.path / "programs"))

    def library_products(self) -> str:
        """The speed of the library relative to cuBLAS by kind of product and accuracy: geometric mean and worst."""
        rows = [row for row in rows_of(self._folders.file(results.PRODUCTS_FILE)) if row.kernel != "cublas"]
        kernels = list(dict.fromkeys(row.kernel for row in rows))
        shares: dict[str, dict[str, list[float]]] = {}
        for row in rows:
            for kind in (kind_of_product(row), "all"):
                shares.setdefault(kind, {}).setdefault(row.kernel, []).append(row.of_cublas)
        lines = []
        for kind in sorted(shares, key=[*PRODUCTS, "all"].index):
            speeds = [shares[kind][kernel] for kernel in kernels]
            cells = [f"{forms.hundredths(geometric_mean(speed))} ({forms.hundredths(min(speed))})" for speed in speeds]
            lines.append([kind, str(len(speeds[0])), *cells])
        names = [f"`{kernel.removeprefix('libsgemm:')}`" for kernel in kernels]
        return table(["kind", "products", *names], lines)

    def few_rows(self) -> str:
        """Microseconds of cuBLAS and the library for each number of rows of C: a row for each kernel and matrix B."""
        rows = list(rows_of(self._folders.file(results.FEW_ROWS_FILE)))
        cases = {(row.shape[1:3], row.kernel, row.shape[0]): row for row in rows}
        numbers = sorted({m for _, _, m in cases})
        lines = [
            [f"{n} x {k}", f"`{kernel.removeprefix('libsgemm:')}`"]
            + [f"{cases[(n, k), kernel, m].microseconds:.3g}" for m in numbers]
            for (n, k), kernel in dict.fromkeys(case[:2] for case in sorted(cases))
        ]
        return with_notes(table(["N x K", "by", *map(str, numbers)], lines, left=2), rows)

    def program_errors(self) -> str:
        """The errors of PyTorch's calls by mode."""
        rows = programs.error_rows(self._folders.path / "programs")
        return table_by_mode("call", merged((row[0], row[1:]) for row in rows))

    def _drawn(self, what: str, folder: Path, name: str, text: str, of: str) -> str:
        """A picture that scripts/plot.py drew, with its alternative text; before that, a line that says so."""
        path = folder / "charts" / f"{name}.svg"
        if not path.exists():
            return f"The {what} `{path.name}` is not drawn yet: `scripts/plot.py` draws it from the {of}."
        return f"![{text}]({os.path.relpath(path, self._page.parent)})"

    def chart(self, name: str, text: str) -> str:
        return self._drawn("chart", self._folders.path, name, text, "results")

    def picture(self, name: str, text: str, title: str, *panels: Sequence) -> str:
        """What a warp touches at some accesses, which tools/plots/pictures.py draws as it says here."""
        line = self._drawn("picture", self._folders.counted, name, text, "counts")
        return textwrap.fill(line, 120, break_on_hyphens=False) if line[0] == "!" else line

    # What the executor counted, from the files counts_SIZE.json.

    def _source(self, comparison: counts.Comparison) -> str:
        """Where the counts and the measurements come from."""
        gpu = comparison.cases[0].counts["gpu_model"]["name"]
        text = f"M = N = K = {comparison.size}. Counted for {gpu} at {source_of(comparison.cases[0].row.context)}"
        if (measured := comparison.counters_context) is None:
            return f"{text}; not measured."
        return f"{text}; measured on {measured['device']} with Nsight Compute {measured['ncu']}."

    def validation(self, size: int) -> str:
        """Which bars the counts of kernels meet beside Nsight Compute's counters."""
        comparison = self._folders.comparison(size)
        known = [case for case in comparison.cases if case.dram("in_step").measured is not None]
        of_global, of_dram = {}, {}
        for case in known:
            pairs = {name: case.pair(quantity) for name, quantity in counts.GLOBAL.items()}
            if missed := [name for name, pair in pairs.items() if pair.within(counts.GLOBAL_BAR) is False]:
                of_global[case.kernel] = ", ".join(missed)
            if not case.nearest_dram.within(counts.DRAM_BAR):
                between = ", between the two" if case.dram_lies_between else ""
                of_dram[case.kernel] = difference(case.nearest_dram) + between
        bar = f"Global requests and sectors within {100 * counts.GLOBAL_BAR:g} % of those measured"
        lines = [self._source(comparison), "", verdict(bar, of_global, len(known))]
        if comparison.cases[0].exceeds_l2:
            bar = f"DRAM bytes of the nearer schedule within {100 * counts.DRAM_BAR:g} %"
            lines.append(verdict(bar, of_dram, len(known)))
        else:
            lines.append("- DRAM: no bar, as the matrices fit in the L2.")
        return "\n".join(lines)

    def counts(self, *kernels: Kernel, **tiles: tuple[int, int]) -> str:
        """The counts of single kernels beside the counters, with what can only be counted. `tiles` are the rows and
        columns of C for which an element of A or B is read once, in all variants (`tile`) or by variant; `reads`
        compares what follows from them."""
        comparison = self._folders.comparison()
        cases = [comparison.case(name) for name in self._ids(kernels)]
        columns = [
            {title: [maybe(form, value) for value in pair] for title, (pair, form) in counts.quantities(case).items()}
            for case in cases
        ]
        rows = [[title, *(cell for column in columns for cell in column[title])] for title in columns[0]]
        head = [" ", *(text for case in cases for text in (f"{self._linked(case.kernel)} counted", "measured"))]
        executed = ", ".join(f"{case.counts['blocks_executed']} of {case.counts['blocks']}" for case in cases)
        shown = table(head, [row for row in rows if any(row[1:])])
        return f"{shown}\n\n{self._source(comparison)} Blocks executed: {executed}."

    def reads(self) -> str:
        """How often each element is read, counted, and worked out by hand from the tiles that chapters' pages state."""
        comparison, tiles = self._folders.comparison(), tiles_on_pages()
        rows = []
        for case in comparison.cases:
            if (tile := tiles(case.row)) is None:
                continue
            m, n, _ = case.row.shape
            expected = counts.expected_reads(tile, m, n)
            cells = [self._linked(case.kernel)]
            for array, letter, extent, length in (("a", "N", n, tile[1]), ("b", "M", m, tile[0])):
                by_hand = letter if length == 1 else f"{letter} / {length}"
                rounded = ", rounded up," if extent % length else ""
                read = case.counts["reads_per_element"][array]
                cells += [f"{by_hand}{rounded} = {expected[array]}", f"{read:g}"]
            rows.append(cells)
        head = ["kernel", "an element of A, by hand", "counted", "an element of B, by hand", "counted"]
        return f"{table(head, rows)}\n\nM = N = K = {comparison.size}."


def of_each_kernel(cases: Sequence[Row]) -> list[list[Row]]:
    """The cases of one kernel after the other, by their beta."""
    found: dict[str, list[Row]] = {row.kernel: [] for row in cases}
    for row in sorted(cases, key=results.beta_of):
        found[row.kernel].append(row)
    return list(found.values())


BLOCKS = [name for name in vars(Blocks) if not name.startswith("_")]


def tiles_on_pages() -> Callable[[Row], tuple[int, int] | None]:
    """The tile of a kernel, as the block `counts` on its chapter's page states it."""
    stated = {call.arguments[0]: call.options for call in pages.calls("counts", BLOCKS)}

    def tile(row: Row) -> tuple[int, int] | None:
        options = stated.get(row.number, {})
        return options.get(row.variant, options.get("tile"))

    return tile


def or_not_measured(block: Callable[..., str], folder: Path) -> Callable[..., str]:
    @wraps(block)
    def wrapped(*arguments, **options) -> str:
        try:
            return block(*arguments, **options)
        except NotMeasured as reason:
            return f"Not measured yet: {str(reason).partition(';')[0].replace(str(folder), 'the results')}."

    return wrapped


def update(page: Path, folders: Folders, values: Values, check: bool) -> bool:
    """Writes a page, or checks it; returns whether it was stale. Raises ResultsError for all that is wrong with its
    markers."""
    blocks = Blocks(folders, page)
    functions = {name: or_not_measured(getattr(blocks, name), folders.path) for name in BLOCKS}
    stale = pages.run_cog(page, functions, check=check, diff=check)
    text = page.read_text(encoding="utf-8")
    filled = pages.fill(text, values.written)
    if filled.problems:
        raise ResultsError("\n".join(f"{page}:{problem}" for problem in filled.problems))
    for change in filled.changes if check else ():
        print(f"{page}:{change}")
    if filled.changes and not check:
        page.write_text(filled.text, encoding="utf-8")
    if stale or filled.changes:
        said = f"{page} is stale: run python -m tools.docs.tables" if check else f"wrote {page}"
        print(said, file=sys.stderr)
    return bool(stale or filled.changes)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = needs.parser(__doc__)
    parser.add_argument("pages", nargs="*", type=Path, help="Markdown files (default: README.md, docs/*.md), drawings")
    folder, counted = pages.ROOT / "results", "folder of what the executor counted"
    parser.add_argument("--results", type=Path, default=folder / "nvidia-h200", help="folder of the results")
    parser.add_argument("--counts", type=Path, default=folder / "cpu-executor", help=counted)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a block is stale")
    options = parser.parse_args(arguments)
    folders = Folders(options.results.resolve(), options.counts.resolve())
    values, wrong, problems = Values(folders), False, []
    for page in [page.resolve() for page in options.pages] or [*pages.all_pages(), *pages.all_drawings()]:
        try:
            wrong |= update(page, folders, values, options.check) and options.check
        except (ResultsError, OSError) as error:
            problems.append(str(error))
    if problems:
        needs.stop("\n".join(problems))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
