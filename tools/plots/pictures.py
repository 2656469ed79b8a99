"""Draws for each chapter which words the 32 lanes of a warp touch at its main accesses: of global memory in lines and
sectors, of shared memory in banks. Everything drawn comes from what the executor counted. The blocks `picture` on the
chapters' pages say which accesses are drawn:

    picture(NAME, ALTERNATIVE TEXT, TITLE, (KERNEL, KIND, ARRAY, CAPTION), ...)

A panel shows the line of that kind with the most requests. Where several lines are meant, two more numbers say how
many are considered, and which of these it is, in the order of the lines.

    python -m tools.plots.pictures                            results/cpu-executor/counts_4096.json, beside it
    python -m tools.plots.pictures counts.json --out pictures

A picture whose kernels or lines are not in the file is skipped, and the reason is printed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tools import needs
from tools.counts import USUAL_SIZE, Case, counts_file, load_counts, ratio
from tools.docs import pages
from tools.docs.tables import BLOCKS
from tools.forms import runs
from tools.plots import plot
from tools.plots.looks import CARD, GRID, INK, MUTED
from tools.plots.plot import WIDTH, NoData, footnote, heading
from tools.results import ResultsError

WORD = 4
SECTOR = 32
LINE = 128  # bytes of a line of a cache, and of one word in each of the 32 banks
WORDS = LINE // WORD
FETCHED = "#dbe9f6"

# In inches.
CELL, ROW = 0.225, 0.225
LEFT = 1.42
TITLE, SCALE, BETWEEN = 0.42, 0.20, 0.20
MOST_ROWS = 6  # of a panel; more are left out in the middle
HEAD, FOOT = 0.72, 0.55


class Access(NamedTuple):
    """One panel: an access of a kernel, found by its kind and array."""

    kernel: str
    kind: str
    array: str
    what: str
    among: int = 1
    rank: int = 0

    @property
    def is_global(self) -> bool:
        return self.kind in ("global_load", "global_store", "async_copy")


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

    def touched(self, size: int) -> set[int]:
        """The numbers of the pieces of so many bytes that are touched."""
        return {(at + byte) // size for at in self.places for byte in range(0, self.bytes, WORD)}

    @property
    def rows(self) -> list[int]:
        """The lines, or rows of banks, that are touched, by number."""
        return sorted(self.touched(LINE))

    @property
    def sectors(self) -> set[int]:
        return self.touched(SECTOR)

    @property
    def moves_more(self) -> bool:
        """Whether its sectors hold words that no lane asks for."""
        return self.access.is_global and len(self.touched(WORD)) * WORD < len(self.sectors) * SECTOR

    def summary(self) -> str:
        """What the request takes, and the average over all requests of the line where that is another number."""
        sectors, wavefronts, conflicts = (
            ratio(self.line[field], self.line["requests"]) for field in ("sectors", "wavefronts", "conflicts")
        )
        parts = [plural(len(self.lanes), "active lane")] if len(self.lanes) < 32 else []
        if self.access.is_global:
            text = plural(len(self.sectors), "sector")
            if sectors is not None and abs(sectors - len(self.sectors)) > 0.05:
                text += f" ({sectors:.3g} on average)"
            parts += [plural(len(self.rows), "line"), text]
        if wavefronts and (not self.access.is_global or self.access.kind == "async_copy"):
            text = plural(round(wavefronts, 2), "wavefront") + " for shared memory" * self.access.is_global
            if self.bytes > WORD:
                at_a_time = {2.0: "half a warp", 4.0: "a quarter of a warp"}
                needed = wavefronts - (conflicts or 0)
                text += f", {at_a_time[needed]} at a time" if needed in at_a_time else ""
            parts.append(text)
        if conflicts:
            parts.append(f"{round(conflicts, 2):g} of them for bank conflicts")
        return ", ".join(parts)


def plural(number: float, one: str) -> str:
    return f"{number:g} {one}" + "s" * (number != 1)


def find(cases: Sequence[Case], access: Access) -> Touched:
    case = next((case for case in cases if case.kernel == access.kernel), None)
    if case is None:
        raise NoData(f"{access.kernel} was not counted")
    lines = [
        line
        for line in case.lines
        if line["kind"] == access.kind and line.get("array", "") == access.array and "example" in line
    ]
    busiest = sorted(lines, key=lambda line: -line["requests"])[: access.among]
    busiest.sort(key=lambda line: line["line"])
    if len(busiest) <= access.rank:
        raise NoData(f"{access.kernel} has no {access.kind} of {access.array or 'memory'}")
    return Touched(access, busiest[access.rank])


def ranges(numbers: Sequence[int]) -> str:
    """[0, 1, 2, 5] as "0–2,5"."""
    return ",".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs(numbers))


def lane_label(lanes: Sequence[int], cells: int) -> str:
    """Which lanes, where that fits, else how many."""
    text = ranges(lanes)
    if len(text) <= 2.9 * cells or len(lanes) == 1:
        return text
    return "all" if len(lanes) == 32 else f"×{len(lanes)}"


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
    ax.text(LEFT + WORDS * CELL, top - 0.03, place, fontsize=9, color=MUTED, va="top", ha="right")
    ax.text(LEFT, top - 0.21, touched.summary(), fontsize=9, color=MUTED, va="top")
    scale, small = top - TITLE - SCALE / 2, {"fontsize": 9, "color": MUTED, "va": "center"}
    ax.text(LEFT - 0.1, scale, "byte of the line" if is_global else "bank", ha="right", **small)
    for word in range(0, WORDS, 8 if is_global else 4):
        ax.text(LEFT + (word + 0.5) * CELL, scale, f"{word * WORD if is_global else word}", ha="center", **small)
    for index, row in enumerate(shown_rows(rows)):
        y = top - TITLE - SCALE - ROW * (index + 1)
        if row is None:
            text = f"⋮  {len(rows) - MOST_ROWS + 1} more {'lines' if is_global else 'rows'}  ⋮"
            ax.text(LEFT + 16 * CELL, y + ROW / 2, text, ha="center", **small)
            continue
        label = distance((row - rows[0]) * LINE) if is_global else f"words {row * WORDS}–{row * WORDS + WORDS - 1}"
        ax.text(LEFT - 0.1, y + ROW / 2, label, fontsize=9, ha="right", va="center")
        draw_row(ax, touched, row, y)


def draw_row(ax: Axes, touched: Touched, row: int, y: float) -> None:
    def cell(x: float, width: float, **look) -> None:
        ax.add_patch(Rectangle((x, y), width, ROW, **look))

    for word in range(WORDS):
        fetched = touched.access.is_global and (row * LINE + word * WORD) // SECTOR in touched.sectors
        cell(LEFT + word * CELL, CELL, facecolor=FETCHED if fetched else CARD, edgecolor=GRID, lw=0.6)
    cells = max(touched.bytes // WORD, 1)
    for at, lanes in touched.places.items():
        if at // LINE != row:
            continue
        x, color = LEFT + at % LINE / WORD * CELL, color_of(lanes[0])
        cell(x, cells * CELL, facecolor=color, edgecolor=CARD, lw=0.8, zorder=3)
        look = {"fontsize": 9, "color": ink_on(color), "ha": "center", "va": "center", "zorder": 4}
        ax.text(x + cells * CELL / 2, y + ROW / 2 - 0.005, lane_label(lanes, cells), **look)
    if touched.access.is_global:
        for sector in range(LINE // SECTOR + 1):
            x = LEFT + sector * SECTOR / WORD * CELL
            ax.plot([x, x], [y, y + ROW], color=MUTED, lw=1.0, zorder=5, solid_capstyle="butt")


def draw(title: str, panels: Sequence[Access], cases: Sequence[Case]) -> Figure:
    drawn = [find(cases, access) for access in panels]
    height = HEAD + FOOT + sum(map(panel_height, drawn)) + BETWEEN * (len(drawn) - 1)
    fig = plt.figure(figsize=(WIDTH, height))
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, WIDTH)
    ax.set_ylim(0, height)
    ax.axis("off")
    m, n, k = cases[0].row.shape
    size = f"M = N = K = {m}" if m == n == k else f"{m} × {n} × {k}"
    heading(fig, title, f"one request of a warp for each access, {size}")
    top = height - HEAD
    for touched in drawn:
        draw_panel(ax, touched, top)
        top -= panel_height(touched) + BETWEEN
    notes = ["Numbers are lanes; ×n stands for n lanes at one place, all for 32."]
    if any(touched.moves_more for touched in drawn):
        notes.append("Pale: what the request moves besides, in sectors of 32 bytes.")
    footnote(fig, " ".join(notes))
    return fig


def pictures_of(counts: Path) -> dict[str, partial[Figure]]:
    """Of each block `picture` on the pages, drawn from a file of counts."""
    cases = load_counts(counts)
    found = {}
    for call in pages.calls("picture", BLOCKS):
        name, _, title, *panels = call.arguments
        found[name] = partial(draw, title, [Access(*panel) for panel in panels], cases)
    return found


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = pages.ROOT / "results" / "cpu-executor" / counts_file(USUAL_SIZE)
    parser.add_argument("counts", nargs="?", type=Path, default=default, help="a results file with counted kernels")
    parser.add_argument("--out", type=Path, help="folder of the pictures (default: charts/ beside the file)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        return plot.draw(pictures_of(options.counts), options.out or options.counts.parent / "charts")
    except (ResultsError, OSError) as error:
        needs.stop(error)


if __name__ == "__main__":
    raise SystemExit(main())
