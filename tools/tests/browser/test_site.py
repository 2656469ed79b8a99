"""The site that scripts/site.sh builds, opened from its folder."""

import html
import io
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from PIL import Image, ImageStat

from helpers import Ended, ran
from opened import WIDTHS
from tools import ROOT

SCRIPT = ROOT / "scripts" / "site.sh"
CHAPTER, GLOSSARY = "docs/06_coarse_2d.html", "docs/glossary.html"
SOURCE, FOLDER = "kernels/01_naive.cu.html", "examples/library/index.html"
NOTEBOOK = "examples/first_kernels.ipynb.html"
MADE_PAGES = {SOURCE, FOLDER, NOTEBOOK}  # the other sources, some 170, differ in their text alone


def build(*arguments: Path | str, status: int) -> Ended:
    return ran(SCRIPT, *arguments, status=status)


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    pytest.importorskip("material", reason="MkDocs is missing: scripts/python.sh --site")
    folder = tmp_path_factory.mktemp("built") / "the site"  # addresses have %20 for the blank
    for file in ("search/search_index.js", "page_of_an_old_site.html"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    build("-o", folder, status=0)
    return folder


def html_of(markdown: str) -> str:
    """The address in the site of a page in the repository."""
    if markdown in ("docs/worklog.md", "README.md"):
        return "index.html" if markdown == "docs/worklog.md" else "README.html"
    return re.sub(r"(README)?\.md$", lambda found: "index.html" if found[1] else ".html", markdown)


def tracked_pages() -> list[str]:
    done = ran("git", "ls-files", "*.md")
    if done.returncode != 0:
        pytest.skip("this is no git checkout")
    return done.stdout.split()


# Without a browser: files, links, and what the text became.


def test_every_page_of_the_repository_is_in_the_site(site):
    assert [page for page in tracked_pages() if not (site / html_of(page)).is_file()] == []


def anchors_in(text: str) -> set[str]:
    """What a fragment of a link to the page can name."""
    return set(re.findall(r' (?:id|name)="([^"]+)"', text))


def test_links_and_anchors_resolve(site):
    texts = {path.resolve(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    anchors = {path: anchors_in(text) for path, text in texts.items()}
    broken = []
    for page, text in texts.items():
        if page.parent.name == "interactive":  # whose scripts write links
            continue
        for link in set(re.findall(r' (?:href|src)="([^"]+)"', text)):
            parts = urlsplit(html.unescape(link))
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            known = anchors.get(target, {parts.fragment})
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in known):
                broken.append(f"{page.name}: {link}")
    assert broken == []
    assert len(texts) > 150


def test_a_page_is_called_as_its_heading_is(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    assert re.search(r"<title>From \d+\.\d % to \d+ % of cuBLAS, and to \d\.\d+ times it - SGEMM worklog</title>", text)


def test_sources_have_an_anchor_for_each_line(site):
    lines = (ROOT / "kernels" / "01_naive.cu").read_text(encoding="utf-8").count("\n")
    assert {f"L{line}" for line in range(1, lines + 1)} <= anchors_in((site / SOURCE).read_text(encoding="utf-8"))


HEADINGS = {"h1", "h2", "h3", "h4"}
BLOCKS = {"blockquote", "details", "hr", "img", "li", "ol", "pre", "summary", "table", "tr", "ul", *HEADINGS}


def outline(text: str) -> list[str]:
    """The blocks of a page with their text, apart from marks that the theme adds."""
    text = re.sub(r'<!--.*?-->|<a class="headerlink".*?</a>', "", text, flags=re.DOTALL)
    text = re.sub(r"<(\w+)([^>]*)/>", r"<\1\2></\1>", text)
    blocks: list[str] = []
    for begins, ends, data in re.findall(r"<(\w+)[^>]*>|</(\w+)>|([^<]+)", text):
        if begins in BLOCKS or ends in BLOCKS:
            blocks.append(f"<{begins}>" if begins else "")
        elif data and blocks:
            blocks[-1] += re.sub(r"\s", "", html.unescape(data))
    return blocks


@pytest.mark.parametrize("page", tracked_pages())
def test_pages_are_read_as_where_code_is_hosted(page, site):
    """Python-Markdown makes the same lists, tables and folds of a page as CommonMark with GitHub's additions."""
    text = (ROOT / page).read_text(encoding="utf-8")
    elsewhere = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    article = re.search(r"<article.*?</article>", (site / html_of(page)).read_text(encoding="utf-8"), re.DOTALL)
    made = re.sub(r"<p>In this site: .*?</p>", "", article[0], flags=re.DOTALL)
    assert outline(made) == outline(elsewhere)


def test_the_pages_to_play_with_are_linked(site):
    text = (site / "docs" / "interactive.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="(interactive/[^"]+)"', text))
    assert {"interactive/tiles.html", "interactive/report.html"} <= links
    pages = list((site / "docs" / "interactive").iterdir())
    assert links == {f"interactive/{path.name}" for path in pages}
    home = '<nav style="margin: 0.25rem"><a href="../../index.html">SGEMM worklog</a></nav>'
    assert all(home in path.read_text(encoding="utf-8") for path in pages), "each leads back home"


def test_a_folder_is_replaced_only_where_it_is_a_site(site, tmp_path):
    assert not (site / "page_of_an_old_site.html").exists()
    assert [path.name for path in site.parent.iterdir()] == [site.name]
    (tmp_path / "notes.txt").touch()
    done = build("-o", tmp_path, status=2)
    assert "is no site" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("arguments", [["-x"], ["-o"], ["-o", ""], ["docs"]])
def test_bad_arguments_are_refused(arguments):
    done = build(*arguments, status=2)
    assert done.stderr.startswith("usage: ")


# In the browser.

# The longest lines of code that is cut off at the right. On a phone, drawings and outputs in text scroll.
CLIPPED = """(isPhone) => [...document.querySelectorAll(".md-typeset .highlight > pre > code")]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && !(isPhone && e.closest(".language-text")))
  .map(e => e.textContent.split("\\n").reduce((a, b) => a.length > b.length ? a : b))"""


def test_the_line_that_a_link_names_is_marked(site, open_page):
    page = open_page(f"{(site / SOURCE).as_uri()}#L40").page
    mark = page.locator("#L40").bounding_box()
    assert mark["width"] > 500
    assert 0 < mark["y"] < page.viewport_size["height"]
    assert page.locator("#L40").is_visible()


def test_every_page_opens_without_errors_and_fits_the_window(site, open_page):
    opened = open_page(site / "index.html")
    bad = []
    for page in sorted({*map(html_of, tracked_pages()), *MADE_PAGES}):
        for width, (w, h) in sorted(WIDTHS.items()):
            opened.page.set_viewport_size({"width": w, "height": h})
            if width == "desktop":
                opened.page.goto((site / page).as_uri())
            bad += [f"{page}, {width}: {element}" for element in opened.too_wide()]
            bad += [f"{page}, {width}, clipped: {line}" for line in opened.page.evaluate(CLIPPED, width == "phone")]
    assert bad == []


def test_terms_have_the_glossarys_first_sentence_as_a_tooltip(site, open_page):
    page = open_page(site / CHAPTER).page
    for term, begins in (
        ("article abbr:text-is('SM')", "Streaming multiprocessor: one of the 132 processors"),
        ("article a[href='glossary.html#bank-conflict']", "Two lanes of a warp want different words"),
    ):
        page.locator(term).locator("visible=true").first.hover()  # others are folded
        tooltip = page.locator(".md-tooltip2--active")
        tooltip.wait_for()
        assert tooltip.inner_text().startswith(begins)
        page.mouse.move(0, 0)
        tooltip.wait_for(state="detached")


@pytest.mark.parametrize("folder", ["drawings", "charts"])
def test_pictures_are_as_dark_as_the_page_and_lead_to_themselves(folder, site, open_page):
    page = open_page(site / CHAPTER).page
    picture = page.locator(f".md-content img[src*='{folder}/']").first
    assert picture.locator("..").get_attribute("href") == picture.get_attribute("src")

    def brightness() -> int:
        """The median over the picture, from 0 to 255, as it is on the screen."""
        return ImageStat.Stat(Image.open(io.BytesIO(picture.screenshot())).convert("L")).median[0]

    assert brightness() > 230
    page.click("label[title='Switch to dark']")
    page.wait_for_function("() => document.body.dataset.mdColorScheme === 'slate'")
    assert brightness() < 60


def test_the_keyboard_reaches_the_text_and_the_fields_of_pages_to_play_with(site, open_page):
    """The first stop leads past the navigation. Each stop is seen: it has an outline, or the browser's own."""
    page = open_page(site / "index.html").page
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.classList.contains('md-skip')")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.length > 1")
    page.goto((site / "docs" / "interactive" / "tiles.html").as_uri())
    stops = []
    for _ in range(6):
        page.keyboard.press("Tab")
        stops.append(
            page.evaluate("""() => [document.activeElement.tagName,
            getComputedStyle(document.activeElement).outlineStyle !== "none"]""")
        )
    assert [name for name, _ in stops][:2] == ["A", "SELECT"], "home, then the example"
    assert all(seen for _, seen in stops), stops


def test_wide_tables_scroll_within_themselves(site, open_page):
    page = open_page(site / CHAPTER, width="phone").page
    boxes = page.locator(".md-typeset__scrollwrap")
    assert boxes.evaluate_all("boxes => boxes.some(box => box.scrollWidth > box.clientWidth + 50)")


def test_a_step_of_the_worklog_stands_beside_the_one_before(site, open_page):
    if not (site / "docs" / "interactive" / "warp_step_3.html").is_file():
        pytest.skip("there is no runner: SGEMM_BUILD names the folder of a build")
    frames = open_page(site / "index.html").page.locator(".viewers").nth(2).locator("iframe")
    titles = [f"A warp's accesses in step {number}" for number in (2, 3)]
    assert frames.evaluate_all("frames => frames.map(frame => frame.title)") == titles
    frames.last.scroll_into_view_if_needed()
    inside = frames.last.content_frame
    inside.locator("body.framed #play").wait_for()
    assert not inside.locator("#counts").is_visible(), "what does not fit beside another one"
    assert inside.locator("#play").inner_text() == "Play", "who wants no motion starts it"


def test_drawings_charts_and_folds_are_there(site, open_page):
    page = open_page(site / CHAPTER).page
    page.wait_for_function("() => [...document.images].every(image => image.complete && image.naturalWidth > 0)")
    assert page.evaluate("() => [...document.images].map(i => i.src.slice(-4)).sort().join()").count(".svg") >= 1
    fold = page.locator("details").first
    assert not fold.locator("table").first.is_visible()
    fold.locator("summary").click()
    fold.locator("table").first.wait_for()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("page", ["index.html", CHAPTER, GLOSSARY, SOURCE])
def test_axe_finds_nothing(page, dark, site, open_page):
    assert open_page(site / page, dark=dark).axe_violations() == []
