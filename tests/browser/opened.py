"""A page that a browser has open, and what has to hold for every page of the suite."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

WIDTHS = {"phone": (390, 844), "desktop": (1280, 800)}  # width and height in CSS pixels

# The elements that reach beyond the window's right edge, outside of any box that scrolls by itself.
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  const scrolls = e => e && e !== document.body && e !== document.documentElement &&
    (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  return document.documentElement.scrollWidth <= width ? [] : [...document.body.querySelectorAll("*")]
    .filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e.parentElement))
    .map(e => e.tagName.toLowerCase() + (e.id && "#" + e.id) + [...e.classList].map(c => "." + c).join(""));
}"""


class Anchors(HTMLParser):
    """Collects what a fragment of a link can name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {value for name, value in attrs if value and (name == "id" or (tag == "a" and name == "name"))}


@functools.cache
def anchors_of(path: Path) -> set[str]:
    parser = Anchors()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser.names


@dataclass
class Opened:
    """`page` is Playwright's. `errors` has a line for each error in the console, each exception, each request that
    failed, and each request to another place than the page's own; it grows while the page is used."""

    page: object
    errors: list[str] = field(default_factory=list)
    folders: dict[str, Path] = field(default_factory=dict)  # what a test's own servers serve, by http://host:port

    def too_wide(self) -> list[str]:
        """The elements for which the page scrolls horizontally; empty where it does not scroll."""
        return self.page.evaluate(TOO_WIDE)

    def axe_violations(self, impacts: tuple[str, ...] = ("serious", "critical")) -> list[str]:
        """What axe-core finds, a line for each rule and element."""
        from axe_playwright_python.sync_playwright import Axe

        return [
            f"{rule['id']} ({rule['impact']}): {node['html'][:200]}"
            for rule in Axe().run(self.page).response["violations"]
            if rule["impact"] in impacts
            for node in rule["nodes"]
        ]

    def file_of(self, url: str) -> Path | None:
        """The file that a link leads to; None for one that leads elsewhere."""
        parts = urlsplit(url)
        if parts.scheme == "file":
            path = Path(unquote(parts.path))
        elif (origin := f"{parts.scheme}://{parts.netloc}") in self.folders:
            path = self.folders[origin] / unquote(parts.path).lstrip("/")
            path = path / "index.html" if path.is_dir() else path
        else:
            return None
        return path

    def broken_links(self) -> list[str]:
        """Links of the page, as it stands now, to files or anchors that do not exist. Other sites are not asked."""
        hrefs = self.page.evaluate("() => [...document.links].map(a => [a.getAttribute('href'), a.href])")
        ids = self.page.evaluate("() => [...document.querySelectorAll('[id], a[name]')].map(e => e.id || e.name)")
        here = self.page.url.partition("#")[0]
        broken = []
        for written, url in dict(map(tuple, hrefs)).items():
            target, _, fragment = url.partition("#")
            fragment = unquote(fragment)
            if target == here:
                found = not fragment or fragment in ids
            elif (path := self.file_of(target)) is None:
                continue
            else:
                page = path.suffix == ".html"
                found = path.is_file() and (not fragment or not page or fragment in anchors_of(path))
            if not found:
                broken.append(written)
        return broken
