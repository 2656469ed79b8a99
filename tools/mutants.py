"""Breaks the code on purpose, by one small patch at a time, and says whether its test notices.

    python -m tools.mutants                     all of tests/mutants/table.csv
    python -m tools.mutants mbarrier-parity     these alone

Each patch is applied to a checkout of the last commit, in build-mutants/tree. The program that its test needs is built
in build-mutants/build, file by file and without optimisation, so that a mutant costs a file and a link. Tests of pytest
need no build. A test has to pass without a mutant first. With it the mutant is

    found     its test failed, or did not end
    missed    its test passed: a test is missing
    stale     the patch does not apply or compile, or the test fails without it: the patch has to follow the code

What has run at this commit is not run again. The table's column `found` gets the day on which a test found its mutant,
and is emptied where it did not. Commit it.

Exit status: 0 all were found, 1 some were missed or are stale, 2 bad input.
"""

import csv
import datetime
import hashlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tools import ROOT, needs

FOLDER = ROOT / "tests" / "mutants"
SCRATCH = ROOT / "build-mutants"
PROGRAMS = {"simt_tests": "simt/tests", "cpu_tests": "runner.build/tests", "library_tests": "library/tests"}
LONGEST = 900  # seconds of a command: a mutant may keep a test from ending


class Mutant(NamedTuple):
    name: str  # of the patch
    room: str
    wrong: str
    origin: str  # the commit that mended such a fault, or "own"
    test: str  # a program of PROGRAMS and a filter of GoogleTest's, or tests of pytest's
    found: str  # a day; empty where nobody has seen it


def read_table(folder: Path = FOLDER) -> dict[str, Mutant]:
    with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    if rows[:1] != [list(Mutant._fields)] or any(len(row) != len(Mutant._fields) for row in rows):
        needs.stop(f"{folder / 'table.csv'} has to have the columns {', '.join(Mutant._fields)}")
    return {row[0]: Mutant(*row) for row in rows[1:]}


def write_table(folder: Path, mutants: dict[str, Mutant]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([Mutant._fields, *mutants.values()])
    needs.write_whole(folder / "table.csv", text.getvalue())


def run(command: Sequence[str | Path], where: Path) -> tuple[bool, str]:
    """Whether a command succeeded, and what it printed."""
    catch = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    try:
        done = subprocess.run(command, cwd=where, timeout=LONGEST, check=False, **catch)
    except subprocess.TimeoutExpired:
        return False, f"it did not end in {LONGEST} s"
    return done.returncode == 0, done.stdout


class Bench:
    """A checkout that mutants are applied to, and its build."""

    def __init__(self, root: Path, scratch: Path, folder: Path):
        self.root, self.folder = root, folder
        self.tree, self.build, self.notes = (scratch / name for name in ("tree", "build", "notes"))
        self.usable: dict[str, bool] = {}  # whether a test passes without a mutant
        self.notes.mkdir(parents=True, exist_ok=True)

    def git(self, *words: str | Path, where: Path | None = None) -> str:
        done = subprocess.run(["git", *words], cwd=where or self.tree, check=True, text=True, stdout=subprocess.PIPE)
        return done.stdout.strip()

    def check_out(self) -> None:
        """The last commit. Files that are the same keep their times, and so their objects."""
        self.commit = self.git("rev-parse", "HEAD", where=self.root)
        if not (self.tree / ".git").exists():
            self.git("worktree", "prune", where=self.root)
            self.git("worktree", "add", "-q", "--detach", self.tree, where=self.root)
        self.git("checkout", "-q", "--force", "--detach", self.commit)

    def compile(self, program: str) -> tuple[bool, str]:
        if not (self.build / "build.ninja").exists():
            options = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -DNDEBUG"]
            options += ["-DSGEMM_WARNINGS_AS_ERRORS=OFF"]  # a mutant may leave a name unused
            configured = run(["cmake", "--preset", "cpu", "-B", self.build, *options], self.tree)
            if not configured[0]:
                return configured
        return run(["cmake", "--build", self.build, "--target", program, "-j", str(os.cpu_count())], self.tree)

    def passes(self, test: str) -> tuple[bool | None, str]:
        """Whether a test passes, or None where it does not compile; and what failed."""
        program, _, only = test.partition(" ")
        if program in PROGRAMS:
            compiled, output = self.compile(program)
            if not compiled:
                return None, output[-1000:]
            path = self.build / PROGRAMS[program] / program
            passed, output = run([path, f"--gtest_filter={only}", "--gtest_fail_fast"], self.tree)
            passed = passed and " 0 tests from" not in output
            failed = re.search(r"^\[  FAILED  \] ([\w./]+)", output, re.MULTILINE)
        else:
            words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *test.split()]
            passed, output = run(words, self.tree)
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
        return passed, "" if passed else failed[1] if failed else output[-300:]

    def outcome(self, mutant: Mutant) -> tuple[str, str]:
        """found, missed or stale; and by which test, or why."""
        if not self.usable[mutant.test]:
            return "stale", f"{mutant.test} fails without it"
        try:
            applied, output = run(["git", "apply", "-C1", self.folder / f"{mutant.name}.patch"], self.tree)
            passed, output = self.passes(mutant.test) if applied else (None, output)
        finally:
            self.git("checkout", "-q", "--force", "HEAD", "--", ".")
        return {True: "missed", False: "found", None: "stale"}[passed], output

    def known(self, mutant: Mutant) -> Path:
        """Where the outcome at this commit is noted."""
        text = f"{self.commit} {mutant.test} {(self.folder / f'{mutant.name}.patch').read_text(encoding='utf-8')}"
        return self.notes / f"{mutant.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def main(arguments: Sequence[str] | None = None, root: Path = ROOT, folder: Path = FOLDER, to: Path = SCRATCH) -> int:
    parser = needs.parser(__doc__)
    parser.add_argument("names", nargs="*", help="mutants [all]")
    options = parser.parse_args(arguments)
    table = read_table(folder)
    if unknown := set(options.names) - set(table):
        needs.stop(f"there is no mutant {min(unknown)}")
    chosen = [table[name] for name in options.names or table]
    bench, bad = Bench(root, to, folder), 0
    bench.check_out()
    for test in dict.fromkeys(mutant.test for mutant in chosen if not bench.known(mutant).exists()):
        bench.usable[test] = bench.passes(test)[0] is True
    for mutant in chosen:
        if (note := bench.known(mutant)).exists():
            outcome, why = note.read_text(encoding="utf-8").split("\n", 1)
        else:
            outcome, why = bench.outcome(mutant)
            note.write_text(f"{outcome}\n{why}", encoding="utf-8")
            day = datetime.datetime.now(datetime.timezone.utc).date().isoformat() if outcome == "found" else ""
            table = read_table(folder)
            write_table(folder, table | {mutant.name: table[mutant.name]._replace(found=day)})
        print(f"{outcome:6}  {mutant.name}: {why or mutant.test}", flush=True)
        bad += outcome != "found"
    print(f"{len(chosen) - bad} of {len(chosen)} were found")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
