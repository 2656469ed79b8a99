"""Runs the kernels of tests/wrong_kernels/, each wrong in one way, and tells which the runner finds how.

Most are a few lines of wrong.diff, which stand for those of a right kernel; --write makes the files.
Every file is executed twice, checked and unchecked, on a ragged product with beta 0 and on one with alpha and beta.
The table goes to tests/wrong_kernels/README.md; --check compares it with what is there instead.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import ROOT, needs

FOLDER = ROOT / "tests" / "wrong_kernels"
PAGE = FOLDER / "README.md"
DIFF = FOLDER / "wrong.diff"
SIZES = "33x17x10,40"
FACTORS = (["--beta", "0"], ["--alpha", "1.5", "--beta", "0.5"])
TIMEOUT = "5"

HEAD = """# Kernels that are wrong in one way

Plain CUDA, each with one mistake that a beginner or an expert makes, and right ones that they are made of.
[wrong.diff](wrong.diff) has the lines in which a wrong kernel differs from a right one. `python -m
tools.wrong_kernels --write FOLDER` makes the files. Without `--write` it runs them all on the CPU and writes this
table. **check** is what `--check` reports while the kernel runs, **verification** whether the result of an unchecked
run differs from double precision.

| file | what is wrong | check | verification |
| --- | --- | --- | --- |
"""

# Races between blocks: which comes first in an unchecked run depends on what else the processors do.
BY_CHANCE = {"arrives_before_writing.cu", "cleared_by_one_block.cu"}
BY_CHANCE |= {"no_fence_between_blocks.cu", "split_without_atomics.cu"}
# Why a wrong kernel is found by neither. Every such kernel has a reason.
PASSES = {"index_overflows.cu": "the sizes at which it goes wrong take too long on the CPU"}


def changed(text: str, hunks: list[str], file: str) -> str:
    """A text with hunks of a diff applied, each behind the one before. Exits where one has not just one place."""
    done = ""
    for hunk in hunks:
        old, new = ("".join(f"{line[1:]}\n" for line in hunk.split("\n") if line[:1] != mark) for mark in "+-")
        places = re.split(f"^{re.escape(old)}", text, flags=re.MULTILINE)
        if not old or len(places) != 2:
            sys.exit(f"{DIFF}: {file}: these lines are there {len(places) - 1} times, not once:\n{old}")
        done += places[0] + new
        text = places[1]
    return done + text


def kernels() -> dict[str, str]:
    """The text of every kernel, by its file's name."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.cu")}
    right = ""
    for block in DIFF.read_text(encoding="utf-8").rstrip("\n").split("\n\n")[1:]:
        heading, _, hunks = block.partition("\n")
        if heading.startswith("--- "):
            right = texts[heading.removeprefix("--- ")].partition("\n")[2]  # but for the remark that it is right
            continue
        file, _, what = heading.removeprefix("+++ ").partition(": ")
        if file in texts:
            sys.exit(f"{DIFF}: {file} is there twice")
        kind = "Right" if file.startswith("right_") else "Wrong"
        texts[file] = f"// {kind}: {what}.\n" + changed(right, hunks.split("\n@@\n") if hunks else [], file)
    return dict(sorted(texts.items()))


def write(folder: Path, files: list[str]) -> None:
    texts = kernels()
    for file in files:
        (folder / file).write_text(texts[file], encoding="utf-8")


def run(runner: Path, files: list[str], *arguments: str) -> dict[str, list[dict]]:
    """The cases of every file, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), files)
        command = [str(runner), "--kernel", ",".join(files), "--device", "cpu", "--sizes", SIZES, "--timeout", TIMEOUT]
        command += [*arguments, "--out", "results.json"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
        cases = json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))["benchmarks"]
    return {file: [case for case in cases if case["path"] == file] for file in files}


def first_reason(cases: list[dict], outcome: str) -> str:
    return next((case["reason"] for case in cases if case["outcome"] == outcome), "")


def summary(reason: str) -> str:
    """What a checked case failed of, without what differs from run to run: which block and thread came first."""
    text = re.sub(r"^block \(.*?\), thread \(.*?\), ", "", reason)
    text = re.sub(r"^\S+\.cu:(\d+) in .*?\)(?: const)?: ", r"line \1: ", text)
    text = text.split("; it ")[0].replace("|", "or")
    for what_differs, instead in (
        (r"row -?\d+, column -?\d+|element (\[\d+\])+", "an element"),
        (r"(block \(\d+,\d+,\d+\), )?thread \(\d+,\d+,\d+\)", "a thread"),
        (r"which \d+ of", "which some of"),
        (r"at 0(x[0-9a-f]+)?\b", "at an address"),
        (r"at byte -?\d+", "at a byte"),
    ):
        text = re.sub(what_differs, instead, text)
    return text


def link(file: str) -> str:
    """A kernel's own file, or its lines in the diff."""
    lines = DIFF.read_text(encoding="utf-8").split("\n")
    numbers = [number for number, line in enumerate(lines, 1) if line.startswith(f"+++ {file}: ")]
    return f"[{file}]({DIFF.name}#L{numbers[0]})" if numbers else f"[{file}]({file})"


def rows(runner: Path, files: list[str]) -> list[str]:
    """The table's lines for these files."""
    checked = [run(runner, files, "--check", *factors) for factors in FACTORS]
    verified = [run(runner, files, *factors) for factors in FACTORS]
    lines, texts = [], kernels()
    for file in files:
        what = texts[file].splitlines()[0].removeprefix("// Wrong: ").removeprefix("// Right: ").rstrip(".")
        found = summary(first_reason([case for of_file in checked for case in of_file[file]], "failed"))
        wrong = any(first_reason(of_file[file], how) for of_file in verified for how in ("failed", "incorrect"))
        verdict = "by chance" if file in BY_CHANCE else "found" if wrong else "nothing"
        lines.append(f"| {link(file)} | {what} | {found or 'nothing'} | {verdict} |\n")
    return lines


def reasons(lines: list[str]) -> str:
    """Why those of the table's wrong kernels pass that do. Exits where PASSES does not name just these."""
    passing = re.findall(r"^\| \[(?!right_)(\S+?)\].*\| nothing \| nothing \|$", "".join(lines), re.MULTILINE)
    if sorted(passing) != sorted(PASSES):
        sys.exit(f"PASSES names {', '.join(PASSES)}, and these pass: {', '.join(passing)}")
    return "\nThese pass on the CPU:\n\n" + "".join(f"- `{file}`: {PASSES[file]}.\n" for file in passing)


def main() -> None:
    parser = needs.parser(__doc__)
    parser.add_argument("--runner", type=Path, default=ROOT / "build" / "runner")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="only make the files, in this folder")
    options = parser.parse_args()
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        write(options.write, list(kernels()))
        return
    lines = rows(options.runner.resolve(), list(kernels()))
    text = HEAD + "".join(lines) + reasons(lines)
    if options.check:
        sys.exit(0 if PAGE.read_text(encoding="utf-8") == text else f"{PAGE} is not what the kernels give now")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
