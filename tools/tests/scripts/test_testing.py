"""The tests' own bookkeeping: nothing is left out unseen, and nothing goes on when a run ends."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers import ROOT, ran
from tools import suite, testing

NAMES = [f"name{number}" for number in range(97)]


def test_samples_rotate_with_the_commit_until_all_have_run(monkeypatch):
    monkeypatch.delenv("SGEMM_TEST_ALL", raising=False)
    chosen = []
    for commit in range(80):
        monkeypatch.setattr(testing, "seed", lambda commit=commit: f"{commit:040x}")
        chosen.append(testing.sample(NAMES, 10))
        assert testing.sample(NAMES, 10) == chosen[-1]
        assert len(chosen[-1]) == 10
    assert set().union(*chosen) == set(NAMES)
    monkeypatch.setenv("SGEMM_TEST_ALL", "1")
    assert testing.sample(NAMES, 10) == NAMES


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A build of a.cu and t.cu by nvcc, b.cpp, which another build has, and c.cpp, some with headers."""
    monkeypatch.setattr(testing, "ROOT", tmp_path)
    monkeypatch.setattr(testing, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(testing, "toolchain", lambda: "13.0")
    texts = {"a.cu": '#include "x/deep.cuh"\n', "x/deep.cuh": '#include "deeper.cuh"\n', "x/deeper.cuh": ""}
    texts |= {"x/tests/t.cu": "", "b.cpp": "", "c.cpp": "#include <c.hpp>\n", "include/c.hpp": ""}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    def entry(compiler, name):
        command = f"ccache {compiler} -I{tmp_path}/include -o {name}.o -c {tmp_path / name}"
        return {"file": str(tmp_path / name), "command": command}

    entries = [entry("nvcc", "a.cu"), entry("g++", "b.cpp"), entry("g++", "c.cpp"), entry("nvcc", "x/tests/t.cu")]
    for folder, own in (("build", entries), ("beside", entries[1:2])):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "compile_commands.json").write_text(json.dumps(own), encoding="utf-8")
    return tmp_path


ALL = ["a.cu.o", "c.cpp.o", "x/tests/t.cu.o"]


def on_record(root, **more):
    step = {"commit": "0" * 40, "toolchain": "13.0", **more}
    steps = dict.fromkeys((testing.CUDA_STEP, *testing.TESTS_STEPS), step)
    (root / "record.json").write_text(json.dumps({"steps": steps}), encoding="utf-8")


@pytest.mark.parametrize(
    ("changed", "reached"),
    [
        (["x/deeper.cuh"], ["a.cu.o"]),
        (["include/c.hpp", "README.md"], ["c.cpp.o"]),
        (["b.cpp"], []),
        (["cmake/CompileOptions.cmake"], ALL),
        (["x/CMakeLists.txt"], ALL),
        (["runner/CMakeLists.txt"], []),
        (["x/tests/CMakeLists.txt"], ["x/tests/t.cu.o"]),
        (None, ALL),  # a commit that the repository has not
    ],
)
def test_a_change_reaches_what_includes_it(build, monkeypatch, changed, reached):
    monkeypatch.setattr(testing, "files_changed", lambda _: changed)
    on_record(build)
    assert testing.objects_reached(build / "build", build / "beside") == reached


def test_another_nvcc_and_no_record_reach_everything(build, monkeypatch):
    monkeypatch.setattr(testing, "files_changed", lambda commit: None if commit is None else [])
    monkeypatch.setattr(testing, "toolchain", lambda: "13.1")
    assert len(testing.objects_reached(build / "build", build / "beside")) == len(ALL)
    on_record(build)
    assert len(testing.objects_reached(build / "build", build / "beside")) == len(ALL)
    on_record(build, toolchain="13.1")
    assert testing.objects_reached(build / "build", build / "beside") == []


@pytest.mark.parametrize(
    ("changed", "unreached"),
    [
        (["README.md"], ["rooms/b_tests", "rooms/c_tests"]),
        (["include/c.hpp"], ["rooms/b_tests"]),
        (["b.cpp", "a.cu"], ["rooms/c_tests"]),
        (["results/shapes.csv"], ["rooms/b_tests"]),  # c.cpp may read it
        (["simt/include/simt/x.hpp"], ["rooms/c_tests"]),  # b.cpp compiles what includes it
        (["cmake/CompileOptions.cmake"], []),
        (None, []),
    ],
)
def test_a_program_that_a_change_does_not_reach_is_not_built(build, monkeypatch, changed, unreached):
    entries = build / "build" / "compile_commands.json"
    text = entries.read_text(encoding="utf-8").replace("-o c.cpp", "-DSGEMM_SOURCE_DIR=x -o c.cpp")
    text = text.replace("-o b.cpp", "-DSIMT_SOURCE_INCLUDE=x -o b.cpp")
    entries.write_text(text, encoding="utf-8")
    programs = {f"{room}_tests_{shard}": build / f"build/rooms/{room}_tests" for room in "bc" for shard in range(2)}
    monkeypatch.setattr(testing, "ctests", lambda _: programs | {"page": Path("/usr/bin/cmake"), "simt_tests": build})
    monkeypatch.setattr(testing, "inputs_of", lambda _, target: {f"{target[6]}.cpp.o", "libgtest.a"})
    monkeypatch.setattr(testing, "files_changed", lambda _: changed)
    on_record(build)
    assert testing.programs_unreached(build / "build") == unreached
    names = [f"{Path(program).name}_{shard}" for program in unreached for shard in range(2)]
    assert testing.unreached_tests(build / "build") == names
    made = "build all: phony rooms/all d.so\nbuild rooms/all: phony rooms/b_tests rooms/c_tests objects\n"
    (build / "build" / "build.ninja").write_text(f"{made}build objects: phony d.cpp.o\n", encoding="utf-8")
    assert set(testing.targets_reached(build / "build")) == {"d.so", "rooms/b_tests", "rooms/c_tests"} - set(unreached)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A build with a program of two tests, one of which is lengthy, and two files for pytest; ran(NAME...) says of a
    test or a file that it ran."""
    monkeypatch.setattr(testing, "ROOT", tmp_path)
    monkeypatch.setattr(testing, "ctests", lambda _: {"program_0": Path("program")})
    monkeypatch.setattr(testing, "programs_unreached", lambda _: [])
    monkeypatch.setattr(testing, "gtests_of", lambda _: {"Suite.Works", "LengthySuite.Works"})
    for folder in ("build/ran", "build-ran", "room/tests/a"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / "room" / "tests" / "a" / name).write_text("", encoding="utf-8")

    def ran(*names):
        cases = {"build/ran/ctest.junit": "", "build/ran/program_0.xml": "", "build-ran/a.xml": ""}
        for name in names:
            folder, _, test = name.rpartition(".")
            file = "build-ran/a.xml" if "test_" in name else f"build/ran/{'program_0.xml' if folder else 'ctest.junit'}"
            cases[file] += f'<testcase classname="{folder}" name="{test}" status="run"/>'
        for file, text in cases.items():
            (tmp_path / file).write_text(f"<testsuite>{text}</testsuite>", encoding="utf-8")

    return ran


SHORT = ("program_0", "Suite.Works", "tests.a.test_one.test_x", "tests.a.test_two.test_x")


@pytest.mark.parametrize(
    ("left_out", "told"),
    [
        (None, []),
        ("program_0", ["build: program_0"]),
        ("Suite.Works", ["build: Suite.Works"]),
        ("tests.a.test_one.test_x", ["room/tests/a/test_one.py"]),
    ],
)
def test_what_did_not_run_is_told(results, tmp_path, left_out, told):
    results(*(name for name in SHORT if name != left_out))
    assert testing.ran([tmp_path / "build"], False)[1] == told


def test_a_step_that_has_passed_is_on_record(build, monkeypatch):
    monkeypatch.setattr(testing, "seed", lambda: "1" * 40)
    on_record(build)
    testing.note("ctest cuda", 1.5, 4.2)
    assert [testing.has_passed(name) for name in ("build cuda", "ctest cpu", "ctest cuda")] == [False, False, True]
    step = testing.record()["steps"]["ctest cuda"]
    assert (step["wall_s"], step["processor_s"]) == (2, 4)


def test_the_long_run_has_the_lengthy_ones_too(results, tmp_path):
    results(*SHORT)
    shutil.copytree(tmp_path / "build", tmp_path / "other")
    builds = [tmp_path / "build", tmp_path / "other"]
    assert testing.ran(builds, True)[1] == ["build: LengthySuite.Works"]
    results(*SHORT, "LengthySuite.Works")
    counts, missing = testing.ran([tmp_path / "build"], True)
    assert (missing, counts["ctest build"]) == ([], {"passed": 2})


@pytest.mark.parametrize("passed", [0, 1])
def test_a_step_whose_tests_are_all_skipped_fails(monkeypatch, tmp_path, capsys, passed):
    skipped = '<testcase name="a"><skipped message="there is no build"/></testcase>'
    cases = skipped + '<testcase name="b"/>' * passed
    (tmp_path / "schemas.xml").write_text(f"<testsuite>{cases}</testsuite>", encoding="utf-8")
    monkeypatch.setattr(suite, "RAN", tmp_path)
    monkeypatch.setattr(suite, "run", lambda *_, **__: True)
    assert suite.pytest("schemas", tmp_path) == bool(passed)
    assert ("schemas: all tests were skipped" in capsys.readouterr().out) != bool(passed)


@pytest.mark.parametrize(("message", "count"), [("SKIP_RETURN_CODE=77", 0), ("Unable to find executable", 2)])
def test_a_program_that_skips_itself_is_not_missing(results, tmp_path, message, count):
    results("tests.a.test_one.test_x", "tests.a.test_two.test_x")
    case = f'<testcase name="program_0" status="notrun"><skipped message="{message}"/></testcase>'
    (tmp_path / "build" / "ran" / "ctest.junit").write_text(f"<testsuite>{case}</testsuite>", encoding="utf-8")
    assert len(testing.ran([tmp_path / "build"], False)[1]) == count


SCRIPT = """
from pathlib import Path
from tools import testing
from tools.steps import Steps
from tools.suite import run
testing.RECORD = Path("record.json")
with Steps({options}) as steps:
    {lines}
    raise SystemExit(not steps.report())
"""


def script(options: str, *lines: str) -> list[str]:
    return [sys.executable, "-c", SCRIPT.format(options=options, lines="; ".join(lines))]


def steps(folder: Path, options: str, *lines: str, status: int) -> str:
    """What is told of steps that have ended so."""
    return ran(*script(options, *lines), folder=folder, status=status, PYTHONPATH=ROOT).stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_goes_on_when_a_run_is_ended(tmp_path, number):
    """Neither a step, nor what runs beside, nor what they have started."""
    begun = [tmp_path / "beside", tmp_path / "step"]
    command = 'run, "sh", "-c", "echo $$ >{0}.new; mv {0}.new {0}; sleep 1000; true"'
    lines = [
        f'steps.{how}("{how}", {command.format(path)})' for how, path in zip(("start", "step"), begun, strict=True)
    ]
    command = ["env", "--default-signal=INT", *script("", *lines)]  # what runs in the background ignores SIGINT
    how = {"cwd": ROOT, "stderr": subprocess.DEVNULL, "start_new_session": True}
    with subprocess.Popen(command, **how) as process:
        while not all(path.exists() for path in begun):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    for _ in range(500):
        listed = ran("ps", "-eo", "sid,stat,args", status=0).stdout
        alive = [line for line in listed.splitlines() if re.match(rf" *{process.pid} +[^Z]", line)]
        if not alive:
            break
        time.sleep(0.02)
    assert not alive


def test_steps_are_counted_and_a_failed_one_fails_the_run(tmp_path):
    lines = ['steps.start("beside", run, "false")', 'steps.step("one", run, "echo", "words")', 'steps.finish("beside")']
    told = steps(tmp_path, "", *lines, 'steps.step("three", run, lacks="it is missing")', status=1)
    assert "\n== one\nwords\n\n== beside\n\n== three: skipped, it is missing\n" in told
    assert told.endswith("FAILED: beside\n1 passed, 1 failed, 1 skipped\n")
    assert steps(tmp_path, "", *lines[1:2], status=0).endswith("\n1 passed, 0 failed, 0 skipped\n")
    assert "ZeroDivisionError" in steps(tmp_path, "", 'steps.step("one", lambda: 1 // 0)', status=1)


def test_a_step_has_its_own_time_however_late_it_is_finished(tmp_path):
    lines = ['steps.start("beside", run, "true")', 'steps.step("one", run, "sleep", "1.2")', 'steps.finish("beside")']
    assert re.search(r"\n    0 s      0 s  beside\n", steps(tmp_path, "", *lines, status=0))


def test_clang_tidy_begins_when_the_build_has_made_its_headers(monkeypatch, tmp_path):
    (tmp_path / "build-tidy").mkdir()
    (tmp_path / "build-tidy" / "compile_commands.json").write_text(f'"{tmp_path}/a.cpp"', encoding="utf-8")
    begun = []
    monkeypatch.setattr(suite, "ROOT", tmp_path)
    monkeypatch.setattr(suite, "run", lambda program, *_: begun.append(program) or True)
    assert suite.Suite(None, False).tidy(["a.cpp"])
    assert begun == ["cmake", "cmake", "clang-tidy"]


def test_steps_that_have_passed_are_not_taken_again(tmp_path):
    lines = [f'steps.step("one", run, "sh", "-c", "echo x >>{tmp_path}/log")', 'steps.step("two", run, "false")']
    for told in ("\n== one\n", "\n== one: it has passed before\n"):
        assert told in steps(tmp_path, "(), True", *lines, status=1)
    assert len((tmp_path / "log").read_text(encoding="utf-8").splitlines()) == 1


def test_of_steps_those_are_taken_that_are_wanted(tmp_path):
    lines = ['steps.step("one", run, "false")', 'steps.step("run", run, "true")', 'steps.step("two", run, lacks="it")']
    told = steps(tmp_path, '["un", "x"]', *lines, status=0)
    assert told.startswith("\n== run\n")
    assert told.endswith("\n1 passed, 0 failed, 0 skipped\n")


def test_what_a_long_run_writes_does_not_make_it_begin_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(testing, "ROOT", tmp_path)
    assert suite.uncommitted()
    ran("git", "init", "-q", tmp_path, status=0)
    (tmp_path / "tests" / "mutants").mkdir(parents=True)
    for name, uncommitted in (("record.json", ""), ("mutants/table.csv", ""), ("new.cpp", " A tests/new.cpp\n")):
        (tmp_path / "tests" / name).write_text("", encoding="utf-8")
        ran("git", "-C", tmp_path, "add", "-N", ".", status=0)
        assert suite.uncommitted() == uncommitted


@pytest.mark.parametrize("words", [["kitchen"], ["--fast"], ["--all", "kitchen"], ["simt", "--all"]])
def test_a_wrong_room_or_step_is_told(words):
    done = ran(ROOT / "scripts" / "test.sh", *words, status=2)
    assert done.stderr.splitlines()[-1].startswith("scripts/test.sh: error: ")


# ---- Each script, tool and preset has a place where it runs ----


def texts(*patterns: str) -> str:
    paths = [path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()]
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)


def test_every_script_and_every_tool_is_called_by_a_test_or_a_script():
    callers = texts("*/tests/**/*.py", "scripts/test.sh", "tools/suite.py", ".ci/run", ".github/workflows/*.yml")
    scripts = [path.name for path in (ROOT / "scripts").iterdir() if path.suffix in (".sh", ".py")]
    files = set((ROOT / "tools").rglob("*.py")) - set((ROOT / "tools" / "tests").rglob("*"))
    tools = [path for path in sorted(files) if "__main__" in path.read_text(encoding="utf-8")]
    names = {path: path.stem for path in tools} | {Path(name): name.partition(".")[0] for name in scripts}
    assert [str(path) for path, name in names.items() if not re.search(rf"\b{name}\b", callers)] == []


def test_every_preset_is_taken_by_the_tests_or_told_of():
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
    told = texts("tools/suite.py", "CONTRIBUTING.md")
    names = {
        preset["name"]
        for kind in ("configurePresets", "buildPresets", "testPresets")
        for preset in presets[kind]
        if not preset.get("hidden")
    }
    assert [name for name in sorted(names) if not re.search(rf'(self.build, "|ctest, "|`){name}\b', told)] == []


def test_every_test_program_is_one_of_ctest_or_said_to_be_for_a_person():
    """A program that is built and run by nothing would look like a test."""
    files = texts("tests/CMakeLists.txt", "*/tests/**/CMakeLists.txt")
    programs = set(re.findall(r"add_executable\((\w+)", files))
    run = set(re.findall(r"add_test\(NAME \w+\s+COMMAND (\w+)", files)) | set(
        re.findall(r"add_test_shards\((\w+)", files)
    )
    started = texts("*/tests/**/*.py", "*/tests/**/*.cpp", "docs/**/*.md", "*/tests/**/CMakeLists.txt")
    pytest_or_person = {
        name for name in programs if re.search(rf'"{name}"|`[^`]*\b{name}\b|TARGET_FILE:{name}\b', started)
    }
    assert sorted(programs - run - pytest_or_person) == []


def test_lengthy_is_what_names_of_suites_begin_with_and_nothing_else():
    named = re.compile(r"^(TEST|TEST_F|TEST_P|INSTANTIATE_TEST_SUITE_P)\(\s*(\w+),\s*(\w+)", re.MULTILINE)
    suites, tests = set(), set()
    for macro, group, name in named.findall(texts("*/tests/**/*.cpp")):
        suites.add(group)
        (tests if macro.startswith("TEST") else suites).add(name)
    labelled = {suite for suite in suites if "Lengthy" in suite}
    assert {"Lengthy", "LengthyExecutedChapters", "LengthyTallTest"} <= labelled
    assert all(suite.startswith("Lengthy") for suite in labelled)
    assert not [test for test in tests if "Lengthy" in test]
