"""tools/tiles/tiles.html: its calculator has the numbers of the first source document, its model of the L2 those of the
executor's, and the page shows them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opened import WIDTHS

ROOT = Path(__file__).resolve().parents[2]
# tests/cpu/tile_orders_test.cpp holds the executor's model to the same numbers.
CASES = json.loads((ROOT / "tests" / "fixtures" / "tile_orders.json").read_text(encoding="utf-8"))
REPLAYED = """async item => {
  const orders = { rows: rowMajorTile, hilbert: hilbertTile,
                   grouped: (index, rows, cols) => groupedTile(index, rows, cols, item.groupRows) };
  const replay = new Replay(item, GPUS.find(({ id }) => id === item.gpu), orders[item.order]);
  while (!replay.finished) replay.advance();
  return replay.traffic();
}"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("viewers")
    subprocess.run([sys.executable, "-m", "tools.viewers", folder], cwd=ROOT, check=True)
    return folder / "tiles.html"


def choose(page, selector: str, value: str) -> None:
    """In a list, or in a field as a reader does who goes on to the next one."""
    field = page.locator(selector)
    if field.evaluate("field => field.tagName") == "SELECT":
        field.select_option(value)
    else:
        field.fill(value)
        field.blur()


def run_at(page, **choices: str) -> list[list[str]]:
    """Runs the orders to their end and returns the table: for each order its cells."""
    for name, value in choices.items():
        choose(page, f"#{name.replace('_', '-')}", value)
    page.click("#reset")
    page.click("#run")
    page.wait_for_function("document.getElementById('status').textContent.startsWith('All tiles are done')")
    return page.eval_on_selector_all("#traffic tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_holds_up(page_file, open_page, width, dark):
    opened = open_page(page_file, width=width, dark=dark)
    run_at(opened.page, m="1024", n="1024", k="1024")
    assert opened.errors == opened.too_wide() == opened.axe_violations() == []


def test_the_model_is_the_executors(page_file, open_page):
    page = open_page(page_file).page
    assert [page.evaluate(REPLAYED, item) for item in CASES] == [item["traffic"] for item in CASES]


def test_a_run_fills_table_and_charts(page_file, open_page):
    page = open_page(page_file).page
    page.click("#reset")
    before = page.evaluate("document.getElementById('bytes').toDataURL()")
    rows = run_at(page, m="2048", n="1024", k="1024", gpu="t4", tile_m="128", tile_n="128", group="4")
    assert [row[0] for row in rows] == ["row-major", "Hilbert curve", "grouped"]
    assert all(row[2].endswith(" %") and row[3].endswith(" MB") for row in rows)
    assert "100.0 %" in [row[-1] for row in rows]
    assert page.evaluate("document.getElementById('bytes').toDataURL()") != before
    assert page.get_attribute("#grid-rows", "aria-label") == "row-major: 128 of 128 tiles begun"
    assert page.inner_text("#run") == "Run again"


def test_no_tile_is_done_before_the_run(page_file, open_page):
    opened = open_page(page_file)
    painted = """canvas => { const [red, green, blue] = getComputedStyle(document.documentElement)
        .getPropertyValue("--done").match(/\\w\\w/g).map(part => parseInt(part, 16));
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let found = 0;
        for (let i = 0; i < data.length; i += 4) {
          found += data[i] === red && data[i + 1] === green && data[i + 2] === blue;
        }
        return found; }"""
    grid = opened.page.locator("#grid-hilbert")
    opened.page.click("#reset")
    assert grid.evaluate(painted) == 0
    run_at(opened.page, m="2048", n="1024", k="1024", gpu="t4", tile_m="128", tile_n="128", group="4")
    assert grid.evaluate(painted) > 100


def test_a_run_pauses_and_begins_anew(page_file, open_page):
    page = open_page(page_file).page
    page.select_option("#seconds", "30")
    page.click("#reset")
    page.click("#run")
    # The page itself clicks again, in the frame in which the run has begun.
    page.wait_for_function("document.getElementById('progress').value > 0 && !document.getElementById('run').click()")
    paused = page.evaluate("document.getElementById('progress').value")
    assert 0 < paused < 1
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.evaluate("document.getElementById('progress').value") == paused
    page.select_option("#gpu", "a100")
    assert page.evaluate("document.getElementById('progress').value") == 0


def test_sampled_sets_stand_for_all(page_file, open_page):
    """At 2048 with small tiles the page follows some of the sets alone."""
    page = open_page(page_file).page
    rows = run_at(page, m="2048", n="2048", k="2048", gpu="t4", tile_m="64", tile_n="64")
    assert "One in 4 sets" in page.inner_text("#status")
    whole = page.evaluate(
        """() => { const replay = new Replay(chosenLaunch(), GPUS.find(({ id }) => id === "t4"), rowMajorTile);
                   while (!replay.finished) replay.advance(); return replay.traffic(); }"""
    )
    hits = 100 * whole["readHits"] / whole["readSectors"]
    assert float(rows[0][2].removesuffix(" %")) == pytest.approx(hits, abs=0.5)


WRONG_LAUNCHES = {
    ("#m", "1000"): "M has to be a multiple of 128, up to 65536, and a tile's sides multiples of 32.",
    ("#tile-n", "0"): "N has to be a multiple of 0, up to 65536, and a tile's sides multiples of 32.",
    ("#k", ""): "K has to be a multiple of 32, up to 65536, and a tile's sides multiples of 32.",
    ("#blocks", "1.5"): "An SM has 1 to 32 blocks, and a group a row of tiles or more.",
}


def test_the_page_opens_with_a_run_and_names_a_wrong_launch(page_file, open_page):
    opened = open_page(page_file)
    page = opened.page
    page.wait_for_function("document.getElementById('status').textContent.startsWith('All tiles are done')")
    said = {}
    for field, value in WRONG_LAUNCHES:
        right = page.input_value(field)
        choose(page, field, value)
        said[field, value] = page.inner_text("#status")
        choose(page, field, right)
        assert page.inner_text("#status").startswith("64 x 32 tiles; 132 blocks at one time.")
    assert said == WRONG_LAUNCHES
    assert opened.errors == []


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
    opened = open_page(page_file)
    page = opened.page
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
    assert opened.errors == []


def test_gpus_are_those_of_the_executor(page_file, open_page):
    page = open_page(page_file).page
    models = (ROOT / "simt" / "count" / "gpu_models.cpp").read_text(encoding="utf-8")
    assert page.evaluate("GPUS.length") == models.count('model("')
    h200 = {"id": "h200", "name": "NVIDIA H200", "sms": 132, "l2Bytes": 60 << 20, "partitions": 2}
    assert page.evaluate("GPUS[0]") == h200
