"""Numbers in prose: the markers that are filled in. What sources and results tell stands in fixtures/*_page.txt."""

import shutil

import pytest

from helpers import SYNTHETIC, refused
from tools.docs import pages, tables
from tools.docs import values as values_module
from tools.docs.values import Values


def written(name: str, values: Values) -> str:
    result = pages.fill(f"It is <!--= {name} -->?<!--/--> there.", values.written)
    assert result.problems == []
    return result.text.partition("-->")[2].partition("<!--/-->")[0]


def test_files_of_a_device_may_be_measured_later(tmp_path):
    shutil.copy(SYNTHETIC / "cold.json", tmp_path / "cold.json")
    values = Values(tables.Folders(tmp_path, SYNTHETIC))
    later = ("joules.5.4096", "sustained.5.4096.first", "derived.agreement.worst as .2%", "tflops.5.4096@warm")
    for name in later:
        assert written(name, values) == "not measured"
    shutil.copytree(tmp_path, tmp_path / "other_board")
    shutil.copy(SYNTHETIC / "cold.json", tmp_path / "shapes.json")
    assert written("derived.agreement.worst as .2%", values) == "0.00 %"
    assert written("tflops.5.4096@other_board/cold", values) == written("tflops.5.4096", values)


def test_what_has_a_page_and_no_results_is_not_measured(monkeypatch):
    values = Values(tables.Folders(SYNTHETIC, SYNTHETIC))
    monkeypatch.setattr(pages, "has_page", lambda kernel: kernel in (99, "99_new"))
    assert written("tflops.99.4096", values) == values_module.NOT_MEASURED
    assert written("of_cublas.99_new.4096 as times", values) == values_module.NOT_MEASURED


@pytest.mark.parametrize("name", values_module.DERIVED)
def test_every_derived_number_is_on_a_page_or_in_a_drawing(name):
    texts = [path.read_text(encoding="utf-8") for path in (*pages.all_pages(), *pages.all_drawings())]
    assert any(f"<!--= derived.{name} as " in text for text in texts)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a <!--= tflops.99_none.4096 -->1<!--/-->", "cold.json has no tflops.99_none.4096; it has "),
        ("a <!--= tflops.99.4096 -->1<!--/-->", "cold.json has no tflops.99.4096; it has tflops."),
        ("a <!--= tflops.5.4096@hot -->1<!--/-->", "there is no hot.json"),
        ("a <!--= counter.7.dram_bites -->1<!--/-->", "no counter.7.dram_bites; it has counter.7.dram_bytes"),
        ("a <!--= counted.1.requests -->1<!--/-->", "counts_4096.json has no counted.1.requests; it has "),
        ("a <!--= constant.BM@absent.cu -->1<!--/-->", "there is no file absent.cu"),
        ("a <!--= constant.XY@kernels/05_coarse_1d.cu -->1<!--/-->", "defines no number XY"),
        ("a <!--= tflops.5.4096 times -->1<!--/-->", "it is neither NAME nor NAME / NAME"),
        ("a <!--= derived.nothing -->228<!--/-->", "there is no derived.nothing; there are schedulers, "),
        ("a <!--= tflops.6.4096 / tflops.5.4096 -->1<!--/-->", "a ratio needs a form"),
        ("a <!--= tflops.6.4096 as whole -->1<!--/-->", "whole is no form; times, .2f, "),
        ("a <!--= tflops.5.4096 -->1", "a marker without its end"),
        ("a <!--= tflops.5.4096 1<!--/-->", "a marker without its end"),
        ("a <!--= tflops.5.4096 -->1 <!--= tflops.6.4096 -->1<!--/-->", "a marker without its end"),
        ("a 1<!--/-->", "an end without a marker"),
        ("<!--= tflops.5.4096 -->1<!--/--> is fast", "a line can not begin with a marker"),
        ("- <!--= tflops.5.4096 -->1<!--/--> is fast", "a line can not begin with a marker"),
    ],
)
def test_markers_that_can_not_be_filled_in(tmp_path, capsys, line, message):
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{line}\n", encoding="utf-8")
    error, *_ = refused(capsys, tables.main, page, "--results", SYNTHETIC, "--counts", SYNTHETIC).splitlines()
    assert f"{page}:3: " in error
    assert message in error
    assert page.read_text(encoding="utf-8") == f"# Title\n\n{line}\n"


def test_every_problem_of_a_page_is_told(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("a <!--= tflops.99.1 -->1<!--/-->\n\nb <!--= odd -->1<!--/-->\n", encoding="utf-8")
    errors = refused(capsys, tables.main, page, "--results", SYNTHETIC)
    assert f"{page}:1: " in errors
    assert f"{page}:3: " in errors
