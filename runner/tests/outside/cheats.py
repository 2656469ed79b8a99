#!/usr/bin/env python3
"""The files of tests/cheats/ and what their headers say. As a program it writes the table of their README.

A header is one to three sentences and then a line for each of KEYS: `// verdict: incorrect or implausible`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[3] / "tests" / "cheats"
PAGE = FOLDER / "README.md"
KEYS = ("family", "source", "verdict", "caught with")
FAMILIES = (
    *("replay", "kept state", "skip", "clock", "L2", "precision", "shape", "other buffers"),
    *("aliasing", "overwriting", "launch line", "process"),
)
VERDICTS = ("refused", "incorrect", "implausible", "failed", "honest")
MEANS = ("cpu", "gpu")
TABLE = "<!-- What follows is written by runner/tests/outside/cheats.py. -->\n"


class Cheat(NamedTuple):
    path: Path
    text: str  # what it does
    family: str
    source: str
    verdicts: list[str]
    means: str
    device_code: bool  # whether its launch line has kernels; else its host code launches


def cheat_of(path: Path) -> Cheat:
    """Raises ValueError where the header is not as it has to be."""
    pattern = rf"((?://(?! {KEYS[0]}: ).*\n)+)" + "".join(f"// {key}: (.+)\n" for key in KEYS)
    if not (header := re.match(pattern, path.read_text(encoding="utf-8"))):
        raise ValueError(f"{path} does not begin with sentences and the lines of {', '.join(KEYS)}")
    text, family, source, verdict, means = header.groups()
    sentences = " ".join(line.removeprefix("//").strip() for line in text.splitlines())
    verdicts = verdict.split(" or ")
    device_code = re.search(r"^// launch: .*<<<", path.read_text(encoding="utf-8"), re.MULTILINE) is not None
    if family not in FAMILIES or means not in MEANS or not set(verdicts) <= set(VERDICTS):
        raise ValueError(f"{path}: {family}, {verdict}, {means}: not of {FAMILIES}, {VERDICTS}, {MEANS}")
    return Cheat(path, sentences, family, source, verdicts, means, device_code)


def cheats() -> list[Cheat]:
    found = [cheat_of(path) for path in sorted(FOLDER.glob("*.cu"))]
    return sorted(found, key=lambda cheat: FAMILIES.index(cheat.family))


def source_text(source: str) -> str:
    """With links that are as short as their trackers' own."""
    source = re.sub(r"https://github\.com/[\w.-]+/([\w.-]+)/(?:pull|issues)/(\d+)", r"[\1 #\2](\g<0>)", source)
    return re.sub(r"(?<!\()https://(?:www\.)?([\w.-]+)(/[^\s,]*)?", r"[\1](\g<0>)", source)


def table() -> str:
    lines = ["| file | what it does | source | verdict | caught with |\n", "| --- | --- | --- | --- | --- |\n"]
    family = ""
    for cheat in cheats():
        if cheat.family != family:
            family = cheat.family
            lines.append(f"| **{family}** | | | | |\n")
        name, verdicts = cheat.path.name, " or ".join(cheat.verdicts)
        lines.append(
            f"| [{name}]({name}) | {cheat.text} | {source_text(cheat.source)} | {verdicts} | {cheat.means} |\n"
        )
    return "".join(lines)


def page() -> str:
    """The README as it has to be."""
    return PAGE.read_text(encoding="utf-8").partition(TABLE)[0] + TABLE + "\n" + table()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
