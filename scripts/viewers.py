#!/usr/bin/env python3
"""Writes the pages to play with, each in one file that loads nothing.

    $(scripts/python.sh) scripts/viewers.py FOLDER                          the order of tiles and the L2: tiles.html
    $(scripts/python.sh) scripts/viewers.py FOLDER --runner build/runner    and a warp's accesses in each chapter
    ... --runner build/runner --kernels 02_smem_tiled,02_smem_tiled:tile16  or in these kernels

The accesses of a kernel are in warp_<kernel>.html, with "-" for ":". The runner counts them: `--count --trace`. Of a
kernel with several launches that page has the last one, and warp_<kernel>_launch_<number>.html each other one.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VIEWERS = ROOT / "viewers"
GPU_MODELS = ROOT / "simt" / "models" / "gpu_models.cpp"
GPU_MODEL = re.compile(r'model\("([^"]+)", "([^"]+)", CC_\d+, (\d+), (\d+) \* MB, (\d+)\)')
STYLE = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
NOT_COUNTED = 3  # the runner's exit status
SCRIPT = re.compile(r'<script src="([^"]+)"></script>')


class ViewersError(Exception):
    """A page can not be made; the message says why."""


def gpu_models() -> list[dict]:
    """The GPUs of simt/models/gpu_models.cpp, in its order."""
    found = GPU_MODEL.findall(GPU_MODELS.read_text(encoding="utf-8"))
    if not found:
        raise ViewersError(f"there is no model of a GPU in {GPU_MODELS}")
    return [
        {"id": gpu, "name": name, "sms": int(sms), "l2Bytes": int(l2) << 20, "partitions": int(partitions)}
        for gpu, name, sms, l2, partitions in found
    ]


def in_one_file(page: Path, data: object) -> str:
    """The page with its style sheets, scripts and data in it."""

    def content(name: str) -> str:
        return (page.parent / name).read_text(encoding="utf-8")

    html = page.read_text(encoding="utf-8")
    html = STYLE.sub(lambda match: f"<style>\n{content(match[1])}</style>", html)
    html = SCRIPT.sub(lambda match: f"<script>\n{content(match[1])}</script>", html)
    return html.replace(">DATA<", f">{json.dumps(data)}<")


def chapters(runner: Path) -> list[str]:
    """The default variants of the chapters."""
    listed = json.loads(subprocess.run([runner, "--list=json"], capture_output=True, text=True, check=True).stdout)
    return [kernel["id"] for kernel in listed if (kernel["number"] or 0) > 0]


def write_trace(runner: Path, kernel: str, page: Path, results: Path, *arguments: str) -> int:
    """Writes the page and returns how many launches the kernel makes; 0 where it can not be counted."""
    command = [runner, "--count", "--kernel", kernel, "--trace", page, "--out", results, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, NOT_COUNTED):
        raise ViewersError(f"{kernel}: {(done.stderr or done.stdout).strip()}")
    if done.returncode == NOT_COUNTED:
        return 0
    counts = json.loads(results.read_text(encoding="utf-8"))["benchmarks"][0]["counts"]
    return len(counts.get("launches", [counts]))


def write_traces(runner: Path, kernel: str, folder: Path) -> list[Path]:
    """The pages of a kernel, that of its last launch first; none where it can not be counted."""
    page = folder / f"warp_{kernel.replace(':', '-')}.html"
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary) / "results.json"
        launches = write_trace(runner, kernel, page, results)
        pages = [page] if launches else []
        for number in range(launches - 1):
            pages.append(page.with_stem(f"{page.stem}_launch_{number}"))
            write_trace(runner, kernel, pages[-1], results, "--trace-launch", str(number))
    return pages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the pages go")
    parser.add_argument("--runner", type=Path, help="a built runner, for the accesses of kernels")
    parser.add_argument("--kernels", help="ids of kernels, separated by commas [the chapters]")
    arguments = parser.parse_args()
    try:
        if arguments.kernels and not arguments.runner:
            raise ViewersError("--kernels needs --runner, which counts their accesses")
        arguments.folder.mkdir(parents=True, exist_ok=True)
        tiles = in_one_file(VIEWERS / "tiles.html", gpu_models())
        (arguments.folder / "tiles.html").write_text(tiles, encoding="utf-8")
        if arguments.runner:
            kernels = arguments.kernels.split(",") if arguments.kernels else chapters(arguments.runner)
            for kernel in kernels:
                pages = write_traces(arguments.runner.resolve(), kernel, arguments.folder.resolve())
                for page in pages:
                    print(arguments.folder / page.name)
                if not pages:
                    print(f"viewers.py: {kernel} can not be counted, and has no page", file=sys.stderr)
    except (ViewersError, OSError, subprocess.CalledProcessError) as error:
        print(f"viewers.py: {error}", file=sys.stderr)
        return 2
    print(arguments.folder / "tiles.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
