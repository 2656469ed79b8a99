"""The report on a counted case, as the pages have it from results files."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import pages
import tables
from conftest import ROOT, SYNTHETIC
from count_report import bytes_text, count_report, short_number
from results import ResultsError, load, one


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.0156, "0.02"), (8193, "8193"), (9999, "9999"), (10_000, "10.0 k"), (9.997, "10.0"), (20.51, "20.5"),
     (99.97, "100"), (999.7, "1.00 k"), (999_700, "1.00 M"), (17_104_896, "17.1 M"), (137_455_730_688, "137 G"),
     (5e18, "5000 P")],
)  # fmt: skip
def test_numbers_are_written_as_the_runner_does(value, text):
    assert short_number(value) == text
    assert bytes_text(value) == (f"{text}B" if " " in text else f"{text} B")


def test_the_lines_may_be_left_out():
    cases = load([ROOT / "results" / "cpu-executor" / "counts_2048_whole.json"])
    row = one(cases, "counted", kernel="12_fp16x3")
    full, short = (count_report(row, with_lines).splitlines() for with_lines in (True, False))
    assert "  split_product.cuh" in full
    assert short.count("  ...") == 2
    assert [line for line in short if line != "  ..."] == [line for line in full if line in short]
    assert not [line for line in short if ".cu" in line]


def test_a_kernel_that_the_file_does_not_hold_is_named():
    folders = SimpleNamespace(counted=SYNTHETIC)
    with pytest.raises(ResultsError, match=r"counts_4096\.json holds no count of 99_none; it has 01_naive, "):
        tables.Blocks(folders, pages.ROOT / "README.md").count_report("99_none", "counts_4096.json")
