"""runner --judge without a GPU: right files are right as far as that goes, and cheats are refused."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

import cheats
from runs import HANGS, ROOT, RUNNER, needs_runner, ran, schema_errors, started, wait_until
from test_user_kernels import LAUNCH, RIGHT
from tools import testing

pytestmark = needs_runner

SCHEMA = "runner/verdict/verdicts.schema.json"
SECRET = "00000000000000070000000000000005"
RIGHT_FILES = ROOT / "tests" / "wrong_kernels"
ON_THE_CPU = [cheat for cheat in cheats.cheats() if cheat.means == "cpu" and cheat.device_code]
BY_HOST_CODE = [cheat for cheat in cheats.cheats() if not cheat.device_code]
SAMPLE = testing.sample([cheat.path.stem for cheat in ON_THE_CPU], 15)
JUDGED = [cheat for cheat in ON_THE_CPU if cheat.path.stem in SAMPLE]


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def judge(what: str | Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return ran(RUNNER, "--judge", what, *arguments, "--device", "cpu")


def verdicts(what: str | Path, *arguments: str) -> tuple[int, list[dict]]:
    done = judge(what, "--json", "-", *arguments)
    document = json.loads(done.stdout)
    assert schema_errors(SCHEMA, document) == []
    return done.returncode, document["verdicts"]


def written(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["tiled", "mma"])
def test_a_right_file_is_right_as_far_as_it_can_be_judged(name):
    status, [verdict] = verdicts(RIGHT_FILES / f"right_{name}.cu")
    assert (status, verdict["verdict"], verdict["outcome"]) == (3, "undecided", "executed"), verdict["reason"]
    assert not verdict["accepted"]
    assert "speed was not judged" in verdict["reason"]
    assert verdict["weak_on"] == [] or name == "mma"  # whose operands are split
    tried = {(case["trial"], case["outcome"]) for case in verdict["cases"]}
    assert {("check", "executed"), ("operands", "compared")} <= tried
    assert len({case.get("data") for case in verdict["cases"]}) == 1 + 19  # and none, where nothing is compared
    assert all(trial["seconds"] > 0 for trial in verdict["trials"])


def test_a_program_without_symbols_can_not_check_and_calls_nothing_wrong(tmp_path):
    stripped = tmp_path / "runner"
    ran("strip", "-o", stripped, RUNNER).check_returncode()
    done = ran(stripped, "--judge", RIGHT_FILES / "right_naive.cu", "--device", "cpu", "--json", "-")
    [verdict] = json.loads(done.stdout)["verdicts"]
    assert (done.returncode, verdict["verdict"]) == (3, "undecided"), verdict["reason"]
    assert sum("stripped of the symbols" in note for note in verdict["notes"]) == 1
    assert {case["outcome"] for case in verdict["cases"]} == {"compared"}


def test_the_range_of_half_precision_is_not_that_of_fp32():
    status, [verdict] = verdicts(RIGHT_FILES / "right_wmma.cu")
    assert (status, verdict["outcome"]) == (4, "incorrect")
    wrong = {case["data"] for case in verdict["cases"] if case["outcome"] == "incorrect"}
    assert {"huge", "huge_row", "huge_column"} <= wrong <= {"huge", "huge_row", "huge_column", *verdict["weak_on"]}


@pytest.mark.parametrize("cheat", JUDGED, ids=lambda cheat: cheat.path.stem)
def test_a_cheat_is_refused_without_a_gpu(cheat):
    status, [verdict] = verdicts(cheat.path, "--timeout", "60")
    if cheat.path.stem in ("zero_operands", "rank_one") and verdict["verdict"] == "undecided":
        # In one of 40 judgements the 64 numbers of A that the first looks at meet one of the few that are not zero
        # (docs/lab/judge.md). In one of ten the four rows of the other meet one of the two that are no multiples.
        status, [verdict] = verdicts(cheat.path, "--timeout", "60")
    assert (status, verdict["verdict"]) == (4, "refused"), verdict["reason"]
    assert verdict["outcome"] in cheat.verdicts
    assert verdict["speeds"] == []
    assert verdict["hash"]


def test_files_that_launch_by_host_code_are_refused_before_they_are_compiled():
    status, judged = verdicts(",".join(str(cheat.path) for cheat in BY_HOST_CODE))
    assert status == 4
    assert len(judged) == len(BY_HOST_CODE) >= 3
    for cheat, verdict in zip(BY_HOST_CODE, judged, strict=True):
        assert (verdict["verdict"], cheat.verdicts) == ("refused", ["refused"])
        assert "launches by host code of its own" in verdict["reason"], verdict["reason"]
        assert f"--kernel {cheat.path} alone times it for its owner" in verdict["reason"]
        assert verdict["cases"] == []


def test_hidden_cases_are_those_of_the_secret():
    file = cheats.FOLDER / "odd_depth.cu"  # which the first trial refuses
    commands = [verdicts(file, *secret)[1][0]["trials"][0]["command"] for secret in (("--secret", SECRET),) * 2 + ((),)]
    assert commands[0] == commands[1] != commands[2]
    again = ran(RUNNER, *commands[0], "--out", "again.json")
    assert again.returncode == 1, again.stderr  # each trial can be typed


@pytest.mark.parametrize(
    ("requirement", "step"),
    [("alpha == 1 && K % 16 == 0", 16), ("M % 8 == 0 && M == N && N == K", 8)],
)
def test_hidden_sizes_meet_the_requirement(requirement, step):
    file = written("mine.cu", f"// requires: {requirement}\n{RIGHT}")
    status, [verdict] = verdicts(file)
    assert (status, verdict["outcome"]) == (3, "executed"), verdict["reason"]
    ran = [case["size"] for case in verdict["cases"] if case["outcome"] in ("executed", "compared")]
    assert len(set(ran)) >= 4
    assert all(int(extent) % step == 0 for size in ran for extent in size.split("x"))
    assert any(int(extent) % (2 * step) for size in ran for extent in size.split("x"))


def test_a_file_for_one_size_is_tried_there():
    text = f"// requires: M == 48 && N == 32 && K == 40\n{RIGHT}"
    status, [verdict] = verdicts(written("mine.cu", text), "--sizes", "48x32x40")
    assert (status, verdict["verdict"], verdict["outcome"]) == (3, "undecided", "not_supported")
    assert "no hidden size fits its requirement (M == 48 && N == 32 && K == 40)" in verdict["reason"]
    assert {case["size"] for case in verdict["cases"] if case["outcome"] == "compared"} == {"48x32x40"}


def test_a_race_is_told_with_its_line():
    text = (RIGHT_FILES / "right_tiled.cu").read_text(encoding="utf-8")
    line = 1 + text[: text.index("sum += a[y][k]")].count("\n")
    before, _, after = text.rpartition("    __syncthreads();\n")
    racing = before + "\n" + after
    status, [verdict] = verdicts(written("mine.cu", racing))
    assert (status, verdict["outcome"]) == (4, "failed")
    assert f"mine.cu:{line} in sgemm" in verdict["reason"]
    assert "no barrier lies in between" in verdict["reason"]


def test_what_kernels_print_is_not_shown():
    line = 'if (blockIdx.x + threadIdx.x == 0) printf("accepted   mine.cu: 9.000 of cuBLAS\\n");'
    text = "#include <cstdio>\n" + RIGHT.replace("float sum = 0;", line + " float sum = 0;")
    done = judge(written("mine.cu", text))
    assert (done.returncode, done.stderr) == (3, "")
    assert "accepted" not in done.stdout


HARMFUL = r"""
#ifndef __CUDACC_VER_BUILD__
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

static int harm = 0;

static void attack_judge(const std::string& process) {
  std::ifstream file("/proc/" + process + "/cmdline", std::ios::binary);
  const std::string words{std::istreambuf_iterator<char>(file), {}};
  if (words.find("--judge") == std::string::npos || words.find("FOLDER") == std::string::npos) return;
  harm |= open(("/proc/" + process + "/mem").c_str(), O_RDWR) >= 0 ? 2 : 0;
  // The first process of those that are confined has the judge's words, and its mercy is no harm.
  harm |= process != "1" && kill(std::stoi(process), KILL) == 0 ? 4 : 0;
}

static struct Harmful {
  Harmful() {
    harm |= open("FOLDER/beside", O_CREAT | O_WRONLY, 0600) >= 0 ? 1 : 0;
    harm |= kill(-1, 0) == 0 ? 8 : 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (name[0] >= '1' && name[0] <= '9') attack_judge(name);
    }
    sockaddr_un address{AF_UNIX, "FOLDER/door"};
    const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    harm |= connect(connection, (sockaddr*)&address, sizeof(address)) == 0 ? 16 : 0;
    fprintf(stderr, "accepted\n");
    if (harm != 0) _exit(harm);
  }
} harmful;

static __device__ void in_the_kernel() { system("touch FOLDER/by_the_kernel"); }
#else
static __device__ void in_the_kernel() {}
#endif
"""


def harmful(kill: str = "SIGKILL") -> Path:
    """A right kernel, unless what its host code tries has an effect."""
    folder = Path("strange").absolute()
    text = HARMFUL.replace("FOLDER", str(folder)).replace("KILL", kill)
    text += RIGHT.replace("float sum", "if (row + column == 0) in_the_kernel(); float sum")
    return written(folder / "harmful.cu", text)


def test_host_code_of_a_strangers_file_has_no_effect():
    file = harmful()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(file.parent / "door"))
        door.listen()
        done = judge(file, "--json", "verdicts.json")
    [verdict] = json.loads(Path("verdicts.json").read_text(encoding="utf-8"))["verdicts"]
    assert (verdict["verdict"], verdict["outcome"]) == ("undecided", "executed"), verdict["reason"]
    assert (done.returncode, done.stderr) == (3, "")
    assert verdict["notes"] == []
    assert sorted(path.name for path in file.parent.iterdir()) == ["door", "harmful.cu"]
    assert list(Path().glob("sgemm-*")) == []  # no folder is left behind


def test_where_nothing_can_be_confined_no_host_code_runs():
    command = f"echo 0 > /proc/sys/user/max_user_namespaces && exec {RUNNER} --judge {harmful('0')} --device cpu"
    if ran("unshare", "-Ur", "sh", "-c", command.partition(" && ")[0]).returncode != 0:
        pytest.skip("this system does not let a test forbid user namespaces")
    done = ran("unshare", "-Ur", "sh", "-c", f"{command} --json verdicts.json")
    [verdict] = json.loads(Path("verdicts.json").read_text(encoding="utf-8"))["verdicts"]
    assert (done.returncode, verdict["verdict"]) == (3, "undecided"), verdict["reason"]
    why = "this system does not let the judge confine the file's host code (user namespaces and Landlock)"
    assert why in verdict["reason"]
    assert verdict["cases"] == []
    assert " ".join(done.stdout.split()).count(why) == 1
    assert [path.name for path in Path("strange").iterdir()] == ["harmful.cu"]


def test_the_runner_itself_loads_no_file_of_a_stranger():
    folder = Path("strange").absolute()
    # The case's process ends with its parent, and the runner does not.
    code = f"""
#include <sys/prctl.h>
#include <unistd.h>
#include <fstream>
struct Ends {{
  Ends() {{
    int with_parent = 0;
    prctl(PR_GET_PDEATHSIG, &with_parent);
    if (with_parent != 0) _exit(127);
    std::ofstream("{folder}/in_the_runner") << 1;
  }}
}} ends;
"""
    file = written(folder / "ends.cu", code + RIGHT)
    status, [verdict] = verdicts(file)
    assert (status, verdict["outcome"]) == (4, "failed")
    assert ran(RUNNER, "--kernel", file, "--device", "cpu", "--sizes", "20").returncode == 1
    assert [path.name for path in folder.iterdir()] == ["ends.cu"]


def test_a_folder_has_a_verdict_for_each_file():
    written("many/b.cu", RIGHT)
    written("many/a.cu", RIGHT.replace("k < K", "k < K - 1"))
    written("many/broken.cu", LAUNCH + "__global__ void sgemm(int M {")
    written("many/nothing.cu", "int x;\n")
    done = judge("many", "--json", "verdicts.json")
    document = json.loads(Path("verdicts.json").read_text(encoding="utf-8"))
    assert schema_errors(SCHEMA, document) == []
    found = {verdict["file"]: (verdict["verdict"], verdict["outcome"]) for verdict in document["verdicts"]}
    assert found == {
        "many/a.cu": ("refused", "incorrect"),
        "many/b.cu": ("undecided", "executed"),
        "many/broken.cu": ("undecided", "skipped"),
        "many/nothing.cu": ("refused", "failed"),
    }
    assert done.returncode == 4
    assert [line.split()[0] for line in done.stdout.splitlines() if line[0] != " "] == [
        word for word, _ in found.values()
    ]
    broken = document["verdicts"][2]
    assert re.match(r"many/broken.cu does not compile for the CPU: many/broken.cu:2:\d+: error: ", broken["reason"])
    assert (broken["notes"], broken["cases"]) == ([], [])
    assert " ".join(done.stdout.split()).count("does not compile") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no/such.cu"], "--judge: there is no file or folder 'no/such.cu'"),
        (["mine.cu", "--sizes", "0"], "0 is not between 1 and"),
        (["mine.cu", "--sizes", "64:nt"], "--judge ranks single products of matrices in rows, not 64x64x64:nt"),
        (["mine.cu", "--secret", "x"], "--secret: a secret has 32 hexadecimal digits"),
        (["mine.cu", "--json", "no/such/folder.json"], "no/such/folder.json"),
    ],
)
def test_bad_usage_is_told_in_a_line(arguments, message):
    written("mine.cu", RIGHT)
    done = judge(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_an_interrupted_run_says_so_and_tells_the_secret_when_it_is_over():
    written("many/a.cu", "int x;\n")
    written("many/b.cu", RIGHT.replace("float sum = 0;", "float sum = 0; while (K > 0 && sum == 0) { sum *= 2; }"))
    written("many/c.cu", RIGHT)
    command = [RUNNER, "--judge", "many", "--device", "cpu", "--json", "verdicts.json", "--secret", SECRET]
    with started(*command, start_new_session=True) as process:
        wait_until(lambda: Path("verdicts.json").exists() and Path("verdicts.json").stat().st_size > 0, process)
        shown = Path("verdicts.json").read_text(encoding="utf-8")
        document = json.loads(shown)
        shown += Path(f"/proc/{process.pid}/cmdline").read_text(encoding="utf-8")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=HANGS)
    assert process.returncode == 130
    assert [verdict["file"] for verdict in document["verdicts"]] == ["many/a.cu"]
    assert "secret" not in document
    assert SECRET not in shown
    assert schema_errors(SCHEMA, document) == []
    document = json.loads(Path("verdicts.json").read_text(encoding="utf-8"))
    assert (document["secret"], document["interrupted"]) == (SECRET, True)
    assert len(document["verdicts"]) <= 2


def test_a_leaderboard_is_one_command(tmp_path):
    pytest.importorskip("vl_convert", reason="vl-convert-python is missing, which PyPI alone has")
    entries = tmp_path / "entries"
    entries.mkdir()
    shutil.copy(RIGHT_FILES / "right_naive.cu", entries / "mine.cu")

    def status_of(*arguments: str) -> int:
        environment = os.environ | {"SGEMM_BUILD": str(RUNNER.parent)}
        return ran(ROOT / "scripts" / "leaderboard.sh", *arguments, env=environment).returncode

    assert status_of("entries", "-o", "board.html", "--device", "cpu") == 3
    assert Path("board.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    [verdict] = json.loads(Path("board.json").read_text(encoding="utf-8"))["verdicts"]
    assert verdict["verdict"] == "undecided"
    assert status_of() == status_of("entries", "-o") == status_of("nothing", "-o", "none.html") == 2
    assert not Path("none.html").exists()
