"""Reads the runner's results files: the one place that knows their layout.

A results file holds a context (the machine, the build, the protocol) and one record for each case. `load` joins the
files of one device into a table with one row for each case; everything drawn or tabulated is picked from it. Every
record has the times of cuBLAS beside it, so that the table has cuBLAS also where the file has no case of its own.
Cases without numbers are left out, and a warning says so.
"""

import json
import re
import sys
from collections import Counter, namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from math import ceil, comb, log, log2
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np
import pandas as pd

from tools import ROOT
from tools.limits import flops, implausible

SCHEMA_VERSIONS = (1, 2)  # of the runner's files: the second added energy, sustained speed and traces
SCHEMA = "runner/record/results.schema.json"
COUNTERS_VERSION = 1
PLAIN = ("nn", 1)  # operations on A and B, and products of a batch, where a record names none
SIZE = re.compile(r"(?P<numbers>\d+|(\d+x)?\d+x\d+x\d+)(:(?P<ops>[nt]{2}))?", re.ASCII)
NUMBERS = re.compile(r"[-+.\de]+( [-+.\de]+)*")  # no nan
CONFIDENCE = 0.95  # of intervals, where a file does not say
UNKNOWN = "unknown GPU"  # of a file that does not name it

# What results/<device>/ holds; all but cold may be missing.
SWEEP_FILES = ("cold.json", "warm.json", "end-to-end.json")
COUNTERS_FILE = "counters.json"
ACCURACY_FILE = "accuracy.json"
SHAPES_FILE = "shapes.json"
TENSOR_SHAPES_FILE = "shapes_tensor.json"
ENERGY_FILE = "energy.json"
SUSTAINED_FILE = "sustained.json"
FEW_ROWS_FILE = "library/few_rows.json"  # the library where C has few rows,
PRODUCTS_FILE = "library/products.json"  # and on products of programs,
OTHER_BOARD_FILE = "other_board/cold.json"  # the sweep of a second board,
FIRST_BOARD_FILE = "other_board/first_board.json"  # and that of a first one at the same commit
DEVICE_FILES = (*SWEEP_FILES, ACCURACY_FILE, SHAPES_FILE, TENSOR_SHAPES_FILE, ENERGY_FILE, SUSTAINED_FILE)
LATER_FILES = (*DEVICE_FILES[1:], OTHER_BOARD_FILE, FIRST_BOARD_FILE, PRODUCTS_FILE)  # which may not be written yet
CALIBRATION_FILE = "calibration.txt"  # as `python -m sgemm calibrate` writes it
OTHER_KERNELS = "other_kernels"  # a folder with files named after the owners of public repositories:
REPOSITORIES = ("siboehm/SGEMM_CUDA", "leimao/CUDA-GEMM-Optimization", "xlite-dev/LeetCUDA", "salykova/sgemm.cu")
REPOSITORIES += ("lawmurray/gpu-gemm",)

KINDS = {"name": str, "kernel": str, "variant": str, "number": int, "m": int, "n": int, "k": int}  # of fields
MEASURED = {"time_us", "gflops", "samples_us"}  # fields of a case that was measured
TIMED = MEASURED | {"iterations", "real_time", "cpu_time", "percent_of_peak", "vs_cublas", "vs_cublas_ci"}
TIMED |= {"vs_cublas_alone", "vs_cublas_alone_ci", "cublas_alone_us", "cublas_alone_samples_us", "cublas_alone_clock"}
TIMED |= {"cublas_samples_us", "launches_per_sample", "energy", "sustained"}
DERIVED = ["file", "context", "l2", "time", "shape", "side", "is_gpu", "is_chapter", "has_fp32_accuracy", "measured"]
DERIVED += ["microseconds", "tflops", "of_cublas", "few_samples", "gpus", "interrupted", "beside"]
SHAPE = ["m", "n", "k", "ops", "batch"]
CASE = ["kernel", *SHAPE, "gpus", "l2", "time", "data"]  # what tells cases apart

# The parts of the protocol that decide what a time means. The others decide how many samples there are.
MODES = ("check", "count", "accuracy", "energy", "sustain")  # off in files older than the mode
PROTOCOL = ("l2", "time", "data", "alpha", "beta", "seed", "verify", *MODES)

Row = Any  # a row of the table, as rows_of gives it


class ResultsError(Exception):
    """A file that can not be used, or a question its records can not answer; the message is one line."""


class Unreadable(ResultsError):
    """A file that is not there, or that this user may not read."""


class NotMeasured(ResultsError):
    """The results hold nothing about a kernel that has a page, or lack a file that belongs to them: it was not measured
    yet."""


def warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr)


@contextmanager
def as_the_schema_has_it(path: Path | str, schema: str = SCHEMA) -> Iterator[None]:
    """For code that reads a results file: what the file lacks, or has as something else, becomes a ResultsError."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"it is not as {schema} has it ({type(error).__name__}: {error})"
        raise ResultsError(f"can not use {path}: {reason}") from None


def read_json(path: Path | str) -> Any:
    """UTF-8, with or without the mark that some editors put before it."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise Unreadable(f"can not read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        if "Extra data" in str(error):
            raise ResultsError(f"{path} holds more than one JSON document: each run needs a file of its own") from None
        raise ResultsError(f"{path} is not JSON: {error}") from None


@cache
def _record() -> dict:
    """The schema of a case."""
    return read_json(ROOT / SCHEMA)["$defs"]["record"]


def _problem(document: object) -> str | None:
    """What keeps a parsed JSON document from being a results file this code understands."""
    context = document.get("context") if isinstance(document, dict) else None
    if not isinstance(context, dict) or not isinstance(document.get("benchmarks"), list):
        return "it is not a results file of the runner (no context and benchmarks)"
    if "schema_version" not in context and "library_build_type" in context:
        return "it is Google Benchmark's own file, which has no protocol; the runner's results are those of --out"
    if (version := context.get("schema_version")) not in SCHEMA_VERSIONS:
        return f"its schema_version is {version!r}, this script reads {' and '.join(map(str, SCHEMA_VERSIONS))}"
    if not {"l2", "time"} <= context.get("protocol", {}).keys():
        return "its context names no device or protocol"
    if not isinstance(context.get("device"), (dict, type(None))):
        return "its device is no object"
    for index, record in enumerate(document["benchmarks"]):
        if not isinstance(record, dict):
            return f"benchmark {index} is no object"
        if missing := sorted({*_record()["required"]} - record.keys()):
            return f"benchmark {index} lacks {', '.join(missing)}"
        if wrong := [name for name, kind in KINDS.items() if not isinstance(record[name], kind)]:
            return f"benchmark {index} has {json.dumps(record[wrong[0]])} as its {wrong[0]}"
        if record["outcome"] not in _record()["properties"]["outcome"]["enum"]:
            return f"{record['name']} has the unknown outcome {record['outcome']!r}"
        if record["outcome"] == "measured" and not record.keys() >= MEASURED:
            return f"{record['name']} is measured and lacks its times"
        if not all(isinstance(record.get(name) or [], list) for name in ("samples_us", "cublas_samples_us")):
            return f"{record['name']} has samples that are no list"
    return None


def _is_finite(value: Any) -> bool:
    with suppress(ValueError):
        json.dumps(value, allow_nan=False)  # far faster than a look at each number
        return True
    return False


def _no_number(record: Mapping) -> str | None:
    """Which field of a case has no number where it needs one."""
    if not _is_finite(record):
        name, value = next(field for field in record.items() if not _is_finite(field[1]))
        return f"{name} is {value}" if isinstance(value, float) else f"{name} holds numbers that are infinite or none"
    times = record["time_us"] if isinstance(record.get("time_us"), dict) else {"": record.get("time_us")}
    needed = {"gflops": record.get("gflops"), "samples_us": record.get("samples_us") or None}
    needed |= {f"time_us.{name}".rstrip("."): value for name, value in times.items()}
    for name, values in needed.items() if record["outcome"] == "measured" else ():
        for value in values if isinstance(values, list) else [values]:
            least = 0 if name in ("time_us.stddev", "time_us.ci_covers") else 1e-12
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value < least:
                return f"{name} is {json.dumps(value)}"
    return None


def size_text(shape: tuple) -> str:
    """ "4096x128x64", or "96x512x512x64:tn" for a batch with A transposed: as the runner's --sizes takes it."""
    m, n, k, *layout = shape
    ops, batch = layout or PLAIN
    return f"{batch}x" * (batch > 1) + f"{m}x{n}x{k}" + f":{ops}" * (ops != "nn")


def parse_size(text: str) -> tuple:
    """The shape of one size, which size_text writes; "4096" is short for "4096x4096x4096". Raises ResultsError for
    anything else, as for a range of sizes."""
    if not (found := SIZE.fullmatch(text)):
        raise ResultsError(f"{text!r} is no size: 4096, 4096x128x64, 4096:nt and 96x512x512x64:tn are some")
    numbers = [int(number) for number in found["numbers"].split("x")]
    *batch, m, n, k = numbers * 3 if len(numbers) == 1 else numbers
    return shape_of({"m": m, "n": n, "k": k, "ops": found["ops"] or PLAIN[0], "batch": (batch or PLAIN[1:])[0]})


def shape_of(record: dict) -> tuple:
    """What size_text writes of a record. A product of transposed operands or a batch has its layout behind the sizes,
    so that no plain one equals it."""
    layout = record.get("ops", PLAIN[0]), record.get("batch", PLAIN[1])
    return record["m"], record["n"], record["k"], *(() if layout == PLAIN else layout)


def least_samples(confidence: float) -> int:
    """How many an interval of the median takes. One from the smallest to the largest of n misses the median when all
    lie on one side of it: once in 2^(n - 1). So three cover at most 0.75, and 0.95 takes six."""
    return 1 + ceil(-log2(1 - confidence))


def _order(case: dict) -> tuple:
    """Chapters by number, the default variant first; then cuBLAS, other GPU kernels and CPU kernels."""
    if case["number"] > 0:
        return 0, case["number"], case["variant"], case["shape"]
    return 1, case["platform"] != "gpu", case["kernel"] != "cublas", case["kernel"], case["shape"]


def without_times(record: dict) -> dict:
    """A case as it is where it ended before there was a result: no time, speed or ratio of it is shown anywhere."""
    return {name: value for name, value in record.items() if name not in TIMED}


def median_interval(samples: Sequence[float], confidence: float) -> tuple[float, float]:
    """The interval of the median from order statistics, as the runner computes it."""
    ordered, number = sorted(samples), len(samples)
    below = accumulate(comb(number, rank) / 2**number for rank in range(number // 2))
    rank = max(1, sum(share <= (1 - confidence) / 2 for share in below))
    return ordered[rank - 1], ordered[-rank]


def _beside(record: Mapping, confidence: float) -> dict | None:
    """What a record tells of cuBLAS, which was timed in turns with its kernel, as a record of its own."""
    turns = {name: record[name] for name in ("energy", "sustained") if (record.get(name) or {}).get("cublas")}
    alone = [record["cublas_alone_us"]] if record.get("cublas_alone_us") else []
    samples = (record.get("cublas_samples_us") or alone) if record["outcome"] == "measured" else []
    if not samples and not turns:
        return None
    kept = ("platform", *SHAPE, "data", "outcome", "repetition_index", "throttled", "launches_per_sample")
    made = {name: record[name] for name in kept if name in record}
    made |= {"name": f"sgemm/cublas/{size_text(shape_of(record))}", "kernel": "cublas", "number": 0, "variant": ""}
    made |= {"accuracy_class": "fp32", "reason": "", "beside": record["kernel"]}
    made |= {name: {**both, "kernel": both["cublas"]} for name, both in turns.items()}
    if samples:
        low, high = median_interval(samples, confidence)
        time = {"median": median(samples), "ci_low": low, "ci_high": high, "min": min(samples), "max": max(samples)}
        time |= {"mean": mean(samples), "stddev": stdev(samples) if len(samples) > 1 else 0.0}
        made |= {"samples_us": samples, "time_us": time, "gflops": flops(record) / time["median"] / 1e3}
    return made


def _with_cublas(records: Sequence[dict], confidence: float) -> list[dict]:
    """The records, and for each problem without a case of cuBLAS the one that the first kernel tells of."""

    def problem(record: Mapping) -> tuple:
        return shape_of(record), str(record.get("data"))

    known = {problem(record) for record in records if record["kernel"] == "cublas"}
    found: list[dict] = []
    for record in records:
        one_gpu = record["platform"] == "gpu" and not record.get("spread")
        if one_gpu and problem(record) not in known and (made := _beside(record, confidence)):
            known.add(problem(record))
            found.append(made)
    return [*records, *found]


def _case(data: dict, context: dict, interrupted: bool) -> dict:
    """A record with what is derived from it and with the context of its file."""
    shape = shape_of(data)
    samples = len(data.get("samples_us") or ())
    few = samples < least_samples(context["protocol"].get("confidence", CONFIDENCE))
    ratios = [data[name] for name in ("vs_cublas", "vs_cublas_alone") if data.get(name) is not None]
    own_word = "timed beside its own host code: its owner's word" if data.get("host_code") else None
    return data | {
        "detail": "; ".join(filter(None, (data.get("detail"), own_word))),
        "context": context,
        "l2": context["protocol"]["l2"],
        "time": context["protocol"]["time"],
        "ops": data.get("ops", PLAIN[0]),
        "batch": data.get("batch", PLAIN[1]),
        "shape": shape,
        "side": shape[0] if len(set(shape)) == 1 else None,  # of a square problem
        "is_gpu": data["platform"] == "gpu",
        "is_chapter": data["number"] > 0,
        # In FP32, or in several products of a lower precision that are as accurate together.
        "has_fp32_accuracy": data["accuracy_class"] in ("fp32", "fp32_split", "bf16_split", "fp16_split", "int8_split"),
        "measured": data["outcome"] == "measured",
        "microseconds": data["time_us"]["median"] if data.get("time_us") else None,  # of one launch
        "tflops": data["gflops"] / 1e3 if data.get("gflops") else None,
        "of_cublas": min(ratios, default=None),  # the smaller of paired and alone; 1.0 is as fast
        "few_samples": samples if samples and few else None,  # too few for an interval
        "gpus": (data.get("spread") or {}).get("gpus", 1),  # that shared the product
        "interrupted": interrupted,  # the run of the file: cases may be missing
    }


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _more(number: int) -> str:
    return f", and so {'are' if number > 1 else 'is'} {number} more" if number else ""


@dataclass(frozen=True)
class File:
    """A JSON file that was read once."""

    path: Path | str
    document: Any

    @cached_property
    def kind(self) -> str | None:
        """What wrote it: "sweep" or one of MODES for the runner, "counters", "list", "programs", "verdicts"; None for
        what nothing here writes."""
        document = self.document
        if not isinstance(document, dict):
            return "list" if _are_objects(document) and all("variants" in each for each in document) else None
        if document.keys() >= {"context", "benchmarks"}:
            context = document["context"] if isinstance(document["context"], dict) else {}
            protocol = context.get("protocol") or {}
            return next((mode for mode in MODES if protocol.get(mode) is True), "sweep")
        if "verdicts_version" in document:
            return "verdicts"
        if "kernels" in document:
            return "counters"
        return "programs" if _are_objects(document.get("runs")) else None

    @property
    def is_results(self) -> bool:
        """Whether the runner wrote it, with cases: not tools/counters.py or `runner --list`."""
        return self.kind in ("sweep", *MODES)

    @cached_property
    def cases(self) -> list[dict]:
        """The cases that have numbers, with what is derived from them. Raises ResultsError for a file that can not be
        used."""
        with as_the_schema_has_it(self.path):
            if problem := _problem(self.document):
                raise ResultsError(f"can not use {self.path}: {problem}")
            return list(self._cases())

    def _cases(self) -> Iterator[dict]:
        context, records = self.document["context"], self.document["benchmarks"]
        device, judged, bad = context.get("device"), [], []
        for data in records:
            if reason := _no_number(data):
                bad.append(f"{data['name']} is left out, because {reason}, which is no time or speed")
                continue
            if reason := implausible(data, context | {"device": device}):
                data = without_times(data) | {"outcome": "implausible", "reason": reason, "verified": False}
            judged.append(data)
        if bad:
            warn(f"{self.path}: {bad[0]}{_more(len(bad) - 1)}")
        timed = any(r["platform"] == "gpu" and r["outcome"] in ("measured", "sustained") for r in judged)
        if not (device or {}).get("name"):
            if timed:
                warn(f"{self.path} names no device, so its GPU is called unknown, and has no peaks")
            context = context | {"device": {**(device or {}), "name": UNKNOWN} if timed else device or None}
        twice = Counter(
            (r["kernel"], size_text(shape_of(r)), str(r.get("data")), str(r.get("spread")), r.get("repetition_index"))
            for r in judged
        )
        if several := [(case, number) for case, number in twice.items() if number > 1]:
            (kernel, size, *_), number = several[0]
            more = _more(len(several) - 1)
            warn(f"{self.path} has {kernel} at {size} {number} times, and the last one counts{more}")
        for data in _with_cublas(judged, context["protocol"].get("confidence", CONFIDENCE)):
            yield _case(data, context, self.document.get("interrupted", False))


def read_file(path: Path | str) -> File:
    return File(path, read_json(path))


def usable(paths: Iterable[Path]) -> list[File]:
    """The files as far as they can be used; a warning names each of the others. Raises ResultsError where none is left,
    and for a file that is not there."""
    files, refused = [], []
    for path in paths:
        try:
            file = read_file(path)
            if file.is_results:
                file.cases  # noqa: B018
            elif file.kind is None:
                raise ResultsError(f"can not use {path}: it is not a results file of this suite")
            elif file.kind == "counters":
                load_counters(file)
            files.append(file)
        except Unreadable:
            raise
        except ResultsError as error:
            refused.append(error)
    if refused and not files:
        raise refused[0]
    for error in refused:
        warn(f"{error}; the other files are used")
    return files


def protocol_value(protocol: Mapping[str, Any], name: str) -> Any:
    """A part of the protocol; a mode that the file does not know is off."""
    return protocol.get(name, False if name in MODES else None)


def protocol_differences(protocols: Mapping[str, dict], names: Iterable[str] = PROTOCOL) -> list[str]:
    """One text for each part of the protocol that is not the same in all files: "beta is 0.0 (a.json), 1.0 (b.json)".
    `protocols` maps the name of a file to the protocol in its context."""
    found = []
    for name in names:
        files: dict[str, list[str]] = {}
        for file, protocol in protocols.items():
            files.setdefault(str(protocol_value(protocol, name)), []).append(file)
        if len(files) > 1:
            values = (f"{value} ({', '.join(of)})" for value, of in files.items())
            found.append(f"{name} is {', '.join(values)}")
    return found


def load(paths: Iterable[Path | str | File]) -> pd.DataFrame:
    """Joins results files into a table with one row for each case, in the order of the chapters.

    The median repetition of a case in a file stands for it, or one that went wrong. Where several files hold a case
    under one protocol, the last file counts. Raises ResultsError for a file that can not be used, and for files of
    different devices or with different operands. Cold and warm files, say, may be joined: their cases stay apart.
    """
    files = [path if isinstance(path, File) else read_file(path) for path in paths]
    cases = sorted((case | {"file": at} for at, file in enumerate(files) for case in file.cases), key=_order)
    names = {case["context"]["device"]["name"] for case in cases if case["context"]["device"]}
    if len(names) > 1:
        raise ResultsError(f"files of different devices can not be joined: {', '.join(sorted(names))}")
    protocols = {str(files[case["file"]].path): case["context"]["protocol"] for case in cases}
    if differences := protocol_differences(protocols, [name for name in PROTOCOL if name not in CASE]):
        raise ResultsError(f"files of different protocols can not be joined: {'; '.join(differences)}")
    columns = dict.fromkeys([*(key for case in cases for key in case), *_record()["properties"], *DERIVED])
    table = pd.DataFrame(cases, columns=list(columns))
    if table.empty:
        return table
    table = table[~table.duplicated([*CASE, "file", "repetition_index"], keep="last")]
    ranked = table.sort_values(["measured", "microseconds"], kind="stable")
    repetitions = ranked.groupby([*CASE, "file"], dropna=False, sort=False).measured
    middle = repetitions.transform("all") * ((repetitions.transform("size") - 1) // 2)
    chosen = ranked[repetitions.cumcount() == middle]
    ordered = chosen.assign(own=chosen.beside.isna()).sort_values(["own", "file"], kind="stable")
    return ordered.drop_duplicates(CASE, keep="last").drop(columns="own").sort_index()


def pick(cases: pd.DataFrame, outcome: str | None = "measured", **fields) -> pd.DataFrame:
    """The rows whose columns equal `fields`; `outcome=None` picks every outcome."""
    fields |= {"outcome": outcome} if outcome else {}
    for name, value in fields.items():
        cases = cases[cases[name] == value]
    return cases


def squares(cases: pd.DataFrame) -> pd.DataFrame:
    return cases.dropna(subset="side").astype({"side": int})


@cache
def _row(columns: tuple[str, ...]) -> type:
    return namedtuple("Row", columns)


def rows_of(cases: pd.DataFrame) -> Iterator[Row]:
    """As `itertuples` gives them, which takes ten times as long, because it looks at each column by itself."""
    return map(_row(tuple(cases.columns))._make, cases.to_numpy(dtype=object))


def one(cases: pd.DataFrame, outcome: str | None = "measured", **fields) -> Row | None:
    return next(rows_of(pick(cases, outcome, **fields)), None)


def device_of(cases: pd.DataFrame) -> dict:
    """The GPU; empty where only CPU kernels ran, and where no file names it."""
    devices = (context["device"] or {} for context in cases.context)
    return next((device for device in devices if device.get("name", UNKNOWN) != UNKNOWN), {})


def other_kernels(folder: Path) -> dict[str, list[Row]]:
    """The cases of each public repository that a folder of one device has a file of, with those of the chapters that
    ran beside them, kernels in the order of the files."""
    found: dict[str, list[Row]] = {}
    for repository in REPOSITORIES:
        for path in sorted((folder / OTHER_KERNELS).glob(f"{repository.partition('/')[0]}*.json")):
            order = [case["kernel"] for case in read_json(path)["benchmarks"]]
            recorded = (row for row in rows_of(load([path])) if row.kernel in order)  # cuBLAS may stand beside them
            rows = sorted(recorded, key=lambda row, order=order: order.index(row.kernel))
            found.setdefault(repository, []).extend(rows)
    return found


def is_of_file(row: Row) -> bool:
    """Whether the kernel is of a .cu file, and no chapter or baseline."""
    return isinstance(row.path, str)


def short_name(row: Row) -> str:
    """The name of a .cu file's kernel: the function's where one was chosen, or the file's, cut in the middle where it
    is long."""
    name = row.variant or row.kernel.removesuffix(".cu").removesuffix(".cuh")
    head, tail = 3, 40
    return name if len(name) <= head + 1 + tail else f"{name[:head]}…{name[-tail:].partition('_')[2]}"


def beta_of(row: Row) -> float:
    return row.context["protocol"]["beta"]


def load_counters(path: Path | str | File) -> dict:
    """Reads a file that tools/counters.py wrote."""
    file = path if isinstance(path, File) else read_file(path)
    path, document = file.path, file.document
    if not isinstance(document, dict) or not isinstance(document.get("kernels"), dict):
        raise ResultsError(f"can not use {path}: it is not a file of tools/counters.py")
    if (version := document.get("schema_version")) != COUNTERS_VERSION:
        reads = f"this script reads {COUNTERS_VERSION}"
        raise ResultsError(f"can not use {path}: its schema_version is {version!r}, {reads}")
    return document


def read_calibration(path: Path) -> dict[str, str]:
    """What its lines tell, by their first words. Raises ResultsError for a file that is no whole calibration."""
    first, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if first != "libsgemm calibration 1" or not lines or lines[-1] != "end":
        raise ResultsError(f"{path} is no whole calibration")
    told = [line.partition(" ")[::2] for line in lines[:-1]]
    for name, value in told:
        if name != "date" and not name.startswith("key.") and not NUMBERS.fullmatch(value):
            raise ResultsError(f"{path} has no numbers in '{name} {value}'")
    if not {"date", "key.device", "key.multiprocessors", "cublas"} <= dict(told).keys():
        raise ResultsError(f"{path} does not say what it is of")
    return dict(told)


def require_measured(folder: Path, file: str) -> Path:
    """The path of a file of the folder. Raises NotMeasured where it has still to be measured."""
    if not (folder / file).exists():
        kind = NotMeasured if file in LATER_FILES else ResultsError
        raise kind(f"there is no {file} in {folder.name}")
    return folder / file


def crossover(slow_start: dict[int, float], fast_start: dict[int, float]) -> float | None:
    """The size from which on the first of two times is the smaller one, e.g. GPU against CPU; None if there is none.

    Both map sizes to times. Between two measured sizes the times are taken as straight lines on logarithmic axes.
    """
    sizes = sorted(slow_start.keys() & fast_start.keys())
    gaps = [log(slow_start[size] / fast_start[size]) for size in sizes]
    behind = [at for at, gap in enumerate(gaps) if gap >= 0]
    if not behind or behind[-1] == len(gaps) - 1:
        return None
    near = slice(behind[-1], behind[-1] + 2)
    return float(np.exp(np.interp(0, np.negative(gaps[near]), np.log(sizes[near]))))
