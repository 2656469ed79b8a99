"""The calibration in a folder of results: calibration.txt, as `python -m sgemm calibrate` writes it."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import NamedTuple

from tools.results import ResultsError

CALIBRATION_FILE = "calibration.txt"


class Calibration(NamedTuple):
    date: str
    key: dict[str, str]  # of the device, the driver and the libraries


def read_calibration(path: Path) -> Calibration:
    """Raises ResultsError for a file that is no whole calibration."""
    first, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
    if first != "libsgemm calibration 1" or not lines or lines[-1] != "end":
        raise ResultsError(f"{path} is no whole calibration")
    date, key, known = "", {}, set()
    for line in lines[:-1]:
        name, _, value = line.partition(" ")
        if name == "date":
            date = value
        elif name.startswith("key."):
            key[name.removeprefix("key.")] = value
        else:
            try:
                numbers = [float(number) for number in value.split()]
            except ValueError:
                numbers = []
            if not numbers or not all(map(isfinite, numbers)):
                raise ResultsError(f"{path} has no numbers in '{line}'")
            known.add(name)
    if not {"device", "multiprocessors"} <= key.keys() or "cublas" not in known:
        raise ResultsError(f"{path} does not say what it is of")
    return Calibration(date, key)
