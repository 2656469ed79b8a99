"""The steps of docs/worklog.md: each kernel is right on the CPU and prints the line that the page quotes."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest

from runs import ROOT, RUNNER, needs_runner, run_runner

PAGE = (ROOT / "docs" / "worklog.md").read_text(encoding="utf-8")
STEPS = dict(re.findall(r"^## Step (\d): .+?\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL))
BLOCKS = "▏▎▍▌▋▊▉█"  # eighths of a block, and three blocks are the speed of cuBLAS


def fences(step: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", STEPS[step], re.MULTILINE | re.DOTALL)


def in_one_form(text: str) -> str:
    return re.sub(r" +", " ", text)


@needs_runner
@pytest.mark.parametrize("step", STEPS)
def test_a_step_prints_what_its_page_says(step, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # a terminal that shows all columns
    (tmp_path / "my.cu").write_text(fences(step, "cuda")[0], encoding="utf-8")
    ragged = run_runner(tmp_path, *shlex.split("--kernel my.cu --device cpu --check --sizes 70x130x101"))
    assert [case["outcome"] for case in ragged.cases] == ["executed"], ragged.stdout + ragged.stderr
    program, *arguments = shlex.split(fences(step, "sh")[0])
    assert program == "build/runner"
    done = subprocess.run([RUNNER, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert in_one_form(fences(step, "text")[-1].strip()) in in_one_form(done.stdout)


def test_steps_have_one_form():
    assert list(STEPS) == [str(number) for number in range(1, 9)]
    for step, text in STEPS.items():
        words = re.sub(r"^```.*?^```|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL).split()
        assert len(words) <= 400
        assert max(map(len, fences(step, "cuda")[0].splitlines())) <= 92
        assert "**Prediction:**" in text
        assert "All evidence: [chapter" in text


def test_bars_are_as_long_as_their_numbers():
    bars = re.findall(r"\| ([▏▎▍▌▋▊▉█]+) <!--= of_cublas\.\S+ -->([\d.]+) %<!--/--> \|", PAGE)
    assert len(bars) == 23
    for bar, percent in bars:
        assert sum(BLOCKS.index(block) + 1 for block in bar) == round(float(percent) * 24 / 100)
