import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from helpers import ROOT, Ended, cpu_alone, edit, executed, fake, ran, said, stand_ins
from tools import check_results

SCRIPTS = ROOT / "scripts"


@pytest.mark.parametrize("script", [*sorted(SCRIPTS.glob("*.sh")), ROOT / ".ci" / "run"], ids=lambda p: p.name)
def test_scripts_parse_and_can_be_run(script):
    assert ran("bash", "-n", str(script)).returncode == 0
    assert os.access(script, os.X_OK) == (script.name != "lib.sh")


def test_python_sh_prints_an_interpreter_that_has_what_is_needed():
    here = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for options, modules in (
        ((), "numpy, pandas, vl_convert"),
        (("--dev",), "matplotlib, pandas, cogapp, jsonschema, pytest, ruff"),
    ):
        done = ran(SCRIPTS / "python.sh", *options, PATH=here, status=0)
        interpreter = done.stdout.strip()
        assert done.stdout == f"{interpreter}\n"
        assert ran(interpreter, "-c", f"import {modules}").returncode == 0


@pytest.mark.parametrize("command", ["python.sh --fast", "sanitize.sh --fast", "sanitize.sh build racecheck"])
def test_unknown_options_are_refused(command):
    script, *options = command.split()
    assert ran(SCRIPTS / script, *options).returncode == 2


def minimal_path(tmp_path: Path, *programs: str, **fakes: str) -> str:
    """A PATH with the basics and stand-ins, and no apt, nvcc or nvidia-smi."""
    folder = tmp_path / "bin"
    stand_ins(folder, **fakes)
    for program in ("bash", "env", "dirname", "cat", "head", "tr", "printf", *programs):
        (folder / program).symlink_to(shutil.which(program))
    return str(folder)


def lib(command: str, path: str, status: int | None = 0) -> Ended:
    return ran("bash", "-euo", "pipefail", "-c", f". {SCRIPTS}/lib.sh; {command}", PATH=path, status=status)


def apt(log: Path) -> dict[str, str]:
    """Stand-ins of a Debian that has cmake alone, for root."""
    query = 'if [ "${@: -1}" = cmake ]; then printf installed; else exit 1; fi'
    return {"dpkg_query": query, "apt_get": f'echo "$@" >>{log}', "id": "echo 0"}


def test_without_apt_packages_are_listed(tmp_path):
    done = lib("install_packages cmake libfmt-dev", minimal_path(tmp_path))
    assert "no apt" in done.stderr
    assert "cmake libfmt-dev" in done.stderr


def test_apt_is_asked_only_for_what_is_missing(tmp_path):
    log = tmp_path / "apt.log"
    path = minimal_path(tmp_path, **apt(log))
    lib("install_packages cmake", path)
    assert not log.exists()
    lib("install_packages cmake libfmt-dev", path)
    update, install = log.read_text(encoding="utf-8").splitlines()
    assert update.startswith("update")
    assert install.endswith(" libfmt-dev")
    assert "cmake" not in install


def test_without_root_and_sudo_the_command_is_named(tmp_path):
    done = lib("install_packages ninja", minimal_path(tmp_path, **apt(tmp_path / "log") | {"id": "echo 1000"}), 1)
    assert "as root: apt-get install ninja" in done.stderr


def test_where_pypi_can_not_be_reached_the_systems_packages_are_taken(tmp_path):
    log = tmp_path / "apt.log"
    python3 = 'case "$*" in *pandas*|*venv*) exit 1 ;; esac'
    path = minimal_path(tmp_path, "sha256sum", "cut", python3=python3, **apt(log))
    shutil.copytree(SCRIPTS, tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    done = ran(tmp_path / "scripts" / "python.sh", PATH=path)
    assert log.read_text(encoding="utf-8").endswith(" python3 python3-numpy python3-pandas\n")
    if done.returncode == 0:  # this machine happens to have them
        assert done.stdout == "/usr/bin/python3\n"
    else:
        assert "pandas" in done.stderr.splitlines()[-1]


@pytest.mark.skipif(os.access("/usr/local/cuda/bin/nvcc", os.X_OK), reason="nvcc is where it is always found")
def test_without_nvcc_the_way_to_it_is_named(tmp_path):
    path = minimal_path(tmp_path)
    lib("find_nvcc", path, 1)
    assert "cuda-keyring" in lib("explain_nvcc", path).stderr


@pytest.mark.parametrize(
    ("capability", "expected"), [("9.0", "90a-real"), ("8.9", "89-real"), ("12.0", "120-real"), ("", "")]
)
def test_the_architecture_of_the_gpu_here(tmp_path, capability, expected):
    path = minimal_path(tmp_path, **{"nvidia_smi": f"echo {capability}"} if capability else {})
    assert lib("native_architecture", path, None).stdout == expected


FAKE_SANITIZER = """
case "$*" in
  *racecheck*) summary="RACECHECK SUMMARY: {hazards} hazards displayed ({hazards} errors, 0 warnings)" ;;
  *) summary="ERROR SUMMARY: 0 errors" ;;
esac
echo "$SGEMM_TEST_SMALL $@" >>{log}
echo "[  PASSED  ] {tests} tests."
echo "========= $summary"
case "$*" in *racecheck*) exit {status} ;; esac
"""


def sanitize(tmp_path: Path, ends: int, **facts) -> tuple[Ended, str]:
    """Runs sanitize.sh, which ends so, with a stand-in for compute-sanitizer; returns what it said and how that was
    called."""
    build, log = tmp_path / "build", tmp_path / "calls"
    (build / "tests").mkdir(parents=True)
    fake(build / "tests", "gpu_tests", "")
    text = FAKE_SANITIZER.format(**{"hazards": 0, "tests": 12, "status": 0, "log": log, **facts})
    done = ran(SCRIPTS / "sanitize.sh", build, PATH=stand_ins(tmp_path / "bin", compute_sanitizer=text), status=ends)
    return done, log.read_text(encoding="utf-8") if log.exists() else ""


def test_sanitize_looks_at_the_kernels_of_every_chapter(tmp_path):
    done, calls = sanitize(tmp_path, 0)
    tools = ["memcheck", "racecheck", "initcheck"]
    assert [line.partition(",")[0] for line in done.stdout.splitlines()] == [f"{tool}: clean" for tool in tools]
    assert [call.split()[:3] for call in calls.splitlines()] == [["1", "--tool", tool] for tool in tools]
    names = {word[4:] for word in calls.split() if word.startswith("kns=")}
    chapters = [path.read_text(encoding="utf-8") for path in (ROOT / "kernels").glob("[0-9][0-9]_*.cu")]
    assert chapters and all(any(name in text for name in names) for text in chapters)
    assert (tmp_path / "build" / "logs" / "memcheck.log").exists()


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"hazards": 3, "status": 9}, "exit status 9, 3 hazards displayed"),
        ({"hazards": 3}, "exit status 0, 3 hazards displayed"),
        ({"tests": 0}, "exit status 0, no test ran"),
        ({"status": 77}, "exit status 77, 0 hazards displayed"),
    ],
)
def test_sanitize_tells_what_went_wrong(tmp_path, facts, words):
    done, _ = sanitize(tmp_path, 1, **facts)
    assert f"\nracecheck: FAILED with {words}" in done.stdout
    assert (tmp_path / "build" / "logs" / "racecheck.log").exists()


NO_GPU = "exit 9"  # as nvidia-smi
FAKE_RUNNER = """
if [ "$1" = --version ]; then echo "sgemm-worklog 0.1.0, commit {commit}"; exit; fi
while [ "$1" != --out ]; do shift; done
echo "$2" >"$2"
exit {status}
"""


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """The build folder of measure_device."""
    (tmp_path / "build").mkdir()
    return tmp_path / "build"


def measure_device(tmp_path: Path, *options: str, by: tuple[str, ...] = (), smi="echo NVIDIA H200", **how) -> Ended:
    folders = ("--build", tmp_path / "build", "--out", tmp_path / "out")
    path = stand_ins(tmp_path / "bin", nvidia_smi=smi)
    return ran(*by, SCRIPTS / "measure_device.sh", *folders, *options, PATH=path, **how)


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_measure_device_says_how_it_is_used(tmp_path, option):
    done = measure_device(tmp_path, option, smi=NO_GPU)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Measures everything that results/<device>/ holds")
    assert "  cold.json:  all kernels over 256:8192" in lines
    assert lines[-1].startswith("Steps: build, test, sanitize, list, cold, ")
    assert not [line for line in lines if line.startswith("#")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "foo"], "unknown step foo; there are build, test, sanitize, list, cold, "),
        (["--steps", "cold,,foo"], "unknown step foo"),
        (["--steps", "test,sanitize,"], "This machine has no NVIDIA GPU"),
        (["--steps"], "--steps needs a value"),
        (["--fast"], "unknown option --fast"),
    ],
)
def test_measure_device_refuses_what_it_does_not_know(tmp_path, options, message):
    done = measure_device(tmp_path, *options, smi=NO_GPU)
    assert done.stderr.startswith(message)
    assert done.returncode == (1 if "GPU" in message else 2)
    assert not (tmp_path / "build" / "logs").exists()


def test_every_step_of_measure_device_is_known(tmp_path):
    """Each default step has something to run: its name is a case of run_step or a line of measurements.txt."""
    text = (SCRIPTS / "measure_device.sh").read_text(encoding="utf-8")
    steps = re.search(r"there are (.*)\n", measure_device(tmp_path, "--steps", "foo").stderr)[1].split(", ")
    body = text.partition("run_step() {")[2].partition("\n}\n")[0]
    measured = re.findall(r"^([a-z]\S*) ", (SCRIPTS / "measurements.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*re.findall(r"^    ([a-z0-9-]+)\)", body, re.MULTILINE), *measured} == set(steps)


def test_measuring_goes_on_where_it_stopped(tmp_path, build):
    out = tmp_path / "out"
    nothing = measure_device(tmp_path, "--resume", "--steps", "cold,warm", status=1)
    assert "no earlier call left anything" in nothing.stderr
    fake(build, "runner", FAKE_RUNNER.format(commit="aaa", status='$([ "$2" != warm.json ]; echo $?)'))
    done = measure_device(tmp_path, "--steps", "cold,warm,shapes", status=1)
    assert "Failed: warm" in done.stderr
    assert (out / "cold.json").read_text(encoding="utf-8") == "cold.json\n", "a path without a folder"
    assert (out / "progress").read_text(encoding="utf-8") == "commit aaa\ndone cold\ndone shapes\n"

    fake(build, "runner", FAKE_RUNNER.format(commit="bbb", status=0))
    refused = measure_device(tmp_path, "--resume", "--steps", "cold,warm,shapes", status=1)
    assert "the results so far are of commit aaa, the build is of commit bbb" in refused.stderr
    fake(build, "runner", FAKE_RUNNER.format(commit="aaa with changes", status=0))
    assert "files differ from the commit" in measure_device(tmp_path, "--resume", "--steps", "warm").stderr

    fake(build, "runner", FAKE_RUNNER.format(commit="aaa", status=0))
    (out / "cold.json").write_text("kept", encoding="utf-8")
    done = measure_device(tmp_path, "--resume", "--steps", "cold,warm,shapes", status=0)
    assert "== cold is done" in done.stderr
    assert (out / "cold.json").read_text(encoding="utf-8") == "kept"
    assert (out / "warm.json").exists()
    progress = out / "progress"
    assert "done warm" in progress.read_text(encoding="utf-8"), "there are more steps to do"
    steps = re.search(r"^Steps: (.*)", measure_device(tmp_path, "--help").stdout, re.MULTILINE)[1].split(", ")
    progress.write_text("commit aaa\n" + "".join(f"done {s}\n" for s in steps if s != "warm"), encoding="utf-8")
    assert measure_device(tmp_path, "--resume", "--steps", "warm,shapes").returncode == 0
    assert not progress.exists(), "all steps are done"


def test_a_kill_costs_one_step(tmp_path, build):
    out = tmp_path / "out"
    out.mkdir()
    (out / "warm.json").write_text("of an earlier round", encoding="utf-8")
    killer = 'case "$*" in *warm.json) echo half >warm.json; kill -KILL 0 ;; esac'  # the script as well
    fake(build, "runner", killer + FAKE_RUNNER.format(commit="aaa", status=0))
    assert measure_device(tmp_path, "--steps", "cold,warm,shapes", by=("setsid", "--wait")).returncode != 0
    assert (out / "progress").read_text(encoding="utf-8") == "commit aaa\ndone cold\n"
    assert (out / "cold.json").read_text(encoding="utf-8") == "cold.json\n"
    assert (out / "warm.json").read_text(encoding="utf-8") == "of an earlier round"


def chapters_of(kernels: str) -> set[int]:
    """The chapters that --kernel names by numbers and ranges."""
    ends = [term.split(":")[0].split("-") for term in kernels.split(",") if term[0].isdigit()]
    return {number for first, *last in ends for number in range(int(first), int((last or [first])[0]) + 1)}


def test_the_last_chapter_is_measured_in_every_step_that_names_chapters(tmp_path, build):
    log = tmp_path / "calls"
    fake(build, "runner", f'echo "$@" >>{log}' + FAKE_RUNNER.format(commit="aaa", status=0))
    steps = ("cold", "warm", "shapes-tensor", "accuracy", "energy", "sustained")
    assert measure_device(tmp_path, "--steps", ",".join(steps)).returncode == 0
    asked = [line.split() for line in log.read_text(encoding="utf-8").splitlines() if "--kernel" in line]
    kernels = {step: words[words.index("--kernel") + 1] for step, words in zip(steps, asked, strict=True)}
    last = max(int(path.name[:2]) for path in (ROOT / "kernels").glob("[0-9][0-9]_*.cu"))
    assert {step for step, named in kernels.items() if named != "all" and last not in chapters_of(named)} == set()
    assert [step for step, named in kernels.items() if named == "all"] == ["cold", "warm", "accuracy"]


def test_lists_reach_the_runner_as_one_word_each(tmp_path, build):
    log = tmp_path / "calls"
    fake(build, "runner", f'printf "%s\\n" "$@" >>{log}' + FAKE_RUNNER.format(commit="aaa", status=0))
    assert measure_device(tmp_path, "--steps", "shapes,few-rows,levels,end-to-end").returncode == 0
    words = log.read_text(encoding="utf-8").splitlines()
    assert words.count("cublas,18:0 levels,18:1 levels,18:2 levels,18:3 levels") == 2
    assert not [word for word in words if "$" in word or word.endswith(",")]
    sizes = "in the order of the results so far"
    assert [word for word in words if word.startswith("1x4096x4096:nt,4x4096x4096:nt,8x4096x4096:nt,")], sizes


def test_tests_are_built_where_a_step_runs_them(tmp_path, build):
    log = tmp_path / "calls"
    stand_ins(tmp_path / "bin", cmake=f'echo "$@" >>{log}', nvcc="exit 0", ctest="exit 0")
    fake(build, "runner", FAKE_RUNNER.format(commit="aaa", status=0))
    assert measure_device(tmp_path, "--steps", "build,test").returncode == 0
    assert measure_device(tmp_path, "--steps", "build,cold").returncode == 0
    configured = [line for line in log.read_text(encoding="utf-8").splitlines() if "SGEMM_BUILD_TESTS" in line]
    assert ["-DSGEMM_BUILD_TESTS=ON" in line for line in configured] == [True, False]


def suite(folder: Path, runner: str, nvidia_smi: str) -> Path:
    """A suite with stand-ins. Its build does nothing, and its report is an empty file: a whole one takes seconds, and
    tools/tests/scripts/test_report.py writes some."""
    shutil.copytree(SCRIPTS, folder / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("runner", "tools"):  # the scripts read the runner's names of counters
        (folder / name).symlink_to(ROOT / name)
    (folder / "build").mkdir()
    (folder / "scripts" / "report.py").write_text("import sys; open(sys.argv[-1], 'w')", encoding="utf-8")
    fake(folder / "scripts", "python.sh", f"echo {sys.executable}")
    stand_ins(folder / "bin", cmake="", dpkg_query="printf installed", nvidia_smi=nvidia_smi)
    fake(folder / "build", "runner", runner)
    return folder


def quick_start(root: Path, status: int) -> Ended:
    return ran(root / "scripts" / "quickstart.sh", PATH=stand_ins(root / "bin"), status=status)


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU, which the quick start would measure")
def test_the_quick_start_without_a_gpu_ends_with_charts_and_a_report(synthetic, edited, tmp_path):
    """The runner copies results of the CPU."""
    shutil.copy(synthetic / "cold.json", synthetic / "executed.json")
    checked, timed = edited("executed.json", executed), edited("cold.json", cpu_alone)
    choose = f'case " $* " in *" --check "*) file={checked} ;; *) file={timed} ;; esac'
    root = suite(tmp_path / "suite", f'{choose}\ncp "$file" "${{@: -1}}"', "exit 1")
    done = quick_start(root, status=0)
    (folder,) = (root / "build" / "measurements").iterdir()
    assert {path.name for path in folder.iterdir()} == {"executed.json", "results.json", "charts", "report.html"}
    assert f"Report:  {folder / 'report.html'}" in done.stderr
    assert f"Charts:  {folder / 'charts'}" in done.stderr
    timed.write_text("{}")  # which is left out, and nothing of the others has times
    untimed = quick_start(root, status=0)
    assert "skipped gflops_over_size: " in untimed.stdout and "Charts: " not in untimed.stderr
    assert "Report:  /" in untimed.stderr
    checked.write_text("{}")
    broken = quick_start(root, status=2)
    assert "Charts: " not in broken.stderr
    assert "Report:  /" in broken.stderr


H100 = ROOT / "results" / "nvidia-h100-80gb-hbm3"


def test_the_quick_start_leaves_a_folder_that_is_accepted(tmp_path, capsys):
    """What the runner measured on an H100 stands for what it would measure here."""
    smi = "case $* in *compute_cap*) echo 9.0 ;; *) echo NVIDIA H100 80GB HBM3 ;; esac"
    copy = f'out="${{@: -1}}"\n[ ! -e "{H100}/${{out##*/}}" ] || cp "{H100}/${{out##*/}}" "$out"'
    root = suite(tmp_path / "suite", copy, smi)
    fake(root / "bin", "nvcc", "")
    package = root / "library" / "python" / "sgemm"
    package.mkdir(parents=True)
    calibrate = f"import shutil, sys\nshutil.copy({str(H100 / 'calibration.txt')!r}, sys.argv[-1])"
    (package / "__main__.py").write_text(calibrate, encoding="utf-8")
    done = quick_start(root, status=0)
    (folder,) = (root / "build" / "measurements").glob("*/*")
    assert f"scripts/check_results.py build/{folder.relative_to(root / 'build')}" in done.stderr
    assert folder.name == H100.name
    assert {"cold.json", "calibration.txt", "charts"} <= {path.name for path in folder.iterdir()}
    assert said(capsys, check_results.main, folder).out == f"{folder}: every rule is kept\n"
    edit(folder / "cold.json", lambda document: document["context"]["device"].update(multiprocessors=1))
    assert check_results.main([str(folder)]) == 1, "its peaks follow from the multiprocessors"


def test_counts_are_replaced_where_every_kernel_was_counted(tmp_path):
    for folder in ("bin", "results/cpu-executor"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copytree(SCRIPTS, tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    fake(tmp_path / "bin", "python", "exit 0")
    fake(tmp_path / "scripts", "python.sh", f"echo {tmp_path}/bin/python")
    text = """case "$*" in *{}*) outcome=failed ;; *) outcome=counted ;; esac
printf '{{"outcome": "%s"}}' "$outcome" >"${{@: -1}}\""""
    fake(tmp_path, "runner", text.format("--nothing"))
    command = [tmp_path / "scripts" / "record_counts.sh", tmp_path / "runner", "64"]
    assert ran(*command).returncode == 0
    written = {path.name for path in (tmp_path / "results" / "cpu-executor").iterdir()}
    assert written == {"counts_64.json", "counts_2048_whole.json", "counts_64_tiles.json"}
    fake(tmp_path, "runner", text.format("9,11"))
    done = ran(*command)
    assert (done.returncode, done.stderr.splitlines()[1]) == (1, "Counting: counts_2048_whole.json")
    assert "counted" in (tmp_path / "results" / "cpu-executor" / "counts_2048_whole.json").read_text(encoding="utf-8")
    assert "There is no" in ran(command[0], tmp_path / "other").stderr


def test_what_git_ignores_stays_out_of_the_image_of_docker():
    """A leading slash in .gitignore is no **/ in .dockerignore."""

    def patterns(file: str) -> list[str]:
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line and not line.startswith("#")]

    ignored = {line[1:] if line.startswith("/") else f"**/{line}" for line in patterns(".gitignore")}
    assert set(patterns(".dockerignore")) == ignored
