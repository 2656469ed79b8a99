"""A sweep as a second board might have made it: what tests of several boards compare with a committed one."""

from __future__ import annotations

import json
from pathlib import Path

PART = 0.97  # of the first board's speed, at sizes where power limits
HOT = 4096  # from which size on it does
OF_SPEED = ("gflops", "percent_of_peak", "vs_cublas", "vs_cublas_alone")


def second_board(sweep: Path, folder: Path) -> Path:
    """Writes the sweep of a board that is slower from HOT on, beside cuBLAS as fast as on the first one."""
    document = json.loads(sweep.read_text(encoding="utf-8"))
    for record in document["benchmarks"]:
        if record["outcome"] != "measured" or min(record["m"], record["n"], record["k"]) < HOT:
            continue
        record["samples_us"] = [time / PART for time in record["samples_us"]]
        record["time_us"] |= {name: record["time_us"][name] / PART for name in ("median", "ci_low", "ci_high")}
        record |= {name: record[name] * PART for name in OF_SPEED if name in record}
        if "vs_cublas_ci" in record:
            record["vs_cublas_ci"] = [PART * end for end in record["vs_cublas_ci"]]
    path = folder / f"{sweep.stem}_other_board.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path
