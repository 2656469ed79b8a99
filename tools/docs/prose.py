"""Measured numbers in prose: markers that tools/docs/tables.py fills in, and numbers that nobody may type.

    12 runs at <!--= tflops("12_fp16x3", 4096) -->228<!--/--> TFLOP/s.
    It was to reach <!--~ predicted -->110 TFLOP/s<!--/-->.

A marker holds an expression, and what it comes to stands between the marker and its end, all on one line. The methods
of Numbers are the names that an expression may use. A quantity knows how it is written; arithmetic gives plain numbers,
which need a form (FORMS). A kernel is an id, or a chapter's number for its default variant; a size is a number for a
square or (M, N, K).

A number with a unit of measurement stands in a marker, or in an exemption that gives one of REASONS. An exemption alone
on its line is for the paragraph, list or table that follows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import pandas as pd

from tools import compare, counts, programs, turns
from tools.docs import pages
from tools.forms import (
    COUNTER_ROWS,
    Form,
    duration,
    error_size,
    hundredths,
    in_bytes,
    in_units,
    percent,
    shape_text,
    share,
    significant,
)
from tools.results import (
    ACCURACY_FILE,
    COUNTERS_FILE,
    ENERGY_FILE,
    OTHER_BOARD_FILE,
    SUSTAINED_FILE,
    NotMeasured,
    ResultsError,
    Row,
    counters_of_folder,
    require_measured,
)

REASONS = ("predicted", "source", "arithmetic", "lab")
NOT_MEASURED = "not measured"
COLD_FILE = "cold.json"

Kernel = str | int
Size = int | tuple[int, int, int]


# The values of expressions.


class Quantity(float):
    """A number that knows how it is written. Arithmetic on it gives plain numbers."""

    form: Form

    def __new__(cls, value: float, form: Form) -> Quantity:
        quantity = super().__new__(cls, value)
        quantity.form = form
        return quantity

    @property
    def text(self) -> str:
        return self.form(float(self))


class Text(str):
    """A number that a form has written."""

    __slots__ = ()

    @property
    def text(self) -> str:
        return str(self)


def whole_number(value: float) -> str:
    return f"{value:.0f}"


def times(ratio: float) -> Text:
    """4.45 times"""
    return Text(f"{significant(ratio)} times")


def percent_of_one(ratio: float, digits: int = 1) -> Text:
    """99.8 %, of a ratio"""
    return Text(f"{100 * ratio:.{digits}f} %")


def num(value: float, digits: int = 3) -> Text:
    """Significant digits; small values with an exponent."""
    if value and abs(value) < 1e-3:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return Text(f"{mantissa}e{int(exponent)}")
    return Text(significant(value, digits))


def whole(value: float) -> Text:
    return Text(whole_number(value))


def joules_text(value: float) -> str:
    return in_units(value, ((1, "J"), (1e-3, "mJ"), (1e-6, "µJ")))


def fixed(value: float, decimals: int) -> Text:
    return Text(f"{value:.{decimals}f}")


FORMS = {"times": times, "percent": percent_of_one, "num": num, "whole": whole, "fixed": fixed}

COUNTER_FORMS = {field: form for _, field, form in COUNTER_ROWS}


class Folders(Protocol):
    """What tables.Folders offers."""

    path: Path

    def file(self, name: str) -> pd.DataFrame: ...
    def comparison(self, size: int) -> counts.Comparison: ...


def shape_of(size: Size) -> tuple[int, int, int]:
    shape = (size, size, size) if isinstance(size, int) else tuple(size) if isinstance(size, tuple | list) else ()
    if len(shape) != 3 or not all(isinstance(extent, int) for extent in shape):
        raise ResultsError(f"a size is a number or (M, N, K), not {size!r}")
    return shape


def find(kernel: Kernel, known: Sequence[str], where: str) -> str:
    """The kernel's id: a number means the chapter's default variant."""
    if isinstance(kernel, str):
        found = kernel if kernel in known else None
    else:
        found = next((name for name in known if name.startswith(f"{kernel:02}_") and ":" not in name), None)
    if found is None:
        kind = NotMeasured if pages.has_page(kernel) else ResultsError
        raise kind(f"there is no kernel {kernel} in {where}; it has {', '.join(known)}")
    return found


class Numbers:
    """The quantities that an expression may name: the public methods."""

    def __init__(self, folders: Folders):
        self._folders = folders
        self._cases: dict[str, dict[str, list[Row]]] = {}

    def _kernels(self, file: str) -> dict[str, list[Row]]:
        """The cases of a file by kernel."""
        if file not in self._cases:
            if not file.endswith(".json"):
                raise ResultsError(f"{file} is no results file")
            require_measured(self._folders.path, file)
            self._cases[file] = cases = {}
            for row in self._folders.file(file).itertuples():
                cases.setdefault(row.kernel, []).append(row)
        return self._cases[file]

    def _of_kernel(self, kernel: Kernel, file: str) -> list[Row]:
        kernels = self._kernels(file)
        return kernels[find(kernel, list(kernels), file)]

    def _case(self, kernel: Kernel, size: Size, file: str, data: str | None = None) -> Row:
        rows, shape = self._of_kernel(kernel, file), shape_of(size)
        if data is not None:
            if data not in (known := dict.fromkeys(row.data for row in rows)):
                raise ResultsError(f"{file} has no data {data!r} of {rows[0].kernel}; it has {', '.join(known)}")
            rows = [row for row in rows if row.data == data]
        for row in rows:
            if row.shape == shape:
                return row
        known = ", ".join(dict.fromkeys(shape_text(row.shape) for row in rows))
        raise ResultsError(f"{file} holds nothing about {rows[0].kernel} at {shape_text(shape)}; it has {known}")

    def _value(self, kernel: Kernel, size: Size, file: str, field: str, form: Form) -> Quantity:
        row = self._case(kernel, size, file)
        value = getattr(row, field)
        if not row.measured:
            raise ResultsError(f"{row.kernel} at {shape_text(row.shape)} is {row.outcome} in {file}")
        if value is None or pd.isna(value):
            raise ResultsError(f"{file} holds no {field} of {row.kernel} at {shape_text(row.shape)}")
        return Quantity(value, form)

    def _resource(self, kernel: Kernel, file: str, field: str, form: Form = whole_number) -> Quantity:
        known = [row for row in self._of_kernel(kernel, file) if not pd.isna(getattr(row, field))]
        if not known:
            raise ResultsError(f"{file} holds no {field} of {kernel}")
        return Quantity(getattr(known[-1], field), form)

    def tflops(self, kernel: Kernel, size: Size, file: str = COLD_FILE) -> Quantity:
        return self._value(kernel, size, file, "tflops", significant)

    def time(self, kernel: Kernel, size: Size, file: str = COLD_FILE) -> Quantity:
        """In microseconds, written with its unit."""
        return self._value(kernel, size, file, "microseconds", duration)

    def of_cublas(self, kernel: Kernel, size: Size, file: str = COLD_FILE) -> Quantity:
        """The smaller of paired and alone; 1.0 is as fast as cuBLAS."""
        return self._value(kernel, size, file, "of_cublas", share)

    def vs_cublas(self, kernel: Kernel, size: Size, file: str = COLD_FILE) -> Quantity:
        return self._value(kernel, size, file, "vs_cublas", share)

    def vs_cublas_alone(self, kernel: Kernel, size: Size, file: str = COLD_FILE) -> Quantity:
        return self._value(kernel, size, file, "vs_cublas_alone", share)

    def _turn(self, kernel: Kernel, size: Size, file: str, of: str = "kernel") -> Mapping:
        """What a kernel did back to back, or cuBLAS beside it."""
        row = self._case(kernel, size, file)
        found = row.sustained if row.outcome == "sustained" else row.energy
        if not isinstance(found, dict) or of not in found:
            raise ResultsError(f"{file} has no turn of {of} for {row.kernel} at {shape_text(row.shape)}")
        return found[of]

    def _energy(self, kernel: Kernel, size: Size, file: str, field: str, of: str = "kernel") -> float:
        turn = self._turn(kernel, size, file, of)
        if field not in turn:
            raise ResultsError(f"{file} holds no energy of {kernel}: {turn['no_energy']}")
        return turn[field]

    def joules(self, kernel: Kernel, size: Size, file: str = ENERGY_FILE) -> Quantity:
        """Of one product, back to back, written with its unit."""
        return Quantity(self._energy(kernel, size, file, "joules_per_product"), joules_text)

    def watts(self, kernel: Kernel, size: Size, file: str = ENERGY_FILE) -> Quantity:
        """Mean power while the energy was measured, written with its unit."""
        return Quantity(self._energy(kernel, size, file, "watts"), lambda v: f"{v:.0f} W")

    def gflops_per_joule(self, kernel: Kernel, size: Size, file: str = ENERGY_FILE) -> Quantity:
        return Quantity(self._energy(kernel, size, file, "gflops_per_watt"), significant)

    def energy_of_cublas(self, kernel: Kernel, size: Size, file: str = ENERGY_FILE) -> Quantity:
        """The energy of a product over that of cuBLAS in the turn beside it."""
        own, rival = (self._energy(kernel, size, file, "joules_per_product", of) for of in ("kernel", "cublas"))
        return Quantity(own / rival, share)

    def turn_clock(self, kernel: Kernel, size: Size, file: str = ENERGY_FILE) -> Quantity:
        """Mean SM clock of a turn, written with its unit."""
        clock = self._turn(kernel, size, file)["trace"].get("mean_sm_clock_mhz")
        if clock is None:
            raise ResultsError(f"{file} has no clock of {kernel}")
        return Quantity(clock, lambda v: f"{v:.0f} MHz")

    def throttled(self, kernel: Kernel, size: Size, file: str = ENERGY_FILE) -> Quantity:
        """The part of a turn in which something held the clock down."""
        return Quantity(self._turn(kernel, size, file)["trace"]["throttled_share"], share)

    def sustained(self, kernel: Kernel, size: Size, when: str = "last", of: str = "kernel") -> Quantity:
        """TFLOP/s in the first or in the last second of a kernel's turn of `--sustain`, or of cuBLAS's beside it."""
        if when not in ("first", "last"):
            raise ResultsError(f"a sustained speed is that of the first or the last second, not {when}")
        flops = 2.0 * shape_of(size)[0] * shape_of(size)[1] * shape_of(size)[2]
        ends = turns.ends_of(self._turn(kernel, size, SUSTAINED_FILE, of), flops)
        return Quantity(ends[when == "last"], significant)

    def celsius(self, kernel: Kernel, size: Size) -> Quantity:
        """At the end of a turn of `--sustain`, written with its unit."""
        value = turns.last_temperature(self._turn(kernel, size, SUSTAINED_FILE))
        if value is None:
            raise ResultsError(f"{SUSTAINED_FILE} has no temperature of {kernel}")
        return Quantity(value, lambda v: f"{v:.0f} °C")

    def agreement(self, which: str, file: str = OTHER_BOARD_FILE) -> Quantity:
        """By how much the ratios to cuBLAS of a sweep differ from those of cold.json: of the "median" case, or of the
        "worst" one."""
        paths = [require_measured(self._folders.path, name) for name in (COLD_FILE, file)]
        found = compare.agreement(*compare.pair(*paths, []))
        if which not in ("median", "worst"):
            raise ResultsError(f"an agreement is that of the median case or of the worst, not {which}")
        return Quantity(getattr(found, which), lambda v: f"{v:.2f} %")

    def program_gain(self, title: str, mode: str) -> Quantity:
        """The time with cuBLAS over that in a mode. `title` is that of a time of programs.QUANTITIES."""
        quantity = next((q for q in programs.QUANTITIES if q.title == title and q.is_time), None)
        if quantity is None:
            known = ", ".join(q.title for q in programs.QUANTITIES if q.is_time)
            raise ResultsError(f"programs have no time {title!r}; they have {known}")
        values = programs.medians(programs.load_runs(self._folders.path / "programs", quantity.file), quantity.value)
        if mode not in values or "cublas" not in values:
            raise ResultsError(f"{quantity.file} has no run of {mode} beside cublas")
        return Quantity(values["cublas"] / values[mode], hundredths)

    def percent_of_peak(self, kernel: Kernel, size: Size, file: str = COLD_FILE) -> Quantity:
        """In percent, written with its unit."""
        return self._value(kernel, size, file, "percent_of_peak", percent)

    def error(
        self,
        kernel: Kernel,
        size: Size,
        data: str | None = None,
        measure: str | None = None,
        file: str | None = None,
    ) -> Quantity:
        """Relative, of the timed run; with `data` or `measure` what accuracy.json has."""
        if data is None and measure is None:
            return self._value(kernel, size, file or COLD_FILE, "rel_err", error_size)
        if measure not in (None, "relative", "componentwise"):
            raise ResultsError(f"errors are relative or componentwise, not {measure}")
        row = self._case(kernel, size, file or ACCURACY_FILE, data or "uniform")
        compared = row.accuracy if isinstance(row.accuracy, dict) else {}
        value = compared.get("componentwise_err") if measure == "componentwise" else row.rel_err
        if value is None or pd.isna(value):
            raise ResultsError(f"no {measure or 'relative'} error of {row.kernel} is recorded for {row.data} data")
        return Quantity(value, error_size)

    def samples(self, kernel: Kernel, size: Size, file: str = COLD_FILE) -> Quantity:
        row = self._case(kernel, size, file)
        if not isinstance(row.samples_us, list):
            raise ResultsError(f"{file} holds no samples of {row.kernel} at {shape_text(row.shape)}")
        return Quantity(len(row.samples_us), whole_number)

    def registers(self, kernel: Kernel, file: str = COLD_FILE) -> Quantity:
        return self._resource(kernel, file, "registers")

    def smem(self, kernel: Kernel, file: str = COLD_FILE) -> Quantity:
        """Bytes of shared memory that a block takes."""
        return self._resource(kernel, file, "smem_bytes")

    def spills(self, kernel: Kernel, file: str = COLD_FILE) -> Quantity:
        """Bytes of local memory that a thread takes."""
        return self._resource(kernel, file, "spill_bytes")

    def blocks_per_sm(self, kernel: Kernel, file: str = COLD_FILE) -> Quantity:
        return self._resource(kernel, file, "blocks_per_sm")

    def occupancy(self, kernel: Kernel, file: str = COLD_FILE) -> Quantity:
        return self._resource(kernel, file, "occupancy", share)

    def counter(self, kernel: Kernel, field: str, file: str = COUNTERS_FILE, launch: int | None = None) -> Quantity:
        """A field of tools/counters.py, as COUNTER_ROWS names them, or "stalls.long_scoreboard". Of a product with
        several launches, it is of the one that takes longest, or of the one that is asked for, from 0 on."""
        if (document := counters_of_folder(self._folders.path, file)) is None:
            raise ResultsError(f"there is no {file} in {self._folders.path.name}")
        name = find(kernel, list(document["derived"]), file)
        group, _, stall = field.partition(".")
        fields = document["derived"][name]
        if launch is not None:
            launches = document.get("launches", {}).get(name, [])
            if not 0 <= launch < len(launches):
                raise NotMeasured(f"{file} holds no launch {launch} of {name}")
            fields = launches[launch]["derived"]
        fields, field = (fields.get(group) or {}, stall) if stall else (fields, field)
        value = fields.get(field)
        if not isinstance(value, int | float):
            known = ", ".join(key for key, value in fields.items() if isinstance(value, int | float))
            raise ResultsError(f"{file} has no {field} of {name}; it has {known}")
        form = COUNTER_FORMS.get(field)
        if form is None:
            form = percent if field.endswith("_percent") else in_bytes if field.endswith("_bytes") else significant
        return Quantity(value, form)

    def counted(self, kernel: Kernel, quantity: str, size: int = counts.USUAL_SIZE) -> Quantity:
        """What the executor counted, by the titles in counts.quantities."""
        comparison = self._folders.comparison(size)
        name = find(kernel, [case.kernel for case in comparison.cases], counts.counts_file(size))
        known = counts.quantities(comparison.case(name))
        found = {title: (pair.counted, form) for title, (pair, form) in known.items() if pair.counted is not None}
        if quantity not in found:
            raise ResultsError(f"nothing was counted as {quantity!r} of {name}; there are {', '.join(found)}")
        return Quantity(*found[quantity])

    def _context(self, part: str, field: str, file: str) -> Quantity | Text:
        self._kernels(file)
        fields = self._folders.file(file).context.iloc[0].get(part) or {}
        value = fields.get(field)
        if isinstance(value, str):
            return Text(value)
        if not isinstance(value, int | float):
            raise ResultsError(f"the {part} of {file} has no {field}; it has {', '.join(fields)}")
        return Quantity(value, whole_number if value == int(value) else lambda v: f"{v:g}")

    def device(self, field: str, file: str = COLD_FILE) -> Quantity | Text:
        """A field of the context's device."""
        return self._context("device", field, file)

    def protocol(self, field: str, file: str = COLD_FILE) -> Quantity | Text:
        """A field of the context's protocol."""
        return self._context("protocol", field, file)

    def constant(self, name: str, file: str) -> Quantity:
        """What a source file defines, `NAME = 0.25;`: settings of the runner, sizes of tiles."""
        path = pages.ROOT / file
        if not path.is_file():
            raise ResultsError(f"there is no file {file}")
        found = re.search(rf"\b{re.escape(name)} = (\d+(?:\.\d+)?)[fuUL]*;", path.read_text(encoding="utf-8"))
        if found is None:
            raise ResultsError(f"{file} defines no number {name}")
        value = float(found[1])
        return Quantity(value, whole_number if value == int(value) else lambda v: f"{v:g}")

    def peak(self, of: str, file: str = COLD_FILE) -> Quantity:
        """Of "fp32" in TFLOP/s, of "dram" in TB/s."""
        fields = {"fp32": "fp32_peak_gflops", "dram": "dram_peak_gbytes_s"}
        if of not in fields:
            raise ResultsError(f"there is a peak of {', '.join(fields)}, not of {of}")
        return Quantity(float(self.device(fields[of], file)) / 1e3, significant)

    def _over(self, f: Callable[..., Quantity], kernel: Kernel, sizes: Sequence[Size] | None, options: dict) -> list:
        if sizes is None:
            usual = ACCURACY_FILE if "data" in options or "measure" in options else COLD_FILE
            rows = self._of_kernel(kernel, options.get("file") or usual)
            rows = [row for row in rows if row.measured or row.outcome == "compared"]
            sizes = list(dict.fromkeys(row.shape for row in rows))
        if not (values := [f(kernel, size, **options) for size in sizes]):
            raise ResultsError(f"there is no size of {kernel} to choose from")
        return values

    def least(self, f: Callable, kernel: Kernel, sizes: Sequence[Size] | None = None, **options) -> Quantity:
        """The least of one of the functions above over sizes, of all that the file has where none are given."""
        return min(self._over(f, kernel, sizes, options))

    def most(self, f: Callable, kernel: Kernel, sizes: Sequence[Size] | None = None, **options) -> Quantity:
        return max(self._over(f, kernel, sizes, options))

    @cached_property
    def _names(self) -> Mapping[str, Callable]:
        return {name: getattr(self, name) for name in QUANTITIES} | FORMS

    def _write(self, expression: str) -> str:
        """What stands for an expression on the page."""
        tree = read_expression(expression)
        try:
            value = eval(compile(tree, "marker", "eval"), {"__builtins__": {}}, dict(self._names))
        except NotMeasured:
            return NOT_MEASURED
        except (TypeError, ValueError, ArithmeticError) as error:
            raise ResultsError(str(error).replace("Numbers.", "")) from None
        if isinstance(value, Quantity | Text):
            return value.text
        if isinstance(value, float | int):
            raise ResultsError(f"a plain number needs a form: {', '.join(FORMS)}")
        raise ResultsError("it is no number")


QUANTITIES = [name for name in vars(Numbers) if not name.startswith("_")]
SYNTAX = (ast.Expression, ast.Call, ast.keyword, ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.List, ast.BinOp)
SYNTAX += (ast.UnaryOp, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div)


def read_expression(expression: str) -> ast.Expression:
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise ResultsError(f"it is no expression ({getattr(error, 'msg', error)})") from None
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    if unknown := [name for name in names if name not in QUANTITIES and name not in FORMS]:
        raise ResultsError(f"there is no {unknown[0]}; there are {', '.join([*QUANTITIES, *FORMS])}")
    if odd := [node for node in ast.walk(tree) if not isinstance(node, SYNTAX)]:
        raise ResultsError(f"an expression calls functions and computes, it has no {type(odd[0]).__name__}")
    if not any(name in QUANTITIES for name in names):
        raise ResultsError("it names no quantity")
    return tree


# The markers of a page.


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def blank_all(pattern: str, text: str) -> str:
    return re.sub(pattern, lambda found: blank(found[0]), text, flags=re.DOTALL | re.MULTILINE)


def without_blocks(text: str) -> str:
    """The page with blanks for blocks that cog fills and blocks of code."""
    lines, inside = [], ""
    for line in text.split("\n"):
        fence = re.match(r"[\s>]*(?:[-*+] +|\d+[.)] +)?(`{3,}|~{3,})", line)
        if inside:
            ends = inside in line if inside == "[[[end]]]" else fence and fence[1].startswith(inside)
            inside = "" if ends else inside
        elif "[[[cog" in line:
            inside = "[[[end]]]"
        elif fence:
            inside = fence[1]
        else:
            lines.append(line)
            continue
        lines.append(blank(line))
    return "\n".join(lines)


CODE_SPAN = r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)\1(?!`)"


def without_code(text: str) -> str:
    """The page with blanks for what is no prose: blocks that cog fills, code, other comments."""
    text = blank_all(CODE_SPAN, without_blocks(text))
    return blank_all(r"<!--(?![=~/]).*?-->", text)


class Marker(NamedTuple):
    line: int
    start: int  # of the value
    end: int
    kind: str  # "=" or "~"
    inside: str  # the expression, or the reason
    outer: tuple[int, int]  # with the markers


class Problem(NamedTuple):
    line: int
    text: str


BEGINS_LINE = re.compile(r"[ \t>]*(?:[-*+] +|\d+[.)] +)*$")


def markers(text: str) -> tuple[list[Marker], list[tuple[int, int]], list[Problem]]:
    """The markers of a page, the blocks that are exempted, and what is wrong with markers."""
    prose, found, blocks, problems = without_code(text), [], [], []
    offset = 0
    for number, line in enumerate(prose.split("\n"), 1):
        opened = None
        for token in re.finditer(r"<!--([=~])((?:(?!-->|<!--).)*)(-->)?|<!--/-->", line):
            kind, inside = token[1], (token[2] or "").strip()
            if token[0] == "<!--/-->":
                if opened is None:
                    problems.append(Problem(number, "an end <!--/--> without a marker before it"))
                else:
                    outer = offset + opened.start(), offset + token.end()
                    inner = offset + opened.end(), offset + token.start()
                    found.append(Marker(number, *inner, opened[1], opened[2].strip(), outer))
                opened = None
                continue
            if opened is not None:
                problems.append(Problem(number, f"a marker without its end <!--/--> on the line: {opened[2].strip()}"))
            opened = None
            if not token[3]:
                problems.append(Problem(number, f"a marker without --> on the line: {inside}"))
                continue
            if kind == "~" and inside not in REASONS:
                problems.append(Problem(number, f"{inside!r} is no reason to exempt, {', '.join(REASONS)} are"))
            if kind == "~" and not (line[: token.start()] + line[token.end() :]).strip(" \t>"):
                if (end := end_of_block(prose, offset + len(line) + 1)) is None:
                    problems.append(Problem(number, "an exemption of a block without a block after it"))
                else:
                    blocks.append((offset, end))
                continue
            if BEGINS_LINE.match(line[: token.start()]):
                problems.append(Problem(number, "a line can not begin with a marker: Markdown takes it all as HTML"))
            opened = token
        if opened is not None:
            problems.append(Problem(number, f"a marker without its end <!--/--> on the line: {opened[2].strip()}"))
        offset += len(line) + 1
    return found, blocks, problems


def end_of_block(prose: str, start: int) -> int | None:
    """Where the paragraph, list or table that starts there ends; items of a list may stand apart."""
    item = r"[ \t>]*(?:[-*+]|\d+[.)])[ \t]"
    in_list = re.match(item, prose[start:])
    end = None
    lines = prose[start:].split("\n")
    for index, line in enumerate(lines):
        if not line.strip(" \t>"):
            following = next((other for other in lines[index:] if other.strip()), "")
            if end is None or not (in_list and (re.match(item, following) or following.startswith("  "))):
                break
        end = start + len("\n".join(lines[: index + 1]))
    return end


# Numbers that nobody may type.

NUMBER = r"(?<![\w.$#^])[-−]?\d+(?:[ \u202f]\d{3})*(?:[.,]\d+)*(?:e[-−+]?\d+)?"
DECIMAL = r"(?<![\w.$#^])[-−]?\d+(?:[.,]\d+)+"
FILLED, FILLED_WITH_UNIT = "\x01", "\x02"
GAP = r"(?:[ \t*_\u00a0\u202f]|&nbsp;)*(?:\n[ \t>]*)?"
UNIT = r"(?:[kMGTP]?FLOPS?/s|[GTP]FLOPS|[kMGT]?i?B/s|[GM]Hz|%|per ?cent|[uµμnm]?s|seconds|k?W|[mµnp]?J)(?![\w/])"
OF_DECIMALS = r"(?:times|x|×|[MGT]B|of cuBLAS|of the (?:FP32 )?peak)(?!\w)"
RANGE = rf"{GAP}(?:to|–|-|±){GAP}"
LIST = rf"{GAP}(?:and|or|against|instead of|,){GAP}"  # of decimals: "at 2048 and 53.1 TFLOP/s" is none


def any_of(number: str) -> str:
    return rf"(?:{number}|{FILLED})"


CHAIN = rf"(?:{any_of(NUMBER)}{RANGE}|{any_of(DECIMAL)}{LIST})*"
TYPED = re.compile(
    rf"(?P<units>{CHAIN}(?:{any_of(NUMBER)}{GAP}{UNIT}|(?<=\s){FILLED_WITH_UNIT}))"
    rf"|(?P<decimals>{CHAIN}{any_of(DECIMAL)}{GAP}{OF_DECIMALS})"
    r"|(?P<error>(?<![\w.])\d+(?:\.\d+)?e[-−]\d+)"
)
IN_TABLES = re.compile(rf"(?<![\w/]){UNIT}|of cuBLAS|\berrors?\b")


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def typed_in_tables(prose: str) -> Iterator[tuple[int, str]]:
    """Cells without a unit below or beside a title that has one."""
    lines = prose.split("\n")
    for rule in [i for i, line in enumerate(lines) if i and re.fullmatch(r"\s*\|?(?:\s*:?-+:?\s*\|)+[\s:-]*", line)]:
        titles = cells_of(lines[rule - 1])
        for index in range(rule + 1, len(lines)):
            if not lines[index].lstrip().startswith("|"):
                break
            cells = cells_of(lines[index])
            for title, cell in list(zip(titles, cells, strict=False))[1:]:
                known = IN_TABLES.search(title) or IN_TABLES.search(cells[0])
                if known and re.match(rf"[*~≈ ]*{NUMBER}", cell) and not TYPED.search(cell):
                    yield index + 1, f"{cell} ({title or cells[0]})"


def typed_numbers(text: str) -> list[Problem]:
    """The numbers with a unit of measurement that stand neither in a marker nor in an exemption."""
    found, blocks, _ = markers(text)
    prose = without_code(text)
    for pattern in (r"\]\([^()]*(?:\([^()]*\))?[^()]*\)", r"^\s*\[[^\]]+\]:.*$", r"\{#[^}]*\}", r"https?://\S+"):
        prose = blank_all(pattern, prose)
    edits = [(block, blank(prose[slice(*block)])) for block in blocks]
    for marker in found:
        with_unit = re.search(rf"{UNIT}\W*$|{OF_DECIMALS}$", text[marker.start : marker.end])
        sign = FILLED_WITH_UNIT if with_unit else FILLED
        if not any(start <= marker.outer[0] < end for start, end in blocks):
            edits.append((marker.outer, sign))
    for (start, end), new in sorted(edits, reverse=True):
        prose = prose[:start] + new + prose[end:]
    prose = blank_all(r"</?[A-Za-z][^<>]*>", prose)
    problems = []
    for hit in TYPED.finditer(prose):
        if shown := re.search(r"\d", hit[0]):
            line = prose.count("\n", 0, hit.start() + shown.start()) + 1
            problems.append(Problem(line, re.sub(r"[\x01\x02]", "…", " ".join(hit[0].split()))))
    problems += [Problem(*cell) for cell in typed_in_tables(prose)]
    return sorted(set(problems))


# The functions that tools/docs/tables.py calls.


class Filled(NamedTuple):
    """A page with the values that its markers come to."""

    text: str
    changes: list[Problem]
    problems: list[Problem]


def fill(text: str, numbers: Numbers) -> Filled:
    found, _, problems = markers(text)
    changes, edits = [], []
    for marker in found:
        if marker.kind == "~":
            if not text[marker.start : marker.end].strip():
                problems.append(Problem(marker.line, "an exemption of nothing"))
            continue
        try:
            value = numbers._write(marker.inside)
        except ResultsError as error:
            problems.append(Problem(marker.line, f"{marker.inside}: {error}"))
            continue
        if (stands := text[marker.start : marker.end]) != value:
            changes.append(Problem(marker.line, f"{marker.inside} is {value}, the page says {stands}"))
            edits.append((marker.start, marker.end, value))
    for start, end, value in reversed(edits):
        text = text[:start] + value + text[end:]
    return Filled(text, changes, sorted(problems))
