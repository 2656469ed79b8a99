"""What stands for a GPU in the tests of the Python package."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import sgemm.library

ROOT = Path(__file__).parents[2]

FIELDS = (
    *("status", "device", "handles", "calls", "order", "transa", "transb", "lda", "ldb", "ldc"),
    *("stride_a", "stride_b", "stride_c", "batch_count", "stream", "accuracy", "plans_cublas"),
    *("m", "n", "k"),
)


class Fake(ctypes.Structure):
    """What the fake library is to answer, and what it was asked."""

    _fields_ = tuple((name, ctypes.c_int64) for name in FIELDS)


class GpuArray:
    """An array of NumPy that says that it is on a GPU."""

    def __init__(self, numbers: np.ndarray, device: int = 0, stream: int | None = None, **changes):
        self.numbers = numbers
        self.device_number = device
        self.stream = stream
        self.changes = changes  # of what it says about itself

    @property
    def __cuda_array_interface__(self):
        interface = dict(self.numbers.__array_interface__)
        interface |= {"version": 3, "stream": self.stream, "strides": self.numbers.strides}
        return interface | self.changes

    def __dlpack_device__(self):
        return (2, self.device_number)


class DlpackArray:
    """The same by DLPack alone."""

    def __init__(self, numbers: np.ndarray):
        self.numbers = numbers

    def __dlpack__(self, stream=None):
        return self.numbers.__dlpack__()

    def __dlpack_device__(self):
        return (2, 0)


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory) -> str:
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    library = tmp_path_factory.mktemp("library") / "libsgemm.so.0.2"
    source = Path(__file__).with_name("fake_sgemm.c")
    include = f"-I{ROOT / 'library' / 'include'}"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", include]
    subprocess.run([compiler, *flags, "-o", library, source], check=True)
    return str(library)


@pytest.fixture
def fake(fake_library, monkeypatch):
    """The record of the fake library, which the package loads in this test."""
    monkeypatch.setenv("SGEMM_LIBRARY", fake_library)
    sgemm.library.load.cache_clear()
    sgemm.library._handles.of_device.clear()
    record = Fake.in_dll(ctypes.CDLL(fake_library), "fake")
    for name in FIELDS:
        setattr(record, name, 0)
    yield record
    sgemm.library._handles.of_device.clear()
    sgemm.library.load.cache_clear()
