"""Checks a folder of results before it is accepted: results/README.md.

    scripts/check_results.py results/nvidia-h200

Each line of the output names a file, the rule that it breaks, and how. The rules are the functions below with their
descriptions. A folder is read with the folders in it; charts are not looked at.

Exit status: 0 no rule is broken, 1 some rule is, 2 bad input or a missing Python package.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import jsonschema

from tools import ROOT, needs, results
from tools.fleet import folder_name, slug
from tools.limits import flops, implausible, multiply_adds
from tools.results import CALIBRATION_FILE, ResultsError, load_counters, protocol_differences, read_file, read_json

COUNTS_FOLDER = "cpu-executor"  # what the executor counts does not depend on the CPU
SHOWN = 3  # messages of one rule and file; the others are counted

# The protocol of the files that pages and charts are made from.
PROTOCOL = {"alpha": 1.0, "beta": 0.0, "seed": 42, "data": "uniform", "verify": True}
BURSTS = {**PROTOCOL, "time": "kernel", "energy": False, "sustain": False}
PROTOCOLS = {
    "cold.json": {**BURSTS, "l2": "cold"},
    "warm.json": {**BURSTS, "l2": "warm"},
    "shapes*.json": {**BURSTS, "l2": "cold"},
    results.OTHER_BOARD_FILE: {**BURSTS, "l2": "cold"},
    results.FIRST_BOARD_FILE: {**BURSTS, "l2": "cold"},
    results.ENERGY_FILE: {**PROTOCOL, "time": "kernel", "energy": True},
    results.SUSTAINED_FILE: {**PROTOCOL, "time": "kernel", "sustain": True},
    "end-to-end.json": {**PROTOCOL, "time": "end-to-end"},
    results.ACCURACY_FILE: {"accuracy": True, "verify": True},
}
LEAST_SECONDS = 1.0  # sampling budget of a case in these files
LEAST_SAMPLES = 7

# Reasons for a lower clock that say something is wrong with the machine. A power cap is how some GPUs work.
FAULTS = {"hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown"}

ROUNDING = 1.01  # clocks are whole MHz, and samples have three decimals
NOISE = 0.1  # how far cuBLAS may be from itself, timed in turns

# Rules that files broke which are accepted all the same, most of them from before there was a rule: by the date in the
# file. Results are not edited.
ACCEPTED = {
    ("2026-11-22T21:44:36+00:00", "paths"),  # nvidia-h200-x2/one-gpu.json
    ("2026-11-22T21:46:47+00:00", "paths"),  # nvidia-h200-x2/two-gpus.json
    ("2026-11-22T21:48:05+00:00", "paths"),  # nvidia-h200-x2/two-gpus-49152.json
    # A machine that could not be had again: its commands named a folder for temporary files.
    ("2026-11-26T00:22:44+00:00", "paths"),  # nvidia-h200-x4/exchange-nccl.json
    ("2026-11-26T00:21:04+00:00", "paths"),  # nvidia-h200-x4/four-gpus.json
    ("2026-11-26T00:22:05+00:00", "paths"),  # nvidia-h200-x4/one-gpu.json
}


class Fault(NamedTuple):
    path: Path
    rule: str
    message: str
    accepted: bool = False


class File:
    """A file that the runner wrote, in the folder that is checked."""

    def __init__(self, path: Path, folder: Path, document: dict):
        self.path, self.folder, self.document = path, folder, document
        self.context, self.records = document["context"], document["benchmarks"]
        self.protocol, self.device = self.context["protocol"], self.context["device"]
        self.measured = [record for record in self.records if record["outcome"] == "measured"]
        is_of_kernels = self.protocol["time"] == "kernel"  # and not of copies
        self.timed_on_gpu = [record for record in self.measured if record["platform"] == "gpu" and is_of_kernels]


Rule = Callable[[File], Iterator[str]]


def names(file: File) -> Iterator[str]:
    """Files have plain names, and the folder has that of the device."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]*\.json", file.path.name):
        yield "a file's name has small letters, digits, - and _ alone"
    wanted = folder_name(file.context)
    if not file.device and (file.protocol["count"] or file.protocol["check"]):
        wanted = COUNTS_FOLDER
    yield from wrong_folder(wanted, file.folder)


def wrong_folder(wanted: str, folder: Path) -> Iterator[str]:
    if not re.fullmatch(rf"{wanted}(-x[0-9]+)?", folder.name):
        yield f"results of this device belong into a folder {wanted}, or {wanted}-xN for N of them"


def finished(file: File) -> Iterator[str]:
    """The run went to its end, with the code of a commit, and has cases."""
    if file.document["interrupted"]:
        yield "the run was interrupted"
    if not file.records:
        yield "it holds no case"
    if file.context["git_commit"] == "unknown" or file.context["git_dirty"]:
        yield "files differed from the commit, or there was none: commit first, then measure"


def verified(file: File) -> Iterator[str]:
    """Every case was verified. Files of other people may be wrong; that is a result."""
    for record in file.records:
        if record["outcome"] in ("incorrect", "implausible", "failed") and "path" not in record:
            yield f"{record['name']} is {record['outcome']}: {record['reason']}"
        is_done = record["outcome"] in ("measured", "sustained", "executed", "compared")
        if is_done and record.get("accuracy", {}).get("promised", True) and not record["verified"]:
            yield f"{record['name']} was not verified"
        if record["verified"] and record.get("max_bound_ratio", 0) > 1:
            yield f"{record['name']} is verified, and its error is {record['max_bound_ratio']:.3g} times its bound"


def protocols(file: File) -> Iterator[str]:
    """Files that pages are made from have one protocol; accesses are not checked while time is measured."""
    if file.measured and file.protocol["check"]:
        yield "accesses to memory were checked"
    for pattern, wanted in PROTOCOLS.items():
        if not fnmatchcase(str(file.path.relative_to(file.folder)), pattern):
            continue
        yield from protocol_differences({"needed": wanted, file.path.name: file.protocol}, wanted)
        if file.protocol["max_seconds"] < LEAST_SECONDS or file.protocol["min_samples"] < LEAST_SAMPLES:
            yield f"a case takes at least {LEAST_SAMPLES} samples, and {LEAST_SECONDS} s if it needs them"
    if file.device and file.timed_on_gpu and file.protocol["l2"] == "cold":
        flushed, size = file.protocol["flush_bytes"], file.device["l2_bytes"]
        if flushed < size:
            yield f"the L2 was not cold: {flushed} bytes were written between samples, and it has {size}"


def throttling(file: File) -> Iterator[str]:
    """No case ran on a GPU that was too hot or whose power supply failed it."""
    for record in file.records:
        states = (record["telemetry"] or {}).values()
        turns = [turn for kind in ("energy", "sustained") for turn in record.get(kind, {}).values()]
        traces = [record.get("trace"), *(turn.get("trace") for turn in turns if isinstance(turn, dict))]
        seen = {reason for state in states for reason in state["throttle_reasons"]}
        seen |= {reason for trace in traces if trace for reason in trace["throttle_shares"]}
        if reasons := FAULTS & seen:
            yield f"{record['name']} was throttled by {', '.join(sorted(reasons))}"


def close(a: float, b: float) -> bool:
    return a <= ROUNDING * b and b <= ROUNDING * a


def peaks(file: File) -> Iterator[str]:
    """The device's peaks follow from its multiprocessors, bus and clocks."""
    device = file.device or {}
    if lanes := multiply_adds(device.get("compute_capability", ""), "fp32"):
        fp32 = 2 * device["multiprocessors"] * lanes * device["max_sm_clock_mhz"] / 1e3
        if "fp32_peak_gflops" in device and not close(device["fp32_peak_gflops"], fp32):
            yield f"fp32_peak_gflops is {device['fp32_peak_gflops']:.6g}, and SMs and clock give {fp32:.6g}"
    if device:
        dram = 2 * device["max_memory_clock_mhz"] * device["memory_bus_bits"] / 8e3
        if not close(device["dram_peak_gbytes_s"], dram):
            yield f"dram_peak_gbytes_s is {device['dram_peak_gbytes_s']:.6g}, and bus and clock give {dram:.6g}"


def statistics(file: File) -> Iterator[str]:
    """Medians, speeds and ratios follow from the samples."""
    for record in file.measured:
        samples, rivals = record["samples_us"], record.get("cublas_samples_us", [])
        middle = median(samples)
        if not middle > 0:
            yield f"{record['name']} took no time"
            continue
        values = {"time_us.median": (record["time_us"]["median"], middle)}
        values["gflops"] = (record["gflops"], flops(record) / middle / 1e3)
        if rivals and len(rivals) != len(samples):
            yield f"{record['name']} has {len(samples)} samples and {len(rivals)} of cuBLAS"
        elif rivals:
            ratio = median(rival / own for rival, own in zip(rivals, samples, strict=True))
            values["vs_cublas"] = (record["vs_cublas"], ratio)
        for name, (written, computed) in values.items():
            if not close(written, computed):
                yield f"{record['name']}: {name} is {written:.6g}, and the samples give {computed:.6g}"
        if record["kernel"] == "cublas" and rivals and abs(record["vs_cublas"] - 1) > NOISE:
            yield f"{record['name']} is at {record['vs_cublas']:.3f} of itself: something disturbed the GPU"


def plausible(file: File) -> Iterator[str]:
    """Nothing is faster than the multiply-adds, DRAM or a launch of the device, nor larger than its memory."""
    device = file.device
    if file.timed_on_gpu and not device:
        yield "GPU kernels have times, and there is no device"
    for record in file.records:
        own = "path" not in record and not record["kernel"].startswith("libsgemm:")  # which takes any chapter
        if reason := implausible(record, file.context, own=own):
            yield f"{record['name']} {reason}"
    for record in file.timed_on_gpu if device else []:
        gpus = (record.get("spread") or {}).get("gpus", 1)
        m, n, k, batch = record["m"], record["n"], record["k"], record.get("batch", 1)
        if 4.0 * batch * (m * k + k * n + m * n) > gpus * device["memory_bytes"]:
            yield f"{record['name']} needs more memory than the device has"
        clocks = [state["sm_clock_mhz"] for state in (record["telemetry"] or {}).values()]
        if max(clocks, default=0) > device["max_sm_clock_mhz"]:
            yield f"{record['name']} ran at {max(clocks)} MHz, and {device['max_sm_clock_mhz']} is the maximum"


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from texts(part)


def paths(file: File | results.File) -> Iterator[str]:
    """No text names a folder of the machine, other than those of installed programs: start ./runner in its folder, with
    a relative --out."""
    for text in dict.fromkeys(texts(file.document)):
        for found in re.finditer(r"(?<![\w.])(/(?!usr/|opt/)|~/|[A-Z]:\\)[\w.-]+[/\\][\w./\\-]+", text):
            yield f"it holds the path {found[0]}"


def items(validator: Any, rule: dict, instance: object, schema: dict) -> Iterator[jsonschema.ValidationError]:
    """Of many numbers those at the ends stand for all, and the one that is farthest from an integer."""
    if isinstance(instance, list) and len(instance) > 3 and {*map(type, instance)} <= {int, float}:
        for value in (min(instance), max(instance), max(instance, key=lambda number: number % 1)):
            yield from validator.descend(value, rule, path=instance.index(value))
    else:
        yield from jsonschema.Draft202012Validator.VALIDATORS["items"](validator, rule, instance, schema)


@cache
def validator() -> Any:
    rules = read_json(ROOT / results.SCHEMA)
    return jsonschema.validators.extend(jsonschema.Draft202012Validator, {"items": items})(rules)


def difference(document: object) -> str | None:
    """The first one from the schema."""
    error = next(validator().iter_errors(document), None)
    return error and f"{error.json_path}: {error.message[:200]}"


RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (names, finished, verified, protocols, throttling, peaks, statistics, plausible, paths)
}


def faults_of(path: Path, folder: Path) -> Iterator[Fault]:
    """Each broken rule of a file, and how it is broken."""
    try:
        file = read_file(path) if path.name != CALIBRATION_FILE else None
        if file is None or file.kind == "counters":
            device = load_counters(file)["context"]["device"] if file else results.read_calibration(path)["key.device"]
            yield from (Fault(path, "names", message) for message in wrong_folder(slug(device), folder))
        elif file.kind == "list":
            return
        elif file.kind == "programs":
            yield from (Fault(path, "paths", message) for message in paths(file))
        elif message := difference(file.document):
            yield Fault(path, "schema", message)
        else:
            file = File(path, folder, file.document)
            for name, rule in RULES.items():
                accepted = (file.context["date"], name) in ACCEPTED
                yield from (Fault(path, name, message, accepted) for message in rule(file))
    except (ResultsError, KeyError, TypeError) as error:
        yield Fault(path, "schema", str(error))


def faults_of_folder(folder: Path) -> Iterator[Fault]:
    """Raises ResultsError for a folder without results."""
    if not folder.is_dir():
        raise ResultsError(f"{folder} is no folder")
    if not (files := sorted(folder.rglob("*.json"))):
        raise ResultsError(f"{folder} holds no results")
    for path in [*files, *folder.glob(CALIBRATION_FILE)]:
        yield from faults_of(path, folder)
    if not re.search("-x[0-9]+$", folder.name) and folder.name != COUNTS_FOLDER and not (folder / "cold.json").exists():
        yield Fault(folder, "names", "cold.json is missing: pages, charts and comparisons start from it")


def report(folder: Path) -> bool:
    """Prints a line for each rule that a file breaks, and returns whether all is well."""
    grouped: dict[tuple, list[str]] = {}
    for fault in faults_of_folder(folder.resolve()):
        grouped.setdefault((fault.accepted, fault.path, fault.rule), []).append(fault.message)
    for (accepted, path, rule), messages in grouped.items():
        more = f"; and {len(messages) - SHOWN} more" if len(messages) > SHOWN else ""
        print(f"{'accepted: ' if accepted else ''}{path}: {rule}: {'; '.join(messages[:SHOWN])}{more}")
    if is_well := all(accepted for accepted, *_ in grouped):
        print(f"{folder}: every rule is kept")
    return is_well


def main(arguments: Sequence[str] | None = None) -> int:
    parser = needs.parser(__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="of a device")
    with needs.stopping(ResultsError):
        folders = [report(folder) for folder in parser.parse_args(arguments).folders]
    return 0 if all(folders) else 1
