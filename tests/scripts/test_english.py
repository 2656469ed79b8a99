"""The linter of English finds what it is made for. It warns: no page has to please it."""

from __future__ import annotations

import re

import pytest

from tools.docs import english, pages
from tools.docs.english import complaints, sentences


def test_no_page_has_marks_of_a_merge():
    texts = {page.name: page.read_text(encoding="utf-8") for page in pages.all_pages()}
    assert [name for name, text in texts.items() if re.search("^(<<<<<<<|>>>>>>>) ", text, re.MULTILINE)] == []


GOOD = """\
# Of headings, and what a heading is

A block of 256 threads computes a tile of C, see L. Murray's kernel (e.g. its tiles). It has 8 k-steps.
What does that cost? The thread block, whose tile is square, waits. `Of 8 k` is code.

| Of tables | What a table is |
| --- | --- |

```text
Of code blocks
```

    Of formulas

- A warp reads 128 bytes: 32 floats.
- Of course not. These are two items:
  1. one,
  2. two.
"""


def test_good_prose_gives_no_alarm():
    assert complaints(GOOD) == []
    text = "At N. Two `a.b c` 3.5 times? L. Murray's\nthird, N. J. Higham's."
    assert [sentence.text for sentence in sentences(text)] == [
        "At N.",
        "Two code 3.5 times?",
        "L. Murray's third, N. J. Higham's.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Of the warps four copy.",
        "True. Of the warps four copy.",
        "- Of the warps four copy.",
        "What counts is the number of loads.",
        "Sums of 64 k are added.",
        "A kernel who waits is slow.",
        "At 4096 loses 09 to 08.",
        "It is of course fast.",
        "Word " * 36 + ".",
        "A sentence of words, " * 3 + "and `code\nover` lines, " * 5 + "and so on, " * 8 + "until the end of it comes.",
        ("Word " * 19 + ".\n\n") * 10,
    ],
)
def test_bad_prose_is_found(text):
    assert len(complaints(f"# Title\n\n{text}\n")) == 1


def test_it_only_warns(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("Of the warps four copy.\n", encoding="utf-8")
    assert english.main([str(page)]) == 0
    assert f"{page}: line 1: it opens with 'Of'" in capsys.readouterr().out
