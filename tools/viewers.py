"""Writes the pages to play with, each in one file that loads nothing.

    $(scripts/python.sh) -m tools.viewers FOLDER                          tiles and their order: tiles.html
    $(scripts/python.sh) -m tools.viewers FOLDER --runner build/runner    and a warp's accesses in each chapter, and
                                                                          in each step of the worklog

The accesses of a chapter are in warp_<chapter>.html. The runner counts them; its `--count --trace PAGE` writes such a
page of any kernel.
Of a kernel with several launches that page has the last one, and warp_<kernel>_launch_<number>.html each other one.
"""

import contextlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tools import ROOT, needs

TILES = ROOT / "tools" / "tiles" / "tiles.html"
WORKLOG = ROOT / "docs" / "worklog.md"
STEP = re.compile(r"^## Step (\d):.*?^```cuda\n(.*?)^```", re.MULTILINE | re.DOTALL)
STYLE = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
NOT_COUNTED = 3  # the runner's exit status
SCRIPT = re.compile(r'<script src="([^"]+)"></script>')


class ViewersError(Exception):
    """A page can not be made; the message says why."""


def in_one_file(page: Path) -> str:
    """The page with its style sheets and scripts in it."""

    def content(name: str) -> str:
        return (page.parent / name).read_text(encoding="utf-8")

    html = page.read_text(encoding="utf-8")
    html = STYLE.sub(lambda match: f"<style>\n{content(match[1])}</style>", html)
    return SCRIPT.sub(lambda match: f"<script>\n{content(match[1])}</script>", html)


def run(runner: Path, what: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The runner's finished run, done for `what`. Its exit status is 0 or NOT_COUNTED."""
    try:
        done = subprocess.run([runner, *arguments], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise ViewersError(f"{runner} can not be started: {error.strerror}. --runner takes a built runner") from error
    if done.returncode not in (0, NOT_COUNTED):
        said = (done.stderr or done.stdout).strip()
        raise ViewersError(f"{what}: {said or f'{runner} ended with status {done.returncode} and said nothing'}")
    return done


@contextlib.contextmanager
def read_from(runner: Path) -> Iterator[None]:
    """Errors in here mean that what the runner wrote is missing, no JSON or not what this script expects."""
    try:
        yield
    except (FileNotFoundError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ViewersError(f"{runner} is not the runner of this version: build it from this checkout") from error


def chapters(runner: Path) -> list[str]:
    """The default variants of the chapters."""
    listed = run(runner, "the list of kernels", "--list=json").stdout
    with read_from(runner):
        return [kernel["id"] for kernel in json.loads(listed) if (kernel["number"] or 0) > 0]


def write_steps(runner: Path, folder: Path) -> list[Path]:
    """The pages of the worklog's kernels."""
    pages = []
    with tempfile.TemporaryDirectory() as temporary:
        for number, text in STEP.findall(WORKLOG.read_text(encoding="utf-8")):
            file = Path(temporary) / f"step_{number}.cu"
            file.write_text(text, encoding="utf-8")
            pages += write_traces(runner, str(file), folder, file.stem)
    return pages


def write_traces(runner: Path, kernel: str, folder: Path, name: str) -> list[Path]:
    """The pages of a kernel, that of its last launch first; none where it can not be counted."""
    page = folder / f"warp_{name}.html"
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary) / "results.json"
        options = "--count", "--kernel", kernel, "--out", results, "--trace"
        if run(runner, kernel, *options, page).returncode == NOT_COUNTED:
            return []
        with read_from(runner):
            counts = json.loads(results.read_text(encoding="utf-8"))["benchmarks"][0]["counts"]
            launches = len(counts.get("launches", [counts]))
        others = [page.with_stem(f"{page.stem}_launch_{number}") for number in range(launches - 1)]
        for number, other in enumerate(others):
            run(runner, kernel, *options, other, "--trace-launch", str(number))
    return [page, *others]


def main() -> int:
    parser = needs.parser(__doc__)
    parser.add_argument("folder", type=Path, help="where the pages go")
    parser.add_argument("--runner", type=Path, help="a built runner, for the accesses of kernels")
    arguments = parser.parse_args()
    with needs.stopping(ViewersError, OSError):
        needs.make_folder(arguments.folder, "the pages")
        (arguments.folder / "tiles.html").write_text(in_one_file(TILES), encoding="utf-8")
        runner, folder = arguments.runner and arguments.runner.resolve(), arguments.folder.resolve()
        pages: list[Path] = []
        for chapter in chapters(runner) if runner else []:
            pages += (own := write_traces(runner, chapter, folder, chapter))
            if not own:
                print(f"viewers.py: {chapter} can not be counted, and has no page", file=sys.stderr)
        pages += write_steps(runner, folder) if runner else []
        print(*(arguments.folder / page.name for page in [*pages, folder / "tiles.html"]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
