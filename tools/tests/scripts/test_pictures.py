import shutil

import pytest

from helpers import SYNTHETIC, edit, keep, on, refused
from tools.counts import load_counts
from tools.docs import pages
from tools.plots import pictures, plot
from tools.plots.pictures import LINE, SECTOR, Access, Touched, find
from tools.plots.plot import NoData

COUNTS = SYNTHETIC / "counts_4096.json"
NAIVE_A = Access("01_naive", "global_load", "A", "a")
NAIVE_B = Access("01_naive", "global_load", "B", "b")
TILE = Access("02_smem_tiled", "shared_load", "a_tile", "tile")


def touched(lanes: list[int | None], bytes_: int = 4, kind: str = "global_load", **counts: float) -> Touched:
    line = {"requests": 10, "sectors": 0, "wavefronts": 0, "conflicts": 0, "file": "x.cu", "line": 1, **counts}
    return Touched(Access("01_naive", kind, "A", ""), {**line, "example": {"bytes": bytes_, "lanes": lanes}})


def test_lines_and_sectors_of_a_request():
    neighbours = touched([4 * lane for lane in range(32)])
    assert (sorted(neighbours.touched(LINE)), len(neighbours.touched(SECTOR)), neighbours.moves_more) == ([0], 4, False)
    scattered = touched([16384 * lane for lane in range(32)])
    assert [len(scattered.touched(size)) for size in (LINE, SECTOR)] == [32, 32]
    assert scattered.moves_more
    broadcast = touched([200] * 32)
    assert (sorted(broadcast.touched(LINE)), broadcast.touched(SECTOR)) == ([1], {6})
    assert broadcast.places == {200: list(range(32))}
    wide = touched([16 * lane for lane in range(32)], bytes_=16)
    assert (sorted(wide.touched(LINE)), len(wide.touched(SECTOR)), wide.moves_more) == ([0, 1, 2, 3], 16, False)
    partly = touched([None] * 30 + [0, 124])
    assert (partly.lanes, len(partly.touched(SECTOR))) == ({30: 0, 31: 124}, 2)


ROW = [4 * lane for lane in range(32)]
SHARED = {"kind": "shared_load"}


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (touched(ROW, sectors=40), "1 line, 4 sectors"),
        (touched([0] * 32, sectors=25), "1 line, 1 sector (2.5 on average)"),
        (touched([0] + [None] * 31, sectors=10), "1 active lane, 1 line, 1 sector"),
        (touched(ROW, **SHARED, wavefronts=10), "1 wavefront"),
        (touched(ROW, **SHARED, wavefronts=80, conflicts=70), "8 wavefronts, 7 of them for bank conflicts"),
        (touched(ROW, bytes_=16, **SHARED, wavefronts=40), "4 wavefronts, a quarter of a warp at a time"),
    ],
)
def test_what_is_said_of_a_request(request_, said):
    assert request_.summary() == said


def test_an_access_is_the_busiest_of_its_lines(edited):
    def add_prologue(record: dict) -> None:
        lines = record["counts"]["lines"]
        lines.append({**lines[1], "line": 5, "requests": 1})

    cases = load_counts(edited("counts_4096.json", on("01_naive", 4096, add_prologue)))
    assert find(cases, NAIVE_A).line["line"] == 45
    two = [Access("01_naive", "global_load", "A", "a", 2, rank) for rank in (0, 1)]
    assert [find(cases, access).line["line"] for access in two] == [5, 45]
    with pytest.raises(NoData, match="has no global_load of A"):
        find(cases, Access("01_naive", "global_load", "A", "a", 2, 2))
    with pytest.raises(NoData, match="05_coarse_1d was not counted"):
        find(cases, Access("05_coarse_1d", "global_load", "A", "a"))


def test_draws_what_the_pages_ask_for_the_same_every_time(tmp_path, monkeypatch, capsys):
    page = tmp_path / "docs" / "01_naive.md"
    page.parent.mkdir()
    blocks = [f'picture("access_01", "Text", "One", {", ".join(str(tuple(p)) for p in (NAIVE_A, NAIVE_B, TILE))})']
    blocks.append('picture("access_09", "Text", "Nine", ("09", "global_load", "A", "a"))')
    page.write_text("".join(f"<!-- [[[cog {block} ]]] -->\n<!-- [[[end]]] -->\n" for block in blocks), "utf-8")
    monkeypatch.setattr(pages, "all_pages", lambda: [page])
    folder = tmp_path / "counts"
    folder.mkdir()
    shutil.copy(COUNTS, folder)
    for name in ("first", "second"):
        assert plot.main([str(folder), "--out", str(tmp_path / name)]) == 0
    assert "skipped access_09: 09 was not counted" in capsys.readouterr().out
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("first", "second")
    )
    assert [*first] == ["access_01.svg"]
    assert first == second


def test_every_lane_stands_where_its_word_is():
    panels = pictures.draw("One", (NAIVE_A, NAIVE_B, TILE), load_counts(COUNTS)).panels
    for panel in panels:
        for layer in panel["layer"]:
            for row in layer["data"]["values"]:
                assert 0 <= row["x"] <= row.get("x2", row["x"]) <= panel["width"] + 1e-6
                assert 0 <= row["y"] <= row.get("y2", row["y"]) <= panel["height"]
    lanes = panels[1]["layer"][1]["data"]["values"]
    assert [box["x"] for box in lanes] == pytest.approx([pictures.LEFT + lane * pictures.CELL for lane in range(32)])
    assert [box["color"] for box in lanes] == pictures.LANES


def test_without_counts_nothing_is_drawn(tmp_path, capsys):
    edit(COUNTS, keep(lambda record: False), new=tmp_path / COUNTS.name)
    assert "no counted kernel" in refused(capsys, plot.main, tmp_path)
