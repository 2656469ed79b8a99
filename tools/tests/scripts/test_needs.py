"""What is missing is said in one line."""

import sys

import pytest

from helpers import ROOT, SYNTHETIC, ran


def name_of(script: str) -> str:
    """As messages begin."""
    return f"{script.rpartition('.')[2]}.py" if script.startswith("-m ") else script.rpartition("/")[2]


BARE = (sys.executable, "-S", "-E")  # has the standard library alone


@pytest.mark.parametrize(
    ("script", "package", "option"),
    [
        ("-m tools.docs.tables", "pandas", " --dev"),
        ("scripts/compare.py", "numpy", ""),
        ("scripts/plot.py", "numpy", ""),
    ],
)
def test_a_missing_package_is_named(script, package, option):
    done = ran(*BARE, *script.split(), status=2)
    assert done.stderr.startswith(f"{name_of(script)}: ")
    assert f"pip install {package}, apt install python3-{package}" in done.stderr
    assert f": $(scripts/python.sh{option}) {script}\n" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("module", ["tools.counters", "tools.viewers"])
def test_some_need_the_standard_library_alone(module):
    assert ran(*BARE, "-m", module, "--help").returncode == 0


COLD = str(SYNTHETIC / "cold.json")


@pytest.mark.parametrize(
    ("script", "arguments", "said"),
    [
        ("scripts/plot.py", (COLD, "--out", "file"), "file is a file: the charts need a folder"),
        ("scripts/plot.py", (COLD, "--out", "file/charts"), "file/charts: Not a directory"),
        ("scripts/report.py", (COLD, "-o", "folder"), "folder is a folder: the report needs a file"),
        ("scripts/report.py", (COLD, "-o", "absent/report.html"), "absent/report.html: No such file or directory"),
        ("-m tools.docs.tables", ("absent.md",), "[Errno 2] No such file or directory: '{folder}/absent.md'"),
        ("scripts/compare.py", (COLD, "absent.json"), "can not read absent.json: No such file or directory"),
        ("scripts/plot.py", ("absent.json",), "can not read absent.json: No such file or directory"),
        ("-m tools.counters", ("--build", "absent"), "there is no program {folder}/absent/runner"),
    ],
)
def test_what_can_not_be_done_is_told_in_words(tmp_path, script, arguments, said):
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    command = script.replace("scripts/", f"{ROOT}/scripts/").split()
    done = ran(sys.executable, *command, *arguments, folder=tmp_path, PYTHONPATH=ROOT)
    assert (done.returncode, done.stderr) == (2, f"{name_of(script)}: {said.format(folder=tmp_path)}\n")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
