"""The tables of programs with and without the drop-in."""

import pytest

from helpers import write_runs
from tools import programs
from tools.results import ResultsError


def test_the_gain_of_a_mode_is_a_ratio_of_times_in_the_training_whose_losses_are_shown(tmp_path):
    steps = [("cublas", 400.0), ("normwise", 160.0), ("normwise", 100.0), ("normwise", 200.0)]
    of_modes = [(mode, {"step_ms": [900.0, *[milliseconds] * 3]}) for mode, milliseconds in steps]
    write_runs(tmp_path / "curves.json", *of_modes, ("componentwise", None))
    assert programs.gain(tmp_path, "normwise") == pytest.approx(2.5)
    with pytest.raises(ResultsError, match=r"curves\.json has no run of tf32 beside cublas"):
        programs.gain(tmp_path, "tf32")


def test_distance_of_losses_from_those_of_cublas(tmp_path):
    def write(name, *runs):
        write_runs(tmp_path / name, *((mode, {"seed": seed, "loss": losses}) for mode, seed, losses in runs))

    write("curves.json", ("normwise", 1, [9.0, 5.5, 2.0]), ("cublas", 1, [9.0, 5.0, 2.0]))
    write("curves_seed_2.json", ("cublas", 2, [9.5, 4.0]))  # one that was cut
    assert programs.curve_rows(tmp_path) == [
        ["`normwise`", "1", "3", "2.0000", "5.0e-1", "1.7e-1"],
        ["cuBLAS", "1", "3", "2.0000", "", ""],
        ["cuBLAS", "2", "2", "4.0000", "1.0e0", "7.5e-1"],
    ]
    write("curves.json", ("cublas", 1, [5.0] * 101), ("normwise", 1, [9.0] + [5.5] * 100))
    assert programs.curve_rows(tmp_path)[1][-2:] == ["4.0e0", "5.0e-1"], "the average is that of the last steps"


def test_other_files_are_refused(tmp_path):
    (tmp_path / "gpt.json").write_text("[]")
    with pytest.raises(ResultsError, match=r"gpt\.json was not written by examples/measure\.py"):
        programs.program_rows(tmp_path)
