"""Compares results files case by case and prints Markdown tables.

    scripts/compare.py OLD NEW --fail-below 0.97
    scripts/compare.py results NEW... --fail-below 0.95
    scripts/compare.py --across FILE...

OLD is a file, or a folder of results/. A folder holds the references of each device: those for a file NEW are the cases
in OLD/<device of NEW>/ that were measured under its protocol, of several boards the slowest.

The ratio is the new speed over the old one: above 1 is faster. Its interval is the central 95 % of a bootstrap: the raw
samples of both files are drawn anew, with replacement, and the ratio of the medians is taken each time. The interval
knows the scatter within a run, not the drift from run to run, so a threshold should leave room for that. Fewer than 6
samples support no interval of 95 %: such a case shows the range of all ratios of two samples, and says how many there
are.

A case is slower only when its whole interval lies below --fail-below; one whose ratio is below while its interval
reaches the threshold is listed as unclear and does not fail. A case that is incorrect, implausible or failed in NEW
fails, whatever the threshold and whatever OLD says of it.

A record has the times of cuBLAS beside it, so a file of one kernel has cases of cuBLAS as well. Those never fail, and
are in no mean.

With --fail-below a case also fails that was done in OLD and is not in NEW: it is missing, skipped or not supported
there. --partial lets NEW lack cases, as a sweep of fewer sizes does; where OLD is a folder, NEW always may. A NEW that
was interrupted fails as a whole. Without --fail-below all this is a warning.

--across prints a table for each kernel with a column for each device. Results do not name their board, so each file
stands for one: where a device has several, its column shows the median over the boards and the range.

Files of different protocols are bad input: another state of L2, other operands. --despite l2 compares them all the
same. Another driver or number of samples is a warning.

Exit status: 0 nothing fails, 1 some case or file fails, 2 bad input.
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

import numpy as np
import pandas as pd

from tools import needs, results
from tools.fleet import PRODUCT, Board, device_name, folder_name, load_boards, references
from tools.forms import table
from tools.results import PROTOCOL, ResultsError, Row, least_samples, load, protocol_differences, rows_of, size_text

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 1  # the same files always give the same intervals
BROKEN = ("incorrect", "implausible", "failed")
UNDONE = (*BROKEN, "not_supported", "skipped")


@dataclass(frozen=True)
class Comparison:
    case: str
    verdict: str
    fails: bool = False
    old: float | None = None
    new: float | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    few_samples: int | None = None  # then the interval is a range
    beside: bool = False  # cuBLAS, as a file of other kernels has it


def resampled_medians(samples: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    draws = rng.integers(0, len(samples), (RESAMPLES, len(samples)))
    return np.median(samples[draws], axis=1)


def compared_values(row: Row, metric: str) -> np.ndarray:
    """Samples of what is compared: times in microseconds, or ratios to the cuBLAS sample beside each time."""
    times = np.array(row.samples_us, dtype=float)
    if metric == "time":
        return times
    rivals = np.array(row.cublas_samples_us if isinstance(row.cublas_samples_us, list) else [], dtype=float)
    return rivals / times if len(rivals) == len(times) else np.array([])


def compare_case(old: Row, new: Row, metric: str, threshold: float | None, name: str) -> Comparison:
    before, after = compared_values(old, metric), compared_values(new, metric)
    if not len(before) or not len(after):
        return Comparison(name, f"no {metric} in both files")
    rng = np.random.default_rng(SEED)

    def speed_ratio(old_value, new_value):
        return old_value / new_value if metric == "time" else new_value / old_value

    samples, tail = min(len(before), len(after)), 100 * (1 - CONFIDENCE) / 2
    few = samples if samples < least_samples(CONFIDENCE) else None
    if few:
        ratios, ends = speed_ratio(before[:, None], after[None, :]), [0, 100]
    else:
        ratios, ends = speed_ratio(resampled_medians(before, rng), resampled_medians(after, rng)), [tail, 100 - tail]
    low, high = interval = tuple(map(float, np.percentile(ratios, ends)))
    medians = float(np.median(before)), float(np.median(after))
    ratio = speed_ratio(*medians)
    verdict, fails = "faster" if low > 1 else "slower" if high < 1 else "same", False
    if threshold is not None and high < threshold:
        verdict, fails = f"slower than {threshold:g}", True
    elif threshold is not None and ratio < threshold:
        verdict = f"below {threshold:g}, unclear"
    return Comparison(name, verdict, fails, *medians, ratio, interval, few)


def absences(rows: pd.DataFrame, where: str) -> list[str]:
    """One line for each kernel that has cases in one file alone."""
    sizes = rows["shape"].map(size_text).groupby(rows.kernel, sort=False)
    return [f"missing in {where}: {kernel} at {', '.join(missing)}" for kernel, missing in sizes]


def case_name(row: Row) -> str:
    """ "06_coarse_2d/4096x4096x4096", with the number of GPUs where several shared the product."""
    on = f" on {row.gpus} GPUs" if row.gpus > 1 else ""
    return f"{row.kernel}/{size_text(row.shape)}{on}"


def why(row: Row) -> str:
    return row.reason or "no reason given"


def compare(
    old: pd.DataFrame, new: pd.DataFrame, metric: str, threshold: float | None, partial: bool = False
) -> tuple[list[Comparison], list[str]]:
    """The cases of OLD against NEW's, in OLD's order, then those that went wrong in NEW; and warnings about cases that
    only one file has. With a threshold, cases that NEW lost fail; `partial` lets it lack them."""
    old, new = (rows.set_axis([case_name(row) for row in rows_of(rows)]) for rows in (old, new))
    gate = threshold is not None
    is_missing = ~old.index.isin(new.index)
    lost = is_missing & ~old.outcome.isin(UNDONE) & old.beside.isna() & (gate and not partial)
    others = {case_name(row): row for row in rows_of(new)}
    comparisons, warnings = [], []
    for row in rows_of(old[~is_missing | lost]):
        name = case_name(row)
        other = others.get(name)
        if other is None:
            comparisons.append(Comparison(name, "missing in NEW", fails=True))
        elif row.measured and other.measured:
            beside = isinstance(row.beside, str) or isinstance(other.beside, str)
            found = compare_case(row, other, metric, None if beside else threshold, name)
            comparisons.append(replace(found, beside=beside))
        elif other.measured:
            warnings.append(f"{name} was {row.outcome} in OLD and is measured in NEW")
        elif other.outcome not in BROKEN and (row.measured or (other.outcome in UNDONE and row.outcome not in UNDONE)):
            comparisons.append(Comparison(name, f"{other.outcome}: {why(other)}", fails=gate))
            if not gate:
                warnings.append(f"{name} was {row.outcome} in OLD and is {other.outcome} in NEW: {why(other)}")
    broken = new[new.outcome.isin(BROKEN)]
    comparisons += [Comparison(case_name(row), f"{row.outcome}: {why(row)}", True) for row in rows_of(broken)]
    warnings += absences(old[is_missing & ~lost & old.beside.isna()], "NEW")
    return comparisons, warnings + absences(new[~new.index.isin(old.index) & new.beside.isna()], "OLD")


def circumstances(context: dict) -> dict:
    """What may move a ratio."""
    device = context["device"] or {}
    found = {"device": device.get("name"), "driver": device.get("driver"), "CPU": context.get("cpu")}
    of_protocol = ("max_seconds", "min_samples", "max_samples", "target_ci")
    found |= {name: context["protocol"].get(name) for name in of_protocol}
    return found | {"cuBLAS version": context.get("cublas_version")}


def context_warnings(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    before, after = (circumstances(rows.context.iloc[0]) for rows in (old, new))
    return [f"different {name}: {was} against {after[name]}" for name, was in before.items() if was != after[name]]


def referred(folder: Path, path: Path, new: pd.DataFrame) -> pd.DataFrame:
    """The references in a folder of results/ for the cases of a file. Raises ResultsError where there is none."""
    context = new.context.iloc[0]
    tables = [references(folder / folder_name(context, gpus), context["protocol"]) for gpus in new.gpus.unique()]
    places = {case: place for place, case in enumerate(new[PRODUCT].itertuples(index=False, name=None))}
    old = pd.concat(tables)
    old = old.assign(place=[places.get(case) for case in old[PRODUCT].itertuples(index=False, name=None)])
    old = old.dropna(subset=["place"]).sort_values("place")
    if old.empty:
        raise ResultsError(f"{folder} holds no case of {path} measured on {device_name(context)} under its protocol")
    return old


def pair(old_path: Path, path: Path, despite: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The cases of OLD and of NEW. Raises ResultsError where their protocols differ in more than `despite`."""
    new = load([path])
    if new.empty:
        raise ResultsError(f"{path} holds no case")
    if old_path.is_dir():
        return referred(old_path, path, new), new
    old = load([old_path])
    protocols = {
        str(name): rows.context.iloc[0]["protocol"] for name, rows in ((old_path, old), (path, new)) if len(rows)
    }
    if differences := protocol_differences(protocols, [name for name in PROTOCOL if name not in despite]):
        raise ResultsError(
            f"results of different protocols are not compared: {'; '.join(differences)} (--despite: what may differ)"
        )
    return old, new


def markdown(comparisons: Sequence[Comparison], metric: str) -> str:
    unit = {"time": "µs", "vs_cublas": "of cuBLAS"}[metric]
    head = ["case", f"old, {unit}", f"new, {unit}", "new / old speed", "95 % interval", "verdict"]
    rows = []
    for c in comparisons:
        numbers = ["", "", "", ""]
        if c.interval:
            numbers = [f"{value:.0f}" if value >= 1e4 else f"{value:.4g}" for value in (c.old, c.new)]
            few = f" (range of {c.few_samples} samples)" if c.few_samples else ""
            numbers += [f"{c.ratio:.3f}", "{:.3f} to {:.3f}".format(*c.interval) + few]
        rows.append([c.case, *numbers, f"**{c.verdict}**" if c.fails else c.verdict])
    failing = f"Failing cases: {sum(c.fails for c in comparisons)}."
    if ratios := [c.ratio for c in comparisons if c.ratio and not c.beside]:
        failing = f"Geometric mean of {len(ratios)} ratios: {np.exp(np.mean(np.log(ratios))):.3f}. {failing}"
    return f"{table(head, rows, text_last=True)}\n\n{failing}"


def across(boards: Sequence[Board], metric: str) -> str:
    """A table for each kernel: its cases in the order of their work, and a column for each device. A kernel that one of
    several files alone has gets none."""
    column, unit, form = {
        "time": ("tflops", "TFLOP/s", lambda value: f"{value:#.3g}".rstrip(".")),
        "vs_cublas": ("vs_cublas", "of cuBLAS", lambda value: f"{100 * value:.1f} %"),
    }[metric]
    files = Counter(board.device for board in boards)
    rows = pd.concat([board.rows.assign(of=board.device) for board in boards]).dropna(subset=[column])
    of_case = rows.groupby([*PRODUCT, "of"], sort=False)
    found = of_case[column].agg(["median", "min", "max", "size"]).assign(throttled=of_case.throttled.any())
    cases = dict.fromkeys(case[:-1] for case in found.index)
    with_cases = Counter(kernel for board in boards for kernel in board.rows.kernel.unique())
    alone = [kernel for kernel, number in with_cases.items() if number == 1 < len(boards)]
    tables: dict[str, list[list[str]]] = {}

    def cell(case: tuple, device: str) -> str:
        if (*case, device) not in found.index:
            return ""
        middle, low, high, number, throttled = found.loc[(*case, device)]
        spread = f" ({form(low)} to {form(high)}, {100 * (high - low) / middle:.1f} %)" if number > 1 else ""
        return f"{form(middle)}{' †' * bool(throttled)}{spread}"

    for kernel in dict.fromkeys(case[0] for case in cases if case[0] not in alone):
        for case in sorted((case for case in cases if case[0] == kernel), key=lambda case: prod(case[1:4]) * case[5]):
            title = f"{kernel} on {case[-1]} GPUs" if case[-1] > 1 else kernel
            row = [size_text(case[1:-1]).replace("x", " x "), *(cell(case, device) for device in files)]
            tables.setdefault(title, []).append(row)
    head = ["M x N x K", *(f"{device}, {number} board{'s' * (number > 1)}" for device, number in files.items())]
    texts = [f"## {title}, {unit}\n\n{table(head, rows)}" for title, rows in tables.items()]
    note = "In parentheses the range over the boards, and its size relative to the median."
    daggers = " †: throttled on a board." * bool(found.throttled.any())
    rest = f" Kernels of one file alone, which have no table: {len(alone)}." * bool(alone)
    return "\n\n".join([*texts, note + daggers + rest])


def interrupted(file: Path | str, rows: pd.DataFrame) -> bool:
    """Whether the run of a file was interrupted; then a warning names it."""
    if found := bool(rows.interrupted.any()):
        results.warn(f"{file} is of a run that was interrupted, so cases may be missing")
    return found


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = needs.parser(__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="OLD and at least one NEW")
    parser.add_argument("--across", action="store_true", help="a table for each kernel, a column for each device")
    parser.add_argument("--fail-below", type=float, metavar="RATIO", help="speed ratio under which a case fails")
    parser.add_argument("--partial", action="store_true", help="with --fail-below: NEW may lack cases of OLD")
    parser.add_argument("--metric", choices=("time", "vs_cublas"), default="time", help="what is compared")
    parser.add_argument("--despite", metavar="NAMES", default="", help=f"of {','.join(PROTOCOL)}: what may differ")
    options = parser.parse_args(arguments)
    options.despite = [name for name in options.despite.split(",") if name]
    if unknown := sorted(set(options.despite) - set(PROTOCOL)):
        parser.error(f"--despite takes names among {','.join(PROTOCOL)}, not {','.join(unknown)}")
    if options.fail_below is not None and not options.fail_below > 0:
        parser.error("--fail-below takes a ratio above 0")
    if options.partial and options.fail_below is None:
        parser.error("--partial goes with --fail-below")
    if options.across and (options.fail_below or options.despite):
        parser.error("--across takes neither --fail-below nor --despite")
    if len(options.files) < 2 and not options.across:
        parser.error("OLD and NEW are needed")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    failed = False
    with needs.stopping(ResultsError, OSError):
        if options.across:
            boards = load_boards(options.files)
            for board in boards:
                interrupted(board.name, board.rows)
            print(across(boards, options.metric))
            return 0
        old_path, *paths = options.files
        for path in paths:
            old, new = pair(old_path, path, options.despite)
            comparisons, warnings = compare(old, new, options.metric, options.fail_below, options.partial)
            interrupted(old_path, old)
            fails = interrupted(path, new) and options.fail_below is not None
            if not comparisons:
                raise ResultsError("no case measured in OLD is in NEW")
            for warning in [*context_warnings(old, new), *warnings]:
                results.warn(warning)
            if len(paths) > 1:
                print(f"## {path}\n")
            print(markdown(comparisons, options.metric), flush=True)
            if fails:
                print("\nThe run was interrupted, so the file fails.")
            failed |= fails or any(comparison.fails for comparison in comparisons)
    return 1 if failed else 0
