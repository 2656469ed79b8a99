"""What is missing is said in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import ROOT


def bare(*arguments: str) -> subprocess.CompletedProcess:
    """Runs a script with the standard library alone."""
    return subprocess.run(
        [sys.executable, "-S", "-E", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("script", "package", "option"),
    [("tables.py", "pandas", " --dev"), ("compare.py", "numpy", ""), ("plot.py", "matplotlib", "")],
)
def test_a_missing_package_is_named(script, package, option):
    done = bare(f"scripts/{script}")
    assert done.returncode == 2
    assert done.stderr.startswith(f"{script}: ")
    assert package in done.stderr
    assert f"$(scripts/python.sh{option})" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_counters_need_the_standard_library_alone():
    assert bare("scripts/counters.py", "--help").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("tables.py", "--results", "absent", "README.md"),
        ("tables.py", "absent.md"),
        ("compare.py", "absent.json", "absent.json"),
        ("plot.py", "absent.json"),
        ("counters.py", "--build", "absent"),
    ],
)
def test_a_missing_file_is_named(arguments):
    script, *rest = arguments
    done = subprocess.run(
        [sys.executable, f"scripts/{script}", *rest], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "absent" in done.stderr
    assert done.stderr.count("\n") == 1
