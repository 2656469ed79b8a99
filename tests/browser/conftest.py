"""Pages in Debian's Chromium. Where it or Playwright is missing the tests are skipped and say so."""

from __future__ import annotations

import functools
import http.server
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opened import WIDTHS, Opened

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]  # root in a container has no sandbox

HANGS = 600_000  # ms: what takes longer does not end, however busy the cores are


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


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # which browsers ask for unasked
            self.send_response(http.HTTPStatus.NO_CONTENT)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def served() -> Iterator[dict[str, Path]]:
    """The folders that `serve` serves, by address."""
    yield {}


@pytest.fixture(scope="session")
def serve(served: dict[str, Path]) -> Iterator[Callable[[Path], str]]:
    """Serves a folder until the tests end and returns its address: http://127.0.0.1:port."""
    servers = []

    def start(folder: Path) -> str:
        handler = functools.partial(QuietHandler, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        served[address] = folder
        return address

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def open_page(chromium: object, served: dict[str, Path]) -> Iterator[Callable[..., Opened]]:
    """open_page(PLACE, width="phone", dark=True, touch=True) opens a file or an address and waits until it is loaded.
    With `touch` there are fingers and no mouse."""
    contexts = []

    def is_own(url: str, place: str) -> bool:
        origin = "file:" if place.startswith("file:") else place
        return url.startswith(("data:", "blob:", "about:", origin, *served))

    def open_(place: Path | str, *, width: str = "desktop", dark: bool = False, touch: bool = False) -> Opened:
        address = place.resolve().as_uri() if isinstance(place, Path) else place
        size = dict(zip(("width", "height"), WIDTHS[width], strict=True))
        context = chromium.new_context(
            viewport=size,
            color_scheme="dark" if dark else "light",
            has_touch=touch,
            accept_downloads=True,
            reduced_motion="reduce",
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(HANGS)
        contexts.append(context)
        page = context.new_page()
        opened = Opened(page, folders=served)
        note = opened.errors.append
        page.on("console", lambda m: note(f"console: {m.text}") if m.type == "error" else None)
        page.on("pageerror", lambda error: note(f"exception: {error}"))
        page.on("requestfailed", lambda request: note(f"failed: {request.url} {request.failure}"))
        page.on("response", lambda r: note(f"status {r.status}: {r.url}") if r.status >= 400 else None)
        page.on("request", lambda r: None if is_own(r.url, address) else note(f"from elsewhere: {r.url}"))
        page.goto(address, wait_until="load")
        return opened

    yield open_
    for context in contexts:
        context.close()
