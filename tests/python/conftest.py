"""The Python package with a libsgemm whose GPU is the host."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fakes import FIELDS, Fake

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory) -> str:
    compiler = os.environ.get("CC") or shutil.which("cc") or "gcc"
    library = tmp_path_factory.mktemp("library") / "libsgemm.so.0"
    source = Path(__file__).with_name("fake_sgemm.c")
    include = f"-I{ROOT / 'library' / 'include'}"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", include]
    subprocess.run([compiler, *flags, "-o", library, source], check=True)
    return str(library)


@pytest.fixture
def fake(fake_library, monkeypatch):
    """The record of the fake library, which the package loads in this test."""
    import sgemm.library

    monkeypatch.setenv("SGEMM_LIBRARY", fake_library)
    sgemm.library.load.cache_clear()
    sgemm.library._handles.of_device.clear()
    record = Fake.in_dll(ctypes.CDLL(fake_library), "fake")
    for name in FIELDS:
        setattr(record, name, 0)
    yield record
    sgemm.library._handles.of_device.clear()
    sgemm.library.load.cache_clear()
