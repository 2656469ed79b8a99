"""Draws the explanatory drawings of the pages, docs/drawings/*.svg: text and shapes, no measured curves.

    python -m tools.docs.drawings                    all of them
    python -m tools.docs.drawings tiles hilbert      these
    python -m tools.docs.drawings --check            tells which files are stale, and exits with 1 if any is

The colours mean the same thing everywhere: blue is A, orange B, green C and its sums, purple copies, dark grey
arithmetic, light grey waiting, red what costs time. Tile sizes are written here, and each drawing names the lines of
the kernels that it relies on: it fails when a kernel no longer has them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tools import ROOT, needs
from tools.docs.svg import (
    BAD,
    BORDER,
    CARD,
    COMPUTE,
    COPY,
    INK,
    MUTED,
    NOTE,
    PLAIN,
    TERM,
    WAIT,
    WRONG,
    A,
    B,
    C,
    Drawing,
    Paint,
    number,
    tone,
)

FOLDER = ROOT / "docs" / "drawings"
RESULTS = ROOT / "results" / "nvidia-h200"
RAISED = tone("#e6eaee", "#272e36")  # what lies on a card and holds other things
DRAM_TB_S = 4.25  # of an H200, read and written together: docs/lab/11-split-products.md

DRAWINGS: dict[str, Callable[[Drawing], None]] = {}
CARDS: dict[str, Drawing] = {}


def drawing(title: str, description: str, height: int) -> Callable:
    """Registers a function that draws, under its name."""

    def register(draw: Callable[[Drawing], None]) -> Callable[[Drawing], None]:
        DRAWINGS[draw.__name__] = draw
        CARDS[draw.__name__] = Drawing(draw.__name__, title, description, height)
        return draw

    return register


def draw(name: str) -> Drawing:
    card = CARDS[name]
    result = Drawing(card.name, card.title, card.description, card.height)
    DRAWINGS[name](result)
    return result


class Stale(Exception):
    """A kernel is no longer what a drawing shows."""


def relies_on(kernel: str, *texts: str) -> None:
    source = " ".join((ROOT / "kernels" / kernel).read_text().split())
    for text in texts:
        if text not in source:
            raise Stale(f"kernels/{kernel} no longer has: {text}")


def hilbert_tile(index: int, rows: int, columns: int) -> tuple[int, int]:
    """Row and column of a tile on the curve of kernels/common/hilbert.hpp."""

    def sign(x: int) -> int:
        return (x > 0) - (x < 0)

    def length(span: tuple[int, int]) -> int:
        return abs(span[0] + span[1])

    def half(span: tuple[int, int], make_even: bool) -> tuple[int, int]:
        result = (int(span[0] / 2), int(span[1] / 2))
        if make_even and length(result) % 2 and length(span) > 2:
            return result[0] + sign(span[0]), result[1] + sign(span[1])
        return result

    row, column = 0, 0
    major, minor = ((0, columns), (rows, 0)) if columns >= rows else ((rows, 0), (0, columns))
    while True:
        w, h = length(major), length(minor)
        along, across_step = (sign(major[0]), sign(major[1])), (sign(minor[0]), sign(minor[1]))
        if h == 1:
            return row + along[0] * index, column + along[1] * index
        if w == 1:
            return row + across_step[0] * index, column + across_step[1] * index
        if 2 * w > 3 * h:
            first = half(major, True)
            if index < length(first) * h:
                major = first
            else:
                index -= length(first) * h
                row, column = row + first[0], column + first[1]
                major = major[0] - first[0], major[1] - first[1]
            continue
        out, across = half(minor, True), half(major, False)
        out_tiles = length(out) * length(across)
        across_tiles = w * (h - length(out))
        if index < out_tiles:
            major, minor = out, across
        elif index < out_tiles + across_tiles:
            index -= out_tiles
            row, column = row + out[0], column + out[1]
            minor = minor[0] - out[0], minor[1] - out[1]
        else:
            index -= out_tiles + across_tiles
            row += major[0] - along[0] + out[0] - across_step[0]
            column += major[1] - along[1] + out[1] - across_step[1]
            major, minor = (-out[0], -out[1]), (across[0] - major[0], across[1] - major[1])


# ---- The GPU ----


@drawing(
    "An H200: the parts of an SM, and its memories",
    "One of 132 SMs has four parts, each with a scheduler, 64 KiB of registers, 32 FP32 lanes and a tensor core, and "
    "below them 256 KiB of L1 cache and shared memory behind one data pipe. All SMs share an L2 of 60 MiB and the "
    "DRAM. Each step down is larger and slower.",
    468,
)
def h200(d: Drawing) -> None:
    context = json.loads((RESULTS / "cold.json").read_text())["context"]["device"]
    counters = json.loads((RESULTS / "counters.json").read_text())["derived"]["12_fp16x3"]
    sms, clock = context["multiprocessors"], context["max_sm_clock_mhz"] / 1e6
    pipe = sms * 128 * clock
    from_l2 = counters["l2_to_sm_bytes"] / counters["time_us"] / 1e6
    each, all_sms = 136, 590  # where the sizes are told: of an SM's part, and of the chip's
    d.text(20, 28, f"One of {sms} SMs", bold=True, size=15)
    d.text(162, 28, "up to 64 warps of 32 threads", **NOTE)
    d.text(all_sms, 28, f"all {sms} SMs", bold=True)
    d.rect(20, 40, 552, 220, PLAIN.light, PLAIN.line, round_by=6)
    for i in range(4):
        x = 30 + i * 134
        d.rect(x, 50, 130, 134, CARD, PLAIN.line, round_by=4)
        d.labelled(x + 6, 56, 118, 26, PLAIN, "scheduler", size=12, strong=True)
        d.labelled(x + 6, 88, 118, 42, PLAIN, "registers|64 KiB", size=12, strong=True)
        d.labelled(x + 6, 136, 56, 42, COMPUTE, "32 FP32|lanes", size=12, strong=True)
        d.labelled(x + 68, 136, 56, 42, COMPUTE, "tensor|core", size=12, strong=True)
    d.labelled(30, 214, 532, 36, PLAIN, "L1 cache and shared memory, 256 KiB", strong=True)
    d.arrow([(each, 214), (each, 186)], COPY.line, thick=3, head=9)
    d.text(each + 14, 203, f"128 B a cycle: {pipe:.0f} TB/s (arithmetic)", size=12, color=COPY.line)
    d.labelled(20, 306, 552, 42, PLAIN, "L2 cache, shared by all SMs", strong=True)
    d.arrow([(each, 306), (each, 262)], COPY.line, thick=3, head=9)
    d.text(each + 14, 288, f"{from_l2:.1f} TB/s (measured: what chapter 12 takes)", size=12, color=COPY.line)
    d.labelled(20, 400, 552, 48, PLAIN, "DRAM (HBM3e): A, B and C", strong=True)
    d.arrow([(each, 400), (each, 350)], COPY.line, thick=3, head=9)
    peak = context["dram_peak_gbytes_s"] / 1000
    d.text(each + 14, 372, f"{peak:.2f} TB/s (arithmetic: bus width x clock)", size=12, color=COPY.line)
    d.text(each + 14, 390, f"{DRAM_TB_S} TB/s (lab measurement, reads and writes)", size=12, color=COPY.line)
    for y, content in (
        (70, f"{4 * sms} schedulers"),
        (113, f"{sms // 4} MiB"),
        (156, f"{128 * sms} lanes,"),
        (173, f"{4 * sms} tensor cores"),
        (237, f"{sms // 4} MiB"),
        (332, f"{context['l2_bytes'] >> 20} MiB"),
        (429, f"{context['memory_bytes'] / 2**30:.0f} GiB"),
    ):
        d.text(all_sms, y, content, size=12)


# ---- Memory accesses ----


@drawing(
    "Coalescing: the sectors that one load of a warp touches",
    "Chapter 01. Above, 32 lanes read 32 neighbouring floats of a row of B: four sectors of 32 bytes, all of which "
    "is used. Below, in the variant uncoalesced, 32 lanes read one float in each of 32 rows of A: 32 sectors, an "
    "eighth of each used.",
    490,
)
def coalescing(d: Drawing) -> None:
    relies_on("01_naive.cu", "constexpr int BLOCK = 32;", "sum += a[k] * b[k * p.ldb];")

    def lanes(y: float) -> None:
        for lane in range(32):
            d.labelled(40 + lane * 20, y, 20, 20, COMPUTE, str(lane), strong=True, size=12)

    d.text(20, 28, "01_naive: the lanes of a warp lie along a row of C and read along a row of B", bold=True)
    d.text(680, 52, "32 lanes", **NOTE, anchor="end")
    lanes(58)
    for lane in range(32):
        d.arrow([(50 + lane * 20, 78), (50 + lane * 20, 102)], B.line, thick=1, head=5)
        d.box(40 + lane * 20, 102, 20, 20, B, strong=True)
    for sector in range(4):
        d.rect(40 + sector * 160, 102, 160, 20, "none", INK, thick=2.5)
        d.text(120 + sector * 160, 140, f"sector {sector}: 32 B", size=12, anchor="middle")
    d.text(40, 166, "4 sectors for 32 floats: 128 B wanted, 128 B moved", bold=True, color=C.line)

    d.line([(20, 184), (700, 184)], BORDER, thick=1)
    d.text(20, 210, "01_naive:uncoalesced: the lanes lie down a column of C and read down a column of A", bold=True)
    lanes(222)
    left, top = 40, 272
    for lane in range(32):
        x, y = left + lane % 8 * 80, top + lane // 8 * 40
        for word in range(8):
            d.box(x + word * 9, y, 9, 18, A, strong=word == 0)
        d.rect(x, y, 72, 18, "none", INK, thick=2)
        d.text(x, y - 4, f"row {lane}", **NOTE)
    for lane, bend in ((0, 4.5), (1, 84.5), (2, 164.5)):
        d.arrow(
            [(50 + lane * 20, 242), (left + bend, 256)],
            A.line,
            thick=1,
            head=5,
        )
    d.text(252, 256, "... each lane has a row, and a sector, of its own", **NOTE)
    d.text(40, 430, "32 sectors for 32 floats: 128 B wanted, 1024 B moved", bold=True, color=BAD)
    d.key(40, 456, [(B.strong, B.line, "a float of B that a lane wants")])
    d.key(290, 456, [(A.strong, A.line, "a float of A that a lane wants")])
    d.key(530, 456, [(A.light, A.line, "moved for nothing")])
    d.text(
        40,
        478,
        "A sector is the least that moves between the caches. Later steps along k may still find the rest in the L1.",
        size=12,
        color=MUTED,
    )


@drawing(
    "Bank conflicts, and two cures",
    "Shared memory has 32 banks, a word of 4 bytes each per cycle. Lanes that read down a column of rows of 32 "
    "floats all want bank 0 and wait for each other: 8 rows take 8 wavefronts. With one float of padding per row, or "
    "with the tile transposed, each wants a bank of its own.",
    500,
)
def bank_conflicts(d: Drawing) -> None:
    relies_on("06_coarse_2d.cu", "constexpr int A_LD = BM + 4;")
    cell, high, rows = 10, 15, 8

    def memory(x: float, y: float, at: Callable[[int], int], pad: Callable[[int], int] | None = None) -> None:
        for row in range(rows):
            for bank in range(32):
                d.rect(x + bank * cell, y + row * high, cell, high, WAIT.light)
        if pad:
            for row in range(rows - 1):
                word = pad(row)
                d.rect(x + word % 32 * cell, y + word // 32 * high, cell, high, WAIT.line)
        for lane in range(rows):
            word = at(lane)
            d.rect(x + word % 32 * cell, y + word // 32 * high, cell, high, A.strong)
        d.grid(x, y, 32, rows, cell, high, tone("#c4cad1", "#444c56"), 0.5)
        d.text(x, y - 6, "bank 0", **NOTE)
        d.text(x + 32 * cell, y - 6, "bank 31", **NOTE, anchor="end")

    d.text(20, 28, "Rows of 32 floats", bold=True)
    d.text(20, 46, "8 lanes read down a column: all in bank 0", size=12)
    memory(20, 76, lambda lane: lane * 32)
    d.rect(19, 75, 12, rows * high + 2, "none", BAD, thick=2)
    d.text(20, 218, "8 wavefronts: the lanes take turns", bold=True, color=BAD)

    d.text(380, 28, "Rows padded to 33 floats", bold=True)
    d.text(380, 46, "the same column: each row is one bank further", size=12)
    memory(380, 76, lambda lane: lane * 33, lambda row: row * 33 + 32)
    d.text(380, 218, "1 wavefront: each lane has its own bank", bold=True, color=C.line)

    d.line([(20, 236), (700, 236)], BORDER, thick=1)
    d.text(20, 262, "Transposed on the way in", bold=True)
    d.text(20, 280, "what is read together lies side by side", size=12)
    memory(20, 310, lambda lane: lane)
    d.text(20, 452, "1 wavefront", bold=True, color=C.line)

    d.text(380, 262, "Chapter 06, vectorized", bold=True)
    d.lines(
        380,
        284,
        (
            "A is transposed on the way in, so a thread",
            "reads four rows of A with one 128-bit load.",
            "",
            "Now its stores meet: a warp stores 8 rows of A",
            "for k = 0, 4, 8 and 12.",
        ),
        size=12,
    )
    d.labelled(380, 374, 150, 46, WRONG, "rows of 128 floats:|4 lanes in a bank", size=12)
    d.labelled(550, 374, 150, 46, C, "padded to 132:|2 lanes in a bank", size=12)
    d.arrow([(531, 397), (549, 397)], INK)
    d.text(380, 440, "Four floats of padding, not one, keep each row", size=12)
    d.text(380, 457, "aligned to the 16 bytes of a wide load.", size=12)
    d.key(20, 482, [(A.strong, A.line, "a word that a lane reads")])
    d.key(220, 482, [(WAIT.line, WAIT.line, "padding, never read")])


# ---- Tiles ----


@drawing(
    "A block's tile of C, and the strips of A and B that it walks along K",
    "A block computes a tile of C, BM rows by BN columns. In each step it copies a k-tile of A, BM by BK, and one of "
    "B, BK by BN, into shared memory and adds their product; then it moves on along K.",
    424,
)
def tiles(d: Drawing) -> None:
    relies_on("02_smem_tiled.cu", "chapter<32, ThreadX::columns>()")
    relies_on("05_coarse_1d.cu", "constexpr int BM = 64;", "constexpr int BN = 64;", "constexpr int BK = 8;")
    relies_on("06_coarse_2d.cu", "constexpr int BM = 128;", "constexpr int BN = 128;", "constexpr int BK = 16;")
    relies_on("07_warptile_hilbert.cu", "constexpr int BM = 128;", "constexpr int BN = 256;", "constexpr int BK = 16;")
    relies_on("08_warp_specialized.cu", "constexpr int BK = 32;", "chapter<TileShape<Tile128x256>,")
    ax, ay, bx, by, k, n, m = 40, 204, 230, 26, 160, 220, 180
    row, tall, col, wide, step = 58, 54, 74, 88, 20
    d.box(ax, ay, k, m, A)
    d.box(bx, by, n, k, B)
    d.box(bx, ay, n, m, C)
    d.rect(ax, ay + row, k, tall, tone("#b9d5f2", "#23486f"))
    d.rect(bx + col, by, wide, k, tone("#fad592", "#6b4a10"))
    for i in range(1, k // step):
        d.line([(ax + i * step, ay + row), (ax + i * step, ay + row + tall)], A.line, thick=0.5)
        d.line([(bx + col, by + i * step), (bx + col + wide, by + i * step)], B.line, thick=0.5)
    d.rect(ax + 2 * step, ay + row, step, tall, A.strong, A.line, thick=2)
    d.rect(bx + col, by + 2 * step, wide, step, B.strong, B.line, thick=2)
    d.labelled(bx + col, ay + row, wide, tall, C, "BM x BN", strong=True, bold=True, thick=2)
    d.arrow([(ax + 3 * step + 4, ay + row + tall / 2), (ax + k - 6, ay + row + tall / 2)], A.line, thick=2)
    d.arrow([(bx + col + wide / 2, by + 3 * step + 4), (bx + col + wide / 2, by + k - 6)], B.line, thick=2)
    d.text(ax + 8, ay + 22, "A", bold=True, size=16, color=A.line)
    d.text(bx + 8, by + 22, "B", bold=True, size=16, color=B.line)
    d.text(bx + 8, ay + 22, "C", bold=True, size=16, color=C.line)
    d.text(ax + 2.5 * step, ay + row - 6, "BK", size=12, anchor="middle", color=A.line)
    d.text(bx + col - 6, by + 2 * step + 15, "BK", size=12, anchor="end", color=B.line)
    d.span(ax, ax + k, 396, "K", above=False)
    d.span(bx, bx + n, 396, "N", above=False)
    d.span_down(24, ay, ay + m, "M")
    d.text(40, 42, "A block, in each step:", bold=True)
    for y, mark, content in (
        (66, "1.", "copies a k-tile of A"),
        (84, "", "and one of B to"),
        (102, "", "shared memory,"),
        (124, "2.", "adds their product"),
        (142, "", "to its tile of C,"),
        (164, "3.", "moves on along K."),
    ):
        if mark:
            d.text(40, y, mark)
        d.text(60, y, content)
    x = 482
    d.text(x, 42, "Tiles of this ladder", bold=True)
    for at, content in ((0, "chapter"), (84, "BM x BN"), (176, "BK")):
        d.text(x + at, 66, content, **NOTE)
    for i, (chapter, area, depth) in enumerate(
        (
            ("02", "32 x 32", "32"),
            ("05", "64 x 64", "8"),
            ("06", "128 x 128", "16"),
            ("07", "128 x 256", "16"),
            ("08", "128 x 256", "32"),
        )
    ):
        for at, content in ((0, chapter), (84, area), (176, depth)):
            d.text(x + at, 88 + i * 21, content)
    d.text(x, 226, "Larger tiles read less", bold=True)
    d.lines(
        x,
        250,
        (
            "An element of A, once copied,",
            "serves BN columns of C. One",
            "of B serves BM rows.",
            "",
            "Global memory is read",
            "K / BN + K / BM times for",
            "each element of C.",
        ),
        step=19,
    )


@drawing(
    "A thread's tile: the outer product of a column of A and a row of B",
    "Chapter 06. For one k a thread reads eight values of A and eight of B into registers and multiplies each with "
    "each: 64 multiply-adds into 64 sums that stay in registers.",
    380,
)
def thread_tile(d: Drawing) -> None:
    relies_on("05_coarse_1d.cu", "constexpr int COARSE = 8;")
    relies_on("06_coarse_2d.cu", "constexpr int TM = 8;", "constexpr int TN = 8;", "sums[i][j] += a[i] * b[j];")
    relies_on("07_warptile_hilbert.cu", "constexpr int TM = 16;", "constexpr int TN = 8;")
    x, y, cell = 100, 92, 30
    i_at, j_at = 2, 5
    for i in range(8):
        chosen = i == i_at
        d.labelled(x - 46, y + i * cell, 34, cell - 4, A, f"a{i}", strong=chosen, size=12, bold=chosen)
    for j in range(8):
        chosen = j == j_at
        d.labelled(x + j * cell, y - 40, cell - 4, 28, B, f"b{j}", strong=chosen, size=12, bold=chosen)
    for i in range(8):
        for j in range(8):
            d.box(x + j * cell, y + i * cell, cell - 4, cell - 4, C, strong=(i, j) == (i_at, j_at))
    d.line([(x - 12, y + i_at * cell + 13), (x + j_at * cell, y + i_at * cell + 13)], A.line, thick=2)
    d.line([(x + j_at * cell + 13, y - 12), (x + j_at * cell + 13, y + i_at * cell)], B.line, thick=2)
    d.text(54, 28, "Chapter 06, one thread and one k", bold=True)
    d.text(x + 118, 46, "8 values of B", size=12, anchor="middle", color=B.line)
    d.text(40, y + 118, "8 values of A", size=12, anchor="middle", color=A.line, turned=True)
    d.text(x + 118, y + 8 * cell + 16, "64 sums of C, in registers over all k", size=12, anchor="middle", color=C.line)
    d.text(54, y + 8 * cell + 38, "sums[2][5] += a[2] * b[5]", bold=True)
    left = 392
    d.text(left, 28, "What a thread reads for one k", bold=True)
    for at, content in ((0, "chapter"), (70, "its tile"), (158, "it reads"), (226, "FMAs")):
        d.text(left + at, 56, content, **NOTE)
    d.text(left + 308, 56, "values", **NOTE, anchor="end")
    d.text(left + 308, 71, "per FMA", **NOTE, anchor="end")
    for n, (chapter, tall, wide) in enumerate((("01, 02", 1, 1), ("05", 8, 1), ("06", 8, 8), ("07, 08", 16, 8))):
        top, size = 80 + n * 64, 3
        d.line([(left, top), (left + 308, top)], BORDER, thick=1)
        d.text(left, top + 37, chapter)
        for i in range(tall):
            for j in range(wide):
                d.rect(
                    left + 70 + j * size, top + 32 - tall * size / 2 + i * size, size, size, C.strong, CARD, thick=0.5
                )
        d.text(left + 100, top + 37, f"{tall} x {wide}")
        d.text(left + 158, top + 37, f"{tall} + {wide}")
        d.text(left + 226, top + 37, str(tall * wide))
        d.text(left + 308, top + 37, number((tall + wide) / (tall * wide) + 1e-9), anchor="end", bold=True)
    d.line([(left, 336), (left + 308, 336)], BORDER, thick=1)
    d.text(left, 358, "Fewer values: less work for shared memory", **NOTE)


@drawing(
    "Tiles within tiles: block, warp and thread of chapter 07",
    "A block computes 128 by 256 elements of C with eight warps, each 64 by 64. Lanes lie in a zigzag, 4 by 8; a "
    "lane's 16 by 8 elements are eight patches of 4 by 4, 16 rows and 32 columns apart.",
    440,
)
def warp_tiling(d: Drawing) -> None:
    relies_on(
        "07_warptile_hilbert.cu",
        "constexpr int BM = 128;",
        "constexpr int BN = 256;",
        "constexpr int WM = 64;",
        "constexpr int WN = 64;",
        "constexpr int TM = 16;",
        "constexpr int TN = 8;",
        "const int lane_m = lane / 2 % LANES_M;",
        "const int lane_n = lane / (2 * LANES_M) * 2 + lane % 2;",
        "load_groups_of_4<TM, 4 * LANES_M>",
        "load_groups_of_4<TN, 4 * LANES_N>",
    )
    d.text(36, 28, "Block: 128 x 256", bold=True)
    x, y = 36, 74
    for warp in range(8):
        d.labelled(x + warp % 4 * 44, y + warp // 4 * 44, 44, 44, C, f"w{warp}", strong=warp == 0, size=12)
    d.span(x, x + 176, 62, "256 columns")
    d.span_down(26, y, y + 88, "128 rows")
    d.lines(
        36,
        190,
        (
            "8 warps.",
            "The 4 warps of a row share",
            "64 rows of A, the 2 of a",
            "column 64 columns of B.",
            "",
            "For one k a warp reads",
            "64 values of A and 64 of B",
            "from shared memory and",
            "makes 4096 products.",
        ),
        size=12,
    )

    wx, wy, cell = 262, 74, 18
    d.text(wx, 28, "Warp: 64 x 64, here warp 0", bold=True)
    d.span(wx, wx + 16 * cell, 62, "64 columns, a cell is a patch of 4 x 4")
    for row in range(16):
        for col in range(16):
            lane_row, lane_col = row % 4, col % 8
            lane = lane_col // 2 * 8 + lane_row * 2 + lane_col % 2
            mine = lane == 0
            d.rect(wx + col * cell, wy + row * cell, cell, cell, C.strong if mine else C.light)
            if row < 4 and col < 8:
                d.label(wx + col * cell, wy + row * cell, cell, cell, str(lane), size=12, bold=mine)
            elif mine:
                d.label(wx + col * cell, wy + row * cell, cell, cell, "0", size=12, bold=True)
    d.grid(wx, wy, 16, 16, cell, cell, tone("#9fcfae", "#2f5a3e"), 0.5)
    d.rect(wx, wy, 8 * cell, 4 * cell, "none", C.line, thick=2)
    d.rect(wx, wy, 16 * cell, 16 * cell, "none", C.line)
    d.arrow([(216, 96), (256, 96)], C.line, thick=2)
    d.text(234, 88, "w0", size=12, anchor="middle", color=C.line)
    d.arrow([(558, 96), (592, 96)], C.line, thick=2)
    d.text(600, 62, "here lane 0", **NOTE)
    d.lines(
        wx,
        wy + 16 * cell + 20,
        ("Numbers are lanes, in a zigzag of 4 x 8 (framed).", "It repeats every 16 rows and every 32 columns."),
        size=12,
    )
    d.text(wx, wy + 16 * cell + 58, "For one k a lane loads 6 times 128 bits: 4 of A and 2 of B.", size=12, bold=True)

    tx, ty, small = 600, 74, 11
    d.text(tx, 28, "Thread: 16 x 8", bold=True)
    for group_row in range(4):
        for group_col in range(2):
            left, top = tx + group_col * 52, ty + group_row * 52
            d.rect(left, top, 4 * small, 4 * small, C.strong)
            d.grid(left, top, 4, 4, small, small, C.line, 0.5)
    d.lines(
        tx,
        300,
        ("128 sums in", "registers: 4", "groups of rows,", "16 apart, and", "2 of columns,", "32 apart"),
        size=12,
    )


@drawing(
    "The order of tiles: row by row, and along a Hilbert curve",
    "C of 8192 by 8192 is 64 by 32 tiles, and 132 blocks work at one time. Row by row they need 5 strips of A and "
    "all 32 of B. Along a Hilbert curve they cover a compact area and need 16 strips of A and 10 of B: about half as "
    "much.",
    470,
)
def hilbert(d: Drawing) -> None:
    relies_on("07_warptile_hilbert.cu", "constexpr int BM = 128;", "constexpr int BN = 256;", "hilbert_tile(block,")
    rows, columns, at_work = 64, 32, 132
    wide, high = 9, 4.5
    orders = {
        "Row by row": [(i // columns, i % columns) for i in range(rows * columns)],
        "Along a Hilbert curve": [hilbert_tile(i, rows, columns) for i in range(rows * columns)],
    }
    needed = []
    for i, (name, order) in enumerate(orders.items()):
        x, y = 54 + i * 350, 92
        d.text(x, 28, name, bold=True)
        now = order[:at_work]
        a_rows, b_columns = sorted({r for r, _ in now}), sorted({c for _, c in now})
        needed.append(len(a_rows) * 128 + len(b_columns) * 256)
        d.rect(x - 26, y, 18, rows * high, A.light)
        d.rect(x, y - 26, columns * wide, 18, B.light)
        # In both orders the strips at work lie side by side.
        assert a_rows == list(range(len(a_rows))) and b_columns == list(range(len(b_columns)))
        d.rect(x - 26, y, 18, len(a_rows) * high, A.strong)
        d.rect(x, y - 26, len(b_columns) * wide, 18, B.strong)
        d.rect(x - 26, y, 18, rows * high, "none", A.line)
        d.rect(x, y - 26, columns * wide, 18, "none", B.line)
        d.rect(x, y, columns * wide, rows * high, C.light)
        for r in a_rows:
            mine = sorted(c for row, c in now if row == r)
            d.rect(x + mine[0] * wide, y + r * high, len(mine) * wide, high + 0.5, C.strong)
        for tiles, color, thick in ((order[at_work - 1 :], tone("#7fae90", "#4f7f60"), 0.6), (now, C.line, 1.2)):
            path: list[tuple[float, float]] = []
            for n, (r, c) in enumerate(tiles):
                if n and abs(r - tiles[n - 1][0]) + abs(c - tiles[n - 1][1]) > 1:  # back to the start of a row
                    d.line(path, color, thick=thick)
                    path = []
                path.append((x + (c + 0.5) * wide, y + (r + 0.5) * high))
            d.line(path, color, thick=thick)
        d.rect(x, y, columns * wide, rows * high, "none", C.line)
        d.text(
            x + columns * wide / 2, y - 32, f"B: {len(b_columns)} of 32 strips", size=12, anchor="middle", color=B.line
        )
        d.text(
            x - 32,
            y + rows * high / 2,
            f"A: {len(a_rows)} of 64 strips",
            size=12,
            anchor="middle",
            color=A.line,
            turned=True,
        )
        d.text(x, 402, f"{len(a_rows)} x 128 rows of A, {len(b_columns)} x 256 columns of B", size=12)
        d.text(x, 420, f"{needed[-1]} numbers for each k", bold=True, color=C.line if i else BAD)
    d.text(
        28, 446, "Strong green: the 132 tiles of 128 x 256 at work first, one for each SM (C of 8192 x 8192).", size=12
    )
    d.text(
        28,
        462,
        "All of them walk along k together, so what they share comes from DRAM once and is then found in the L2.",
        size=12,
        color=MUTED,
    )


# ---- Time ----


@drawing(
    "A pipeline of four slots: copies run beside the FMAs",
    "Chapter 06 copies a tile, waits at a barrier, then multiplies: one after the other. Chapter 07 has four slots; "
    "while one is multiplied, a copy to another is issued and two more are under way, so FMAs never pause.",
    440,
)
def pipeline(d: Drawing) -> None:
    relies_on("07_warptile_hilbert.cu", "constexpr int SLOTS = 4;", "cp_async_wait_group<SLOTS - 2>();")
    d.text(20, 28, "Chapter 06: a block copies, then multiplies", bold=True)
    x, wide = 100, 88
    d.text(20, 63, "the block", size=12)
    for i in range(3):
        left = x + i * 200
        d.labelled(left, 46, 112, 28, COPY, f"copy k-tile {i}", strong=True, size=12)
        d.labelled(left + 112, 46, 80, 28, COMPUTE, f"multiply {i}", strong=True, size=12)
        d.line([(left + 112, 40), (left + 112, 80)], INK, thick=2)
        d.line([(left + 196, 40), (left + 196, 80)], INK, thick=2)
    d.text(
        x,
        98,
        "Thick lines: barriers of the block. While it copies, it issues no FMAs. (Not to scale.)",
        size=12,
        color=MUTED,
    )
    d.line([(20, 116), (700, 116)], BORDER, thick=1)

    d.text(20, 142, "Chapter 07: four slots, each for one k-tile", bold=True)
    top, high, wide = 174, 34, 85
    for step in range(-1, 6):
        left = x + (step + 1) * wide
        if step < 0:
            d.text(left + wide / 2, 166, "start", size=12, anchor="middle", color=MUTED)
        else:
            d.text(left + wide / 2, 166, f"step {step}", size=12, anchor="middle", color=MUTED)
        if step >= 0:
            d.line([(left, 170), (left, top + 5 * high + 14)], BORDER, thick=1, dash="3 3")
    for slot in range(4):
        y = top + slot * high
        d.text(20, y + 22, f"slot {slot}", size=12)
        for step in range(-1, 6):
            left = x + (step + 1) * wide
            away = (slot - step) % 4  # steps until this slot is multiplied
            tile = step + away
            if step < 0:
                if slot < 3:
                    d.labelled(left, y + 3, wide, high - 6, COPY, f"issue {slot}", strong=True, size=12)
            elif away == 0:
                d.labelled(left, y + 3, wide, high - 6, COMPUTE, f"multiply {tile}", strong=True, size=12)
            elif away == 3:
                d.labelled(left, y + 3, wide, high - 6, COPY, f"issue {tile}", strong=True, size=12)
            else:
                d.labelled(left, y + 3, wide, high - 6, COPY, f"{tile} arrives", size=12)
    y = top + 4 * high + 12
    d.text(20, y + 19, "FMA units", size=12)
    d.labelled(x, y, wide, 28, WAIT, "wait", size=12, dash="4 3")
    d.labelled(x + wide, y, 6 * wide, 28, COMPUTE, "multiply, step after step", strong=True, size=12, bold=True)
    d.arrow([(x, y + 44), (x + 7 * wide, y + 44)], MUTED)
    d.text(x + 7 * wide, y + 60, "time", size=12, anchor="end", color=MUTED)
    d.text(
        x, y + 60, "Between steps: wait until the next k-tile is there, and until all have read the last one.", size=12
    )
    d.key(20, y + 88, [(COPY.strong, COPY.line, "12 cp.async a thread, spread over a step")])
    d.key(340, y + 88, [(COPY.light, COPY.line, "under way")])
    d.key(470, y + 88, [(COMPUTE.strong, COMPUTE.line, "one step: 2048 FMAs a thread")])


@drawing(
    "Producer warps, consumer warps, and the ring between them",
    "Chapter 08. Four producer warps fill a ring of four slots, eight consumer warps empty it. Each slot has two "
    "mbarriers: full, with 128 arrivals, says that the copies have arrived; empty, with 8 arrivals, that all "
    "consumer warps have read it.",
    424,
)
def mbarrier_ring(d: Drawing) -> None:
    relies_on(
        "08_warp_specialized.cu",
        "static constexpr int SLOTS = 4;",
        "constexpr int BK = 32;",
        "constexpr int PRODUCER_WARPS = 4;",
        "mbarrier_init(at.full, PRODUCER_THREADS);",
        "mbarrier_init(at.empty(), Shape::CONSUMER_WARPS);",
        "static constexpr int PRODUCER_REGISTERS = 72;",
    )
    d.text(20, 28, "4 producer warps", bold=True, color=COPY.line)
    d.rect(20, 40, 178, 250, COPY.light, COPY.line, round_by=6)
    for i in range(4):
        d.labelled(30 + i * 41, 52, 35, 30, COPY, f"w{8 + i}", strong=True, size=12)
    d.text(540, 28, "8 consumer warps", bold=True, color=COMPUTE.line)
    d.rect(540, 40, 160, 250, RAISED, COMPUTE.line, round_by=6)
    for i in range(8):
        d.labelled(550 + i % 4 * 36, 52 + i // 4 * 34, 32, 28, COMPUTE, f"w{i}", strong=True, size=12)
    for x, y, step, contents in (
        (
            30,
            110,
            20,
            (
                "for each k-tile:",
                "1. wait for empty",
                "2. issue the copies",
                "3. the copies, once",
                "    done, arrive at full",
            ),
        ),
        (
            550,
            140,
            20,
            (
                "for each k-tile:",
                "1. wait for full",
                "2. read, multiply",
                "3. arrive at empty",
                "    (one lane a warp)",
            ),
        ),
    ):
        for n, content in enumerate(contents):
            d.text(x + 16 * content.startswith("  "), y + n * step, content.strip(), size=12)
    d.text(30, 276, "72 registers a thread", size=12, color=COPY.line)
    d.text(550, 276, "216 registers", size=12, color=COMPUTE.line)

    d.text(366, 28, "ring of 4 slots, k-tiles of 32", bold=True, anchor="middle")
    states = (
        ("slot 0", "being read", COMPUTE.light, COMPUTE.line),
        ("slot 1", "filled", C.light, C.line),
        ("slot 2", "being filled", COPY.light, COPY.line),
        ("slot 3", "free", WAIT.light, WAIT.line),
    )
    for i, (name, state, fill, line) in enumerate(states):
        y = 40 + i * 66
        d.rect(284, y, 164, 52, fill, line, thick=1.5, round_by=4)
        d.text(294, y + 21, name, bold=True)
        d.text(294, y + 40, state, size=12)
        if state != "free":
            d.labelled(376, y + 7, 32, 17, A, "A", strong=True, size=12)
            d.labelled(376, y + 28, 64, 17, B, "B", strong=True, size=12)
    d.arrow([(448, 66), (538, 66)], COMPUTE.line, thick=2.5, head=9)
    d.text(494, 58, "reads", size=12, anchor="middle", color=COMPUTE.line)
    d.arrow([(448, 132), (538, 132)], C.line, thick=2.5, head=9, dash="5 3")
    d.text(494, 124, "full: read it", size=12, anchor="middle", color=C.line)
    d.arrow([(198, 198), (282, 198)], COPY.line, thick=2.5, head=9)
    d.text(240, 190, "copies", size=12, anchor="middle", color=COPY.line)
    d.arrow([(284, 264), (200, 264)], PLAIN.line, thick=2.5, head=9, dash="5 3")
    d.text(241, 256, "empty: fill it", size=12, anchor="middle", color=PLAIN.line)

    d.line([(20, 306), (700, 306)], BORDER, thick=1)
    d.text(20, 330, "Two mbarriers for each slot, instead of a barrier of the whole block", bold=True)
    d.labelled(20, 344, 60, 26, C, "full", bold=True)
    d.text(92, 362, "counts 128 arrivals, one of each producer thread: its copies have arrived")
    d.labelled(20, 380, 60, 26, WAIT, "empty", bold=True)
    d.text(92, 398, "counts 8 arrivals, one of each consumer warp: it has read the slot")


@drawing(
    "The order of FMAs and the two banks of the register file",
    "Chapter 08. The sums of even columns are in bank 0, those of odd columns in bank 1. Two FMAs in a row that "
    "write to the same bank cost time. Down the columns nearly all collide, in serpentine order one at each turn, "
    "and in the chapter's order four in 128.",
    430,
)
def register_banks(d: Drawing) -> None:
    relies_on(
        "08_warp_specialized.cu",
        "BY_PARITY[TM] = {0, 2, 1, 3, 5, 7, 4, 6, 8, 10, 9, 11, 13, 15, 12, 14};",
        "const int column = i % 2 == 0 ? j : TN - 1 - j;",
        "? column ^ ((i + row_in_order<ORDER>(i) + 1) % 2) : column;",
    )
    by_parity = (0, 2, 1, 3, 5, 7, 4, 6, 8, 10, 9, 11, 13, 15, 12, 14)

    def forth_and_back(i: int, j: int) -> int:
        return j if i % 2 == 0 else 7 - j

    orders = (
        ("Column by column, rows down", [(row, column) for column in range(8) for row in range(16)]),
        ("Row by row, forth and back (serpentine)", [(i, forth_and_back(i, j)) for i in range(16) for j in range(8)]),
        (
            "This chapter: a row starts in the bank that the last one did not end in",
            [(by_parity[i], forth_and_back(i, j) ^ ((i + by_parity[i] + 1) % 2)) for i in range(16) for j in range(8)],
        ),
    )
    d.text(20, 28, "A thread's sums: 16 rows of 8. The sum of column j is in register bank j % 2.", bold=True)
    d.key(20, 52, [(C.light, C.line, "writes to bank 0 (even column)")])
    d.key(250, 52, [(C.strong, C.line, "writes to bank 1 (odd column)")])
    d.rect(470, 41, 14, 14, "none", BAD, thick=2.5)
    d.text(492, 52, "same bank as the FMA before", size=12)
    shown, cell = 32, 20
    for n, (name, order) in enumerate(orders):
        y = 92 + n * 104
        collisions = sum(a[1] % 2 == b[1] % 2 for a, b in itertools.pairwise(order))
        d.text(40, y, name, bold=True, size=12)
        d.text(680, y, f"{collisions} of 128 collide", anchor="end", bold=True, color=C.line if n == 2 else BAD)
        for i, (_, column) in enumerate(order[:shown]):
            d.labelled(40 + i * cell, y + 12, cell, 26, C, str(column), strong=column % 2 == 1, size=12)
        for i in range(1, shown):
            if order[i][1] % 2 == order[i - 1][1] % 2:
                d.rect(40 + i * cell + 1.5, y + 13.5, cell - 3, 23, "none", BAD, thick=2.5)
        if n == 0:
            groups = [(0, 16, "column 0: rows 0 to 15"), (16, 32, "column 1: rows 0 to 15")]
        else:
            groups = [(i, i + 8, f"row {order[i][0]}") for i in range(0, shown, 8)]
        for first, last, label in groups:
            d.line([(40 + first * cell + 2, y + 44), (40 + last * cell - 2, y + 44)], MUTED, thick=1)
            d.text(40 + (first + last) * cell / 2, y + 59, label, size=12, anchor="middle", color=MUTED)
        d.text(24, y + 30, "j", **NOTE)
    d.arrow([(40, 378), (680, 378)], MUTED)
    d.text(680, 394, "time, the first 32 of a thread's 128 FMAs for one k", size=12, anchor="end", color=MUTED)
    d.text(
        40,
        416,
        "By experiment: NVIDIA does not document what a bank can write. The page tells how it was found.",
        size=12,
        color=MUTED,
    )


@drawing(
    "Stream-k: five blocks share three tiles along k",
    "With one block per tile, three blocks work for eight steps and two are idle. With stream-k the 24 k-tiles are "
    "dealt out in shares of 5, 5, 5, 5 and 4. Blocks whose part does not begin at k = 0 hand their sums to the "
    "owner, which adds them and stores the tile.",
    514,
)
def stream_k(d: Drawing) -> None:
    relies_on(
        "engine/stream_k.cuh",
        "static_cast<int>(gridDim.x - 1 - blockIdx.x)",
        "index * share + (index < longer_shares ? index : longer_shares)",
    )
    hues = (C.light, tone("#a5dab5", "#215433"), C.strong)
    d.text(20, 28, "3 tiles of C with 8 k-tiles each, for 5 blocks", bold=True)
    x, cell = 90, 24
    share_of = [i // 5 for i in range(24)]
    for i in range(24):
        tile = i // 8
        d.rect(x + i * cell, 56, cell, 26, hues[tile], C.line, thick=0.75)
        d.label(x + i * cell, 56, cell, 26, str(i % 8), size=12)
    for tile in range(3):
        d.text(x + (tile * 8 + 4) * cell, 49, f"tile {tile}", size=12, anchor="middle", bold=True, color=C.line)
        d.rect(x + tile * 8 * cell, 56, 8 * cell, 26, "none", C.line, thick=2)
    d.text(20, 73, "k-tile", size=12)
    d.text(20, 104, "share of", size=12)
    for share in range(5):
        members = [i for i in range(24) if share_of[i] == share]
        left, right = x + members[0] * cell, x + (members[-1] + 1) * cell
        d.line([(left + 3, 92), (right - 3, 92)], COMPUTE.line, thick=2.5)
        d.text((left + right) / 2, 108, f"block {4 - share}", size=12, anchor="middle")

    d.line([(20, 124), (700, 124)], BORDER, thick=1)
    d.text(20, 148, "One block for each tile", bold=True)
    top, pitch, unit = 160, 32, 26
    for i in range(5):
        y = top + i * pitch
        d.text(20, y + 17, f"block {i}", size=12)
        if i < 3:
            d.rect(74, y, 8 * unit, 24, hues[i], C.line)
            d.label(74, y, 8 * unit, 24, f"tile {i}, k-tiles 0-7", size=12)
        else:
            d.labelled(74, y, 8 * unit, 24, WAIT, "idle", size=12, dash="4 3")
    d.text(74, top + 5 * pitch + 14, "8 steps", bold=True, color=BAD)

    left, unit = 394, 32
    d.text(left - 56, 148, "Stream-k: equal shares", bold=True)
    shares = {4: [(0, 0, 4)], 3: [(0, 5, 7), (1, 0, 1)], 2: [(1, 2, 6)], 1: [(1, 7, 7), (2, 0, 3)], 0: [(2, 4, 7)]}
    y_of = {block: top + n * pitch for n, block in enumerate(shares)}
    end, adds = left + 5 * unit, left + 5 * unit + 38
    for block, parts in shares.items():
        y, x = y_of[block], left
        d.text(left - 56, y + 17, f"block {block}", size=12)
        for tile, first, last in parts:
            span = last - first + 1
            d.rect(x, y, span * unit, 24, hues[tile], C.line)
            k = f"{first}" if first == last else f"{first}-{last}"
            d.label(x, y, span * unit, 24, f"tile {tile}, {k}" if span > 2 else k, size=12)
            x += span * unit
    for block in (4, 3, 1):
        d.arrow([(end, y_of[block] + 7), (adds, y_of[block] + 7)], C.line, head=6)
        d.labelled(adds, y_of[block], 102, 24, C, "adds, stores C", size=12)

    # Sums that are handed over: from the end of a part to its tile's owner.
    def hand_over(x: float, block: int, owner: int, lane: float, arrive: float) -> None:
        y = y_of[block]
        out = [(x, y), (x, y - 4)] if x < end - unit else [(x, y + 14)]
        d.arrow(
            [*out, (lane, out[-1][1]), (lane, y_of[owner] + arrive), (adds, y_of[owner] + arrive)], COPY.line, head=6
        )

    hand_over(left + 3 * unit, 3, 4, end + 20, 17)
    hand_over(end, 2, 3, end + 12, 15)
    hand_over(left + unit, 1, 3, end + 24, 20)
    d.arrow(
        [(left + 4 * unit, y_of[0] + 12), (end + 20, y_of[0] + 12), (end + 20, y_of[1] + 17), (adds, y_of[1] + 17)],
        COPY.line,
        head=6,
    )
    d.text(left, top + 5 * pitch + 14, "5 steps, and a hand-over of sums", bold=True, color=C.line)
    d.text(
        20,
        358,
        "Purple: sums go through global memory to the tile's owner, the block that has its k = 0.",
        size=12,
        color=COPY.line,
    )

    d.line([(20, 374), (700, 374)], BORDER, thick=1)
    d.text(20, 398, "At 3072 x 3072 x 2048: 288 tiles of 128 x 256 for 132 SMs, 2.18 rounds", bold=True)
    x, unit = 150, 168
    d.text(20, 427, "one block a tile", size=12)
    for i in range(2):
        d.labelled(x + i * unit, 410, unit, 26, C, "132 tiles", size=12)
    d.labelled(x + 2 * unit, 410, unit, 26, WAIT, "24 tiles, 108 SMs idle", size=12, dash="4 3")
    d.text(20, 463, "stream-k", size=12)
    d.labelled(x, 446, 1.18 * unit, 26, COPY, "156 tiles in 132 shares", size=12)
    d.labelled(x + 1.18 * unit, 446, unit, 26, C, "132 tiles", size=12)
    d.arrow([(x, 486), (x + 3 * unit, 486)], MUTED)
    d.text(x + 3 * unit, 502, "time", size=12, anchor="end", color=MUTED)
    d.text(20, 502, "Shares come first, so handed-over sums are there in time.", **NOTE)


# ---- Split products ----


@drawing(
    "One FP32 number as three BF16 terms or two FP16 terms, and the products that are kept",
    "The 24 significant bits of a float are covered by three BF16 terms of 8 bits each, or by two scaled FP16 terms "
    "of 11 bits each. Of the nine products of BF16 terms six are kept, of the four of FP16 terms three.",
    500,
)
def splitting(d: Drawing) -> None:
    relies_on(
        "engine/split_schemes.cuh",
        "{{2, 0}, {0, 2}, {1, 1}, {1, 0}, {0, 1}, {0, 0}}",
        "static constexpr int TERMS = 3;",
    )
    relies_on("engine/split_schemes.cuh", "{{1, 0}, {0, 1}, {0, 0}}", "static constexpr int TERMS = 2;")
    x, cell = 250, 18

    def term(y: float, name: str, exponent: int, first: int, bits: int, paint: Paint, note: str = "") -> None:
        d.text(20, y + 16, name)
        d.labelled(134, y, 18, 22, PLAIN, "s", size=12)
        d.labelled(152, y, 88, 22, PLAIN, f"exponent {exponent}", size=12)
        for bit in range(bits):
            d.box(x + (first + bit) * cell, y, cell, 22, paint, strong=True)
        if note:
            d.text(x + (first + bits) * cell + 8, y + 16, note, **NOTE)

    d.text(20, 28, "Significant bits, the first of them not stored", bold=True)
    term(44, "FP32   x", 8, 0, 24, A)
    d.text(x + 24 * cell / 2, 39, "24 bits", size=12, anchor="middle", color=MUTED)
    for i in range(3):
        term(80 + i * 27, f"BF16   x{i + 1}", 8, 8 * i, 8, TERM, ("8 bits", "8 more", "")[i])
    d.text(x + 8, 80 + 2 * 27 + 16, "x = x1 + x2 + x3, nothing is lost", size=12, color=A.line)
    for i in range(2):
        term(172 + i * 27, f"FP16   x{i + 1}", 5, 11 * i, 11, TERM, ("11 bits", "")[i])
    d.text(x + 8, 172 + 27 + 16, "scaled: 5 bits of exponent", size=12, color=A.line)
    d.rect(x + 22 * cell, 172 + 27, 2 * cell, 22, "none", MUTED, dash="3 2")
    d.text(
        x + 24 * cell,
        240,
        "The sign of x2 is worth one bit more: at most the last of the 24 bits is lost.",
        size=12,
        anchor="end",
        color=MUTED,
    )

    top = 300
    d.line([(20, 256), (700, 256)], BORDER, thick=1)
    d.text(20, 280, "Chapter 11: six of nine products", bold=True)
    sizes = (("1", "2^-8", "2^-17"), ("2^-8", "2^-16", "2^-25"), ("2^-17", "2^-25", "2^-34"))
    for j in range(3):
        d.labelled(74 + j * 84, top, 78, 24, B, f"b{j + 1}", strong=True, size=12)
    for i in range(3):
        d.labelled(30, top + 30 + i * 42, 38, 36, A, f"a{i + 1}", strong=True, size=12)
        for j in range(3):
            kept = i + j <= 2
            left, y = 74 + j * 84, top + 30 + i * 42
            if kept:
                d.labelled(left, y, 78, 36, C, f"a{i + 1} b{j + 1}|{sizes[i][j]}", strong=True, size=12)
            else:
                d.labelled(left, y, 78, 36, WAIT, f"a{i + 1} b{j + 1}|{sizes[i][j]}", size=12, dash="4 3", color=MUTED)

    d.text(380, 280, "Chapter 12: three of four products", bold=True)
    sizes2 = (("1", "2^-11"), ("2^-11", "2^-22"))
    for j in range(2):
        d.labelled(434 + j * 84, top, 78, 24, B, f"b{j + 1}", strong=True, size=12)
    for i in range(2):
        d.labelled(390, top + 30 + i * 42, 38, 36, A, f"a{i + 1}", strong=True, size=12)
        for j in range(2):
            left, y = 434 + j * 84, top + 30 + i * 42
            if i + j <= 1:
                d.labelled(left, y, 78, 36, C, f"a{i + 1} b{j + 1}|{sizes2[i][j]}", strong=True, size=12)
            else:
                d.labelled(left, y, 78, 36, WAIT, f"a{i + 1} b{j + 1}|{sizes2[i][j]}", size=12, dash="4 3", color=MUTED)
    d.key(390, 438, [(C.strong, C.line, "kept, on tensor cores"), (WAIT.light, WAIT.line, "left out")])
    d.text(
        20,
        482,
        "Below each product: its size at most, relative to a b. The smallest are added first.",
        size=12,
        color=MUTED,
    )


@drawing(
    "The 128-byte swizzle of wgmma's operands in shared memory",
    "Chapter 11. A row of an operand is 128 bytes, eight groups of 16. Stored plainly, group 2 of eight rows lies in "
    "the same four banks. Swizzled, place c of row r holds group c XOR r, and group 2 of eight rows covers all 32 "
    "banks.",
    420,
)
def swizzle(d: Drawing) -> None:
    relies_on("ptx/wgmma.cuh", "return offset ^ (offset >> 3U & 0x70U);")
    relies_on("engine/split_operands.cuh", "static_assert(BK * 2 == WGMMA_ROW_BYTES")
    cell, high = 37, 28
    for n, (name, swizzled) in enumerate(
        (("Plain: rows below one another", False), ("Swizzled: group c XOR r in place c", True))
    ):
        x, y = 54 + n * 350, 90
        d.text(x, 28, name, bold=True)
        d.text(x, 50, "place c: 16 bytes, four banks", **NOTE)
        for c in range(8):
            d.text(x + c * cell + cell / 2, y - 8, str(c), size=12, anchor="middle", color=MUTED)
        for r in range(8):
            d.text(x - 8, y + r * high + 18, f"row {r}", size=12, anchor="end", color=MUTED)
            for c in range(8):
                group = c ^ r if swizzled else c
                d.labelled(x + c * cell, y + r * high, cell, high, A, str(group), strong=group == 2, bold=group == 2)
        if not swizzled:
            d.rect(x + 2 * cell - 2, y - 2, cell + 4, 8 * high + 4, "none", BAD, thick=2.5)
        if swizzled:
            d.text(x, y + 8 * high + 24, "Group 2 of 8 rows: all 32 banks", bold=True, color=C.line)
            d.text(x, y + 8 * high + 42, "1 wavefront", size=12)
        else:
            d.text(x, y + 8 * high + 24, "Group 2 of 8 rows: the same 4 banks", bold=True, color=BAD)
            d.text(x, y + 8 * high + 42, "8 wavefronts", size=12)
    d.text(
        20,
        388,
        "Numbers are groups of 8 terms (16 bytes). wgmma reads the same group of eight rows at a time.",
        size=12,
    )
    d.text(
        20,
        406,
        "The kernel that splits stores operand tiles in this order, so one bulk copy moves a tile as it is.",
        size=12,
        color=MUTED,
    )


@drawing(
    "Two kernels of chapters 11 and 12: a splitting pass, then one block that stays on each SM",
    "First 4096 small blocks split A and B into terms. Then 128 blocks stay on their SMs and take tile after tile "
    "along the Hilbert curve, four each at 4096. Copies for the next tile run while C is stored.",
    444,
)
def persistent(d: Drawing) -> None:
    relies_on("engine/split_operands.cuh", "constexpr int SPLIT_THREADS = 256;", "constexpr int PANEL = 128;")
    d.text(20, 28, "Chapters 11 and 12 at 4096: 512 tiles of C for 128 blocks", bold=True)
    left, first, wide, store = 90, 252, 86, 22
    d.text((left + first - 22) / 2, 56, "kernel 1 splits", size=12, bold=True, anchor="middle", color=COPY.line)
    d.text(
        (first + 700) / 2, 56, "kernel 2 multiplies: one block stays on each SM", size=12, bold=True, anchor="middle"
    )
    for n, (sm, y) in enumerate(((0, 72), (1, 140), (127, 236))):
        d.text(20, y + 18, f"SM {sm}")
        for i in range(9):
            for j in range(3):
                d.box(left + i * 15, y + j * 16, 13, 14, COPY, strong=True)
        d.box(first - 16, y + 28, 4 * (wide + store) - 26, 17, COPY)
        d.label(
            first - 16,
            y + 28,
            4 * (wide + store) - 26,
            17,
            "copies run on from tile to tile" if n == 0 else "",
            size=12,
        )
        for k in range(4):
            x = first + k * (wide + store)
            d.labelled(x, y, wide, 26, COMPUTE, f"tile {sm + 128 * k}", strong=True, size=12)
            d.labelled(x + wide, y, store, 26, C, "C", strong=True, size=12)
    d.text(20, 216, "...", bold=True)
    d.text(20, 310, "4 more", size=13)
    for i in range(9):
        for j in range(3):
            d.box(left + i * 15, 292 + j * 16, 13, 14, COPY, strong=True)
    d.labelled(
        first, 292, 4 * (wide + store), 26, WAIT, "idle: 512 tiles are four for each of 128 SMs", size=12, dash="4 3"
    )
    d.line([(first - 24, 62), (first - 24, 344)], INK, thick=1.5, dash="4 3")
    d.arrow([(left, 352), (700, 352)], MUTED)
    d.text(700, 368, "time, not to scale", size=12, anchor="end", color=MUTED)
    d.key(
        20,
        386,
        [
            (
                COPY.strong,
                COPY.line,
                "a block of 256 threads splits 128 rows of A, or columns of B, by 64 of k: 4096 blocks",
            ),
            (COMPUTE.strong, COMPUTE.line, "all k of a tile of 128 x 256 (tiles are numbered along the Hilbert curve)"),
            (C.strong, C.line, "a tile of C is stored, while the next tile's first operands are on their way"),
        ],
    )


# ---- More of single chapters ----


@drawing(
    "Tiles against strips: the work between two barriers",
    "Chapter 02 copies k-tiles of 32 and makes 32 multiply-adds a thread between two pairs of barriers. Chapter 03 "
    "copies one k and makes one multiply-add, and only 63 of its 1024 threads copy.",
    416,
)
def strips(d: Drawing) -> None:
    relies_on("02_smem_tiled.cu", "chapter<32, ThreadX::columns>()")
    relies_on(
        "03_smem_strip_tiled.cu", "constexpr int TILE = 32;", "if (threadIdx.x == 0) {", "if (threadIdx.y == 0) {"
    )
    size, cell = 112, 3.5
    for n, (name, depth) in enumerate((("02: tiles of 32 x 32", 32), ("03: strips of one k", 1))):
        x, y = 20 + n * 350, 44
        d.text(x, 28, name, bold=True)
        deep = depth * cell
        left, top = x + size + 8, y + size + 8
        d.box(left - 8 - deep, top, deep, size, A, strong=True)
        d.box(left, top - 8 - deep, size, deep, B, strong=True)
        d.box(left, top, size, size, C)
        where = "32 x 32" if depth > 1 else "1 x 32"
        if depth > 1:
            d.rect(left, top, size, size, COPY.strong, C.line)
            d.label(x, top, size, size, "A|32 x 32", size=12)
            d.label(left, y, size, size, "B|32 x 32", size=12)
            d.label(left, top, size, size, "1024 threads,|all copy", size=12)
        else:
            d.rect(left, top, size, cell * 2, COPY.strong, COPY.line)
            d.rect(left, top, cell * 2, size, COPY.strong, COPY.line)
            d.text(left - 18, top + size / 2, "A: 32 x 1", size=12, anchor="end")
            d.text(left + size / 2, top - 20, f"B: {where}", size=12, anchor="middle")
            d.label(left + 8, top + 8, size - 8, size - 8, "63 of 1024|threads copy", size=12)
        side = left + size + 12
        d.lines(
            side,
            top + 14,
            ("Between two", "barriers a", "thread makes", "32 FMAs." if depth > 1 else "1 FMA."),
            size=12,
        )
        # Time.
        at, low, copy, fma, what = (x, 308, 56, 230, "32 FMAs a thread") if depth > 1 else (x, 308, 42, 12, "")
        for _ in range(1 if depth > 1 else 4):
            d.labelled(at, low, copy, 26, COPY, "copy", strong=True, size=12)
            d.labelled(at + copy + 10, low, fma, 26, COMPUTE, what, strong=True, size=12)
            for barrier in (at + copy + 5, at + copy + fma + 15):
                d.line([(barrier, low - 4), (barrier, low + 30)], INK, thick=2.5)
            at += copy + fma + 20
        barriers = 2 * 4096 // depth
        d.text(x, 362, f"{barriers} barriers at K = 4096", bold=True, color=C.line if depth > 1 else BAD)
    d.arrow([(20, 378), (320, 378)], MUTED)
    d.arrow([(370, 378), (690, 378)], MUTED)
    d.text(
        20,
        400,
        "Purple: threads that copy, and the time for it. Thick lines: barriers of the block. Not to scale.",
        **NOTE,
    )


@drawing(
    "Chapter 04: each thread reads a row of A of its own",
    "64 threads compute a tile of 64 by 16. Thread r owns row r: it loads 4 values of that row of A into registers "
    "and multiplies each with 16 columns of B from shared memory. The 32 lanes of a warp read 32 rows, 32 sectors a "
    "load.",
    400,
)
def rows_in_registers(d: Drawing) -> None:
    relies_on(
        "04_smem_register_tiled.cu",
        "constexpr int TSZ_ROWS = 64;",
        "constexpr int TSZ_COLS = 16;",
        "constexpr int TSZ_STRIPS = TSZ_ROWS / TSZ_COLS;",
    )
    d.text(20, 28, "Tile of C: 64 x 16, one thread for each row", bold=True)
    cell, x, y = 16, 190, 128
    for row in range(13):
        shown = row if row < 6 else 31 if row == 7 else 32 if row == 8 else 63 if row == 12 else None
        top = y + row * 18
        if shown is None and row != 6 and row not in (9, 10, 11):
            continue
        if shown is None:
            if row in (6, 10):
                d.text(x - 40, top + 8, "...", anchor="middle", color=MUTED)
            continue
        d.text(84, top + 12, f"thread {shown}", size=12, anchor="end")
        for k in range(4):
            d.box(96 + k * cell, top, cell, 15, A, strong=True)
        d.arrow([(164, top + 7.5), (186, top + 7.5)], A.line, thick=1, head=5)
        for col in range(16):
            d.box(x + col * cell, top, cell, 15, C, strong=shown == 2)
    for row in range(4):
        for col in range(16):
            d.box(x + col * cell, 52 + row * 15, cell, 15, B, strong=True)
    d.arrow([(x + 8 * cell, 114), (x + 8 * cell, 126)], B.line, thick=2, head=6)
    d.text(96, 66, "4 values of A", size=12, color=A.line)
    d.text(96, 82, "in registers", size=12, color=A.line)
    d.text(x + 16 * cell + 12, 66, "4 x 16 of B in shared memory, read", size=12, color=B.line)
    d.text(x + 16 * cell + 12, 82, "by all threads at the same time", size=12, color=B.line)
    d.text(x + 16 * cell + 12, y + 48, "a thread's 16 sums", size=12, color=C.line)
    left = x + 16 * cell + 12
    d.text(left, y + 92, "B: good", bold=True, color=C.line)
    d.lines(left, y + 112, ("All lanes want the same words:", "a broadcast, 2 wavefronts for", "16 bytes."), size=12)
    d.text(left, y + 176, "A: bad", bold=True, color=BAD)
    d.lines(
        left,
        y + 196,
        ("32 lanes want 32 rows: 32 sectors", "and 32 wavefronts for each load,", "as in 01_naive:uncoalesced."),
        size=12,
    )
    d.text(20, 384, "A value of A serves 16 columns from its register, but the way there limits the kernel.", **NOTE)


@drawing(
    "Slices: eight warps share the k of one small tile",
    "Chapter 09, tile 64 by 64. Each of eight warps computes all 64 by 64 elements, for 8 of the 64 values of k in a "
    "k-tile. "
    "At the end the eight partial sums of each element are added through shared memory, each warp finishing a share "
    "of the rows.",
    430,
)
def slices(d: Drawing) -> None:
    relies_on("09_every_shape.cu", "constexpr int HALF = TM / 2;")
    d.text(20, 28, "Tile 64 x 64, k-tile of 64: eight warps, eight slices of k", bold=True)
    x, y, wide, tall = 60, 52, 30, 120
    d.text(20, y + 60, "A", bold=True, size=16, color=A.line)
    for warp in range(8):
        d.labelled(x + warp * wide, y, wide, tall, A, f"w{warp}", strong=warp % 2 == 0, size=12)
    d.text(x, y + tall + 20, "64 rows, k-tile of 64: 8 for each warp", size=12)
    bx = 400
    d.text(bx - 34, y + 60, "B", bold=True, size=16, color=B.line)
    for warp in range(8):
        d.labelled(bx, y + warp * 15, 240, 15, B, "", strong=warp % 2 == 0)
        d.text(bx + 246, y + warp * 15 + 12, f"w{warp}", size=12)
    d.text(bx, y + tall + 20, "k-tile of 64, 64 columns: 8 for each warp", size=12)

    top = 226
    d.text(20, top, "Each warp has sums for all 64 x 64 elements, 16 x 8 a thread", bold=True)
    for warp in range(8):
        left = 60 + warp * 78
        d.labelled(left, top + 14, 64, 64, C, f"w{warp}", strong=True)
        if warp < 7:
            d.text(left + 71, top + 50, "+", anchor="middle", size=15, bold=True)
    d.arrow([(92, top + 82), (92, top + 114)], COPY.line, thick=2.5, head=9)
    d.text(106, top + 102, "through shared memory: 64 KiB, half of the rows at a time", size=12, color=COPY.line)
    d.labelled(60, top + 118, 610, 30, C, "C: each warp adds and stores two of every thread's 16 rows", strong=True)
    d.lines(
        20,
        top + 174,
        (
            "Patches stay at 16 x 8 elements a thread, so a loop step still needs 6 loads for 128 FMAs.",
            "Eight warps with 4 x 4 elements a thread would need 2 loads for 16 FMAs.",
        ),
        **NOTE,
    )


@drawing(
    "Promotion: why sums leave the tensor cores",
    "Tensor cores cut off what does not fit below a sum, always towards zero, so errors of a long sum add up. "
    "Chapters 10 to 12 start sums at 0, keep them short, and add them to FP32 accumulators by instructions that "
    "round.",
    470,
)
def promotion(d: Drawing) -> None:
    records = json.loads((RESULTS / "cold.json").read_text())["benchmarks"]
    of_4096 = [record for record in records if record.get("m") == 4096 and "rel_err" in record]
    errors = {record["kernel"]: record["rel_err"] for record in of_4096}

    def error(kernel: str) -> str:
        mantissa, exponent = f"{errors[kernel]:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}"

    d.text(20, 28, "A product is added to a large sum", bold=True)
    x, y, cell = 130, 46, 15
    d.text(20, y + 14, "sum", size=12)
    d.text(20, y + 38, "product", size=12)
    for bit in range(24):
        d.box(x + bit * cell, y, cell, 18, C, strong=True)
    for bit in range(13, 37):
        paint = COMPUTE if bit < 24 else WRONG
        d.box(x + bit * cell, y + 24, cell, 18, paint)
    d.line([(x + 24 * cell, y - 6), (x + 24 * cell, y + 48)], BAD, thick=2)
    d.text(x + 24 * cell + 8, y + 12, "a tensor core cuts this off:", size=12, color=BAD)
    d.text(x, y + 62, "An FP32 unit rounds up or down here. Cutting always goes towards 0, so errors add up.", size=12)

    d.line([(20, 126), (700, 126)], BORDER, thick=1)
    d.text(20, 150, "One sum for all k, in the tensor cores", bold=True)
    for i in range(5):
        left = 20 + i * 100
        text = ("k 0-15", "16-31", "32-47", "...", "4080-4095")[i]
        d.labelled(left, 164, 86, 30, COMPUTE, text, strong=True, size=12)
        d.arrow([(left + 86, 179), (left + 99, 179)], INK, head=6)
    d.labelled(520, 164, 180, 30, WRONG, f"error {error('10_tf32x3:single_sum')}", bold=True)
    d.text(20, 214, "The sum grows and loses more of each product.", **NOTE)
    d.text(700, 214, "10_tf32x3:single_sum, 4096", anchor="end", **NOTE)

    d.line([(20, 232), (700, 232)], BORDER, thick=1)
    d.text(20, 256, "Short sums that start at 0, promoted", bold=True)
    for i in range(5):
        left = 20 + i * 100
        text = ("k 0-15", "16-31", "32-47", "...", "4080-4095")[i]
        if text != "...":
            d.text(left + 2, 289, "0", size=12, color=MUTED)
        d.labelled(left + 14, 270, 72, 30, COMPUTE, text, strong=True, size=12)
        d.arrow([(left + 50, 300), (left + 50, 322)], C.line, thick=2, head=7)
    d.labelled(20, 324, 480, 30, C, "FP32 accumulator: FADD, which rounds", strong=True)
    d.arrow([(500, 339), (518, 339)], INK, head=6)
    d.labelled(520, 324, 180, 30, C, f"error {error('10_tf32x3')}", bold=True)
    d.text(700, 374, "10_tf32x3, 4096", anchor="end", **NOTE)
    d.line([(20, 390), (700, 390)], BORDER, thick=1)
    d.text(20, 414, "Chapter 10 promotes sums over 16 values of k, chapters 11 and 12 sums over 64.", size=12)
    d.text(
        20,
        434,
        f"11_bf16x6: {error('11_bf16x6:1_wgmma')} without, {error('11_bf16x6')} with it. "
        f"cublasSgemm: {error('cublas')}.",
        size=12,
    )
    d.text(20, 456, "Relative errors at M = N = K = 4096, operands uniform on (-1, 1).", **NOTE)


@drawing(
    "Chapters 11 and 12: one thread copies, two warpgroups multiply",
    "A producer thread starts bulk copies into two rings, one for operand tiles of A and one of B. The barrier full "
    "of a slot counts bytes, the barrier empty counts the eight consumer warps that are done with it.",
    436,
)
def bulk_ring(d: Drawing) -> None:
    relies_on(
        "engine/split_product.cuh",
        "mbarrier_init(barriers_ + slot * MBARRIER_BYTES, writers);",
        "mbarrier_arrive_expect_tx(ring.full(), OperandTile<Scheme>::BYTES + SCALING_BYTES);",
        "static constexpr int PRODUCER_REGISTERS = 40;",
    )
    relies_on("engine/split_schemes.cuh", "static constexpr int A_SLOTS = 2;", "static constexpr int B_SLOTS = 2;")
    relies_on("engine/split_schemes.cuh", "static constexpr int A_SLOTS = 3;", "static constexpr int B_SLOTS = 4;")
    d.text(20, 28, "1 producer thread", bold=True, color=COPY.line)
    d.rect(20, 40, 190, 222, COPY.light, COPY.line, round_by=6)
    d.labelled(32, 52, 60, 30, COPY, "w8", strong=True, size=12)
    d.labelled(100, 52, 98, 30, WAIT, "w9-w11 idle", size=12)
    for n, content in enumerate(
        (
            "for each operand tile:",
            "1. wait for empty",
            "2. tell full how many",
            "    bytes will come",
            "3. start a bulk copy",
            "",
            "40 registers a thread",
        )
    ):
        if content:
            color = COPY.line if n == 6 else INK
            d.text(32 + 16 * content.startswith("  "), 108 + n * 22, content.strip(), size=12, color=color)

    d.text(366, 28, "two rings (chapter 11)", bold=True, anchor="middle")
    for i, (name, paint, state) in enumerate(
        (("A 0", A, "being read"), ("A 1", A, "arriving"), ("B 0", B, "being read"), ("B 1", B, "free"))
    ):
        y = 40 + i * 57
        free = state == "free"
        d.rect(
            292,
            y,
            148,
            46,
            WAIT.light if free else paint.strong,
            paint.line,
            thick=1.5,
            round_by=4,
            dash="4 3" if free else "",
        )
        d.text(302, y + 19, f"slot {name}", bold=True)
        d.text(302, y + 37, state, size=12)
        d.text(430, y + 28, "48 KiB", size=12, anchor="end")
    d.arrow([(210, 120), (290, 120)], COPY.line, thick=2.5, head=9)
    d.text(250, 112, "bytes", size=12, anchor="middle", color=COPY.line)
    d.arrow([(292, 234), (212, 234)], PLAIN.line, thick=2.5, head=9, dash="5 3")
    d.text(252, 226, "empty", size=12, anchor="middle", color=PLAIN.line)

    d.text(522, 28, "2 warpgroups", bold=True, color=COMPUTE.line)
    d.rect(522, 40, 178, 222, RAISED, COMPUTE.line, round_by=6)
    for i, name in enumerate(("w0-w3", "w4-w7")):
        d.labelled(534 + i * 80, 52, 74, 30, COMPUTE, name, strong=True, size=12)
    for n, content in enumerate(
        (
            "64 rows of C each",
            "1. wait for full",
            "2. start 24 wgmma",
            "3. wait for them",
            "4. arrive at empty",
            "5. add the 64 sums",
            "232 registers a thread",
        )
    ):
        d.text(534, 108 + n * 22, content, size=12, color=COMPUTE.line if n == 6 else INK)
    for y in (63, 177):
        d.arrow([(440, y), (520, y)], COMPUTE.line, thick=2.5, head=9)
        d.text(481, y - 8, "reads", size=12, anchor="middle", color=COMPUTE.line)

    d.line([(20, 280), (700, 280)], BORDER, thick=1)
    d.text(20, 304, "Two mbarriers for each slot", bold=True)
    d.labelled(20, 318, 60, 26, C, "full", bold=True)
    d.text(92, 336, "counts bytes: 49152 of an operand tile, 144 of its scaling")
    d.labelled(20, 352, 60, 26, WAIT, "empty", bold=True)
    d.text(92, 370, "counts 8 arrivals, one of each consumer warp")
    d.text(20, 400, "An operand tile is 128 rows of A, or columns of B, by 64 values of k, in all its terms.", size=12)
    d.text(20, 420, "Chapter 12 has two terms instead of three: 32 KiB a slot, 3 slots for A and 4 for B.", size=12)


@drawing(
    "Two warpgroups take turns on the tensor cores",
    "Chapter 11. A block's tile of 128 by 256 is two rows of warpgroups by two operand tiles of B. A warpgroup "
    "multiplies 64 by 128 over 64 values of k with 24 wgmma, then adds the 64 sums of each thread while the other one "
    "multiplies.",
    420,
)
def warpgroups(d: Drawing) -> None:
    relies_on("engine/split_product.cuh", "rings.b.wait_until_full();", "accumulators.values[panel][i] += products[i];")
    d.text(20, 28, "Tile of C: 128 x 256", bold=True)
    x, y = 90, 92
    for j in range(2):
        d.labelled(x + j * 130, y - 36, 126, 26, B, f"B{j}: 128 columns", strong=True, size=12)
    for i, name in enumerate(("w0-w3", "w4-w7")):
        d.labelled(x - 66, y + i * 66, 56, 62, A, "A: 64|rows", strong=True, size=12)
        for j in range(2):
            d.labelled(x + j * 130, y + i * 66, 126, 62, C, f"{name}|64 x 128", strong=True, size=12)
    left = 382
    d.text(left, 28, "A warpgroup, for each k-tile of 64", bold=True)
    for n, content in enumerate(
        (
            "1. 24 wgmma of A and B0: six products of",
            "    terms, in four steps of 16 along k",
            "2. adds 64 sums a thread to accumulators",
            "3. the same with B1, in the same registers",
            "",
            "Registers of a thread: 128 accumulators",
            "and 64 for the sums of one k-tile",
            "Chapter 12: three products, so 12 wgmma",
        )
    ):
        if content:
            d.text(left + 16 * content.startswith("  "), 58 + n * 22, content.strip(), size=12)
    d.line([(20, 244), (700, 244)], BORDER, thick=1)
    d.text(20, 268, "While one warpgroup adds, the other one multiplies", bold=True)
    start, wide, add = 90, 101, 30
    queue = wide - add
    for i, name in enumerate(("w0-w3", "w4-w7")):
        y = 284 + i * 34
        d.text(20, y + 18, name)
        at = start + i * wide
        if i:
            d.labelled(start, y, wide, 26, WAIT, "wait", size=12, dash="4 3")
        for n in range(3):
            d.labelled(at, y, wide, 26, COMPUTE, f"wgmma, B{n % 2}", strong=True, size=12)
            if at + 2 * wide <= 702:
                d.labelled(at + wide, y, add, 26, C, "add", size=12, strong=True)
                d.labelled(at + wide + add, y, queue, 26, WAIT, "wait", size=12, dash="4 3")
            at += 2 * wide
    d.lines(20, 366, ("tensor", "cores"), step=14, size=12)
    d.labelled(start, 356, 6 * wide, 28, COMPUTE, "always have products to work on", strong=True, size=12, bold=True)
    d.text(start + 6 * wide, 404, "time, not to scale", anchor="end", **NOTE)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="draw these; all if none is given")
    parser.add_argument("--check", action="store_true", help="write nothing, and exit with 1 if a file is stale")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder (default: docs/drawings)")
    arguments = parser.parse_args(argv)
    unknown = [name for name in arguments.names if name not in DRAWINGS]
    if unknown:
        parser.error(f"no drawing {', '.join(unknown)}; there are {', '.join(DRAWINGS)}")
    names = arguments.names or list(DRAWINGS)
    try:
        drawn = {name: draw(name).svg() for name in names}
    except Stale as error:
        print(f"drawings.py: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        needs.stop(f"can not read {error.filename}: {error.strerror}")
    paths = {name: arguments.out / f"{name}.svg" for name in names}
    if arguments.check:
        stale = [name for name in names if not paths[name].is_file() or paths[name].read_text() != drawn[name]]
        for name in stale:
            print(f"{paths[name]} is stale: run python -m tools.docs.drawings", file=sys.stderr)
        return 1 if stale else 0
    needs.make_folder(arguments.out, "the drawings")
    for name in names:
        paths[name].write_text(drawn[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
