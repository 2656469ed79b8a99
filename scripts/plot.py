#!/usr/bin/env python3
"""Draws the charts from results files. Every number in a chart comes from the files.

    scripts/plot.py results/nvidia-h200
    scripts/plot.py cold.json end-to-end.json --out charts

Several files of one device may be given: a cold and a warm sweep, an end-to-end sweep, the file of
scripts/counters.py and that of runner --accuracy; a folder stands for those in it that bear their usual names. A chart
whose data is missing is skipped, and the reason is printed.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from matplotlib.transforms import Bbox
from PIL import Image

from results import (
    ACCURACY_FILE,
    COUNTERS_FILE,
    SWEEP_FILES,
    Record,
    Results,
    ResultsError,
    crossover,
    is_accuracy,
    is_counters,
    load,
    load_counters,
    stop,
)

CARD = "#ffffff"  # the charts bring their own light background, so they read on dark pages too
INK = "#1f2328"
MUTED = "#656d76"
GRID = "#e3e6ea"
CUBLAS = "#000000"
PEAK = "#b3261e"
BEFORE = "#8c959f"  # what a chapter is compared with
# Okabe and Ito's colours, for charts whose lines have no order.
ORANGE, SKY, GREEN, BLUE, VERMILION = "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00"
MARKERS = "osD^vPX<>ph*d"
PNG_DPI = 200
WIDTH = 9.0  # inches; a page shows it 900 pixels wide, so that 9 points stay 12.5 pixels

plt.rcParams.update(
    {
        "figure.facecolor": CARD,
        "axes.facecolor": CARD,
        "savefig.facecolor": CARD,
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "axes.titlelocation": "left",
        "axes.titlesize": 13,
        "axes.titleweight": "bold",
        "axes.labelsize": 10.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": GRID,
        "grid.linewidth": 0.8,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.labelsize": 10,
        "ytick.labelsize": 10,
        "font.family": "DejaVu Sans",
        "font.size": 10,
        "text.color": INK,
        "lines.linewidth": 1.8,
        "lines.markersize": 5.5,
        "svg.hashsalt": "sgemm-worklog",
    }
)


class NoData(Exception):
    """A chart can not be drawn from the given files; the message says what is missing."""


@dataclass(frozen=True)
class Source:
    """Everything the charts are drawn from."""

    results: Results
    counters: dict | None
    ladder_size: int | None
    accuracy: Results | None = None

    def sweep(self, l2: str | None = None) -> list[Record]:
        """Measured GPU products of square matrices timed as kernels; cold ones where there are any."""
        records = self.results.pick(lambda r: r.is_gpu and r.size is not None, time="kernel")
        states = {record.l2 for record in records}
        wanted = l2 or ("cold" if "cold" in states else "warm")
        return [record for record in records if record.l2 == wanted]

    def subtitle(self, records: Sequence[Record]) -> str:
        """The device and how it was measured, for the line under a title."""
        context = records[0].context
        device = context["device"]["name"] if records[0].is_gpu else context["cpu"]
        protocol = context["protocol"]
        parts = [device]
        if context.get("cublas_version") and records[0].is_gpu:
            parts.append(f"cuBLAS {context['cublas_version']}")
        if protocol["time"] == "kernel" and records[0].is_gpu:
            parts.append(f"{protocol['l2']} L2")
        parts.append(f"{protocol.get('data', 'unknown')} data")
        return " · ".join(parts)


@dataclass(frozen=True)
class Style:
    color: object
    linestyle: object
    marker: str
    width: float
    zorder: float


class Palette:
    """One colour for each chapter on an ordered ramp, dashes for variants, black for cuBLAS."""

    def __init__(self, records: Iterable[Record]):
        ordered = {record.id: record for record in records}
        self._numbers = sorted({record.number for record in ordered.values() if record.is_chapter})
        self._variants: dict[int, list[str]] = {}
        for record in ordered.values():
            if record.variant:
                self._variants.setdefault(record.number, []).append(record.variant)

    def color(self, record: Record):
        if not record.is_chapter:
            return CUBLAS if record.id == "cublas" else "#57606a"
        last = max(len(self._numbers) - 1, 1)
        # Inside the ramp: its dark end looks like cuBLAS's black, and its pale end vanishes on the card.
        return matplotlib.colormaps["inferno"](0.22 + 0.52 * self._numbers.index(record.number) / last)

    def style(self, record: Record) -> Style:
        if record.id == "cublas":
            return Style(CUBLAS, "-", "", 3.2, 2.0)  # wide and below, so that a line as fast as it stays in sight
        if not record.is_chapter:
            return Style(self.color(record), (0, (1, 1.2)), "", 2.2, 3.5)
        marker = MARKERS[self._numbers.index(record.number) % len(MARKERS)]
        if record.variant:
            dashes = [(0, (4, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (2.5, 1))]
            index = self._variants[record.number].index(record.variant)
            return Style(self.color(record), dashes[index % len(dashes)], marker, 1.5, 2.5)
        return Style(self.color(record), "-", marker, 2.1, 3.0)


def title_of(record: Record) -> str:
    """ "05 coarse 1d", "06 vectorized"; libraries by their own name."""
    if not record.is_chapter:
        return {"cublas": "cuBLAS", "cublaslt_best": "cuBLASLt best", "cublas_tf32": "cuBLAS TF32"}.get(
            record.id, record.id.replace("_", " ")
        )
    number, _, name = record.id.partition(":")[0].partition("_")
    return f"{number} {(record.variant or name).replace('_', ' ')}"


def by_kernel(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Records of each kernel in ascending size."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.id, []).append(record)
    return {name: sorted(group, key=lambda r: r.size) for name, group in groups.items()}


def figure(height: float, title: str, subtitle: str, rows: int = 1) -> tuple[Figure, list[Axes]]:
    fig, axes = plt.subplots(rows, 1, figsize=(WIDTH, height), squeeze=False)
    fig.text(0.02, 1 - 0.16 / height, title, fontsize=14, fontweight="bold", va="top")
    fig.text(0.02, 1 - 0.44 / height, subtitle, fontsize=10, color=MUTED, va="top")
    return fig, list(axes[:, 0])


def lay_out(fig: Figure, *, right: float = 0.98, left: float = 0.09, bottom: float = 0.62) -> None:
    height = fig.get_figheight()
    fig.subplots_adjust(left=left, right=right, top=1 - 0.86 / height, bottom=bottom / height, hspace=0.22)


def footnote(fig: Figure, text: str) -> None:
    fig.text(0.02, 0.08 / fig.get_figheight(), text, fontsize=9, color=MUTED, va="bottom")


def plain(value: float, _position=None) -> str:
    return f"{value:g}"


def speed_ticks(ax: Axes) -> None:
    """Plain numbers 1, 2 and 5 of each decade on a logarithmic axis of speeds."""
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(plain))
    ax.yaxis.set_minor_locator(NullLocator())


def size_axis(ax: Axes, sizes: Sequence[int], label: str = "M = N = K") -> None:
    """A logarithmic axis of sizes with ticks at powers of two, labelled as plain integers."""
    ax.set_xscale("log", base=2)
    powers = [2**e for e in range(64) if min(sizes) <= 2**e <= max(sizes)]
    ax.xaxis.set_major_locator(FixedLocator(powers if len(powers) > 1 else sorted(set(sizes))))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    ax.set_xlabel(label)


def spread(targets: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Moves label centres apart until neighbours are at least `gap` apart, each close to its target."""
    order = sorted(range(len(targets)), key=lambda i: targets[i])
    blocks: list[list[float]] = []  # sum of (target - offset in block), count
    for i in order:
        blocks.append([targets[i], 1])
        while len(blocks) > 1:
            (sum_a, count_a), (sum_b, count_b) = blocks[-2:]
            if sum_b / count_b - sum_a / count_a >= gap * count_a:
                break
            blocks[-2:] = [[sum_a + sum_b - count_b * count_a * gap, count_a + count_b]]
    placed = []
    for total, count in blocks:
        placed += [total / count + gap * i for i in range(int(count))]
    for i in range(len(placed) - 1, -1, -1):
        placed[i] = min(placed[i], high if i == len(placed) - 1 else placed[i + 1] - gap)
    for i in range(len(placed)):
        placed[i] = max(placed[i], low if i == 0 else placed[i - 1] + gap)
    result = [0.0] * len(targets)
    for i, position in zip(order, placed, strict=True):
        result[i] = position
    return result


@dataclass(frozen=True)
class EndLabel:
    x: float
    y: float
    text: str
    color: object
    bold: bool = False


def readable(color) -> tuple[float, float, float]:
    """The colour darkened, where it must be, until text in it has a contrast of 4.5 against the card."""
    rgb = np.array(matplotlib.colors.to_rgb(color))
    while True:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        if 1.05 / (float(linear @ (0.2126, 0.7152, 0.0722)) + 0.05) >= 4.5:
            return tuple(rgb)
        rgb = rgb * 0.97


def label_ends(fig: Figure, ax: Axes, labels: Sequence[EndLabel], left: bool = False, fontsize: float = 9.5) -> None:
    """Writes each label beside the axes at its line's end, moved apart where lines end close together."""
    fig.canvas.draw()
    box = ax.get_window_extent()
    ends = [ax.transData.transform((label.x, label.y)) for label in labels]
    gap = fontsize * 1.22 * fig.dpi / 72
    heights = spread([y for _, y in ends], gap, box.y0 + gap / 2, box.y1)
    sign, edge = (-1, box.x0) if left else (1, box.x1)
    to_axes = ax.transAxes.inverted().transform
    for label, (x, y), height in zip(labels, ends, heights, strict=True):
        leader = [(x + sign * 5, y), (edge + sign * 12, height), (edge + sign * 18, height), (edge + sign * 22, height)]
        xs, ys = zip(*map(to_axes, leader), strict=True)
        ax.plot(xs[:3], ys[:3], color=label.color, lw=0.8, alpha=0.8, transform=ax.transAxes, clip_on=False)
        ax.text(
            xs[3],
            ys[3],
            label.text,
            transform=ax.transAxes,
            ha="right" if left else "left",
            va="center",
            color=readable(label.color),
            fontsize=fontsize,
            fontweight="bold" if label.bold else "normal",
        )


def clusters(positions: Sequence[tuple[float, float]], distance: float) -> list[list[int]]:
    """Indices of positions, those closer to each other than `distance` along both axes together."""
    groups: list[list[int]] = []
    for i, (x, y) in enumerate(positions):
        near = [
            group
            for group in groups
            if any(abs(x - positions[j][0]) < distance and abs(y - positions[j][1]) < distance for j in group)
        ]
        groups = [group for group in groups if group not in near]
        groups.append([*(j for group in near for j in group), i])
    return groups


def is_far(dx: float, dy: float) -> bool:
    """Whether a label so far from its point takes a line to it."""
    return abs(dx) + abs(dy) > 16


def label_points(
    fig: Figure, ax: Axes, points: Sequence[EndLabel], fontsize: float = 9.5, avoid: Sequence[Bbox] = ()
) -> None:
    """Writes each label beside its point, at the nearest place that hides no other label or point and nothing to
    `avoid`, nor has a line to its point that crosses another label or point.

    Points whose markers overlap share a label of several lines, the fastest first.
    """
    fig.canvas.draw()
    scale = fig.dpi / 72
    pixels = [ax.transData.transform((point.x, point.y)) for point in points]
    markers = [Bbox.from_bounds(x - 10 * scale, y - 6 * scale, 20 * scale, 12 * scale) for x, y in pixels]
    written: list[Bbox] = []
    frame = ax.get_window_extent()
    steps = (0, 8, -8, 14, -14, 22, -22, 30, -30, 40, -40, 52, -52, 66, -66, 84, -84, 102, -102)
    places = [(sign * dx, dy) for dx in (11, 24, 48, 80, 120) for dy in steps for sign in (1, -1)]
    # From right to left: labels prefer to stand on the right of their points, where they leave room for the next.
    for members in sorted(clusters(pixels, 9 * scale), key=lambda group: -max(pixels[i][0] for i in group)):
        members = sorted(members, key=lambda i: -points[i].y)
        x, y = np.mean([pixels[i] for i in members], axis=0)
        anchor = ax.transData.inverted().transform((x, y))
        text = "\n".join(points[i].text for i in members)
        others = [*written, *markers, *avoid]
        label = ax.annotate(text, anchor, fontsize=fontsize, color=INK, va="center")
        extent = label.get_window_extent()

        def box_at(dx: float, dy: float, x: float = x, y: float = y, extent: Bbox = extent) -> Bbox:
            left = x + dx * scale - (extent.width if dx < 0 else 0)
            return Bbox.from_bounds(left, y + dy * scale - extent.height / 2, extent.width, extent.height)

        foreign = [*written, *(marker for i, marker in enumerate(markers) if i not in members)]

        def cost(
            place: tuple[float, float],
            box_at=box_at,
            others: list[Bbox] = others,
            foreign: list[Bbox] = foreign,
            point: tuple[float, float] = (x, y),
        ) -> tuple[bool, int]:
            box = box_at(*place)
            inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
            end = (box.x0 if place[0] > 0 else box.x1, (box.y0 + box.y1) / 2)
            line = np.linspace(point, end, 24) if is_far(*place) else []
            crossed = sum(any(other.contains(*at) for at in line) for other in foreign)
            return not inside, sum(box.overlaps(other) for other in others) + crossed

        dx, dy = min(places, key=cost)
        label.remove()
        far = is_far(dx, dy)
        ax.annotate(
            text,
            anchor,
            xytext=(dx, dy),
            textcoords="offset points",
            ha="left" if dx > 0 else "right",
            va="center",
            fontsize=fontsize,
            arrowprops={"arrowstyle": "-", "color": MUTED, "lw": 0.6, "shrinkA": 0, "shrinkB": 4} if far else None,
        )
        written.append(box_at(dx, dy))


def peak_of(source: Source) -> float | None:
    """The device's FP32 peak in TFLOP/s."""
    peak = source.results.device.get("fp32_peak_gflops")
    return peak / 1e3 if peak else None


def three_digits(tflops: float) -> str:
    return f"{tflops:#.3g}".rstrip(".")


def draw_lines(
    ax: Axes, style_of: Callable[[Record], Style], groups: dict[str, list[Record]], value: Callable[[Record], float]
) -> list[EndLabel]:
    labels = []
    for records in groups.values():
        style = style_of(records[0])
        ys = [value(record) for record in records]
        ax.plot(
            [record.size for record in records],
            ys,
            color=style.color,
            linestyle=style.linestyle,
            marker=style.marker,
            linewidth=style.width,
            zorder=style.zorder,
            markeredgecolor=CARD,
            markeredgewidth=0.6,
        )
        labels.append(
            EndLabel(records[-1].size, ys[-1], title_of(records[0]), style.color, bold=records[0].id == "cublas")
        )
    return labels


def gflops_over_size(source: Source) -> Figure:
    records = source.sweep()
    if not records:
        raise NoData("no measured GPU kernel on square matrices")
    drawn = by_kernel(record for record in records if record.has_fp32_accuracy)
    others = by_kernel(record for record in records if not record.has_fp32_accuracy)
    fig, (ax,) = figure(6.4, "Speed over matrix size", source.subtitle(records))
    labels = draw_lines(ax, Palette(records).style, drawn, lambda record: record.tflops)
    sizes = [record.size for record in records]
    size_axis(ax, sizes)
    ax.set_xlim(min(sizes) / 1.12, max(sizes) * 1.06)
    ax.set_ylabel("TFLOP/s")
    ax.grid(axis="x", visible=False)
    top = max(record.tflops for group in drawn.values() for record in group)
    if peak := peak_of(source):
        ax.axhline(peak, color=PEAK, lw=1.4, ls=(0, (6, 3)), zorder=1)
        basis = source.results.device.get("fp32_peak_basis", "").replace(" x ", " × ")
        text = f"FP32 peak {peak:.1f} TFLOP/s: {basis}" if basis else f"FP32 peak {peak:.1f} TFLOP/s"
        # On tensor cores a line may pass the peak, at large sizes: short lines stay on the left of it.
        ax.annotate(
            textwrap.fill(text, 30) if top > peak else text,
            (0.01, peak),
            xycoords=ax.get_yaxis_transform(),
            xytext=(0, 4),
            textcoords="offset points",
            color=PEAK,
            fontsize=9.5,
        )
        top = max(top, peak)
    ax.set_ylim(0, top * 1.08)
    lay_out(fig, right=0.80, bottom=0.78 if others else 0.62)
    label_ends(fig, ax, labels)
    if others:
        tops = [max(group, key=lambda r: r.tflops) for group in others.values()]
        text = "; ".join(f"{title_of(r)} reaches {r.tflops:.0f} TFLOP/s at {r.size}" for r in tops)
        footnote(fig, f"Not drawn, because of its lower precision: {text}.")
    return fig


def chapter(source: Source, number: int) -> Figure:
    """The variants of one chapter between the chapter before and cuBLAS. Logarithmic, as steps are factors."""
    records = [record for record in source.sweep() if record.has_fp32_accuracy]
    own = [record for record in records if record.number == number]
    if not own:
        raise NoData(f"chapter {number} was not measured")
    earlier = [record for record in records if record.is_chapter and record.number < number and not record.variant]
    before = [record for record in earlier if record.number == max(r.number for r in earlier)]
    drawn = [*before, *own, *(record for record in records if record.id == "cublas")]
    palette = Palette(records)

    def style_of(record: Record) -> Style:
        style = palette.style(record)
        return replace(style, color=BEFORE, width=1.8, zorder=2.2) if record in before else style

    name = own[0].id.partition(":")[0].partition("_")[2]
    fig, (ax,) = figure(4.8, f"Chapter {number:02d}: {name}", source.subtitle(own))
    groups = by_kernel(drawn)
    labels = draw_lines(ax, style_of, groups, lambda record: record.tflops)
    # Variants may lie on each other; their numbers tell them apart.
    labels = [
        replace(label, text=f"{label.text}  {three_digits(group[-1].tflops)}")
        for label, group in zip(labels, groups.values(), strict=True)
    ]
    sizes = [record.size for record in drawn]
    size_axis(ax, sizes)
    ax.set_xlim(min(sizes) / 1.12, max(sizes) * 1.06)
    ax.set_yscale("log")
    speeds = [record.tflops for record in drawn]
    ax.set_ylim(min(speeds) / 1.3, max(speeds) * 1.4)
    speed_ticks(ax)
    ax.set_ylabel("TFLOP/s, logarithmic")
    ax.grid(axis="x", visible=False)
    lay_out(fig, right=0.75, bottom=0.80)
    label_ends(fig, ax, labels)
    note = f"Beside the names: TFLOP/s at {max(sizes)}."
    if before:
        note += " Grey: the chapter before."
    if rough := {title_of(r): r for r in source.sweep() if r.number == number and not r.has_fp32_accuracy}:
        note += f" Not drawn, because of its lower precision: {', '.join(rough)}."
    footnote(fig, note)
    return fig


def percent_of_cublas(source: Source) -> Figure:
    records = [r for r in source.sweep() if r.vs_cublas is not None and r.has_fp32_accuracy and r.id != "cublas"]
    if not records:
        raise NoData("no kernel was compared with cuBLAS")
    groups = by_kernel(records)
    fig, (ax,) = figure(6.4, "Speed relative to cuBLAS", source.subtitle(records))
    labels = draw_lines(ax, Palette(records).style, groups, lambda record: 100 * record.vs_cublas)
    sizes = [record.size for record in records]
    size_axis(ax, sizes)
    ax.set_xlim(min(sizes) / 1.12, max(sizes) * 1.06)
    ax.axhline(100, color=CUBLAS, lw=3.2, zorder=1.5)
    ax.set_ylim(0, max(112.0, 1.06 * max(100 * record.vs_cublas for record in records)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    ax.set_ylabel("percent of cublasSgemm's speed")
    ax.grid(axis="x", visible=False)
    labels.append(EndLabel(max(sizes), 100.0, "cuBLAS", CUBLAS, bold=True))
    lay_out(fig, left=0.105, right=0.80, bottom=0.78)
    label_ends(fig, ax, labels)
    footnote(fig, "The smaller of two ratios: to cuBLAS samples taken in turn with the kernel's, and to cuBLAS alone.")
    return fig


def ladder_size_of(source: Source) -> int:
    """The size asked for, else 4096 where every kernel has it, else the largest size that every kernel has."""
    groups = by_kernel(source.sweep())
    if not groups:
        raise NoData("no measured GPU kernel on square matrices")
    if source.ladder_size is not None:
        return source.ladder_size
    common = set.intersection(*({record.size for record in group} for group in groups.values()))
    if not common:
        raise NoData("no size is common to all kernels")
    return 4096 if 4096 in common else max(common)


def ladder(source: Source) -> Figure:
    size = ladder_size_of(source)
    records = [r for r in source.sweep() if r.size == size]
    if not records:
        raise NoData(f"no kernel was measured at {size}")
    drawn = [record for record in records if record.has_fp32_accuracy]
    rival = next((record for record in drawn if record.id == "cublas"), None)
    palette = Palette(records)
    height = 1.75 + 0.33 * len(drawn)
    fig, (ax,) = figure(height, f"The ladder at {size} × {size} × {size}", source.subtitle(records))
    peak = peak_of(source)
    top = max([record.tflops for record in drawn] + ([peak] if peak else []))
    for row, record in enumerate(drawn):
        color = palette.color(record)
        ax.barh(
            row,
            record.tflops,
            height=0.66 if not record.variant else 0.5,
            color=matplotlib.colors.to_rgba(color, 0.45) if record.variant else color,
            edgecolor=color,
            linewidth=1.0,
            linestyle="--" if record.variant else "-",
            zorder=2,
        )
        cells = [three_digits(record.tflops)]
        if record.vs_cublas is not None:
            cells.append("100 %" if record.id == "cublas" else f"{100 * record.vs_cublas:.1f} %")
        for x, cell in zip((1.11, 1.26), cells, strict=False):
            ax.text(x, row, cell, transform=ax.get_yaxis_transform(), ha="right", va="center", fontsize=10)
    for x, head in ((1.11, "TFLOP/s"), (1.26, "of cuBLAS")):
        ax.text(x, -0.85, head, transform=ax.get_yaxis_transform(), ha="right", va="center", fontsize=9.5, color=MUTED)
    ax.set_yticks(range(len(drawn)), [title_of(record) for record in drawn])
    for tick, record in zip(ax.get_yticklabels(), drawn, strict=True):
        tick.set_fontsize(10 if not record.variant else 9.5)
        tick.set_color(INK if not record.variant else MUTED)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("TFLOP/s")
    if rival:
        ax.axvline(rival.tflops, color=CUBLAS, lw=2.2, zorder=3)
    if peak:
        ax.axvline(peak, color=PEAK, lw=1.4, ls=(0, (6, 3)), zorder=3)
        ax.text(
            peak,
            -0.85,
            f"FP32 peak {peak:.1f}",
            ha="right",
            va="center",
            color=PEAK,
            fontsize=9.5,
        )
    ax.set_xlim(0, top * 1.02)
    ax.set_ylim(len(drawn) - 0.4, -0.6)
    lay_out(fig, left=0.20, right=0.82)
    return fig


def resources(source: Source) -> Figure:
    size = ladder_size_of(source)
    records = [r for r in source.sweep() if r.size == size and r.has_fp32_accuracy and r.get("registers") is not None]
    if not records:
        raise NoData(f"no kernel at {size} says what resources it takes")
    palette = Palette(records)
    fig, axes = figure(8.6, f"Resources and speed at {size} × {size} × {size}", source.subtitle(records), rows=2)
    lay_out(fig)
    panels = (
        (axes[0], lambda r: r["registers"], "registers per thread"),
        (axes[1], lambda r: 100 * (r.get("occupancy") or 0), "occupancy, % of the warps an SM can hold"),
    )
    top = max(record.tflops for record in records)
    for ax, value, name in panels:
        labels = []
        for record in records:
            style = palette.style(record)
            ax.plot(
                value(record),
                record.tflops,
                style.marker,
                color=style.color,
                markerfacecolor=CARD if record.variant else style.color,
                markeredgewidth=1.6,
                markersize=8,
                zorder=3,
            )
            labels.append(EndLabel(value(record), record.tflops, title_of(record), style.color))
        ax.set_xlim(0, max(max(value(record) for record in records) * 1.12, 1))
        ax.set_yscale("log")
        ax.set_ylim(min(record.tflops for record in records) / 1.5, top * 1.5)
        speed_ticks(ax)
        ax.set_xlabel(name)
        ax.set_ylabel("TFLOP/s")
        label_points(fig, ax, labels)
    return fig


def compulsory_intensity(m: int, n: int, k: int) -> float:
    """FLOP for each byte when A and B are read and C is written exactly once."""
    return 2 * m * n * k / (4 * (m * k + k * n + m * n))


def roofline(source: Source) -> Figure:
    device = source.results.device
    peak, bandwidth = peak_of(source), device.get("dram_peak_gbytes_s")
    if not peak or not bandwidth:
        raise NoData("the device's FP32 and DRAM peaks are not known")
    records = [record for record in source.sweep() if record.is_fp32]
    if not records:
        raise NoData("no measured GPU kernel on square matrices")
    palette = Palette(records)
    moved = (source.counters or {}).get("derived", {})
    fig, (ax,) = figure(6.0, "Roofline", source.subtitle(records))
    xs: list[float] = []
    ys: list[float] = []
    labels = []
    size = source.counters["context"]["size"] if source.counters else None
    at_size = [r for r in records if r.size == size and (moved.get(r.id) or {}).get("flop_per_dram_byte")]
    if at_size:
        for record in at_size:
            style = palette.style(record)
            ideal, actual = compulsory_intensity(*record.shape), moved[record.id]["flop_per_dram_byte"]
            ax.plot([actual, ideal], [record.tflops] * 2, color=style.color, lw=1.0, alpha=0.6, zorder=2)
            ax.plot(ideal, record.tflops, "|", color=style.color, markersize=10, zorder=3)
            ax.plot(
                actual,
                record.tflops,
                style.marker,
                color=style.color,
                markerfacecolor=CARD if record.variant else style.color,
                markeredgewidth=1.6,
                markersize=8,
                zorder=4,
            )
            xs += [ideal, actual]
            ys.append(record.tflops)
            labels.append(EndLabel(max(actual, ideal), record.tflops, title_of(record), style.color))
        note = f"At {size}: markers stand at the DRAM traffic Nsight Compute counted, ticks where A, B and C move once."
    else:
        for group in by_kernel(r for r in records if not r.variant).values():
            style = palette.style(group[0])
            intensities = [compulsory_intensity(*r.shape) for r in group]
            speeds = [r.tflops for r in group]
            ax.plot(
                intensities,
                speeds,
                color=style.color,
                marker=style.marker,
                linestyle=style.linestyle,
                linewidth=style.width,
                zorder=style.zorder,
                markeredgecolor=CARD,
                markeredgewidth=0.6,
            )
            xs += intensities
            ys += speeds
            labels.append(
                EndLabel(intensities[-1], speeds[-1], title_of(group[0]), style.color, group[0].id == "cublas")
            )
        note = "Intensity counts A, B and C once each (each line climbs through the sizes); caches can not do better."
    ridge = peak * 1e3 / bandwidth
    low, high = min([*xs, ridge / 4]) / 1.6, max([*xs, ridge]) * 1.6
    ax.set_xscale("log")
    ax.set_yscale("log")
    roof = np.geomspace(low, high, 256)
    ax.plot(roof, np.minimum(peak, roof * bandwidth / 1e3), color=PEAK, lw=2.0, zorder=1)
    ax.set_xlim(low, high)
    ax.set_ylim(min(ys) / 1.8, peak * 1.9)
    ax.annotate(
        f"FP32 peak {peak:.1f} TFLOP/s",
        (ridge, peak),
        xytext=(4, 5),
        textcoords="offset points",
        ha="left",
        color=PEAK,
        fontsize=9.5,
    )
    ax.xaxis.set_major_formatter(FuncFormatter(plain))
    ax.xaxis.set_minor_locator(NullLocator())
    speed_ticks(ax)
    ax.set_xlabel("arithmetic intensity, FLOP per byte of DRAM traffic")
    ax.set_ylabel("TFLOP/s")
    lay_out(fig, right=0.80, bottom=0.80)
    start = max(low, min(ys) / 1.8 * 1e3 / bandwidth)
    middle = np.sqrt(start * ridge)
    first, second = ax.transData.transform([(middle, middle * bandwidth / 1e3), (ridge, peak)])
    ax.annotate(
        f"DRAM peak {bandwidth / 1e3:.2f} TB/s",
        (middle, middle * bandwidth / 1e3),
        xytext=(-7, 7),
        textcoords="offset points",
        ha="center",
        va="center",
        color=PEAK,
        fontsize=9.5,
        rotation=np.degrees(np.arctan2(second[1] - first[1], second[0] - first[0])),
    )
    label_ends(fig, ax, labels)
    footnote(fig, note)
    return fig


def duration(microseconds: float, _position=None) -> str:
    for limit, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= limit:
            return f"{microseconds / limit:g} {unit}"
    return f"{microseconds:g} µs"


def times_over_size(records: Iterable[Record]) -> dict[int, float]:
    return {record.size: record.microseconds for record in records if record.size is not None}


def cpu_against_gpu(source: Source) -> Figure:
    gpu = source.results.pick(lambda r: r.is_gpu and r.size is not None, time="end-to-end")
    # A CPU kernel has nothing to copy, so any record of it will do; an end-to-end sweep's own come last and win.
    cpu = source.results.pick(lambda r: not r.is_gpu and r.size is not None)
    cpu.sort(key=lambda r: r.time == "end-to-end")
    if not gpu or not cpu:
        raise NoData("it takes an end-to-end sweep of GPU kernels, and CPU kernels")
    lines = {
        "cpu_naive": ("three loops on the CPU, one thread", VERMILION, "o"),
        "cpu_blas": ("OpenBLAS on the CPU, all threads", ORANGE, "s"),
        "01_naive": ("chapter 01 on the GPU, with copies", SKY, "D"),
        "cublas": ("cuBLAS on the GPU, with copies", CUBLAS, ""),
    }
    times = {name: times_over_size(r for r in [*cpu, *gpu] if r.id == name) for name in lines}
    times = {name: line for name, line in times.items() if line}
    context = gpu[0].context
    subtitle = f"{source.subtitle(gpu)} · {context['cpu']}, {context['num_cpus']} threads"
    fig, (ax,) = figure(6.0, "CPU against GPU, copies included", subtitle)
    for name, line in times.items():
        text, color, marker = lines[name]
        sizes = sorted(line)
        ax.plot(
            sizes,
            [line[size] for size in sizes],
            color=color,
            marker=marker,
            linewidth=3.0 if name == "cublas" else 2.0,
            markeredgecolor=CARD,
            markeredgewidth=0.6,
            zorder=2 if name == "cublas" else 3,
            label=text,
        )
    every = sorted({size for line in times.values() for size in line})
    size_axis(ax, every)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(duration))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlim(min(every) / 1.15, max(every) * 1.15)
    all_times = [time for line in times.values() for time in line.values()]
    low, high = min(all_times) / 6, max(all_times) * 2.2
    ax.set_ylim(low, high)
    ax.set_ylabel("time of one product")
    lay_out(fig, left=0.105, bottom=0.8)
    crossings = []
    for slow, fast in (("01_naive", "cpu_naive"), ("cublas", "cpu_blas")):
        size = crossover(times[slow], times[fast]) if {slow, fast} <= times.keys() else None
        if size is not None:
            line = times[slow]
            sizes = sorted(line)
            meeting = np.exp(np.interp(np.log(size), np.log(sizes), np.log([line[s] for s in sizes])))
            crossings.append((size, meeting, lines[slow][0], lines[fast][0], lines[fast][1]))
    # From left to right, the texts climb, and each line ends at its text: no line runs through another's text.
    for row, (size, meeting, slow, fast, color) in enumerate(sorted(crossings)):
        text = ax.annotate(
            f"N ≈ {size:.0f}: {slow.partition(',')[0]} overtakes\n{fast.partition(',')[0]}",
            (size, low),
            xytext=(5, 6 + 34 * row),
            textcoords="offset points",
            va="bottom",
            fontsize=9.5,
            color=readable(color),
        )
        foot = ax.transData.inverted().transform((0, text.get_window_extent().y0))[1] if row else low
        ax.plot([size, size], [foot, meeting], color=color, lw=1.4, ls=(0, (2, 2)), zorder=1)
        ax.plot(size, meeting, "o", color=color, markerfacecolor="none", markersize=13, markeredgewidth=1.4, zorder=4)
    ax.legend(loc="upper left", frameon=True, framealpha=1, edgecolor=GRID, facecolor=CARD, fontsize=10)
    memory = context["protocol"].get("host_memory")
    copies = "GPU times include copying A and B to the device and C back"
    footnote(fig, f"{copies}, from {memory} host memory." if memory else f"{copies}.")
    return fig


def cpu_speed(source: Source) -> Figure:
    """What can be shown without a GPU: the CPU kernels over the sizes."""
    records = source.results.pick(lambda r: not r.is_gpu and r.size is not None)
    if not records:
        raise NoData("no measured kernel on square matrices")
    styles = {"cpu_naive": Style(VERMILION, "-", "o", 2.0, 3.0), "cpu_blas": Style(ORANGE, "-", "s", 2.0, 3.0)}
    fig, (ax,) = figure(4.8, "Speed on the CPU over matrix size", source.subtitle(records))
    labels = draw_lines(
        ax, lambda r: styles.get(r.id) or Palette(records).style(r), by_kernel(records), lambda r: r["gflops"]
    )
    sizes = [record.size for record in records]
    size_axis(ax, sizes)
    ax.set_xlim(min(sizes) / 1.12, max(sizes) * 1.06)
    ax.set_yscale("log")
    ax.set_ylim(min(r["gflops"] for r in records) / 1.4, max(r["gflops"] for r in records) * 1.4)
    speed_ticks(ax)
    ax.set_ylabel("GFLOP/s, logarithmic")
    ax.grid(axis="x", visible=False)
    lay_out(fig, right=0.84)
    label_ends(fig, ax, labels)
    return fig


def cold_against_warm(source: Source) -> Figure:
    cold = {(r.id, r.size): r for r in source.sweep("cold")}
    warm = {(r.id, r.size): r for r in source.sweep("warm")}
    common = [cold[key] for key in cold if key in warm and cold[key].has_fp32_accuracy]
    if not common:
        raise NoData("it takes a cold and a warm sweep of the same kernels")
    groups = by_kernel(record for record in common if not record.variant)
    fig, (ax,) = figure(5.6, "What a warm L2 cache is worth", source.subtitle(common).replace("cold L2 · ", ""))
    draw_lines(ax, Palette(common).style, groups, lambda r: r.microseconds / warm[r.id, r.size].microseconds)
    starts = [group[0] for group in groups.values()]
    labels = [
        EndLabel(r.size, r.microseconds / warm[r.id, r.size].microseconds, title_of(r), color, r.id == "cublas")
        for r, color in ((r, Palette(common).color(r)) for r in starts)
    ]
    sizes = [record.size for record in common]
    size_axis(ax, sizes)
    ax.set_xlim(min(sizes) / 1.08, max(sizes) * 1.12)
    ax.axhline(1, color=MUTED, lw=1.0, zorder=1)
    # The lines differ where problems fit in the cache and meet where they do not, so the names stand on the left.
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    ax.spines[["left"]].set_visible(False)
    ax.spines[["right"]].set_visible(True)
    ax.set_ylabel("cold time / warm time")
    ax.grid(axis="x", visible=False)
    lay_out(fig, left=0.21, right=0.915)
    label_ends(fig, ax, labels, left=True)
    return fig


def errors_at(source: Source, size: int, **fields) -> list[Record]:
    """Errors measured at one size, of the default variants."""
    if source.accuracy is None:
        raise NoData(f"it takes a file of runner --accuracy ({ACCURACY_FILE})")
    records = source.accuracy.pick(lambda r: r.get("rel_err") is not None, outcome=None, size=size, **fields)
    return [record for record in records if not record.variant]


def error_axis(axis: Axis) -> None:
    """Powers of ten on a logarithmic axis of errors."""
    axis.set_major_locator(LogLocator(numticks=20))
    axis.set_minor_locator(NullLocator())


def error_against_speed(source: Source) -> Figure:
    size = ladder_size_of(source)
    errors = {record.id: record for record in errors_at(source, size, distribution="uniform", is_gpu=True)}
    points = [record for record in source.sweep() if record.size == size and record.id in errors]
    if not points:
        raise NoData(f"no kernel has both a speed and an error at {size}")
    if source.accuracy.device.get("name") != source.results.device.get("name"):
        raise NoData("speeds and errors are of different devices")
    subtitle = source.subtitle(points).rpartition(" · ")[0]
    fig, (ax,) = figure(6.0, f"Error against speed at {size} × {size} × {size}", f"{subtitle} · uniform data")
    palette = Palette(points)
    ys = [errors[record.id]["rel_err"] for record in points]
    labels = []
    for record, y in zip(points, ys, strict=True):
        style = palette.style(record)
        ax.plot(record.tflops, y, style.marker or "o", color=style.color, markersize=8, zorder=3)
        labels.append(EndLabel(record.tflops, y, title_of(record), style.color))
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(min(r.tflops for r in points) / 1.8, max(r.tflops for r in points) * 1.8)
    ax.set_ylim(min(ys) / 5, max(ys) * 3)
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FuncFormatter(plain))
    ax.xaxis.set_minor_locator(NullLocator())
    error_axis(ax.yaxis)
    ax.set_xlabel("TFLOP/s, logarithmic")
    ax.set_ylabel("relative error against FP64 (Frobenius norm), logarithmic")
    lay_out(fig, bottom=0.80)
    lines = []
    if "cublas" in errors:
        level = errors["cublas"]["rel_err"]
        ax.axhline(level, color=CUBLAS, lw=1.4, ls=(0, (6, 3)), zorder=1)
        frame, (_, y) = ax.get_window_extent(), ax.transData.transform((1, level))
        lines.append(Bbox.from_extents(frame.x0, y - 2, frame.x1, y + 2))
    label_points(fig, ax, labels, avoid=lines)
    footnote(fig, "Dashed: the error of cublasSgemm. Variants of chapters are left out.")
    return fig


UNDRAWN = ("inf", "nan", "zeros")  # what is finite of the first two is uniform, and the last is exact
EXACT_GAP = 30.0  # how far left of the smallest error a result without one is drawn, as a factor


def error_by_distribution(source: Source) -> Figure:
    sizes = source.accuracy.sizes if source.accuracy else []
    size = 4096 if 4096 in sizes else max(sizes, default=0)
    records = errors_at(source, size)
    positive = [record["rel_err"] for record in records if record["rel_err"] > 0]
    if not positive:
        raise NoData("no error above 0 was measured")
    kinds = [kind for kind in records[0].context["protocol"]["data"] if kind not in UNDRAWN]
    records = [record for record in records if record.distribution in kinds]
    kernels = list({record.id: record for record in records}.values())
    context = records[0].context
    if context["device"]:
        subtitle = f"{context['device']['name']} · cuBLAS {context['cublas_version']}"
    else:
        subtitle = f"{context['cpu']}, GPU kernels executed on it"
    height = 1.7 + 0.85 * len(kinds)
    fig, (ax,) = figure(height, f"Error by distribution at {size} × {size} × {size}", subtitle)
    palette = Palette(kernels)
    colors = {"cublaslt_best": SKY, "cublas_tf32": BLUE, "cpu_blas": GREEN, "cpu_naive": ORANGE}
    markers = {"cublas": "_", "cublaslt_best": "1", "cublas_tf32": "P", "cpu_blas": "x", "cpu_naive": "+"}
    exact = 10 ** np.floor(np.log10(min(positive) / EXACT_GAP))
    for place, kernel in enumerate(kernels):
        color = colors.get(kernel.id, palette.color(kernel))
        marker = markers.get(kernel.id) or palette.style(kernel).marker or "o"
        offset = 0.8 * (place / max(len(kernels) - 1, 1) - 0.5)
        own = [record for record in records if record.id == kernel.id]
        xs = [record["rel_err"] or exact for record in own]
        ys = [kinds.index(record.distribution) + offset for record in own]
        ax.plot(xs, ys, marker, color=color, markeredgewidth=1.3, markersize=5, zorder=3, label=title_of(kernel))
        beyond = [i for i, record in enumerate(own) if not record.get("verified")]
        ringed = [xs[i] for i in beyond], [ys[i] for i in beyond]
        ax.plot(*ringed, "o", color=PEAK, markerfacecolor="none", markersize=13, markeredgewidth=1.4, zorder=4)
    for row in range(1, len(kinds)):
        ax.axhline(row - 0.5, color=GRID, lw=0.8, zorder=1)
    ax.axvline(exact * np.sqrt(EXACT_GAP), color=MUTED, lw=0.8, zorder=1)
    ax.set_xscale("log")
    ax.set_xlim(exact / 3, max(positive) * 3)
    ax.set_ylim(len(kinds) - 0.5, -0.5)
    ax.set_yticks(range(len(kinds)), kinds)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
    powers = np.arange(np.ceil(np.log10(exact * EXACT_GAP)), np.floor(np.log10(max(positive) * 3)) + 1)
    ax.xaxis.set_major_locator(FixedLocator([exact, *10.0**powers]))
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "exact" if value == exact else f"$10^{{{round(np.log10(value))}}}$")
    )
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("relative error against FP64 (Frobenius norm), logarithmic")
    lay_out(fig, left=0.12, right=0.77, bottom=0.80)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9.5, borderaxespad=0)
    order = "In each row, kernels from top to bottom as in the list."
    footnote(fig, f"{order} Ringed: beyond the bound of its class, promised or not.")
    return fig


CHARTS: dict[str, Callable[[Source], Figure]] = {
    "gflops_over_size": gflops_over_size,
    "percent_of_cublas": percent_of_cublas,
    "ladder": ladder,
    "resources": resources,
    "roofline": roofline,
    "cpu_against_gpu": cpu_against_gpu,
    "cold_against_warm": cold_against_warm,
    "error_against_speed": error_against_speed,
    "error_by_distribution": error_by_distribution,
}


def charts_of(source: Source) -> dict[str, Callable[[Source], Figure]]:
    """The charts above, and one for each chapter: chapter_01, chapter_02, ... Without GPU kernels, the CPU's alone."""
    if not any(record.is_gpu for record in source.results.pick()):
        return {"cpu_speed": cpu_speed} | ({"error_by_distribution": error_by_distribution} if source.accuracy else {})
    numbers = sorted({record.number for record in source.sweep() if record.is_chapter})
    return {**CHARTS, **{f"chapter_{number:02d}": partial(chapter, number=number) for number in numbers}}


def png(fig: Figure) -> bytes:
    """With a palette of 256 colours, which looks the same on a drawing and takes a third of the space."""
    full, small = io.BytesIO(), io.BytesIO()
    fig.savefig(full, format="png", dpi=PNG_DPI)
    with Image.open(full) as image:
        reduced = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    reduced.save(small, format="png", optimize=True, dpi=(PNG_DPI, PNG_DPI))
    return small.getvalue()


def svg(fig: Figure) -> bytes:
    text = io.BytesIO()
    fig.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def save(fig: Figure, path: Path) -> None:
    """Writes the figure in the format of the path's suffix; the same figure always gives the same bytes."""
    content = {".png": png, ".svg": svg}[path.suffix](fig)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def draw(source: Source, folder: Path, formats: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Draws every chart there is data for; returns the files and, for the others, why not."""
    folder.mkdir(parents=True, exist_ok=True)
    written, skipped = [], []
    for name, chart in charts_of(source).items():
        try:
            fig = chart(source)
        except NoData as reason:
            skipped.append(f"{name}: {reason}")
            continue
        for kind in formats:
            path = folder / f"{name}.{kind}"
            save(fig, path)
            written.append(path)
        plt.close(fig)
    return written, skipped


def files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = [path / name for name in (*SWEEP_FILES, COUNTERS_FILE, ACCURACY_FILE) if (path / name).exists()]
    if not files:
        raise ResultsError(f"{path} holds none of {', '.join(SWEEP_FILES)}")
    return files


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="results files or folders of one device"
    )
    parser.add_argument("--out", type=Path, help="folder of the charts (default: charts/ beside the first file)")
    parser.add_argument("--format", default="png,svg", help="png, svg or both (default: png,svg)")
    parser.add_argument("--ladder-size", type=int, help="size of the ladder (default: 4096, else the largest common)")
    options = parser.parse_args(arguments)
    options.format = options.format.split(",")
    if unknown := set(options.format) - {"png", "svg"}:
        parser.error(f"unknown format {', '.join(sorted(unknown))}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        files = [file for path in options.results for file in files_of(path)]
        of_ncu = [path for path in files if is_counters(path)]
        of_accuracy = [path for path in files if is_accuracy(path)]
        of_runner = [path for path in files if path not in [*of_ncu, *of_accuracy]]
        source = Source(
            results=load(of_runner),
            counters=load_counters(of_ncu[-1]) if of_ncu else None,
            ladder_size=options.ladder_size,
            accuracy=load(of_accuracy) if of_accuracy else None,
        )
        written, skipped = draw(source, options.out or files[0].parent / "charts", options.format)
    except (ResultsError, OSError) as error:
        stop(error)
    for path in written:
        print(path)
    for reason in skipped:
        print(f"skipped {reason}")
    return 0 if written else 1


if __name__ == "__main__":
    raise SystemExit(main())
