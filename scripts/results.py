"""Reads the runner's results files: the one place that knows their layout.

A results file holds a context (the machine, the build, the protocol) and one record for each case. `Results` joins the
files of one device; everything drawn or tabulated is picked from it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from pathlib import Path
from typing import NoReturn

SCHEMA_VERSION = 1
OUTCOMES = ("measured", "executed", "compared", "counted", "incorrect", "failed", "not_supported", "skipped")
BAD_INPUT = 2  # exit status of every script here

# What results/<device>/ holds; all but cold may be missing.
SWEEP_FILES = ("cold.json", "warm.json", "end-to-end.json")
COUNTERS_FILE = "counters.json"
ACCURACY_FILE = "accuracy.json"
SHAPES_FILE = "shapes.json"

Shape = tuple[int, int, int]


class ResultsError(Exception):
    """A file that can not be used, or a question its records can not answer; the message is one line."""


def stop(error: object) -> NoReturn:
    """Ends a script on bad input."""
    print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
    sys.exit(BAD_INPUT)


@dataclass(frozen=True)
class Record:
    """One case, with the context of the file it stands in."""

    data: dict
    context: dict

    def get(self, field: str, default=None):
        return self.data.get(field, default)

    def __getitem__(self, field: str):
        try:
            return self.data[field]
        except KeyError:
            raise ResultsError(f"{self.data['name']} has no {field}") from None

    @property
    def id(self) -> str:
        """ "05_coarse_1d", "06_coarse_2d:vectorized", "cublas"."""
        return self.data["kernel"]

    @property
    def number(self) -> int:
        return self.data["number"]

    @property
    def variant(self) -> str:
        return self.data["variant"]

    @property
    def shape(self) -> Shape:
        return self.data["m"], self.data["n"], self.data["k"]

    @property
    def size(self) -> int | None:
        """The side of a square problem, None for others."""
        m, n, k = self.shape
        return m if m == n == k else None

    @property
    def distribution(self) -> str | None:
        """What the operands were drawn from, in a file of `runner --accuracy`; None in others."""
        return self.data.get("data")

    @property
    def is_gpu(self) -> bool:
        return self.data["platform"] == "gpu"

    @property
    def is_chapter(self) -> bool:
        return self.number > 0

    @property
    def is_fp32(self) -> bool:
        return self.data["accuracy_class"] == "fp32"

    @property
    def has_fp32_accuracy(self) -> bool:
        """Computed in FP32, or in several products of a lower precision that are as accurate together."""
        return self.data["accuracy_class"] in ("fp32", "fp32_split", "bf16_split", "fp16_split")

    @property
    def l2(self) -> str:
        return self.context["protocol"]["l2"]

    @property
    def time(self) -> str:
        return self.context["protocol"]["time"]

    @property
    def outcome(self) -> str:
        return self.data["outcome"]

    @property
    def measured(self) -> bool:
        return self.outcome == "measured"

    @property
    def microseconds(self) -> float:
        """Median time of one launch."""
        return self["time_us"]["median"]

    @property
    def tflops(self) -> float:
        return self["gflops"] / 1e3

    @property
    def vs_cublas(self) -> float | None:
        """The smaller of the paired ratio to cuBLAS and the ratio to cuBLAS measured alone; 1.0 is as fast."""
        ratios = [self.get(field) for field in ("vs_cublas", "vs_cublas_alone")]
        known = [ratio for ratio in ratios if ratio is not None]
        return min(known) if known else None


def chapter_order(record: Record) -> tuple:
    """Chapters by number, the default variant first; then cuBLAS, other GPU kernels and CPU kernels."""
    if record.is_chapter:
        return 0, record.number, record.variant
    return 1, not record.is_gpu, record.id != "cublas", record.id


def _problem(document: object) -> str | None:
    """What keeps a parsed JSON document from being a results file this code understands."""
    context = document.get("context") if isinstance(document, dict) else None
    if not isinstance(context, dict) or not isinstance(document.get("benchmarks"), list):
        return "it is not a results file of the runner (no context and benchmarks)"
    version = context.get("schema_version")
    if version != SCHEMA_VERSION:
        return f"its schema_version is {version!r}, this script reads {SCHEMA_VERSION}"
    protocol = context.get("protocol")
    if not isinstance(protocol, dict) or not {"l2", "time"} <= protocol.keys() or "device" not in context:
        return "its context names no device or protocol"
    required = {"name", "kernel", "number", "variant", "platform", "accuracy_class", "m", "n", "k", "outcome"}
    for index, record in enumerate(document["benchmarks"]):
        if not isinstance(record, dict):
            return f"benchmark {index} is not an object"
        if missing := sorted(required - record.keys()):
            return f"benchmark {index} lacks {', '.join(missing)}"
        if record["outcome"] not in OUTCOMES:
            return f"{record['name']} has the unknown outcome {record['outcome']!r}"
        if record["outcome"] == "measured" and not {"time_us", "gflops", "samples_us"} <= record.keys():
            return f"{record['name']} is measured and lacks its times"
    return None


def read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultsError(f"can not read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ResultsError(f"{path} is not JSON: {error}") from None


def _one_per_case(records: Iterable[Record]) -> dict[tuple, Record]:
    """Of the repetitions of a case in one file, the one with the median time stands for it."""
    cases: dict[tuple, list[Record]] = {}
    for record in records:
        cases.setdefault((record.id, record.shape, record.l2, record.time, record.distribution), []).append(record)
    chosen = {}
    for case, repetitions in cases.items():
        measured = sorted((r for r in repetitions if r.measured), key=lambda r: r.microseconds)
        others = [r for r in repetitions if not r.measured]
        chosen[case] = others[0] if others else measured[(len(measured) - 1) // 2]
    return chosen


@dataclass(frozen=True)
class Results:
    """The records of one or more files from one device, one for each case, in the order of the chapters."""

    records: tuple[Record, ...]
    contexts: tuple[dict, ...]

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    @property
    def device(self) -> dict:
        """The GPU; empty when only CPU kernels ran."""
        return next((context["device"] for context in self.contexts if context["device"]), {})

    def pick(self, *conditions: Callable[[Record], bool], outcome: str | None = "measured", **fields) -> list[Record]:
        """The records whose attributes equal `fields` (id, number, size, l2, time, ...) and meet the conditions.

        `outcome=None` picks every outcome.
        """
        return [
            record
            for record in self.records
            if (outcome is None or record.outcome == outcome)
            and all(getattr(record, name) == value for name, value in fields.items())
            and all(condition(record) for condition in conditions)
        ]

    def one(self, outcome: str | None = "measured", **fields) -> Record | None:
        picked = self.pick(outcome=outcome, **fields)
        return picked[0] if picked else None

    @cached_property
    def ids(self) -> list[str]:
        return list(dict.fromkeys(record.id for record in self.records))

    @cached_property
    def sizes(self) -> list[int]:
        """Sides of the square problems, ascending."""
        return sorted({record.size for record in self.records if record.size is not None})


def load(paths: Iterable[Path | str]) -> Results:
    """Reads and joins results files. Of cases in several files with one protocol, the last file's counts.

    Raises ResultsError for a file that can not be used, and for files of different devices.
    """
    cases: dict[tuple, Record] = {}
    contexts: list[dict] = []
    for path in map(Path, paths):
        document = read_json(path)
        if problem := _problem(document):
            raise ResultsError(f"can not use {path}: {problem}")
        context = document["context"]
        contexts.append(context)
        cases |= _one_per_case(Record(data, context) for data in document["benchmarks"])
    names = {context["device"]["name"] for context in contexts if context["device"]}
    if len(names) > 1:
        raise ResultsError(f"files of different devices can not be joined: {', '.join(sorted(names))}")
    return Results(tuple(sorted(cases.values(), key=lambda r: (chapter_order(r), r.shape))), tuple(contexts))


def load_folder(folder: Path) -> Results:
    """The sweeps in a folder of one device: cold.json, and the others that exist."""
    first, *others = (folder / name for name in SWEEP_FILES)
    return load([first, *(path for path in others if path.exists())])


def accuracy_of_folder(folder: Path) -> Results | None:
    """The errors that `runner --accuracy` measured, apart from the sweeps: they have no times."""
    path = folder / ACCURACY_FILE
    return load([path]) if path.exists() else None


def shapes_of_folder(folder: Path, file: str = SHAPES_FILE) -> Results | None:
    """What was measured over shapes of all kinds, apart from the sweeps: fewer kernels and more problems."""
    path = folder / file
    return load([path]) if path.exists() else None


def is_accuracy(path: Path | str) -> bool:
    """Whether the file comes from `runner --accuracy`."""
    document = read_json(Path(path))
    context = document.get("context") if isinstance(document, dict) else None
    protocol = context.get("protocol") if isinstance(context, dict) else None
    return isinstance(protocol, dict) and protocol.get("accuracy") is True


def counters_of_folder(folder: Path, file: str = COUNTERS_FILE) -> dict | None:
    path = folder / file
    return load_counters(path) if path.exists() else None


def load_counters(path: Path | str) -> dict:
    """Reads a file that scripts/counters.py wrote."""
    document = read_json(Path(path))
    if not isinstance(document, dict) or not isinstance(document.get("kernels"), dict):
        raise ResultsError(f"can not use {path}: it is not a file of scripts/counters.py")
    version = document.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ResultsError(f"can not use {path}: its schema_version is {version!r}, this script reads {SCHEMA_VERSION}")
    return document


def is_counters(path: Path | str) -> bool:
    """Whether the file comes from scripts/counters.py and not from the runner."""
    document = read_json(Path(path))
    return isinstance(document, dict) and "kernels" in document and "benchmarks" not in document


def crossover(slow_start: dict[int, float], fast_start: dict[int, float]) -> float | None:
    """The size from which on the first of two times is the smaller one, e.g. GPU against CPU; None if there is none.

    Both map sizes to times. Between two measured sizes the times are taken as straight lines on logarithmic axes.
    """
    sizes = sorted(slow_start.keys() & fast_start.keys())
    gaps = [log(slow_start[size] / fast_start[size]) for size in sizes]
    if not gaps or gaps[-1] >= 0:
        return None
    for i in range(len(sizes) - 1, 0, -1):
        if gaps[i - 1] >= 0:
            weight = gaps[i - 1] / (gaps[i - 1] - gaps[i])
            return exp(log(sizes[i - 1]) + weight * (log(sizes[i]) - log(sizes[i - 1])))
    return None
