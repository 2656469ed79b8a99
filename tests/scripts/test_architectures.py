"""Kernels that ask for a number of blocks on an SM compile without a warning for an SM that holds fewer threads."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from conftest import ROOT

NVCC = shutil.which("nvcc", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")


@pytest.mark.skipif(NVCC is None, reason="there is no nvcc")
@pytest.mark.parametrize("kernel", ["05_coarse_1d"])
def test_compiles_without_a_warning_for_an_sm_of_1536_threads(tmp_path, kernel):
    options = ("-std=c++17", "-O1", "-arch=sm_89", "-Werror=all-warnings", "-Wno-deprecated-gpu-targets")
    source, include = ROOT / "kernels" / f"{kernel}.cu", ROOT / "kernels"
    command = [NVCC, *options, "-I", include, "-cubin", source, "-o", tmp_path / "kernel.cubin"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr.lower()
