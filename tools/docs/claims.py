"""Holds what the five source documents claim in numbers, the data in claims.toml, against the results.

Speeds, times and measured traffic may be ABOUT away from a claim; counts, the sizes of blocks and those of memories may
not. tools/docs/tables.py writes the outcome into docs/claims.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise, product
from math import isqrt, log, nan
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

import pandas as pd

from tools.counts import Case
from tools.results import Row, crossover, device_of, pick

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

FILE = Path(__file__).with_name("claims.toml")
REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
NOT_COMPARABLE = "not comparable"
NOT_MEASURED = "not measured"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, NOT_COMPARABLE, NOT_MEASURED)
KINDS = ("kernel", "speed", "device")
UNEXPLAINED = "unexplained"

SIZE = 4096  # M = N = K, where a document names no size
ABOUT = 0.15  # how far a measured value may be from a claimed one, as a fraction of it
FLOAT_BYTES = 4


class Missing(Exception):
    """The results lack what a claim needs; the message says what."""


@dataclass(frozen=True)
class Evidence:
    """One device's results, its counters and what the executor counted; anything may be absent. The public methods are
    what expressions in claims.toml may ask for; NaN stands for a number that was not counted or not read."""

    results: pd.DataFrame
    counters: dict
    counted: tuple[Case, ...] = ()
    at_sizes: Mapping[int, dict] = field(default_factory=dict)  # counters of other sizes

    def device(self, field: str) -> Any:
        if (value := device_of(self.results).get(field)) is None:
            raise Missing(f"the results do not hold the device's {field}")
        return value

    def _pick(self, what: str, **fields) -> pd.DataFrame:
        rows = self.results if self.results.empty else pick(self.results, **fields).dropna(subset="side")
        if rows.empty:
            raise Missing(f"no {what}")
        return rows

    def _cold(self, what: str, **fields) -> pd.DataFrame:
        return self._pick(f"cold measurement of {what}", l2="cold", time="kernel", **fields)

    def cold(self, kernel: str) -> Row:
        return next(self._cold(f"{kernel} at {SIZE}", kernel=kernel, side=SIZE).itertuples())

    def tiled_at(self, tile: int) -> Row:
        """Chapter 02 with square tiles of this side. The variants with another thread mapping have the same tiles; the
        fastest is the plain one."""
        bytes_ = 2 * tile * tile * FLOAT_BYTES
        rows = self._cold(f"02 with tiles of {tile} at {SIZE}", number=2, side=SIZE, smem_bytes=bytes_)
        return max(rows.itertuples(), key=lambda row: row.tflops)

    def largest(self, field: str) -> Row:
        """The case with most of something."""
        rows = self._cold("any kernel")
        return next(rows.sort_values(field, ascending=False, kind="stable").itertuples())

    def best_gain(self, kernel: str, other: str) -> tuple[float, int]:
        """The largest ratio of speeds over the sizes, and its size."""
        speeds = [self._cold(k, kernel=k).set_index("side").tflops for k in (kernel, other)]
        gains = speeds[0] / speeds[1]
        return gains.max(), int(gains.idxmax())

    def end_to_end(self, kernel: str) -> dict[int, float]:
        """Microseconds by size, copies included; CPU kernels copy nothing, so any measurement of them serves."""
        what = f"end-to-end measurement of {kernel}"
        rows = self._pick(what, kernel=kernel, **({} if kernel.startswith("cpu_") else {"time": "end-to-end"}))
        return dict(zip(rows.side.astype(int), rows.microseconds, strict=True))

    def largest_with_copies(self, *kernels: str) -> float:
        """The largest size that was measured with copies for all of the kernels."""
        with suppress(Missing):
            return max(set.intersection(*(set(self.end_to_end(kernel)) for kernel in kernels)), default=nan)
        return nan

    def time_with_copies(self, kernel: str, size: float) -> float:
        with suppress(Missing):
            return self.end_to_end(kernel).get(size, nan)
        return nan

    def crossing(self, slow_start: str, fast_start: str) -> float:
        size = crossover(self.end_to_end(slow_start), self.end_to_end(fast_start))
        if size is None:
            raise Missing(f"the times of {slow_start} and {fast_start} do not cross")
        return size

    def threads_of_sm(self, row: Row) -> int:
        """How many threads an SM holds: what a kernel has there, over its occupancy."""
        return round(row.threads_per_block * row.blocks_per_sm / row.occupancy)

    def fastest_at(self, size: int) -> Row:
        """The chapter that computes in FP32's accuracy and is furthest ahead of cuBLAS."""
        rows = self._cold(f"chapter at {size}", side=size).dropna(subset="of_cublas")
        rows = rows[rows.kernel.str.match(r"\d\d_")]
        if rows.empty:
            raise Missing(f"no ratio to cuBLAS at {size}")
        return max(rows.itertuples(), key=lambda row: row.of_cublas)

    def counter(self, kernel: str, name: str, size: int = SIZE) -> float:
        """A counter of Nsight Compute."""
        document = self.counters if size == SIZE else self.at_sizes.get(size, {})
        value = document.get("derived", {}).get(kernel, {}).get(name)
        return nan if value is None else value

    def at_barriers(self, kernel: str) -> float:
        """Warps that wait at a barrier, for each instruction issued."""
        return self.counters.get("derived", {}).get(kernel, {}).get("stalls", {}).get("barrier", nan)

    def _counted(self, kernel: str, m: int, n: int) -> Case | None:
        """What was counted of a kernel for a C of this shape, for whatever K."""
        return next((c for c in self.counted if c.kernel == kernel and c.row.shape[:2] == (m, n)), None)

    def reads(self, kernel: str) -> tuple[float, float] | float:
        """How often an element of A and one of B were counted to be read."""
        case = self._counted(kernel, SIZE, SIZE)
        return tuple(case.counts["reads_per_element"][array] for array in "ab") if case else nan

    def shared_loads(self, kernel: str) -> tuple[float, float] | float:
        """Wavefronts and conflicts for each load from shared memory, as counted."""
        case = self._counted(kernel, SIZE, SIZE)
        loads = case.counts["shared_loads"] if case else {}
        return tuple(loads[what] / loads["requests"] for what in ("wavefronts", "conflicts")) if case else nan

    def first_wave(self, kernel: str, m: int, n: int) -> float:
        """Elements of A and B, for each of K, that the blocks at work first read of a product."""
        case = self._counted(kernel, m, n)
        return case.launches[0]["first_wave"]["elements"] / case.row.shape[2] if case else nan

    def dram_counted(self, kernel: str, size: int) -> float:
        """Bytes from and to DRAM, as counted for blocks in step."""
        case = self._counted(kernel, size, size)
        return case.dram_bytes("in_step") if case else nan


class Finding(NamedTuple):
    measured: str
    verdict: str
    why: str = ""


def about(measured: float, claimed: float) -> bool:
    return abs(measured - claimed) <= ABOUT * abs(claimed)


def is_unknown(value: Any) -> bool:
    return isinstance(value, float) and value != value


class Shown(Formatter):
    """Formats with units: {speed:×}, {bytes:KiB}, {share:%}."""

    UNITS: dict[str, Callable[[float], str]] = {  # noqa: RUF012
        "×": lambda value: f"{value:.3g}×",
        "KiB": lambda value: f"{value / 1024:g} KiB",
        "MiB": lambda value: f"{value / 2**20:g} MiB",
        "GiB": lambda value: f"{value / 2**30:.1f} GiB",
        "%": lambda value: f"{100 * value:.1f} %",
    }

    def format_field(self, value: Any, spec: str) -> str:
        if is_unknown(value):
            raise Missing("a value is not known")
        return self.UNITS[spec](value) if spec in self.UNITS else super().format_field(value, spec)


def values_of(claim: dict, evidence: Evidence) -> dict[str, Any]:
    """The values of a claim by name, each worked out from the evidence and the values before it."""
    names = {name: getattr(evidence, name) for name in dir(evidence) if not name.startswith("_")}
    values: dict[str, Any] = {}
    for name, expression in claim["values"].items():
        values[name] = eval(expression, {"log": log} | names | values)
    return values


def is_true(predicate: str, values: dict[str, Any]) -> bool:
    """Whether a predicate over the values holds; raises Missing where it needs one that is not known."""
    code = compile(predicate, FILE.name, "eval")
    if unknown := [name for name in code.co_names if is_unknown(values.get(name))]:
        raise Missing(f"not known: {', '.join(unknown)}")
    return bool(eval(code, {"about": about} | values))


def told(texts: Iterable[str], values: dict[str, Any]) -> str:
    """Those of the texts whose values are known."""
    parts = []
    for text in texts:
        with suppress(Missing):
            parts.append(Shown().vformat(text, (), values))
    return "; ".join(parts)


def borne_out(reasons: Iterable[dict], values: dict[str, Any]) -> str:
    """The texts of those reasons whose predicates hold."""
    found = []
    for reason in reasons:
        with suppress(Missing):
            found += [reason["text"]] * is_true(reason["holds"], values)
    return told(found, values)


def find(claim: dict, evidence: Evidence) -> Finding:
    """The verdict on a claim. One that is reproduced takes no reason; for one that is not, and has no reason that is
    borne out, it is said that it is unexplained."""
    try:
        if "missing" in claim:
            raise Missing(claim["missing"])
        values = values_of(claim, evidence)
        other = borne_out(claim.get("not_comparable", []), values)
        holds = not other and is_true(claim["holds"], values)
    except Missing as missing:
        return Finding("", NOT_MEASURED, str(missing))
    here = told(claim["here"], values)
    if other or holds:
        return Finding(here, NOT_COMPARABLE if other else REPRODUCED, other)
    return Finding(here, NOT_REPRODUCED, borne_out(claim.get("why_not", []), values) or UNEXPLAINED)


# What the equations in claims.toml are about.


def loaders(tile: int) -> int:
    """Threads of a square block that load a strip of A (first column of threads) or of B (first row)."""
    return sum(1 for x, y in product(range(tile), repeat=2) if x == 0 or y == 0)


def slices(rows: int, columns: int) -> int:
    """Elements of A and B, for each of K, that a grid of 256 x 128 tiles of C reads."""
    return rows * 256 + columns * 128


def least(tiles: int) -> int:
    """The same for the grid of so many tiles that reads least."""
    return min(slices(rows, tiles // rows) for rows in range(1, tiles + 1) if tiles % rows == 0)


def passes(apart: int) -> int:
    """Passes over the 32 banks when eight lanes read four floats each, so many floats apart."""
    return max(Counter((lane * apart + word) % 32 for lane in range(8) for word in range(4)).values())


def shape(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int] | None:
    """The shape of a product of matrices; None where there is none."""
    return (a[0], b[1]) if a[1] == b[0] else None


def hilbert_curve(order: int) -> list[tuple[int, int]]:
    """The cells of a square of side 2**order along the Hilbert curve, from corner (0, 0) to corner (0, side - 1)."""
    if order == 0:
        return [(0, 0)]
    half = 2 ** (order - 1)
    part = hilbert_curve(order - 1)
    first = [(column, row) for row, column in part]
    last = [(half - 1 - column, 2 * half - 1 - row) for row, column in part]
    middle = [(half + row, column) for row, column in part] + [(half + row, half + column) for row, column in part]
    return first + middle + last


def breaks(side: int, count: int) -> int:
    """How many of the `count` squares of side x side cells, one after another on a Hilbert curve, are no squares or
    have neither the rows nor the columns of the one before."""
    cells, size = hilbert_curve((side * isqrt(count)).bit_length() - 1), side * side
    squares = [cells[i : i + size] for i in range(0, len(cells), size)]
    spans = [({row for row, _ in square}, {column for _, column in square}) for square in squares]
    crooked = sum(not len(rows) == len(columns) == side for rows, columns in spans)
    return crooked + sum(a[0] != b[0] and a[1] != b[1] for a, b in pairwise(spans))


def is_right(equation: str) -> bool:
    names = {f.__name__: f for f in (loaders, slices, least, passes, shape, breaks)}
    return bool(eval(equation.replace("×", "*").replace("=", "=="), names))


@cache
def entries() -> dict[str, dict]:
    """Everything in claims.toml by id, in its order."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def claims() -> dict[str, dict]:
    """What is held against the results."""
    return {id_: entry for id_, entry in entries().items() if "follows" not in entry}


def statements() -> dict[str, dict]:
    """What follows from shapes alone."""
    return {id_: entry for id_, entry in entries().items() if "follows" in entry}


def markdown(evidence: Evidence, table: Callable[..., str]) -> str:
    """What was found, a table for each source, and what follows from shapes."""
    findings = {id_: find(claim, evidence) for id_, claim in claims().items()}
    tally = [f"{sum(f.verdict == verdict for f in findings.values())} {verdict}" for verdict in VERDICTS]
    parts = [
        f"{len(findings)} claims: {', '.join(tally)}. A measured value reproduces a claimed one when it is within "
        f"{100 * ABOUT:g} % of it; where a document names no size, M = N = K = {SIZE}, cold. {len(statements())} more "
        "follow from shapes alone and stand below."
    ]
    for source in dict.fromkeys(claim["source"] for claim in entries().values()):
        own = {id_: claim for id_, claim in claims().items() if claim["source"] == source}
        rows = [[claim["text"], claim["kind"], *findings[id_]] for id_, claim in own.items()]
        parts.append(f"### {source}\n\n{table(['claim', 'kind', 'here', 'verdict', 'why'], rows, left=5)}")
    rows = []
    for statement in statements().values():
        equations = [f"{e} is wrong" * (not is_right(e)) or e for e in statement["follows"]]
        rows.append([statement["text"], "; ".join(equations).replace("-", "−"), statement["source"]])
    parts.append(f"### What follows from shapes alone\n\n{table(['statement', 'worked out', 'source'], rows, left=3)}")
    return "\n\n".join(parts)
