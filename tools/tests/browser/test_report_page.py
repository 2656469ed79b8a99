"""The report in a browser: what scripts/report.py writes opens, draws, and answers. ../scripts/test_report.py holds
its figures to those of the files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import case, edit, every
from opened import WIDTHS, Opened
from synthetic import H200, SYNTHETIC
from tools import ROOT
from tools.plots import specs
from tools.report import report

OTHERS = ("nvidia-h200-x2/two-gpus", "cpu-executor/counts_4096", "cpu-executor/other_kernels/salykova")
OTHERS += tuple(f"nvidia-h200/{name}" for name in ("other_kernels/salykova", "accuracy", "counters", "kernels"))
HOSTILE = "</script><img src=x onerror=alert(1)>.cu"
COLD = [H200 / f"{name}.json" for name in ("cold", "shapes", "shapes_tensor", "other_board/cold")]  # of two boards
VIEWS = ("relative", "absolute", "error")


@pytest.fixture(scope="session")
def write(tmp_path_factory) -> Callable[..., Path]:
    """write(FILE...) makes a report once for the same files."""
    made: dict[tuple, Path] = {}

    def write(*files: Path) -> Path:
        if files not in made:
            made[files] = tmp_path_factory.mktemp("report") / "report.html"
            assert report.main([*map(str, files), "-o", str(made[files])]) == 0
        return made[files]

    return write


@pytest.fixture(scope="session")
def sweeps(write) -> Path:
    """Of sweeps under two protocols, two boards, and shapes of all kinds."""
    return write(*COLD, H200 / "warm.json")


def chart(opened: Opened, view: str, form: str | int = "over_size"):
    """The chart of a view, or of this number, once it is drawn, which is when it comes into sight."""
    number = {"over_size": 0, "by_shape": 1, "scatter": 0}.get(form, form)
    figure = opened.page.locator(f"#{view} figure").nth(number)
    figure.scroll_into_view_if_needed()
    place = figure.locator(".chart[data-rows]")
    place.locator("canvas").wait_for()
    return place


def rows_of(opened: Opened, view: str, form: str | int = "over_size") -> list[dict]:
    return chart(opened, view, form).evaluate("e => e.embedded.view.data('rows')")


def settled(opened: Opened) -> None:
    """Waits until the page has answered a change: two frames, and the charts in sight."""
    opened.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    opened.page.wait_for_function("() => !document.querySelector('[data-drawing]')")


def pixels(place) -> int:
    """How many pixels of a chart have any colour."""
    return place.locator("canvas").evaluate(
        "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 == 3 && v).length"
    )


@pytest.fixture
def opened(sweeps, open_page) -> Opened:
    """The report of the sweeps with its first chart."""
    page = open_page(sweeps)
    chart(page, "relative")
    return page


@pytest.mark.parametrize(("width", "dark"), [("phone", True), ("desktop", False)])
def test_it_opens_and_draws_every_view(sweeps, open_page, width, dark):
    opened = open_page(sweeps, width=width, dark=dark)
    for view in VIEWS:
        assert pixels(chart(opened, view, "scatter")) > 1000
    assert opened.too_wide() == opened.broken_links() == opened.axe_violations() == []
    assert opened.page.viewport_size["width"] == WIDTHS[width][0]


def test_a_reader_sees_one_protocol_and_five_kernels_first(opened):
    rows = rows_of(opened, "relative")
    assert {row["protocol"] for row in rows} == {0}
    assert {row["source"] for row in rows} == {"nvidia-h200/cold", "shapes", "shapes_tensor", "other_board/cold"}
    assert {row["name"] for row in rows} == {"01 naive", "05 coarse 1d", "10 tf32x3", "19 int8x5", "cuBLAS"}


def test_filters_change_what_is_shown(opened):
    page = opened.page

    def shown(form: str = "over_size") -> list[dict]:
        settled(opened)
        return rows_of(opened, "relative", form)

    page.get_by_label("Protocol").select_option(label="warm L2")
    assert {row["source"] for row in shown()} == {"warm"}
    page.get_by_label("Protocol").select_option(label="cold L2")
    page.get_by_label("other_board/cold", exact=True).uncheck()
    assert {row["source"] for row in shown()} == {"nvidia-h200/cold", "shapes", "shapes_tensor"}
    page.get_by_label("Size from").select_option("2048")
    assert min(row["side"] for row in shown()) == 2048
    kernels = page.locator("fieldset", has_text="Kernels and variants")
    kernels.get_by_role("button", name="None").click()
    kernels.get_by_label("06: vectorized").check()
    assert {row["name"] for row in shown()} == {"06: vectorized"}
    kernels.get_by_role("button", name="Default variants").click()
    page.get_by_label("Shape", exact=True).select_option("4096 x 128 x 4096")
    assert {row["problem"] for row in shown("by_shape")} == {"4096 x 128 x 4096"}
    assert page.locator("#relative figure").first.is_hidden()
    kernels.get_by_role("button", name="None").click()
    settled(opened)
    assert "leave no case" in page.locator("#relative").inner_text()


def test_the_button_turns_light_into_dark(opened):
    def seen() -> tuple[str, list[str]]:
        colors = "e => e.embedded.view.scale('color').range()"
        page = "() => getComputedStyle(document.body).backgroundColor"
        return opened.page.evaluate(page), chart(opened, "relative").evaluate(colors)

    light = seen()
    opened.page.get_by_role("button", name="Light or dark").click()
    settled(opened)
    dark = seen()
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert opened.axe_violations() == []


def test_the_axis_can_be_enlarged_near_cublas(opened):
    opened.page.locator("#relative").get_by_label("Axis").select_option("90 to 120 %")
    settled(opened)
    assert chart(opened, "relative").evaluate("e => e.embedded.view.scale('y').domain()") == [90, 120]


def test_pointing_at_a_point_tells_of_it_and_a_click_shows_its_samples(opened):
    opened.page.get_by_role("button", name="Default variants").click()
    opened.page.get_by_label("other_board/cold", exact=True).uncheck()  # its points lie on those of the first board
    settled(opened)
    place = chart(opened, "relative")
    x, y = place.evaluate("""e => { const view = e.embedded.view, at = view.origin(), pad = view.padding();
        const row = view.data("rows").find(r => r.name === "03 smem strip tiled" && r.side === 1024);
        const box = e.querySelector("canvas").getBoundingClientRect();
        const inside = [pad.left + at[0] + view.scale("x")(row.side), pad.top + at[1] + view.scale("y")(row.of)];
        return [box.x + inside[0], box.y + inside[1]]; }""")
    opened.page.mouse.move(x - 3, y)
    opened.page.mouse.move(x, y)
    tip = opened.page.locator("#vg-tooltip-element.visible")
    tip.wait_for()
    assert "03 smem strip tiled" in tip.inner_text()
    opened.page.mouse.click(x, y)
    panel = opened.page.locator("#samples")
    panel.locator(".chart[data-rows] canvas").wait_for()
    assert panel.locator("h2").inner_text() == "03 smem strip tiled, 1024"
    record = case(H200 / "cold.json", "03_smem_strip_tiled", 1024)
    drawn = panel.locator(".chart").evaluate("e => e.embedded.view.data('rows')")
    own = [row["us"] for row in drawn if row["name"] == "03 smem strip tiled"]
    assert own == pytest.approx(record["samples_us"], rel=1e-5)
    assert len(drawn) == len(own) + len(record["cublas_samples_us"])
    assert opened.axe_violations() == []
    opened.page.keyboard.press("Escape")
    panel.wait_for(state="hidden")


def test_the_table_behind_a_chart_can_be_copied_and_saved(opened):
    rows = rows_of(opened, "absolute")
    figure = opened.page.locator("#absolute figure").first
    figure.locator("summary", has_text="Table").click()
    figure.locator("tbody tr").first.wait_for()  # a fold tells that it is open a moment later
    assert figure.locator("tbody tr").count() == min(100, len(rows))
    figure.get_by_role("button", name="Copy").click()
    opened.page.get_by_text("Copied").wait_for()
    copied = opened.page.evaluate("() => navigator.clipboard.readText()").split("\n")
    assert len(copied) == 1 + len(rows)
    assert copied[0].startswith("kernel\tM × N × K\tfile\tTFLOP/s")
    with opened.page.expect_download() as download:
        figure.get_by_role("button", name="CSV").click()
    saved = Path(download.value.path()).read_text(encoding="utf-8").split("\n")
    assert saved[0].startswith("kernel,M × N × K,file,TFLOP/s")
    assert len(saved) == len(copied)
    figure.get_by_role("button", name="TFLOP/s").click()
    speeds = [float(text) for text in figure.locator("tbody tr td:nth-child(4)").all_inner_texts()]
    assert speeds == sorted(speeds)


def test_two_boards_are_compared_with_intervals(opened):
    chart(opened, "comparison")
    opened.page.locator("#comparison select").select_option(label="nvidia-h200/cold → other_board/cold")
    settled(opened)
    rows = rows_of(opened, "comparison")
    assert {row["source"] for row in rows} == {"other_board/cold"}
    assert all(row["ratio_low"] <= row["ratio"] <= row["ratio_high"] for row in rows)


def test_energy_is_drawn_where_it_was_measured(write, open_page):
    rows = rows_of(open_page(write(SYNTHETIC / "energy.json")), "energy")
    row = next(r for r in rows if r["kernel"] == "06_coarse_2d" and r["side"] == 4096)
    assert row["turn_throttled"] is True


def test_sustained_speed_is_drawn_over_time_and_apart_from_bursts(write, open_page):
    opened = open_page(write(H200 / "cold.json", SYNTHETIC / "sustained.json"))
    assert {row["outcome"] for row in rows_of(opened, "relative")} == {"measured"}
    section = opened.page.locator("#sustained")
    assert "No case of this protocol" in section.inner_text()
    section.get_by_role("button", name="sustained").click()
    opened.page.get_by_role("button", name="Default variants").click()
    settled(opened)
    assert section.locator("figure").count() == 4
    for index, field in enumerate(("tflops", "mhz", "watts", "celsius")):
        rows = rows_of(opened, "sustained", index)
        assert {(row["name"], row["turn"]) for row in rows if field in row} == {
            (name, turn) for name in ("07 warptile hilbert", "cuBLAS") for turn in specs.TURNS
        }
        assert pixels(chart(opened, "sustained", index)) > 1000
    cells = section.locator("tbody tr", has_text="07 warptile").first.locator("td").all_inner_texts()
    record = case(SYNTHETIC / "sustained.json", "07_warptile_hilbert", 8192)
    speed = record["sustained"]["kernel"]["gflops"] / 1e3
    assert [float(cell) for cell in cells[3:8]] == pytest.approx([speed, speed, speed, 50, 2 * speed], rel=1e-3)
    assert opened.page.get_by_label("Protocol").locator("option:checked").inner_text().endswith("sustained")
    assert "No case of this protocol" in opened.page.locator("#relative").inner_text()
    assert opened.axe_violations() == opened.too_wide() == []


def test_where_no_record_has_energy_the_page_says_what_measures_it(opened):
    assert "the runner's --energy does that" in opened.page.locator("#energy .empty").inner_text()


def test_what_is_no_sweep_has_a_view(write, open_page):
    files = (ROOT / "results" / f"{name}.json" for name in OTHERS)
    opened = open_page(write(*files), width="phone")
    opened.page.locator("#cases tbody tr").first.wait_for()
    titles = opened.page.locator("main h2").all_inner_texts()
    assert set(titles) >= {"Error by operands", "Files"}
    shown = rows_of(opened, "distribution", "scatter")
    assert len({row["name"] for row in shown}) == 5
    assert len(shown) == 50
    assert opened.too_wide() == opened.broken_links() == opened.axe_violations() == []


def test_without_cases_there_are_no_filters_and_tables_have_the_window(write, open_page, tmp_path):
    refused = {"file": "a.cu", "hash": "a", "verdict": "refused"}
    refused |= {"outcome": "incorrect", "reason": "wrong", "notes": []}
    document = {"verdicts_version": 2, "context": {"device": {"name": "GPU"}}, "sizes": "64", "secret": "0"}
    (tmp_path / "verdicts.json").write_text(json.dumps(document | {"verdicts": [refused]}), encoding="utf-8")
    opened = open_page(write(tmp_path / "verdicts.json"))
    assert opened.page.locator("#filters").count() == 0
    width = opened.page.locator("#views").evaluate("e => e.getBoundingClientRect().width / window.innerWidth")
    assert width > 0.9


def test_names_with_odd_characters_are_only_text(open_page, tmp_path, write):
    hostile = {"kernel": HOSTILE, "number": -1, "variant": "", "path": f"/tmp/{HOSTILE}", "detail": HOSTILE}
    changed = every(lambda record: record.update(hostile if record["kernel"] == "01_naive" else {}))
    path = edit(H200 / "cold.json", changed, new=tmp_path / '<b>odd\'s & "quoted".json')
    opened = open_page(write(path))
    opened.page.get_by_role("button", name="Default variants").click()
    settled(opened)
    rows = rows_of(opened, "relative")
    assert sum(row["case"].startswith(HOSTILE) for row in rows) == 6
    chart(opened, "absolute")
    opened.page.locator("#cases").get_by_role("button", name="Show all").click()  # one's own are the last rows
    opened.page.locator("#cases tbody button", has_text="onerror").first.click()
    opened.page.locator("#samples .chart[data-rows]").wait_for()
    assert "onerror" in opened.page.locator("#samples h2").inner_text()
    assert opened.page.locator("img, b").count() == 0
    assert opened.too_wide() == []
