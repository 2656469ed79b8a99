"""Files as people write them (tests/strangers/cases.py), on the executor, and first tries on the command line."""

from __future__ import annotations

import re
import shlex
import sys

import pytest

from runs import ROOT, RUNNER, ran, run_runner
from tools import testing

sys.path.insert(0, str(ROOT / "tests" / "strangers"))
from cases import CASES


@pytest.mark.parametrize("name", testing.sample(list(CASES), 45))
def test_a_stranger_gets_the_right_outcome(name, tmp_path):
    case = CASES[name]
    (tmp_path / "file.cu").write_text(case.text, encoding="utf-8", errors="surrogateescape")
    where = ["--device", "cpu", "--sizes", case.sizes]
    done = run_runner(tmp_path, "--kernel", case.kernel, *where, *case.arguments)
    printed = done.stdout + done.stderr
    if case.outcome in ("status 2", "asks"):
        assert done.status == 2, printed
        assert not done.path.exists()
        assert done.stderr.splitlines()[-1].startswith("runner: ")
        text = printed
    else:
        assert {record["outcome"] for record in done.cases} == {case.outcome}, printed
        assert done.status == {"executed": 0, "not_supported": 3}.get(case.outcome, 1), printed
        text = printed + "".join(record["reason"] for record in done.cases)
        launches = {record["launch"] for record in done.cases}
        assert not case.launch or launches == {case.launch}, launches
        assert all(record["launch"] for record in done.cases)
        assert (
            f"{case.kernel}: {done.cases[0]['launch']}" in re.sub(r"\s+", " ", printed) or "it is right" in printed
        ), printed
    for part in case.says:
        assert part in re.sub(r"\s+", " ", text) or part in text, printed
    if case.outcome == "asks":
        lines = [line.strip() for line in printed.splitlines() if "--launch" in line]
        assert lines
        outcomes = set()
        for line in lines:
            words = shlex.split(line)  # what is pasted is run
            assert words[0] == str(RUNNER)
            again = ran(*words, cwd=tmp_path)
            outcomes.add(again.returncode)
            assert again.returncode in (0, 1), again.stderr
        assert 0 in outcomes  # one of them is what its author means


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["my.cu", "--check"], "--kernel my.cu"),
        (["--kernel", "my", "--device", "cpu", "--sizes", "64"], "--kernel my.cu"),
        (["--kernel", "my.cu", "--check", "--include", "a", "--include", "b"], "--include a,b: there is no folder 'a'"),
    ],
)
def test_a_first_try_is_told_the_flag(arguments, says, tmp_path):
    (tmp_path / "my.cu").write_text("// launch: f<<<1, 1>>>()\n__global__ void f() {}", encoding="utf-8")
    done = run_runner(tmp_path, *arguments)
    assert done.status == 2
    assert says in done.stderr, done.stderr
    assert not done.path.exists()
