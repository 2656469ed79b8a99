"""What is missing is said in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, SYNTHETIC


def name_of(script: str) -> str:
    """As messages begin."""
    return f"{script.rpartition('.')[2]}.py" if script.startswith("-m ") else script.rpartition("/")[2]


def run(*command: str, folder: Path = ROOT, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = (sys.executable, *options, *command)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def bare(*command: str) -> subprocess.CompletedProcess[str]:
    """Runs a script with the standard library alone."""
    return run(*command, options=("-S", "-E"))


@pytest.mark.parametrize(
    ("script", "package", "option"),
    [
        ("-m tools.docs.tables", "pandas", " --dev"),
        ("scripts/compare.py", "numpy", ""),
        ("scripts/plot.py", "numpy", ""),
    ],
)
def test_a_missing_package_is_named(script, package, option):
    done = bare(*script.split())
    assert done.returncode == 2
    assert done.stderr.startswith(f"{name_of(script)}: ")
    assert f"pip install {package}, apt install python3-{package}" in done.stderr
    assert f": $(scripts/python.sh{option}) {script}\n" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("module", ["tools.counters", "tools.viewers"])
def test_some_need_the_standard_library_alone(module):
    assert bare("-m", module, "--help").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("-m tools.docs.tables", "--results", "absent", "README.md"),
        ("-m tools.docs.tables", "absent.md"),
        ("scripts/compare.py", "absent.json", "absent.json"),
        ("scripts/plot.py", "absent.json"),
        ("-m tools.counters", "--build", "absent"),
    ],
)
def test_a_missing_file_is_named(arguments):
    script, *rest = arguments
    done = run(*script.split(), *rest)
    assert done.returncode == 2
    assert "absent" in done.stderr
    assert done.stderr.count("\n") == 1


COLD = str(SYNTHETIC / "cold.json")


@pytest.mark.parametrize(
    ("script", "arguments", "said"),
    [
        ("scripts/plot.py", (COLD, "--out", "file"), "file is a file: the charts need a folder"),
        ("scripts/plot.py", (COLD, "--out", "file/charts"), "file/charts: Not a directory"),
        ("scripts/report.py", (COLD, "-o", "folder"), "folder is a folder: the report needs a file"),
        ("scripts/report.py", (COLD, "-o", "absent/report.html"), "absent/report.html: No such file or directory"),
        ("-m tools.viewers", ("file",), "file is a file: the pages need a folder"),
    ],
)
def test_what_can_not_be_done_is_told_in_words(tmp_path, script, arguments, said):
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    done = run(*script.replace("scripts/", f"{ROOT}/scripts/").split(), *arguments, folder=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"{name_of(script)}: {said}\n")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
