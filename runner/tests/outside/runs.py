"""Runs of the runner, and the files that they leave."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SGEMM_BUILD", ROOT / "build")).resolve()
RUNNER = BUILD / "runner"
MISBEHAVING = BUILD / "runner.build" / "tests" / "runner_with_misbehaving_kernels"
needs_runner = pytest.mark.skipif(
    "SGEMM_BUILD" not in os.environ and not RUNNER.exists(),
    reason=f"there is no {RUNNER}: SGEMM_BUILD names the folder of a build",
)
HANGS = 600  # seconds: what takes longer does not end, however busy the cores are


def schema_errors(schema: str, document: object) -> list[str]:
    """Where `document` differs from a schema of the repository."""
    rules = json.loads((ROOT / schema).read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(rules)
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]


def ran(*words: str | Path, status: int | None = None, **options) -> subprocess.CompletedProcess[str]:
    """A program that has ended, with this status if one is given, and what it printed."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=HANGS, check=False, **options)
    assert status in (None, done.returncode), done.stdout + done.stderr
    return done


@contextlib.contextmanager
def started(*words: str | Path, **options) -> Iterator[subprocess.Popen[str]]:
    """A program that runs while a test looks at it, and no longer."""
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def is_running(process: str) -> bool:
    """Whether it is there, and no zombie that somebody outside has not asked for."""
    with contextlib.suppress(OSError):
        return ") Z " not in Path("/proc", process, "stat").read_text(encoding="utf-8")
    return False


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
    if runner == MISBEHAVING and not runner.exists():
        pytest.skip(f"there is no {runner}")
    path = folder / "results.json"
    path.unlink(missing_ok=True)
    command = [str(runner), *arguments, *(() if "--out" in arguments else ("--out", str(path)))]
    return Run(ran(*command, cwd=folder), path)


def run_with_time_limit(run: Callable[[str], Run], hanging: Callable[[dict], bool]) -> tuple[Run, str]:
    """run(SECONDS) of cases that hang beside others that do not. A limit that is short to wait for may be too short for
    the others where cores are busy: longer ones are tried then. Returns the run and its limit."""
    for seconds in ("2", "10", "60"):
        done = run(seconds)
        if not any("--timeout changes" in case["reason"] for case in done.cases if not hanging(case)):
            break
    return done, seconds


def run_nvcc_on_all(folder: Path, files: list[Path], headers: list[str], *options: str) -> None:
    """Compiles files in one source, each .cu file in a namespace: nvcc takes longer for CUDA's headers than for any of
    them."""
    lines = [f"#include <{header}>" for header in headers]
    for path in files:
        include = f'#include "{path}"'
        lines += [f"namespace of_{path.stem} {{", include, "}"] if path.suffix == ".cu" else [include]
        lines += [f"#undef {name}" for name in re.findall(r"^#define (\w+)", path.read_text("utf-8"), re.MULTILINE)]
    (folder / "all.cu").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ran("nvcc", "-std=c++17", *options, folder / "all.cu", cwd=folder, status=0)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Waits for something that a process does before it ends."""
    deadline = time.monotonic() + HANGS
    while not condition():
        assert process.poll() is None, f"it ended by itself: {process.communicate()}"
        assert time.monotonic() < deadline
        time.sleep(0.02)


def count_of_cases(path: Path) -> int:
    """In a results file; -1 where there is none, or a name alone that a run holds until its GPU is ready."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return len(json.loads(text)["benchmarks"]) if text else -1


def processor_seconds(first: int) -> float:
    """What a process and those that it has started have taken, those left out that have ended."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()  # from the state on: man proc
            found[int(path.parent.name)] = (int(fields[1]), int(fields[11]) + int(fields[12]))

    def ticks(process: int) -> int:
        own = found[process][1] if process in found else 0
        return own + sum(ticks(each) for each, (parent, _) in found.items() if parent == process)

    return ticks(first) / os.sysconf("SC_CLK_TCK")


def catches(process: int, number: signal.Signals) -> bool:
    """Whether a process has a handler for a signal. The runner's are gone once they were called."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return bool(int(re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)[1], 16) >> (number - 1) & 1)


def interrupt_runner(
    folder: Path, *arguments: str, cases: int, number: signal.Signals, times: int = 1, runner: Path = RUNNER
) -> Run:
    """Runs the runner, and sends it a signal while the case is computed that follows so many in the file. That case has
    to be one that goes on until it is ended. Sends the signal so many times, each after the one before was noted."""
    path = folder / "results.json"
    command = [str(runner), *arguments, "--out", str(path)]
    with started(*command, cwd=folder, start_new_session=True) as process:
        wait_until(lambda: count_of_cases(path) >= cases, process)
        before = processor_seconds(process.pid)
        wait_until(lambda: processor_seconds(process.pid) > before + 0.3, process)  # only a case takes as much
        for time_sent in range(times):
            wait_until(lambda first=time_sent == 0: catches(process.pid, number) == first, process)
            process.send_signal(number)
        stdout, stderr = process.communicate(timeout=HANGS)
    return Run(subprocess.CompletedProcess(command, process.returncode, stdout, stderr), path)


def spread(m: int, n: int, k: int, grid: str, exchange: str) -> dict:
    """What a record says of a product on a grid that divides M, N and K. The bytes are those that the page of chapter
    14 has for the GPU that receives most."""
    rows, columns = map(int, grid.split("x"))
    received = 4 * (m / rows * k * (columns - 1) / columns + k * n / columns * (rows - 1) / rows)
    return {"gpus": rows * columns, "grid": grid, "exchange": exchange, "received_bytes": received}
