"""tools/tiles/tiles.html: its model of the L2 gives the numbers of the executor's, and the page shows them."""

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


def run_at(page, **choices: str) -> list[list[str]]:
    """Runs the orders to their end and returns the table: for each order its cells."""
    for name, value in choices.items():
        page.select_option(f"#{name}", value)
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
    before = page.evaluate("document.getElementById('bytes').toDataURL()")
    rows = run_at(page, m="2048", n="1024", k="1024", gpu="t4", tile="128x128", group="4")
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
    assert grid.evaluate(painted) == 0
    run_at(opened.page, m="2048", n="1024", k="1024", gpu="t4", tile="128x128", group="4")
    assert grid.evaluate(painted) > 100


def test_a_run_pauses_and_begins_anew(page_file, open_page):
    page = open_page(page_file).page
    page.select_option("#seconds", "30")
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
    rows = run_at(page, m="2048", n="2048", k="2048", gpu="t4", tile="64x64")
    assert "One in 4 sets" in page.inner_text("#status")
    whole = page.evaluate(
        """() => { const replay = new Replay(chosenLaunch(), GPUS.find(({ id }) => id === "t4"), rowMajorTile);
                   while (!replay.finished) replay.advance(); return replay.traffic(); }"""
    )
    hits = 100 * whole["readHits"] / whole["readSectors"]
    assert float(rows[0][2].removesuffix(" %")) == pytest.approx(hits, abs=0.5)


def test_gpus_are_those_of_the_executor(page_file, open_page):
    page = open_page(page_file).page
    models = (ROOT / "simt" / "count" / "gpu_models.cpp").read_text(encoding="utf-8")
    assert page.evaluate("GPUS.length") == models.count('model("')
    h200 = {"id": "h200", "name": "NVIDIA H200", "sms": 132, "l2Bytes": 60 << 20, "partitions": 2}
    assert page.evaluate("GPUS[0]") == h200
