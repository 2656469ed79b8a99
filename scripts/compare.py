#!/usr/bin/env python3
"""Compares two results files case by case and prints a Markdown table.

    scripts/compare.py OLD NEW --fail-below 0.97

The ratio is the new speed over the old one: above 1 is faster. Its interval is the central 95 % of a bootstrap: the raw
samples of both files are drawn anew, with replacement, and the ratio of the medians is taken each time. The interval
knows the scatter within a run, not the drift from run to run, so a threshold should leave room for that.

A case is slower only when its whole interval lies below --fail-below; one whose ratio is below while its interval
reaches the threshold is listed as unclear and does not fail. A case that was measured in OLD and is incorrect or failed
in NEW fails, whatever the threshold.

Exit status: 0 no case fails, 1 some case fails, 2 bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

import numpy as np

from results import Record, Results, ResultsError, load, stop

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


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    case: str
    old: float | None
    new: float | None
    ratio: float | None
    interval: Interval | None
    verdict: str
    fails: bool = False


def resampled_medians(samples: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    draws = rng.integers(0, len(samples), (RESAMPLES, len(samples)))
    return np.median(samples[draws], axis=1)


def central(values: np.ndarray) -> Interval:
    tail = 100 * (1 - CONFIDENCE) / 2
    low, high = np.percentile(values, [tail, 100 - tail])
    return Interval(float(low), float(high))


def compared_values(record: Record, metric: str) -> np.ndarray:
    """Samples of what is compared: times in microseconds, or ratios to the cuBLAS sample beside each time."""
    times = np.array(record["samples_us"], dtype=float)
    if metric == "time":
        return times
    rivals = np.array(record.get("cublas_samples_us", []), dtype=float)
    return rivals / times if len(rivals) == len(times) else np.array([])


def compare_case(old: Record, new: Record, metric: str, threshold: float | None, name: str) -> Comparison:
    before, after = compared_values(old, metric), compared_values(new, metric)
    if not len(before) or not len(after):
        return Comparison(name, None, None, None, None, f"no {metric} in both files")
    rng = np.random.default_rng(SEED)

    def speed_ratio(old_value, new_value):
        return old_value / new_value if metric == "time" else new_value / old_value

    interval = central(speed_ratio(resampled_medians(before, rng), resampled_medians(after, rng)))
    old_median, new_median = float(np.median(before)), float(np.median(after))
    ratio = speed_ratio(old_median, new_median)
    verdict, fails = "same", False
    if threshold is not None and interval.high < threshold:
        verdict, fails = f"slower than {threshold:g}", True
    elif threshold is not None and ratio < threshold:
        verdict = f"below {threshold:g}, unclear"
    elif interval.low > 1:
        verdict = "faster"
    elif interval.high < 1:
        verdict = "slower"
    return Comparison(name, old_median, new_median, ratio, interval, verdict, fails)


def case_name(record: Record) -> str:
    return f"{record.id}/{'x'.join(map(str, record.shape))}"


def absences(records: Iterable[Record], where: str) -> list[str]:
    """One line for each kernel that has cases in one file alone."""
    shapes: dict[str, list[str]] = {}
    for record in records:
        shapes.setdefault(record.id, []).append("x".join(map(str, record.shape)))
    return [f"missing in {where}: {kernel} at {', '.join(missing)}" for kernel, missing in shapes.items()]


def compare(old: Results, new: Results, metric: str, threshold: float | None) -> tuple[list[Comparison], list[str]]:
    """All cases of OLD against NEW's, in OLD's order, and warnings about cases that only one file has."""
    news = {(record.id, record.shape): record for record in new}
    comparisons, warnings, missing = [], [], []
    for record in old:
        name, other = case_name(record), news.pop((record.id, record.shape), None)
        if other is None:
            missing.append(record)
        elif record.measured and other.measured:
            comparisons.append(compare_case(record, other, metric, threshold, name))
        elif record.measured:
            broken = other.outcome in ("incorrect", "failed")
            reason = other.get("reason") or "no reason given"
            comparisons.append(Comparison(name, None, None, None, None, f"{other.outcome}: {reason}", broken))
            if not broken:
                warnings.append(f"{name} was measured in OLD and is {other.outcome} in NEW: {reason}")
        elif other.measured:
            warnings.append(f"{name} was {record.outcome} in OLD and is measured in NEW")
    warnings += [*absences(missing, "NEW"), *absences(news.values(), "OLD")]
    return comparisons, warnings


def context_warnings(old: Results, new: Results) -> list[str]:
    warnings = []
    for name, of in COMPARED_CONTEXT.items():
        before, after = of(old.contexts[0]), of(new.contexts[0])
        if before != after:
            warnings.append(f"different {name}: {before} against {after}")
    return warnings


def markdown(comparisons: Sequence[Comparison], metric: str) -> str:
    unit = {"time": "µs", "vs_cublas": "of cuBLAS"}[metric]

    def cell(value: float | None, form: Callable[[float], str]) -> str:
        return "" if value is None else form(value)

    lines = [f"| case | old, {unit} | new, {unit} | new / old speed | 95 % interval | verdict |"]
    lines.append("| --- | ---: | ---: | ---: | :---: | --- |")
    for c in comparisons:
        interval = f"{c.interval.low:.3f} to {c.interval.high:.3f}" if c.interval else ""
        old, new = (cell(value, lambda v: f"{v:.0f}" if v >= 1e4 else f"{v:.4g}") for value in (c.old, c.new))
        verdict = f"**{c.verdict}**" if c.fails else c.verdict
        lines.append(f"| {c.case} | {old} | {new} | {cell(c.ratio, lambda v: f'{v:.3f}')} | {interval} | {verdict} |")
    ratios = [c.ratio for c in comparisons if c.ratio]
    if ratios:
        mean = exp(sum(map(log, ratios)) / len(ratios))
        failing = sum(c.fails for c in comparisons)
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
        stop(error)
    for warning in [*context_warnings(old, new), *warnings]:
        print(f"warning: {warning}", file=sys.stderr)
    print(markdown(comparisons, options.metric))
    return 1 if any(comparison.fails for comparison in comparisons) else 0


if __name__ == "__main__":
    raise SystemExit(main())
