"""Builds what the tests need and runs them, for scripts/test.sh."""

import json
import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tools import ROOT, testing
from tools.steps import Steps, say
from tools.testing import output_of

RAN = ROOT / "build-ran"  # what each test says of itself
CORES = len(os.sched_getaffinity(0))
RUNNER = "runner/tests/outside"
SCRIPTS_AND_PACKAGE = ("tools/tests/scripts", "library/tests/python")
# What a room's tests are: targets of the build, names of ctest's, a folder of pytest's.
ROOMS = {
    "kernels": (["executor_tests"], "executor_tests|targets_apart", ""),
    "library": (["library/tests/all"], "library", "library/tests/python"),
    "many_gpus": (["many_gpus_tests"], "many_gpus", ""),
    "runner": (["cpu_tests", "runner", "runner_with_misbehaving_kernels"], "cpu_tests", RUNNER),
    "simt": (["simt/all"], "simt", ""),
    "tools": ([], "", "tools/tests/scripts"),
}


def run(*command: object, **variables: object) -> bool:
    """Whether a command succeeds, with these variables added to the environment."""
    environment = os.environ | {name: str(value) for name, value in variables.items()}
    return subprocess.run([*map(str, command)], cwd=ROOT, env=environment, check=False).returncode == 0


def module(*words: object) -> bool:
    """Whether a module of Python succeeds."""
    return run(sys.executable, "-m", *words)


def folder_of(preset: str) -> Path:
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
    return ROOT / next(p["binaryDir"] for p in presets if p["name"] == preset).replace("${sourceDir}/", "")


SHORT, CUDA, CPU, SANITIZED = map(folder_of, ("short", "cuda", "cpu", "sanitized"))


def without(program: str) -> str:
    """What a step lacks that takes this program; nothing where it is there."""
    return "" if shutil.which(program) else f"there is no {program}"


def has_gpu() -> bool:
    return bool(output_of("nvidia-smi", "-L")) or Path("/dev/nvidiactl").exists()


def subjects_fit() -> bool:
    """Tells of new commits whose subject is longer than git's tools show: those since the main branch was left, or the
    last one."""
    base = output_of("git", "merge-base", "HEAD", "origin/HEAD").strip()
    if base in ("", testing.seed()):
        base = output_of("git", "rev-parse", "HEAD~1").strip() or "HEAD"
    subjects = output_of("git", "log", "--no-merges", "--format=%h %s", f"{base}..HEAD").splitlines()
    too_long = [line for line in subjects if len(line.partition(" ")[2]) > 72]
    print(*too_long, sep="\n")
    return not too_long


def uncommitted() -> str:
    """What git does not know yet, except for what a long run writes itself; where there is no git, that."""
    but = (":!tests/record.json", ":!tests/mutants/table.csv")
    branch, _, files = output_of("git", "status", "--porcelain", "--branch", "--", ".", *but).partition("\n")
    return files if branch else "no commit is known"


def make(preset: str, *targets: str) -> bool:
    return not targets or run("cmake", "--build", "--preset", preset, "--target", *targets)


def ctest(preset: str, *options: str) -> bool:
    ran = folder_of(preset) / "ran"
    shutil.rmtree(ran, ignore_errors=True)
    reports = ("--output-junit", ran / "ctest.junit")
    return run("ctest", "--preset", preset, "-j", CORES, *reports, *options, GTEST_OUTPUT=f"xml:{ran}/")


def pytest(name: str, build: Path, *arguments: object, python: str = sys.executable, **variables: object) -> bool:
    """Where all tests are skipped, something is missing."""
    report = RAN / f"{name}.xml"
    command = (python, "-m", "pytest", "-rs", f"--junitxml={report}", *arguments)
    passed = run(*command, SGEMM_BUILD=build, **variables)
    if skipped := passed and set(testing.ran_in(report).values()) <= {"skipped"}:
        print(f"{name}: all tests were skipped")
    return passed and not skipped


def test_short_build() -> bool:
    """Without the programs that a change does not reach, and all but a sixteenth of the lengthy processes."""
    own = int(testing.seed()[0], 16)
    lengthy = "|".join(str(number) for number in range(16) if number != own)
    return ctest("short", "-E", f"^({'|'.join(testing.unreached_tests(SHORT))})$|_lengthy_({lengthy})$")


def test_reached() -> bool:
    return ctest("cuda", "-R", f"^({'|'.join(testing.host_tests(CUDA, SHORT))})$")


class Suite:
    """One run of the tests: the long one, or the short one and that of single rooms."""

    def __init__(self, steps: Steps, is_long: bool):
        self.steps, self.is_long = steps, is_long

    def configure(self, preset: str) -> bool:
        """The long run has every chapter, but where sanitizers make it ten times as slow, and compiles each file by
        itself: it finds an include that a file forgot, and that its neighbours in a unity build have. Where no GPU runs
        it, nvcc need not optimise its code."""
        options = [f"-DSGEMM_QUICK_DEVICE_CODE={'OFF' if self.is_long or has_gpu() else 'ON'}"]
        if self.is_long:
            options += ["-DCMAKE_UNITY_BUILD=OFF", *["-DSGEMM_EXECUTOR_CHAPTERS=."] * (preset != "sanitized")]
        return run("cmake", "--preset", preset, *options)

    def build(self, preset: str, *targets: str) -> bool:
        return self.configure(preset) and make(preset, *(targets or ["all"]))

    def build_short(self) -> bool:
        """But for test programs that are what they were when all their tests passed on record."""
        return self.configure("short") and make("short", *testing.targets_reached(SHORT))

    def build_reached(self) -> bool:
        """The part of the build with CUDA that the short run takes: all that the change can reach and the build without
        CUDA has not, and the tests that need no code for GPUs."""
        if not self.configure("cuda"):
            return False
        return make("cuda", *testing.objects_reached(CUDA, SHORT), *{*testing.host_tests(CUDA, SHORT).values()})

    def tidy(self, files: Sequence[str]) -> bool:
        """clang-tidy takes seconds a file, and tens of seconds with its analyzer, which the short run leaves out. The
        precompiled headers are GCC's, so clang-tidy goes without. It finds includes that a file forgot then. What
        version 14 lacks of the standard library is in tools/tidy. Files for GPUs alone are not compiled."""
        print(*files, sep="\n", flush=True)
        build = ROOT / "build-tidy"
        if not run("cmake", "--preset", "cpu", "-B", build, "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"):
            return False
        made = run("cmake", "--build", build, "--target", "git_info")
        text = (build / "compile_commands.json").read_text(encoding="utf-8")
        compiled = [file for file in files if f'"{ROOT / file}"' in text]
        command = ["clang-tidy", "-p", build, "--quiet", f"--extra-arg=-isystem{ROOT}/tools/tidy"]
        command += [f"--checks={'' if self.is_long else '-clang-analyzer-*'}", "--warnings-as-errors=*"]
        with ThreadPoolExecutor(CORES) as threads:
            return made and all([*threads.map(lambda file: run(*command, file), compiled)])

    def what_ran(self, *builds: Path) -> bool:
        """Beside what there is."""
        counts, missing = testing.ran([*builds], self.is_long)
        for name, count in counts.items():
            print(f"{name}: {', '.join(f'{number} {outcome}' for outcome, number in sorted(count.items()))}")
        print(*(f"DID NOT RUN: {name}" for name in missing), sep="\n")
        return not missing

    def lint(self) -> None:
        step = self.steps.step
        step("ruff", module, "ruff", "check", "examples", "library", "runner/tests", "scripts", "tests", "tools")
        step("subjects of new commits, of at most 72 characters", subjects_fit)
        rooms = ("examples", "kernels", "library", "many_gpus", "runner", "simt", "tests")
        sources = re.findall(r"^.*\.(?:[ch]|[ch]pp|cuh?)$", output_of("git", "ls-files", *rooms), re.MULTILINE)
        program = "clang-format-14"  # versions disagree with each other; this is Debian 12's
        step("clang-format", run, program, "--dry-run", "--Werror", *sources, lacks=without(program))
        scripts = [*ROOT.glob("scripts/*.sh"), *ROOT.glob("scripts/*.bash"), ROOT / ".ci" / "run"]
        step("shellcheck", run, "shellcheck", "--external-sources", *scripts, lacks=without("shellcheck"))
        files = testing.to_tidy(self.is_long)
        nothing = "" if files else "no file that it reads has changed"
        step("clang-tidy", self.tidy, files, lacks=without("clang-tidy") or nothing)

    def rooms(self, names: Sequence[str]) -> None:
        for name in names:
            targets, tests, folder = ROOMS[name]
            if targets:
                self.steps.step(f"build of {name}", self.build, "short", *targets)
                self.steps.step(f"ctest of {name}", ctest, "short", "-R", f"^({tests})")
            if folder:
                self.steps.step(f"pytest of {name}", pytest, name, SHORT, "-n", CORES, folder)

    def short(self) -> None:
        start, step, finish, brief = self.steps.start, self.steps.step, self.steps.finish, ("-m", "not long")
        for report in RAN.glob("*.xml"):
            report.unlink()
        scripts, runner = "pytest of the scripts and the Python package", "pytest of the runner"
        start(scripts, pytest, "scripts", SHORT, *brief, *SCRIPTS_AND_PACKAGE)
        step("build without CUDA", self.build_short)
        nothing, nvcc = "there is no build" * bool(self.steps.failed), without("nvcc")
        start("ctest without CUDA", test_short_build, lacks=nothing)
        start(runner, pytest, "runner", SHORT, *brief, "-n", CORES, RUNNER, lacks=nothing)
        finish("ctest without CUDA")
        finish(runner)
        if has_gpu():
            step("build with CUDA", self.build, "cuda", lacks=nvcc)
            step("ctest with CUDA", ctest, "cuda", "-E", "_lengthy_", lacks=nvcc)
            on_gpu = (f"{RUNNER}/test_user_kernels_on_gpu.py", "library/tests/python")
            step("pytest of the runner on a GPU", pytest, "gpu", CUDA, *brief, *on_gpu, lacks=nvcc)
        else:
            step("build of what a change reaches with CUDA", self.build_reached, lacks=nvcc)
            step("ctest of what needs no code for GPUs", test_reached, lacks=nvcc)
        finish(scripts)
        self.lint()
        step("what ran, beside what there is", self.what_ran, SHORT)

    def long(self) -> None:
        step, nvcc = self.steps.step, without("nvcc")
        step("build cuda", self.build, "cuda", lacks=nvcc)
        step("ctest cuda", ctest, "cuda", lacks=nvcc)
        step("pytest of the runner with CUDA", pytest, "runner-cuda", CUDA, "-n", CORES, RUNNER, lacks=nvcc)
        step("build cpu", self.build, "cpu")
        but_lengthy = () if nvcc else ("-E", "_lengthy_")  # they are the same program as in the build with CUDA
        step("ctest cpu", ctest, "cpu", *but_lengthy)
        step("build sanitized", self.build, "sanitized")
        step("ctest sanitized", ctest, "sanitized", "-E", "^library_tests_lengthy")  # a process takes half an hour so
        step("pytest of the runner", pytest, "runner", CPU, "-n", CORES, RUNNER)
        step("pytest of the schemas", pytest, "schemas", SANITIZED, f"{RUNNER}/test_schemas.py")
        table = ("tools.wrong_kernels", "--check", "--runner", CPU / "runner")
        step("wrong kernels, all of the table", module, *table)
        step("pytest of the scripts and the Python package", pytest, "scripts", CPU, *SCRIPTS_AND_PACKAGE)
        # Pages in a browser, sweeps and the wheel, each where PyPI has what they need.
        run("bash", "-c", ". scripts/lib.sh; install_packages chromium")
        site, fleet, wheel = (output_of("scripts/python.sh", f"--{of}").strip() for of in ("site", "fleet", "wheel"))
        browser = partial(pytest, "browser", CPU, "tools/tests/browser", python=site)
        nothing = without("chromium") or "Playwright can not be installed" * (not site)
        step("pytest of pages in a browser", browser, lacks=nothing)
        sweeps = partial(pytest, "fleet", CPU, "tools/tests/fleet", SGEMM_REFRAME=Path(fleet).parent / "reframe")
        step("pytest of sweeps", sweeps, lacks="" if fleet else "ReFrame can not be installed")
        nothing = nvcc or "scikit-build-core and auditwheel can not be installed" * (not wheel)
        step("pytest of the wheel", pytest, "wheel", CUDA, "library/tests/wheel", lacks=nothing)
        step("mutants", module, "tools.mutants")
        self.lint()
        step("what ran, beside what there is", self.what_ran, *[CUDA][: not nvcc], CPU, SANITIZED)


def main() -> int:
    parser = ArgumentParser(prog="scripts/test.sh")
    parser.add_argument("--all", action="store_true", help="the long run, or those of its steps that have such a word")
    parser.add_argument("words", nargs="*", help=f"rooms: {', '.join(ROOMS)}; or words in the names of steps")
    options = parser.parse_args()
    steps = re.findall(r'\bstep\("([^"]+)"', Path(__file__).read_text(encoding="utf-8"))
    for word in options.words:
        if options.all and not any(word in name for name in steps):
            parser.error(f"no step of the long run has {word!r} in its name")
        if not options.all and word not in ROOMS:
            parser.error(f"there is no room {word!r} with tests; there are {', '.join(ROOMS)}")
    RAN.mkdir(exist_ok=True)
    recorded = options.all and not uncommitted()
    if options.all and not recorded:
        say("There are changes without a commit: this run begins anew, and nothing of it goes on record.")
    with Steps(options.words if options.all else (), recorded) as steps:
        suite = Suite(steps, options.all)
        if options.all:
            os.environ["SGEMM_TEST_ALL"] = "1"
            suite.long()
        elif options.words:
            suite.rooms(options.words)
        else:
            suite.short()
        return 0 if steps.report() else 1


if __name__ == "__main__":
    sys.exit(main())
