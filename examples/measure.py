#!/usr/bin/env python3
"""Runs an example with cuBLAS and with libsgemm in front of it, in turns, and writes all results into one JSON file.

    examples/measure.py --out gpt.json --rounds 3 train_gpt.py --steps 40
    examples/measure.py --out solver.json --modes cublas,tf32,componentwise,normwise solver.py

Modes: cublas, tf32 (cuBLAS, and the example gets --tf32), and libsgemm's fp32, componentwise, normwise, rowwise
and reproducible.
Those with the ending ".enable" have no LD_PRELOAD: sgemm.torch.enable() comes before the example.
Every second round runs the modes in the opposite order. Exits with 1 if a run failed; the other runs go on.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from example_results import positive, result_file, write_json

FOLDER = Path(__file__).resolve().parent
ACCURACIES = ("fp32", "componentwise", "normwise", "rowwise", "reproducible")
ENABLED = {f"{accuracy}.enable": accuracy for accuracy in ACCURACIES}
MODES = ("cublas", "tf32", *ACCURACIES, *ENABLED)
ENABLE = """
import runpy, sys
import sgemm.torch
sgemm.torch.enable(sys.argv.pop(1))
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
# The columns of the log, up to "why", which is the rest of a line.
LOG_COLUMNS = ["calls", "timed", "us", "total_ms", "function", "ops", "m", "n", "k", "batch", "by", "why"]


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Runs an example with cuBLAS and with libsgemm in front of it, in turns."
    )
    parser.add_argument(
        "--modes", type=modes_of, default=["cublas", "componentwise", "normwise"], help=", ".join(MODES)
    )
    parser.add_argument("--rounds", type=positive, default=1, help="of all modes (1)")
    parser.add_argument("--preload", type=Path, default=FOLDER.parent / "build" / "library" / "libsgemm_cublas.so",
                        help="the drop-in (build/library/libsgemm_cublas.so)")  # fmt: skip
    parser.add_argument("--out", type=result_file, required=True, help="the JSON file")
    parser.add_argument("example", help="a file of this folder, or a path")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for the example")
    options = parser.parse_args(arguments)
    candidates = (Path(options.example), FOLDER / options.example)
    if not any(path.is_file() for path in candidates):
        parser.error(f"there is no example {options.example}")
    options.example = next(path for path in candidates if path.is_file())
    if set(options.modes) - {"cublas", "tf32"} and not options.preload.is_file():
        parser.error(f"there is no {options.preload}: build the target sgemm_cublas, or name it with --preload")
    return options


def modes_of(text: str) -> list[str]:
    modes = text.split(",")
    for mode in modes:
        if mode not in MODES:
            raise argparse.ArgumentTypeError(f"{mode!r} is none of {', '.join(MODES)}")
    return modes


def environment(mode: str, preload: Path, log: Path) -> dict[str, str]:
    """The variables of a run. What the caller has set of ours does not count."""
    preload = preload.resolve()
    ours = ("LD_PRELOAD", "SGEMM_ACCURACY", "SGEMM_LOG")
    variables = {name: value for name, value in os.environ.items() if name not in ours}
    if mode in ACCURACIES:
        variables |= {"LD_PRELOAD": str(preload), "SGEMM_ACCURACY": mode, "SGEMM_LOG": str(log)}
    elif mode in ENABLED:
        library = next(preload.parent.glob("libsgemm.so.*"), preload)
        path = os.pathsep.join([str(FOLDER), str(FOLDER.parent / "library" / "python")])
        variables |= {"SGEMM_LIBRARY": str(library), "PYTHONPATH": path, "SGEMM_LOG": str(log)}
    return variables


def read_log(path: Path) -> list[dict]:
    """The lines of the drop-in's log, by its columns."""
    calls = []
    for line in path.read_text().splitlines() if path.exists() else []:
        fields = line.split(maxsplit=len(LOG_COLUMNS) - 1)
        if line.startswith("#") or fields[: len(LOG_COLUMNS)] == LOG_COLUMNS:
            continue
        call = dict(zip(LOG_COLUMNS, fields, strict=False))
        for name in ("calls", "timed", "m", "n", "k", "batch"):
            call[name] = int(call[name])
        for name in ("us", "total_ms"):
            call[name] = float(call[name])
        calls.append(call)
    return calls


def run(options: argparse.Namespace, mode: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        out, log = Path(folder) / "out.json", Path(folder) / "log"
        tf32 = ["--tf32"] if mode == "tf32" else []
        enable = ["-c", ENABLE, ENABLED[mode]] if mode in ENABLED else []
        command = [sys.executable, *enable, str(options.example), *options.arguments, *tf32, "--out", str(out)]
        start = time.perf_counter()
        status = subprocess.run(command, env=environment(mode, options.preload, log), check=False).returncode
        return {
            "mode": mode,
            "status": status,
            "seconds": time.perf_counter() - start,
            "result": json.loads(out.read_text()) if out.exists() else None,
            "calls": read_log(log),
        }


def commit() -> str:
    """The suite's commit, with "-dirty" if files differ from it. Empty where git does not know."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=7"]
    return subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False).stdout.strip()


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    runs = []
    for number in range(options.rounds):
        for mode in options.modes if number % 2 == 0 else reversed(options.modes):
            print(f"== {options.example.name}: {mode}, round {number + 1}", flush=True)
            runs.append({"round": number + 1} | run(options, mode))
            if runs[-1]["status"] != 0:
                print(f"{options.example.name} failed with {mode}: status {runs[-1]['status']}", file=sys.stderr)
            settings = {"example": options.example.name, "arguments": options.arguments, "commit": commit()}
            write_json(options.out, settings | {"runs": runs})
    return 1 if any(run["status"] != 0 for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
