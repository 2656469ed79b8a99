"""What tests of scripts, of sweeps and of pages share: commands that have ended, and changes of results files."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from synthetic import SYNTHETIC
from tools import ROOT

Change = Callable[[dict], Any]  # of a document


Ended = subprocess.CompletedProcess[str]


HANGS = 1800  # seconds: what takes longer does not end, however busy the cores are


def ran(*command: object, folder: Path = ROOT, status: int | None = None, **variables: object) -> Ended:
    """A command that has ended, with this status if one is given, and what it said. The variables are added to those
    of the environment."""
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    how = {"cwd": folder, "env": environment, "capture_output": True, "text": True, "timeout": HANGS, "check": False}
    done = subprocess.run([*map(str, command)], **how)
    assert status in (None, done.returncode), done.stdout + done.stderr
    return done


def fake(folder: Path, name: str, text: str, interpreter: str = "/bin/bash") -> None:
    """A program that stands in for another one."""
    (folder / name).write_text(f"#!{interpreter}\n{text}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def stand_ins(folder: Path, **programs: str) -> str:
    """Writes programs of these texts, with _ for -, into a folder, and returns a PATH on which they come first."""
    folder.mkdir(exist_ok=True)
    for name, text in programs.items():
        fake(folder, name.replace("_", "-"), text)
    return f"{folder}:{os.environ['PATH']}"


def committed_results(below: str = ".", root: Path = ROOT) -> list[Path]:
    """The JSON files of results/ that belong to it: runs from the root of the repository leave others there."""
    command = ("git", "-C", root / "results" / below, "ls-files", "--full-name", "*.json")
    listed = ran(*command).stdout.splitlines()
    return sorted(root / name for name in listed) or sorted((root / "results" / below).rglob("*.json"))


def edit(path: Path, *changes: Change, new: Path | None = None) -> Path:
    """Changes a file in place, or writes it as a new one, and returns its path."""
    document = json.loads(path.read_text(encoding="utf-8"))
    for change in changes:
        change(document)
    (new or path).write_text(json.dumps(document), encoding="utf-8")
    return new or path


def refused(capsys: pytest.CaptureFixture, main: Callable[..., Any], *arguments: object) -> str:
    """What a command says of bad input."""
    with pytest.raises(SystemExit) as exit_:
        main(list(map(str, arguments)))
    assert exit_.value.code == 2
    return capsys.readouterr().err


def said(capsys: pytest.CaptureFixture, main: Callable[..., Any], *arguments: object, status: int = 0) -> Any:
    """What a command prints that ends with this status: `out` and `err`."""
    assert main(list(map(str, arguments))) == status
    return capsys.readouterr()


def cases(document: dict, kernel: str | None = None, size: int | None = None) -> Iterator[dict]:
    for record in document["benchmarks"]:
        if kernel in (None, record["kernel"]) and size in (None, record["m"]):
            yield record


def case(document: dict | Path, kernel: str, size: int) -> dict:
    """Of a document, or of the file that holds it."""
    if isinstance(document, Path):
        document = json.loads(document.read_text(encoding="utf-8"))
    return next(cases(document, kernel, size))


# Changes of documents.


def on(kernel: str | None, size: int | None = None, /, *changes: Change, **fields) -> Change:
    """Changes the cases of a kernel at one size or at all."""

    def change(document: dict) -> None:
        for record in cases(document, kernel, size):
            for each in changes:
                each(record)
            record.update(fields)

    return change


def every(*changes: Change, **fields) -> Change:
    return on(None, None, *changes, **fields)


def keep(wanted: Callable[[dict], object]) -> Change:
    """Leaves out the other cases."""
    return lambda document: document.update(benchmarks=list(filter(wanted, document["benchmarks"])))


def without(*left_out: tuple[str, int] | str) -> Change:
    """Leaves out cases, given as (KERNEL, SIZE), or all of a kernel."""
    return keep(lambda record: not {record["kernel"], (record["kernel"], record["m"])} & {*left_out})


def context(**fields) -> Change:
    return lambda document: document["context"].update(fields)


def protocol(**fields) -> Change:
    return lambda document: document["context"]["protocol"].update(fields)


def device(**fields) -> Change:
    return lambda document: document["context"]["device"].update(fields)


def ended(kernel: str, size: int, outcome: str, reason: str = "") -> Change:
    """A case that came to no result."""

    def without_times(record: dict) -> None:
        for field in ("time_us", "samples_us", "gflops"):
            del record[field]

    return on(kernel, size, without_times, outcome=outcome, reason=reason)


def cpu_alone(document: dict) -> None:
    document["context"]["device"] = None
    keep(lambda record: record["platform"] == "cpu")(document)


def executed(document: dict, mode: str = "check") -> None:
    """The CPU's cases as a run with that flag would have them: without times."""
    for change in (cpu_alone, protocol(**{mode: True}), every(outcome="executed")):
        change(document)


def slow_down(document: dict) -> None:
    """Turns of --sustain whose second half has batches that take a tenth longer, and cuBLAS's a twentieth."""
    for data in document["benchmarks"]:
        for name, factor in (("kernel", 1.1), ("cublas", 1.05)):
            times = data["sustained"][name]["batch_us"]
            half = len(times) // 2
            times[half:] = [factor * time for time in times[half:]]


def without_energy(reason: str, *names: str) -> Change:
    """A case whose turns told no energy."""

    def change(record: dict) -> None:
        for name in names or ("kernel", "cublas"):
            turn = record["energy"][name]
            for field in ("watts", "energy", "joules_per_product", "gflops_per_watt"):
                del turn[field]
            turn["no_energy"] = reason

    return change


def add_layouts(document: dict) -> None:
    """Adds a transposed product and a batch to the cases, both of the sizes of a plain one."""
    like = case(document, "cublas", 1024)
    name = "sgemm/cublas/{}1024x1024x1024{}"
    transposed = like | {"name": name.format("", ":nt"), "ops": "nt"}
    batch = like | {"name": name.format("3x", ":tn"), "ops": "tn", "batch": 3, "gflops": 3 * like["gflops"]}
    document["benchmarks"] += [transposed, batch]


def write_other_kernels(folder: Path, owner: str, beta: float, *kernels: dict) -> None:
    """A file of other people's kernels: cuBLAS's case at 1024 of the synthetic results, with other fields."""
    (folder / "other_kernels").mkdir(exist_ok=True)
    like = case(SYNTHETIC / "cold.json", "cublas", 1024)
    found = {"benchmarks": [like | kernel for kernel in kernels]}
    path = folder / "other_kernels" / f"{owner}.json"
    edit(SYNTHETIC / "cold.json", protocol(beta=beta), lambda document: document.update(found), new=path)


def of_file(kernel: str, function: str = "", **fields) -> dict:
    name = f"{kernel}:{function}" if function else kernel
    return {"kernel": name, "variant": function, "path": f"clone/{kernel}", "vs_cublas": 0.5, "gflops": 4e3, **fields}


def write_runs(path: Path, *runs: tuple[str, object]) -> None:
    """A file of programs, as examples/measure.py writes it: each run has its mode and its result."""
    path.parent.mkdir(exist_ok=True)
    documents = [{"mode": mode, "result": result} for mode, result in runs]
    path.write_text(json.dumps({"runs": documents}), encoding="utf-8")
