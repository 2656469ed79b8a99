"""Pages in Debian's Chromium. Where it or Playwright is missing the tests are skipped and say so."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opened import WIDTHS, Opened

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]  # root in a container has no sandbox

HANGS = 120_000  # ms: what takes longer does not end, however busy the cores are


def browser_program() -> str:
    """The path of a browser that starts; Ubuntu's `chromium-browser` is a script that asks for snap."""
    for program in filter(None, map(shutil.which, BROWSERS)):
        if subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0:
            return program
    pytest.skip(f"there is none of {', '.join(BROWSERS)}: apt install chromium")


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """One browser for all tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is missing: scripts/python.sh --site")
    program = browser_program()
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=OPTIONS, timeout=HANGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: object) -> Iterator[Callable[..., Opened]]:
    """open_page(FILE, width="phone", dark=True) opens a file, or its address, and waits until it is loaded. A page has
    no error until the test ends: none in the console, no exception, no request that failed, and none to another place
    than the page's own."""
    contexts, errors = [], []
    own = ("file:", "data:", "blob:", "about:")

    def open_(file: Path | str, *, width: str = "desktop", dark: bool = False) -> Opened:
        size = dict(zip(("width", "height"), WIDTHS[width], strict=True))
        context = chromium.new_context(
            viewport=size,
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
            reduced_motion="reduce",
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(HANGS)
        contexts.append(context)
        page = context.new_page()
        note = errors.append

        def failed(request):
            # An icon that is on its way when the next page opens is cut off. A missing file is ERR_FILE_NOT_FOUND.
            if not (request.failure == "net::ERR_ABORTED" and request.url.endswith("favicon.png")):
                note(f"failed: {request.url} {request.failure}")

        page.on("console", lambda m: note(f"console: {m.text}") if m.type == "error" else None)
        page.on("pageerror", lambda error: note(f"exception: {error}"))
        page.on("requestfailed", failed)
        page.on("request", lambda r: None if r.url.startswith(own) else note(f"from elsewhere: {r.url}"))
        page.goto(file.resolve().as_uri() if isinstance(file, Path) else file, wait_until="load")
        return Opened(page)

    yield open_
    for context in contexts:
        context.close()
    assert errors == []
