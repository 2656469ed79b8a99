"""The tables of programs with and without the drop-in."""

from __future__ import annotations

import json

import pytest

from conftest import write_runs
from tools import programs
from tools.docs import tables
from tools.results import NotMeasured, ResultsError


def call(by, ms, why, calls=2):
    return {"by": by, "total_ms": ms, "calls": calls, "why": why}


def run(mode, result, calls=()):
    return {"mode": mode, "status": 0, "result": result, "calls": list(calls)}


def gpt(milliseconds, loss=2.0):
    return {
        "step_ms": [900.0, milliseconds, milliseconds, milliseconds],
        "loss": [9.0, loss],
        "device_used_bytes": 24e9,
    }


@pytest.fixture
def folder(tmp_path):
    vit = {"batch_ms": [4.0], "error": 1e-6}
    cupy = {"sizes": {"8192": {"ms": 20.0, "error": 2e-6}}}
    solver = {"gram": {"largest_relative_error": 0.5, "negative_eigenvalues": 3}, "newton": {"residuals": [0.5, 1e-5]}}
    files = {
        "gpt.json": [
            run("cublas", gpt(400.0)),
            run("normwise", gpt(160.0, 2.5), [call("12_fp16x3", 9.0, "fast", 5), call("cublas", 1.0, "small")]),
            run("normwise", gpt(100.0, 2.5)),
            run("normwise", gpt(200.0, 2.5)),
            {"mode": "componentwise", "status": 1, "result": None, "calls": []},
        ],
        "vit.json": [run("cublas", vit)],
        "cupy.json": [run("cublas", cupy)],
        "solver.json": [run("tf32", solver)],
        "check.json": [
            run("cublas", {"errors": {"mm": {"relative": 1e-6}, "bmm": {"relative": 2e-6}}}),
            run("fp32", {"errors": {"mm": {"relative": 1e-7}, "bmm": {"relative": 2e-7}}}),
        ],
    }
    for name, runs in files.items():
        (tmp_path / name).write_text(json.dumps({"example": name, "runs": runs}))
    return tmp_path


def test_the_gain_of_a_mode_is_a_ratio_of_times_in_the_training_whose_losses_are_shown(folder):
    (folder / "gpt.json").rename(folder / "curves.json")
    assert programs.gain(folder, "normwise") == pytest.approx(2.5)
    with pytest.raises(ResultsError, match=r"curves\.json has no run of tf32 beside cublas"):
        programs.gain(folder, "tf32")


def test_times_are_medians_beside_cublas(folder):
    rows = {row[0]: row[1:] for row in programs.program_rows(folder)}
    # Of three runs the median, and the first quarter of a run's steps does not count.
    step = rows["GPT: a step of the training"]
    assert step == ["400.0 ms", "", "", "", "160.0 ms (2.50 times as fast)", ""]
    assert rows["GPT: loss of the last step"] == ["2.000", "", "", "", "2.500", ""]
    assert rows["Gram matrix: negative eigenvalues"] == ["", "3", "", "", "", ""]
    assert rows["Newton's iteration: residual"] == ["", "1.0e-5", "", "", "", ""]


def test_errors_by_call(folder):
    assert programs.error_rows(folder) == [
        ["mm", "1.0e-6", "", "1.0e-7", "", "", ""],
        ["bmm", "2.0e-6", "", "2.0e-7", "", "", ""],
    ]


def test_tables_have_columns_for_the_modes_that_ran(folder):
    page = tables.table_by_mode("call", programs.error_rows(folder))
    assert page.splitlines() == [
        "| call | cuBLAS | `fp32` |",
        "| --- | ---: | ---: |",
        "| mm | 1.0e-6 | 1.0e-7 |",
        "| bmm | 2.0e-6 | 2.0e-7 |",
    ]


def test_distance_of_losses_from_those_of_cublas(tmp_path):
    def write(name, *runs):
        write_runs(tmp_path / name, *((mode, {"seed": seed, "loss": losses}) for mode, seed, losses in runs))

    with pytest.raises(NotMeasured, match="no losses of a training with cuBLAS"):
        programs.curve_rows(tmp_path)
    write("curves.json", ("normwise", 1, [9.0, 5.5, 2.0]), ("cublas", 1, [9.0, 5.0, 2.0]))
    write("curves_seed_2.json", ("cublas", 2, [9.5, 4.0]))  # one that was cut
    assert programs.curve_rows(tmp_path) == [
        ["`normwise`", "1", "3", "2.0000", "5.0e-1", "1.7e-1"],
        ["cuBLAS", "1", "3", "2.0000", "", ""],
        ["cuBLAS", "2", "2", "4.0000", "1.0e0", "7.5e-1"],
    ]
    write("curves.json", ("cublas", 1, [5.0] * 101), ("normwise", 1, [9.0] + [5.5] * 100))
    assert programs.curve_rows(tmp_path)[1][-2:] == ["4.0e0", "5.0e-1"], "the average is that of the last steps"


def test_who_computed_the_calls(folder):
    assert list(programs.takers(folder, {"gpt.json": "GPT"})) == [
        programs.Taker("GPT", "normwise", "12_fp16x3", 5, 0.9, "fast"),
        programs.Taker("GPT", "normwise", "cublas", 2, 0.1, "small"),
    ]


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(NotMeasured, match=r"there is no gpt\.json"):
        programs.program_rows(tmp_path)
    (tmp_path / "gpt.json").write_text("[]")
    with pytest.raises(ResultsError, match=r"gpt\.json was not written by examples/measure\.py"):
        programs.program_rows(tmp_path)
