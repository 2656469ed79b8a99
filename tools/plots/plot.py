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

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import mean

import numpy as np
import pandas as pd
import vl_convert

from tools import needs, programs, results
from tools.counts import USUAL_SIZE, counts_file
from tools.forms import chapters_name, error_size, shape_text, significant
from tools.limits import multiply_adds
from tools.plots import looks, specs
from tools.plots.looks import CARDS, CUBLAS, GREYS, INKS, MUTED, TEXT, looks_of, names_of, seen_on, title_of
from tools.plots.specs import Quantity, Spec, fixed, layer
from tools.results import File, ResultsError, Row, device_of, load, load_counters, one, pick, rows_of, squares, usable

# In pixels. A page shows a chart as it is, and a phone at 0.7 of its size, where text still has ten pixels.
WIDTH = 480
LEFT = 60  # of the axis with its title
NAMES = 158  # of the names at the ends of lines
ACROSS = WIDTH - LEFT - NAMES
FONT = 14
LINE_HEIGHT = 16
LETTER = 6.7  # of text on average

ALERT = "#b3261e"
THEIRS = "#0969da"  # kernels of other people
GREY, INK, CARD = GREYS["light"], INKS["light"], CARDS["light"]
CEILING = {"color": MUTED, "strokeDash": [6, 3], "strokeWidth": 1.4}
DASHES = [[6, 2.5], [2, 2], [8, 2, 2, 2], [4, 1.5], [12, 3], [2, 4]]
RIVALS = (7, 8, 9)  # the chapters about as fast as cuBLAS on the same units
FONTS = "Liberation Sans, Helvetica, Arial, DejaVu Sans, sans-serif"  # the first comes with vl-convert


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
        return squares(pick(self.results, **fields))

    def sweep(self) -> pd.DataFrame:
        """Those of GPU kernels timed as kernels: cold ones where there are any, on the fewest GPUs of each kernel."""
        records = self.squares(is_gpu=True, time="kernel")
        if records.empty:
            raise NoData("no measured GPU kernel on square matrices")
        records = records[records.l2 == min(records.l2, key=["cold", "warm"].index)]
        return records[records.gpus == records.groupby("kernel").gpus.transform("min")]

    def of_shapes(self) -> pd.DataFrame:
        """The problems of shapes*.json, and the sweep of kernels that these files lack."""
        if self.shapes is None:
            return self.sweep()
        sweep, shapes = self.sweep(), pick(self.shapes)
        return pd.concat([sweep[~sweep.kernel.isin(shapes.kernel)], shapes])

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


# The parts of a chart.


@dataclass(frozen=True)
class Chart:
    """Panels under a title, and a note below them."""

    title: str
    subtitle: str
    panels: Sequence[Spec]
    note: str = ""
    left: int = LEFT
    width: int = WIDTH

    def wrapped(self, text: str, of: float = 1) -> list[str]:
        """In lines as long as the chart is wide, or a part of it."""
        return textwrap.wrap(text, int(of * self.width / LETTER))

    def spec(self) -> Spec:
        lines = [line for text in self.note.split("\n") for line in self.wrapped(text)]
        mark = {"type": "text", "align": "left", "baseline": "top", "x": -self.left, "y": 0, "lineHeight": LINE_HEIGHT}
        note = {"mark": mark | {"text": lines, "color": GREY}, "data": {"values": [{}]}}
        note |= {"width": 10, "height": LINE_HEIGHT * len(lines)}
        look = specs.config("light") | {"background": CARD, "font": FONTS, "aria": False, "padding": 12}
        look |= {"text": {"fontSize": FONT, "color": INK}}
        look["title"] = {"fontSize": 16, "subtitleFontSize": FONT, "color": INK, "subtitleColor": GREY}
        look["title"] |= {"lineHeight": 19, "subtitleLineHeight": LINE_HEIGHT + 1}
        look["axis"] |= {"labelFontSize": FONT - 1, "titleFontSize": FONT, "labelSeparation": 8}
        look["axisY"] = {"minExtent": self.left - 20}
        title = {"text": self.wrapped(self.title, 0.8), "subtitle": self.wrapped(self.subtitle)}
        spec = {"title": title | {"anchor": "start", "offset": 10}, "config": look}
        return spec | {"vconcat": [*self.panels, *([note] if lines else [])], "params": [{"name": "ink", "value": INK}]}


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


def by_kernel(records: pd.DataFrame) -> list[pd.DataFrame]:
    """The records of each kernel in ascending size."""
    return [group.sort_values("side") for _, group in records.groupby("kernel", sort=False)]


def throttle_note(records: pd.DataFrame) -> str:
    return " Hollow: the GPU had lowered its clock when the case ended." if records.throttled.any() else ""


def logarithmic(values: Iterable[float], low: float = 1.3, high: float = 1.4) -> Spec:
    """A scale from the least value over `low` to the largest one times `high`."""
    values = list(values)
    return {"type": "log", "nice": False, "domain": [min(values) / low, max(values) * high]}


def decades(scale: Spec) -> list[float]:
    """Numbers on a logarithmic axis: 1, 2 and 5 of each decade, of many decades the first alone."""
    low, high = scale["domain"]
    subs = (1, 2, 5) if high / low < 1e4 else (1,)
    return [v for e in range(-20, 20) for sub in subs if low <= (v := float(f"{sub}e{e}")) <= high]


def log_quantity(field: str, title: str, numbers: Iterable[float], *sides: float, digits: str = "~r") -> Quantity:
    scale = logarithmic(numbers, *sides)
    return Quantity(field, f"{title}, logarithmic", scale=scale, digits=digits, axis={"values": decades(scale)})


def linear(largest: float, least: float = 0.0) -> Spec:
    return {"zero": False, "nice": False, "domain": [least, largest]}


def plain(value: float) -> float:
    """With as many digits as a pixel needs."""
    return float(f"{value:.5g}")


def at(scale: Spec, share: float) -> float:
    """The value at a share of an axis; beyond its ends as well."""
    low, high = scale["domain"]
    return plain(low * (high / low) ** share if scale.get("type") == "log" else low + share * (high - low))


def share_of(scale: Spec, value: float) -> float:
    low, high = scale["domain"]
    if scale.get("type") == "log":
        low, high, value = np.log([low, high, value])
    return float((value - low) / (high - low))


def spread(targets: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Moves label centres apart until neighbours are at least `gap` apart, each close to its target, in their order."""
    order = sorted(range(len(targets)), key=lambda i: targets[i])
    wanted, every = [targets[i] - gap * place for place, i in enumerate(order)], range(len(targets))
    # Without gaps the nearest places that ascend: isotonic regression, by its formula of maxima of minima of means.
    nearest = [max(min(mean(wanted[a : b + 1]) for b in every[i:]) for a in every[: i + 1]) for i in every]
    placed = [place + gap * i for i, place in enumerate(nearest)]
    for i in reversed(range(len(placed))):
        placed[i] = min(placed[i], high if i == len(placed) - 1 else placed[i + 1] - gap)
    for i in range(len(placed)):
        placed[i] = max(placed[i], low if i == 0 else placed[i - 1] + gap)
    return [placed[order.index(i)] for i in range(len(placed))]


@dataclass(frozen=True)
class End:
    """Where a line ends, and what is written beside the axes there."""

    x: float
    y: float
    text: str
    color: str


def names_at(ends: Sequence[End], x: Quantity, y: Quantity, height: float) -> list[Spec]:
    """Each name at its line's end, moved apart where lines end close together, with a line that leads to it."""
    gap = LINE_HEIGHT / height
    places = spread([share_of(y.scale, end.y) for end in ends], gap, gap / 2, 1.0)
    lines, texts = [], []
    for index, (end, place) in enumerate(zip(ends, places, strict=True)):
        color = seen_on(end.color, "light", TEXT)
        start = share_of(x.scale, end.x) + 6 / ACROSS, share_of(y.scale, end.y)
        *leader, beside = [start, *((1 + right / ACROSS, place) for right in (12, 16, 20))]
        lines += [{"end": index, "x": at(x.scale, a), "y": at(y.scale, b), "color": color} for a, b in leader]
        weight = "bold" if end.color in (CUBLAS, INK) else "normal"
        text = {"text": end.text, "color": color, "weight": weight}
        texts.append(text | {"x": at(x.scale, beside[0]), "y": at(y.scale, beside[1])})
    encoding = {"x": x.channel("x"), "y": y.channel("y"), "color": {"field": "color", "type": "nominal", "scale": None}}
    thin = {"type": "line", "strokeWidth": 0.8, "opacity": 0.8}
    said = {"text": {"field": "text"}, "fontWeight": {"field": "weight", "scale": None}}
    return [
        {"data": {"values": lines}} | layer(thin, **encoding, detail={"field": "end"}),
        {"data": {"values": texts}} | layer({"type": "text", "align": "left"}, **encoding, **said),
    ]


def level(value: float, text: str, along: str = "y", align: str = "left") -> list[Spec]:
    """A dashed line at a value that limits kernels, and its name above its left end, or at its upper one."""
    name = {"y": {"x": 4, "dy": -7}, "x": {"y": -8}}[along] | {"type": "text", "align": align, "text": text}
    marks = {"type": "rule", **CEILING}, name | {"color": GREY}
    return [fixed(mark, **{along: {"datum": plain(value)}}) for mark in marks]


def heading(text: str) -> Spec:
    """Of a panel."""
    return {"text": text, "fontSize": FONT, "anchor": "start"}


def ring(test: str | None = None, **place: Spec) -> Spec:
    return layer({"type": "point", "size": 240, "strokeWidth": 1.5, "color": ALERT, "filled": False}, test, **place)


Look = Mapping[str, Mapping[str, str]]


def look_of(records: pd.DataFrame) -> Look:
    rows = list(rows_of(records))
    return looks_of(rows, names_of(rows))


def filled(spec: Spec, rows: Sequence[Mapping], look: Look, legend: Spec | None = None) -> Spec:
    """A definition with its data, and with the colours and shapes of those kernels that occur, as charts.js does it."""
    names = list(look) if legend and legend.get("all") else list(dict.fromkeys(row["name"] for row in rows))
    color, shape = ({"domain": names, "range": [look[name][of] for name in names]} for of in ("light", "shape"))
    layers = []
    for each in spec["layer"]:
        encoding = {name: dict(channel) for name, channel in each["encoding"].items() if name != "tooltip"}
        for name, scale in (("color", color), ("shape", shape)):
            if name in encoding:
                encoding[name] |= {"scale": scale, "legend": legend}
        layers.append(each | {"encoding": encoding})
    return spec | {"data": {"values": list(rows)}, "layer": layers}


def values(records: pd.DataFrame, *fields: str) -> list[dict]:
    """The rows of a chart: as a report has them, of the columns that are drawn."""
    rows = list(rows_of(records))
    names = names_of(rows)
    return [
        {"name": names[row.kernel, row.gpus], "group": row.kernel, "throttled": bool(row.throttled)}
        | {name: plain(getattr(row, name)) for name in fields}
        for row in rows
    ]


def size_axis(sizes: Iterable[float]) -> Quantity:
    """Logarithmic, with ticks at powers of two, and of many at every second one."""
    sizes = sorted({int(size) for size in sizes})
    powers = [2**e for e in range(64) if sizes[0] <= 2**e <= sizes[-1]]
    axis = {"values": powers[:: 1 + (len(powers) > 7)] if len(powers) > 1 else sizes, "grid": False}
    return Quantity("side", "M = N = K", scale=logarithmic(sizes, 1.12, 1.06) | {"base": 2}, digits="d", axis=axis)


def beside(field: str, unit: str = "") -> Callable[[Mapping], str]:
    """The name with the value at the line's end, as lines may lie on each other."""
    return lambda row: f"{row['name']}  {significant(row[field])}{unit}"


def lines(
    rows: Sequence[Mapping],
    look: Look,
    x: Quantity,
    y: Quantity,
    height: int,
    *below: Spec,
    written: Callable[[Mapping], str] = itemgetter("name"),  # of the last row of a line
    dashes: Mapping[str, list[float]] | None = None,
    widths: Mapping[str, float] | None = None,
    dots: bool = True,
    legend: Spec | None = None,
) -> Spec:
    """A line for each name, which stands at its end. cuBLAS's is wide and below, so that a line as fast as it stays in
    sight; it has points where the GPU was throttled alone."""
    spec = specs.over_size(y, x.channel())
    line, *others = filled(spec | {"layer": spec["layer"] if dots else spec["layer"][:1]}, rows, look, legend)["layer"]
    line["mark"] = {"type": "line", "clip": True}  # a width of the mark would count, and not those of the lines
    drawn = {row["name"]: row for row in rows}
    widths = {"cuBLAS": 3.2} | (widths or {})
    for channel, usual, of in (("strokeDash", [1, 0], dashes or {}), ("strokeWidth", 2, widths)):
        scale = {"type": "ordinal", "domain": [*drawn], "range": [of.get(key, usual) for key in drawn]}
        line["encoding"][channel] = {"field": "name", "type": "nominal", "legend": None, "scale": scale}
    for dot in others:
        if dot["mark"]["type"] == "point":
            dot["transform"] = [*dot["transform"], {"filter": "datum.name != 'cuBLAS' || datum.throttled"}]
    ends = [End(row[x.field], row[y.field], written(row), look[key]["light"]) for key, row in drawn.items()]
    layers = [*below, line, *others, *([] if legend else names_at(ends, x, y, height))]
    return {"data": {"values": list(rows)}, "width": ACROSS, "height": height, "layer": layers}


def over_sizes(
    records: pd.DataFrame,
    y: Quantity,
    height: int = 340,
    *below: Spec,
    x: Quantity | None = None,
    thin: Iterable[str] = (),
    **more,
) -> Spec:
    """A line for each kernel over the sizes, dashed for variants; those of the kernels in `thin` are thin."""
    groups = by_kernel(records)
    x = x or size_axis(records.side)
    rows = values(pd.concat(groups), x.field, y.field)
    variants = dict.fromkeys(row["name"] for row in rows if row["group"] in set(records.kernel[records.variant != ""]))
    dashes = {name: DASHES[place % len(DASHES)] for place, name in enumerate(variants)}
    widths = {row["name"]: 1.1 for row in rows if row["group"] in set(thin)}
    return lines(rows, look_of(records), x, y, height, *below, dashes=dashes, widths=widths, **more)


# The charts.


def selection_note(every: pd.DataFrame, drawn: pd.DataFrame) -> str:
    number, of = (found[found.is_chapter].kernel.nunique() for found in (drawn, every))
    return "Default variants." if number == of else f"The {number} of {of} chapters that gained most over those before."


MOST_LINES = 7  # that a reader can follow in a chart


def most_gained(records: pd.DataFrame, value: str, others: int = 1) -> pd.DataFrame:
    """cuBLAS, and as many chapters as fit in a chart beside it, by a value at the largest size of all."""
    chapters = records[records.is_chapter]
    sizes = set.intersection(*(set(group.side) for group in by_kernel(chapters))) or {chapters.side.max()}
    at_end = chapters[chapters.side == max(sizes)].sort_values("number")
    kept = looks.most_gained({row.kernel: getattr(row, value) for row in rows_of(at_end)}, MOST_LINES - others)
    return records[~records.is_chapter | records.kernel.isin(kept)]


def speed_over(*speeds: float) -> Quantity:
    """Logarithmic, as steps are factors."""
    return log_quantity("tflops", "TFLOP/s", speeds)


def gflops_over_size(source: Source) -> Chart:
    """The chapters' default variants and the CPU; without a GPU the CPU alone."""
    has_gpu = bool(pick(source.results).is_gpu.any())
    every = source.defaults() if has_gpu else source.squares(is_gpu=False)
    if every.empty:
        raise NoData("no measured kernel on square matrices")
    cpu = source.cpu() if has_gpu else every[:0]
    drawn = pd.concat([most_gained(every, "tflops", 1 + (not cpu.empty)), cpu]) if has_gpu else every
    peak = source.peak if has_gpu else None
    ceiling = level(peak, f"FP32 peak {peak:.1f}") if peak else []
    panel = over_sizes(drawn, speed_over(*drawn.tflops, *([peak] if peak else [])), 380, *ceiling)
    note = selection_note(every, drawn) + throttle_note(drawn) if has_gpu else ""
    return Chart("Speed over matrix size", subtitle(every), [panel], note)


def chapter(source: Source, number: int) -> Chart:
    """The variants of one chapter between the chapter before and cuBLAS: speeds, logarithmic, as steps are factors, and
    below them shares of cuBLAS's speed, linear."""
    records = pick(source.sweep(), has_fp32_accuracy=True)
    own = records[records.number == number]
    if own.empty:
        raise NoData(f"chapter {number} was not measured")
    earlier = records[records.is_chapter & (records.number < number) & (records.variant == "")]
    before = earlier[earlier.number == earlier.number.max()]
    cublas, cpu = records[records.kernel == "cublas"], source.cpu()
    room = MOST_LINES - own.kernel.nunique() - cublas.kernel.nunique()  # the others give way to variants
    before = before[: len(before) * (room > 0)]
    cpu = cpu[: len(cpu) * (room > before.kernel.nunique())]
    drawn = pd.concat([before, own, cublas, cpu])
    shares = drawn[drawn.is_chapter].assign(share=100 * drawn.of_cublas).dropna(subset="share")
    thin = set(before.kernel)
    panels = [over_sizes(drawn, speed_over(*drawn.tflops), 280, written=beside("tflops"), thin=thin)]
    if not shares.empty:
        scale = linear(1.08 * max(100, shares.share.max()))
        ratio = Quantity("share", "% of cuBLAS's speed", reference=100, scale=scale)
        x = size_axis(drawn.side)
        panels.append(over_sizes(shares, ratio, 220, written=beside("share", " %"), x=x, thin=thin))
    name = own.kernel.iloc[0].partition(":")[0].partition("_")[2]
    note = f"Beside the names: at {own.side.max()}." + " Dashed: variants." * any(own.variant)
    note += " Thin: the chapter before." * (not before.empty)
    rough = pick(source.sweep(), number=number, has_fp32_accuracy=False)
    if names := dict.fromkeys(map(title_of, rows_of(rough))):
        note += f" Not drawn, because of its lower precision: {', '.join(names)}."
    return Chart(f"Chapter {number:02d}: {name}", subtitle(own), panels, note + throttle_note(drawn))


def rows_of_points(
    quantity: Quantity, rows: Sequence[Mapping], look: Look, field: str, kinds: Sequence[str], left: int
) -> Spec:
    """A row for each problem or kind of operands, the kernels in it a little apart, and a legend above."""
    legend = {"title": None, "orient": "top", "columns": 2, "labelFontSize": FONT, "labelLimit": 260, "offset": 4}
    axis = {"labelColor": INK, "labelFontSize": FONT, "ticks": False, "grid": True, "bandPosition": 0}
    y = {"field": field, "type": "nominal", "sort": kinds, "title": None, "axis": axis}
    apart = {"field": "name", "sort": None, "scale": {"paddingOuter": 0.6}}
    drawn = filled(specs.in_rows(quantity, y=y, yOffset=apart), rows, look, legend)
    names = len({row["name"] for row in rows})
    return drawn | {"width": WIDTH - left, "height": {"step": 10 + 4.5 * names, "for": "position"}}


def percent_of_cublas(source: Source, tensor: bool = False) -> Chart:
    """Speeds relative to cuBLAS, the smaller of both ratios as in the tables: a row for each problem. Of the rivals, or
    of the chapters that multiply on tensor cores as accurately as in FP32; default variants."""
    records = source.of_shapes()
    split = records.has_fp32_accuracy & (records.accuracy_class != "fp32") & records.is_chapter
    records = records[split if tensor else records.number.isin(RIVALS) | (records.kernel == "cublaslt_best")]
    if (records := pick(records, variant="").dropna(subset="vs_cublas")).empty:
        rivals = f"none of the chapters {' and '.join(chapters_name(RIVALS))}"
        raise NoData(f"{'no chapter on tensor cores' if tensor else rivals} was compared with cuBLAS")
    records = records.assign(share=100 * records.of_cublas)
    shapes = sorted(dict.fromkeys(records["shape"]), key=lambda shape: (len(set(shape)) > 1, shape))
    written = {shape: shape_text(shape).replace("x", "×") for shape in shapes}
    pairs = zip(values(records, "share"), records["shape"], strict=True)
    rows = [row | {"problem": written[shape]} for row, shape in pairs]
    scale = linear(1.04 * max(100, records.share.max()))
    ratio = Quantity("share", "% of cuBLAS's speed", reference=100, scale=scale)
    panel = rows_of_points(ratio, rows, look_of(records), "problem", [*written.values()], 150)
    title = "On tensor cores: speed relative to cuBLAS in FP32" if tensor else "Speed relative to cuBLAS"
    under = f"{subtitle(records)} · {len(shapes)} problems M = N = K, or M × N × K"
    note = f"Thick line: as fast as cuBLAS.{throttle_note(records)} The smaller of the ratios paired and alone."
    return Chart(title, under, [panel], note, left=150)


def ladder_size_of(source: Source) -> int:
    """4096 where every kernel has it, else the largest size that every kernel has."""
    common = set.intersection(*(set(group.side) for group in by_kernel(source.sweep())))
    if not common:
        raise NoData("no size is common to all kernels")
    return 4096 if 4096 in common else max(common)


def ladder(source: Source) -> Chart:
    """Default variants, in rows low enough for a first screen. Bars start at 0, so that their lengths compare."""
    size = ladder_size_of(source)
    drawn = pick(pd.concat([source.defaults(), source.cpu()]), side=size)
    if drawn.empty:
        raise NoData(f"no kernel was measured at {size}")
    left, width, peak = 150, WIDTH - 150 - 150, source.peak
    cublas = pick(drawn, kernel="cublas")
    shares = [1.0 if row.kernel == "cublas" else row.of_cublas for row in rows_of(drawn)]
    rows = [
        row | {"speed": significant(row["tflops"]), "share": "" if pd.isna(share) else f"{100 * share:.1f} %"}
        for row, share in zip(values(drawn, "tflops"), shares, strict=True)
    ]
    scale = linear(max(drawn.tflops.max(), peak or 0) * 1.02)
    axis = {"title": None, "labels": False, "ticks": False, "domain": False, "grid": False}
    x = {"field": "tflops", "type": "quantitative", "scale": scale, "axis": axis}
    label = {"labelColor": INK, "labelFontSize": FONT, "ticks": False, "domain": False, "labelLimit": 150}
    y = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": label}
    bar = {"type": "bar", "height": 13}
    bars = [layer(bar, "!datum.throttled", x=x, y=y, color=specs.COLOR)]
    bars.append(layer(bar | {"filled": False, "strokeWidth": 1.5}, "datum.throttled", x=x, y=y, color=specs.COLOR))
    spec = filled({"layer": bars}, rows, look_of(drawn))
    columns = ((width + 62, "TFLOP/s", "speed"), (width + 142, "of cuBLAS", "share"))
    texts = [layer({"type": "text", "align": "right", "x": place}, y=y, text={"field": of}) for place, _, of in columns]
    head = {"type": "text", "align": "right", "y": -8, "color": GREY}
    heads = [fixed(head | {"x": place, "text": text}) for place, text, _ in columns]
    marks = [specs.line_at("x", plain(cublas.tflops.iloc[0]))] if len(cublas) else []
    if peak:
        marks += level(peak, f"FP32 peak {peak:.1f}", "x", "left" if share_of(scale, peak) < 0.5 else "right")
    panel = spec | {"width": width, "height": {"step": 18}, "layer": [*spec["layer"], *marks, *texts, *heads]}
    note = f"The solid line is cuBLAS.{tensor_note(drawn)}{throttle_note(drawn)}"
    return Chart(f"The ladder at {size} × {size} × {size}", f"TFLOP/s · {subtitle(drawn)}", [panel], note, left=left)


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


L1_BYTES = 128  # a cycle and SM: 32 banks of 4 bytes, which the L1 cache has as well


def roof(records: pd.DataFrame, places: Mapping[str, float], bandwidth: float, flat: Mapping, title: str) -> Spec:
    """Kernels at the FLOP they compute for each byte of one memory, below the slope of its bandwidth and the limits of
    the arithmetic units."""
    height, most = 230, max(flat.values())
    x = log_quantity("intensity", title, [*places.values(), most / bandwidth], 2.2, 1.8)
    y = log_quantity("tflops", "TFLOP/s", [*records.tflops, *flat.values()], 1.8, 1.5)
    look, right = look_of(records), x.scale["domain"][1]
    start = max(x.scale["domain"][0], y.scale["domain"][0] / bandwidth)
    parts = [({"color": MUTED, "strokeWidth": 2.2}, (start, start * bandwidth), most / bandwidth, most)]
    parts += [(CEILING, (value / bandwidth, value), right, value) for value in flat.values()]
    ends = [End(right, value, f"{name}: {significant(value)}", MUTED) for name, value in flat.items()]
    names = names_of(rows_of(records))
    for row in rows_of(records):
        name = names[row.kernel, row.gpus]
        color = look[name]["light"]
        style = {"color": color, "strokeWidth": 2 if row.kernel == "cublas" else 0.7, "opacity": 0.6}
        parts.append((style, (x.scale["domain"][0], row.tflops), right, row.tflops))
        ends.append(End(right, row.tflops, name, color))
    limits = [
        {"data": {"values": [{"intensity": plain(a), "tflops": plain(b)} for a, b in (begin, end)]}}
        | layer({"type": "line", **style}, x=x.channel(), y=y.channel())
        for style, begin, *end in parts
    ]
    placed = records[records.kernel.isin(places)]
    rows = values(placed.assign(intensity=placed.kernel.map(places)), "intensity", "tflops")
    spec = filled(specs.scatter(x, y, *limits), rows, look)
    layers = [*spec["layer"], *names_at(ends, x, y, height)]
    return spec | {"width": ACROSS, "height": height, "layer": layers}


def roofline(source: Source) -> Chart:
    """A panel for each memory: a kernel stands at the FLOP it computes for each byte that it was counted to move."""
    device, peak = source.device, source.peak
    if not source.counters:
        raise NoData(f"it takes a file of tools/counters.py ({results.COUNTERS_FILE})")
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

    flop = 4 * (multiply_adds(device["compute_capability"], "tf32") or 0)  # of FP16, a cycle and SM
    flat = {"FP32 units": peak}
    flat |= {"6 × BF16, 3 × TF32": flop * cycles / 6, "3 × FP16, 6 × INT8": flop * cycles / 3} if flop else {}
    panels = []
    for name, bandwidth, intensity in (
        ("DRAM, {} TB/s", device["dram_peak_gbytes_s"] / 1e3, lambda kernel: kernel.get("flop_per_dram_byte")),
        ("L2 to SMs, {} TB/s measured", drew[greedy], lambda kernel: kernel.get("flop_per_l2_to_sm_byte")),
        ("L1 and shared memory, {} TB/s", L1_BYTES * cycles, l1_intensity),
    ):
        places = {kernel: x for kernel in records.kernel if (x := intensity(counted.get(kernel, {})))}
        title = f"FLOP per byte of {name.format(significant(bandwidth))}"
        panels.append(roof(records, places, bandwidth, flat, title))
    before = ("bf16_split", "fp16_split", "int8_split")  # operands are split by kernels of their own
    split = " and ".join(chapters_name(records.number[records.accuracy_class.isin(before)]))
    apart = f", of {split} without the kernels that split operands" if split else ""
    cores = f"Tensor cores: {flop} FLOP a cycle and SM in FP16, half in TF32, twice in INT8, divided by the products. "
    note = (
        "A kernel on a slope is limited by that memory, one close below its dashed line by the arithmetic units. "
        f"{selection_note(every, records)}\nDRAM, FP32: the device's peaks. "
        f"L1 and shared memory: {L1_BYTES} bytes a cycle and SM. L2: the most that a kernel here drew, {greedy}; its "
        f"peak is not published. All at {mhz} MHz. {cores if flop else ''}Nsight Compute counted the bytes{apart}."
    )
    return Chart(f"Roofline at {size} × {size} × {size}", subtitle(records), panels, note + throttle_note(records))


def cpu_against_gpu(source: Source) -> Chart:
    gpu = source.squares(is_gpu=True, time="end-to-end")
    # A CPU kernel has nothing to copy, so any record of it will do; an end-to-end sweep's own come last and win.
    cpu = source.squares(is_gpu=False).sort_values("time", ascending=False, key=lambda time: time != "end-to-end")
    if gpu.empty or cpu.empty:
        raise NoData("it takes an end-to-end sweep of GPU kernels, and CPU kernels")
    names = {"cpu_naive": "one CPU thread", "cpu_blas": "all CPU threads"}
    names |= {"01_naive": "chapter 01, copies", "cublas": "cuBLAS, copies"}
    records = pd.concat([cpu, gpu])
    records = records[records.kernel.isin(list(names))].drop_duplicates(["kernel", "side"], keep="last")
    times = {name: group.set_index("side").microseconds.sort_index() for name, group in records.groupby("kernel")}
    context = gpu.context.iloc[0]
    memory = context["protocol"].get("host_memory")
    copies = f", from {memory} host memory" if memory else ""
    note = f"GPU times include copying A and B to the device and C back{copies}.{throttle_note(records)}"
    note += " The CPU: three loops on one thread, OpenBLAS on all."
    faster = {
        ("01_naive", "cpu_naive"): "chapter 01 is faster than three loops",
        ("cublas", "cpu_blas"): "cuBLAS is faster than OpenBLAS",
    }
    meetings = []
    for (slow, fast), says in faster.items():
        if (size := results.crossover(dict(times.get(slow, {})), dict(times.get(fast, {})))) is not None:
            meeting = np.exp(np.interp(np.log(size), np.log(times[slow].index), np.log(times[slow])))
            meetings.append({"side": plain(size), "microseconds": plain(float(meeting))})
            note += f"\nFrom N ≈ {size:.0f} on {says}."
    units = "datum.value >= 1e6 ? datum.value / 1e6 + ' s' : datum.value >= 1e3 ? datum.value / 1e3 + ' ms' : "
    time = log_quantity("microseconds", "time of one product", records.microseconds, 2.2, 2.2)
    time = replace(time, axis={**time.axis, "labelExpr": f"{units}datum.value + ' µs'"})
    panel = over_sizes(records, time, written=lambda row: names[row["group"]])
    panel["layer"].append({"data": {"values": meetings}} | ring(x=size_axis(records.side).channel(), y=time.channel()))
    under = f"{subtitle(gpu)} · {context['cpu']}, {context['num_cpus']} threads"
    return Chart("CPU against GPU, copies included", under, [panel], note)


COPIED = {"01_naive": "simple", "02_smem_tiled:tile16": "tiled", "cublas": "cuBLAS"}


def time_with_copies(source: Source) -> Chart:
    """Times on linear axes, as the second of the documents draws them: the simple kernel, the tiled one, and cuBLAS."""
    records = source.squares(is_gpu=True, time="end-to-end")
    records = records[records.kernel.isin(list(COPIED))]
    if not set(COPIED) <= set(records.kernel):
        raise NoData(f"it takes an end-to-end sweep of {', '.join(COPIED)}")
    records = records.assign(ms=records.microseconds / 1e3)
    largest = min(group.side.max() for group in by_kernel(records))
    at_end = pick(records, side=largest).set_index("kernel").ms

    def written(row: Mapping) -> str:
        ms, simple = at_end[row["group"]], at_end["01_naive"]
        gain = f", {significant(simple / ms)} ×" if row["group"] != "01_naive" else ""
        return f"{COPIED[row['group']]}  {significant(ms)} ms{gain}"

    x = Quantity("side", "M = N = K", scale=linear(1.03 * records.side.max()), digits="d", axis={"grid": False})
    y = Quantity("ms", "ms", scale=linear(1.06 * records.ms.max()))
    panel = over_sizes(records, y, 260, written=written, x=x)
    memory = records.context.iloc[0]["protocol"].get("host_memory", "the host's")
    note = "Simple: 01 naive. Tiled: 02, tiles of 16. "
    note += f"A and B copied from {memory} memory, the product, C copied back. Beside the names: at {largest};"
    note += f" ×: as fast as the simple kernel.{throttle_note(records)}"
    return Chart("Time of a product with its copies", subtitle(records), [panel], note)


UNDRAWN = ("inf", "nan", "zeros")  # what is finite of the first two is uniform, and the last is exact


def error_by_distribution(source: Source) -> Chart:
    """Kernels whose errors coincide on every kind of operands, as the tables write them, share a marker and a name."""
    if source.accuracy is None:
        raise NoData(f"it takes a file of runner --accuracy ({results.ACCURACY_FILE})")
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
    groups = [[*found] for found in table.map(error_size).groupby(kinds, sort=False, dropna=False).groups.values()]
    own = dict(pick(records, None, kernel="cublas").set_index("data").rel_err)
    accurate = records.has_fp32_accuracy & (records.rel_err > 10 * records.data.map(own))
    beyond = records[accurate if own else ~records.verified.astype(bool)]
    under = f"{context['cpu']}, GPU kernels executed on it"
    if context["device"]:
        under = f"{context['device']['name']} · cuBLAS {context['cublas_version']}"
    rows, look, every = [], {}, look_of(records)
    for group in groups:
        of = [one(records, None, kernel=kernel) for kernel in group]
        names = [*chapters_name(row.number for row in of if row.is_chapter)]
        names += [title_of(row) for row in of if not row.is_chapter]
        name = title_of(of[0]) if len(of) == 1 else ", ".join(names)
        look[name] = every["cuBLAS" if "cublas" in group else title_of(of[0])]
        far = set(beyond.data[beyond.kernel.isin(group)])
        for kind in kinds:
            if (error := table.loc[group[0]][kind]) > 0:
                rows.append({"name": name, "data": kind, "err": plain(error), "ring": kind in far, "throttled": False})
    title = "relative error against FP64 (Frobenius norm)"
    error = log_quantity("err", title, [row["err"] for row in rows], 1.5, 1.5, digits=".0e")
    panel = rows_of_points(error, rows, look, "data", kinds, 100)
    place = {name: panel["layer"][-1]["encoding"][name] for name in ("x", "y", "yOffset")}
    panel["layer"].append(ring("datum.ring", **place))
    ringed = "more than ten times cuBLAS's error" if own else "beyond the bound of its class"
    note = f"Kernels with the same errors share a marker. Ringed: {ringed}."
    note += f" Exact in every kernel and not drawn: {', '.join(exact)}." if exact else ""
    note += " Without a marker: exact." if (table == 0).any(axis=None) else ""
    return Chart(f"Error by distribution at {size} × {size} × {size}", under, [panel], note, left=100)


FASTEST, SLOWER = "their fastest, by name", "their others"


def other_kernels(source: Source) -> Chart:
    """A panel for each public repository: its kernels, the fastest one by name, and the ladder for comparison. The
    larger beta where there are two."""
    if not source.others:
        raise NoData("no results of other people's kernels")
    cases = {name: sorted(cases, key=results.beta_of) for name, cases in source.others.items()}
    found = {
        name: pick(pd.DataFrame(of)).dropna(subset="side").drop_duplicates(["kernel", "side"], keep="last")
        for name, of in cases.items()
    }
    every = pd.concat(found.values())
    x = replace(size_axis(every.side), title="")
    y = Quantity("tflops", "TFLOP/s", scale=linear(1.2 * every.tflops.max()))
    blue = {"light": THEIRS, "shape": "circle"}
    look = {FASTEST: blue, SLOWER: blue, **look_of(every[every.path.isna()])}
    legend = {"title": None, "orient": "bottom", "columns": 2, "labelFontSize": FONT, "labelLimit": 260, "all": True}
    panels = []
    for repository, records in found.items():
        theirs = records[records.path.notna()]
        best = theirs.loc[theirs.tflops.idxmax()] if len(theirs) else None
        fastest = "" if best is None else best.kernel
        rows = []
        for group in sorted(by_kernel(records), key=lambda group: group.kernel.iloc[0] == fastest):
            row = one(group)
            name = (FASTEST if row.kernel == fastest else SLOWER) if results.is_of_file(row) else title_of(row)
            rows += [each | {"name": name} for each in values(group, "side", "tflops")]
        panel = lines(rows, look, x, y, 120, legend=legend, widths={FASTEST: 3, SLOWER: 0.8}, dots=False)
        text = "" if best is None else results.short_name(best)
        named = {"type": "text", "align": "left", "x": 6, "y": 8, "color": THEIRS, "fontSize": 12, "text": text}
        panel["layer"].append(fixed(named))
        panels.append(panel | {"title": heading(repository), "width": WIDTH - LEFT})
    note = "Over M = N = K, each repository in a run of its own. Results that are wrong are not drawn."
    return Chart("Other people's kernels beside the ladder", subtitle(every), panels, note)


LOSS_COLORS = {"tf32": "#d29922", "fp32": "#009e73", "componentwise": THEIRS, "normwise": ALERT, "rowwise": "#8250df"}


def loss_curves(source: Source) -> Chart:
    """Losses of a training with cuBLAS and with the drop-in, and of cuBLAS from other parameters; below, how far each
    is from cuBLAS's."""
    reference = next((curve for curve in source.losses if curve.mode == "cublas"), None)
    if reference is None:
        raise NoData("no losses of a training with cuBLAS")
    losses, distances, look, widths = [], [], {}, {}
    for curve in source.losses:
        same = curve.seed == reference.seed
        name = programs.MODES[curve.mode].strip("`") + ("" if same else f", seed {curve.seed}")
        color = (CUBLAS if curve is reference else LOSS_COLORS[curve.mode]) if same else MUTED
        look[name] = {"light": color, "shape": "circle"}
        about = {"name": name, "group": name}
        losses += [about | {"step": step, "loss": plain(loss)} for step, loss in enumerate(curve.losses, 1)]
        if curve is not reference:
            widths[name] = 1.2 if same else 0.7  # the wider one below stays visible
            apart = map(abs, map(float.__sub__, curve.losses, reference.losses))
            distances += [about | {"step": step, "loss": plain(loss)} for step, loss in enumerate(apart, 1) if loss]
    x = Quantity("step", "step", scale=linear(max(row["step"] for row in losses), 1), axis={"grid": False})
    panels = []
    for rows, title, height in ((losses, "loss", 240), (distances, "distance from cuBLAS", 200)):
        if rows:
            y = log_quantity("loss", title, [row["loss"] for row in rows], 1.1, 1.1, digits="~g")
            panels.append(lines(rows, look, x, y, height, widths=widths, dots=False))
    note = "All but the seeds named start from the same parameters. All see the same text."
    return Chart("Training with cuBLAS and with the drop-in", source.device["name"], panels, note)


def energy_over_size(source: Source) -> Chart:
    """The energy of a product, for each of its FLOP, and the power that belongs to it."""
    if source.energy is None:
        raise NoData("no results of runner --energy")
    records = Source(source.energy).defaults()
    turns = records.energy.map(lambda energy: energy["kernel"] if isinstance(energy, dict) else {})
    records = records.assign(
        watts=[turn.get("watts", np.nan) for turn in turns],
        pj_per_flop=[1e3 / turn["gflops_per_watt"] if "watts" in turn else np.nan for turn in turns],
        throttled=[bool(turn) and turn["trace"]["throttled_share"] > 0 for turn in turns],
    )
    if (records := records.dropna(subset="watts")).empty:
        raise NoData("NVML told no energy")
    every = records.assign(flop_per_pj=1 / records.pj_per_flop)
    records = most_gained(every, "flop_per_pj")
    energy = log_quantity("pj_per_flop", "pJ for each FLOP", records.pj_per_flop, 1.3, 1.3)
    power = Quantity("watts", "mean power in W", scale=linear(1.1 * records.watts.max()))
    panels = [over_sizes(records, energy, 300, written=beside("pj_per_flop")), over_sizes(records, power, 200)]
    note = f"{selection_note(every, records)} Beside the names: pJ at {records.side.max()}. Each kernel ran for a "
    note += "second. A product has 2 N³ FLOP. Less is better."
    note += " Hollow: the GPU had lowered its clock meanwhile." * bool(records.throttled.any())
    # Back to back, each launch finds what the one before left in the L2, whatever was done before samples.
    under = subtitle(records).replace("cold L2", "warm L2")
    return Chart("Energy of a product over matrix size", under, panels, note)


def per_gpu(rows: pd.DataFrame, side_alone: Callable[[Row], float]) -> pd.DataFrame:
    """Products on several GPUs with the speed of each GPU, in percent of the speed of the same kernel on one GPU. There
    it computed a square product, whose side `side_alone` tells. Products for which there is none are left out."""
    alone = {(row.kernel, row.side): row.tflops for row in rows_of(rows[rows.gpus == 1])}
    several = rows[rows.gpus > 1]
    several = several.assign(side=[side_alone(row) for row in rows_of(several)])
    references = [alone.get((row.kernel, row.side), np.nan) for row in rows_of(several)]
    several = several.assign(efficiency=100 * several.tflops / several.gpus / references)
    return several.dropna(subset="efficiency").astype({"side": int})


def scaling(source: Source) -> Chart:
    """The speed that a GPU keeps where several share a product: the same product, or one of as much work for each."""
    rows = pick(source.results, is_gpu=True, time="kernel")
    rows = rows[rows.l2 == "cold"] if "cold" in set(rows.l2) else rows
    strong = per_gpu(rows, lambda row: row.side)
    weak = per_gpu(rows, lambda row: row.k if row.m * row.n == row.gpus * row.k**2 else np.nan)
    if (drawn := pd.concat([strong, weak])).empty:
        raise NoData("no product on several GPUs that one GPU had as well")
    low, high = 0.95 * min(*drawn.efficiency, 100), 1.05 * max(*drawn.efficiency, 100)
    panels = []
    for title, records in (
        ("Strong scaling: one GPU had the same product", strong),
        ("Weak scaling: one GPU had a square product, each of several has as much work", weak),
    ):
        if not records.empty:
            quantity = Quantity("efficiency", "percent", scale=linear(high, low))
            short, x = (lambda row: row["name"].replace(" on ", ", ")), size_axis(drawn.side)
            panel = over_sizes(records, quantity, 210, *level(100, ""), written=short, x=x)
            panels.append(panel | {"title": heading(title)})
    note = f"100 %: as fast as one GPU alone. M = N = K: of the product on one GPU.{throttle_note(drawn)}"
    return Chart("Speed of each of several GPUs, relative to one GPU", subtitle(drawn), panels, note)


DRAWN = (gflops_over_size, percent_of_cublas, ladder, roofline, cpu_against_gpu, time_with_copies)
DRAWN += (error_by_distribution, other_kernels, loss_curves, energy_over_size, scaling)
CHARTS: dict[str, Callable[[Source], Chart]] = {chart.__name__: chart for chart in DRAWN}
CHARTS["percent_of_cublas_tensor"] = partial(percent_of_cublas, tensor=True)


def charts_of(source: Source) -> dict[str, Callable[[Source], Chart]]:
    """The charts above, and one for each chapter: chapter_01, chapter_02, ... Without GPU kernels, the CPU's alone."""
    if not pick(source.results).is_gpu.any():
        apart = {"error_by_distribution": source.accuracy, "energy_over_size": source.energy}
        names = ["gflops_over_size", *(name for name, rows in apart.items() if rows is not None)]
        return {name: CHARTS[name] for name in names}
    sweep = source.sweep()
    numbers = sorted(sweep.number[sweep.is_chapter].unique())
    return {**CHARTS, **{f"chapter_{number:02d}": partial(chapter, number=number) for number in numbers}}


def save(chart: Chart, path: Path) -> None:
    """The same chart always gives the same text: Vega numbers what clips on from chart to chart."""
    numbers: dict[str, str] = {}
    svg = vl_convert.vegalite_to_svg(chart.spec())
    svg = re.sub(r"\bclip\d+", lambda name: numbers.setdefault(name[0], f"clip{len(numbers)}"), svg)
    path.write_text(svg, encoding="utf-8")


def chosen(charts: dict[str, Callable[[], Chart]], only: str | None) -> dict[str, Callable[[], Chart]]:
    """Those whose names stand in a list with commas; all without one."""
    if only is None:
        return charts
    if unknown := set(only.split(",")) - set(charts):
        raise ResultsError(f"--only: no chart {', '.join(map(repr, sorted(unknown)))}; there are {', '.join(charts)}")
    return {name: charts[name] for name in only.split(",")}


def draw(charts: dict[str, Callable[[], Chart]], folder: Path) -> int:
    """Draws every chart there is data for and says why not of the others; returns an exit status: 1 if none is."""
    needs.make_folder(folder, "the charts")
    drawn = 0
    for name, chart in charts.items():
        try:
            save(chart(), folder / f"{name}.svg")
            print(folder / f"{name}.svg")
            drawn += 1
        except NoData as reason:
            print(f"skipped {name}: {reason}")
    return 0 if drawn else 1


def files_of(folder: Path) -> list[File]:
    """The files of a folder that bear their usual names, or else all that the runner wrote, as far as they belong
    together. Raises ResultsError where there is none."""
    usual = [folder / name for name in (*results.DEVICE_FILES, results.COUNTERS_FILE)]
    has_sweep = any((folder / name).exists() for name in results.SWEEP_FILES)
    no_sweep = f"{folder} holds none of {', '.join(results.SWEEP_FILES)}, and"
    try:
        files = usable(filter(Path.exists, usual) if has_sweep else sorted(folder.glob("*.json")))
    except ResultsError as error:
        raise ResultsError(f"{no_sweep} other files can not be used: {error}") from None
    if any(file.kind == "programs" for file in files):
        raise ResultsError(f"{folder} holds the times of programs: --only loss_curves draws them for {folder.parent}")
    if not (of_runner := [file for file in files if file.is_results]):
        raise ResultsError(f"{no_sweep} no other results")
    return [*of_one_protocol(of_runner), *(file for file in files if file.kind == "counters")]


def of_one_protocol(files: Iterable[File]) -> Iterator[File]:
    """Of each kind of results those that have the device and the protocol of most; a warning names the others."""
    compared = [name for name in results.PROTOCOL if name not in results.CASE]
    usual: dict[str, Counter] = {}  # what files of a kind have to have in common, each as often as it occurs
    found = []
    for file in files:
        context = file.document["context"]
        values = [results.protocol_value(context["protocol"], name) for name in compared]
        found.append((file, str([(context.get("device") or {}).get("name"), values])))
        usual.setdefault(file.kind, Counter())[found[-1][1]] += 1
    for file, common in found:
        if common == usual[file.kind].most_common(1)[0][0]:
            yield file
        else:
            what = "another protocol or device than most files of its folder"
            results.warn(f"{file.path} has {what}, and is not drawn")


def source_of(files: Sequence[File]) -> Source:
    """What was executed with --check or --count has no times. Such a file is read only where there is no sweep."""
    of_kind: dict[str, list[File]] = {}
    for file in files:
        is_shapes = file.kind == "sweep" and Path(file.path).name.startswith(Path(results.SHAPES_FILE).stem)
        of_kind.setdefault("shapes" if is_shapes else file.kind, []).append(file)

    executed = [*of_kind.get("check", ()), *of_kind.get("count", ())]
    return Source(
        results=load(of_kind.get("sweep", executed)),
        counters=load_counters(of_kind["counters"][-1]) if "counters" in of_kind else None,
        **{kind: load(of_kind[kind]) for kind in ("accuracy", "shapes", "energy") if kind in of_kind},
    )


def pictures_of(folder: Path) -> dict[str, Callable[[], Chart]]:
    """The pictures of accesses, for a folder with what the executor counted."""
    counts = folder / counts_file(USUAL_SIZE)
    if not counts.exists() or any((folder / name).exists() for name in results.SWEEP_FILES):
        return {}
    from tools.plots import pictures  # which takes this module, and the packages that fill the pages

    return pictures.pictures_of(counts)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = needs.parser(__doc__)
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="results files or folders")
    parser.add_argument("--out", type=Path, help="folder of the charts (default: charts/ beside the first file)")
    parser.add_argument("--only", metavar="NAME,...", help="these charts alone, such as ladder,chapter_09")
    options = parser.parse_args(arguments)
    with needs.stopping(ResultsError, OSError):
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
