"""Mutants: each patch applies to the code as it is, the table names all, and the command tells found from missed."""

import re

import pytest

from helpers import ran, refused
from tools import ROOT, mutants

TABLE = mutants.read_table()
ROOMS = ("simt/core", "simt/check", "simt/count", "runner/judge", "runner/verify", "runner/timing", "runner/problem")
ROOMS += ("library", "tools")


def test_every_patch_has_its_row():
    assert sorted(TABLE) == sorted(path.stem for path in mutants.FOLDER.glob("*.patch"))
    for mutant in TABLE.values():
        assert mutant.room in ROOMS
        assert mutant.origin == "own" or re.fullmatch("[0-9a-f]{8}", mutant.origin)
        assert mutant.wrong
        assert re.fullmatch(r"|\d{4}-\d\d-\d\d", mutant.found)
        program, _, only = mutant.test.partition(" ")
        assert (program in mutants.PROGRAMS and only) or (ROOT / program.partition("::")[0]).is_file()


def test_every_patch_applies():
    """Each by itself, as a mutant may change the same line as another one."""
    apply = ["git", "apply", "-C1", "--check"]
    assert [name for name in TABLE if ran(*apply, mutants.FOLDER / f"{name}.patch").returncode != 0] == []


def test_every_test_of_the_table_is_there():
    """A test that has gone finds nothing, and the short run applies no mutant that would tell."""
    folders = [ROOT / room / "tests" for room in ("kernels", "library", "runner", "simt", "tools")]
    files = [path for folder in folders for path in folder.rglob("*.*") if path.suffix in (".cpp", ".cu", ".py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    gone = []
    for mutant in TABLE.values():
        program, _, only = mutant.test.partition(" ")
        if "::" in program:
            there = f"def {program.rpartition('::')[2]}(" in text
        else:
            suites, _, name = only.partition(":")[0].partition(".")
            suite, name = suites.rpartition("/")[2].rstrip("*"), name.partition("/")[0].rstrip("*")
            there = not only or bool(re.search(rf"TEST(_F|_P)?\({suite}\w*, {name}\w*\)", text))
        gone += [] if there else [mutant.test]
    assert gone == []


PATCH = "--- a/sum.py\n+++ b/sum.py\n@@ -1,2 +1,2 @@\n def sum_of(a, b):\n-    return {old}\n+    return {new}\n"
TEST = "from sum import sum_of\n\ndef test_sum():\n    assert sum_of(2, 2) == 4\n"


@pytest.fixture
def bench(tmp_path):
    """Runs the command on a repository of one function, and returns the status, the outcomes and what was found."""
    root, folder = tmp_path / "code", tmp_path / "mutants"
    root.mkdir()
    folder.mkdir()
    (root / "sum.py").write_text("def sum_of(a, b):\n    return a + b\n")
    (root / "test_sum.py").write_text(TEST)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "sum"]):
        ran("git", *words, folder=root, status=0)

    def run(capsys, *names: str, **patches: tuple[str, str]):
        for name, (old, new) in patches.items():
            (folder / f"{name}.patch").write_text(PATCH.format(old=old, new=new))
        table = {name: mutants.Mutant(name, "tools", "wrong", "own", "test_sum.py", "2026-01-01") for name in patches}
        mutants.write_table(folder, table or mutants.read_table(folder))
        status = mutants.main(names, root, folder, tmp_path / "scratch")
        outcomes = re.findall(r"^(\w+) +(\w+):", capsys.readouterr().out, re.MULTILINE)
        days = {name: bool(mutant.found) for name, mutant in mutants.read_table(folder).items()}
        return status, {name: outcome for outcome, name in outcomes}, days

    return run


def test_found_missed_and_stale_are_told_apart(bench, capsys):
    patches = {"minus": ("a + b", "a - b"), "times": ("a + b", "a * b"), "old": ("a  +  b", "a")}
    status, outcomes, days = bench(capsys, **patches)
    assert (status, outcomes) == (1, {"minus": "found", "times": "missed", "old": "stale"})
    assert days == {"minus": True, "times": False, "old": False}
    assert bench(capsys, "minus")[:2] == (0, {"minus": "found"})


def test_a_mutant_whose_test_fails_without_it_is_stale(bench, capsys, monkeypatch):
    monkeypatch.setattr("tools.mutants.Bench.passes", lambda *_: (False, "test_sum"))
    assert bench(capsys, minus=("a + b", "a - b"))[:2] == (1, {"minus": "stale"})


def test_what_has_run_is_not_run_again(bench, capsys, monkeypatch):
    assert bench(capsys, minus=("a + b", "a - b"))[0] == 0
    monkeypatch.setattr("tools.mutants.Bench.passes", lambda *_: pytest.fail("it runs again"))
    assert bench(capsys)[:2] == (0, {"minus": "found"})


def test_an_unknown_mutant_is_told(capsys):
    assert "there is no mutant no-such-mutant" in refused(capsys, mutants.main, "no-such-mutant")
