"""Runs of the runner, and the files that they leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import jsonschema

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SGEMM_BUILD", ROOT / "build")).resolve()
RUNNER = BUILD / "runner"
MISBEHAVING = BUILD / "tests" / "runner" / "runner_with_misbehaving_kernels"


def schema_errors(schema: str, document: object) -> list[str]:
    """Where `document` differs from a schema of the repository."""
    rules = json.loads((ROOT / schema).read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(rules)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


class Run:
    """A run that has ended, and its results file."""

    def __init__(self, process: subprocess.CompletedProcess[str], path: Path) -> None:
        self.status = process.returncode
        self.stdout = process.stdout
        self.stderr = process.stderr
        self.path = path

    @property
    def results(self) -> dict:
        document = json.loads(self.path.read_text(encoding="utf-8"))
        assert schema_errors("runner/record/results.schema.json", document) == []
        return document

    @property
    def context(self) -> dict:
        return self.results["context"]

    @property
    def cases(self) -> list[dict]:
        return self.results["benchmarks"]

    @property
    def outcomes(self) -> dict[str, str]:
        return {case["kernel"]: case["outcome"] for case in self.cases}


def run_runner(folder: Path, *arguments: str, runner: Path = RUNNER) -> Run:
    """Runs the runner in `folder` to its end."""
    path = folder / "results.json"
    path.unlink(missing_ok=True)
    command = [str(runner), *arguments, "--out", str(path)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    return Run(done, path)


def interrupt_runner(
    folder: Path, *arguments: str, cases: int, number: signal.Signals, times: int = 1, runner: Path = RUNNER
) -> Run:
    """Runs the runner, and sends it a signal soon after the file holds so many cases: in the middle of the next. Sends
    it again, so many times in all, to a runner that goes on."""
    path = folder / "results.json"
    command = [str(runner), *arguments, "--out", str(path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            deadline = time.monotonic() + 120
            while not path.exists() or len(json.loads(path.read_text(encoding="utf-8"))["benchmarks"]) < cases:
                assert process.poll() is None, f"it ended by itself: {process.communicate()}"
                assert time.monotonic() < deadline
                time.sleep(0.05)
            for _ in range(times):
                time.sleep(0.3)
                assert process.poll() is None, f"it ended early: {process.communicate()}"
                process.send_signal(number)
            stdout, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
    return Run(subprocess.CompletedProcess(command, process.returncode, stdout, stderr), path)


def spread(m: int, n: int, k: int, grid: str, exchange: str) -> dict:
    """What a record says of a product on a grid that divides M, N and K. The bytes are those that the page of chapter
    14 has for the GPU that receives most."""
    rows, columns = map(int, grid.split("x"))
    received = 4 * (m / rows * k * (columns - 1) / columns + k * n / columns * (rows - 1) / rows)
    return {"gpus": rows * columns, "grid": grid, "exchange": exchange, "received_bytes": received}
