"""ReFrame with its local scheduler, on the executor and the CPU's baselines, and on the results of a GPU."""

import json
import os
import re
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from helpers import Change, cases, edit, fake, on, ran, stand_ins
from tools import ROOT
from tools.fleet import folder_name
from tools.results import TIMED

BUILD = Path(os.environ.get("SGEMM_BUILD", ROOT / "build")).resolve()
H200 = ROOT / "results" / "nvidia-h200"
REFRAME = Path(os.environ.get("SGEMM_REFRAME", Path(sys.executable).parent / "reframe"))


class Session(NamedTuple):
    """What ReFrame said of its tests."""

    status: int
    output: str
    results: dict[str, str]  # "pass", "fail" or "skip", by the kernel
    reasons: dict[str, str]  # of those that failed


def kept(folder: Path) -> dict[str, list[dict]]:
    """The records of each file in results/<device>/runs/."""
    files = sorted(folder.glob("results/*/runs/*.json"))
    return {path.name: json.loads(path.read_text(encoding="utf-8"))["benchmarks"] for path in files}


@pytest.fixture
def reframe(tmp_path: Path) -> Callable[..., Session]:
    """Runs ReFrame on the suite; new results go to tmp_path/results, which starts empty."""
    for path, what in ((REFRAME, "SGEMM_REFRAME names ReFrame"), (BUILD / "runner", "SGEMM_BUILD names a build")):
        if not path.exists():
            pytest.skip(f"there is no {path}: {what}")

    def run(*options: object, build: Path | None = BUILD, **environment: str) -> Session:
        report = tmp_path / "report.json"
        folders = [f"--prefix={tmp_path}/reframe", f"--perflogdir={tmp_path}/perflogs", f"--report-file={report}"]
        keep = [f"-SSgemmOn{place}.results={tmp_path}/results" for place in ("Cpu", "Gpu")]
        command = [REFRAME, *folders, "-c", ROOT / "scripts" / "reframe", "--nocolor", *keep, *options, "-r"]
        done = ran(*command, folder=tmp_path, SGEMM_BUILD=build or "", TMPDIR=tmp_path, **environment)
        document = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {"runs": [{"testcases": []}]}
        tests = {case.get("kernel", "build"): case for case in document["runs"][0]["testcases"]}  # the fixtures build
        results = {name: case["result"] for name, case in tests.items()}
        reasons = {name: case["fail_reason"] for name, case in tests.items() if case["result"] == "fail"}
        return Session(done.returncode, done.stdout + done.stderr, results, reasons)

    return run


# A runner for a machine without a GPU: it "measures" what results of a GPU hold.
REPLAYING_RUNNER = """
import json, pathlib, sys, time
log = pathlib.Path(__file__).resolve().with_name("log").open("a")
print("begins", file=log, flush=True)
time.sleep(0.2)
options = dict(zip(sys.argv[1:], sys.argv[2:]))
document = json.load(open({source!r}))
shapes = [tuple(map(int, size.split("x"))) * (1 if "x" in size else 3) for size in options["--sizes"].split(",")]
document["benchmarks"] = [
    record for record in document["benchmarks"]
    if record["kernel"] == options["--kernel"] and (record["m"], record["n"], record["k"]) in shapes
]
json.dump(document, open(options["--out"], "w"))
print("ends", file=log, flush=True)
"""

SITE = """\
site_configuration = {"systems": [{"name": "site", "hostnames": [".*"], "partitions": [
    {"name": "gpu", "scheduler": "local", "launcher": "local", "environs": ["builtin"], "features": ["gpu"]},
]}]}
"""


def test_executor_and_baselines_pass_and_each_result_is_kept(reframe, tmp_path):
    done = reframe("-n", "SgemmOnCpu.*(01_naive|cpu_blas|cpu_naive)", "-P", "sizes=64 33x65x17", "--repeat", "2")
    assert done.status == 0, done.output
    assert done.results == {"build": "pass", "01_naive": "pass", "cpu_blas": "pass", "cpu_naive": "pass"}
    assert "gflops_33x65x17: " in done.output
    files = kept(tmp_path)
    assert len(files) == 6
    shapes = {tuple((record["m"], record["n"], record["k"]) for record in records) for records in files.values()}
    assert shapes == {((64, 64, 64), (33, 65, 17))}
    context = json.loads(next(tmp_path.glob("results/*/runs/*.json")).read_text(encoding="utf-8"))["context"]
    assert context["executable"] == "./runner"


def test_without_a_build_the_runner_is_built_from_this_checkout(reframe, tmp_path):
    log = tmp_path / "cmake.log"
    path = stand_ins(tmp_path / "bin", cmake=f"echo $@ >>{log}; mkdir -p build; ln -sf {BUILD}/runner build/runner")
    done = reframe("-n", "SgemmOnCpu.*cpu_naive", "-P", "sizes=16", build=None, PATH=path)
    assert done.results == {"build": "pass", "cpu_naive": "pass"}, done.output
    configure, build = log.read_text(encoding="utf-8").splitlines()
    assert f"-S {ROOT} -B build" in configure
    assert build == "--build build --target runner --parallel"


def test_the_example_of_the_page_is_taken(reframe, tmp_path):
    """A node without a usable GPU is told of, and the other tests run. Here both partitions are this machine."""
    page = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    shown = re.search("```py\n(.*?)```", page, re.DOTALL)[1].replace('"slurm"', '"local"')
    settings = tmp_path / "settings.py"
    settings.write_text(re.sub(r' +"(access|resources)": \[.*\],?', "", shown))
    names = ("-n", "SgemmOnCpu.*cpu_blas", "-n", "SgemmOnGpu.*05_coarse_1d.*cold")
    done = reframe("-C", settings, *names, "-P", "sizes=64")
    assert done.results == {"build": "pass", "cpu_blas": "pass", "05_coarse_1d": "fail"}, done.output
    assert "the node has no usable GPU: " in done.reasons["05_coarse_1d"]


def test_input_that_can_not_be_used_is_a_reason(reframe, tmp_path):
    """A range of sizes, and a reference that is no JSON."""
    tests = ("-n", "SgemmOnCpu.*cpu_blas", "-P")
    done = reframe(*tests, "sizes=64:128")
    assert "bad input: '64:128' is no size: 4096, 4096x128x64, " in done.reasons["cpu_blas"]
    assert reframe(*tests, "sizes=16").status == 0
    broken = next(tmp_path.glob("results/*")) / "broken.json"
    broken.write_text("{", encoding="utf-8")
    done = reframe(*tests, "sizes=16")
    assert f"bad input: {broken} is not JSON: " in done.reasons["cpu_blas"]
    assert "Traceback" not in done.output


# cpu_naive stands for a runner that leaves layouts out.
RUNNER_WITHOUT_LAYOUTS = """
case "$*" in *cpu_naive*) set -- $(echo "$@" | sed 's/:[nt]*//g; s/cpu_naive/cpu_blas/') ;; esac
exec '{runner}' "$@"
"""


def faster(factor: float, field: str = "gflops") -> Change:
    """A field of a record."""
    return lambda record: record.update({field: factor * record[field]})


def test_transposed_operands_and_batches_are_cases_of_their_own(reframe, tmp_path):
    """A reference that no speed reaches is one of transposed operands, and stands for nothing else. A chapter passes
    without the sizes that it does not support."""
    options = ["--device", "cpu", "--kernel", "cpu_blas", "--sizes", "64:nt", "--out", tmp_path / "reference.json"]
    ran(BUILD / "runner", *options, status=0)
    context = json.loads((tmp_path / "reference.json").read_text(encoding="utf-8"))["context"]
    reference = tmp_path / "results" / folder_name(context) / "reference.json"
    reference.parent.mkdir(parents=True)
    edit(tmp_path / "reference.json", on("cpu_blas", None, faster(1e6)), new=reference)
    (build := tmp_path / "build").mkdir()
    fake(build, "runner", RUNNER_WITHOUT_LAYOUTS.format(runner=BUILD / "runner"))
    tests = "SgemmOnCpu.*(01_naive|cpu_blas|cpu_naive)"
    done = reframe("-n", tests, "-P", "sizes=64 64:nt 3x16x8x4:tt", build=build)
    assert done.results == {"build": "pass", "01_naive": "pass", "cpu_blas": "fail", "cpu_naive": "fail"}, done.output
    of_naive = [records for name, records in kept(tmp_path).items() if "01_naive" in name]
    outcomes = [{record["outcome"] for record in records} for records in of_naive]
    assert outcomes == [{"executed", "not_supported"}]
    assert "gflops_64x64x64_nt=" in done.reasons["cpu_blas"], done.output
    assert "gflops_64x64x64=" not in done.reasons["cpu_blas"]
    assert "2 of 3 sizes are missing: 64:nt, 3x16x8x4:tt" in done.reasons["cpu_naive"], done.output


@pytest.fixture
def replay(reframe, tmp_path):
    """Runs the tests of a GPU on records of an H200, which may be changed, with the committed results as references."""

    def run(kernels: str, *changes: Change):
        source = edit(H200 / "cold.json", *changes, new=tmp_path / "source.json")
        (build := tmp_path / "build").mkdir()
        fake(build, "runner", REPLAYING_RUNNER.format(source=str(source)), sys.executable)
        settings = tmp_path / "settings.py"
        settings.write_text(SITE, encoding="utf-8")
        references = tmp_path / "results" / "nvidia-h200"
        references.mkdir(parents=True, exist_ok=True)
        (references / "cold.json").symlink_to(H200 / "cold.json")
        return reframe("-C", settings, "-n", f"SgemmOnGpu.*({kernels}).*cold", "-P", "sizes=1024 4096", build=build)

    return run


def not_supported(record: dict) -> None:
    for name in (TIMED | {"trace"}) & record.keys():
        del record[name]
    record.update(outcome="not_supported", reason="needs compute capability 9.0", verified=False)
    record.update(run_type="aggregate", time_unit="none")


def one_size_twice(document: dict) -> None:
    for size in (1024, 4096):
        for record in [*cases(document, "08_warp_specialized", size)]:
            record.update(m=4096, n=4096, k=4096)


def test_a_gpu_is_compared_with_its_committed_results(replay, tmp_path):
    changes = (
        on("05_coarse_1d", None, faster(0.95)),
        on("06_coarse_2d", None, faster(0.85, "vs_cublas")),
        on("07_warptile_hilbert", 4096, verified=False),
        one_size_twice,
        on("09_every_shape", surprise=1),
        on("10_tf32x3", 4096, not_supported),
        on("12_fp16x3", None, not_supported),
    )
    date = json.loads((H200 / "cold.json").read_text(encoding="utf-8"))["context"]["date"]
    began = datetime.fromisoformat(date).strftime("%Y%m%d-%H%M%S")
    earlier = tmp_path / "results" / "nvidia-h200" / "runs" / f"{began}-cublas-cold.json"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("{}", encoding="utf-8")
    done = replay("cublas|05_|06_|07_|08_|09_|10_|12_", *changes)
    assert done.status == 1, done.output
    failed = ("06_coarse_2d", "07_warptile_hilbert", "08_warp_specialized", "09_every_shape", "10_tf32x3")
    others = {"build": "pass", "cublas": "pass", "05_coarse_1d": "pass", "12_fp16x3": "skip"}
    assert done.results == dict.fromkeys(failed, "fail") | others
    assert "vs_cublas_4096x4096x4096=" in done.reasons["06_coarse_2d"]
    assert "gflops" not in done.reasons["06_coarse_2d"]
    assert "sgemm/07_warptile_hilbert/4096x4096x4096 is measured: not verified" in done.reasons["07_warptile_hilbert"]
    assert "1 of 2 sizes are missing: 1024" in done.reasons["08_warp_specialized"]
    assert "sgemm/10_tf32x3/4096x4096x4096 is not_supported: needs" in done.reasons["10_tf32x3"]
    assert "breaks its schema" in done.reasons["09_every_shape"]
    assert "needs compute capability 9.0" in done.output
    assert earlier.read_text(encoding="utf-8") == "{}", "no file is written over"
    new = {path.name[16:] for path in earlier.parent.iterdir()} - {earlier.name[16:]}
    assert new == {"cublas-cold-2.json", *(f"{kernel}-cold.json" for kernel in done.results if kernel[0].isdigit())}
    log = (tmp_path / "build" / "log").read_text(encoding="utf-8").split()
    assert log == ["begins", "ends"] * 8, "runs wait for each other"
