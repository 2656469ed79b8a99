"""The commands of README's first screen are run as a stranger types them in a fresh clone, at smaller sizes, and those
of docs/counting.md, teaching.md and worklog.md print what their page says."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from runs import ROOT, RUNNER, needs_runner, ran, run_runner

README = (ROOT / "README.md").read_text(encoding="utf-8")
SCREEN = README[: README.index("## The ladder")]
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", SCREEN, re.DOTALL) for line in block.splitlines()]
LONG = ("scripts/quickstart.sh", "scripts/test.sh")  # these install, build and measure: they are looked at alone
COUNTING, TEACHING, WORKLOG = (
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("counting", "teaching", "worklog")
)
REPORTS = dict(re.findall(r"```sh\n\./runner ([^\n]+)\n```(?:(?!```).)+```text\n(.+?)```", COUNTING, re.DOTALL))
LEFT_OUT = "  ...\n"
EXERCISES = dict(re.findall(r"^### Exercise (\w+): .+?\n(.*?)(?=^##)", TEACHING, re.MULTILINE | re.DOTALL))
SOLUTIONS = ROOT / "examples" / "exercises"
STEPS = dict(re.findall(r"^## Step (\d): .+?\n(.*?)(?=^## )", WORKLOG, re.MULTILINE | re.DOTALL))
BLOCKS = "▏▎▍▌▋▊▉█"  # eighths of a block, and three blocks are the speed of cuBLAS


def printed(folder: Path, arguments: list[str]) -> str:
    """What the runner prints on a terminal that shows all columns."""
    environment = os.environ | {"COLUMNS": "1000"}
    done = ran(RUNNER, *arguments, cwd=folder, env=environment)
    return done.stdout + done.stderr


def in_one_form(text: str) -> str:
    return re.sub(r" +", " ", text)


# ---- README ----


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The folders that the commands name, a runner in build/, and results of a GPU for what reads them."""
    root = tmp_path_factory.mktemp("clone")
    for name in ("build", "results"):
        (root / name).mkdir()
    for name in ("results/nvidia-h200", "scripts", "tools"):
        (root / name).symlink_to(ROOT / name)
    if RUNNER.exists():
        (root / "build" / "runner").symlink_to(RUNNER.resolve())
    cold = json.loads((ROOT / "results" / "nvidia-h200" / "cold.json").read_text(encoding="utf-8"))
    cold["benchmarks"] = [record for record in cold["benchmarks"] if record["kernel"] == "05_coarse_1d"]
    (root / "build" / "5.json").write_text(json.dumps(cold), encoding="utf-8")
    return root


def test_the_first_screen_is_one():
    assert len(SCREEN.splitlines()) <= 60
    assert {"scripts/quickstart.sh", "scripts/test.sh"} <= {command.split()[0] for command in COMMANDS}
    assert any(command.startswith("build/runner --kernel 5 --sizes 256:8192") for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_first_screen(clone, command):
    words = shlex.split(command.replace("$(scripts/python.sh)", sys.executable), comments=True)
    assert not set("*?[") & set(command.split("#")[0]), "a shell would look for files of this name"
    if words[0] in LONG:
        assert words[1:] == [] and os.access(ROOT / words[0], os.X_OK)
        return
    if words[0] == "build/runner":
        if not RUNNER.exists():
            pytest.skip(f"there is no {RUNNER}: SGEMM_BUILD names the folder of a build")
        words = [{"256:8192": "64", "build/5.json": "build/run.json"}.get(word, word) for word in words]
    if "--new-kernel" not in words and "build/my.cu" in words and not (clone / "build" / "my.cu").exists():
        ran("build/runner", "--new-kernel", "build/my.cu", cwd=clone, status=0)
    if "--new-kernel" in words:
        (clone / "build" / "my.cu").unlink(missing_ok=True)
    ran(*words, cwd=clone, status=0)
    for option in ("--out", "--new-kernel"):
        if option in words:
            assert (clone / words[words.index(option) + 1]).exists()
    shutil.rmtree(clone / "build" / "charts", ignore_errors=True)


# ---- Counting ----


def test_the_page_has_reports_of_one_launch_and_of_several():
    assert [LEFT_OUT in report for report in REPORTS.values()] == [False, True]


@needs_runner
@pytest.mark.long  # they count large products
@pytest.mark.parametrize("command", REPORTS)
def test_a_command_prints_what_the_page_says(command, tmp_path):
    found = printed(tmp_path, shlex.split(command))
    at = 0
    for part in REPORTS[command].split(LEFT_OUT):
        at = found.index(part, at) + len(part)


# ---- Teaching ----


def solution(exercise: str) -> str:
    """The file that the exercise names, or for an exercise on a mistake the file with this mistake."""
    if exercise == "1c":
        return re.sub(r".*__syncthreads\(\);  // nobody.*\n", "", (SOLUTIONS / "tiles.cu").read_text(encoding="utf-8"))
    if exercise == "2a":
        return (SOLUTIONS / "transposed.cu").read_text(encoding="utf-8").replace("[32 + 1]", "[32]")
    linked = re.search(r"^Solution: \[.*?\]\(\.\./(.*?)\)", EXERCISES[exercise], re.MULTILINE)
    return (ROOT / linked[1]).read_text(encoding="utf-8") if linked else ""


@needs_runner
@pytest.mark.parametrize("exercise", EXERCISES)
def test_an_exercise_prints_what_its_page_says(exercise, tmp_path):
    (tmp_path / "my.cu").write_text(solution(exercise), encoding="utf-8")
    commands, expected = re.search(r"```sh\n(.*?)```\n+```text\n(.*?)```", EXERCISES[exercise], re.DOTALL).groups()
    found = ""
    for command in commands.splitlines():
        program, *arguments = shlex.split(command)
        assert program == "./runner"
        found += printed(tmp_path, arguments)
    for line in expected.splitlines():
        assert in_one_form(line) in in_one_form(found)


def test_each_solution_belongs_to_an_exercise():
    assert {path.name for path in SOLUTIONS.iterdir()} == set(re.findall(r"exercises/(\w+\.cu)\)", TEACHING))
    assert len(EXERCISES) >= 6


# ---- Worklog ----


def fences(step: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", STEPS[step], re.MULTILINE | re.DOTALL)


@needs_runner
@pytest.mark.parametrize("step", STEPS)
def test_a_step_prints_what_its_page_says(step, tmp_path):
    (tmp_path / "my.cu").write_text(fences(step, "cuda")[0], encoding="utf-8")
    ragged = run_runner(tmp_path, *shlex.split("--kernel my.cu --device cpu --check --sizes 70x130x101"))
    assert [case["outcome"] for case in ragged.cases] == ["executed"], ragged.stdout + ragged.stderr
    program, *arguments = shlex.split(fences(step, "sh")[0])
    assert program == "build/runner"
    assert in_one_form(fences(step, "text")[-1].strip()) in in_one_form(printed(tmp_path, arguments))


def test_steps_have_one_form():
    assert list(STEPS) == [str(number) for number in range(1, 9)]
    for step, text in STEPS.items():
        words = re.sub(r"^```.*?^```|<!--.*?-->", "", text, flags=re.MULTILINE | re.DOTALL).split()
        assert len(words) <= 400
        assert max(map(len, fences(step, "cuda")[0].splitlines())) <= 92
        assert "**Prediction:**" in text
        assert "All evidence: [chapter" in text


def test_bars_are_as_long_as_their_numbers():
    bars = re.findall(r"\| ([▏▎▍▌▋▊▉█]+) <!--= of_cublas\.\S+ -->([\d.]+) %<!--/--> \|", WORKLOG)
    assert len(bars) == 23
    for bar, percent in bars:
        assert sum(BLOCKS.index(block) + 1 for block in bar) == round(float(percent) * 24 / 100)
