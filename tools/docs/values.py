"""The measured numbers that a page may name: a dictionary of plain names for each file of results.

    tflops.12.4096                       of cold.json; 12 is the default variant of the chapter
    of_cublas.9.128x4096x4096@shapes     of shapes.json
    counter.05_coarse_1d.dram_bytes      of counters.json

Each number has a form in which it is written. A page may name another one, or the ratio of two numbers:

    of_cublas.12.4096 as times               4.45 times
    tflops.7.4096 / tflops.6.4096 as +.1%    by how much the ratio is above 1; -.1% is how much it is below

`.2f` has two decimals, `.3g` three significant digits, and `.1%` is a ratio in per cent. Anything that takes more than
a division has a name of its own, in DERIVED.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from tools import counts, forms, programs, results, turns
from tools.counters import ratio
from tools.docs import pages
from tools.forms import Form, error_size, in_bytes, percent, share, significant, whole
from tools.limits import flops
from tools.results import NotMeasured, ResultsError, load, pick, read_json, require_measured, rows_of, size_text

COLD_FILE = "cold.json"
NOT_MEASURED = "not measured"


class Value(NamedTuple):
    number: float
    form: Form


Dictionary = Mapping[str, Value]

# Of a case: its column, and how it is written.
OF_CASES: dict[str, tuple[str, Form]] = {
    "tflops": ("tflops", significant),
    "time": ("microseconds", forms.duration),
    "of_cublas": ("of_cublas", share),  # the smaller of paired and alone; 1 is as fast
    "vs_cublas": ("vs_cublas", share),
    "vs_cublas_alone": ("vs_cublas_alone", share),
    "percent_of_peak": ("percent_of_peak", percent),
    "error": ("rel_err", error_size),
}
OF_KERNELS = {"registers": ("registers", whole), "spills": ("spill_bytes", whole), "occupancy": ("occupancy", share)}
PEAKS = {"fp32_peak_gflops": "fp32", "dram_peak_gbytes_s": "dram"}  # in TFLOP/s and TB/s
COUNTER_FORMS = {field: form for _, field, form in forms.COUNTER_ROWS}

# The file of a quantity where a page names none.
OF_TURNS = ("joules", "watts", "gflops_per_joule", "energy_of_cublas", "back_to_back", "clock")
FILES = {
    **dict.fromkeys(("relative", "componentwise", "roundings"), results.ACCURACY_FILE),
    **dict.fromkeys(OF_TURNS, results.ENERGY_FILE),
    **dict.fromkeys(("sustained", "sustained_cublas", "celsius"), results.SUSTAINED_FILE),
    **dict.fromkeys(("counter", "launch"), results.COUNTERS_FILE),
    "counted": counts.counts_file(counts.USUAL_SIZE),
}


class Folders:
    """The results of one device, and the folder of what was counted. Each file is read when a block asks for it."""

    def __init__(self, results: Path, counted: Path):
        self.path, self.counted = results, counted

    @cached_property
    def cold(self) -> pd.DataFrame:
        """The cold sweep, every outcome, CPU kernels among them."""
        cold = results.squares(pick(self.file(COLD_FILE), None, l2="cold", time="kernel"))
        if cold.empty:
            raise ResultsError(f"{self.path} holds no cold measurement")
        return cold

    @cache  # noqa: B019 (there is one for each run)
    def file(self, name: str) -> pd.DataFrame:
        """One results file, every outcome. Raises NotMeasured where it has still to be measured."""
        return load([require_measured(self.path, name)])

    @cached_property
    def kernels(self) -> list[dict]:
        """What `runner --list=json` prints."""
        path = self.path / "kernels.json"
        return read_json(path) if path.exists() else []

    @cached_property
    def summaries(self) -> dict[str, str]:
        """One line about each kernel, by id."""
        return {kernel["id"]: kernel["summary"] for chapter in self.kernels for kernel in chapter["variants"]}

    @cache  # noqa: B019 (there is one for each run)
    def comparison(self, size: int = counts.USUAL_SIZE) -> counts.Comparison:
        return counts.compare(self.counted, self.path, size)


def names_of(kernel: str) -> tuple[str, ...]:
    """The id, and the chapter's number for its default variant."""
    chapter = re.match(r"(\d\d)_[^:]*$", kernel)
    return (kernel, str(int(chapter[1]))) if chapter else (kernel,)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not pd.isna(value)


def of_turn(row) -> Iterator[tuple[str, float | None, Form]]:
    """What a kernel took back to back: the quantity, its value and its form."""
    if not isinstance(turn := row.sustained if row.outcome == "sustained" else row.energy, dict):
        return
    own, rival = turn["kernel"], turn.get("cublas") or {}
    joules, joules_of_rival = (of.get("joules_per_product") for of in (own, rival))
    yield "back_to_back", ratio(own["gflops"], rival.get("gflops")), share
    yield "joules", joules, forms.joules
    yield "watts", own.get("watts"), "{:.0f} W".format
    yield "gflops_per_joule", own.get("gflops_per_watt"), significant
    yield "energy_of_cublas", ratio(joules, joules_of_rival), share
    yield "clock", own["trace"].get("mean_sm_clock_mhz"), "{:.0f} MHz".format
    if row.outcome == "sustained":
        for quantity, of in (("sustained", own), ("sustained_cublas", rival)):
            first, last = turns.ends_of(of, flops(row._asdict())) if of else (None, None)
            yield f"{quantity}.first", first, significant
            yield f"{quantity}.last", last, significant
        yield "celsius", turns.last_temperature(own), "{:.0f} °C".format


def of_case(row) -> Iterator[tuple[str, float | None, Form]]:
    """A part of the name that stands behind the size follows the quantity."""
    for quantity, (column, form) in OF_CASES.items() if row.measured else ():
        yield quantity, getattr(row, column), form
    if isinstance(row.accuracy, dict) and isinstance(row.data, str):
        componentwise = row.accuracy.get("componentwise_err")
        yield f"relative.{row.data}", row.rel_err, error_size
        yield f"componentwise.{row.data}", componentwise, error_size
        yield f"roundings.{row.data}", ratio(componentwise, 2**-24), forms.tenths
    yield from of_turn(row)


def of_results(rows: pd.DataFrame) -> Dictionary:
    found: dict[str, Value] = {}
    for row in rows_of(rows):
        shape = f"{row.m}" if row.side == row.m else size_text(row.shape)
        values = [(quantity, "", getattr(row, column), form) for quantity, (column, form) in OF_KERNELS.items()]
        for quantity, number, form in of_case(row):
            quantity, point, rest = quantity.partition(".")
            values.append((quantity, f".{shape}{point}{rest}", number, form))
        for kernel in names_of(row.kernel):
            found |= {
                f"{q}.{kernel}{rest}": Value(number, form) for q, rest, number, form in values if is_number(number)
            }
    context = rows.context.iloc[0]
    for part in ("device", "protocol"):
        for field, number in (context.get(part) or {}).items():
            if is_number(number):
                found[f"{part}.{field}"] = Value(number, forms.plain)
                if field in PEAKS:
                    found[f"peak.{PEAKS[field]}"] = Value(number / 1e3, significant)
    return found


def of_fields(fields: Mapping, prefix: str) -> Iterator[tuple[str, Value]]:
    """Derived counters; those of stalls are "stalls.long_scoreboard"."""
    for field, number in fields.items():
        if isinstance(number, dict):
            yield from of_fields(number, f"{prefix}.{field}")
        elif is_number(number):
            other = percent if field.endswith("_percent") else in_bytes if field.endswith("_bytes") else significant
            yield f"{prefix}.{field}", Value(number, COUNTER_FORMS.get(field, other))


def of_counters(document: Mapping) -> Dictionary:
    """Of a product with several launches, `counter` is of the longest one, and `launch` counts them from 0 on."""
    found: dict[str, Value] = {}
    for id_, fields in document["derived"].items():
        for kernel in names_of(id_):
            found |= of_fields(fields, f"counter.{kernel}")
            for number, launch in enumerate(document.get("launches", {}).get(id_, [])):
                found |= of_fields(launch["derived"], f"launch.{kernel}.{number}")
    return found


def of_counted(comparison: counts.Comparison) -> Dictionary:
    """By the titles of the block `counts`: "DRAM bytes, blocks in step" is dram_bytes_blocks_in_step."""
    return {
        f"counted.{kernel}.{re.sub('[^a-z0-9]+', '_', title.lower())}": Value(pair.counted, form)
        for case in comparison.cases
        for kernel in names_of(case.kernel)
        for title, (pair, form) in counts.quantities(case).items()
        if pair.counted is not None
    }


def constant(name: str, file: str) -> Value:
    """What a source file defines, `NAME = 0.25;`: settings of the runner, sizes of tiles."""
    found = re.search(rf"\b{re.escape(name)} = (\d+(?:\.\d+)?)[fuUL]*;", pages.text_of(file))
    if found is None:
        raise ResultsError(f"{file} defines no number {name}")
    return Value(float(found[1]), forms.plain)


class Values:
    """The numbers of a folder of results, and of what was counted, by name."""

    def __init__(self, folders: Folders):
        self.folders = folders

    @cache  # noqa: B019 (there is one for each run)
    def of_file(self, file: str) -> Dictionary:
        if size := re.fullmatch(r"counts_(\d+)\.json", file):
            return of_counted(self.folders.comparison(int(size[1])))
        if Path(file).name.startswith("counters"):
            return of_counters(results.load_counters(require_measured(self.folders.path, file)))
        return of_results(self.folders.file(file))

    def value(self, name: str) -> Value:
        base, _, file = name.partition("@")
        quantity, _, rest = base.partition(".")
        if quantity == "constant":
            return constant(rest, file)
        if quantity == "derived":
            if rest not in DERIVED:
                raise ResultsError(f"there is no {name}; there are {', '.join(DERIVED)}")
            return Value(DERIVED[rest](self), significant)
        if quantity == "wavefronts_per_fma":
            return Value(wavefronts_per_fma(self, rest), significant)
        file = f"{file}.json" if file else FILES.get(quantity, COLD_FILE)
        known = self.of_file(file)
        if base in known:
            return known[base]
        kernel = rest.partition(".")[0]
        is_known = any(kernel in key.split(".") for key in known)
        if quantity == "launch" or (not is_known and pages.has_page(int(kernel) if kernel.isdecimal() else kernel)):
            raise NotMeasured(f"{file} holds nothing about {kernel}")
        near = get_close_matches(base, known, 5) or list(known)[:5]
        raise ResultsError(f"{file} has no {base}; it has {', '.join(near)}")

    def __getitem__(self, name: str) -> float:
        return self.value(name).number

    def written(self, expression: str) -> str:
        """What stands on the page for a name, or for the ratio of two, in a form."""
        parts = re.fullmatch(r"\s*(?P<name>\S+)(?:\s+/\s+(?P<over>\S+))?(?:\s+as\s+(?P<form>\S+))?\s*", expression)
        if parts is None:
            raise ResultsError("it is neither NAME nor NAME / NAME, with `as FORM` or without")
        try:
            value = self.value(parts["name"])
            if parts["over"]:
                if not parts["form"]:
                    raise ResultsError("a ratio needs a form: `as times`, say")
                value = value._replace(number=value.number / self[parts["over"]])
        except NotMeasured:
            return NOT_MEASURED
        return in_form(value.number, parts["form"]) if parts["form"] else value.form(value.number)


def in_form(number: float, form: str) -> str:
    if form == "times":
        return f"{significant(number)} times"
    if (found := re.fullmatch(r"([+-]?)\.(\d)([fg%])", form)) is None:
        raise ResultsError(f"{form} is no form; times, .2f, .3g, .1%, +.1% and -.1% are some")
    sign, digits, kind = found[1], int(found[2]), found[3]
    number = number - 1 if sign == "+" else 1 - number if sign == "-" else number
    if kind == "g":
        return significant(number, digits)
    return f"{100 * number:.{digits}f} %" if kind == "%" else f"{number:.{digits}f}"


# Numbers that follow from several others. Each is a plain number, so a page names its form.


def wavefronts_per_fma(v: Values, name: str) -> float:
    """How many wavefronts the data pipe takes for a multiply-add of a warp, at 4096."""
    kernel = f"counter.{name}"
    cycles = v[f"{kernel}.time_us"] * v[f"{kernel}.sm_clock_mhz"] * v["device.multiprocessors"]
    return v[f"{kernel}.shared_pipe_percent"] / 100 * cycles * 32 / 4096**3


def ffma_share(v: Values, kernel: str, with_work: float) -> float:
    """The part of the FP32 units' peak that remains after the part of instructions that are no multiply-add, idle
    issue slots, and SMs without a block: `with_work` of them have one on average."""
    slots = v[f"counter.{kernel}.issue_slots_busy_percent"]
    return v[f"counter.{kernel}.ffma_percent_of_instructions"] * slots / 10000 * with_work


def tensor_ceiling(v: Values, kernel: str, products: int) -> float:
    """TFLOP/s of 132 SMs at the clock that was measured, each with 4096 FLOP a cycle, for so many products."""
    return 4096 * 132 * v[f"counter.{kernel}.sm_clock_mhz@counters_8192"] / 1e6 / products


def tensor_busy(v: Values, kernel: str, products: int) -> float:
    return tensor_ceiling(v, kernel, products) * v[f"counter.{kernel}.tensor_pipe_percent@counters_8192"] / 100


def first_of_launches(v: Values, kernel: str, file: str) -> float:
    first, longest = v[f"launch.{kernel}.0.time_us@{file}"], v[f"counter.{kernel}.time_us@{file}"]
    return first / (first + longest)


def of_issue_slots(v: Values, kernel: str, stall: str) -> float:
    """Warps that wait for this reason in a cycle."""
    return v[f"counter.{kernel}.stalls.{stall}"] * v[f"counter.{kernel}.issue_slots_busy_percent"] / 100


def over_sizes(choose: Callable, v: Values, name: str, sizes: str, file: str) -> float:
    return choose(v[f"{name}.{size}@{file}"] for size in sizes.split())


def apart(v: Values, of: str, file: str, other: str) -> float:
    """By how much the ratios to cuBLAS of two files differ, as a fraction."""
    ratios = (v.folders.file(name).set_index("name").vs_cublas for name in (file, other))
    return float((next(ratios) / next(ratios) - 1).abs().agg(of))


def pairs_of_cublas(v: Values, folders: str, *, holding_one: bool = False) -> float:
    """How many intervals there are of cuBLAS beside itself, of squares up to 512, or how many of them hold 1."""
    paths = (path for folder in folders.split() for path in (v.folders.path / folder).glob("*.json"))
    cases = (case for file in map(results.read_file, paths) if file.is_results for case in file.cases)
    small = (case for case in cases if case["kernel"] == "cublas" and (case["side"] or 513) <= 512)
    intervals = [case["vs_cublas_ci"] for case in small if "vs_cublas_ci" in case]
    return sum(not holding_one or low <= 1 <= high for low, high in intervals)


def l2_to_sm_tb_s(v: Values) -> float:
    """What chapter 13 draws, the most of those without multicast."""
    return v["counter.13.l2_to_sm_bytes"] / v["counter.13.time_us"] / 1e6


OLDER = "other_board other_kernels"
SQUARES = "2048 3001 3072 4096 5120 6144 8192"
NO_SQUARES = "128x4096x4096 4096x128x4096 1024x1024x16384 8192x8192x512 16384x16384x64"

DERIVED: dict[str, Callable[[Values], float]] = {
    # The GPU of chapter 00, and what it allows chapter 05.
    "schedulers": lambda v: 4 * v["device.multiprocessors"],
    "fp32_lanes": lambda v: 128 * v["device.multiprocessors"],
    "sm_memory_mib": lambda v: v["device.multiprocessors"] // 4,
    "l2_mib": lambda v: v["device.l2_bytes"] / 2**20,
    "memory_gib": lambda v: v["device.memory_bytes"] / 2**30,
    "l1_tb_s": lambda v: 128 * v["device.multiprocessors"] * v["device.max_sm_clock_mhz"] / 1e6,
    "l2_to_sm_tb_s": l2_to_sm_tb_s,
    "dram_limit.5": lambda v: v["counter.5.flop_per_dram_byte"] * v["peak.dram"],
    "l2_limit.5": lambda v: v["counter.5.flop_per_l2_to_sm_byte"] * l2_to_sm_tb_s(v),
    "pipe_limit.5": lambda v: 64 / 47 / 4 * v["peak.fp32"],
    # Instructions and cycles.
    "instructions_per_fma.3": lambda v: 100 / v["counter.3.ffma_percent_of_instructions"],
    "cycles_per_instruction.3": lambda v: 1600 / v["counter.3.issue_slots_busy_percent"],
    "ffma_share.5": lambda v: ffma_share(v, "5", 4096 / 528 / 4 / 2),
    "ffma_share.6": lambda v: ffma_share(v, "6", 1024 / 264 / 4),
    "ffma_share.6_vectorized": lambda v: ffma_share(v, "06_coarse_2d:vectorized", 1024 / 264 / 4),
    "ffma_share.7": lambda v: ffma_share(v, "7", 512 / 132 / 4),
    "ffma_share.8": lambda v: ffma_share(v, "8", 0.97),
    "cycles_per_fma.8": lambda v: 100 / v["counter.8.fma_pipe_percent"],
    "cycles_per_fma.8_serpentine": lambda v: 100 / v["counter.08_warp_specialized:serpentine.fma_pipe_percent"],
    "instructions_per_cycle.8": lambda v: v["counter.8.issue_slots_busy_percent"] / 100,
    "waits.10": lambda v: of_issue_slots(v, "10", "wait"),
    "waits_for_tensor_cores.10": lambda v: of_issue_slots(v, "10", "math_pipe_throttle"),
    # The tensor cores of chapters 10 to 12.
    "of_the_rest.10": lambda v: v["tflops.10.4096"] / (323 / 3 * 0.97),
    "ceiling.11": lambda v: tensor_ceiling(v, "11", 6),
    "busy.11": lambda v: tensor_busy(v, "11", 6),
    "busy_with_tiles.11": lambda v: tensor_busy(v, "11", 6) * 128 / 132,
    "ceiling.12": lambda v: tensor_ceiling(v, "12", 3),
    "busy.12": lambda v: tensor_busy(v, "12", 3),
    "busy_with_tiles.12": lambda v: tensor_busy(v, "12", 3) * 128 / 132,
    "twice.11": lambda v: 2 * v["counter.11.tflops@counters_8192"],
    "dram_share.12": lambda v: v["counter.12.dram_gbytes_s@counters_8192"] / 1000 / v["peak.dram"],
    "first_launch.12.4096": lambda v: first_of_launches(v, "12", "counters"),
    "first_launch.12.8192": lambda v: first_of_launches(v, "12", "counters_8192"),
    # Over several sizes.
    "least_of_large.8": lambda v: over_sizes(min, v, "of_cublas.8", "2048 4096 8192", "cold"),
    "most_of_large.8": lambda v: over_sizes(max, v, "of_cublas.8", "2048 4096 8192", "cold"),
    "least_of_squares.9": lambda v: over_sizes(min, v, "of_cublas.9", SQUARES, "shapes"),
    "most_of_squares.9": lambda v: over_sizes(max, v, "of_cublas.9", SQUARES, "shapes"),
    "least_of_others.9": lambda v: over_sizes(min, v, "of_cublas.9", NO_SQUARES, "shapes"),
    "most_of_others.9": lambda v: over_sizes(max, v, "of_cublas.9", NO_SQUARES, "shapes"),
    # Other files and boards.
    "seconds_with_copies.1": lambda v: v["time.1.10000@end-to-end"] / 1e6,
    "agreement.median": lambda v: apart(v, "median", "shapes.json", COLD_FILE),
    "agreement.worst": lambda v: apart(v, "max", "shapes.json", COLD_FILE),
    "boards.median": lambda v: apart(v, "median", results.OTHER_BOARD_FILE, results.FIRST_BOARD_FILE),
    "boards.worst": lambda v: apart(v, "max", results.OTHER_BOARD_FILE, results.FIRST_BOARD_FILE),
    "pairs": lambda v: pairs_of_cublas(v, "."),
    "pairs.hold_one": lambda v: pairs_of_cublas(v, ".", holding_one=True),
    "pairs.older": lambda v: pairs_of_cublas(v, OLDER),
    "pairs.older.hold_one": lambda v: pairs_of_cublas(v, OLDER, holding_one=True),
    "training.componentwise": lambda v: programs.gain(v.folders.path / "programs", "componentwise"),
    "training.normwise": lambda v: programs.gain(v.folders.path / "programs", "normwise"),
}
