"""Draws for each chapter which words the 32 lanes of a warp touch at its main accesses: of global memory in lines and
sectors, of shared memory in banks. Everything drawn comes from what the executor counted. The blocks `picture` on the
chapters' pages say which accesses are drawn:

    picture(NAME, ALTERNATIVE TEXT, TITLE, (KERNEL, KIND, ARRAY, CAPTION), ...)

A panel shows the line of that kind with the most requests. Where several lines are meant, two more numbers say how
many are considered, and which of these it is, in the order of the lines.

scripts/plot.py draws them of a folder with what the executor counted. A picture whose kernels or lines are not in it is
skipped, and the reason is printed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from tools.counters import ratio
from tools.counts import Case, load_counts
from tools.docs import pages
from tools.docs.tables import BLOCKS
from tools.forms import runs
from tools.plots.looks import GRIDS, luminance, mixed
from tools.plots.plot import CARD, GREY, INK, Chart, NoData
from tools.plots.specs import Spec

WORD = 4
SECTOR = 32
LINE = 128  # bytes of a line of a cache, and of one word in each of the 32 banks
WORDS = LINE // WORD
FETCHED = "#dbe9f6"

# In pixels.
WIDTH, FONT = 680, 13  # of 32 lanes side by side
LEFT, ROW, HEAD = 108, 18, 50  # the names of rows, their height, and what stands above them
CELL = (WIDTH - LEFT) / WORDS
MOST_ROWS = 6  # of a panel; more are left out in the middle


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
        """The numbers of the pieces of so many bytes that are touched, such as lines, or rows of banks."""
        return {(at + byte) // size for at in self.places for byte in range(0, self.bytes, WORD)}

    @property
    def moves_more(self) -> bool:
        """Whether its sectors hold words that no lane asks for."""
        return self.access.is_global and len(self.touched(WORD)) * WORD < len(self.touched(SECTOR)) * SECTOR

    def summary(self) -> str:
        """What the request takes, and the average over all requests of the line where that is another number."""
        requests, fields = self.line["requests"], ("sectors", "wavefronts", "conflicts")
        sectors, wavefronts, conflicts = (ratio(self.line[field], requests) for field in fields)
        parts = [plural(len(self.lanes), "active lane")] if len(self.lanes) < 32 else []
        if self.access.is_global:
            own = len(self.touched(SECTOR))
            average = f" ({sectors:.3g} on average)" if sectors is not None and abs(sectors - own) > 0.05 else ""
            parts += [plural(len(self.touched(LINE)), "line"), plural(own, "sector") + average]
        if wavefronts and (not self.access.is_global or self.access.kind == "async_copy"):
            text = plural(round(wavefronts, 2), "wavefront") + " for shared memory" * self.access.is_global
            served = (
                {2.0: ", half a warp at a time", 4.0: ", a quarter of a warp at a time"} if self.bytes > WORD else {}
            )
            parts.append(text + served.get(wavefronts - (conflicts or 0), ""))
        if conflicts:
            parts.append(f"{round(conflicts, 2):g} of them for bank conflicts")
        return ", ".join(parts)


def plural(number: float, one: str) -> str:
    return f"{number:g} {one}" + "s" * (number != 1)


def find(cases: Sequence[Case], access: Access) -> Touched:
    case = next((case for case in cases if case.kernel == access.kernel), None)
    if case is None:
        raise NoData(f"{access.kernel} was not counted")
    wanted = (access.kind, access.array)
    lines = [line for line in case.lines if (line["kind"], line.get("array", "")) == wanted and "example" in line]
    busiest = sorted(lines, key=lambda line: -line["requests"])[: access.among]
    if len(busiest) <= access.rank:
        raise NoData(f"{access.kernel} has no {access.kind} of {access.array or 'memory'}")
    return Touched(access, sorted(busiest, key=lambda line: line["line"])[access.rank])


def ranges(numbers: Sequence[int]) -> str:
    """[0, 1, 2, 5] as "0–2,5"."""
    return ",".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs(numbers))


def lane_label(lanes: Sequence[int], cells: int) -> str:
    """Which lanes, where that fits, else how many."""
    text = ranges(lanes)
    if len(text) <= 2.9 * cells or len(lanes) == 1:
        return text
    return "all" if len(lanes) == 32 else f"×{len(lanes)}"


# From lane 0 to lane 31: viridis without its ends.
STOPS = ("#472a7a", "#31688e", "#1e9c89", "#65cb5e", "#dfe318", "#dfe318")
PLACES = [lane * 4 / 31 for lane in range(32)]
LANES = [mixed(STOPS[int(place)], STOPS[int(place) + 1], place % 1) for place in PLACES]


def shown_rows(rows: Sequence[int]) -> list[int | None]:
    """All of them, or the first ones, None for those left out, and the last one."""
    return list(rows) if len(rows) <= MOST_ROWS else [*rows[: MOST_ROWS - 2], None, rows[-1]]


def distance(bytes_: int) -> str:
    """How far a line is behind the first one."""
    if bytes_ == 0:
        return "first line"
    for limit, unit in ((2**20, "MiB"), (2**10, "KiB")):
        if bytes_ % limit == 0:
            return f"+{bytes_ // limit} {unit}"
    return f"+{bytes_} B"


def marks(kind: Spec, rows: Sequence[dict]) -> Spec:
    """Marks at pixels, of rows with their places and colours."""
    place = {axis: {"field": axis, "type": "quantitative", "scale": None, "axis": None} for axis in ("x", "y")}
    ends = {axis: {"field": axis} for axis in ("x2", "y2") if axis in rows[0]} if rows else {}
    color = {"color": {"field": "color", "type": "nominal", "scale": None}}
    text = {"text": {"field": "text"}} if kind["type"] == "text" else {}
    return {"data": {"values": rows}, "mark": kind, "encoding": place | ends | color | text}


def panel(touched: Touched) -> Spec:
    is_global, rows, sectors = touched.access.is_global, sorted(touched.touched(LINE)), touched.touched(SECTOR)
    cells, lanes, rules, numbers, head, beside = [], [], [], [], [], []
    place = f"{touched.line['file']}:{touched.line['line']}"
    for x, y, text, color in (
        (0, 8, touched.access.what, INK),
        (0, 24, touched.summary(), GREY),
        (LEFT - 8, HEAD - 8, "byte of the line" if is_global else "bank", GREY),
        (WIDTH, 8, place, GREY),
    ):
        (beside if x else head).append({"x": x, "y": y, "text": text, "color": color})
    for word in range(0, WORDS, 8 if is_global else 4):
        text = f"{word * WORD if is_global else word}"
        numbers.append({"x": LEFT + (word + 0.5) * CELL, "y": HEAD - 8, "text": text, "color": GREY})
    shown = shown_rows(rows)
    for index, row in enumerate(shown):
        y = HEAD + ROW * index
        if row is None:
            text = f"… {len(rows) - MOST_ROWS + 1} more {'lines' if is_global else 'rows'} …"
            numbers.append({"x": LEFT + 16 * CELL, "y": y + ROW / 2, "text": text, "color": GREY})
            continue
        label = distance((row - rows[0]) * LINE) if is_global else f"words {row * WORDS}–{row * WORDS + WORDS - 1}"
        beside.append({"x": LEFT - 8, "y": y + ROW / 2, "text": label, "color": INK})
        for word in range(WORDS):
            fetched = is_global and (row * LINE + word * WORD) // SECTOR in sectors
            cells.append(box(word, 1, y, FETCHED if fetched else CARD))
        wide = max(touched.bytes // WORD, 1)
        for at, of in touched.places.items():
            if at // LINE == row:
                lanes.append(box(at % LINE / WORD, wide, y, LANES[of[0]]))
                ink = CARD if luminance(LANES[of[0]]) < 0.3 else INK
                x = LEFT + (at % LINE / WORD + wide / 2) * CELL
                numbers.append({"x": x, "y": y + ROW / 2, "text": lane_label(of, wide), "color": ink})
        for sector in range((LINE // SECTOR + 1) * is_global):
            x = LEFT + sector * SECTOR / WORD * CELL
            rules.append({"x": x, "x2": x, "y": y, "y2": y + ROW, "color": GREY})
    texts = {"type": "text", "fontSize": 11}
    layers = [
        marks({"type": "rect", "stroke": GRIDS["light"], "strokeWidth": 0.6}, cells),
        marks({"type": "rect", "stroke": CARD, "strokeWidth": 0.8}, lanes),
        marks({"type": "rule"}, rules),
        marks(texts, numbers),
        marks(texts | {"align": "left", "fontSize": FONT}, head),
        marks(texts | {"align": "right", "fontSize": 12}, beside),
    ]
    return {"width": WIDTH, "height": HEAD + ROW * len(shown), "layer": layers}


def box(word: float, words: float, y: float, color: str) -> dict:
    return {"x": LEFT + word * CELL, "x2": LEFT + (word + words) * CELL, "y": y, "y2": y + ROW, "color": color}


def draw(title: str, panels: Sequence[Access], cases: Sequence[Case]) -> Chart:
    drawn = [find(cases, access) for access in panels]
    m, n, k = cases[0].row.shape
    size = f"M = N = K = {m}" if m == n == k else f"{m} × {n} × {k}"
    note = "Numbers are lanes; ×n stands for n lanes at one place, all for 32."
    pale = " Pale: what the request moves besides, in sectors of 32 bytes."
    note += pale * any(touched.moves_more for touched in drawn)
    return Chart(title, f"one request of a warp for each access, {size}", [*map(panel, drawn)], note, 0, WIDTH)


def pictures_of(counts: Path) -> dict[str, partial[Chart]]:
    """Of each block `picture` on the pages, drawn from a file of counts."""
    cases = load_counts(counts)
    calls = (call.arguments for call in pages.calls("picture", BLOCKS))
    return {name: partial(draw, title, [Access(*each) for each in panels], cases) for name, _, title, *panels in calls}
