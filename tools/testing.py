"""What scripts/test.sh keeps books of: samples of corpora, what a change reaches, what ran, and which steps of the long
run passed at which commit (tests/record.json).
"""

import datetime
import functools
import hashlib
import itertools
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

from tools import ROOT, needs

RECORD = ROOT / "tests" / "record.json"
CUDA_STEP = "build cuda"
TESTS_STEPS = ("ctest cuda", "ctest cpu")  # all tests that need no GPU, lengthy ones in the first alone
MOST_TO_TIDY = 8  # a file takes seconds
# Those of the runner and of tests reach their own folder: no other is compiled with what they say.
REACH_ALL = re.compile(r"^(?!runner/|(.*/)?tests/)(.*/)?CMakeLists\.txt$|\.cmake$|(^|/)CMakePresets\.json$")
# What a program may read while it runs, by the definition that tells it the folder.
READ_IN = {"SGEMM_SOURCE_DIR": re.compile(r"\.(csv|txt|html)$"), "SIMT_SOURCE_INCLUDE": re.compile(r"^simt/include/")}
TIDIED = re.compile(r"^((many_gpus|runner)/(?!tests/)|simt/).*\.cpp$")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def output_of(*command: str) -> str:
    """What a command prints; nothing where it fails."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


# ---- Samples ----


def seed() -> str:
    """What a sample is chosen by: the commit."""
    return output_of("git", "rev-parse", "HEAD").strip() or "0" * 40


def sample(names: list[str], count: int) -> list[str]:
    """So many of the names, others after another commit; all of them in the long run."""
    if "SGEMM_TEST_ALL" in os.environ:
        return names
    chosen = sorted(names, key=lambda name: hashlib.sha256(f"{seed()} {name}".encode()).digest())[:count]
    return [name for name in names if name in chosen]


# ---- What a change reaches ----


def record() -> dict:
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {"steps": {}}


def files_changed(commit: str | None) -> list[str] | None:
    """Since a commit, as git names them, with those that it does not know yet. None: nobody can tell."""
    if not commit or not output_of("git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        return None
    new = output_of("git", "ls-files", "--others", "--exclude-standard")
    return (output_of("git", "diff", "--name-only", commit) + new).splitlines()


def toolchain() -> str:
    nvcc = (output_of("nvcc", "--version").strip().splitlines() or [""])[-1]
    return f"{nvcc}, c++ {output_of('c++', '-dumpfullversion').strip()}"


@functools.cache
def includes_of(path: Path) -> list[str]:
    return INCLUDE.findall(path.read_text(encoding="utf-8", errors="replace"))


def read_by(source: Path, folders: list[Path]) -> set[Path]:
    """The source and what it includes from its folder, from `folders` or by its whole path."""
    found, left = {source}, [source]
    while left:
        path = left.pop()
        for name in includes_of(path):
            place = next((p for folder in (path.parent, *folders) if (p := folder / name).is_file()), None)
            if place and (place := Path(os.path.normpath(place))) not in found:
                found.add(place)
                left.append(place)
    return found


def compilations(build: Path) -> list[dict]:
    """Of a build: the object, the sources that it is made of, all that they read, whether nvcc compiles it, and
    patterns of the files that it may read while it runs."""
    path = build / "compile_commands.json"
    if not path.exists():
        sys.exit(f"{path} is missing: configure the build with CMAKE_EXPORT_COMPILE_COMMANDS")
    found = []
    for entry in json.loads(path.read_text(encoding="utf-8")):
        words, source = shlex.split(entry["command"]), Path(entry["file"])
        if not source.is_file():
            continue  # one that a step of the build writes
        folders = [word[2:] for word in words if word.startswith("-I") and len(word) > 2]
        folders += [word for flag, word in itertools.pairwise(words) if flag in ("-I", "-isystem")]
        own = [Path(folder) for folder in folders if ROOT in Path(folder).parents]
        united = "/Unity/" in str(source)
        case = {"object": words[words.index("-o") + 1], "files": read_by(source, own)}
        case["reads"] = [pattern for name, pattern in READ_IN.items() if name in entry["command"]]
        case["sources"] = {Path(name) for name in includes_of(source)} if united else {source}
        found.append(case | {"nvcc": any(Path(word).name == "nvcc" for word in words[:4])})
    return found


def reached(cases: list[dict], name: str) -> tuple[list[dict], str]:
    """Of compilations those that a change since a step on record can differ in, and why just those."""
    step = record()["steps"].get(name, {})
    commit = step.get("commit", "")[:8]
    changed = files_changed(step.get("commit"))
    if changed is None:
        return cases, f"{commit} is not in this repository" if step else "no such step is on record"
    if step["toolchain"] != toolchain():
        return cases, f"a compiler is another one than at {commit}"
    if of_all := [file for file in changed if REACH_ALL.search(file)]:
        return cases, f"{of_all[0]} has changed since {commit}"
    paths = {ROOT / file for file in changed}
    folders = {path.parent for path in paths if path.name == "CMakeLists.txt"}
    found = [
        each
        for each in cases
        if each["files"] & paths
        or any(pattern.search(file) for pattern in each["reads"] for file in changed)
        or folders & {folder for source in each["sources"] for folder in source.parents}
    ]
    return found, f"what {len(paths)} files reach that have changed since {commit}"


def objects_reached(build: Path, beside: Path) -> list[str]:
    """The objects of `build` that a change since the last build on record can differ in, without those that `beside`
    compiles as well."""
    known = set().union(*(each["sources"] for each in compilations(beside)))
    own = [each for each in compilations(build) if each["nvcc"] or not each["sources"] <= known]
    own, reason = reached(own, CUDA_STEP)
    print(f"{len(own)} objects for the build with CUDA: {reason}", file=sys.stderr)
    return sorted(each["object"] for each in own)


def inputs_of(build: Path, target: str) -> set[str]:
    return set(output_of("ninja", "-C", str(build), "-t", "inputs", target).split())


def programs_unreached(build: Path) -> list[str]:
    """The test programs, as targets, that are what they were when all their tests passed on record. The executor's own
    is never among them: it loads objects that it does not link."""
    objects: set[str] = set()
    for step in TESTS_STEPS:
        objects |= {each["object"] for each in reached(compilations(build), step)[0]}
    programs = {program for name, program in ctests(build).items() if not name.startswith("simt")}
    targets = {str(program.relative_to(build)) for program in programs if build in program.parents}
    inputs = {target: inputs_of(build, target) for target in sorted(targets)}
    unreached = [target for target, of in inputs.items() if of and not of & objects]
    if unreached:
        names = ", ".join(Path(target).name for target in unreached)
        print(f"Left out: {names}. Nothing in them has changed since their tests passed on record.", file=sys.stderr)
    return unreached


def unreached_tests(build: Path) -> list[str]:
    """What ctest calls the tests of those programs."""
    unreached = {build / target for target in programs_unreached(build)}
    return [name for name, program in ctests(build).items() if program in unreached]


def targets_reached(build: Path) -> list[str]:
    """The programs and libraries of a build, without the test programs that a change does not reach."""
    text = (build / "build.ninja").read_text(encoding="utf-8")
    parts = {name: names.split() for name, names in re.findall(r"^build (\S+): phony (.+)$", text, re.M)}
    made, left = set(), ["all"]
    while left:
        target = left.pop()
        left += parts.get(target, [])
        made |= set() if target in parts or target.endswith(".o") else {target}
    return sorted(made - set(programs_unreached(build)))


def ctests(build: Path, below: str = ".") -> dict[str, Path]:
    """The program of each test of a build. ctest itself tells the commands of those alone that are built."""
    path = build / below / "CTestTestfile.cmake"
    if not path.exists():
        sys.exit(f"{path} is missing: configure the build with its tests")
    text = path.read_text(encoding="utf-8")
    found = re.findall(r'^add_test\((?:\[=+\[)?(\w+)\S* "([^"]+)"', text, re.M)
    tests = {name: Path(program) for name, program in found}
    for folder in re.findall(r'^subdirs\("(.+)"\)', text, re.M):
        tests |= ctests(build, f"{below}/{folder}")
    return tests


def host_tests(build: Path, beside: Path) -> dict[str, str]:
    """Tests of `build` and their programs, as targets: those that link no code for GPUs, and that `beside` has not."""
    nvcc = {each["object"] for each in compilations(build) if each["nvcc"]}
    have = {program.name for program in ctests(beside).values()}
    found = {}
    for name, program in ctests(build).items():
        if build in program.parents and program.name not in have:
            target = str(program.relative_to(build))
            inputs = inputs_of(build, target)
            if inputs and not inputs & nvcc:
                found[name] = target
    return found


def to_tidy(everything: bool) -> list[str]:
    """The files that clang-tidy reads: all, or a sample of those that have changed since the last whole run. Without a
    record of one it is a sample of all: the last commit alone would let what others changed slip."""
    commit = record()["steps"].get("clang-tidy", {}).get("commit")
    if everything or not commit:
        files = [file for file in output_of("git", "ls-files").splitlines() if TIDIED.search(file)]
        return files if everything else sample(files, MOST_TO_TIDY)
    changed = [file for file in files_changed(commit) or [] if TIDIED.search(file) and (ROOT / file).exists()]
    return sample(changed, MOST_TO_TIDY)


# ---- What ran ----


def gtests_of(program: Path) -> set[str]:
    """The tests of a program; none where it is not one of GoogleTest."""
    if not program.is_file() or b"gtest_list_tests" not in program.read_bytes():
        return set()
    suite, found = "", set()
    for line in output_of(str(program), "--gtest_list_tests").splitlines():
        name = line.split("#")[0].strip()
        if line.startswith("  "):
            found |= {suite + name} if "DISABLED_" not in suite + name else set()
        elif name.endswith("."):
            suite = name
    return found


def ran_in(file: Path) -> dict[str, str]:
    """ "passed", "failed" or "skipped" by the name of the test, of a file as JUnit writes it."""
    outcomes = {}
    for case in ET.parse(file).iter("testcase"):
        left_out = case.get("status") in ("notrun", "disabled") or case.get("result") == "suppressed"
        reason = case.find("skipped")
        if left_out and (reason is None or not reason.get("message", "").startswith("SKIP_")):
            continue  # ctest has no other status where a test says itself that it is skipped
        failed = case.find("failure") is not None or case.find("error") is not None
        skipped = reason is not None or case.get("result") == "skipped"
        name = f"{case.get('classname')}.{case.get('name')}" if file.suffix == ".xml" else str(case.get("name"))
        outcomes[name] = "failed" if failed else "skipped" if skipped else "passed"
    return outcomes


def ran(builds: list[Path], everything: bool) -> tuple[dict[str, Counter], list[str]]:
    """The counts by what ran, and what did not run though it had to: each ctest and each test of each program, lengthy
    ones in the first of the builds alone and where everything has to, and each file of pytest's."""
    counts: dict[str, Counter] = {}
    missing = []
    for build in builds:
        left_out = [] if everything else unreached_tests(build)
        tests = {name: program for name, program in ctests(build).items() if name not in left_out}
        of_file = {file: ran_in(file) for file in sorted((build / "ran").glob("*"))}
        done = {name: outcome for outcomes in of_file.values() for name, outcome in outcomes.items()}
        of_tests = [outcomes.values() for file, outcomes in of_file.items() if file.suffix != ".junit"]
        counts[f"ctest {build.name}"] = Counter(itertools.chain.from_iterable(of_tests))
        begun = {program for name, program in tests.items() if done.get(name) != "skipped"}
        left = {*tests, *(name for program in begun for name in gtests_of(program))} - done.keys()
        has_to_run_all = everything and build == builds[0]
        lengthy = set() if has_to_run_all else {name for name in left if "engthy" in name}
        if lengthy:
            print(f"{build.name}: {len(lengthy)} lengthy tests and processes did not run here")
        missing += [f"{build.name}: {name}" for name in sorted(left - lengthy)]
    reports = {file.stem: ran_in(file) for file in sorted((ROOT / "build-ran").glob("*.xml"))}
    counts |= {f"pytest {name}": Counter(outcomes.values()) for name, outcomes in reports.items()}
    modules = {part for outcomes in reports.values() for name in outcomes for part in re.findall(r"\btest_\w+", name)}
    files = sorted(ROOT.glob("*/tests/**/test_*.py"))
    folders = {path.parent for path in files if path.stem in modules}
    for path in (path for path in files if path.stem not in modules):
        marked = "pytest.mark.long" in path.read_text(encoding="utf-8")
        if everything or (path.parent in folders and not marked):
            missing.append(str(path.relative_to(ROOT)))
        else:
            print(f"{path.relative_to(ROOT)} is for the long run")
    return counts, missing


def has_passed(step: str) -> bool:
    """Whether a step of the long run is on record at this commit."""
    return record()["steps"].get(step, {}).get("commit") == seed()


def note(step: str, wall: float, processor: float) -> None:
    """Puts a step that has passed on record, with its seconds."""
    passed = {
        "commit": seed(),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "toolchain": toolchain(),
        "wall_s": round(wall),
        "processor_s": round(processor),
    }
    steps = record()["steps"] | {step: passed}
    needs.write_whole(RECORD, json.dumps({"steps": dict(sorted(steps.items()))}, indent=2) + "\n")
