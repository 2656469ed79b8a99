#!/usr/bin/env python3
"""Compares two results files case by case and prints a Markdown table.

    scripts/compare.py OLD NEW --fail-below 0.97

The ratio is the new speed over the old one: above 1 is faster. Its interval is the central 95 % of a bootstrap: the raw
samples of both files are drawn anew, with replacement, and the ratio of the medians is taken each time. The interval
knows the scatter within a run, not the drift from run to run, so a threshold should leave room for that. Fewer than 6
samples support no interval of 95 %: such a case shows the range of all ratios of two samples, and says how many there
are.

A case is slower only when its whole interval lies below --fail-below; one whose ratio is below while its interval
reaches the threshold is listed as unclear and does not fail. A case that was measured in OLD and is incorrect or failed
in NEW fails, whatever the threshold.

Exit status: 0 no case fails, 1 some case fails, 2 bad input.
"""

from __future__ import annotations

import needs

# isort: split
import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from results import ResultsError, Row, interval_level, load

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 1  # the same files always give the same intervals

# Context that changes what a ratio means, and where it stands.
COMPARED_CONTEXT = {
    "device": lambda context: (context["device"] or {}).get("name"),
    "driver": lambda context: (context["device"] or {}).get("driver"),
    "CPU": lambda context: context.get("cpu"),
    "cuBLAS version": lambda context: context.get("cublas_version"),
    **{
        name: lambda context, name=name: context["protocol"].get(name)
        for name in ("l2", "time", "data", "alpha", "beta", "seed", "verify")
    },
}


class Interval(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    case: str
    verdict: str
    fails: bool = False
    old: float | None = None
    new: float | None = None
    ratio: float | None = None
    interval: Interval | None = None
    few_samples: int | None = None  # then the interval is a range


def resampled_medians(samples: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    draws = rng.integers(0, len(samples), (RESAMPLES, len(samples)))
    return np.median(samples[draws], axis=1)


def central(values: np.ndarray) -> Interval:
    tail = 100 * (1 - CONFIDENCE) / 2
    return Interval(*map(float, np.percentile(values, [tail, 100 - tail])))


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

    samples = min(len(before), len(after))
    few = samples if interval_level(samples, CONFIDENCE) is None else None
    if few:
        ratios = speed_ratio(before[:, None], after[None, :])
        interval = Interval(float(ratios.min()), float(ratios.max()))
    else:
        interval = central(speed_ratio(resampled_medians(before, rng), resampled_medians(after, rng)))
    medians = float(np.median(before)), float(np.median(after))
    ratio = speed_ratio(*medians)
    verdict, fails = "same", False
    if threshold is not None and interval.high < threshold:
        verdict, fails = f"slower than {threshold:g}", True
    elif threshold is not None and ratio < threshold:
        verdict = f"below {threshold:g}, unclear"
    elif interval.low > 1:
        verdict = "faster"
    elif interval.high < 1:
        verdict = "slower"
    return Comparison(name, verdict, fails, *medians, ratio, interval, few)


def absences(rows: pd.DataFrame, where: str) -> list[str]:
    """One line for each kernel that has cases in one file alone."""
    sizes = rows["shape"].map(lambda shape: "x".join(map(str, shape))).groupby(rows.kernel, sort=False)
    return [f"missing in {where}: {kernel} at {', '.join(missing)}" for kernel, missing in sizes]


def compare(
    old: pd.DataFrame, new: pd.DataFrame, metric: str, threshold: float | None
) -> tuple[list[Comparison], list[str]]:
    """All cases of OLD against NEW's, in OLD's order, and warnings about cases that only one file has."""
    old, new = (rows.set_index(["kernel", "m", "n", "k"], drop=False) for rows in (old, new))
    others = {row.Index: row for row in new.itertuples()}
    comparisons, warnings = [], []
    for row in old[old.index.isin(new.index)].itertuples():
        name, other = f"{row.kernel}/{'x'.join(map(str, row.shape))}", others[row.Index]
        if row.measured and other.measured:
            comparisons.append(compare_case(row, other, metric, threshold, name))
        elif row.measured:
            broken = other.outcome in ("incorrect", "failed")
            reason = other.reason or "no reason given"
            comparisons.append(Comparison(name, f"{other.outcome}: {reason}", broken))
            if not broken:
                warnings.append(f"{name} was measured in OLD and is {other.outcome} in NEW: {reason}")
        elif other.measured:
            warnings.append(f"{name} was {row.outcome} in OLD and is measured in NEW")
    warnings += absences(old[~old.index.isin(new.index)], "NEW")
    return comparisons, warnings + absences(new[~new.index.isin(old.index)], "OLD")


def context_warnings(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    pairs = {name: (of(old.context.iloc[0]), of(new.context.iloc[0])) for name, of in COMPARED_CONTEXT.items()}
    return [f"different {name}: {before} against {after}" for name, (before, after) in pairs.items() if before != after]


def markdown(comparisons: Sequence[Comparison], metric: str) -> str:
    unit = {"time": "µs", "vs_cublas": "of cuBLAS"}[metric]
    lines = [f"| case | old, {unit} | new, {unit} | new / old speed | 95 % interval | verdict |"]
    lines.append("| --- | ---: | ---: | ---: | :---: | --- |")
    for c in comparisons:
        numbers = ["", "", "", ""]
        if c.interval:
            numbers = [f"{value:.0f}" if value >= 1e4 else f"{value:.4g}" for value in (c.old, c.new)]
            few = f" (range of {c.few_samples} samples)" if c.few_samples else ""
            numbers += [f"{c.ratio:.3f}", f"{c.interval.low:.3f} to {c.interval.high:.3f}{few}"]
        lines.append(f"| {' | '.join([c.case, *numbers, f'**{c.verdict}**' if c.fails else c.verdict])} |")
    ratios = [c.ratio for c in comparisons if c.ratio]
    if ratios:
        mean, failing = np.exp(np.mean(np.log(ratios))), sum(c.fails for c in comparisons)
        lines += ["", f"Geometric mean of {len(ratios)} ratios: {mean:.3f}. Failing cases: {failing}."]
    return "\n".join(lines)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("--fail-below", type=float, metavar="RATIO", help="speed ratio under which a case fails")
    parser.add_argument("--metric", choices=("time", "vs_cublas"), default="time", help="what is compared")
    options = parser.parse_args(arguments)
    if options.fail_below is not None and not options.fail_below > 0:
        parser.error("--fail-below takes a ratio above 0")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        old, new = load([options.old]), load([options.new])
        comparisons, warnings = compare(old, new, options.metric, options.fail_below)
        if not comparisons:
            raise ResultsError("no case measured in OLD is in NEW")
    except ResultsError as error:
        needs.stop(error)
    for warning in [*context_warnings(old, new), *warnings]:
        print(f"warning: {warning}", file=sys.stderr)
    print(markdown(comparisons, options.metric))
    return 1 if any(comparison.fails for comparison in comparisons) else 0


if __name__ == "__main__":
    raise SystemExit(main())
