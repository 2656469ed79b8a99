#!/usr/bin/env python3
"""Draws the charts from results files. Every number in a chart comes from the files.

    scripts/plot.py results/nvidia-h200
    scripts/plot.py cold.json end-to-end.json --out charts

Several files of one device may be given: a cold and a warm sweep, an end-to-end sweep, the file of
scripts/counters.py and that of runner --accuracy; a folder stands for those in it that bear their usual names. A chart
whose data is missing is skipped, and the reason is printed.
"""

from __future__ import annotations

import needs  # noqa: F401

# isort: split
import argparse
import io
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from PIL import Image

from results import (
    ACCURACY_FILE,
    COUNTERS_FILE,
    SWEEP_FILES,
    ResultsError,
    Row,
    crossover,
    device_of,
    is_accuracy,
    is_counters,
    load,
    load_counters,
    pick,
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
OUTLINED = {"markeredgecolor": CARD, "markeredgewidth": 0.6}
PEAK_LINE = {"color": PEAK, "lw": 1.4, "ls": (0, (6, 3))}
PEAK_TEXT = {"color": PEAK, "fontsize": 9.5}
LIBRARIES = {
    "cublas": ("cuBLAS", CUBLAS, "_"),
    "cublaslt_best": ("cuBLASLt best", SKY, "1"),
    "cublas_tf32": ("cuBLAS TF32", BLUE, "P"),
    "cpu_blas": ("cpu blas", GREEN, "x"),
    "cpu_naive": ("cpu naive", ORANGE, "+"),
}
LEFT_OUT = "Variants of chapters are left out."
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
    }
)


class NoData(Exception):
    """A chart can not be drawn from the given files; the message says what is missing."""


@dataclass(frozen=True)
class Source:
    """Everything the charts are drawn from."""

    results: pd.DataFrame
    counters: dict | None = None
    ladder_size: int | None = None
    accuracy: pd.DataFrame | None = None

    @property
    def device(self) -> dict:
        return device_of(self.results)

    @property
    def peak(self) -> float | None:
        """The device's FP32 peak in TFLOP/s."""
        peak = self.device.get("fp32_peak_gflops")
        return peak / 1e3 if peak else None

    def squares(self, **fields) -> pd.DataFrame:
        """Measured products of square matrices."""
        return pick(self.results, **fields).dropna(subset="side").astype({"side": int})

    def sweep(self, l2: str | None = None) -> pd.DataFrame:
        """Those of GPU kernels timed as kernels; cold ones where there are any."""
        records = self.squares(is_gpu=True, time="kernel")
        if records.empty:
            raise NoData("no measured GPU kernel on square matrices")
        return records[records.l2 == (l2 or min(records.l2, key=["cold", "warm"].index))]

    def accurate(self) -> pd.DataFrame:
        """Those of the sweep that are as accurate as FP32."""
        return pick(self.sweep(), has_fp32_accuracy=True)


def subtitle(records: pd.DataFrame) -> str:
    """The device and how it was measured, for the line under a title."""
    context, on_gpu = records.context.iloc[0], records.is_gpu.iloc[0]
    protocol = context["protocol"]
    parts = [context["device"]["name"] if on_gpu else context["cpu"]]
    if context.get("cublas_version") and on_gpu:
        parts.append(f"cuBLAS {context['cublas_version']}")
    if protocol["time"] == "kernel" and on_gpu:
        parts.append(f"{protocol['l2']} L2")
    return " · ".join([*parts, f"{protocol.get('data', 'unknown')} data"])


@dataclass(frozen=True)
class Style:
    color: object
    linestyle: object
    marker: str
    width: float
    zorder: float

    @property
    def line(self) -> dict:
        names = {"color": self.color, "linestyle": self.linestyle, "marker": self.marker, "linewidth": self.width}
        return names | {"zorder": self.zorder} | OUTLINED


class Palette:
    """One colour for each chapter on an ordered ramp, dashes for variants, black for cuBLAS."""

    def __init__(self, records: pd.DataFrame):
        chapters = records[records.is_chapter]
        self._numbers = sorted(chapters.number.unique())
        self._variants = chapters[chapters.variant != ""].groupby("number").variant.unique()

    def color(self, row: Row):
        if not row.is_chapter:
            return CUBLAS if row.kernel == "cublas" else "#57606a"
        last = max(len(self._numbers) - 1, 1)
        # Inside the ramp: its dark end looks like cuBLAS's black, and its pale end vanishes on the card.
        return matplotlib.colormaps["inferno"](0.22 + 0.52 * self._numbers.index(row.number) / last)

    def style(self, row: Row) -> Style:
        if row.kernel == "cublas":
            return Style(CUBLAS, "-", "", 3.2, 2.0)  # wide and below, so that a line as fast as it stays in sight
        if not row.is_chapter:
            return Style(self.color(row), (0, (1, 1.2)), "", 2.2, 3.5)
        marker = MARKERS[self._numbers.index(row.number) % len(MARKERS)]
        if row.variant:
            dashes = [(0, (4, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (2.5, 1))]
            index = list(self._variants[row.number]).index(row.variant)
            return Style(self.color(row), dashes[index % len(dashes)], marker, 1.5, 2.5)
        return Style(self.color(row), "-", marker, 2.1, 3.0)

    def point(self, row: Row) -> dict:
        """For a kernel that is a point; libraries have colours of their own."""
        if not row.is_chapter:
            _, color, marker = LIBRARIES.get(row.kernel, ("", self.color(row), "o"))
            return {"color": color, "marker": marker, "linestyle": "", "markeredgewidth": 1.6}
        style = self.style(row)
        face = CARD if row.variant else style.color
        return {"color": style.color, "marker": style.marker, "linestyle": "", "markerfacecolor": face}


def title_of(row: Row) -> str:
    """ "05 coarse 1d", "06 vectorized"; libraries by their own name."""
    if not row.is_chapter:
        return LIBRARIES.get(row.kernel, (row.kernel.replace("_", " "),))[0]
    number, _, name = row.kernel.partition(":")[0].partition("_")
    return f"{number} {(row.variant or name).replace('_', ' ')}"


def by_kernel(records: pd.DataFrame) -> list[pd.DataFrame]:
    """The records of each kernel in ascending size."""
    return [group.sort_values("side") for _, group in records.groupby("kernel", sort=False)]


def first(records: pd.DataFrame) -> Row:
    return next(records.itertuples())


def figure(height: float, title: str, subtitle: str, columns: int = 1) -> tuple[Figure, list[Axes]]:
    fig, axes = plt.subplots(1, columns, figsize=(WIDTH, height), squeeze=False, sharey=True)
    fig.text(0.02, 1 - 0.16 / height, title, fontsize=14, fontweight="bold", va="top")
    fig.text(0.02, 1 - 0.44 / height, subtitle, fontsize=10, color=MUTED, va="top")
    return fig, list(axes[0])


def lay_out(fig: Figure, *, right: float = 0.98, left: float = 0.09, bottom: float = 0.62) -> None:
    height = fig.get_figheight()
    fig.subplots_adjust(left=left, right=right, top=1 - 0.86 / height, bottom=bottom / height, wspace=0.12)


def footnote(fig: Figure, text: str) -> None:
    fig.text(0.02, 0.08 / fig.get_figheight(), text, fontsize=9, color=MUTED, va="bottom")


def decades(axis: Axis, unit: str = "") -> None:
    """Plain numbers 1, 2 and 5 of each decade on a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}{unit}"))
    axis.set_minor_locator(NullLocator())


def log_axis(ax: Axes, which: str, values: Iterable[float], low: float, high: float) -> None:
    """A logarithmic axis from the least value over `low` to the largest one times `high`."""
    ax.set(**{f"{which}scale": "log", f"{which}lim": (min(values) / low, max(values) * high)})


def size_axis(ax: Axes, sizes: Sequence[int], low: float = 1.12, high: float = 1.06) -> None:
    """A logarithmic axis of sizes with ticks at powers of two, labelled as plain integers."""
    ax.set_xscale("log", base=2)
    powers = [2**e for e in range(64) if min(sizes) <= 2**e <= max(sizes)]
    ax.xaxis.set_major_locator(FixedLocator(powers if len(powers) > 1 else sorted(set(sizes))))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    ax.set_xlabel("M = N = K")
    ax.set_xlim(min(sizes) / low, max(sizes) * high)
    ax.grid(axis="x", visible=False)


def rows_axis(ax: Axes, names: Sequence[str]) -> None:
    """An axis with a name for each row, from top to bottom."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def spread(targets: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Moves label centres apart until neighbours are at least `gap` apart, each close to its target, in their order."""
    order = sorted(range(len(targets)), key=lambda i: targets[i])
    blocks: list[list[float]] = []  # sum of (target - offset in block), count
    for i in order:
        blocks.append([targets[i], 1])
        while len(blocks) > 1:
            (sum_a, count_a), (sum_b, count_b) = blocks[-2:]
            if sum_b / count_b - sum_a / count_a >= gap * count_a:
                break
            blocks[-2:] = [[sum_a + sum_b - count_b * count_a * gap, count_a + count_b]]
    placed = [total / count + gap * i for total, count in blocks for i in range(int(count))]
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], high if i == len(placed) - 1 else placed[i + 1] - gap)
    for i in range(len(placed)):
        placed[i] = max(placed[i], low if i == 0 else placed[i - 1] + gap)
    return [placed[order.index(i)] for i in range(len(placed))]


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
    sign, edge, side = (-1, box.x0, "right") if left else (1, box.x1, "left")
    for label, (x, y), height in zip(labels, ends, heights, strict=True):
        leader = [(x + sign * 5, y), (edge + sign * 12, height), (edge + sign * 18, height), (edge + sign * 22, height)]
        *line, place = ax.transAxes.inverted().transform(leader)
        ax.plot(*zip(*line, strict=True), color=label.color, lw=0.8, alpha=0.8, transform=ax.transAxes, clip_on=False)
        weight = "bold" if label.bold else "normal"
        font = {"color": readable(label.color), "fontsize": fontsize, "fontweight": weight}
        ax.text(*place, label.text, transform=ax.transAxes, ha=side, va="center", **font)


def three_digits(tflops: float) -> str:
    return f"{tflops:#.3g}".rstrip(".")


def draw_lines(ax: Axes, style_of: Callable[[Row], Style], records: pd.DataFrame, value: str) -> list[EndLabel]:
    """A line for each kernel over the sizes; returns the names for their ends."""
    labels = []
    for group in by_kernel(records):
        row, style = first(group), style_of(first(group))
        ax.plot(group.side, group[value], **style.line)
        end = group.iloc[-1]
        labels.append(EndLabel(end.side, end[value], title_of(row), style.color, row.kernel == "cublas"))
    return labels


def gflops_over_size(source: Source) -> Figure:
    """The chapters' default variants. Logarithmic, as steps are factors."""
    records = pick(source.sweep(), variant="")
    drawn, others = records[records.has_fp32_accuracy], records[~records.has_fp32_accuracy]
    fig, (ax,) = figure(6.4, "Speed over matrix size", subtitle(records))
    labels = draw_lines(ax, Palette(records).style, drawn, "tflops")
    size_axis(ax, records.side)
    ax.set_ylabel("TFLOP/s, logarithmic")
    log_axis(ax, "y", [*drawn.tflops, source.peak or drawn.tflops.max()], 1.3, 1.4)
    decades(ax.yaxis)
    if peak := source.peak:
        ax.axhline(peak, **PEAK_LINE, zorder=1)
        basis = source.device.get("fp32_peak_basis", "").replace(" x ", " × ")
        text = f"FP32 peak {peak:.1f} TFLOP/s" + (f": {basis}" if basis else "")
        # On tensor cores a line may pass the peak, at large sizes: short lines stay on the left of it.
        text = textwrap.fill(text, 30) if drawn.tflops.max() > peak else text
        place = {"xycoords": ax.get_yaxis_transform(), "xytext": (0, 4), "textcoords": "offset points"}
        ax.annotate(text, (0.01, peak), **place, **PEAK_TEXT)
    lay_out(fig, right=0.80, bottom=0.78)
    label_ends(fig, ax, labels)
    note = LEFT_OUT
    if not others.empty:
        best = others.loc[others.groupby("kernel", sort=False).tflops.idxmax()].itertuples()
        text = "; ".join(f"{title_of(row)} reaches {row.tflops:.0f} TFLOP/s at {row.side}" for row in best)
        note += f" Not drawn, because of its lower precision: {text}."
    footnote(fig, note)
    return fig


def chapter(source: Source, number: int) -> Figure:
    """The variants of one chapter between the chapter before and cuBLAS. Logarithmic, as steps are factors."""
    records = source.accurate()
    own = records[records.number == number]
    if own.empty:
        raise NoData(f"chapter {number} was not measured")
    earlier = records[records.is_chapter & (records.number < number) & (records.variant == "")]
    before = earlier[earlier.number == earlier.number.max()]
    drawn = pd.concat([before, own, records[records.kernel == "cublas"]])
    palette = Palette(records)

    def style_of(row: Row) -> Style:
        style = palette.style(row)
        return replace(style, color=BEFORE, width=1.8, zorder=2.2) if row.kernel in set(before.kernel) else style

    name = own.kernel.iloc[0].partition(":")[0].partition("_")[2]
    fig, (ax,) = figure(4.8, f"Chapter {number:02d}: {name}", subtitle(own))
    labels = draw_lines(ax, style_of, drawn, "tflops")
    # Variants may lie on each other; their numbers tell them apart.
    labels = [replace(label, text=f"{label.text}  {three_digits(label.y)}") for label in labels]
    size_axis(ax, drawn.side)
    log_axis(ax, "y", drawn.tflops, 1.3, 1.4)
    decades(ax.yaxis)
    ax.set_ylabel("TFLOP/s, logarithmic")
    lay_out(fig, right=0.75, bottom=0.80)
    label_ends(fig, ax, labels)
    note = f"Beside the names: TFLOP/s at {drawn.side.max()}."
    if not before.empty:
        note += " Grey: the chapter before."
    rough = pick(source.sweep(), number=number, has_fp32_accuracy=False)
    if names := dict.fromkeys(map(title_of, rough.itertuples())):
        note += f" Not drawn, because of its lower precision: {', '.join(names)}."
    footnote(fig, note)
    return fig


def percent_of_cublas(source: Source) -> Figure:
    """The chapters' default variants. Logarithmic, as steps are factors."""
    records = pick(source.accurate(), variant="").dropna(subset="of_cublas")
    records = records[records.kernel != "cublas"].assign(percent=lambda r: 100 * r.of_cublas)
    if records.empty:
        raise NoData("no kernel was compared with cuBLAS")
    fig, (ax,) = figure(6.4, "Speed relative to cuBLAS", subtitle(records))
    labels = draw_lines(ax, Palette(records).style, records, "percent")
    size_axis(ax, records.side)
    ax.axhline(100, color=CUBLAS, lw=3.2, zorder=1.5)
    log_axis(ax, "y", [*records.percent, 100], 1.3, 1.2)
    decades(ax.yaxis, " %")
    ax.set_ylabel("percent of cublasSgemm's speed, logarithmic")
    labels.append(EndLabel(records.side.max(), 100.0, "cuBLAS", CUBLAS, bold=True))
    lay_out(fig, left=0.105, right=0.80, bottom=0.94)
    label_ends(fig, ax, labels)
    ratio = "The smaller of two ratios: to cuBLAS samples taken in turn with the kernel's, and to cuBLAS alone."
    footnote(fig, f"{LEFT_OUT}\n{ratio}")
    return fig


def ladder_size_of(source: Source) -> int:
    """The size asked for, else 4096 where every kernel has it, else the largest size that every kernel has."""
    if source.ladder_size is not None:
        return source.ladder_size
    common = set.intersection(*(set(group.side) for group in by_kernel(source.sweep())))
    if not common:
        raise NoData("no size is common to all kernels")
    return 4096 if 4096 in common else max(common)


def bars(ax: Axes, records: pd.DataFrame, values: Iterable[float]) -> None:
    """A bar for each kernel in its colour, pale and dashed for variants."""
    palette = Palette(records)
    for place, (row, value) in enumerate(zip(records.itertuples(), values, strict=True)):
        color = palette.color(row)
        face, edge, height = (color, "-", 0.66) if not row.variant else ((*color[:3], 0.45), "--", 0.5)
        ax.barh(place, value, height=height, color=face, edgecolor=color, linewidth=1.0, linestyle=edge, zorder=2)
    rows_axis(ax, [title_of(row) for row in records.itertuples()])
    for tick, variant in zip(ax.get_yticklabels(), records.variant, strict=False):
        tick.set(fontsize=9.5 if variant else 10, color=MUTED if variant else INK)


def ladder(source: Source) -> Figure:
    size = ladder_size_of(source)
    drawn = pick(source.accurate(), side=size)
    if drawn.empty:
        raise NoData(f"no kernel was measured at {size}")
    fig, (ax,) = figure(1.75 + 0.33 * len(drawn), f"The ladder at {size} × {size} × {size}", subtitle(drawn))
    bars(ax, drawn, drawn.tflops)
    beside = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center"}
    for place, row in enumerate(drawn.itertuples()):
        ax.text(1.11, place, three_digits(row.tflops), **beside)
        if not pd.isna(row.of_cublas) or row.kernel == "cublas":
            ax.text(1.26, place, "100 %" if row.kernel == "cublas" else f"{100 * row.of_cublas:.1f} %", **beside)
    for x, head in ((1.11, "TFLOP/s"), (1.26, "of cuBLAS")):
        ax.text(x, -0.85, head, fontsize=9.5, color=MUTED, **beside)
    ax.set_xlabel("TFLOP/s")
    for rival in pick(drawn, kernel="cublas").tflops:
        ax.axvline(rival, color=CUBLAS, lw=2.2, zorder=3)
    if peak := source.peak:
        ax.axvline(peak, **PEAK_LINE, zorder=3)
        ax.text(peak, -0.85, f"FP32 peak {peak:.1f}", ha="right", va="center", **PEAK_TEXT)
    ax.set_xlim(0, max(drawn.tflops.max(), peak or 0) * 1.02)
    lay_out(fig, left=0.20, right=0.82)
    return fig


def resources(source: Source) -> Figure:
    """What a kernel takes beside how fast it is, a row for each."""
    size = ladder_size_of(source)
    records = pick(source.accurate(), side=size).dropna(subset="registers")
    if records.empty:
        raise NoData(f"no kernel at {size} says what resources it takes")
    title = f"Resources and speed at {size} × {size} × {size}"
    fig, axes = figure(1.75 + 0.33 * len(records), title, subtitle(records), columns=4)
    panels = (
        (records.registers, "registers a thread", 255),
        (records.smem_bytes / 1024, "shared memory\nof a block, KiB", None),
        (100 * records.occupancy, "occupancy, %", 100),
        (records.tflops, "TFLOP/s", None),
    )
    for ax, (values, name, most) in zip(axes, panels, strict=True):
        bars(ax, records, values)
        top = most or values.max()
        for place, value in enumerate(values):
            text = three_digits(value) if ax is axes[-1] else f"{value:.3g}"
            ax.text(value + 0.02 * top, place, text, va="center", fontsize=9, zorder=3)
        ax.set_xlim(0, 1.32 * top)
        ax.set_xlabel(name)
    lay_out(fig, left=0.20, bottom=0.80)
    return fig


def compulsory_intensity(m: int, n: int, k: int) -> float:
    """FLOP for each byte when A and B are read and C is written exactly once."""
    return 2 * m * n * k / (4 * (m * k + k * n + m * n))


def roofline(source: Source) -> Figure:
    peak, bandwidth = source.peak, source.device.get("dram_peak_gbytes_s")
    if not peak or not bandwidth:
        raise NoData("the device's FP32 and DRAM peaks are not known")
    counters = source.counters or {"context": {"size": ladder_size_of(source)}, "derived": {}}
    size, moved = counters["context"]["size"], counters["derived"]
    records = pick(source.sweep(), accuracy_class="fp32", side=size)
    if counters["derived"]:
        records = records[[bool((moved.get(kernel) or {}).get("flop_per_dram_byte")) for kernel in records.kernel]]
    if records.empty:
        raise NoData(f"no measured GPU kernel with counters at {size}")
    palette = Palette(source.sweep())
    fig, (ax,) = figure(6.0, "Roofline", subtitle(records))
    xs, labels = [], []
    for row in records.itertuples():
        ideal, color = compulsory_intensity(*row.shape), palette.color(row)
        actual = moved.get(row.kernel, {}).get("flop_per_dram_byte", ideal)
        ax.plot([actual, ideal], [row.tflops] * 2, color=color, lw=1.0, alpha=0.6, zorder=2)
        ax.plot(ideal, row.tflops, "|", color=color, markersize=10, zorder=3)
        ax.plot(actual, row.tflops, **palette.point(row), markersize=8, zorder=4)
        xs += [ideal, actual]
        labels.append(EndLabel(max(actual, ideal), row.tflops, title_of(row), color))
    ridge = peak * 1e3 / bandwidth
    log_axis(ax, "x", [*xs, ridge / 4, ridge], 1.6, 1.6)
    least = records.tflops.min() / 1.8
    ax.set(yscale="log", ylim=(least, peak * 1.9))
    roof = np.geomspace(*ax.get_xlim(), 256)
    ax.plot(roof, np.minimum(peak, roof * bandwidth / 1e3), color=PEAK, lw=2.0, zorder=1)
    offset = {"textcoords": "offset points", **PEAK_TEXT}
    ax.annotate(f"FP32 peak {peak:.1f} TFLOP/s", (ridge, peak), xytext=(4, 5), ha="left", **offset)
    decades(ax.xaxis)
    decades(ax.yaxis)
    ax.set_xlabel("arithmetic intensity, FLOP per byte of DRAM traffic")
    ax.set_ylabel("TFLOP/s")
    lay_out(fig, right=0.80, bottom=0.80)
    start = max(ax.get_xlim()[0], least * 1e3 / bandwidth)
    middle = np.sqrt(start * ridge), np.sqrt(start * ridge) * bandwidth / 1e3
    (x, y), (to_x, to_y) = ax.transData.transform([middle, (ridge, peak)])
    along = {"ha": "center", "va": "center", "rotation": np.degrees(np.arctan2(to_y - y, to_x - x))}
    ax.annotate(f"DRAM peak {bandwidth / 1e3:.2f} TB/s", middle, xytext=(-7, 7), **along, **offset)
    label_ends(fig, ax, labels)
    if moved:
        note = "markers stand at the DRAM traffic Nsight Compute counted, ticks where A, B and C move once."
    else:
        note = "intensity counts A, B and C once each; caches can not do better."
    footnote(fig, f"At {size}: {note}")
    return fig


def duration(microseconds: float, _position=None) -> str:
    for limit, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= limit:
            return f"{microseconds / limit:g} {unit}"
    return f"{microseconds:g} µs"


def cpu_against_gpu(source: Source) -> Figure:
    gpu = source.squares(is_gpu=True, time="end-to-end")
    # A CPU kernel has nothing to copy, so any record of it will do; an end-to-end sweep's own come last and win.
    cpu = source.squares(is_gpu=False).sort_values("time", ascending=False, key=lambda time: time != "end-to-end")
    if gpu.empty or cpu.empty:
        raise NoData("it takes an end-to-end sweep of GPU kernels, and CPU kernels")
    lines = {
        "cpu_naive": ("three loops on the CPU, one thread", VERMILION, "o"),
        "cpu_blas": ("OpenBLAS on the CPU, all threads", ORANGE, "s"),
        "01_naive": ("chapter 01 on the GPU, with copies", SKY, "D"),
        "cublas": ("cuBLAS on the GPU, with copies", CUBLAS, ""),
    }
    records = pd.concat([cpu, gpu])
    records = records[records.kernel.isin(list(lines))].drop_duplicates(["kernel", "side"], keep="last")
    times = {name: group.set_index("side").microseconds.sort_index() for name, group in records.groupby("kernel")}
    context = gpu.context.iloc[0]
    under = f"{subtitle(gpu)} · {context['cpu']}, {context['num_cpus']} threads"
    fig, (ax,) = figure(6.0, "CPU against GPU, copies included", under)
    for name, (text, color, marker) in lines.items():
        if name in times:
            width, zorder = (3.0, 2) if name == "cublas" else (2.0, 3)
            look = {"color": color, "marker": marker, "linewidth": width, "zorder": zorder}
            ax.plot(times[name].index, times[name], label=text, **look, **OUTLINED)
    size_axis(ax, records.side, 1.15, 1.15)
    ax.grid(axis="x", visible=True)
    log_axis(ax, "y", records.microseconds, 6, 2.2)
    low = ax.get_ylim()[0]
    ax.yaxis.set_major_formatter(FuncFormatter(duration))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylabel("time of one product")
    lay_out(fig, left=0.105, bottom=0.8)
    crossings = []
    for slow, fast in (("01_naive", "cpu_naive"), ("cublas", "cpu_blas")):
        size = crossover(dict(times[slow]), dict(times[fast])) if {slow, fast} <= times.keys() else None
        if size is not None:
            meeting = np.exp(np.interp(np.log(size), np.log(times[slow].index), np.log(times[slow])))
            crossings.append((size, meeting, lines[slow][0], lines[fast][0], lines[fast][1]))
    # From left to right, the texts climb, and each line ends at its text: no line runs through another's text.
    for place, (size, meeting, slow, fast, color) in enumerate(sorted(crossings)):
        text = f"N ≈ {size:.0f}: {slow.partition(',')[0]} overtakes\n{fast.partition(',')[0]}"
        look = {"textcoords": "offset points", "va": "bottom", "fontsize": 9.5, "color": readable(color)}
        written = ax.annotate(text, (size, low), xytext=(5, 6 + 34 * place), **look)
        foot = ax.transData.inverted().transform((0, written.get_window_extent().y0))[1] if place else low
        ax.plot([size, size], [foot, meeting], color=color, lw=1.4, ls=(0, (2, 2)), zorder=1)
        ax.plot(size, meeting, "o", color=color, markerfacecolor="none", markersize=13, markeredgewidth=1.4, zorder=4)
    ax.legend(loc="upper left", frameon=True, framealpha=1, edgecolor=GRID, facecolor=CARD, fontsize=10)
    memory = context["protocol"].get("host_memory")
    copies = "GPU times include copying A and B to the device and C back"
    footnote(fig, f"{copies}, from {memory} host memory." if memory else f"{copies}.")
    return fig


def cpu_speed(source: Source) -> Figure:
    """What can be shown without a GPU: the CPU kernels over the sizes."""
    records = source.squares(is_gpu=False)
    if records.empty:
        raise NoData("no measured kernel on square matrices")
    styles = {"cpu_naive": Style(VERMILION, "-", "o", 2.0, 3.0), "cpu_blas": Style(ORANGE, "-", "s", 2.0, 3.0)}
    fig, (ax,) = figure(4.8, "Speed on the CPU over matrix size", subtitle(records))
    labels = draw_lines(ax, lambda row: styles.get(row.kernel) or Palette(records).style(row), records, "gflops")
    size_axis(ax, records.side)
    log_axis(ax, "y", records.gflops, 1.4, 1.4)
    decades(ax.yaxis)
    ax.set_ylabel("GFLOP/s, logarithmic")
    lay_out(fig, right=0.84)
    label_ends(fig, ax, labels)
    return fig


def cold_against_warm(source: Source) -> Figure:
    cold, warm = (source.sweep(l2).set_index(["kernel", "side"], drop=False) for l2 in ("cold", "warm"))
    common = cold.assign(gain=cold.microseconds / warm.microseconds).reset_index(drop=True).dropna(subset="gain")
    common = common[common.has_fp32_accuracy & (common.variant == "")]
    if common.empty:
        raise NoData("it takes a cold and a warm sweep of the same kernels")
    fig, (ax,) = figure(5.6, "What a warm L2 cache is worth", subtitle(common).replace("cold L2 · ", ""))
    palette = Palette(common)
    draw_lines(ax, palette.style, common, "gain")
    # The lines differ where problems fit in the cache and meet where they do not, so the names stand on the left.
    starts = [first(group) for group in by_kernel(common)]
    labels = [EndLabel(r.side, r.gain, title_of(r), palette.color(r), r.kernel == "cublas") for r in starts]
    size_axis(ax, common.side, 1.08, 1.12)
    ax.axhline(1, color=MUTED, lw=1.0, zorder=1)
    ax.yaxis.tick_right()
    ax.yaxis.set_label_position("right")
    ax.spines[["left"]].set_visible(False)
    ax.spines[["right"]].set_visible(True)
    ax.set_ylabel("cold time / warm time")
    lay_out(fig, left=0.21, right=0.915)
    label_ends(fig, ax, labels, left=True)
    return fig


def errors_at(source: Source, size: int, **fields) -> pd.DataFrame:
    """Errors measured at one size, of the default variants."""
    if source.accuracy is None:
        raise NoData(f"it takes a file of runner --accuracy ({ACCURACY_FILE})")
    return pick(source.accuracy, None, side=size, variant="", **fields).dropna(subset="rel_err")


def list_kernels(ax: Axes) -> None:
    """The legend of a chart of points, on the right of it."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9.5, borderaxespad=0)


def error_against_speed(source: Source) -> Figure:
    size = ladder_size_of(source)
    errors = errors_at(source, size, data="uniform", is_gpu=True).set_index("kernel").rel_err
    points = pick(source.sweep(), side=size).drop(columns="rel_err").join(errors, on="kernel", how="inner")
    if points.empty:
        raise NoData(f"no kernel has both a speed and an error at {size}")
    if device_of(source.accuracy).get("name") != source.device.get("name"):
        raise NoData("speeds and errors are of different devices")
    title, under = f"Error against speed at {size} × {size} × {size}", subtitle(points).rpartition(" · ")[0]
    fig, (ax,) = figure(6.0, title, f"{under} · uniform data")
    palette = Palette(points)
    ring = {"marker": "o", "markerfacecolor": "none", "markersize": 15}  # shows what lies in it, and on the dashed line
    for row in points.itertuples():
        look = {"markersize": 8, **palette.point(row), **(ring if row.kernel == "cublas" else {})}
        ax.plot(row.tflops, row.rel_err, **look, zorder=3 + (not row.is_chapter), label=title_of(row))
    log_axis(ax, "x", points.tflops, 1.8, 1.8)
    log_axis(ax, "y", points.rel_err, 3, 3)
    decades(ax.xaxis)
    ax.yaxis.set_major_locator(LogLocator(numticks=20))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("TFLOP/s, logarithmic")
    ax.set_ylabel("relative error against FP64 (Frobenius norm), logarithmic")
    lay_out(fig, right=0.77, bottom=0.80)
    if "cublas" in errors:
        ax.axhline(errors["cublas"], color=CUBLAS, lw=1.4, ls=(0, (6, 3)), zorder=1)
    list_kernels(ax)
    footnote(fig, f"Dashed: the error of cublasSgemm. {LEFT_OUT}")
    return fig


UNDRAWN = ("inf", "nan", "zeros")  # what is finite of the first two is uniform, and the last is exact
EXACT_GAP = 30.0  # how far left of the smallest error a result without one is drawn, as a factor


def error_by_distribution(source: Source) -> Figure:
    sizes = set(source.accuracy.side.dropna().astype(int)) if source.accuracy is not None else set()
    size = 4096 if 4096 in sizes else max(sizes, default=0)
    records = errors_at(source, size)
    positive = records.rel_err[records.rel_err > 0]
    if positive.empty:
        raise NoData("no error above 0 was measured")
    context = records.context.iloc[0]
    kinds = [kind for kind in context["protocol"]["data"] if kind not in UNDRAWN]
    records = records[records.data.isin(kinds)]
    if context["device"]:
        under = f"{context['device']['name']} · cuBLAS {context['cublas_version']}"
    else:
        under = f"{context['cpu']}, GPU kernels executed on it"
    fig, (ax,) = figure(1.7 + 0.85 * len(kinds), f"Error by distribution at {size} × {size} × {size}", under)
    palette, groups = Palette(records), records.groupby("kernel", sort=False)
    exact = 10 ** np.floor(np.log10(positive.min() / EXACT_GAP))
    for place, (_, own) in enumerate(groups):
        offset = 0.8 * (place / max(len(groups) - 1, 1) - 0.5)
        xs = own.rel_err.where(own.rel_err > 0, exact)
        ys = own.data.map(kinds.index) + offset
        look = palette.point(first(own)) | {"markersize": 5, "markeredgewidth": 1.3, "zorder": 3}
        ax.plot(xs, ys, **look, label=title_of(first(own)))
        beyond = ~own.verified.astype(bool)
        ring = {"color": PEAK, "markerfacecolor": "none", "markersize": 13, "markeredgewidth": 1.4, "zorder": 4}
        ax.plot(xs[beyond], ys[beyond], "o", **ring)
    rows_axis(ax, kinds)
    ax.set_ylim(len(kinds) - 0.5, -0.5)
    for place in range(1, len(kinds)):
        ax.axhline(place - 0.5, color=GRID, lw=0.8, zorder=1)
    ax.axvline(exact * np.sqrt(EXACT_GAP), color=MUTED, lw=0.8, zorder=1)
    log_axis(ax, "x", [exact, positive.max()], 3, 3)
    powers = np.arange(np.ceil(np.log10(exact * EXACT_GAP)), np.floor(np.log10(positive.max() * 3)) + 1)
    ax.xaxis.set_major_locator(FixedLocator([exact, *10.0**powers]))
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: "exact" if value == exact else f"$10^{{{round(np.log10(value))}}}$")
    )
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("relative error against FP64 (Frobenius norm), logarithmic")
    lay_out(fig, left=0.12, right=0.77, bottom=0.80)
    list_kernels(ax)
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
    if not pick(source.results).is_gpu.any():
        names = ["error_by_distribution"] if source.accuracy is not None else []
        return {"cpu_speed": cpu_speed, **{name: CHARTS[name] for name in names}}
    sweep = source.sweep()
    numbers = sorted(sweep.number[sweep.is_chapter].unique())
    return {**CHARTS, **{f"chapter_{number:02d}": partial(chapter, number=number) for number in numbers}}


def save(fig: Figure, path: Path) -> None:
    """Writes a PNG with a palette of 256 colours, which looks the same on a drawing and takes a third of the space. The
    same figure always gives the same bytes."""
    full = io.BytesIO()
    fig.savefig(full, format="png", dpi=PNG_DPI)
    plt.close(fig)
    with Image.open(full) as image:
        reduced = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    reduced.save(path, optimize=True, dpi=(PNG_DPI, PNG_DPI))


def draw(charts: dict[str, Callable[[], Figure]], folder: Path) -> int:
    """Draws every chart there is data for and says why not of the others; returns an exit status: 1 if none is."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = 0
    for name, chart in charts.items():
        try:
            save(chart(), folder / f"{name}.png")
        except NoData as reason:
            print(f"skipped {name}: {reason}")
            continue
        print(folder / f"{name}.png")
        drawn += 1
    return 0 if drawn else 1


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
    parser.add_argument("--ladder-size", type=int, help="size of the ladder (default: 4096, else the largest common)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        files = [file for path in options.results for file in files_of(path)]
        of_ncu = [path for path in files if is_counters(path)]
        of_accuracy = [path for path in files if is_accuracy(path)]
        source = Source(
            results=load(path for path in files if path not in [*of_ncu, *of_accuracy]),
            counters=load_counters(of_ncu[-1]) if of_ncu else None,
            ladder_size=options.ladder_size,
            accuracy=load(of_accuracy) if of_accuracy else None,
        )
        charts = {name: partial(chart, source) for name, chart in charts_of(source).items()}
        return draw(charts, options.out or files[0].parent / "charts")
    except (ResultsError, OSError) as error:
        stop(error)


if __name__ == "__main__":
    raise SystemExit(main())
