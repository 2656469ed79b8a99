"""Results of several devices and boards: which folder holds a device's results, what its cases are compared with, and
tables across devices.

A board is one piece of hardware, and a device is a model. Results do not name their board, so each file that is given
stands for one board.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from results import CASE, ResultsError, load, pick, protocol_differences, read_json

SHAPE = ["kernel", "m", "n", "k", "gpus"]  # tells cases of one protocol apart


def slug(name: str) -> str:
    """ "NVIDIA H200" -> "nvidia-h200", as the runner names the folder of a device."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def device_name(context: dict) -> str:
    """The GPU, or the CPU where there is none."""
    return context["device"]["name"] if context["device"] else context["cpu"]


def folder_name(context: dict, gpus: int = 1) -> str:
    """Of the folder in results/ that holds results of so many GPUs: "nvidia-h200", "nvidia-h200-x2"."""
    return slug(device_name(context)) + (f"-x{gpus}" if gpus > 1 else "")


def is_results(path: Path) -> bool:
    """Whether the file comes from the runner: not from scripts/counters.py, `runner --list` or `runner --tune`."""
    document = read_json(path)
    return isinstance(document, dict) and {"context", "benchmarks"} <= document.keys()


def references(folder: Path, protocol: dict) -> pd.DataFrame:
    """What cases of a device are compared with: the measured cases of the files in its folder that were taken under
    this protocol. Of several boards the slowest counts, since no board has to beat another one.

    The table is empty where there is none. Raises ResultsError for a file that can not be used.
    """
    tables = []
    for path in sorted(folder.glob("*.json")):
        if not is_results(path) or (rows := pick(load([path]))).empty:
            continue
        if not protocol_differences({"here": protocol, path.name: rows.context.iloc[0]["protocol"]}):
            tables.append(rows)
    if not tables:
        return pd.DataFrame(columns=[*CASE, "microseconds"])
    slowest = pd.concat(tables).sort_values("microseconds", ascending=False, kind="stable")
    return slowest.drop_duplicates(SHAPE).sort_index()


class Board(NamedTuple):
    path: Path
    device: str
    rows: pd.DataFrame  # of measured cases


def load_boards(paths: Iterable[Path]) -> list[Board]:
    """Raises ResultsError for files of different protocols, which nothing may be drawn or tabulated from together."""
    paths = list(paths)
    boards, protocols = [], {}
    for path in paths:
        if (rows := pick(load([path]))).empty:
            raise ResultsError(f"{path} holds no measured case")
        context = rows.context.iloc[0]
        protocols[str(path)] = context["protocol"]
        boards.append(Board(path, device_name(context), rows))
    if differences := protocol_differences(protocols):
        raise ResultsError(f"files of different protocols are not compared: {'; '.join(differences)}")
    return boards


class Spread(NamedTuple):
    """A value over the boards of a device."""

    median: float
    low: float
    high: float
    boards: int
    throttled: bool  # on any board

    @property
    def relative(self) -> float:
        """The range relative to the median."""
        return (self.high - self.low) / self.median


def spreads(boards: Sequence[Board], value: str) -> pd.Series:
    """A column's Spread for each case and device; cases keep the order of the chapters, devices that of the files."""
    rows = pd.concat([board.rows.assign(device=board.device) for board in boards])
    rows = rows.dropna(subset=[value])
    groups = rows.groupby([*SHAPE, "device"], sort=False)
    return groups.apply(
        lambda group: Spread(
            *(float(f(group[value])) for f in (pd.Series.median, pd.Series.min, pd.Series.max)),
            len(group),
            bool(group.throttled.any()),
        )
    )
