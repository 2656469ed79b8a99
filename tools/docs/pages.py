"""The pages of the documentation, README.md and docs/*.md, and what is filled in: blocks by cog, and numbers in prose.
tables.py shows both.

A block is a call of a function; what the function returns stands between the markers. A number is a value of values.py,
which stands between a marker and its end, all on one line.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cogapp import Cog
from cogapp.cogapp import CogError

from tools import ROOT
from tools.results import ResultsError

Functions = Mapping[str, Callable[..., str]]
MARKER = re.compile(r"<!--=((?:(?!<!--|-->).)*)-->((?:(?!<!--).)*)<!--/-->")
BEGINS_LINE = re.compile(r"[ \t>]*(?:[-*+] +|\d+[.)] +)*<!--=")


class Call(NamedTuple):
    arguments: Sequence
    options: Mapping


def text_of(file: str) -> str:
    """Of a file of the repository that a page names."""
    if not (ROOT / file).is_file():
        raise ResultsError(f"there is no file {file}")
    return (ROOT / file).read_text(encoding="utf-8")


def all_pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def all_drawings() -> list[Path]:
    """Which hold measured numbers as the pages do."""
    return sorted((ROOT / "docs" / "drawings").glob("*.svg"))


def has_page(kernel: str | int) -> bool:
    """Whether docs/ has a page of the kernel, which is given by its id or its number."""
    pattern = f"{kernel:02}_*.md" if isinstance(kernel, int) else f"{kernel.partition(':')[0]}.md"
    return any((ROOT / "docs").glob(pattern))


def run_cog(page: Path, functions: Functions, check: bool = True, diff: bool = False) -> bool:
    """Runs the blocks of a page and writes it unless `check`; returns whether the page changes."""
    cog = Cog()
    cog.options.check, cog.options.replace, cog.options.diff = check, not check, diff
    cog.options.verbosity = 0
    cog.options.print_output = True

    def printed(function: Callable[..., str]) -> Callable[..., None]:
        def block(*arguments, **options) -> None:
            try:
                print(f"\n{function(*arguments, **options)}\n")
            except ResultsError as error:
                raise CogError(str(error), str(page), cog.cogmodule.firstLineNum) from None

        return block

    cog.options.defines = {name: printed(function) for name, function in functions.items()}
    before = page.read_text(encoding="utf-8")
    try:
        cog.process_one_file(str(page))
    except CogError as error:
        raise ResultsError(str(error)) from None
    return cog.check_failed or page.read_text(encoding="utf-8") != before


def calls(name: str, names: Iterable[str]) -> list[Call]:
    """Every call of one block in the pages; `names` are those of all blocks."""
    found: list[Call] = []

    def record(*arguments, **options) -> str:
        found.append(Call(arguments, options))
        return ""

    for page in all_pages():
        run_cog(page, {**dict.fromkeys(names, lambda *_, **__: ""), name: record})
    return found


class Filled(NamedTuple):
    """A page with the values that its markers come to. What changes or is wrong begins with the number of its line."""

    text: str
    changes: list[str]
    problems: list[str]


def fill(text: str, value_of: Callable[[str], str]) -> Filled:
    changes, problems = [], []

    def filled(number: int, line: str) -> str:
        def written(marker: re.Match) -> str:
            name, stands = marker[1].strip(), marker[2]
            try:
                value = value_of(name)
            except ResultsError as error:
                problems.append(f"{number}: {name}: {error}")
                return marker[0]
            if stands != value:
                changes.append(f"{number}: {name} is {value}, the page says {stands}")
            return f"<!--={marker[1]}-->{value}<!--/-->"

        if re.search("<!--[=/]", MARKER.sub("", line)):
            problems.append(f"{number}: a marker without its end <!--/--> on the line, or an end without a marker")
        if BEGINS_LINE.match(line):
            problems.append(f"{number}: a line can not begin with a marker: Markdown takes it all as HTML")
        return MARKER.sub(written, line)

    lines = [filled(number, line) for number, line in enumerate(text.split("\n"), 1)]
    return Filled("\n".join(lines), changes, problems)
