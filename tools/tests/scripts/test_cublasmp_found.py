"""cmake/FindNCCL.cmake and cmake/FindcuBLASMp.cmake, on folders that look like the packages of PyPI."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

MODULES = Path(__file__).resolve().parents[3] / "cmake"

PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES NONE)
set(CMAKE_CUDA_COMPILER {folder}/toolkit/bin/nvcc)
list(APPEND CMAKE_MODULE_PATH {modules})
find_package(NCCL QUIET)
find_package(cuBLASMp QUIET)
message(STATUS "NCCL: ${{NCCL_FOUND}} ${{NCCL_INCLUDE_DIR}} ${{NCCL_LIBRARY}}")
message(STATUS "cuBLASMp: ${{cuBLASMp_FOUND}} ${{cuBLASMp_VERSION}} ${{CUBLASMP_LIBRARY}}")
message(STATUS "reason: ${{cuBLASMp_NOT_FOUND_MESSAGE}}")
"""


def make_package(folder: Path, header: str, prefix: str, version: str, library: str) -> Path:
    numbers = zip(("MAJOR", "MINOR", "PATCH"), version.split("."), strict=True)
    (folder / "include").mkdir(parents=True)
    (folder / "include" / header).write_text("".join(f"#define {prefix}_{name} {number}\n" for name, number in numbers))
    (folder / library).parent.mkdir()
    (folder / library).touch()
    return folder


def make_cublasmp(folder: Path, version: str) -> Path:
    return make_package(folder / "cublasmp", "cublasmp.h", "CUBLASMP_VER", version, "lib/libcublasmp.so.0")


def make_nccl(folder: Path, version: str) -> Path:
    return make_package(folder / "nccl", "nccl.h", "NCCL", version, "lib/libnccl.so.2")


@pytest.fixture
def configure(tmp_path):
    """configure(PACKAGE...) runs CMake with these in CMAKE_PREFIX_PATH, in the same build folder each time. It returns
    what is said of NCCL, of cuBLASMp, and of why there is none."""
    (tmp_path / "CMakeLists.txt").write_text(PROJECT.format(folder=tmp_path, modules=MODULES))

    def configure(*packages: Path, options: tuple[str, ...] = ()) -> tuple[str, ...]:
        options += ("-DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF", f"-DCMAKE_PREFIX_PATH={';'.join(map(str, packages))}")
        command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        lines = done.stdout.replace("/include/", "/include").splitlines()  # some versions of CMake append a slash
        names = ("NCCL: ", "cuBLASMp: ", "reason: ")
        return tuple(next(line for line in lines if name in line).partition(name)[2] for name in names)

    return configure


def found_nccl(package: Path, library: str = "lib/libnccl.so.2") -> str:
    return f"TRUE {package}/include {package / library}"


def cublasmp_of(package: Path, version: str) -> str:
    return f"{version.rpartition('.')[0]} {package}/lib/libcublasmp.so.0"


@pytest.mark.parametrize(("cublasmp", "nccl"), [("0.10.0", "2.32.3"), ("0.8.0", "2.29.2")])
def test_found_with_an_nccl_that_is_new_enough(configure, tmp_path, cublasmp, nccl):
    packages = make_cublasmp(tmp_path, cublasmp), make_nccl(tmp_path, nccl)
    assert configure(*packages) == (found_nccl(packages[1]), f"TRUE {cublasmp_of(packages[0], cublasmp)}", "")


@pytest.mark.parametrize(("cublasmp", "nccl"), [("0.10.0", "2.28.9"), ("0.7.0", "2.29.2")])
def test_the_versions_that_do_not_fit_are_named(configure, tmp_path, cublasmp, nccl):
    packages = make_cublasmp(tmp_path, cublasmp), make_nccl(tmp_path, nccl)
    versions = [version.rpartition(".")[0] for version in (cublasmp, nccl)]
    places = [f"{version} in {package}/include" for version, package in zip(versions, packages, strict=True)]
    reason = f"cuBLASMp 0.8 and NCCL 2.29 are the oldest that do, found {' and '.join(places)}"
    assert configure(*packages) == (found_nccl(packages[1]), f"FALSE {cublasmp_of(packages[0], cublasmp)}", reason)


def test_not_found_without_it(configure, tmp_path):
    assert configure(make_nccl(tmp_path, "2.29.7"))[1:] == ("FALSE 0 CUBLASMP_LIBRARY-NOTFOUND", "")
    assert configure()[0].startswith("FALSE")


def test_packages_that_are_named_later_count_in_the_same_build_folder(configure, tmp_path):
    toolkit = make_package(tmp_path / "toolkit", "nccl.h", "NCCL", "2.28.3", "lib64/libnccl.so")
    old = make_cublasmp(tmp_path / "old", "0.7.0")
    assert configure(old)[:2] == (found_nccl(toolkit, "lib64/libnccl.so"), f"FALSE {cublasmp_of(old, '0.7.0')}")
    packages = make_cublasmp(tmp_path, "0.10.0"), make_nccl(tmp_path, "2.29.7")
    assert configure(*packages) == (found_nccl(packages[1]), f"TRUE {cublasmp_of(packages[0], '0.10.0')}", "")


def test_an_nccl_that_is_given_counts_before_others(configure, tmp_path):
    packages = make_cublasmp(tmp_path, "0.10.0"), make_nccl(tmp_path, "2.32.3")
    given = make_nccl(tmp_path / "given", "2.29.7")
    options = f"-DNCCL_INCLUDE_DIR={given}/include", f"-DNCCL_LIBRARY={given}/lib/libnccl.so.2"
    assert configure(*packages, options=options)[0] == found_nccl(given)
