import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from helpers import fake, refused, said
from tools import ROOT, counters
from tools.forms import COUNTER_ROWS

# Stands in for the runner: has a case for each kernel, and writes the results of the one that the filter names.
RUNNER = """
import json, os, sys
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
assert sys.argv[1] == "--profile"
cases = [f"sgemm/{kernel}/{given['--sizes']}" for kernel in given["--kernel"].split(",")]
if "--benchmark_list_tests" in sys.argv:
    print("\\n".join(cases))
    sys.exit(3 * ("no_gpu" in given["--kernel"]))
filters = [word.partition("=")[2] for word in sys.argv if word.startswith("--benchmark_filter=")]
case, = [case for case in cases if filters == [f"^{case}$"]]
kernel = case.split("/")[1]
size = int(given["--sizes"])
record = {"kernel": kernel, "outcome": "profiled", "reason": "", "m": size, "n": size, "k": size}
if kernel == "wrong":
    record |= {"outcome": "incorrect", "reason": "17 of 20"}
device = {"name": "Synthetic GPU", "compute_capability": "9.0", "driver": "1.2"}
context = {"device": device, "git_commit": "0" * 40, "git_dirty": False, "date": "2026-01-02T03:04:05+00:00"}
with open(sys.argv[sys.argv.index("--out") + 1], "w") as file:
    json.dump({"context": context, "benchmarks": [record]}, file)
print("one\\ntwo\\n\\nthree")
"""

# Stands in for ncu: starts the program, and writes what the file "csv" beside it has. A file "unknown" names a metric
# that is rejected. It notes its arguments in "runs", and with a file "sleep" it takes long.
NCU = """
import os, subprocess, sys, time
from pathlib import Path
here = Path(__file__).parent
if sys.argv[1] == "--version":
    sys.exit("NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2025.3.1.0 (build 1)")
log = sys.argv.index("--log-file")
with (here / "runs").open("a") as runs:
    print(os.getpid(), *sys.argv[1:], file=runs, flush=True)
if (here / "sleep").exists():
    time.sleep(600)
unknown = (here / "unknown").read_text() if (here / "unknown").exists() else "none"
if unknown in sys.argv[sys.argv.index("--metrics") + 1].split(","):
    Path(sys.argv[log + 1]).write_text(f"==ERROR== Failed to find metric {unknown}\\n")
    sys.exit(1)
subprocess.run(sys.argv[log + 2 :], check=True)
Path(sys.argv[log + 1]).write_text((here / "csv").read_text())
"""

STALLED = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
METRICS = ["gpu__time_duration.sum", "dram__bytes_read.sum", STALLED.format("barrier"), STALLED.format("selected")]
UNITS = ["ns", "byte", "", ""]
LAUNCHES = {"prepare": ["3,000.0", "1", "0.5", "1.0"], "product": ["40,000", "8", "2.25", "n/a"]}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A build folder with stand-ins for the runner and for ncu."""
    fake(tmp_path, "runner", RUNNER, sys.executable)
    fake(tmp_path, "ncu", NCU, sys.executable)
    monkeypatch.setenv("NCU", str(tmp_path / "ncu"))
    rows = [["ID", "Kernel Name", *METRICS, "not__asked"], ["", "", *UNITS, ""]]
    rows += [[str(i), name, *cells, "7"] for i, (name, cells) in enumerate(LAUNCHES.items())]
    lines = [",".join(f'"{cell}"' for cell in row) for row in rows]
    (tmp_path / "csv").write_text("\n".join(["==PROF== Profiling", *lines, '"9","cut']), encoding="utf-8")
    return tmp_path


def collect(folder: Path, *arguments: str) -> int:
    return counters.main(["--build", str(folder), "--out", str(folder / "counters.json"), *arguments])


def written(folder: Path) -> dict:
    return json.loads((folder / "counters.json").read_text(encoding="utf-8"))


def test_profiles_the_chapters_by_default(installed):
    """The runner says which those are: products on several GPUs, for one, are not profiled."""
    assert collect(installed) == 0
    document = written(installed)
    assert list(document["kernels"]) == ["chapters"] == list(document["derived"])
    assert document["context"] == {
        "device": "Synthetic GPU",
        "compute_capability": "9.0",
        "driver": "1.2",
        "ncu": "2025.3.1.0",
        "size": 4096,
        "date": "2026-01-02T03:04:05+00:00",
        "git_commit": "0" * 40,
        "git_dirty": False,
        "dropped_metrics": [],
    }
    run = (installed / "runs").read_text(encoding="utf-8")
    assert run.partition(" ")[2].startswith("--clock-control none --profile-from-start off ")


def test_the_longest_launch_stands_for_a_product(installed):
    assert collect(installed, "11_bf16x6", "--size", "2000", "--launch=f<<<1, 1>>>()") == 0
    document = written(installed)
    assert document["kernels"]["11_bf16x6"]["dram__bytes_read.sum"] == {"value": 8.0, "unit": "byte"}
    assert document["derived"]["11_bf16x6"]["tflops"] == 400.0
    first, second = document["launches"]["11_bf16x6"]
    assert [first["function"], second["function"]] == ["prepare", "product"]
    assert (first["derived"]["time_us"], first["derived"]["tflops"]) == (3.0, None)
    assert first["derived"]["stalls"] == {"selected": 1.0, "barrier": 0.5}
    assert second["derived"]["stalls"] == {"barrier": 2.25}
    assert document["context"]["size"] == 2000
    assert "--launch=f<<<1, 1>>>()" in (installed / "runs").read_text(encoding="utf-8")


def test_tables_have_a_column_for_each_launch(installed, capsys):
    lines = said(capsys, counters.main, "--build", installed, "05_coarse_1d").out.splitlines()
    assert lines[0].split() == ["05_coarse_1d", "prepare", "product"]
    assert lines[1].split() == ["time", "under", "the", "profiler", "3.000", "µs", "40.00", "µs"]
    assert "L2 hit rate" not in "\n".join(lines), "a row without values"
    assert not (installed / "counters.json").exists()


def test_goes_on_without_metrics_that_ncu_does_not_know(installed):
    (installed / "unknown").write_text(counters.METRICS[3], encoding="utf-8")
    assert collect(installed, "01_naive", "05_coarse_1d") == 0
    assert written(installed)["context"]["dropped_metrics"] == [counters.METRICS[3]]
    assert len((installed / "runs").read_text(encoding="utf-8").splitlines()) == 3, "the metric is not asked for again"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("==ERROR== Failed to find metric dram__bytes_read.sum", ["dram__bytes_read.sum"]),
        ("==WARNING== lts__t_sector_hit_rate is not there.", ["lts__t_sector_hit_rate.pct"]),
        ("==PROF== Profiling dram__bytes_read.sum", []),
    ],
)
def test_complaints_name_metrics(line, found):
    assert counters.rejected_metrics(line) == found


def test_a_kernel_that_can_not_be_profiled_does_not_stop_the_others(installed, capsys):
    assert collect(installed, "wrong", "05_coarse_1d") == 1
    assert list(written(installed)["kernels"]) == ["05_coarse_1d"]
    assert "sgemm/wrong/4096: 17 of 20\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("csv", "kernels", "runs", "message"),
    [
        ("==ERROR== code (11).", ["1"], 1, "sgemm/1/4096: ncu gave no counters: two / three / ==ERROR== code (11).\n"),
        ("==ERROR== ERR_NVGPUCTRPERM", ["1", "2"], 1, "lets this user read no counters (ERR_NVGPUCTRPERM): run it as"),
    ],
)
def test_nothing_is_written_where_nothing_was_profiled(installed, capsys, csv, kernels, runs, message):
    (installed / "csv").write_text(csv, encoding="utf-8")
    assert collect(installed, *kernels) == 1
    assert message in capsys.readouterr().err
    assert len((installed / "runs").read_text(encoding="utf-8").splitlines()) == runs
    assert not (installed / "counters.json").exists()


def test_a_kernel_that_takes_too_long_is_ended(installed, capsys):
    (installed / "sleep").touch()
    assert collect(installed, "1", "--timeout", "0.5") == 1
    assert "took longer than 0.5 s under ncu, which --timeout changes" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_what_ends_it_ends_ncu_with_its_folder(installed, number):
    (installed / "sleep").touch()
    (installed / "temporary").mkdir()
    command = [sys.executable, "-m", "tools.counters", "--build", str(installed), "1"]
    environment = os.environ | {"TMPDIR": str(installed / "temporary")}
    heard = partial(signal.signal, number, signal.SIG_DFL)  # whatever the tests run under
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, preexec_fn=heard) as process:
        runs = installed / "runs"
        while not (runs.exists() and runs.read_text(encoding="utf-8")):
            time.sleep(0.01)
        ncu = int(runs.read_text(encoding="utf-8").split()[0])
        process.send_signal(number)
        assert process.communicate() == (None, b"")
    assert process.returncode == 128 + number
    assert not list((installed / "temporary").iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(ncu, 0)


def test_bad_input_exits_with_2(installed, tmp_path, monkeypatch, capsys):
    build = ("--build", installed)
    assert "there is no program" in refused(capsys, counters.main, "--build", installed / "nowhere")
    assert "the runner has no case" in refused(capsys, counters.main, *build, "no_gpu")
    monkeypatch.setenv("NCU", "/nowhere/ncu")
    assert "there is no ncu" in refused(capsys, counters.main, *build)
    assert not (installed / "counters.json").exists()


def test_figures_follow_from_counters_as_in_the_results():
    """Also that those of asynchronous copies are null for kernels without any, rather than zeros."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in ROOT.glob("results/*/counters*.json")]
    assert documents
    for document in documents:
        for kernel, found in document["kernels"].items():
            assert counters.derive(found, 2.0 * document["context"]["size"] ** 3) == document["derived"][kernel]
    nothing = counters.derive({}, 2e9)
    assert nothing["time_us"] is None
    assert {field for _, field, _ in COUNTER_ROWS} <= set(nothing)
