#!/usr/bin/env python3
"""Draws for each chapter which words the 32 lanes of a warp touch at its main accesses: of global memory in lines and
sectors, of shared memory in banks. Everything drawn comes from what the executor counted.

    scripts/pictures.py                                     results/cpu-executor/counts_4096.json, beside it
    scripts/pictures.py counts.json --out pictures --format svg

A picture whose kernels or lines are not in the file is skipped, and the reason is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from counts import Counted, counts_file, load_counts, ratio
from plot import CARD, GRID, INK, MUTED, WIDTH, NoData, footnote, save
from results import ResultsError, stop

ROOT = Path(__file__).resolve().parent.parent
SIZE = 4096
WORD = 4
SECTOR = 32
LINE = 128  # bytes of a line of a cache, and of one word in each of the 32 banks
WORDS = LINE // WORD
FETCHED = "#dbe9f6"
DYNAMIC = "dynamic shared memory"

# In inches.
CELL, ROW = 0.225, 0.225
LEFT = 1.42
TITLE, SCALE, BETWEEN = 0.42, 0.20, 0.20
MOST_ROWS = 6  # of a panel; more are left out in the middle
HEAD, FOOT = 0.72, 0.55


@dataclass(frozen=True)
class Access:
    """One panel: an access of a kernel, found by its kind and array. Where several lines are of that kind, those with
    the most requests come first and `rank` tells which is meant, in the order of the lines."""

    kernel: str
    kind: str
    array: str
    what: str
    among: int = 1  # how many lines are considered
    rank: int = 0

    @property
    def is_global(self) -> bool:
        return self.kind in ("global_load", "global_store", "async_copy")


@dataclass(frozen=True)
class Picture:
    title: str
    panels: tuple[Access, ...]


@dataclass(frozen=True)
class Touched:
    """An access with one of its requests: the byte address of each active lane."""

    access: Access
    line: dict

    @cached_property
    def lanes(self) -> dict[int, int]:
        return {lane: at for lane, at in enumerate(self.line["example"]["lanes"]) if at is not None}

    @property
    def bytes(self) -> int:
        return self.line["example"]["bytes"]

    @cached_property
    def places(self) -> dict[int, list[int]]:
        """Which lanes are at each address."""
        found: dict[int, list[int]] = {}
        for lane, at in self.lanes.items():
            found.setdefault(at, []).append(lane)
        return found

    @property
    def rows(self) -> list[int]:
        """The lines, or rows of banks, that are touched, by number."""
        return sorted({(at + byte) // LINE for at in self.places for byte in range(0, self.bytes, WORD)})

    @property
    def sectors(self) -> set[int]:
        return {(at + byte) // SECTOR for at in self.places for byte in range(0, self.bytes, WORD)}

    @property
    def moves_more(self) -> bool:
        """Whether its sectors hold words that no lane asks for."""
        words = {(at + byte) // WORD for at in self.places for byte in range(0, self.bytes, WORD)}
        return self.access.is_global and len(words) * WORD < len(self.sectors) * SECTOR

    def summary(self) -> str:
        """What the request takes, and the average over all requests of the line where that is another number."""
        requests = self.line["requests"]
        parts = []
        if len(self.lanes) < 32:
            parts.append("1 active lane" if len(self.lanes) == 1 else f"{len(self.lanes)} active lanes")
        if self.access.is_global:
            sectors, average = plural(len(self.sectors), "sector"), ratio(self.line["sectors"], requests)
            if average is not None and abs(average - len(self.sectors)) > 0.05:
                sectors += f" ({average:.3g} on average)"
            parts += [plural(len(self.rows), "line"), sectors]
        if not self.access.is_global or self.access.kind == "async_copy":
            wavefronts = ratio(self.line["wavefronts"], requests)
            if wavefronts:
                text = plural(round(wavefronts, 2), "wavefront")
                text += " for shared memory" if self.access.is_global else ""
                if self.bytes > WORD:
                    at_a_time = {2.0: "half a warp", 4.0: "a quarter of a warp"}
                    needed = wavefronts - (ratio(self.line["conflicts"], requests) or 0)
                    text += f", {at_a_time[needed]} at a time" if needed in at_a_time else ""
                parts.append(text)
        conflicts = ratio(self.line["conflicts"], requests)
        if conflicts:
            parts.append(f"{round(conflicts, 2):g} of them for conflicts of banks")
        return ", ".join(parts)


def plural(number: float, one: str, many: str = "") -> str:
    return f"{number:g} {one if number == 1 else many or one + 's'}"


PICTURES: dict[str, Picture] = {
    "access_01": Picture(
        "Chapter 01: a warp's loads for one k",
        (
            Access("01_naive", "global_load", "A", "01_naive: a[k]"),
            Access("01_naive", "global_load", "B", "01_naive: b[k * ldb]"),
            Access("01_naive:uncoalesced", "global_load", "A", "uncoalesced: a[k]"),
            Access("01_naive:uncoalesced", "global_load", "B", "uncoalesced: b[k * ldb]"),
        ),
    ),
    "access_02": Picture(
        "Chapter 02: copying a tile, and reading it",
        (
            Access("02_smem_tiled", "global_load", "A", "02_smem_tiled: a row of the tile of A"),
            Access("02_smem_tiled", "shared_load", "a_tile", "02_smem_tiled: a_tile[tile_row][j]"),
            Access("02_smem_tiled", "shared_load", "b_tile", "02_smem_tiled: b_tile[j][tile_col]"),
            Access("02_smem_tiled:numba_mapping", "global_load", "A", "numba_mapping: two columns of the tile of A"),
            Access("02_smem_tiled:numba_mapping", "shared_load", "a_tile", "numba_mapping: a_tile[tile_row][j]"),
        ),
    ),
    "access_03": Picture(
        "Chapter 03: copying the strips, and reading them",
        (
            Access("03_smem_strip_tiled", "global_load", "A", "one element of the strip of A for each of 32 warps"),
            Access("03_smem_strip_tiled", "global_load", "B", "the strip of B, by one warp"),
            Access("03_smem_strip_tiled", "shared_load", "a_strip", "a_strip[threadIdx.y]"),
            Access("03_smem_strip_tiled", "shared_load", "b_strip", "b_strip[threadIdx.x]"),
        ),
    ),
    "access_04": Picture(
        "Chapter 04: A to registers, B to shared memory",
        (
            Access("04_smem_register_tiled", "global_load", "A", "a_source[j]: an element of 32 rows of A"),
            Access("04_smem_register_tiled", "global_load", "B", "two rows of the tile of B"),
            Access("04_smem_register_tiled", "shared_load", "b_tile", "b_tile[j][i]"),
        ),
    ),
    "access_05": Picture(
        "Chapter 05: copying tiles, and reading them",
        (
            Access("05_coarse_1d", "global_load", "A", "four rows of the tile of A"),
            Access("05_coarse_1d", "global_load", "B", "half a row of the tile of B"),
            Access("05_coarse_1d", "shared_load", "a_tile", "an element of As"),
            Access("05_coarse_1d", "shared_load", "b_tile", "an element of Bs"),
        ),
    ),
    "access_06": Picture(
        "Chapter 06: copies of 32 and of 128 bits a lane",
        (
            Access("06_coarse_2d", "global_load", "A", "06_coarse_2d: two rows of the tile of A, 32 bits a lane"),
            Access(
                "06_coarse_2d:vectorized",
                "global_load",
                "A",
                "vectorized: eight rows of the tile of A, 128 bits a lane",
            ),
            Access("06_coarse_2d:vectorized", "shared_store", "a_tile", "vectorized: one float of each into As", 4),
            Access("06_coarse_2d:vectorized", "shared_load", "a_tile", "vectorized: four rows of As"),
            Access("06_coarse_2d:vectorized", "shared_load", "b_tile", "vectorized: four columns of Bs"),
        ),
    ),
    "access_07": Picture(
        "Chapter 07: asynchronous copies, and fragments for one k",
        (
            Access("07_warptile_hilbert", "async_copy", "A", "copy of two rows of 16 k of A, 32 bits a lane"),
            Access("07_warptile_hilbert", "async_copy", "B", "copy of B, 128 bits a lane"),
            Access("07_warptile_hilbert", "shared_load", DYNAMIC, "fragment of A: four rows of the tile", 2),
            Access("07_warptile_hilbert", "shared_load", DYNAMIC, "fragment of B: four columns of the tile", 2, 1),
        ),
    ),
    "access_08": Picture(
        "Chapter 08: asynchronous copies, and fragments for one k",
        (
            Access("08_warp_specialized", "async_copy", "A", "copy of A, 32 bits a lane"),
            Access("08_warp_specialized", "async_copy", "B", "copy of B, 128 bits a lane"),
            Access("08_warp_specialized", "shared_load", DYNAMIC, "fragment of A: four rows of the tile", 2),
            Access("08_warp_specialized", "shared_load", DYNAMIC, "fragment of B: four columns of the tile", 2, 1),
        ),
    ),
}


def find(cases: Sequence[Counted], access: Access) -> Touched:
    case = next((case for case in cases if case.id == access.kernel), None)
    if case is None:
        raise NoData(f"{access.kernel} was not counted")
    lines = [
        line
        for line in case.counts["lines"]
        if line["kind"] == access.kind and line.get("array", "") == access.array and "example" in line
    ]
    busiest = sorted(lines, key=lambda line: -line["requests"])[: access.among]
    busiest.sort(key=lambda line: line["line"])
    if len(busiest) <= access.rank:
        raise NoData(f"{access.kernel} has no {access.kind} of {access.array or 'memory'}")
    return Touched(access, busiest[access.rank])


def ranges(numbers: Sequence[int]) -> str:
    """[0, 1, 2, 5] as "0–2,5"."""
    parts = []
    for _, group in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        parts.append(f"{run[0]}" if len(run) == 1 else f"{run[0]}–{run[-1]}")
    return ",".join(parts)


def lane_label(lanes: Sequence[int], cells: int) -> str:
    """Which lanes, where that fits, else how many."""
    text = ranges(lanes)
    return text if len(text) <= 3.6 * cells or len(lanes) == 1 else f"×{len(lanes)}"


def color_of(lane: int):
    return matplotlib.colormaps["viridis"](0.12 + 0.83 * lane / 31)


def ink_on(color) -> str:
    red, green, blue, _ = color
    return CARD if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else INK


def shown_rows(rows: Sequence[int]) -> list[int | None]:
    """All of them, or the first ones, None for those left out, and the last one."""
    return list(rows) if len(rows) <= MOST_ROWS else [*rows[: MOST_ROWS - 2], None, rows[-1]]


def panel_height(touched: Touched) -> float:
    return TITLE + SCALE + ROW * len(shown_rows(touched.rows))


def distance(bytes_: int) -> str:
    """How far a line is behind the first one."""
    if bytes_ == 0:
        return "first line"
    for limit, unit in ((2**20, "MiB"), (2**10, "KiB")):
        if bytes_ >= limit and bytes_ % (limit // 4) == 0:
            return f"+{bytes_ / limit:g} {unit}"
    return f"+{bytes_} B"


def draw_panel(ax: Axes, touched: Touched, top: float) -> None:
    """With its upper edge at `top`; coordinates are inches, y upwards."""
    is_global, rows = touched.access.is_global, touched.rows
    place = f"{touched.line['file']}:{touched.line['line']}"
    ax.text(LEFT, top - 0.02, touched.access.what, fontsize=10, fontweight="bold", va="top")
    ax.text(LEFT + WORDS * CELL, top - 0.03, place, fontsize=8.5, color=MUTED, va="top", ha="right")
    ax.text(LEFT, top - 0.21, touched.summary(), fontsize=9, color=MUTED, va="top")
    scale = top - TITLE - SCALE / 2
    ax.text(
        LEFT - 0.1, scale, "byte of the line" if is_global else "bank", fontsize=8, color=MUTED, ha="right", va="center"
    )
    for word in range(0, WORDS, 8 if is_global else 4):
        label = f"{word * WORD if is_global else word}"
        ax.text(LEFT + (word + 0.5) * CELL, scale, label, fontsize=8, color=MUTED, ha="center", va="center")
    for index, row in enumerate(shown_rows(rows)):
        y = top - TITLE - SCALE - ROW * (index + 1)
        if row is None:
            left_out = len(rows) - MOST_ROWS + 1
            noun = "lines" if is_global else "rows"
            ax.text(
                LEFT + 16 * CELL,
                y + ROW / 2,
                f"⋮  {left_out} more {noun}  ⋮",
                fontsize=8.5,
                color=MUTED,
                ha="center",
                va="center",
            )
            continue
        label = distance((row - rows[0]) * LINE) if is_global else f"words {row * WORDS}–{row * WORDS + WORDS - 1}"
        ax.text(LEFT - 0.1, y + ROW / 2, label, fontsize=8.5, ha="right", va="center")
        draw_row(ax, touched, row, y)


def draw_row(ax: Axes, touched: Touched, row: int, y: float) -> None:
    for word in range(WORDS):
        sector = (row * LINE + word * WORD) // SECTOR
        fetched = touched.access.is_global and sector in touched.sectors
        ax.add_patch(
            Rectangle(
                (LEFT + word * CELL, y), CELL, ROW, facecolor=FETCHED if fetched else CARD, edgecolor=GRID, lw=0.6
            )
        )
    for at, lanes in touched.places.items():
        if at // LINE != row:
            continue
        cells = max(touched.bytes // WORD, 1)
        color = color_of(lanes[0])
        x = LEFT + at % LINE / WORD * CELL
        ax.add_patch(Rectangle((x, y), cells * CELL, ROW, facecolor=color, edgecolor=CARD, lw=0.8, zorder=3))
        text = lane_label(lanes, cells)
        ax.text(
            x + cells * CELL / 2,
            y + ROW / 2 - 0.005,
            text,
            fontsize=7,
            color=ink_on(color),
            ha="center",
            va="center",
            zorder=4,
        )
    if touched.access.is_global:
        for sector in range(LINE // SECTOR + 1):
            x = LEFT + sector * SECTOR / WORD * CELL
            ax.plot([x, x], [y, y + ROW], color=MUTED, lw=1.0, zorder=5, solid_capstyle="butt")


def draw(picture: Picture, cases: Sequence[Counted]) -> Figure:
    panels = [find(cases, access) for access in picture.panels]
    if not panels:
        raise NoData("it has no panels")
    height = HEAD + FOOT + sum(map(panel_height, panels)) + BETWEEN * (len(panels) - 1)
    fig = plt.figure(figsize=(WIDTH, height))
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, WIDTH)
    ax.set_ylim(0, height)
    ax.axis("off")
    fig.text(0.02, 1 - 0.16 / height, picture.title, fontsize=14, fontweight="bold", va="top")
    m, n, k = cases[0].record.shape
    size = f"M = N = K = {m}" if m == n == k else f"{m} × {n} × {k}"
    subtitle = f"one request of a warp for each access, {size}"
    fig.text(0.02, 1 - 0.44 / height, subtitle, fontsize=10, color=MUTED, va="top")
    top = height - HEAD
    for touched in panels:
        draw_panel(ax, touched, top)
        top -= panel_height(touched) + BETWEEN
    notes = ["Numbers are lanes; ×n stands for n lanes at one place."]
    if any(touched.moves_more for touched in panels):
        notes.append("Pale: what the request moves besides, in sectors of 32 bytes.")
    footnote(fig, " ".join(notes))
    return fig


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = ROOT / "results" / "cpu-executor" / counts_file(SIZE)
    parser.add_argument("counts", nargs="?", type=Path, default=default, help="a results file with counted kernels")
    parser.add_argument("--out", type=Path, help="folder of the pictures (default: charts/ beside the file)")
    parser.add_argument("--format", default="png,svg", help="png, svg or both (default: png,svg)")
    options = parser.parse_args(arguments)
    options.format = options.format.split(",")
    if unknown := set(options.format) - {"png", "svg"}:
        parser.error(f"unknown format {', '.join(sorted(unknown))}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    written = 0
    try:
        cases = load_counts(options.counts)
        folder = options.out or options.counts.parent / "charts"
        folder.mkdir(parents=True, exist_ok=True)
        for name, picture in PICTURES.items():
            try:
                fig = draw(picture, cases)
            except NoData as reason:
                print(f"skipped {name}: {reason}")
                continue
            for kind in options.format:
                save(fig, folder / f"{name}.{kind}")
                print(folder / f"{name}.{kind}")
                written += 1
            plt.close(fig)
    except (ResultsError, OSError) as error:
        stop(error)
    return 0 if written else 1


if __name__ == "__main__":
    raise SystemExit(main())
