"""ReFrame with its local scheduler, on the executor and the CPU's baselines, and on the results of a GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from tools import ROOT
from tools.fleet import folder_name
from tools.results import TIMED

BUILD = Path(os.environ.get("SGEMM_BUILD", ROOT / "build")).resolve()
HANGS = 1800  # seconds: what takes longer does not end, however busy the cores are
H200 = ROOT / "results" / "nvidia-h200"
REFRAME = Path(os.environ.get("SGEMM_REFRAME", Path(sys.executable).parent / "reframe"))


def example() -> str:
    """The configuration of a site that the page shows."""
    page = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    return re.search("```py\n(.*?)```", page, re.DOTALL)[1]


@dataclass
class Session:
    """What ReFrame said of its tests."""

    status: int
    output: str
    results: dict[str, str] = field(default_factory=dict)  # "pass", "fail" or "skip", by the kernel
    reasons: dict[str, str] = field(default_factory=dict)  # of those that failed

    def read(self, report: Path) -> Session:
        for case in json.loads(report.read_text(encoding="utf-8"))["runs"][0]["testcases"]:
            kernel = case.get("kernel", "build")  # the fixtures build
            self.results[kernel] = case["result"]
            if case["result"] == "fail":
                self.reasons[kernel] = case["fail_reason"]
        return self


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

    def run(*options: str, build: Path | None = BUILD, environment: dict[str, str] | None = None) -> Session:
        report = tmp_path / "report.json"
        folders = [f"--prefix={tmp_path}/reframe", f"--perflogdir={tmp_path}/perflogs", f"--report-file={report}"]
        keep = [f"-SSgemmOn{place}.results={tmp_path}/results" for place in ("Cpu", "Gpu")]
        command = [str(REFRAME), *folders, "-c", str(ROOT / "scripts" / "reframe"), "--nocolor", *keep, *options, "-r"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, **(environment or {}), "SGEMM_BUILD": str(build or ""), "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=HANGS,
            check=False,
        )
        session = Session(done.returncode, done.stdout + done.stderr)
        return session.read(report) if report.exists() else session

    return run


# A runner for a machine without a GPU: it "measures" what results of a GPU hold.
REPLAYING_RUNNER = """\
#!{python}
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
    cmake = tmp_path / "bin" / "cmake"
    cmake.parent.mkdir()
    log = tmp_path / "cmake.log"
    cmake.write_text(f"#!/bin/sh\necho $@ >>{log}; mkdir -p build; ln -sf {BUILD}/runner build/runner\n")
    cmake.chmod(0o755)
    path = f"{cmake.parent}:{os.environ['PATH']}"
    done = reframe("-n", "SgemmOnCpu.*cpu_naive", "-P", "sizes=16", build=None, environment={"PATH": path})
    assert done.results == {"build": "pass", "cpu_naive": "pass"}, done.output
    configure, build = log.read_text(encoding="utf-8").splitlines()
    assert f"-S {ROOT} -B build" in configure
    assert build == "--build build --target runner --parallel"


def test_the_example_of_the_page_is_taken(reframe, tmp_path):
    """A node without a usable GPU is told of, and the other tests run. Here both partitions are this machine."""
    settings = tmp_path / "settings.py"
    settings.write_text(re.sub(r' +"(access|resources)": \[.*\],?', "", example().replace('"slurm"', '"local"')))
    names = ("-n", "SgemmOnCpu.*cpu_blas", "-n", "SgemmOnGpu.*05_coarse_1d.*cold")
    done = reframe("-C", str(settings), *names, "-P", "sizes=64")
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
RUNNER_WITHOUT_LAYOUTS = """\
#!/bin/sh
case "$*" in *cpu_naive*) set -- $(echo "$@" | sed 's/:[nt]*//g; s/cpu_naive/cpu_blas/') ;; esac
exec '{runner}' "$@"
"""


def test_transposed_operands_and_batches_are_cases_of_their_own(reframe, tmp_path):
    """A reference that no speed reaches is one of transposed operands, and stands for nothing else. A chapter passes
    without the sizes that it does not support."""
    options = ["--device", "cpu", "--kernel", "cpu_blas", "--sizes", "64:nt", "--out", tmp_path / "reference.json"]
    subprocess.run([BUILD / "runner", *options], check=True, capture_output=True)
    document = json.loads((tmp_path / "reference.json").read_text(encoding="utf-8"))
    document["benchmarks"][0]["gflops"] *= 1e6
    reference = tmp_path / "results" / folder_name(document["context"]) / "reference.json"
    reference.parent.mkdir(parents=True)
    reference.write_text(json.dumps(document), encoding="utf-8")
    runner = tmp_path / "build" / "runner"
    runner.parent.mkdir()
    runner.write_text(RUNNER_WITHOUT_LAYOUTS.format(runner=BUILD / "runner"), encoding="utf-8")
    runner.chmod(0o755)
    tests = "SgemmOnCpu.*(01_naive|cpu_blas|cpu_naive)"
    done = reframe("-n", tests, "-P", "sizes=64 64:nt 3x16x8x4:tt", build=runner.parent)
    assert done.results == {"build": "pass", "01_naive": "pass", "cpu_blas": "fail", "cpu_naive": "fail"}, done.output
    of_naive = [records for name, records in kept(tmp_path).items() if "01_naive" in name]
    outcomes = [{record["outcome"] for record in records} for records in of_naive]
    assert outcomes == [{"executed", "not_supported"}]
    assert "gflops_64x64x64_nt=" in done.reasons["cpu_blas"], done.output
    assert "gflops_64x64x64=" not in done.reasons["cpu_blas"]
    assert "2 of 3 sizes are missing: 64:nt, 3x16x8x4:tt" in done.reasons["cpu_naive"], done.output


@pytest.fixture
def replay(reframe, tmp_path):
    """Runs the tests of a GPU on records of an H200, which `change` may edit, with the committed results as
    references."""

    def run(kernels: str, change):
        document = json.loads((H200 / "cold.json").read_text(encoding="utf-8"))
        change(document)
        source = tmp_path / "source.json"
        source.write_text(json.dumps(document), encoding="utf-8")
        runner = tmp_path / "build" / "runner"
        runner.parent.mkdir()
        runner.write_text(REPLAYING_RUNNER.format(python=sys.executable, source=str(source)), encoding="utf-8")
        runner.chmod(0o755)
        settings = tmp_path / "settings.py"
        settings.write_text(SITE, encoding="utf-8")
        references = tmp_path / "results" / "nvidia-h200"
        references.mkdir(parents=True, exist_ok=True)
        (references / "cold.json").symlink_to(H200 / "cold.json")
        tests = f"SgemmOnGpu.*({kernels}).*cold"
        return reframe("-C", str(settings), "-n", tests, "-P", "sizes=1024 4096", build=runner.parent)

    return run


def records_of(document: dict, kernel: str) -> list[dict]:
    return [record for record in document["benchmarks"] if record["kernel"] == kernel]


def test_a_gpu_is_compared_with_its_committed_results(replay, tmp_path):
    def change(document: dict) -> None:
        for record in records_of(document, "05_coarse_1d"):
            record["gflops"] *= 0.95
        for record in records_of(document, "06_coarse_2d"):
            record["vs_cublas"] *= 0.85
        for record in records_of(document, "08_warp_specialized"):
            if record["m"] in (1024, 4096):
                record.update(m=4096, n=4096, k=4096)
        plain = [record for record in records_of(document, "10_tf32x3") if record["m"] == 4096]
        for record in [*records_of(document, "12_fp16x3"), *plain]:
            for name in (TIMED | {"trace"}) & record.keys():
                del record[name]
            record.update(outcome="not_supported", reason="needs compute capability 9.0", verified=False)
            record.update(run_type="aggregate", time_unit="none")
        for record in records_of(document, "09_every_shape"):
            record["surprise"] = 1
        for record in records_of(document, "07_warptile_hilbert"):
            record["verified"] = record["m"] != 4096

    date = json.loads((H200 / "cold.json").read_text(encoding="utf-8"))["context"]["date"]
    began = datetime.fromisoformat(date).strftime("%Y%m%d-%H%M%S")
    earlier = tmp_path / "results" / "nvidia-h200" / "runs" / f"{began}-cublas-cold.json"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("{}", encoding="utf-8")
    done = replay("cublas|05_|06_|07_|08_|09_|10_|12_", change)
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
