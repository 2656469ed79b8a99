"""Lines of a source file, for the block `code` on a page."""

import re
from collections.abc import Mapping
from pathlib import Path

from tools.docs import pages
from tools.results import ResultsError

LANGUAGES = {"cu": "cuda", "cuh": "cuda", "cpp": "cpp", "hpp": "cpp", "py": "python", "sh": "sh", "toml": "toml"}


def first_with(text: str, lines: list[str], what: str) -> int:
    for index, line in enumerate(lines):
        if text in line:
            return index
    raise ResultsError(f"{what} has no line with {text!r}")


def end_of_statement(lines: list[str]) -> int | None:
    """The index of the line that closes the block opened first, or ends a statement without a block."""
    text = "\n".join(lines)
    tokens = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[(){};]", re.DOTALL)
    braces = parentheses = 0
    for token in tokens.finditer(text):
        braces += {"{": 1, "}": -1}.get(token[0], 0)
        parentheses += {"(": 1, ")": -1}.get(token[0], 0)
        closes = token[0] == "}" and not re.match(r"\s*else\b", text[token.end() :])
        if braces <= 0 and parentheses <= 0 and (closes or token[0] == ";"):
            return text.count("\n", 0, token.start())
    return None


def dedented(lines: list[str]) -> list[str]:
    """Without the indentation that all have in common; the preprocessor's lines, which have none, do not count."""
    indented = [line for line in lines if line.strip() and not line.startswith("#")]
    common = min((len(line) - len(line.lstrip()) for line in indented), default=0)
    return [line if line.startswith("#") else line[common:] for line in lines]


def code(file: str, start: str, end: str | None = None, marks: Mapping[str, str] | None = None) -> str:
    """Lines of a source file, from the first one that contains `start` to the one that contains `end`, or to the end
    of what opens at `start`. `marks` are texts in lines, and the sign that each such line gets."""
    lines = pages.text_of(file).splitlines()
    lines = lines[first_with(start, lines, file) :]
    if end is not None:
        last = first_with(end, lines[1:], f"{file} after {start!r}") + 1
    elif (last := end_of_statement(lines)) is None:
        raise ResultsError(f"{file} closes nothing that opens at {start!r}")
    lines = dedented(lines[: last + 1])
    comment = "#" if Path(file).suffix in (".py", ".sh", ".toml") else "//"
    for text, mark in (marks or {}).items():
        index = first_with(text, lines, f"the code from {file}")
        lines[index] += f"  {comment} {mark}"
    language = LANGUAGES.get(Path(file).suffix.removeprefix("."), "")
    return "\n".join([f"```{language}", *lines, "```"])
