"""The checks that the other tests here rely on notice what they are for."""

from __future__ import annotations

import pytest

GOOD = """<!doctype html><html lang="en"><title>t</title><main><h1 id="top">A page</h1>
<a href="#top">up</a> <a href="https://example.org/">elsewhere</a>
<div style="overflow-x: auto" tabindex="0"><div style="width: 3000px">wide in its own box</div></div></main></html>"""
BAD = """<!doctype html><html><title>t</title><a href="#no">no</a> <a href="no.html">no</a>
<a href="bad.html">this</a> <div style="width: 3000px" class="wide">wide</div>
<img src="no.png"><script>undefined.field</script>
<script src="http://example.invalid/script.js"></script></html>"""


@pytest.fixture
def folder(tmp_path):
    for name, text in (("good", GOOD), ("bad", BAD)):
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_good_page_passes(folder, open_page):
    opened = open_page(folder / "good.html", width="phone")
    assert opened.errors == opened.too_wide() == opened.broken_links() == opened.axe_violations() == []
    assert opened.page.viewport_size["width"] == 390


def test_what_is_wrong_with_a_bad_page_is_named(folder, open_page):
    opened = open_page(folder / "bad.html")
    errors = "\n".join(opened.errors)
    assert "exception: Cannot read properties of undefined" in errors
    assert "failed: file://" in errors
    assert "from elsewhere: http://example.invalid/script.js" in errors
    assert opened.too_wide() == ["div.wide"]
    assert opened.broken_links() == ["#no", "no.html"]
    assert {line.partition(" ")[0] for line in opened.axe_violations()} >= {"html-has-lang", "image-alt"}


def test_dark_and_light_are_what_the_page_sees(folder, open_page):
    dark = "() => matchMedia('(prefers-color-scheme: dark)').matches"
    assert open_page(folder / "good.html", dark=True).page.evaluate(dark)
    assert not open_page(folder / "good.html").page.evaluate(dark)
