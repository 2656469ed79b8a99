"""tools/tiles/tiles.html: its calculator and its orders of tiles have the numbers of the source documents."""

import itertools
import sys
from pathlib import Path

import pytest

from helpers import ran
from opened import WIDTHS


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("viewers")
    ran(sys.executable, "-m", "tools.viewers", folder, status=0)
    return folder / "tiles.html"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_holds_up(page_file, open_page, width, dark):
    opened = open_page(page_file, width=width, dark=dark)
    assert opened.too_wide() == opened.axe_violations() == []


def reads(page, **choices: int) -> dict[str, list[str]]:
    """For each order its cells of the table."""
    for name, value in choices.items():
        page.fill(f"#{name}", str(value))
    rows = page.eval_on_selector_all("#reads tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))")
    return {name: cells for name, *cells in rows}


def test_sixty_four_tiles_read_what_the_document_says(page_file, open_page):
    """16512 numbers for each k in one row of tiles, and 3072 in a square of 8 x 8; and along the curve as many."""
    page = open_page(page_file).page
    grid = {"m": 2048, "n": 16384, "tileM": 128, "tileN": 256, "blocks": 64, "share": 0}
    shown = reads(page, **grid)
    assert shown["row-major"] == ["1", "64", "16512", "5.38 times"]
    assert shown["grouped"] == ["8", "8", "3072", "1.00 times"]
    assert int(shown["Hilbert curve"][2]) < 4096
    assert page.get_attribute("#grid-rows", "aria-label") == "row-major: 64 tiles at one time, after 0"
    for field, value in (("m", ""), ("blocks", "1.5"), ("tileN", "1")):
        right = page.input_value(f"#{field}")
        assert reads(page, **{field: value}) == shown, "the last right ones stay"
        assert page.inner_text("#status") != ""
        page.fill(f"#{field}", right)
    assert page.inner_text("#status") == ""


@pytest.mark.parametrize(("rows", "cols"), [(8, 8), (7, 12), (1, 5), (33, 2)])
def test_orders_take_each_tile_once_and_the_curve_goes_to_neighbours(page_file, open_page, rows, cols):
    page = open_page(page_file).page
    walk = "([tiles, r, c]) => eval(tiles)(r, c).map(t => [t.row, t.col])"
    every = {(row, col) for row in range(rows) for col in range(cols)}
    for order in ("rowMajorTiles", "hilbertTiles", "(r, c) => groupedTiles(r, c, 3)"):
        taken = [tuple(tile) for tile in page.evaluate(walk, [order, rows, cols])]
        assert set(taken) == every and len(taken) == len(every), order
        if order == "hilbertTiles":
            assert all(max(abs(a - c), abs(b - d)) == 1 for (a, b), (c, d) in itertools.pairwise(taken))


# ---- The calculator ----


def facts(page) -> dict[str, str]:
    cells = "cells => Object.fromEntries(cells.map(cell => [cell.dataset.fact, cell.innerText]))"
    shown = page.eval_on_selector_all("#facts [data-fact]", cells)
    assert all(shown.values()), "no cell is empty"
    return shown


# What the document says of its kernels, and what follows from its listings.
FIGURE = {"blocks": "16", "threads": "9", "steps": "4", "usesOfA": "3", "usesOfB": "3", "copiers": "9"}
DOCUMENT = {
    "strips, 3 x 1 and 1 x 3 (chapter 03)": {"steps": "12", "multiplyAdds": "1", "copiers": "5", "usesOfA": "3"},
    "rectangular tiles of A, B and C": {"threads": "8", "steps": "6", "copiers": "8", "sharedBytes": "48"},
    "a row of C for each thread (chapter 04)": {
        "threads": "64", "copiers": "64", "usesOfA": "16", "usesOfB": "64", "sharedBytes": "256", "registers": "20",
    },
    "8 x 8 for each thread (chapter 06)": {
        "threads": "256", "sharedBytes": "16,384", "sharedReads": "0.25", "timesFewer": "128",
    },
}  # fmt: skip


def test_the_calculator_has_the_documents_numbers(page_file, open_page):
    page = open_page(page_file).page
    shown = facts(page)
    assert {name: shown[name] for name in FIGURE} == FIGURE
    caption = "Block (1, 2) computes C[3:6,6:9] = A[3:6, :] × B[:, 6:9] in 4 steps."
    assert page.inner_text("#computes") == page.get_attribute("#block", "aria-label") == caption
    for example, expected in DOCUMENT.items():
        page.select_option("[name=example]", example)
        shown = facts(page)
        assert {name: shown[name] for name in expected} == expected
    page.select_option("[name=example]", "a row of C for each thread (chapter 04)")
    page.fill("[name=strips]", "1")
    assert facts(page)["copiers"] == "16", "one fourth of the threads"


WRONG_CHOICES = {
    ("rows", ""): "Rows of a tile of C has to be a whole number from 1 to 65536.",
    ("k", "0.5"): "K has to be a whole number from 1 to 65536.",
    ("bandwidth", "0"): "Memory, TB/s has to be a number above 0.",
    ("threadRows", "2"): "The 3 rows of a tile of C can not be shared out in parts of 2.",
    ("rows", "3000"): "A block would have 9000 threads, and it can have 1024.",
    ("strips", "65536"): "A block would need 1572864 bytes of shared memory, and it can have 232448.",
}


def test_a_wrong_choice_is_named_and_the_last_right_one_stays(page_file, open_page):
    page = open_page(page_file).page
    before = facts(page)
    said = {}
    for name, value in WRONG_CHOICES:
        right = page.input_value(f"[name={name}]")
        page.fill(f"[name={name}]", value)
        said[name, value] = page.inner_text("#problem")
        assert facts(page) == before
        page.fill(f"[name={name}]", right)
        assert page.inner_text("#problem") == ""
    assert said == WRONG_CHOICES
