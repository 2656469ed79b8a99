"""Charts as Vega-Lite definitions: those of a report, and the parts that plot.py makes a page's charts of.

A definition draws rows, whose fields tools/report/data.py describes. `fill` in tools/report/page/charts.js adds the
data, and the colours and shapes of the kernels in them; plot.py does so too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tools.plots.looks import GREYS, GRIDS, INKS

HEIGHT = 360  # of a chart over sizes, in pixels
ROW = 26  # of a chart with a row for each problem
POINT = {"type": "point", "size": 60, "strokeWidth": 1.6, "opacity": 1, "clip": True}
INK = {"expr": "ink"}  # a parameter that `fill` adds: the colour of text

TURNS = ("the kernel", "cuBLAS beside it")
MOMENT = {"tflops": "TFLOP/s", "mhz": "MHz", "watts": "W", "celsius": "°C", "why": "clock lowered by"}  # in a tooltip

Spec = dict
Values = Sequence[Mapping]


@dataclass(frozen=True)
class Quantity:
    """What a chart shows of each case."""

    field: str
    title: str
    interval: tuple[str, str] | None = None  # the fields of its ends
    tick: str | None = None  # a field that is marked beside the point, where it is there
    reference: float | None = None  # where a line is drawn
    scale: Mapping = field(default_factory=dict)
    hot: str = "throttled"  # the field that tells hollow points
    digits: str = "~r"  # the form of the axis's numbers, as d3 writes it
    axis: Mapping = field(default_factory=dict)

    def channel(self, of: str | None = None) -> Spec:
        """The encoding of x or y, by this field or by one that shares its axis."""
        axis = {"format": self.digits, **self.axis}
        form = {"type": "quantitative", "title": self.title, "scale": dict(self.scale), "axis": axis}
        return form | {"field": of or self.field}


def tooltip(*fields: tuple[str, str]) -> list[Spec]:
    described = [("name", "kernel"), ("problem", "M × N × K"), ("source", "file"), *fields]
    described += [("few", "samples, too few for an interval"), ("why_throttled", "throttled")]
    return [{"field": field, "title": title, "type": "nominal"} for field, title in described]


ABOUT_A_CASE = tooltip(
    ("written_speed", "speed"), ("written_ratio", "of cuBLAS"), ("written_err", "relative error"), ("power", "power")
)
COLOR = {"field": "name", "type": "nominal", "legend": {"title": None}}
SHAPE = dict(COLOR)
SIZE = {"field": "side", "type": "quantitative", "title": "M = N = K"}
SIZE |= {"scale": {"type": "log", "base": 2, "nice": False, "padding": 14}, "axis": {"format": "d", "grid": False}}
PROBLEM = {"field": "problem", "type": "nominal", "sort": None, "title": None}


def layer(mark: Spec | str, test: str | None = None, **encoding: Spec) -> Spec:
    return {"mark": mark, "encoding": encoding} | ({"transform": [{"filter": test}]} if test else {})


def points(hot: str = "throttled", **place: Spec) -> list[Spec]:
    """Hollow where the GPU was throttled. A click on one shows the samples of its case."""
    about = {"color": COLOR, "shape": SHAPE, "tooltip": ABOUT_A_CASE}
    return [
        layer(POINT | {"filled": filled}, f"{'!' * filled}datum.{hot}", **place, **about) for filled in (True, False)
    ]


def fixed(mark: Spec, **encoding: Spec) -> Spec:
    """A mark that stands for no case."""
    return {"data": {"values": [{}]}, "mark": mark, "encoding": encoding}


def line_at(channel: str, value: float) -> Spec:
    return fixed({"type": "rule", "strokeWidth": 2, "color": INK}, **{channel: {"datum": value}})


def values_of(quantity: Quantity, along: str, other: Mapping[str, Spec]) -> list[Spec]:
    """Points along the channel x or y with their intervals and ticks; `other` is the other channel."""
    layers = [] if quantity.reference is None else [line_at(along, quantity.reference)]
    if quantity.interval:
        low, high = quantity.interval
        ends = {along: quantity.channel(low), f"{along}2": {"field": high}}
        rule = {"type": "rule", "strokeWidth": 1.6, "clip": True}
        layers.append(layer(rule, f"isValid(datum.{low})", **ends, **other, color=COLOR))
    if quantity.tick:
        place = {along: quantity.channel(quantity.tick)}
        tick = {"type": "tick", "thickness": 1.6, "size": 12, "clip": True}
        tick["orient"] = "horizontal" if along == "y" else "vertical"
        test = f"isValid(datum.{quantity.tick}) && datum.{quantity.tick} < datum.{quantity.field}"
        layers.append(layer(tick, test, **place, **other, color=COLOR))
    return layers + points(quantity.hot, **{along: quantity.channel()}, **other)


def over_size(quantity: Quantity, x: Spec = SIZE) -> Spec:
    """Square problems: a line for each kernel and file."""
    dashes = {"field": "source", "type": "nominal", "legend": {"title": "file", "orient": "top"}}
    line = {"type": "line", "strokeWidth": 1.8, "clip": True}
    lines = layer(line, x=x, y=quantity.channel(), color=COLOR, strokeDash=dashes, detail={"field": "group"})
    return {"height": HEIGHT, "layer": [lines, *values_of(quantity, "y", {"x": x})]}


def in_rows(quantity: Quantity, **rows: Spec) -> Spec:
    """A row for each problem, say."""
    return {"height": {"step": ROW}, "layer": values_of(quantity, "x", rows)}


def scatter(x: Quantity, y: Quantity, *below: Spec) -> Spec:
    return {"height": HEIGHT, "layer": [*below, *points(x=x.channel(), y=y.channel())]}


LOG = {"type": "log", "nice": False, "padding": 14}
RATIO = {"zero": True}
NEAR = {"zero": False, "padding": 14}
SPEED = Quantity("tflops", "TFLOP/s", ("tflops_low", "tflops_high"), scale=LOG)
RELATIVE = Quantity("of", "% of cuBLAS's speed", ("of_low", "of_high"), "of_least", 100, RATIO)
ERROR = Quantity("err", "relative error against FP64", scale=LOG, digits=".2~e")
OVER_TIME = {
    "speed": Quantity("tflops", "TFLOP/s", scale=NEAR),
    "clock": Quantity("mhz", "SM clock in MHz", scale=NEAR),
    "power": Quantity("watts", "W", scale=NEAR),
    "temperature": Quantity("celsius", "°C", scale=NEAR),
}


def over_time(quantity: Quantity, height: int) -> Spec:
    """The moments of turns: a line for each turn, dashed where it is cuBLAS's beside a kernel."""
    seconds = {"field": "seconds", "type": "quantitative", "title": "seconds", "axis": {"grid": False}}
    place = {"x": seconds, "y": quantity.channel()}
    dashes = {"field": "turn", "type": "nominal", "scale": {"domain": TURNS, "range": [[1, 0], [4, 3]]}}
    dashes["legend"] = {"title": None, "orient": "top"}
    fields = ("turn", "seconds", "tflops", "mhz", "watts", "celsius", "why")
    tip = tooltip(*((field, MOMENT.get(field, field)) for field in fields))
    has = f"isValid(datum.{quantity.field})"
    line = {"type": "line", "strokeWidth": 1.8}
    dot = {"type": "point", "filled": True, "size": 14, "opacity": 1}
    lines = layer(line, has, **place, color=COLOR, strokeDash=dashes, detail={"field": "line"})
    return {"height": height, "layer": [lines, layer(dot, has, **place, color=COLOR, tooltip=tip)]}


def samples() -> Spec:
    """The samples of one case in the order in which they were taken, and cuBLAS's beside them. Each is in percent of
    the median of its kernel, so that the scatter of both can be seen."""
    near = {"zero": False, "padding": 8}
    place = {
        "x": {"field": "sample", "type": "quantitative", "title": "sample", "axis": {"format": "d", "grid": False}},
        "y": {"field": "share", "type": "quantitative", "title": "% of their median", "scale": near},
    }
    tip = [{"field": field, "type": "nominal"} for field in ("name", "sample", "us")]
    line = layer({"type": "line", "strokeWidth": 1, "opacity": 0.6}, **place, color=COLOR)
    return {
        "height": 150,
        "layer": [line, layer(POINT | {"filled": True, "size": 30}, **place, color=COLOR, tooltip=tip)],
    }


def pair(quantity: Quantity) -> dict[str, Spec]:
    return {"over_size": over_size(quantity), "by_shape": in_rows(quantity, y=PROBLEM)}


CHARTS: dict[str, dict[str, Spec]] = {
    "relative": pair(RELATIVE),
    "absolute": pair(SPEED),
    "comparison": pair(Quantity("ratio", "new speed over old speed", ("ratio_low", "ratio_high"), None, 1, NEAR)),
    "error": {"scatter": scatter(SPEED, ERROR)},
    "distribution": {"scatter": in_rows(ERROR, y=PROBLEM | {"field": "data"})},
    "energy": pair(Quantity("gflop_per_joule", "GFLOP per joule", scale=RATIO, hot="turn_throttled")),
    "sustained": {form: over_time(quantity, 280 if form == "speed" else 150) for form, quantity in OVER_TIME.items()},
    "samples": {"scatter": samples()},
}


def config(theme: str) -> Spec:
    ink, grid, muted = (colors[theme] for colors in (INKS, GRIDS, GREYS))
    text = {"labelColor": muted, "titleColor": ink, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500}
    return {
        "background": None,
        "font": "system-ui, sans-serif",
        "view": {"stroke": None},
        "axis": {**text, "gridColor": grid, "domainColor": muted, "tickColor": muted, "labelSeparation": 4},
        "legend": {**text, "labelColor": ink, "orient": "bottom", "columns": 3, "symbolOpacity": 1, "labelLimit": 240},
    }
