"""Products on several ranks, from outside: ranks are threads on the executor."""

from __future__ import annotations

import re

import pytest

from runs import MISBEHAVING, Run, needs_runner, run_runner, run_with_time_limit, spread
from tools import testing

pytestmark = needs_runner


@pytest.fixture
def run(tmp_path):
    def run(*arguments: str, kernel: str = "many_gpus"):
        return run_runner(tmp_path, "--device", "cpu", "--kernel", kernel, *arguments)

    return run


@pytest.mark.parametrize("grid", testing.sample(["1x1", "1x2", "2x2", "1x3", "2x3"], 2))
def test_every_grid_is_right_and_receives_what_the_page_says(run, grid):
    done = run("--grid", grid, "--sizes", "96,250x130x77", kernel="many_gpus,many_gpus:int8x6")
    assert done.status == 0, done.stderr
    assert [case["verified"] for case in done.cases] == [True] * 4
    spreads = [case["spread"] for case in done.cases if case["m"] == 96]
    assert spreads == 2 * [spread(96, 96, 96, grid, "host copies")]


def test_every_variant_is_right(run):
    done = run("--gpus", "2", "--sizes", "96x64x80", kernel="many_gpus:*")
    assert done.status == 0, done.stderr
    assert len(done.outcomes) == 5
    assert set(done.outcomes.values()) == {"executed"}


@pytest.mark.long
def test_int8_holds_its_bound_on_all_kinds_of_operands(run):
    done = run("--accuracy", "--grid", "2x3", "--sizes", "96x70x150", kernel="many_gpus:int8x6")
    assert done.status == 0, done.stdout
    assert len(done.cases) == 12
    assert all(case["verified"] for case in done.cases)
    assert {case["accuracy_class"] for case in done.cases} == {"int8_split"}


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        ("throwing_ranks", "rank [0-3]: out of order"),
        ("hanging_ranks", "rank [0-3]: no reply within {} s, which --timeout changes"),
        ("leaving_ranks", r"called exit\(5\)"),
        ("crashing_ranks", r"crashed: Segmentation fault \(signal 11\)"),
    ],
)
def test_a_rank_that_goes_wrong_costs_its_case_alone(tmp_path, kernel, reason):
    def run(*limit: str) -> Run:
        arguments = ("--device", "cpu", *limit, "--kernel", f"{kernel},many_gpus", "--sizes", "40")
        return run_runner(tmp_path, *arguments, runner=MISBEHAVING)

    if kernel == "hanging_ranks":
        done, seconds = run_with_time_limit(lambda s: run("--timeout", s), lambda case: case["kernel"] == kernel)
        reason = reason.format(seconds)
    else:
        done = run()
    assert done.status == 1
    assert [case["outcome"] for case in done.cases] == ["failed", "executed"]
    assert re.fullmatch(reason, done.cases[0]["reason"])
    assert done.results["interrupted"] is False


def test_checking_names_the_kernel_to_check(run):
    done = run("--check", "--sizes", "64")
    assert done.status == 3
    assert "take 09_every_shape" in done.cases[0]["reason"]
