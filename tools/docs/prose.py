"""Measured numbers in prose: markers that tools.docs.tables fills in, and numbers that nobody may type.

    12 runs at <!--= tflops.12.4096 -->228<!--/--> TFLOP/s.
    It was to reach <!--~ predicted -->110 TFLOP/s<!--/-->.

A marker names a value of values.py, which stands between the marker and its end, all on one line. A number with a unit
of measurement stands in a marker, or in an exemption that gives one of REASONS. An exemption alone on its line is for
the paragraph, list or table that follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from markdown_it import MarkdownIt

from tools.docs.values import Values
from tools.results import ResultsError

REASONS = ("predicted", "source", "arithmetic", "lab")

# The markers of a page.


def blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def blank_all(pattern: str, text: str) -> str:
    return re.sub(pattern, lambda found: blank(found[0]), text, flags=re.DOTALL | re.MULTILINE)


MARKDOWN = MarkdownIt().enable("table")


def without_blocks(text: str) -> str:
    """The page with blanks for blocks that cog fills and blocks of code."""
    lines = text.split("\n")
    for token in MARKDOWN.parse(text):
        if token.type == "fence":
            lines[slice(*token.map)] = map(blank, lines[slice(*token.map)])
    return blank_all(r"^[^\n]*\[\[\[cog.*?\[\[\[end\]\]\][^\n]*", "\n".join(lines))


CODE_SPAN = r"(?<!`)(`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)\1(?!`)"


def without_code(text: str) -> str:
    """The page with blanks for what is no prose: blocks that cog fills, code, other comments."""
    text = blank_all(CODE_SPAN, without_blocks(text))
    return blank_all(r"<!--(?![=~/]).*?-->", text)


class Marker(NamedTuple):
    line: int
    start: int  # of the value
    end: int
    kind: str  # "=" or "~"
    inside: str  # the name of the value, or the reason
    outer: tuple[int, int]  # with the markers


class Problem(NamedTuple):
    line: int
    text: str


BEGINS_LINE = re.compile(r"[ \t>]*(?:[-*+] +|\d+[.)] +)*$")


def markers(text: str) -> tuple[list[Marker], list[tuple[int, int]], list[Problem]]:
    """The markers of a page, the blocks that are exempted, and what is wrong with markers."""
    prose, found, blocks, problems = without_code(text), [], [], []
    offset = 0
    for number, line in enumerate(prose.split("\n"), 1):
        opened = None
        for token in re.finditer(r"<!--([=~])((?:(?!-->|<!--).)*)(-->)?|<!--/-->", line):
            kind, inside = token[1], (token[2] or "").strip()
            if token[0] == "<!--/-->":
                if opened is None:
                    problems.append(Problem(number, "an end <!--/--> without a marker before it"))
                else:
                    outer = offset + opened.start(), offset + token.end()
                    inner = offset + opened.end(), offset + token.start()
                    found.append(Marker(number, *inner, opened[1], opened[2].strip(), outer))
                opened = None
                continue
            if opened is not None:
                problems.append(Problem(number, f"a marker without its end <!--/--> on the line: {opened[2].strip()}"))
            opened = None
            if not token[3]:
                problems.append(Problem(number, f"a marker without --> on the line: {inside}"))
                continue
            if kind == "~" and inside not in REASONS:
                problems.append(Problem(number, f"{inside!r} is no reason to exempt, {', '.join(REASONS)} are"))
            if kind == "~" and not (line[: token.start()] + line[token.end() :]).strip(" \t>"):
                if (end := end_of_block(prose, offset + len(line) + 1)) is None:
                    problems.append(Problem(number, "an exemption of a block without a block after it"))
                else:
                    blocks.append((offset, end))
                continue
            if BEGINS_LINE.match(line[: token.start()]):
                problems.append(Problem(number, "a line can not begin with a marker: Markdown takes it all as HTML"))
            opened = token
        if opened is not None:
            problems.append(Problem(number, f"a marker without its end <!--/--> on the line: {opened[2].strip()}"))
        offset += len(line) + 1
    return found, blocks, problems


def end_of_block(prose: str, start: int) -> int | None:
    """Where the paragraph, list or table that starts there ends."""
    first = next(iter(MARKDOWN.parse(prose[start:])), None)
    if first is None or first.map[0] > 0:
        return None
    return start + len("\n".join(prose[start:].split("\n")[: first.map[1]]))


# Numbers that nobody may type.

NUMBER = r"(?<![\w.$#^])[-−]?\d+(?:[ \u202f]\d{3})*(?:[.,]\d+)*(?:e[-−+]?\d+)?"
DECIMAL = r"(?<![\w.$#^])[-−]?\d+(?:[.,]\d+)+"
FILLED, FILLED_WITH_UNIT = "\x01", "\x02"
GAP = r"(?:[ \t*_\u00a0\u202f]|&nbsp;)*(?:\n[ \t>]*)?"
UNIT = r"(?:[kMGTP]?FLOPS?/s|[GTP]FLOPS|[kMGT]?i?B/s|[GM]Hz|%|per ?cent|[uµμnm]?s|seconds|k?W|[mµnp]?J)(?![\w/])"
OF_DECIMALS = r"(?:times|x|×|[MGT]B|of cuBLAS|of the (?:FP32 )?peak)(?!\w)"
RANGE = rf"{GAP}(?:to|–|-|±){GAP}"
LIST = rf"{GAP}(?:and|or|against|instead of|,){GAP}"  # of decimals: "at 2048 and 53.1 TFLOP/s" is none


def any_of(number: str) -> str:
    return rf"(?:{number}|{FILLED})"


CHAIN = rf"(?:{any_of(NUMBER)}{RANGE}|{any_of(DECIMAL)}{LIST})*"
TYPED = re.compile(
    rf"(?P<units>{CHAIN}(?:{any_of(NUMBER)}{GAP}{UNIT}|(?<=\s){FILLED_WITH_UNIT}))"
    rf"|(?P<decimals>{CHAIN}{any_of(DECIMAL)}{GAP}{OF_DECIMALS})"
    r"|(?P<error>(?<![\w.])\d+(?:\.\d+)?e[-−]\d+)"
)
IN_TABLES = re.compile(rf"(?<![\w/]){UNIT}|of cuBLAS|\berrors?\b")


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def typed_in_tables(prose: str) -> Iterator[tuple[int, str]]:
    """Cells without a unit below or beside a title that has one."""
    lines = prose.split("\n")
    for rule in [i for i, line in enumerate(lines) if i and re.fullmatch(r"\s*\|?(?:\s*:?-+:?\s*\|)+[\s:-]*", line)]:
        titles = cells_of(lines[rule - 1])
        for index in range(rule + 1, len(lines)):
            if not lines[index].lstrip().startswith("|"):
                break
            cells = cells_of(lines[index])
            for title, cell in list(zip(titles, cells, strict=False))[1:]:
                known = IN_TABLES.search(title) or IN_TABLES.search(cells[0])
                if known and re.match(rf"[*~≈ ]*{NUMBER}", cell) and not TYPED.search(cell):
                    yield index + 1, f"{cell} ({title or cells[0]})"


def typed_numbers(text: str) -> list[Problem]:
    """The numbers with a unit of measurement that stand neither in a marker nor in an exemption."""
    found, blocks, _ = markers(text)
    prose = without_code(text)
    for pattern in (r"\]\([^()]*(?:\([^()]*\))?[^()]*\)", r"^\s*\[[^\]]+\]:.*$", r"\{#[^}]*\}", r"https?://\S+"):
        prose = blank_all(pattern, prose)
    edits = [(block, blank(prose[slice(*block)])) for block in blocks]
    for marker in found:
        with_unit = re.search(rf"{UNIT}\W*$|{OF_DECIMALS}$", text[marker.start : marker.end])
        sign = FILLED_WITH_UNIT if with_unit else FILLED
        if not any(start <= marker.outer[0] < end for start, end in blocks):
            edits.append((marker.outer, sign))
    for (start, end), new in sorted(edits, reverse=True):
        prose = prose[:start] + new + prose[end:]
    prose = blank_all(r"</?[A-Za-z][^<>]*>", prose)
    problems = []
    for hit in TYPED.finditer(prose):
        if shown := re.search(r"\d", hit[0]):
            line = prose.count("\n", 0, hit.start() + shown.start()) + 1
            problems.append(Problem(line, re.sub(r"[\x01\x02]", "…", " ".join(hit[0].split()))))
    problems += [Problem(*cell) for cell in typed_in_tables(prose)]
    return sorted(set(problems))


# What fills a page.


class Filled(NamedTuple):
    """A page with the values that its markers come to."""

    text: str
    changes: list[Problem]
    problems: list[Problem]


def fill(text: str, values: Values) -> Filled:
    found, _, problems = markers(text)
    changes, edits = [], []
    for marker in found:
        if marker.kind == "~":
            if not text[marker.start : marker.end].strip():
                problems.append(Problem(marker.line, "an exemption of nothing"))
            continue
        try:
            value = values.written(marker.inside)
        except ResultsError as error:
            problems.append(Problem(marker.line, f"{marker.inside}: {error}"))
            continue
        if (stands := text[marker.start : marker.end]) != value:
            changes.append(Problem(marker.line, f"{marker.inside} is {value}, the page says {stands}"))
            edits.append((marker.start, marker.end, value))
    for start, end, value in reversed(edits):
        text = text[:start] + value + text[end:]
    return Filled(text, changes, sorted(problems))
