"""The drawings in docs/drawings: true, accessible, and legible: no text outside, beside its box, or over another.

A comment `<!-- shows FILE: TEXT -->` in a drawing names what it relies on. tools.docs.tables fills measured numbers.
"""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple

import pytest
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from helpers import ROOT
from tools.plots.looks import contrast

SVG = "{http://www.w3.org/2000/svg}"
INK = "#1f2328"
FILES = sorted((ROOT / "docs" / "drawings").glob("*.svg"))
# The widest of the fonts that a reader may see, so what fits here fits everywhere.
FONTS = {
    weight: FT2Font(font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans", weight=weight)))
    for weight in ("normal", "bold")
}


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box, by: float = 1) -> bool:
        across = self.left + by < other.right and other.left + by < self.right
        return across and self.top + by < other.bottom and other.top + by < self.bottom


def text_box(text: str, size: float, weight: str, x: float, y: float, anchor: str, turned: bool = False) -> Box:
    font = FONTS[weight]
    font.set_size(size, 72)
    font.set_text(text)
    width = font.get_width_height()[0] / 64
    start = {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    if turned:
        return Box(x - 0.75 * size, y - (width - start), x + 0.2 * size, y + start)
    return Box(x - start, y - 0.75 * size, x - start + width, y + 0.2 * size)


def extent(text: ET.Element) -> Box:
    size, weight = float(text.get("font-size", 13)), text.get("font-weight", "normal")
    place = float(text.get("x", 0)), float(text.get("y", 0))
    anchor = text.get("text-anchor", "start")
    return text_box(text.text or "", size, weight, *place, anchor, bool(text.get("transform")))


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def svg(request: pytest.FixtureRequest) -> ET.Element:
    return ET.parse(request.param).getroot()


def dark_colors(svg: ET.Element) -> dict[str, str]:
    """What stands for each colour on dark pages: light and dark trade places, and the hue stays."""
    style = svg.findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme:dark" in style
    return {found[2]: found[3] for found in re.finditer(r'\[(\w+)="(#\w+)"\]\{\1:(#\w+)\}', style)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_kernels_are_what_a_drawing_shows(path: Path) -> None:
    shown = re.findall(r"<!-- shows (\S+): (.*) -->", path.read_text(encoding="utf-8"))
    assert [both for both in shown if both[1] not in " ".join((ROOT / both[0]).read_text().split())] == []


def test_the_root_has_the_usual_size_and_colour(svg: ET.Element) -> None:
    assert (svg.get("font-size"), svg.get("fill")) == ("13", INK)


def test_no_text_is_too_small(svg: ET.Element) -> None:
    assert all(float(text.get("font-size", 13)) >= 12 for text in svg.iter(f"{SVG}text"))


def test_title_and_description(svg: ET.Element) -> None:
    named = {element.get("id"): element.text for element in svg if element.tag in (f"{SVG}title", f"{SVG}desc")}
    assert len(named) == 2 and all(named.values())
    assert (svg.get("aria-labelledby") or "").split() == list(named)


def test_texts_are_inside_and_apart(svg: ET.Element) -> None:
    _, _, width, height = (float(x) for x in (svg.get("viewBox") or "").split())
    texts = [(text.text, extent(text)) for text in svg.iter(f"{SVG}text")]
    for content, box in texts:
        assert len((content or "").strip()) > 0
        assert box.left >= 6 and box.right <= width - 6 and box.top >= 6 and box.bottom <= height - 4, content
    for (one, a), (other, b) in itertools.combinations(texts, 2):
        assert not a.meets(b), f"{one!r} and {other!r} overlap"


def box_of(rect: ET.Element) -> Box:
    x, y, width, height = (float(rect.get(name, 0)) for name in ("x", "y", "width", "height"))
    return Box(x, y, x + width, y + height)


def test_texts_do_not_cross_the_edges_of_boxes(svg: ET.Element) -> None:
    boxes = [box_of(rect) for rect in svg.iter(f"{SVG}rect") if rect.get("stroke")]
    for text in svg.iter(f"{SVG}text"):
        left, top, right, bottom = place = extent(text)
        for box in filter(lambda box: place.meets(box, 1.5), boxes):
            inside = box.left <= left + 0.5 and right <= box.right + 0.5 and box.top <= top + 1
            assert inside and bottom <= box.bottom + 1, f"{text.text!r} crosses the edge of a box at {box}"


@pytest.mark.parametrize("dark", [False, True])
def test_texts_stand_out_in_light_and_in_dark(svg: ET.Element, dark: bool) -> None:
    """A text lies on the last box before it that has it inside."""
    below: list[tuple[Box, str]] = []
    darker = dark_colors(svg)
    for element in svg.iter():
        if element.tag == f"{SVG}rect" and element.get("fill", INK) != "none":
            below.append((box_of(element), element.get("fill", INK)))
        elif element.tag == f"{SVG}text":
            box = extent(element)
            x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
            (*_, ground) = (fill for b, fill in below if b.left <= x <= b.right and b.top <= y <= b.bottom)
            colors = [darker[color] if dark else color for color in (element.get("fill", INK), ground)]
            assert contrast(*colors) >= 4.5, f"{element.text!r}: {colors}"


def test_every_colour_has_its_rule_for_dark_pages(svg: ET.Element) -> None:
    style, darker = svg.findtext(f"{SVG}style") or "", dark_colors(svg)
    for element in svg.iter():
        for name in ("fill", "stroke"):
            if (color := element.get(name, "none")) != "none":
                assert f'[{name}="{color}"]{{{name}:{darker[color]}}}' in style


def test_a_colour_is_the_same_on_all_dark_pages() -> None:
    pairs = {pair for path in FILES for pair in dark_colors(ET.parse(path).getroot()).items()}
    assert len(pairs) == len({light for light, _ in pairs})


def test_pages_embed_just_the_drawings_that_exist() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")]
    embedded = {name for text in texts for name in re.findall(r"\(drawings/(\w+)\.svg\)", text)}
    assert embedded == {path.stem for path in FILES}
