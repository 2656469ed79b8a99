"""What a turn tells over its time. A turn has the launches of one kernel back to back, of runner --energy or --sustain,
in batches whose times are known, and a trace of what the GPU reported meanwhile."""

from collections.abc import Mapping

import numpy as np

COLUMNS = {"sm_clock_mhz": "mhz", "power_w": "watts", "temperature_c": "celsius"}  # of a trace, and of a moment


def speeds(turn: Mapping, flops: float, edges: np.ndarray) -> np.ndarray:
    """TFLOP/s between each two neighbouring edges, in seconds since the turn began. `flops` are those of a launch.

    Within a batch launches count as evenly spread.
    """
    ends = np.concatenate(([0.0], np.cumsum(turn["batch_us"]) / 1e6))
    launches = np.arange(len(ends)) * turn["launches_per_batch"]
    return np.diff(np.interp(edges, ends, launches)) / np.diff(edges) * flops / 1e12


def ends_of(turn: Mapping, flops: float) -> tuple[float, float]:
    """TFLOP/s in the first and in the last second of a turn; of all of it where it is shorter."""
    whole = sum(turn["batch_us"]) / 1e6
    part = min(1.0, whole)
    first, last = (speeds(turn, flops, np.array(edges))[0] for edges in ((0, part), (whole - part, whole)))
    return float(first), float(last)


def last_temperature(turn: Mapping) -> float | None:
    """At the end of a turn, in °C, where the GPU told it."""
    known = [value for value in turn["trace"]["samples"].get("temperature_c", []) if value is not None]
    return known[-1] if known else None


def reasons_of(trace: Mapping) -> list[list[str]]:
    """Why the clock was lower, for each sample of a trace."""
    found: list[list[str]] = [[] for _ in trace["samples"]["ms"]]
    for change in trace["reasons"]:
        found[change["sample"] :] = [change["reasons"]] * (len(found) - change["sample"])
    return found


def moments(turn: Mapping, flops: float, most: int) -> list[dict]:
    """A turn in at most so many equal parts, and no more than it has batches: the middle of each part in seconds, the
    speed, and the means of what the GPU reported in it, as far as it did."""
    edges = np.linspace(0, sum(turn["batch_us"]) / 1e6, min(most, len(turn["batch_us"])) + 1)
    samples, reasons = turn["trace"]["samples"], reasons_of(turn["trace"])
    part_of = np.searchsorted(edges[1:-1], np.array(samples["ms"]) / 1e3, side="right")
    found = []
    for part, speed in enumerate(speeds(turn, flops, edges)):
        moment: dict = {"seconds": float(edges[part] + edges[part + 1]) / 2, "tflops": float(speed)}
        inside = np.flatnonzero(part_of == part)
        for column, name in COLUMNS.items():
            if values := [samples[column][i] for i in inside if column in samples and samples[column][i] is not None]:
                moment[name] = float(np.mean(values))
        moment["why"] = ", ".join(dict.fromkeys(reason.replace("_", " ") for i in inside for reason in reasons[i]))
        found.append(moment)
    return found
