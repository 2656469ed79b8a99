"""Says where pages are hard to read, as far as a machine can tell: a linter that only warns.

    python -m tools.docs.english            README.md and docs/*.md
    python -m tools.docs.english PAGE...

CONTRIBUTING.md has what it asks for. Exit status: 0, whatever it says.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tools.docs import pages, prose

MEAN_WORDS, MOST_WORDS = 18, 35
SENTENCES = 10  # fewer have no mean
THINGS = r"(?:kernels?|blocks?|warps?|threads?|tiles?|instructions?|librar(?:y|ies)|cuBLAS|matri(?:x|ces)|GPUs?|chips?)"
BANNED = {
    "it opens with 'Of'": r"^Of (?!course\b)",
    "it opens with 'What ... is'": r"^What\b[^?]* (?:is|are|was|were)\b[^?]*$",
    "N k for thousands, or for steps": r"(?<![\w.])\d+ k\b(?!-)",
    "'who' for a thing": rf"\b{THINGS},? who(?:se|m)?\b(?<!whose)",
    "an inversion": r"^(?:At|From|In|On|With) \S+ (?:loses?|wins?|gains?|costs?|takes?|goes|comes?|lies?|stands?) ",
    "an opinion": r"\b(?:obviously|(?<!^)of course|needless to say|as everybody knows|amazing(?:ly)?|incredibl[ey])\b",
}
INITIAL = r"(?<!\b[D-JLO-Z])(?!(?<=\b[A-Z])\. [A-Z]\.)"  # of a name; A, B, C, K, M and N are matrices and their sizes
ENDS = re.compile(INITIAL + r"(?<!e\.g)(?<!i\.e)(?<!\bal)(?<!\bcf)[.!?:][)\"”’]*(?=\s+[^a-z\s]|\s*$)")


class Sentence(NamedTuple):
    line: int
    text: str

    @property
    def words(self) -> int:
        return len(re.findall(r"[^\W_][\w'’.,/×+−-]*", self.text))


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph and item of a list with its line, without markup; a span of code is one word."""
    written = {"text": "{}", "code_inline": "code", "softbreak": "\n", "hardbreak": "\n"}
    for before, token in pairwise(prose.MARKDOWN.parse(prose.without_blocks(text))):
        if before.type == "paragraph_open":
            words = (written.get(part.type, "").format(part.content) for part in token.children)
            yield token.map[0] + 1, "".join(words)


def sentences(text: str) -> Iterator[Sentence]:
    for start, paragraph in paragraphs(text):
        begin = 0
        ends = ENDS.finditer(paragraph)
        for end in [*(found.end() for found in ends), len(paragraph)]:
            if words := paragraph[begin:end].split():
                skipped = len(paragraph[begin:]) - len(paragraph[begin:].lstrip())
                yield Sentence(start + paragraph.count("\n", 0, begin + skipped), " ".join(words))
            begin = end


def complaints(text: str) -> list[str]:
    found = list(sentences(text))
    told = []
    for sentence in found:
        faults = [what for what, pattern in BANNED.items() if re.search(pattern, sentence.text)]
        if sentence.words > MOST_WORDS:
            faults.append(f"{sentence.words} words")
        told += [f"line {sentence.line}: {fault}: {sentence.text[:70]}" for fault in faults]
    if len(found) >= SENTENCES and (mean := sum(s.words for s in found) / len(found)) > MEAN_WORDS:
        told.append(f"a mean of {mean:.1f} words a sentence, more than {MEAN_WORDS}")
    return told


def main(arguments: list[str]) -> int:
    for page in [Path(name) for name in arguments] or pages.all_pages():
        for complaint in complaints(page.read_text(encoding="utf-8")):
            print(f"{page}: {complaint}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
