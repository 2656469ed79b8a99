from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYNTHETIC = Path(__file__).parent / "fixtures" / "synthetic-gpu"


@pytest.fixture
def synthetic(tmp_path: Path) -> Path:
    """A copy of the synthetic results that a test may change."""
    return Path(shutil.copytree(SYNTHETIC, tmp_path / "synthetic-gpu"))


@pytest.fixture
def edited(synthetic: Path) -> Callable[[str, Callable[[dict], None]], Path]:
    """Changes one of the synthetic files in place and returns its path."""

    def edit(name: str, change: Callable[[dict], None]) -> Path:
        path = synthetic / name
        document = json.loads(path.read_text(encoding="utf-8"))
        change(document)
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    return edit


def case(document: dict, kernel: str, size: int) -> dict:
    return next(r for r in document["benchmarks"] if r["kernel"] == kernel and r["m"] == size)


def cpu_alone(document: dict) -> None:
    document["context"]["device"] = None
    document["benchmarks"] = [r for r in document["benchmarks"] if r["platform"] == "cpu"]


def executed(document: dict, mode: str = "check") -> None:
    """The CPU's cases as a run with that flag would have them: without times."""
    cpu_alone(document)
    document["context"]["protocol"][mode] = True
    document["benchmarks"] = [{**r, "outcome": "executed"} for r in document["benchmarks"]]


def slow_down(document: dict) -> None:
    """Turns of --sustain whose second half has batches that take a tenth longer, and cuBLAS's a twentieth."""
    for data in document["benchmarks"]:
        for name, factor in (("kernel", 1.1), ("cublas", 1.05)):
            times = data["sustained"][name]["batch_us"]
            half = len(times) // 2
            times[half:] = [factor * time for time in times[half:]]


def add_layouts(document: dict) -> None:
    """Adds a transposed product and a batch to the cases, both of the sizes of a plain one."""
    like = case(document, "cublas", 1024)
    name = "sgemm/cublas/{}1024x1024x1024{}"
    transposed = like | {"name": name.format("", ":nt"), "ops": "nt"}
    batch = like | {"name": name.format("3x", ":tn"), "ops": "tn", "batch": 3, "gflops": 3 * like["gflops"]}
    document["benchmarks"] += [transposed, batch]


def write_other_kernels(folder: Path, owner: str, beta: float, *kernels: dict) -> None:
    """A file of other people's kernels: cuBLAS's case at 1024 of the synthetic results, with other fields."""
    document = json.loads((SYNTHETIC / "cold.json").read_text(encoding="utf-8"))
    document["context"]["protocol"]["beta"] = beta
    like = case(document, "cublas", 1024)
    document["benchmarks"] = [like | kernel for kernel in kernels]
    (folder / "other_kernels").mkdir(exist_ok=True)
    (folder / "other_kernels" / f"{owner}.json").write_text(json.dumps(document), encoding="utf-8")


def of_file(kernel: str, function: str = "", **fields) -> dict:
    name = f"{kernel}:{function}" if function else kernel
    return {"kernel": name, "variant": function, "path": f"clone/{kernel}", "vs_cublas": 0.5, "gflops": 4e3, **fields}
