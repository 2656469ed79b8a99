"""cmake/FindcuBLASMp.cmake, on folders that look like the packages of PyPI."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

MODULES = Path(__file__).resolve().parents[2] / "cmake"

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES NONE)
list(APPEND CMAKE_MODULE_PATH {modules})
find_path(NCCL_INCLUDE_DIR nccl.h)
find_package(cuBLASMp QUIET)
message(STATUS "result: ${{cuBLASMp_FOUND}} ${{cuBLASMp_VERSION}} [${{cuBLASMp_NOT_FOUND_MESSAGE}}]")
"""


def make_package(folder, header: str, prefix: str, version: str | None, library: str) -> str:
    if version is not None:
        numbers = zip(("MAJOR", "MINOR", "PATCH"), version.split("."), strict=True)
        lines = [f"#define {prefix}_{name} {number}\n" for name, number in numbers]
        (folder / "include").mkdir(parents=True)
        (folder / "include" / header).write_text("".join(lines))
        (folder / "lib").mkdir()
        (folder / "lib" / library).touch()
    return str(folder)


@pytest.fixture
def find(tmp_path):
    def find(cublasmp: str | None, nccl: str | None) -> str:
        packages = [
            make_package(tmp_path / "cublasmp", "cublasmp.h", "CUBLASMP_VER", cublasmp, "libcublasmp.so.0"),
            make_package(tmp_path / "nccl", "nccl.h", "NCCL", nccl, "libnccl.so.2"),
        ]
        (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(modules=MODULES))
        arguments = ["-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", f"-DCMAKE_PREFIX_PATH={';'.join(packages)}"]
        done = subprocess.run(
            ["cmake", "-S", tmp_path, "-B", tmp_path / "build", *arguments], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        return next(line for line in done.stdout.splitlines() if "result: " in line).partition("result: ")[2]

    return find


@pytest.mark.parametrize(("cublasmp", "nccl"), [("0.10.0", "2.32.3"), ("0.8.0", "2.29.2")])
def test_found_with_an_nccl_that_is_new_enough(find, cublasmp, nccl):
    assert find(cublasmp, nccl) == f"TRUE {cublasmp.rpartition('.')[0]} []"


@pytest.mark.parametrize(("cublasmp", "nccl"), [("0.10.0", "2.28.9"), ("0.7.0", "2.29.2")])
def test_the_versions_that_do_not_fit_are_named(find, cublasmp, nccl):
    version = cublasmp.rpartition(".")[0]
    reason = f"cuBLASMp 0.8 and NCCL 2.29 are the oldest that do, found {version} and {nccl.rpartition('.')[0]}"
    assert find(cublasmp, nccl) == f"FALSE {version} [{reason}]"


def test_not_found_without_it(find):
    assert find(None, "2.29.7") == "FALSE 0 []"
