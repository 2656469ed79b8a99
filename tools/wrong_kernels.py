"""Runs the kernels of tests/wrong_kernels/, each wrong in one way, and tells which the runner finds how.

Every file is executed twice, checked and unchecked, on a ragged product with beta 0 and on one with alpha and beta.
The table goes to tests/wrong_kernels/README.md; --check compares it with what is there instead.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import ROOT

FOLDER = ROOT / "tests" / "wrong_kernels"
PAGE = FOLDER / "README.md"
SIZES = "33x17x10,40"
FACTORS = (["--beta", "0"], ["--alpha", "1.5", "--beta", "0.5"])
TIMEOUT = "5"

HEAD = """# Kernels that are wrong in one way

Plain CUDA, each with one mistake that a beginner or an expert makes, and right ones that they are made of.
`tools/wrong_kernels.py` runs them all on the CPU and writes this table. **check** is what `--check` reports while the
kernel runs, **verification** whether the result of an unchecked run differs from double precision.

| file | what is wrong | check | verification |
| --- | --- | --- | --- |
"""

# Why a wrong kernel is found by neither. Every such kernel has a reason.
PASSES = {
    "arrives_before_writing.cu": "blocks run in the order of their index on the CPU, so that the other block is done",
    "index_overflows.cu": "the sizes at which it goes wrong take too long on the CPU",
    "keeps_a_counter.cu": "its first launch is right, and the CPU makes one; on a GPU the last one is verified too",
    "no_fence_between_blocks.cu": "the CPU keeps the order of writes, and the checks leave what blocks pass on alone",
}


def run(runner: Path, files: list[str], *arguments: str) -> dict[str, list[dict]]:
    """The cases of every file, by its name."""
    with tempfile.NamedTemporaryFile(suffix=".json") as results:
        command = [str(runner), "--kernel", ",".join(files), "--device", "cpu", "--sizes", SIZES, "--timeout", TIMEOUT]
        done = subprocess.run(
            [*command, *arguments, "--out", results.name], cwd=FOLDER, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
        cases = json.loads(Path(results.name).read_text(encoding="utf-8"))["benchmarks"]
    return {file: [case for case in cases if case["path"] == file] for file in files}


def first_reason(cases: list[dict], outcome: str) -> str:
    return next((case["reason"] for case in cases if case["outcome"] == outcome), "")


def summary(reason: str) -> str:
    """What a checked case failed of, without what differs from run to run: which block and thread came first."""
    text = re.sub(r"^block \(.*?\), thread \(.*?\), ", "", reason)
    text = re.sub(r"^\S+\.cu:(\d+) in .*?\)(?: const)?: ", r"line \1: ", text)
    text = text.split("; it ")[0]
    text = re.sub(r"row -?\d+, column -?\d+", "an element", text)
    text = re.sub(r"(block \(\d+,\d+,\d+\), )?thread \(\d+,\d+,\d+\)", "a thread", text)
    text = re.sub(r"which \d+ of", "which some of", text)
    text = re.sub(r"at 0(x[0-9a-f]+)?\b", "at an address", text)
    text = re.sub(r"at byte -?\d+", "at a byte", text)
    return text.replace("|", "or")


def all_files() -> list[str]:
    return sorted(path.name for path in FOLDER.glob("*.cu"))


def rows(runner: Path, files: list[str]) -> list[str]:
    """The table's lines for these files."""
    checked: dict[str, list[dict]] = {file: [] for file in files}
    verified: dict[str, list[dict]] = {file: [] for file in files}
    for factors in FACTORS:
        for file, cases in run(runner, files, "--check", *factors).items():
            checked[file] += cases
        for file, cases in run(runner, files, *factors).items():
            verified[file] += cases
    lines = []
    for file in files:
        what = (
            (FOLDER / file)
            .read_text(encoding="utf-8")
            .splitlines()[0]
            .removeprefix("// Wrong: ")
            .removeprefix("// Right: ")
            .rstrip(".")
        )
        found = summary(first_reason(checked[file], "failed"))
        wrong = first_reason(verified[file], "failed") or first_reason(verified[file], "incorrect")
        lines.append(f"| [{file}]({file}) | {what} | {found or 'nothing'} | {'found' if wrong else 'nothing'} |\n")
    return lines


def reasons(lines: list[str]) -> str:
    """Why those of the table's wrong kernels pass that do. Exits where PASSES does not name just these."""
    passing = [
        match[1] for line in lines if (match := re.match(r"\| \[(?!right_)(\S+?)\].*\| nothing \| nothing \|$", line))
    ]
    if sorted(passing) != sorted(PASSES):
        sys.exit(f"PASSES names {', '.join(PASSES)}, and these pass: {', '.join(passing)}")
    return "\nThese pass on the CPU:\n\n" + "".join(f"- `{file}`: {PASSES[file]}.\n" for file in passing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runner", type=Path, default=ROOT / "build" / "runner")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    lines = rows(options.runner.resolve(), all_files())
    text = HEAD + "".join(lines) + reasons(lines)
    if options.check:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == text else f"{PAGE} is not what the kernels give now")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
