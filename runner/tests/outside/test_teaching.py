"""The exercises of docs/teaching.md: their commands, run on their solutions, print the lines that the page promises."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest

from runs import ROOT, RUNNER, needs_runner

pytestmark = needs_runner

PAGE = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
EXERCISES = dict(re.findall(r"^### Exercise (\w+): .+?\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL))
SOLUTIONS = ROOT / "examples" / "exercises"


def solution(exercise: str) -> str:
    """The file that the exercise names, or for an exercise on a mistake the file with this mistake."""
    if exercise == "1c":
        return re.sub(r".*__syncthreads\(\);  // nobody.*\n", "", (SOLUTIONS / "tiles.cu").read_text(encoding="utf-8"))
    if exercise == "2a":
        return (SOLUTIONS / "transposed.cu").read_text(encoding="utf-8").replace("[32 + 1]", "[32]")
    linked = re.search(r"^Solution: \[.*?\]\(\.\./(.*?)\)", EXERCISES[exercise], re.MULTILINE)
    return (ROOT / linked[1]).read_text(encoding="utf-8") if linked else ""


def in_one_form(text: str) -> str:
    return re.sub(r" +", " ", text)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_exercise_prints_what_its_page_says(exercise, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "1000")  # a terminal that shows all columns
    (tmp_path / "my.cu").write_text(solution(exercise), encoding="utf-8")
    commands, expected = re.search(r"```sh\n(.*?)```\n+```text\n(.*?)```", EXERCISES[exercise], re.DOTALL).groups()
    printed = ""
    for command in commands.splitlines():
        program, *arguments = shlex.split(command)
        assert program == "./runner"
        done = subprocess.run([RUNNER, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
        printed += done.stdout + done.stderr
    for line in expected.splitlines():
        assert in_one_form(line) in in_one_form(printed)


def test_each_solution_belongs_to_an_exercise():
    assert {path.name for path in SOLUTIONS.iterdir()} == set(re.findall(r"exercises/(\w+\.cu)\)", PAGE))
    assert len(EXERCISES) >= 6
