"""The runner from outside: exit statuses, the results file after each, Ctrl-C, and Google Benchmark's flags."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import statistics
import subprocess
from pathlib import Path

import pytest

from runs import (
    MISBEHAVING,
    ROOT,
    RUNNER,
    Run,
    interrupt_runner,
    needs_runner,
    ran,
    run_runner,
)

pytestmark = needs_runner
needs_misbehaving_kernels = pytest.mark.skipif(not MISBEHAVING.exists(), reason=f"there is no {MISBEHAVING}")

QUICK = ("--max-seconds", "0.02")


@pytest.fixture
def run(tmp_path):
    """Runs the runner to its end, which has to have this status."""

    def run(*arguments: str, status: int = 0, runner: Path = RUNNER) -> Run:
        done = run_runner(tmp_path, *arguments, runner=runner)
        assert done.status == status, done.stdout + done.stderr
        return done

    return run


# ---- Transposed operands and batches ----


def test_transposed_operands_and_batches_are_measured(run):
    sizes = ["24x32x40:nt", "24x32x40:tn", "24x32x40:tt", "3x24x32x40", "3x24x32x40:tn"]
    done = run("--kernel", "cpu_blas", "--sizes", ",".join(sizes), "--beta", "0.5", *QUICK)
    assert [case["name"] for case in done.cases] == [f"sgemm/cpu_blas/{size}" for size in sizes]
    assert all(case["verified"] for case in done.cases)
    for case in done.cases:
        flops = 2 * 24 * 32 * 40 * case.get("batch", 1)
        assert case["gflops"] == pytest.approx(flops / case["time_us"]["median"] / 1e3)


def test_kernels_of_plain_products_refuse_others(run):
    kernels = ("--kernel", "cpu_naive,cpu_blas,1", "--device", "cpu")
    for size, reason in (("32:nt", "products of transposed operands"), ("2x32x32x32", "batches")):
        done = run(*kernels, "--sizes", size, *QUICK)
        assert done.outcomes == {"cpu_blas": "measured", "cpu_naive": "not_supported", "01_naive": "not_supported"}
        assert {case["reason"] for case in done.cases} == {"", f"does not compute {reason}"}


# ---- What a terminal shows ----


def test_progress_counts_the_cases_of_the_plan_however_often_they_are_repeated(tmp_path):
    terminal, shown = os.openpty()
    arguments = ["--kernel", "cpu_naive", "--sizes", "16,24", "--benchmark_repetitions=3", "--out", "x.json", *QUICK]
    subprocess.run([RUNNER, *arguments], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=shown, check=True)
    os.close(shown)
    assert set(re.findall(r"\[\d+/\d+\]", os.read(terminal, 1 << 16).decode())) == {"[1/2]", "[2/2]"}


# ---- Exit statuses ----


@pytest.mark.parametrize(
    ("words", "status", "outcomes", "reason"),
    [
        ("cpu_naive,1 --sizes 32", 0, "measured executed", ""),
        ("cpu_naive --sizes 32,1000", 0, "measured skipped", "CPU baseline capped"),
        ("cpu_naive --sizes 2000", 3, "skipped", "CPU baseline capped"),
        ("right,wrong --sizes 32", 1, "measured incorrect", ""),
        ("right,wrong_later --sizes 32", 1, "measured incorrect", "after timing: "),
        ("right,throws --sizes 32", 1, "measured failed", "out of order"),
        ("ignores_transposition --sizes 32,2x32x32x32:tn", 1, "measured incorrect", "of product 0"),
        ("first_product_alone --sizes 32,3x32x32x32", 1, "measured incorrect", "of product 1"),
        ("wrong --sizes 32 --no-verify", 0, "measured", ""),
    ],
)
def test_the_status_tells_whether_something_was_measured_and_all_was_right(run, words, status, outcomes, reason):
    own = words.startswith(("cpu_naive", "1"))
    done = run(
        "--device", "cpu", "--kernel", *words.split(), *QUICK, status=status, runner=RUNNER if own else MISBEHAVING
    )
    assert [case["outcome"] for case in done.cases] == outcomes.split()
    assert reason in done.cases[-1]["reason"]
    verifies = "--no-verify" not in words
    assert done.context["protocol"]["verify"] is verifies
    for case in done.cases:
        assert case["verified"] == (verifies and case["outcome"] in ("measured", "executed"))
        assert ("gflops" in case) == (case["outcome"] == "measured")
    assert done.results["interrupted"] is False
    assert ", ".join(f"1 {outcome}" for outcome in outcomes.split()) in done.stdout


@pytest.mark.parametrize(
    ("arguments", "outcome", "shown"),
    [
        (["--check"], "executed", "correct; no stray access, no race"),
        (["--count"], "counted", "FLOPs"),
        (["--accuracy", "--data", "uniform"], "compared", "uniform"),
    ],
)
def test_status_0_of_every_mode(run, arguments, outcome, shown):
    done = run("--kernel", "1", "--device", "cpu", "--sizes", "32", *arguments)
    assert done.outcomes == {"01_naive": outcome}
    assert done.context["protocol"][arguments[0].removeprefix("--")] is True
    assert shown in done.stdout and "vs cuBLAS" not in done.stdout


def test_a_trace_is_written_for_a_warp_that_there_is(run, tmp_path):
    page = tmp_path / "page.html"
    counted = ["--kernel", "1", "--count", "--sizes", "32"]
    done = run(*counted, "--trace", "page.html", "--trace-block", "1", status=3)
    assert done.cases[0]["reason"].startswith("there is no warp 0 of block 1 to trace: the launch has 1 blocks of ")
    assert not page.exists()
    done = run(*counted, "--trace", "page.html")
    written = page.read_text(encoding="utf-8")
    assert "page.html" in done.stdout and '"kernel":"01_naive"' in written
    assert '"files":{"01_naive.cu":"// Chapter 01' in written
    assert done.cases[0]["counts"] == run(*counted).cases[0]["counts"]


def test_launches_are_counted_one_by_one(run, tmp_path):
    counted = ["--kernel", "12", "--count", "--sizes", "128x256x64"]
    done = run(*counted, "--trace", "page.html")
    case = done.cases[0]
    assert case["outcome"] == "counted" and case["verified"]
    counts = case["counts"]
    functions = [launch["function"] for launch in counts["launches"]]
    assert functions == ["fp16x3_split_kernel", "fp16x3_kernel"]
    kinds = ("global_loads", "global_stores", "shared_loads", "shared_stores", "async_copies")
    for kind in kinds:
        for name, value in counts[kind].items():
            assert value == sum(launch[kind][name] for launch in counts["launches"])
    assert counts["tensor_flops"] == counts["launches"][1]["tensor_flops"] == 3 * 2 * 128 * 256 * 64
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"launch":1,"launches":2,"function":"fp16x3_kernel"' in page

    done = run(*counted, "--trace", "page.html", "--trace-launch", "0")
    assert [done.cases[0]["counts"][kind] for kind in kinds] == [counts[kind] for kind in kinds]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '"launch":0,"launches":2,"function":"fp16x3_split_kernel"' in page
    done = run(*counted, "--trace", "page.html", "--trace-launch", "2", status=3)
    assert done.cases[0]["reason"] == "there is no launch 2 to trace: the kernel makes 2, numbered from 0"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--count --trace a.html --kernel 1,2", "a page shows one kernel at one size, and these are 2"),
        ("--count --trace no/a.html --kernel 1", "can not write no/a.html: there is no folder no"),
        ("--benchmark_filter=nothing", "no case matches 'nothing'"),
        ("--kernel 1 --grid 2x3", "--grid is for products on several GPUs, and --kernel names no kernel"),
        ("--kernel 1 --gpus 2", "--gpus is for products on several GPUs, and --kernel names no kernel"),
        ("--benchmark_out=missing/file.json", "missing/file.json"),
        ("--benchmark_out=one.json --out ./one.json", "can not write one.json: two flags name it"),
        ("--benchmark_filter=(", "'(' is no regular expression"),
        ("--sizes 1:100000:1", "cases, more than 100000"),
    ],
)
def test_status_2_of_bad_usage(run, words, message):
    done = run("--device", "cpu", *words.split(), status=2)
    assert done.stderr.startswith("runner: ")
    assert message in done.stderr
    assert not done.path.exists()


def test_status_3_where_there_is_no_gpu_to_profile(run, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    done = run("--profile", "--kernel", "1", status=3)
    assert done.stderr.startswith("runner: --profile needs a usable CUDA device: ")
    assert not done.path.exists()


def test_status_2_where_standard_output_can_not_be_written():
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run([RUNNER, "--list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "runner: can not write to standard output\n")


@pytest.mark.parametrize(
    ("limit", "kernel", "message"),
    [
        ("ulimit -f 1", "cpu_naive", "can not write a.json: File too large"),
        ("ulimit -s 64", "cpu_naive", "a stack may have 64 KiB here, and 1024 are needed"),
        ("export TMPDIR=/no/such", "my.cu", "can not make a folder for temporary files: "),
    ],
)
def test_status_2_of_a_shell_that_leaves_no_room(tmp_path, limit, kernel, message):
    (tmp_path / "my.cu").write_text("// launch: k<<<1, 1>>>()\n__global__ void k() {}\n", encoding="utf-8")
    words = f"{limit}; exec {RUNNER} --kernel {kernel} --device cpu --sizes 16:64 --max-seconds 0.02 --out a.json"
    done = ran("bash", "-c", words, cwd=tmp_path)
    assert (done.returncode, done.stderr.startswith(f"runner: {message}")) == (2, True), done.stderr


# ---- Ctrl-C ----


@pytest.mark.parametrize("kernel", ["sends_sigint", "sends_sigterm"])
def test_status_130_of_a_run_that_is_interrupted_while_it_samples(run, kernel):
    done = run("--kernel", f"right,{kernel}", "--sizes", "32,40", runner=MISBEHAVING, status=130)
    assert done.results["interrupted"] is True
    first, second = done.cases  # the third was not begun
    assert (first["kernel"], first["outcome"], first["verified"]) == ("right", "measured", True)
    assert (second["kernel"], second["outcome"], second["reason"]) == (kernel, "skipped", "interrupted")
    assert "samples_us" not in second


def test_status_130_of_a_run_that_is_interrupted_while_a_kernel_is_executed(tmp_path):
    arguments = ("--kernel", "1", "--device", "cpu", "--sizes", "32,4096", "--force", "--no-verify")
    done = interrupt_runner(tmp_path, *arguments, cases=1, number=signal.SIGINT)
    assert done.status == 130, done.stderr
    assert done.results["interrupted"] is True
    assert [case["outcome"] for case in done.cases] == ["executed", "skipped"]


@needs_misbehaving_kernels
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_a_case_that_does_not_heed_the_first(tmp_path, number):
    arguments = ("--kernel", "endless", "--sizes", "32")
    done = interrupt_runner(tmp_path, *arguments, cases=0, number=number, times=2, runner=MISBEHAVING)
    assert done.status == -number, done.stderr
    assert done.results["interrupted"] is True, "the file was not completed"
    assert done.cases == []


# ---- Results file ----


def test_the_protocol_is_what_was_asked_for(run):
    done = run(
        "--kernel", "cpu_naive", "--sizes", "24", "--alpha", "-2.5", "--beta", "0.5", "--data", "normal",
        "--seed", "7", "--l2", "warm", "--time", "end-to-end", "--max-seconds", "0.25",
    )  # fmt: skip
    expected = {
        "alpha": -2.5, "beta": 0.5, "data": "normal", "seed": 7, "l2": "warm", "time": "end-to-end",
        "max_seconds": 0.25, "verify": True, "check": False, "count": False, "accuracy": False, "flush_bytes": 0,
    }  # fmt: skip
    assert {name: done.context["protocol"][name] for name in expected} == expected
    assert done.context["argv"][1:3] == ["--kernel", "cpu_naive"]


def test_seed_alpha_and_beta_change_the_product(run):
    def error(*arguments: str) -> float:
        return run("--kernel", "cpu_naive", "--sizes", "48", *QUICK, *arguments).cases[0]["rel_err"]

    assert error() == error("--seed", "42")
    others = [("--seed", "1"), ("--seed", str(2**64 - 1)), ("--alpha", "-2.3"), ("--beta", "0.7")]
    assert len({error(), *(error(*other) for other in others)}) == 5


def test_the_commit_is_one_of_the_repository(run):
    context = run("--kernel", "cpu_naive", "--sizes", "16", *QUICK).context
    version = ran(RUNNER, "--version").stdout
    assert f"commit {context['git_commit']}" in version
    assert (" with changes" in version) is context["git_dirty"]
    if ran("git", "rev-parse", cwd=ROOT).returncode == 0:
        assert ran("git", "cat-file", "-e", context["git_commit"], cwd=ROOT).returncode == 0


def test_a_build_with_changes_says_so(run):
    done = run("--kernel", "right", "--sizes", "16", *QUICK, runner=MISBEHAVING)
    context = done.context
    assert context["git_commit"] == "00000000000000000000000000000000000000ff"
    assert context["git_dirty"] is True
    assert context["library"] == "sgemm-worklog 0.0.1"
    assert context["build"] == {
        "cxx_compiler": "g++", "cxx_flags": "-O0", "nvcc": "", "nvcc_flags": "", "cuda_architectures": "",
        "build_type": "Test",
    }  # fmt: skip


def test_the_environment_is_that_of_the_run_and_the_same_file_is_replaced(run):
    for size in (16, 24):
        done = run("--kernel", "cpu_naive", "--device", "cpu", "--sizes", str(size), *QUICK)
        assert [case["m"] for case in done.cases] == [size]
    context = done.context
    assert context["device"] is None
    assert context["device_error"] == "--device cpu"
    assert context["executable"] == str(RUNNER)
    assert context["build"]["build_type"]
    assert context["build"]["cxx_compiler"]


def test_the_limit_of_a_cpu_kernel_gives_way_to_force(run):
    sizes = ("--kernel", "cpu_naive", "--sizes", "513", *QUICK)
    assert "--force runs it" in run(*sizes, status=3).cases[0]["reason"]
    assert run(*sizes, "--force").outcomes == {"cpu_naive": "measured"}


# ---- Google Benchmark ----

CASES = ["sgemm/cpu_naive/16x16x16", "sgemm/cpu_naive/2000x2000x2000"]  # measured, and skipped
GOOGLE_CASES = [f"{name}/iterations:1/manual_time" for name in CASES]
TWO_CASES = ("--kernel", "cpu_naive", "--sizes", "16,2000", *QUICK)


def in_form(form: str, text: str) -> list[dict]:
    """The cases that Google Benchmark has written."""
    if form == "json":
        return json.loads(text)["benchmarks"]
    if form == "csv":
        return [*csv.DictReader(io.StringIO(text[text.index("name,") :]))]
    rows = [line for line in text.splitlines() if line.startswith("sgemm/")]
    fields = r"(?P<name>\S+) +(?:ERROR.*?'(?P<error_message>.*)'|(?P<real_time>\S+) .*gflops=(?P<gflops>\d+))"
    return [re.match(fields, row).groupdict() for row in rows]


def check_google_cases(form: str, text: str, time_us: float) -> None:
    """`time_us` is the median of the case that was measured."""
    measured, skipped = in_form(form, text)
    assert [measured["name"], skipped["name"]] == GOOGLE_CASES
    assert float(measured["real_time"]) == pytest.approx(time_us, rel=0.05 if form == "console" else 1e-3)
    assert form == "csv" or float(measured["gflops"]) > 0
    assert not measured.get("error_message")
    assert skipped["error_message"].startswith("skipped: ")


@pytest.mark.parametrize("form", ["json", "csv", "console"])
def test_google_benchmark_prints_its_formats_or_writes_them_beside_the_table(run, tmp_path, form):
    done = run(*TWO_CASES, f"--benchmark_format={form}")
    check_google_cases(form, done.stdout, done.cases[0]["real_time"])
    assert [case["name"] for case in done.cases] == CASES
    as_form = () if form == "json" else (f"--benchmark_out_format={form}",)
    done = run(*TWO_CASES, "--benchmark_out=google.txt", *as_form)
    check_google_cases(form, (tmp_path / "google.txt").read_text(encoding="utf-8"), done.cases[0]["real_time"])
    assert "1 measured, 1 skipped" in done.stdout


def test_repetitions_are_cases_with_aggregates_below_the_table(run):
    done = run("--kernel", "cpu_naive", "--sizes", "16,24", "--benchmark_repetitions=3", *QUICK)
    assert [(case["repetition_index"], case["repetitions"]) for case in done.cases] == [(0, 3), (1, 3), (2, 3)] * 2
    median, us = re.search(r"16x16x16\S*(_median) +(\S+) us", done.stdout).groups()
    assert float(us) == pytest.approx(statistics.median(case["real_time"] for case in done.cases[:3]), rel=0.05), median


def test_google_benchmarks_filter_chooses_among_the_cases(run):
    done = run("--kernel", "cpu_naive", "--sizes", "16,24,32", "--benchmark_filter=/24x", *QUICK)
    assert [case["m"] for case in done.cases] == [24]
    listed = run("--kernel", "cpu_naive", "--sizes", "16,24", "--benchmark_list_tests")
    assert (listed.status, listed.stdout.splitlines()) == (0, ["sgemm/cpu_naive/16x16x16", "sgemm/cpu_naive/24x24x24"])
    assert not listed.path.exists()


# ---- Without measuring ----


def test_the_list_has_every_chapter_and_is_the_committed_one(run):
    """README quotes from that which GPUs the chapters run on."""
    done = run("--list=json")
    kernels = json.loads(done.stdout)
    ids = {variant["id"].replace(":", "_") for kernel in kernels for variant in kernel["variants"]}
    files = {path.stem for path in (ROOT / "kernels").glob("[0-9][0-9]_*.cu")}
    assert files and files <= ids, "a variant with a file of its own bears its name"
    assert not done.path.exists()
    committed = json.loads((ROOT / "results" / "nvidia-h200" / "kernels.json").read_text(encoding="utf-8"))
    assert [k for k in committed if k["number"]] == [k for k in kernels if k["number"]]


DIGESTS = ROOT / "reproducible" / "digests.txt"


def digest(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """There is no results file to name."""
    return ran(RUNNER, "--digest", *arguments, status=status)


def test_this_machine_has_the_committed_digests(tmp_path):
    done = digest("--against", str(DIGESTS), "--json", str(tmp_path / "digests.json"))
    assert done.stdout.splitlines()[-1].endswith(": the same bits")
    cases = json.loads((tmp_path / "digests.json").read_text(encoding="utf-8"))["cases"]
    lines = [line for line in DIGESTS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert [f"{case['case']} {case['digest']}" for case in cases] == lines
    assert all("cpu" in case["by"] for case in cases)


def test_kernels_on_the_executor_have_these_digests(tmp_path):
    small = [line for line in DIGESTS.read_text(encoding="utf-8").splitlines() if line.startswith(("31x", "64x"))]
    (tmp_path / "small.txt").write_text("\n".join(small), encoding="utf-8")
    done = digest("--against", str(tmp_path / "small.txt"), "--device", "cpu")
    assert "15_reproducible on the executor: the same bits" in done.stdout


def test_each_size_has_a_digest_with_each_kind_of_operands():
    lines = digest("--sizes", "70x36x129,129x67x35:nt", "--data", "uniform,huge,inf").stdout.splitlines()
    assert len([line for line in lines if not line.startswith("#")]) == 2 * 3


@pytest.mark.parametrize(
    ("text", "status"), [("2x3x5 1 0 uniform 42 0123456789abcdef\n", 1), ("# none\n", 2), ("2x3x5\n", 2), (None, 2)]
)
def test_digests_that_differ_or_are_none_are_told(tmp_path, text, status):
    path = tmp_path / "digests.txt"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    done = digest("--against", str(path), status=status)
    assert ("with other bits" if status == 1 else str(path)) in done.stdout + done.stderr
