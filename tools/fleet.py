"""Results of several devices and boards: which folder holds a device's results, and what its cases are compared with.

A board is one piece of hardware, and a device is a model. Results do not name their board, so each file that is given
stands for one board.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from tools import results
from tools.results import ResultsError, load, pick, protocol_differences, usable

PRODUCT = ["kernel", *results.SHAPE, "gpus"]  # tells cases of one protocol apart


def slug(name: str) -> str:
    """ "NVIDIA H200" -> "nvidia-h200", as the runner names the folder of a device."""
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-") or "unknown"


def device_name(context: dict) -> str:
    """The GPU, or the CPU where there is none."""
    return context["device"]["name"] if context["device"] else context["cpu"]


def folder_name(context: dict, gpus: int = 1) -> str:
    """Of the folder in results/ that holds results of so many GPUs: "nvidia-h200", "nvidia-h200-x2"."""
    return slug(device_name(context)) + (f"-x{gpus}" if gpus > 1 else "")


def references(folder: Path, protocol: dict) -> pd.DataFrame:
    """What cases of a device are compared with: the measured cases of the files in its folder that were taken under
    this protocol. Of several boards the slowest counts, since no board has to beat another one.

    The table is empty where there is none. Raises ResultsError for a file that can not be used.
    """
    tables = []
    for file in usable([*sorted(folder.glob("*.json")), *sorted(folder.glob(results.OTHER_BOARD_FILE))]):
        if not file.is_results or (rows := pick(load([file]))).empty:
            continue
        if not protocol_differences({"here": protocol, str(file.path): rows.context.iloc[0]["protocol"]}):
            tables.append(rows)
    if not tables:
        return pd.DataFrame(columns=[*results.CASE, "microseconds", "beside"])
    rows = pd.concat(tables)
    slowest = rows.assign(own=rows.beside.isna()).sort_values(["own", "microseconds"], ascending=False, kind="stable")
    return slowest.drop_duplicates(PRODUCT).sort_index()


class Board(NamedTuple):
    name: str  # of its file
    device: str
    rows: pd.DataFrame  # measured cases of one protocol


def load_boards(paths: Iterable[Path]) -> list[Board]:
    """A board for each file. Raises ResultsError for files of different protocols, which are not compared, and for one
    without measured cases."""
    boards, protocols = [], {}
    for path in paths:
        rows = pick(load([path]))
        if rows.empty:
            raise ResultsError(f"{path} holds no measured case")
        context = rows.context.iloc[0]
        protocols[str(path)] = context["protocol"]
        rows = rows[rows.is_gpu] if rows.is_gpu.any() else rows  # the CPU beside a GPU is no part of its board
        boards.append(Board(str(path), device_name(context), rows))
    if differences := protocol_differences(protocols):
        raise ResultsError(f"results of different protocols are not compared: {'; '.join(differences)}")
    return boards
