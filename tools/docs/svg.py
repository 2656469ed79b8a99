"""Drawings as SVG: boxes, arrows and texts at given places, in the colours that all drawings share. Text stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

WIDTH = 720
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
SMALLEST = 12  # pixels, of any text
USUAL = 13

DARK: dict[str, str] = {}  # what stands for a colour on dark pages


def tone(light: str, dark: str) -> str:
    """A colour, and what stands for it on dark pages: light and dark trade places, and the hue stays."""
    DARK[light] = dark
    return light


INK = tone("#1f2328", "#e6edf3")
MUTED = tone("#57606a", "#9da7b3")
CARD = tone("#ffffff", "#161b22")  # drawings bring their own background, so they read on pages of any colour
BORDER = tone("#d0d7de", "#3d444d")
BAD = tone("#c62828", "#ff8178")
NOTE: dict[str, Any] = {"size": SMALLEST, "color": MUTED}  # of texts


@dataclass(frozen=True)
class Paint:
    """What one thing looks like: a pale area, a strong one for what is to stand out, and an outline."""

    light: str
    strong: str
    line: str


A = Paint(tone("#d6e6f8", "#1b3350"), tone("#7fb2e6", "#2a629c"), tone("#1f5f9e", "#79b8ff"))
B = Paint(tone("#fde6bd", "#43310f"), tone("#f3b04a", "#85560b"), tone("#935508", "#e3a94f"))
C = Paint(tone("#d3eeda", "#173a24"), tone("#74c48d", "#2b6e41"), tone("#256b42", "#6fcf8f"))
COPY = Paint(tone("#e7dbf7", "#34264f"), tone("#b79be3", "#6a48a8"), tone("#5f37a8", "#bb9af0"))
COMPUTE = Paint(tone("#c3ccd5", "#3a4552"), tone("#56677a", "#a9b8c8"), tone("#3b4a5a", "#b6c4d2"))
WAIT = Paint(tone("#f3f4f6", "#21262d"), tone("#dfe3e8", "#373e47"), tone("#8c959f", "#7d8792"))
TERM = Paint(tone("#a9cbee", "#244f7d"), "#a9cbee", A.line)  # of A
WRONG = Paint(tone("#fbd9d5", "#4d1f1c"), tone("#ef9a92", "#97332b"), BAD)
PLAIN = Paint(tone("#f6f8fa", "#1c2129"), tone("#eaeef2", "#2b323b"), tone("#6e7781", "#8b949e"))


FRAME = f'fill="{CARD}" stroke="{BORDER}"'
TEXT = f'fill="{INK}"'


def number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


@dataclass
class Drawing:
    """An SVG that is being drawn, in pixels at its usual width."""

    name: str
    title: str
    description: str
    height: int
    parts: list[str] = field(default_factory=list)

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "none",
        line: str = "none",
        *,
        thick: float = 1,
        round_by: float = 0,
        dash: str = "",
    ) -> None:
        more = f' rx="{number(round_by)}"' if round_by else ""
        more += f' stroke="{line}" stroke-width="{number(thick)}"' if line != "none" else ""
        more += f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" '
            f'fill="{fill}"{more}/>'
        )

    def box(
        self, x: float, y: float, width: float, height: float, paint: Paint, *, strong: bool = False, **how
    ) -> None:
        self.rect(x, y, width, height, paint.strong if strong else paint.light, paint.line, **how)

    def text(
        self,
        x: float,
        y: float,
        content: str,
        *,
        size: float = USUAL,
        anchor: str = "start",
        bold: bool = False,
        color: str = INK,
        turned: bool = False,
    ) -> None:
        """One line of text; y is its baseline. `turned` texts read upwards."""
        if size < SMALLEST:
            raise ValueError(f"{self.name}: text of {size} px is too small to read: {content}")
        more = f' text-anchor="{anchor}"' if anchor != "start" else ""
        more += ' font-weight="bold"' if bold else ""
        more += f' font-size="{number(size)}"' if size != USUAL else ""
        more += f' fill="{color}"' if color != INK else ""
        more += f' transform="rotate(-90 {number(x)} {number(y)})"' if turned else ""
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}"{more}>{escape(content)}</text>')

    def lines(self, x: float, y: float, contents: Iterable[str], *, step: float = 17, **how: Any) -> None:
        for i, content in enumerate(contents):
            if content:
                self.text(x, y + i * step, content, **how)

    def label(self, x: float, y: float, width: float, height: float, content: str, **how: Any) -> None:
        """Text in the middle of a box; `|` begins a new line."""
        contents = content.split("|")
        size = how.get("size", USUAL)
        step = size + 4
        top = y + height / 2 - step * (len(contents) - 1) / 2 + size * 0.36
        self.lines(x + width / 2, top, contents, step=step, anchor="middle", **how)

    def labelled(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        paint: Paint,
        content: str,
        *,
        strong: bool = False,
        bold: bool = False,
        size: float = USUAL,
        color: str = "",
        **how: Any,
    ) -> None:
        self.box(x, y, width, height, paint, strong=strong, **how)
        ink = color or (CARD if strong and paint is COMPUTE else INK)
        self.label(x, y, width, height, content, bold=bold, size=size, color=ink)

    def line(
        self, points: Sequence[tuple[float, float]], color: str = INK, *, thick: float = 1.5, dash: str = ""
    ) -> None:
        more = f' stroke-dasharray="{dash}"' if dash else ""
        at = " ".join(f"{number(x)},{number(y)}" for x, y in points)
        self.parts.append(
            f'<polyline points="{at}" fill="none" stroke="{color}" stroke-width="{number(thick)}"{more}/>'
        )

    def arrow(
        self,
        points: Sequence[tuple[float, float]],
        color: str = INK,
        *,
        thick: float = 1.5,
        dash: str = "",
        head: float = 7,
    ) -> None:
        """A line with a head at its last point."""
        (x0, y0), (x1, y1) = points[-2:]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        dx, dy = (x1 - x0) / length, (y1 - y0) / length
        back = (x1 - dx * head, y1 - dy * head)
        self.line([*points[:-1], back], color, thick=thick, dash=dash)
        side = head * 0.5
        corners = [(x1, y1), (back[0] - dy * side, back[1] + dx * side), (back[0] + dy * side, back[1] - dx * side)]
        at = " ".join(f"{number(x)},{number(y)}" for x, y in corners)
        self.parts.append(f'<polygon points="{at}" fill="{color}"/>')

    def span(self, x0: float, x1: float, y: float, content: str, *, color: str = MUTED, above: bool = True) -> None:
        """How wide something is: a line between two ticks, and its text in the middle."""
        self.line([(x0, y), (x1, y)], color, thick=1)
        for x in (x0, x1):
            self.line([(x, y - 4), (x, y + 4)], color, thick=1)
        self.text((x0 + x1) / 2, y - 6 if above else y + 16, content, size=12, anchor="middle", color=color)

    def span_down(self, x: float, y0: float, y1: float, content: str, *, color: str = MUTED) -> None:
        self.line([(x, y0), (x, y1)], color, thick=1)
        for y in (y0, y1):
            self.line([(x - 4, y), (x + 4, y)], color, thick=1)
        self.text(x - 7, (y0 + y1) / 2, content, size=12, anchor="middle", color=color, turned=True)

    def grid(
        self, x: float, y: float, columns: int, rows: int, width: float, height: float, line: str, thick: float = 0.75
    ) -> None:
        """The lines between cells of that size, and around them."""
        path = [f"M{number(x + i * width)} {number(y)}v{number(rows * height)}" for i in range(columns + 1)]
        path += [f"M{number(x)} {number(y + i * height)}h{number(columns * width)}" for i in range(rows + 1)]
        self.parts.append(f'<path d="{"".join(path)}" fill="none" stroke="{line}" stroke-width="{number(thick)}"/>')

    def key(self, x: float, y: float, entries: Iterable[tuple[str, str, str]]) -> None:
        """Small boxes (fill, outline) and what they mean, one below the other."""
        for i, (fill, line, content) in enumerate(entries):
            self.rect(x, y + i * 20 - 11, 14, 14, fill, line)
            self.text(x + 22, y + i * 20, content, size=12)

    def dark_style(self) -> str:
        """Rules for dark pages, of the colours that occur. Attributes have the light ones, for programs without CSS."""
        used = sorted(set(re.findall(r'(fill|stroke)="(#\w+)"', "".join([*self.parts, FRAME, TEXT]))))
        rules = "".join(f'[{name}="{color}"]{{{name}:{DARK[color]}}}' for name, color in used)
        return f"<style>@media (prefers-color-scheme:dark){{{rules}}}</style>"

    def svg(self) -> str:
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" width="{WIDTH}" '
                f'height="{self.height}" role="img" aria-labelledby="{self.name}-title {self.name}-desc" '
                f'font-family="{FONT}" font-size="{USUAL}" {TEXT}>',
                f'<title id="{self.name}-title">{escape(self.title)}</title>',
                f'<desc id="{self.name}-desc">{escape(self.description)}</desc>',
                self.dark_style(),
                f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{self.height - 1}" rx="6" {FRAME}/>',
                *self.parts,
                "</svg>",
                "",
            ]
        )
