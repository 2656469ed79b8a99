"""What is missing is said in one line."""

from __future__ import annotations

import subprocess
import sys

import pytest

import drawings
import needs
from conftest import ROOT, SYNTHETIC


def bare(*arguments: str) -> subprocess.CompletedProcess:
    """Runs a script with the standard library alone."""
    return subprocess.run(
        [sys.executable, "-S", "-E", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("script", "package", "option"),
    [
        ("tables.py", "pandas", " --dev"),
        ("compare.py", "numpy", ""),
        ("plot.py", "matplotlib", ""),
        ("pictures.py", "matplotlib", " --dev"),
    ],
)
def test_a_missing_package_is_named(script, package, option):
    done = bare(f"scripts/{script}")
    assert done.returncode == 2
    assert done.stderr.startswith(f"{script}: ")
    assert f"pip install {package}, apt install python3-{package}" in done.stderr
    assert f"$(scripts/python.sh{option})" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("script", ["counters.py", "drawings.py"])
def test_some_scripts_need_the_standard_library_alone(script):
    assert bare(f"scripts/{script}", "--help").returncode == 0


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


def test_a_drawing_without_its_results_names_the_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(drawings, "RESULTS", tmp_path / "absent")
    with pytest.raises(SystemExit) as exit_:
        drawings.main(["h200", "--out", str(tmp_path)])
    assert exit_.value.code == needs.BAD_INPUT
    assert f"can not read {tmp_path / 'absent' / 'cold.json'}" in capsys.readouterr().err


COLD = str(SYNTHETIC / "cold.json")


@pytest.mark.parametrize(
    ("script", "arguments", "said"),
    [
        ("plot.py", (COLD, "--out", "file"), "file is a file: the charts need a folder"),
        ("plot.py", ("--across", COLD, "--out", "file"), "file is a file: the charts need a folder"),
        ("plot.py", (COLD, "--out", "file/charts"), "file/charts: Not a directory"),
        ("drawings.py", ("--out", "file", "tiles"), "file is a file: the drawings need a folder"),
        ("pictures.py", ("--out", "file"), "file is a file: the charts need a folder"),
        ("report.py", (COLD, "-o", "folder"), "folder is a folder: the report needs a file"),
        ("report.py", (COLD, "--images", "file"), "file is a file: the images need a folder"),
        ("report.py", (COLD, "-o", "absent/report.html"), "absent/report.html: No such file or directory"),
        ("viewers.py", ("file",), "file is a file: the pages need a folder"),
    ],
)
def test_an_output_that_can_not_be_written_is_told_in_words(tmp_path, script, arguments, said):
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    command = [sys.executable, str(ROOT / "scripts" / script), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"{script}: {said}\n")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
