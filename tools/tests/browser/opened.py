"""A page that a browser has open, and what has to hold for every page of the suite."""

from dataclasses import dataclass

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


# The links to what is not in this file; other sites are not asked.
BROKEN = """() => {
  const isThere = a => a.pathname === location.pathname &&
    (!a.hash || document.getElementById(decodeURIComponent(a.hash.slice(1))));
  return [...document.links].filter(a => a.protocol === "file:" && !isThere(a)).map(a => a.getAttribute("href"));
}"""


AXE = {"resultTypes": ["violations"], "preload": False}  # what it would load, browsers do not give to file://


@dataclass
class Opened:
    """`page` is Playwright's."""

    page: object

    def too_wide(self) -> list[str]:
        """The elements for which the page scrolls horizontally; empty where it does not scroll."""
        return self.page.evaluate(TOO_WIDE)

    def axe_violations(self) -> list[str]:
        """What axe-core finds, a line for each rule and element."""
        from axe_playwright_python.sync_playwright import Axe

        return [
            f"{rule['id']} ({rule['impact']}): {node['html'][:200]}"
            for rule in Axe().run(self.page, options=AXE).response["violations"]
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]

    def broken_links(self) -> list[str]:
        """Of a page that is one file, as it stands now: links to anchors that do not exist, and to other files."""
        return self.page.evaluate(BROKEN)
