"""Draws the charts from results files. Every number in a chart comes from the files.

    scripts/plot.py results/nvidia-h200
    scripts/plot.py cold.json end-to-end.json --out charts
    scripts/plot.py --only scaling one-gpu.json two-gpus.json

Several files of one device may be given: a cold and a warm sweep, an end-to-end sweep, shapes*.json with problems of
all shapes, the file of tools/counters.py and those of runner --accuracy and --energy; a folder stands for
those in it that bear their usual names, and for those of other people's kernels and of trainings. A chart whose data is
missing is skipped, and the reason is printed. Energies have a chart of their own, and their runs give no points to
the others. `scaling` takes products of `many_gpus` on one GPU and on several; in other charts a
kernel has the fewest GPUs that the files have for it. Files of different protocols or devices are not drawn together:
scripts/report.py shows several boards.

Exit status: 0 fine, 1 nothing could be drawn, 2 bad input or a missing Python package.
"""

from __future__ import annotations

import argparse
import io
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator
from PIL import Image

from tools import needs, programs, results
from tools.counts import USUAL_SIZE, counts_file
from tools.forms import chapters_name, shape_text, significant
from tools.plots.looks import CARD, CUBLAS, GRID, INK, LIBRARIES, MUTED, color_of, contrast, marker_of, title_of
from tools.results import (
    ACCURACY_FILE,
    CASE,
    COUNTERS_FILE,
    ENERGY_FILE,
    MODES,
    PROTOCOL,
    SHAPES_FILE,
    SUSTAINED_FILE,
    SWEEP_FILES,
    TENSOR_SHAPES_FILE,
    File,
    ResultsError,
    Row,
    beta_of,
    crossover,
    device_of,
    is_of_file,
    load,
    load_counters,
    pick,
    short_name,
    usable,
    warn,
)

matplotlib.use("Agg")

ALERT = "#b3261e"
THEIRS = "#0969da"  # kernels of other people
CEILING = {"color": MUTED, "lw": 1.4, "ls": (0, (6, 3)), "zorder": 1}
CEILING_TEXT = {"color": MUTED, "fontsize": 9.5}
PNG_DPI = 200
WIDTH = 9.0  # inches; a page shows it 900 pixels wide, so that 9 points stay 12.5 pixels

MODE_COLORS = {"cublas": CUBLAS, "tf32": "#d29922", "fp32": "#009e73", "componentwise": THEIRS, "normwise": ALERT}
MODE_COLORS |= {"rowwise": "#8250df"}
DASHES = [(0, (4, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (2.5, 1)), (0, (8, 2)), (0, (1.2, 2.4))]
RIVALS = (7, 8, 9)  # the chapters about as fast as cuBLAS on the same units

plt.rcParams.update(
    {
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.titlelocation": "left",
        "axes.titlesize": 10.5,
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
        "text.color": INK,
    }
)


class NoData(Exception):
    """A chart can not be drawn from the given files; the message says what is missing."""


@dataclass(frozen=True)
class Source:
    """Everything the charts are drawn from."""

    results: pd.DataFrame
    counters: dict | None = None
    accuracy: pd.DataFrame | None = None
    shapes: pd.DataFrame | None = None
    energy: pd.DataFrame | None = None  # of runs with --energy
    others: Mapping[str, Sequence[Row]] = field(default_factory=dict)  # kernels of public repositories
    losses: Sequence[programs.LossCurve] = ()  # of trainings with and without the drop-in

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

    def sweep(self) -> pd.DataFrame:
        """Those of GPU kernels timed as kernels: cold ones where there are any, on the fewest GPUs of each kernel."""
        records = self.squares(is_gpu=True, time="kernel")
        if records.empty:
            raise NoData("no measured GPU kernel on square matrices")
        records = records[records.l2 == min(records.l2, key=["cold", "warm"].index)]
        return records[records.gpus == records.groupby("kernel").gpus.transform("min")]

    def of_shapes(self) -> pd.DataFrame:
        """The problems of shapes*.json; without such a file the sweep."""
        return self.sweep() if self.shapes is None else pick(self.shapes)

    def defaults(self) -> pd.DataFrame:
        """Chapters' default variants and cuBLAS, as far as they are as accurate as FP32."""
        records = pick(self.sweep(), has_fp32_accuracy=True, variant="")
        if (records := records[records.is_chapter | (records.kernel == "cublas")]).empty:
            raise NoData("no measured chapter")
        return records

    def cpu(self) -> pd.DataFrame:
        """The CPU baseline at the sizes of the sweep: OpenBLAS, or else the three loops. It has nothing to copy, so any
        of its times will do."""
        records = self.squares(is_gpu=False).drop_duplicates(["kernel", "side"])
        records = records[records.side.isin(self.sweep().side)]
        return records[records.kernel == ("cpu_blas" if "cpu_blas" in set(records.kernel) else "cpu_naive")]


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


def point(row: Row, **other) -> dict:
    """How a kernel looks as a point; hollow where the GPU was throttled."""
    face = CARD if row.throttled else color_of(row)
    look = {"color": color_of(row), "marker": marker_of(row), "linestyle": ""}
    look |= {"markerfacecolor": face, "markeredgewidth": 1.1}
    return look | other


def by_kernel(records: pd.DataFrame) -> list[pd.DataFrame]:
    """The records of each kernel in ascending size."""
    return [group.sort_values("side") for _, group in records.groupby("kernel", sort=False)]


def first(records: pd.DataFrame) -> Row:
    return next(records.itertuples())


def heading(fig: Figure, title: str, subtitle: str) -> None:
    height = fig.get_figheight()
    fig.text(0.02, 1 - 0.16 / height, title, fontsize=14, fontweight="bold", va="top")
    fig.text(0.02, 1 - 0.44 / height, subtitle, fontsize=10, color=MUTED, va="top")


def figure(height: float, title: str, subtitle: str, width: float = WIDTH, **panels) -> tuple[Figure, list[Axes]]:
    fig, axes = plt.subplots(figsize=(width, height), squeeze=False, **panels)
    heading(fig, title, subtitle)
    return fig, list(axes.flat)


def lay_out(
    fig: Figure, note: str, *, right: float = 0.98, left: float = 0.09, top: float = 0.86, axis: float = 0.58, **space
) -> None:
    """The note below the axes, and their place: a share of the width at the sides, inches above and below."""
    height = fig.get_figheight()
    lines = footnote(fig, note) if note else 0
    fig.subplots_adjust(left=left, right=right, top=1 - top / height, bottom=(axis + 0.17 * lines) / height, **space)


def footnote(fig: Figure, text: str) -> int:
    """Returns its number of lines."""
    columns = round(14.6 * fig.get_figwidth())
    lines = [wrapped for line in text.split("\n") for wrapped in textwrap.wrap(line, columns)]
    fig.text(0.02, 0.08 / fig.get_figheight(), "\n".join(lines), fontsize=9, color=MUTED, va="bottom")
    return len(lines)


def throttle_note(records: pd.DataFrame) -> str:
    return " Hollow: the GPU had lowered its clock when the case ended." if records.throttled.any() else ""


def decades(axis: Axis, form: Callable[[float], str] = "{:g}".format, subs: Sequence[int] = (1, 2, 5)) -> None:
    """Plain numbers on a logarithmic axis: 1, 2 and 5 of each decade."""
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
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


def readable(color) -> tuple[float, float, float]:
    """The colour darkened, where it must be, until text in it has a contrast of 4.5 against the card."""
    rgb = np.array(matplotlib.colors.to_rgb(color))
    while contrast(rgb, CARD) < 4.5:
        rgb = rgb * 0.97
    return tuple(rgb)


def label_ends(fig: Figure, ax: Axes, labels: Sequence[EndLabel], fontsize: float = 9.5) -> None:
    """Writes each label beside the axes at its line's end, moved apart where lines end close together."""
    fig.canvas.draw()
    box = ax.get_window_extent()
    ends = [ax.transData.transform((label.x, label.y)) for label in labels]
    gap = fontsize * 1.22 * fig.dpi / 72
    heights = spread([y for _, y in ends], gap, box.y0 + gap / 2, box.y1)
    for label, (x, y), height in zip(labels, ends, heights, strict=True):
        leader = [(x + 5, y), (box.x1 + 12, height), (box.x1 + 18, height), (box.x1 + 22, height)]
        *line, place = ax.transAxes.inverted().transform(leader)
        ax.plot(*zip(*line, strict=True), color=label.color, lw=0.8, alpha=0.8, transform=ax.transAxes, clip_on=False)
        font = {"fontsize": fontsize, "fontweight": "bold" if label.color == CUBLAS else "normal"}
        font["color"] = readable(label.color)
        ax.text(*place, label.text, transform=ax.transAxes, va="center", **font)


def draw_lines(ax: Axes, records: pd.DataFrame, value: str, **other) -> list[EndLabel]:
    """A line for each kernel over the sizes, dashed for variants; returns the names for their ends."""
    labels, variants = [], 0
    for group in by_kernel(records):
        row = first(group)
        variants = variants + 1 if row.variant else 0
        look = point(row) | {"markerfacecolor": color_of(row), "markeredgecolor": CARD, "markeredgewidth": 0.6}
        look |= {"linestyle": "-", "linewidth": 2.1, "zorder": 3}
        if variants:
            look |= {"linestyle": DASHES[(variants - 1) % len(DASHES)], "linewidth": 1.5, "zorder": 2.5}
        if row.kernel == "cublas":  # wide and below, so that a line as fast as it stays in sight
            look |= {"marker": "", "linewidth": 3.2, "zorder": 2}
        ax.plot(group.side, group[value], **look | other)
        for hot in group[group.throttled].itertuples():
            ax.plot(hot.side, getattr(hot, value), **point(hot), zorder=4)
        end = group.iloc[-1]
        labels.append(EndLabel(end.side, end[value], title_of(row), color_of(row)))
    return labels


def speed_axes(ax: Axes, records: pd.DataFrame, value: str = "tflops", peak: float | None = None, **sides) -> None:
    """Speed over size, both logarithmic, as steps are factors; with a line for the FP32 peak."""
    size_axis(ax, records.side, **sides)
    log_axis(ax, "y", [*records[value], peak or records[value].max()], 1.3, 1.4)
    decades(ax.yaxis)
    ax.set_ylabel({"tflops": "TFLOP/s", "gflops": "GFLOP/s"}[value] + ", logarithmic")
    if peak:
        ax.axhline(peak, **CEILING)
        at = {"xycoords": ax.get_yaxis_transform(), "xytext": (0, 4), "textcoords": "offset points"}
        ax.annotate(f"FP32 peak {peak:.1f} TFLOP/s", (0.01, peak), **at, **CEILING_TEXT)


def compared(records: pd.DataFrame) -> pd.DataFrame:
    """Default variants that were timed beside cuBLAS."""
    return records[records.vs_cublas.notna() & (records.variant == "")]


def selection_note(every: pd.DataFrame, drawn: pd.DataFrame) -> str:
    number, of = (found[found.is_chapter].kernel.nunique() for found in (drawn, every))
    return "Default variants." if number == of else f"The {number} of {of} chapters that gained most over those before."


MOST_LINES = 7  # that a reader can follow in a chart


def most_gained(records: pd.DataFrame, value: str, others: int = 1) -> pd.DataFrame:
    """cuBLAS, and as many chapters as fit in a chart beside it: those that have most of a value, at the largest size
    of all, compared with the ones that are drawn before them, and the best of all."""
    chapters = records[records.is_chapter]
    sizes = set.intersection(*(set(group.side) for group in by_kernel(chapters))) or {chapters.side.max()}
    at_end = chapters[chapters.side == max(sizes)].sort_values("number")
    kept = {row.kernel: getattr(row, value) for row in at_end.itertuples()}
    while len(kept) > MOST_LINES - others:
        names, best, gains = list(kept), 0.0, {}
        for name in names:
            gains[name] = kept[name] / best if best else np.inf
            best = max(best, kept[name])
        del gains[max(kept, key=kept.get)]
        del kept[min(gains, key=gains.get)]
    return records[~records.is_chapter | records.kernel.isin(kept)]


def gflops_over_size(source: Source) -> Figure:
    """The chapters' default variants and the CPU; without a GPU the CPU alone."""
    has_gpu = bool(pick(source.results).is_gpu.any())
    every = source.defaults() if has_gpu else source.squares(is_gpu=False)
    if every.empty:
        raise NoData("no measured kernel on square matrices")
    cpu = source.cpu() if has_gpu else every[:0]
    drawn = pd.concat([most_gained(every, "tflops", 1 + (not cpu.empty)), cpu]) if has_gpu else every
    fig, (ax,) = figure(6.4, "Speed over matrix size", subtitle(every))
    labels = draw_lines(ax, drawn, "tflops")
    speed_axes(ax, drawn, peak=source.peak if has_gpu else None)
    lay_out(fig, selection_note(every, drawn) + throttle_note(drawn) if has_gpu else "", right=0.80)
    label_ends(fig, ax, labels)
    return fig


def chapter(source: Source, number: int) -> Figure:
    """The variants of one chapter between the chapter before and cuBLAS: speeds, logarithmic, as steps are factors, and
    below them shares of cuBLAS's speed, linear."""
    records = pick(source.sweep(), has_fp32_accuracy=True)
    own = records[records.number == number]
    if own.empty:
        raise NoData(f"chapter {number} was not measured")
    earlier = records[records.is_chapter & (records.number < number) & (records.variant == "")]
    before = earlier[earlier.number == earlier.number.max()]
    cublas, cpu = records[records.kernel == "cublas"], source.cpu()
    rest = {"cpu": cpu, "before": before}  # what gives way to variants
    while rest and sum(len(by_kernel(found)) for found in (own, cublas, *rest.values())) > MOST_LINES:
        del rest[next(iter(rest))]
    before, cpu = (rest.get(name, records[:0]) for name in ("before", "cpu"))
    drawn = pd.concat([before, own, cublas, cpu])
    shares = drawn.assign(share=100 * drawn.of_cublas).dropna(subset="share")
    shares = shares[shares.is_chapter]
    panels = {} if shares.empty else {"nrows": 2, "height_ratios": (1.25, 1)}
    name = own.kernel.iloc[0].partition(":")[0].partition("_")[2]
    fig, (ax, *below) = figure(4.8 if shares.empty else 7.8, f"Chapter {number:02d}: {name}", subtitle(own), **panels)

    def lines(ax: Axes, found: pd.DataFrame, value: str, unit: str = "") -> list[EndLabel]:
        """Variants may lie on each other; their numbers tell them apart."""
        is_before = found.kernel.isin(before.kernel)
        labels = draw_lines(ax, found[~is_before], value)
        labels += draw_lines(ax, found[is_before], value, linewidth=1.1, alpha=0.75)
        return [replace(label, text=f"{label.text}  {significant(label.y)}{unit}") for label in labels]

    labels = lines(ax, drawn, "tflops")
    speed_axes(ax, drawn)
    note = f"Beside the names: at {own.side.max()}." + " Dashed: variants." * any(own.variant)
    note += " Thin: the chapter before." * (not before.empty)
    rough = pick(source.sweep(), number=number, has_fp32_accuracy=False)
    if names := dict.fromkeys(map(title_of, rough.itertuples())):
        whole = ", ".join(names).replace(" ", "\u00a0")  # no line ends within a name
        note += f" Not drawn, because of its lower precision: {whole}."
    lay_out(fig, note + throttle_note(drawn), right=0.75, hspace=0.3)
    label_ends(fig, ax, labels)
    for ratio in below:
        labels = lines(ratio, shares, "share", " %")
        size_axis(ratio, drawn.side)
        ratio.set(ylabel="% of cuBLAS's speed", ylim=(0, 1.08 * max(100, shares.share.max())))
        ratio.axhline(100, color=CUBLAS, lw=2.4, zorder=1.5)
        label_ends(fig, ratio, labels)
    return fig


def ratios_by_shape(records: pd.DataFrame, title: str) -> Figure:
    """Speeds relative to cuBLAS, the smaller of both ratios as in the tables: a row for each problem."""
    shapes = sorted(dict.fromkeys(records["shape"]), key=lambda shape: (len(set(shape)) > 1, shape))
    groups = by_kernel(records)
    lines = -(-len(groups) // 4)  # of names above, four in each
    under = f"{subtitle(records)} · {len(shapes)} problems M = N = K, or M × N × K"
    fig, (ax,) = figure(2.2 + 0.2 * lines + (0.2 + 0.1 * lines) * len(shapes), title, under)
    for index, group in enumerate(groups):
        places = group["shape"].map(shapes.index) + 0.24 / lines * (index - (len(groups) - 1) / 2)
        for place, row in zip(places, group.itertuples(), strict=True):
            ax.plot(100 * row.of_cublas, place, **point(row, markersize=6, zorder=3))
    rows_axis(ax, [shape_text(shape).replace("x", "×") for shape in shapes])
    ax.axvline(100, color=CUBLAS, lw=2.4, zorder=1.5)
    for place in range(1, len(shapes)):
        ax.axhline(place - 0.5, color=GRID, lw=0.8, zorder=1)
    ax.set(xlabel="% of cuBLAS's speed", xlim=(0, 1.04 * max(100, 100 * records.of_cublas.max())))
    note = f"Thick line: as fast as cuBLAS.{throttle_note(records)} The smaller of the ratios paired and alone."
    lay_out(fig, note, left=0.20, top=0.85 + 0.2 * lines)
    rows = [first(group)._replace(throttled=False) for group in groups]
    names = [Line2D([], [], **point(row), label=title_of(row)) for row in rows]
    place = {"loc": "upper left", "bbox_to_anchor": (0.19, 1 - 0.60 / fig.get_figheight()), "ncols": 4}
    fig.legend(handles=names, **place, frameon=False, fontsize=10, handletextpad=0.2)
    return fig


def percent_of_cublas(source: Source) -> Figure:
    """The rivals over problems of all shapes."""
    records = source.of_shapes()
    records = compared(records[records.number.isin(RIVALS) | (records.kernel == "cublaslt_best")])
    if records.empty:
        raise NoData(f"none of the chapters {' and '.join(chapters_name(RIVALS))} was compared with cuBLAS")
    return ratios_by_shape(records, "Speed relative to cuBLAS")


def percent_of_cublas_tensor(source: Source) -> Figure:
    """The chapters that multiply on tensor cores, as accurately as in FP32, over problems of all shapes."""
    records = source.of_shapes()
    accurate = records.has_fp32_accuracy & (records.accuracy_class != "fp32")
    if (records := compared(records[accurate & records.is_chapter])).empty:
        raise NoData("no chapter on tensor cores was compared with cuBLAS")
    return ratios_by_shape(records, "On tensor cores: speed relative to cuBLAS in FP32")


def ladder_size_of(source: Source) -> int:
    """4096 where every kernel has it, else the largest size that every kernel has."""
    common = set.intersection(*(set(group.side) for group in by_kernel(source.sweep())))
    if not common:
        raise NoData("no size is common to all kernels")
    return 4096 if 4096 in common else max(common)


LADDER_WIDTH = 6.6  # narrower than the others: README shows it on phones as well


def ladder(source: Source) -> Figure:
    """Default variants, in rows low enough for a first screen. Bars start at 0, so that their lengths compare."""
    size = ladder_size_of(source)
    drawn = pick(pd.concat([source.defaults(), source.cpu()]), side=size)
    if drawn.empty:
        raise NoData(f"no kernel was measured at {size}")
    title, height = f"The ladder at {size} × {size} × {size}", 1.2 + 0.143 * len(drawn)
    fig, (ax,) = figure(height, title, f"TFLOP/s · {subtitle(drawn)}", LADDER_WIDTH)
    beside = {"transform": ax.get_yaxis_transform(), "ha": "right", "va": "center_baseline", "fontsize": 9}
    for place, row in enumerate(drawn.itertuples()):
        color = color_of(row)
        ax.barh(place, row.tflops, height=0.74, color=CARD if row.throttled else color, edgecolor=color, zorder=2)
        ax.text(1.18, place, significant(row.tflops), **beside)
        if not pd.isna(row.of_cublas) or row.kernel == "cublas":
            share = 1 if row.kernel == "cublas" else row.of_cublas
            ax.text(1.38, place, f"{100 * share:.1f} %", **beside)
    rows_axis(ax, [title_of(row) for row in drawn.itertuples()])
    ax.tick_params(axis="y", labelsize=9)
    ax.tick_params(axis="x", labelbottom=False, length=0)
    for x, head in ((1.18, "TFLOP/s"), (1.38, "of cuBLAS")):
        ax.text(x, -1.1, head, **beside, color=MUTED)
    for rival in pick(drawn, kernel="cublas").tflops:
        ax.axvline(rival, color=CUBLAS, lw=1.6, zorder=3)
    right = max(drawn.tflops.max(), source.peak or 0) * 1.02
    if peak := source.peak:
        ax.axvline(peak, **CEILING | {"zorder": 3})
        side = "left" if peak < right / 2 else "right"
        ax.text(peak, -1.1, f" FP32 peak {peak:.1f} ", ha=side, va="center_baseline", **CEILING_TEXT)
    ax.set_xlim(0, right)
    note = f"The solid line is cuBLAS.{tensor_note(drawn)}{throttle_note(drawn)}"
    lay_out(fig, note, left=0.245, right=0.775, axis=0.14)
    return fig


def tensor_note(drawn: pd.DataFrame) -> str:
    """Which chapters multiply on tensor cores, and which of them have no larger error than cuBLAS in these products."""
    own = next(iter(pick(drawn, kernel="cublas").rel_err), np.nan)
    tensor = drawn[drawn.is_chapter & (drawn.accuracy_class != "fp32")]
    if tensor.empty:
        return ""
    accurate = tensor[tensor.rel_err <= own]
    note = f" {' and '.join(chapters_name(tensor.number))} multiply on tensor cores"
    if accurate.empty:
        return f"{note}."
    which = "their" if len(accurate) == len(tensor) else f"those of {' and '.join(chapters_name(accurate.number))}"
    return f"{note}; on these operands {which} errors are below cuBLAS's."


# FLOP a cycle and SM on tensor cores by compute capability, of dense FP16 or BF16; TF32 has half of it, and INT8 twice
# as much (NVIDIA's white papers on the architectures).
TENSOR = {"8.0": 2048, "9.0": 4096}
L1_BYTES = 128  # a cycle and SM: 32 banks of 4 bytes, which the L1 cache has as well


def roofline(source: Source) -> Figure:
    """A panel for each memory: a kernel stands at the FLOP it computes for each byte that it was counted to move."""
    device, peak = source.device, source.peak
    if not source.counters:
        raise NoData(f"it takes a file of tools/counters.py ({COUNTERS_FILE})")
    if not peak or not device.get("dram_peak_gbytes_s"):
        raise NoData("the device's FP32 and DRAM peaks are not known")
    size, counted = source.counters["context"]["size"], source.counters["derived"]
    every = pick(source.defaults(), side=size)
    records = most_gained(every, "tflops")
    drew = {k: c["tflops"] / c["flop_per_l2_to_sm_byte"] for k, c in counted.items() if c.get("flop_per_l2_to_sm_byte")}
    if not drew or not set(records.kernel) & set(counted):
        raise NoData(f"no measured GPU kernel with counters at {size}")
    greedy = max(drew, key=drew.get)
    mhz = device["max_sm_clock_mhz"]
    cycles = 1e-6 * mhz * device["multiprocessors"]  # of all SMs in a second, in 10^12

    def l1_intensity(kernel: dict) -> float | None:
        """Through the time that the pipe was busy, at the clock of that run."""
        if not (busy := kernel.get("shared_pipe_percent")):
            return None
        return kernel["tflops"] / (busy / 100 * L1_BYTES * cycles * kernel["sm_clock_mhz"] / mhz)

    panels = (
        ("DRAM", device["dram_peak_gbytes_s"] / 1e3, lambda kernel: kernel.get("flop_per_dram_byte"), "-"),
        ("L2 to SMs", drew[greedy], lambda kernel: kernel.get("flop_per_l2_to_sm_byte"), ":"),
        ("L1 and shared memory", L1_BYTES * cycles, l1_intensity, "-"),
    )
    flop = TENSOR.get(device["compute_capability"])
    flat = {"FP32 units": peak}
    if flop:
        flat |= {"6 × BF16, 3 × TF32": flop * cycles / 6, "3 × FP16, 6 × INT8": flop * cycles / 3}
    title = f"Roofline at {size} × {size} × {size}"
    fig, axes = figure(7.0, title, subtitle(records), ncols=len(panels), sharey=True)
    for ax, (name, bandwidth, intensity, line) in zip(axes, panels, strict=True):
        xs = []
        for row in records.itertuples():
            ax.axhline(row.tflops, color=color_of(row), lw=2 if row.kernel == "cublas" else 0.7, alpha=0.6, zorder=1.5)
            if x := intensity(counted.get(row.kernel, {})):
                ax.plot(x, row.tflops, **point(row, markersize=8, zorder=4))
                xs.append(x)
        log_axis(ax, "x", [*xs, max(flat.values()) / bandwidth], 2.2, 1.8)
        log_axis(ax, "y", [*records.tflops, *flat.values()], 1.8, 1.5)
        roof = np.geomspace(*ax.get_xlim(), 256)
        ax.plot(roof, roof * bandwidth, color=MUTED, lw=2.2, ls=line, zorder=1)
        for value in flat.values():
            ax.plot(roof, np.where(roof * bandwidth >= value, value, np.nan), **CEILING)
        decades(ax.yaxis)
        decades(ax.xaxis, subs=(1, 3))
        measured = ", measured" if line == ":" else ""
        ax.set(xlabel="FLOP per byte", title=f"{name}\n{significant(bandwidth)} TB/s{measured}")
        ax.grid(axis="y", visible=False)
    axes[0].set_ylabel("TFLOP/s, logarithmic")
    before = ("bf16_split", "fp16_split", "int8_split")  # operands are split by kernels of their own
    split = " and ".join(chapters_name(records.number[records.accuracy_class.isin(before)]))
    note = [
        "A kernel on a solid slope is limited by that memory, one close below its dashed line by the arithmetic units.",
        f"{selection_note(every, records)}\nDRAM, FP32: the device's peaks.",
        f"L1 and shared memory: {L1_BYTES} bytes a cycle and SM. L2, dotted: the most that a kernel here drew,",
        f"{greedy}; its peak is not published. All at {mhz} MHz.",
        f"Tensor cores: {flop} FLOP a cycle and SM in FP16, half in TF32, twice in INT8, divided by the products."
        if flop
        else "",
        f"Nsight Compute counted the bytes{f', of {split} without the kernels that split operands' if split else ''}.",
    ]
    lay_out(fig, " ".join(filter(None, note)) + throttle_note(records), left=0.085, right=0.77, top=1.25, wspace=0.08)
    edge = axes[-1].get_xlim()[1]
    labels = [EndLabel(edge, r.tflops, title_of(r), color_of(r)) for r in records.itertuples()]
    labels += [EndLabel(edge, value, f"{name}: {significant(value)}", MUTED) for name, value in flat.items()]
    label_ends(fig, axes[-1], labels)
    return fig


def duration(microseconds: float) -> str:
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
    names = {
        "cpu_naive": "three loops, one CPU thread",
        "cpu_blas": "OpenBLAS, all CPU threads",
        "01_naive": "chapter 01, GPU with copies",
        "cublas": "cuBLAS, GPU with copies",
    }
    records = pd.concat([cpu, gpu])
    records = records[records.kernel.isin(list(names))].drop_duplicates(["kernel", "side"], keep="last")
    times = {name: group.set_index("side").microseconds.sort_index() for name, group in records.groupby("kernel")}
    context = gpu.context.iloc[0]
    under = f"{subtitle(gpu)} · {context['cpu']}, {context['num_cpus']} threads"
    fig, (ax,) = figure(6.0, "CPU against GPU, copies included", under)
    labels = []
    for name in filter(times.__contains__, names):
        labels += [replace(end, text=names[name]) for end in draw_lines(ax, pick(records, kernel=name), "microseconds")]
    size_axis(ax, records.side, 1.15, 1.15)
    log_axis(ax, "y", records.microseconds, 2.2, 2.2)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylabel("time of one product, logarithmic")
    memory = context["protocol"].get("host_memory")
    copies = f", from {memory} host memory" if memory else ""
    note = f"GPU times include copying A and B to the device and C back{copies}.{throttle_note(records)}"
    for slow, fast in (("01_naive", "cpu_naive"), ("cublas", "cpu_blas")):
        size = crossover(dict(times[slow]), dict(times[fast])) if {slow, fast} <= times.keys() else None
        if size is not None:
            meeting = np.exp(np.interp(np.log(size), np.log(times[slow].index), np.log(times[slow])))
            look = {"markerfacecolor": "none", "markersize": 13, "markeredgewidth": 1.4, "zorder": 4}
            ax.plot(size, meeting, "o", color=LIBRARIES[fast][1], **look)
            slow, fast = (names[name].partition(",")[0] for name in (slow, fast))
            note += f"\nFrom N ≈ {size:.0f} on {slow} is faster than {fast}."
    lay_out(fig, note, left=0.105, right=0.73)
    label_ends(fig, ax, labels)
    return fig


COPIED = {"01_naive": "simple: 01 naive", "02_smem_tiled:tile16": "tiled: 02, tiles of 16", "cublas": "cuBLAS"}


def time_with_copies(source: Source) -> Figure:
    """Times on linear axes, as the second of the documents draws them: the simple kernel, the tiled one, and cuBLAS."""
    records = source.squares(is_gpu=True, time="end-to-end")
    records = records[records.kernel.isin(list(COPIED))]
    if not set(COPIED) <= set(records.kernel):
        raise NoData(f"it takes an end-to-end sweep of {', '.join(COPIED)}")
    records = records.assign(ms=records.microseconds / 1e3)
    fig, (ax,) = figure(4.8, "Time of a product with its copies", subtitle(records))
    largest = min(group.side.max() for group in by_kernel(records))
    at_end = {row.kernel: row.ms for row in pick(records, side=largest).itertuples()}
    labels = []
    for kernel, name in COPIED.items():
        (label,) = draw_lines(ax, pick(records, kernel=kernel), "ms", linestyle="-")
        factor = at_end["01_naive"] / at_end[kernel]
        gain = f", {significant(factor)} ×" if kernel != "01_naive" else ""
        labels.append(replace(label, text=f"{name}  {significant(at_end[kernel])} ms{gain}"))
    ax.set(xlabel="M = N = K", ylabel="ms", xlim=(0, 1.03 * records.side.max()), ylim=(0, 1.06 * records.ms.max()))
    memory = records.context.iloc[0]["protocol"].get("host_memory", "the host's")
    note = f"A and B copied from {memory} memory, the product, C copied back. Beside the names: at {largest};"
    lay_out(fig, f"{note} ×: as fast as the simple kernel.{throttle_note(records)}", right=0.70)
    label_ends(fig, ax, labels)
    return fig


def written_error(error: float) -> str:
    """In as many digits as the tables have; what is the same there is drawn as one."""
    return f"{error:.1e}"


UNDRAWN = ("inf", "nan", "zeros")  # what is finite of the first two is uniform, and the last is exact


def error_by_distribution(source: Source) -> Figure:
    """Kernels whose errors coincide on every kind of operands share a marker and a name."""
    if source.accuracy is None:
        raise NoData(f"it takes a file of runner --accuracy ({ACCURACY_FILE})")
    sizes = set(source.accuracy.side.dropna().astype(int))
    size = 4096 if 4096 in sizes else max(sizes, default=0)
    records = pick(source.accuracy, None, side=size, variant="").dropna(subset="rel_err")
    records = records[~records.data.isin(UNDRAWN)]
    if not (records.rel_err > 0).any():
        raise NoData("no error above 0 was measured")
    context = records.context.iloc[0]
    table = records.pivot_table(index="kernel", columns="data", values="rel_err", sort=False)
    exact = [kind for kind in table if (table[kind].fillna(0) == 0).all()]
    kinds = [kind for kind in context["protocol"]["data"] if kind in table and kind not in exact]
    table = table[kinds]
    groups = [[*found] for found in table.map(written_error).groupby(kinds, sort=False, dropna=False).groups.values()]
    own = dict(pick(records, None, kernel="cublas").set_index("data").rel_err)
    limit = 10 * records.data.map(own)
    accurate = records.has_fp32_accuracy & (records.rel_err > limit)
    beyond = records[accurate if own else ~records.verified.astype(bool)]
    if context["device"]:
        under = f"{context['device']['name']} · cuBLAS {context['cublas_version']}"
    else:
        under = f"{context['cpu']}, GPU kernels executed on it"
    fig, (ax,) = figure(1.9 + 0.55 * len(kinds), f"Error by distribution at {size} × {size} × {size}", under)
    for place, group in enumerate(groups):
        rows = [first(pick(records, None, kernel=kernel)) for kernel in group]
        numbers = [row.number for row in rows if row.is_chapter]
        names = [*chapters_name(numbers), *(title_of(row) for row in rows if not row.is_chapter)]
        name = title_of(rows[0]) if len(rows) == 1 else ", ".join(names)
        xs = table.loc[group[0]].where(lambda errors: errors > 0)
        ys = np.arange(len(kinds)) + 0.6 * (place / max(len(groups) - 1, 1) - 0.5)
        look = point(next((row for row in rows if row.kernel == "cublas"), rows[0]))
        ax.plot(xs, ys, **look, markersize=8, zorder=3, label=textwrap.fill(name, 24))
        ringed = [kind in set(beyond.data[beyond.kernel.isin(group)]) for kind in kinds]
        ring = {"color": ALERT, "markerfacecolor": "none", "markersize": 15, "markeredgewidth": 1.4, "zorder": 4}
        ax.plot(xs[ringed], ys[ringed], "o", **ring)
    rows_axis(ax, kinds)
    ax.set_ylim(len(kinds) - 0.5, -0.5)
    for place in range(1, len(kinds)):
        ax.axhline(place - 0.5, color=GRID, lw=0.8, zorder=1)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(numticks=20))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("relative error against FP64 (Frobenius norm), logarithmic")
    ringed = "more than ten times cuBLAS's error" if own else "beyond the bound of its class"
    note = f"Kernels with the same errors share a marker. Ringed: {ringed}."
    if exact:
        note += f" Exact in every kernel and not drawn: {', '.join(exact)}."
    if (table == 0).any(axis=None):
        note += " Without a marker: exact."
    lay_out(fig, note, left=0.12, right=0.75)
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0, "labelspacing": 0.8}
    ax.legend(**place, frameon=False, fontsize=9.5)
    return fig


PANELS_A_ROW = 3


def over_size(rows: Iterable[Row]) -> tuple[list[int], list[float]]:
    """Sizes and TFLOP/s of one kernel's square products, in ascending size; the larger beta where there are two."""
    speeds = {row.side: row.tflops for row in sorted(rows, key=beta_of) if row.measured and row.side == row.side}
    return sorted(speeds), [speeds[size] for size in sorted(speeds)]


def other_kernels(source: Source) -> Figure:
    """A panel for each public repository: its kernels, the fastest one by name, and the ladder for comparison."""
    if not source.others:
        raise NoData("no results of other people's kernels")
    lines = -(-(len(source.others) + 1) // PANELS_A_ROW)  # the last panel has the legend
    panels = {"nrows": lines, "ncols": PANELS_A_ROW, "sharex": True, "sharey": True}
    under = subtitle(pd.DataFrame(next(iter(source.others.values()))))
    fig, axes = figure(0.9 + 2.5 * lines, "Other people's kernels beside the ladder", under, **panels)
    sizes = sorted({size for rows in source.others.values() for size in over_size(rows)[0]})
    ladder = {}
    for ax, (repository, rows) in zip(axes, source.others.items(), strict=False):
        lines = {}
        for name in dict.fromkeys(row.kernel for row in rows):
            own = [row for row in rows if row.kernel == name]
            line = over_size(own)
            if is_of_file(own[0]) and line[0]:
                lines[short_name(own[0])] = line
            elif line[0]:
                look = {"ls": (0, (4, 2))} if name == "cublas" else {}
                (ladder[title_of(own[0])],) = ax.plot(*line, color=color_of(own[0]), lw=1.6, zorder=2, **look)
        fastest = max(lines, key=lambda name: max(lines[name][1]), default=None)
        for name, line in lines.items():
            look = {"color": THEIRS, "lw": 2.2, "zorder": 4} if name == fastest else {"color": THEIRS, "lw": 0.8}
            ax.plot(*line, marker=".", markersize=4, **look)
        ax.set_title(repository, fontsize=9.5)
        ax.text(0.04, 0.965, fastest or "", transform=ax.transAxes, fontsize=7.5, color=THEIRS, va="top")
        size_axis(ax, sizes)
        ax.set_xlabel("")
        ax.tick_params(labelbottom=True, labelsize=8)
    axes[0].set_ylim(0, 1.15 * axes[0].get_ylim()[1])  # with room for the names
    for ax in axes[::PANELS_A_ROW]:
        ax.set_ylabel("TFLOP/s")
    for ax in axes[len(source.others) :]:
        ax.set_axis_off()
    theirs = [Line2D([], [], color=THEIRS, lw=width) for width in (2.2, 0.8)]
    texts = ["their fastest, by name", "their others", *ladder]
    axes[-1].legend([*theirs, *ladder.values()], texts, loc="center", frameon=False, fontsize=9.5)
    note = "Over M = N = K, each repository in a run of its own. Results that are wrong are not drawn."
    lay_out(fig, note, top=0.95, axis=0.4, hspace=0.36, wspace=0.1)
    return fig


def loss_curves(source: Source) -> Figure:
    """Losses of a training with cuBLAS and with the drop-in, and of cuBLAS from other parameters; below, how far each
    is from cuBLAS's."""
    reference = next((curve for curve in source.losses if curve.mode == "cublas"), None)
    if reference is None:
        raise NoData("no losses of a training with cuBLAS")
    title, panels = "Training with cuBLAS and with the drop-in", {"nrows": 2, "height_ratios": (3, 2)}
    fig, (above, below) = figure(7.2, title, source.device["name"], sharex=True, **panels)
    for curve in source.losses:
        same_start = curve.seed == reference.seed
        label = programs.MODES[curve.mode].strip("`") + ("" if same_start else f", seed {curve.seed}")
        # Where curves lie on one another, the wider one stays visible.
        look = {"label": label, "color": MODE_COLORS[curve.mode] if same_start else MUTED}
        look |= {"lw": 3.0 if curve is reference else 1.4 if same_start else 0.8}
        steps = range(1, len(curve.losses) + 1)
        above.plot(steps, curve.losses, **look)
        if curve is not reference:
            common = min(len(curve.losses), len(reference.losses))
            below.plot(steps[:common], np.abs(np.subtract(curve.losses[:common], reference.losses[:common])), **look)
    above.set_ylabel("loss")
    above.legend(frameon=False, fontsize=9.5)
    below.set_yscale("log")
    below.set_ylabel("distance from cuBLAS")
    below.set_xlabel("step")
    lay_out(fig, "All but the seeds named start from the same parameters. All see the same text.", hspace=0.12)
    return fig


def energy_over_size(source: Source) -> Figure:
    """The energy of a product, for each of its FLOP, and the power that belongs to it."""
    if source.energy is None:
        raise NoData("no results of runner --energy")
    records = Source(source.energy).defaults()
    turns = records.energy.map(lambda energy: energy["kernel"] if isinstance(energy, dict) else {})
    records = records.assign(watts=[turn.get("watts", np.nan) for turn in turns])
    records["pj_per_flop"] = [1e3 / turn["gflops_per_watt"] if "watts" in turn else np.nan for turn in turns]
    if (records := records.dropna(subset="watts")).empty:
        raise NoData("NVML told no energy")
    records = records.assign(throttled=[turn["kernel"]["trace"]["throttled_share"] > 0 for turn in records.energy])
    every = records.assign(flop_per_pj=1 / records.pj_per_flop)
    records = most_gained(every, "flop_per_pj")
    # Back to back, each launch finds what the one before left in the L2, whatever was done before samples.
    panels = {"nrows": 2, "height_ratios": (1.8, 1)}
    under = subtitle(records).replace("cold L2", "warm L2")
    fig, (ax, power) = figure(9.0, "Energy of a product over matrix size", under, **panels)
    labels = [
        replace(label, text=f"{label.text}  {significant(label.y)}") for label in draw_lines(ax, records, "pj_per_flop")
    ]
    size_axis(ax, records.side)
    log_axis(ax, "y", records.pj_per_flop, 1.3, 1.3)
    decades(ax.yaxis)
    ax.set(ylabel="pJ for each FLOP, logarithmic", title="Energy: less is better")
    draw_lines(power, records, "watts")
    size_axis(power, records.side)
    power.set(ylabel="W", ylim=(0, 1.1 * records.watts.max()), title="Mean power")
    note = (
        f"{selection_note(every, records)} Beside the names: pJ at {records.side.max()}. Each kernel ran for a second."
    )
    note += " A product has 2 N³ FLOP."
    hollow = " Hollow: the GPU had lowered its clock meanwhile." if records.throttled.any() else ""
    lay_out(fig, note + hollow, right=0.755, top=1.1, hspace=0.36)
    label_ends(fig, ax, labels)
    return fig


def per_gpu(rows: pd.DataFrame, side_alone: Callable[[Row], float]) -> pd.DataFrame:
    """Products on several GPUs with the speed of each GPU, in percent of the speed of the same kernel on one GPU. There
    it computed a square product, whose side `side_alone` tells. Products for which there is none are left out."""
    alone = {(row.kernel, row.side): row.tflops for row in rows[rows.gpus == 1].itertuples()}
    several = rows[rows.gpus > 1]
    several = several.assign(side=[side_alone(row) for row in several.itertuples()])
    references = [alone.get((row.kernel, row.side), np.nan) for row in several.itertuples()]
    several = several.assign(efficiency=100 * several.tflops / several.gpus / references)
    return several.dropna(subset="efficiency").astype({"side": int})


def scaling(source: Source) -> Figure:
    """The speed that a GPU keeps where several share a product: the same product, or one of as much work for each."""
    rows = pick(source.results, is_gpu=True, time="kernel")
    rows = rows[rows.l2 == "cold"] if "cold" in set(rows.l2) else rows
    strong = per_gpu(rows, lambda row: row.side)
    weak = per_gpu(rows, lambda row: row.k if row.m * row.n == row.gpus * row.k**2 else np.nan)
    if (drawn := pd.concat([strong, weak])).empty:
        raise NoData("no product on several GPUs that one GPU had as well")
    panels = {
        "Strong scaling: one GPU had the same product": strong,
        "Weak scaling: one GPU had a square product, each of several has as much work": weak,
    }
    panels = {title: records for title, records in panels.items() if not records.empty}
    title = "Speed of each of several GPUs, relative to one GPU"
    fig, axes = figure(1.6 + 3.5 * len(panels), title, subtitle(drawn), nrows=len(panels))
    lay_out(fig, f"100 %: as fast as one GPU alone.{throttle_note(drawn)}", right=0.76, top=1.1, hspace=0.4)
    for ax, (title, records) in zip(axes, panels.items(), strict=True):
        labels = []
        for gpus, group in records.groupby("gpus"):
            ends = draw_lines(ax, group, "efficiency")
            labels += [replace(label, text=f"{label.text}, {gpus} GPUs") for label in ends]
        ax.set_title(title, fontsize=10.5, loc="left")
        size_axis(ax, drawn.side)
        ax.set_xlabel("M = N = K on one GPU")
        ax.axhline(100, **CEILING)
        ax.set(ylabel="percent", ylim=(0.95 * min(*drawn.efficiency, 100), 1.05 * max(*drawn.efficiency, 100)))
        label_ends(fig, ax, labels, 9)
    return fig


CHARTS: dict[str, Callable[[Source], Figure]] = {
    "gflops_over_size": gflops_over_size,
    "percent_of_cublas": percent_of_cublas,
    "percent_of_cublas_tensor": percent_of_cublas_tensor,
    "ladder": ladder,
    "roofline": roofline,
    "cpu_against_gpu": cpu_against_gpu,
    "time_with_copies": time_with_copies,
    "error_by_distribution": error_by_distribution,
    "other_kernels": other_kernels,
    "loss_curves": loss_curves,
    "energy_over_size": energy_over_size,
    "scaling": scaling,
}


def charts_of(source: Source) -> dict[str, Callable[[Source], Figure]]:
    """The charts above, and one for each chapter: chapter_01, chapter_02, ... Without GPU kernels, the CPU's alone."""
    if not pick(source.results).is_gpu.any():
        apart = {"error_by_distribution": source.accuracy, "energy_over_size": source.energy}
        names = ["gflops_over_size", *(name for name, rows in apart.items() if rows is not None)]
        return {name: CHARTS[name] for name in names}
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


def chosen(charts: dict[str, Callable[[], Figure]], only: str | None) -> dict[str, Callable[[], Figure]]:
    """Those whose names stand in a list with commas; all without one."""
    if only is None:
        return charts
    if unknown := set(only.split(",")) - set(charts):
        raise ResultsError(f"--only: no chart {', '.join(map(repr, sorted(unknown)))}; there are {', '.join(charts)}")
    return {name: charts[name] for name in only.split(",")}


def draw(charts: dict[str, Callable[[], Figure]], folder: Path) -> int:
    """Draws every chart there is data for and says why not of the others; returns an exit status: 1 if none is."""
    needs.make_folder(folder, "the charts")
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


def files_of(folder: Path) -> list[File]:
    """The files of a folder that bear their usual names, or else all that the runner wrote, as far as they belong
    together. Raises ResultsError where there is none."""
    names = (*SWEEP_FILES, COUNTERS_FILE, ACCURACY_FILE, SHAPES_FILE, TENSOR_SHAPES_FILE, ENERGY_FILE, SUSTAINED_FILE)
    has_sweep = any((folder / name).exists() for name in SWEEP_FILES)
    paths = [folder / name for name in names if (folder / name).exists()]
    try:
        files = usable(paths if has_sweep else sorted(folder.glob("*.json")))
    except ResultsError as error:
        raise ResultsError(
            f"{folder} holds none of {', '.join(SWEEP_FILES)}, and other files can not be used: {error}"
        ) from None
    if any(file.kind == "programs" for file in files):
        raise ResultsError(f"{folder} holds the times of programs: --only loss_curves draws them for {folder.parent}")
    if not any(file.is_results for file in files):
        raise ResultsError(f"{folder} holds none of {', '.join(SWEEP_FILES)}, and no other results")
    return [*of_one_protocol(files), *(file for file in files if file.kind == "counters")]


def of_one_protocol(files: Sequence[File]) -> list[File]:
    """Of each kind of results those that have the device and the protocol of most; a warning names the others."""
    kept = []
    for kind in ("sweep", *MODES):
        keys = {}
        for at, file in enumerate(files):
            if file.kind == kind:
                context = file.document["context"]
                compared = [context["protocol"].get(name, False) for name in PROTOCOL if name not in CASE]
                keys[at] = str([(context.get("device") or {}).get("name"), compared])
        usual = max(keys.values(), key=[*keys.values()].count, default=None)
        kept += [files[at] for at, key in keys.items() if key == usual]
        for at in (at for at, key in keys.items() if key != usual):
            warn(f"{files[at].path} has another protocol or device than most files of its folder, and is not drawn")
    return kept


def source_of(files: Sequence[File]) -> Source:
    """What was executed with --check or --count has no times. Such a file is read only where there is no sweep."""
    of_kind: dict[str, list[File]] = {}
    for file in files:
        is_shapes = file.kind == "sweep" and Path(file.path).name.startswith(Path(SHAPES_FILE).stem)
        of_kind.setdefault("shapes" if is_shapes else file.kind, []).append(file)

    def table(kind: str) -> pd.DataFrame | None:
        return load(of_kind[kind]) if kind in of_kind else None

    executed = [*of_kind.get("check", ()), *of_kind.get("count", ())]
    return Source(
        results=load(of_kind.get("sweep", executed)),
        counters=load_counters(of_kind["counters"][-1]) if "counters" in of_kind else None,
        accuracy=table("accuracy"),
        shapes=table("shapes"),
        energy=table("energy"),
    )


def pictures_of(folder: Path) -> dict[str, Callable[[], Figure]]:
    """The pictures of accesses, for a folder with what the executor counted."""
    counts = folder / counts_file(USUAL_SIZE)
    if not counts.exists() or any((folder / name).exists() for name in SWEEP_FILES):
        return {}
    from tools.plots import pictures  # which takes this module, and the packages that fill the pages

    return pictures.pictures_of(counts)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="results files or folders")
    parser.add_argument("--out", type=Path, help="folder of the charts (default: charts/ beside the first file)")
    parser.add_argument("--only", metavar="NAME,...", help="these charts alone, such as ladder,chapter_09")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        folders = [path for path in options.results if path.is_dir()]
        files = usable(path for path in options.results if path not in folders)
        source = source_of([*files, *(file for folder in folders for file in files_of(folder))])
        for folder in folders[:1]:
            losses = programs.loss_curves(folder / "programs")
            source = replace(source, others=results.other_kernels(folder), losses=losses)
        charts = {name: partial(chart, source) for name, chart in charts_of(source).items()}
        charts |= {name: chart for folder in folders for name, chart in pictures_of(folder).items()}
        first = options.results[0]
        beside = (first if first in folders else first.parent) / "charts"
        return draw(chosen(charts, options.only), options.out or beside)
    except (ResultsError, OSError) as error:
        needs.stop(error)
