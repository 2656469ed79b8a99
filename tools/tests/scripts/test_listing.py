"""The block `code`: lines of a source file on a page."""

import re

import pytest

from tools.docs import listing, pages
from tools.results import ResultsError

SOURCE = """\
int before() { return 1; }

  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (char c : {'}', '{'}) {  // }
      sums[i] += c; /* } */
    }
    puts("}");
  }
  if (a) {
    b();
  } else {
    c();
  }
  while (i < (j = 2))
    ++i;
  open {
"""


@pytest.fixture(autouse=True)
def source(tmp_path, monkeypatch):
    (tmp_path / "a.cu").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n", encoding="utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)


def test_a_block_ends_where_it_closes():
    assert listing.code("a.cu", "for (int i", None, {"sums[i]": "(1)"}) == (
        "```cuda\n"
        "for (int i = 0; i < 8; ++i) {\n"
        "#pragma unroll\n"
        "  for (char c : {'}', '{'}) {  // }\n"
        "    sums[i] += c; /* } */  // (1)\n"
        "  }\n"
        '  puts("}");\n'
        "}\n"
        "```"
    )


def test_else_belongs_to_its_block():
    assert listing.code("a.cu", "if (a)", None, {}).splitlines()[-2:] == ["}", "```"]
    assert "c();" in listing.code("a.cu", "if (a)", None, {})


def test_a_statement_without_a_block_ends_with_itself():
    assert listing.code("a.cu", "while", None, {}) == "```cuda\nwhile (i < (j = 2))\n  ++i;\n```"


def test_an_end_that_is_given():
    assert listing.code("a.cu", "if (a)", "b();", {}) == "```cuda\nif (a) {\n  b();\n```"
    assert listing.code("a.py", "x =", "y =", {"y": "(2)"}) == "```python\nx = 1\ny = 2  # (2)\n```"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("b.cu", "x", None, {}), "there is no file b.cu"),
        (("a.cu", "nothing", None, {}), "a.cu has no line with 'nothing'"),
        (("a.cu", "if (a)", "nothing", {}), "a.cu after 'if (a)' has no line with 'nothing'"),
        (("a.cu", "if (a)", None, {"nothing": "(1)"}), "the code from a.cu has no line with 'nothing'"),
        (("a.cu", "open", None, {}), "a.cu closes nothing that opens at 'open'"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(ResultsError, match=re.escape(message)):
        listing.code(*arguments)
