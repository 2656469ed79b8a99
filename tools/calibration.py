"""The calibration in a folder of results: calibration.txt, as `python -m sgemm calibrate` writes it."""

import re
from pathlib import Path

from tools.results import ResultsError

CALIBRATION_FILE = "calibration.txt"
NUMBERS = re.compile(r"[-+.\de]+( [-+.\de]+)*")  # no nan


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
