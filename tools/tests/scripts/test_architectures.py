"""Chapters compile without a warning for the GPUs that they are said to run on, Turing to Blackwell. The presets
compile each of them for sm_80 or sm_90a, or for both.
"""

import os
import shutil

import pytest

from helpers import ROOT, ran
from tools.results import read_json

NVCC = shutil.which("nvcc", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
ARCHITECTURES = ["75", "80", "86", "89", "90a", "100", "120"]
FOR_EVERY_GPU = ("16_fp16x3_mma", "17_int8x6_mma")


def supported(kernel: dict) -> list[str]:
    """The architectures that the registry has for a chapter."""
    first, last = kernel["min_compute_capability"], kernel["max_compute_capability"]
    return [a for a in ARCHITECTURES if float(first) <= int(a.rstrip("a")) / 10 <= float(last or "inf")]


def chapters() -> list[tuple[str, list[str]]]:
    """What to compile: chapters by mma.sync for all of their GPUs, and others for the oldest and the newest one, unless
    a preset does that.
    """
    found = []
    for chapter in read_json(ROOT / "results" / "nvidia-h200" / "kernels.json"):
        if not chapter["number"] or not (ROOT / "kernels" / f"{chapter['id']}.cu").exists():
            continue
        architectures = supported(chapter["variants"][0])
        if chapter["id"] not in FOR_EVERY_GPU:
            architectures = sorted({architectures[0], architectures[-1]} - {"80", "90a"})
        if architectures:
            found.append((chapter["id"], architectures))
    return found


def nvcc_says(option: str) -> str:
    return ran(NVCC, option, status=0).stdout


@pytest.mark.long
@pytest.mark.skipif(NVCC is None, reason="there is no nvcc")
@pytest.mark.parametrize(("kernel", "architectures"), chapters())
def test_compiles_without_a_warning(tmp_path, kernel, architectures):
    known = nvcc_says("--list-gpu-code").split()
    if missing := [a for a in architectures if f"sm_{a.rstrip('a')}" not in known]:
        pytest.skip(f"nvcc knows no sm_{missing[0]}")
    targets = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures]
    fast = ["-Ofc=max"] if "--Ofast-compile" in nvcc_says("--help") else []
    options = ("-std=c++17", *fast, "-Werror=all-warnings", "-Wno-deprecated-gpu-targets")
    source, include = ROOT / "kernels" / f"{kernel}.cu", ROOT / "kernels"
    done = ran(NVCC, *options, *targets, "-I", include, "-fatbin", source, "-o", tmp_path / "kernel.fatbin", status=0)
    assert "warning" not in done.stderr.lower()


def test_every_architecture_is_some_chapters():
    assert {a for _, architectures in chapters() for a in architectures} | {"80", "90a"} == set(ARCHITECTURES)
