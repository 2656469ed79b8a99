import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from helpers import Change, add_layouts, device, edit, ended, every, keep, on, protocol, refused, said, without
from synthetic import SYNTHETIC
from tools import ROOT, compare
from tools.results import load, one

COLD, WARM = SYNTHETIC / "cold.json", SYNTHETIC / "warm.json"
GATE = ("--fail-below", "0.9")
NAIVE = ("01_naive", 1024)  # a kernel and a size of the synthetic results
COARSE = ("05_coarse_1d", 4096)


@pytest.fixture
def run(capsys):
    """run(ARGUMENT..., status=0) has the output of the script, which has to end so."""
    return partial(said, capsys, compare.main)


@pytest.fixture
def changed(tmp_path):
    """changed(CHANGE...) is another file with the synthetic results, changed."""
    numbers = iter(range(100))
    return lambda *changes: edit(COLD, *changes, new=tmp_path / f"changed_{next(numbers)}.json")


def ended_with(stdout) -> tuple[int, str]:
    """The status and the messages of the script, which writes its table to `stdout`."""
    command = [sys.executable, ROOT / "scripts" / "compare.py", COLD, COLD]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


def test_a_reader_that_ends_early_ends_the_script_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    assert ended_with(writing) == (-signal.SIGPIPE, "")
    os.close(writing)


def test_a_full_disk_is_told_of():
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        assert ended_with(full) == (2, "compare.py: [Errno 28] No space left on device\n")


def scaled(factor: float) -> Change:
    """The times of a record."""

    def change(record: dict) -> None:
        record["samples_us"] = [time * factor for time in record.get("samples_us", [])]
        if "time_us" in record:
            record["time_us"]["median"] *= factor

    return change


def test_transposed_products_and_batches_are_compared_with_their_like(run, changed):
    new = changed(add_layouts)
    output = run(new, new, "--fail-below", "1").out
    assert "| cublas/1024x1024x1024:nt |" in output
    assert "| cublas/3x1024x1024x1024:tn |" in output
    assert "missing in OLD: cublas at 1024x1024x1024:nt, 3x1024x1024x1024:tn" in run(COLD, new).err
    assert "| 3 x 1024 x 1024 x 1024:tn |" in run("--across", new).out


@pytest.mark.parametrize("metric", ["time", "vs_cublas"])
def test_a_slower_case_fails_only_below_the_threshold(run, changed, metric):
    command = (COLD, changed(on(*COARSE, scaled(1.1))), "--metric", metric)
    run(*command)
    assert "**slower than 0.97**" in run(*command, "--fail-below", "0.97", status=1).out
    run(*command, "--fail-below", "0.85")


def test_a_ratio_below_with_an_interval_that_reaches_the_threshold_does_not_fail(run, changed):
    def noisy(record: dict) -> None:
        factors = (0.8, 0.9, 1.1, 1.2, 1.3)
        record["samples_us"] = [time * f for time, f in zip(record["samples_us"], factors, strict=True)]

    assert "below 0.97, unclear" in run(COLD, changed(on(*COARSE, noisy)), "--fail-below", "0.97").out


def test_the_interval_holds_the_ratio_and_is_the_same_every_time():
    old, new = (load([path]) for path in (COLD, WARM))
    (first, _), (again, _) = (compare.compare(old, new, "time", None) for _ in range(2))
    assert first == again
    assert all(c.interval[0] <= c.ratio <= c.interval[1] for c in first)


def test_speed_relative_to_cublas_ignores_a_slower_clock(run, changed):
    def slow_clock(record: dict) -> None:
        for field in ("samples_us", "cublas_samples_us"):
            record[field] = [time * 1.2 for time in record.get(field, [])]

    command = (COLD, changed(every(slow_clock)), "--fail-below", "0.97", "--metric")
    run(*command, "vs_cublas")
    run(*command, "time", status=1)


@pytest.mark.parametrize("outcome", ["incorrect", "failed"])
@pytest.mark.parametrize(
    "before",
    [on(*NAIVE), *(ended(*NAIVE, was, "o") for was in ("executed", "incorrect", "skipped")), without(NAIVE)],
    ids=["measured", "executed", "incorrect", "skipped", "absent"],
)
def test_a_case_that_is_wrong_in_new_fails_whatever_old_says(run, changed, before, outcome):
    new = changed(ended(*NAIVE, outcome, "new reason"))
    for options in ([], GATE):
        output = run(changed(before), new, *options, status=1)
        assert f"| 01_naive/1024x1024x1024 |  |  |  |  | **{outcome}: new reason** |" in output.out
        assert "Failing cases: 1." in output.out
        assert "new reason" not in output.err


def test_cases_that_new_lacks_fail_the_gate_alone(run, changed):
    left_out = [NAIVE, COARSE, ("05_coarse_1d", 1024)]
    old, new = changed(ended("05_coarse_1d", 1024, "executed")), changed(without(*left_out))
    output = run(old, new)
    assert "Failing cases: 0." in output.out
    assert "missing in NEW: 05_coarse_1d at 1024x1024x1024, 4096x4096x4096" in output.err
    output = run(old, new, *GATE, status=1)
    assert "Failing cases: 3." in output.out
    for kernel, size in left_out:
        assert f"| {kernel}/{size}x{size}x{size} |  |  |  |  | **missing in NEW** |" in output.out
    assert "missing" not in output.err
    assert "missing in NEW: 01_naive at 1024x1024x1024" in run(old, new, *GATE, "--partial").err


@pytest.mark.parametrize("outcome", ["incorrect", "not_supported", "skipped"])
def test_new_may_lack_what_old_did_not_do(run, changed, outcome):
    old = changed(ended(*NAIVE, outcome, "it says why"))
    assert "missing in NEW: 01_naive at 1024x1024x1024" in run(old, changed(without(NAIVE)), *GATE).err


@pytest.mark.parametrize("outcome", ["skipped", "not_supported"])
@pytest.mark.parametrize("before", ["measured", "executed"])
def test_a_case_that_new_did_not_do_fails_the_gate_alone(run, changed, before, outcome):
    old = changed(*([] if before == "measured" else [ended(*NAIVE, before)]))
    new = changed(ended(*NAIVE, outcome, "it says why"))
    output = run(old, new)
    assert f"{outcome}: it says why" in output.out
    assert f"was {before} in OLD and is {outcome} in NEW: it says why" in output.err
    output = run(old, new, *GATE, "--partial", status=1)
    assert f"**{outcome}: it says why**" in output.out
    assert outcome not in output.err


def test_an_interrupted_file_is_told_of_and_fails_the_gate(run, changed):
    new = changed(lambda document: document.update(interrupted=True))
    for arguments, status in (
        ([COLD, new], 0),
        ([COLD, new, *GATE], 1),
        ([COLD, new, COLD, *GATE], 1),
        ([COLD, new, *GATE, "--partial"], 1),
        ([new, COLD, *GATE], 0),
        (["--across", COLD, new], 0),
    ):
        output = run(*arguments, status=status)
        assert output.err == f"warning: {new} is of a run that was interrupted, so cases may be missing\n"
        assert ("so the file fails" in output.out) == (status == 1)


def test_what_may_move_a_ratio_only_warns(run, changed):
    old = changed(ended(*COARSE, "incorrect", "17 elements wrong"))
    new = changed(device(name="Another GPU"), protocol(max_seconds=4.0))
    errors = run(old, new, "--fail-below", "0.97").err
    assert "warning: different device: Synthetic GPU against Another GPU" in errors
    assert "warning: different max_seconds: 1.0 against 4.0" in errors
    assert "was incorrect in OLD and is measured in NEW" in errors


@pytest.mark.parametrize(
    ("name", "value"),
    [("l2", "warm"), ("time", "end-to-end"), ("data", "normal"), ("alpha", 2.0), ("beta", 1.0), ("seed", 1),
     ("verify", False), ("check", True), ("count", True), ("accuracy", True), ("sustain", True)],
)  # fmt: skip
@pytest.mark.parametrize("how", [[], ["--across"]])
def test_other_protocols_are_refused(changed, capsys, name, value, how):
    new = changed(protocol(**{name: value}))
    error = refused(capsys, compare.main, *how, COLD, new)
    assert f"different protocols are not compared: {name} is " in error
    assert f"{value} ({new})" in error


def test_protocols_that_may_differ_are_named(run, capsys):
    for old, new, place in ((COLD, WARM, "NEW"), (WARM, COLD, "OLD")):
        assert f"missing in {place}: 05_coarse_1d at 512x512x512" in run(old, new, "--despite", "l2").err
    assert "l2 is cold" in refused(capsys, compare.main, COLD, WARM, "--despite", "beta,seed")
    assert "not heat" in refused(capsys, compare.main, COLD, WARM, "--despite", "heat")


@pytest.fixture
def folders(tmp_path):
    """results/ of two devices: Synthetic GPU at its speed on two boards, and Half GPU at half the speed. Returns what
    writes a file beside it."""

    def write(name: str, factor: float, gpu: str = "Synthetic GPU", *changes: Change, beta: float = 0.0) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        speed = every(scaled(1 / factor), lambda r: r.update(gflops=factor * r.get("gflops", 0)))
        return edit(COLD, device(name=gpu), protocol(beta=beta), speed, *changes, new=path)

    write("results/synthetic-gpu/cold.json", 1)
    write("results/synthetic-gpu/other_board/cold.json", 0.9)
    write("results/synthetic-gpu/beta.json", 0.1, beta=1.0)
    write("results/synthetic-gpu/runs/latest.json", 0.1)
    write("results/half-gpu/cold.json", 0.5, "Half GPU")
    return write


def test_each_file_is_compared_with_the_slowest_board_of_its_device(run, folders, tmp_path):
    def gate(*files: Path, status: int = 0):
        return run(tmp_path / "results", *files, "--fail-below", "0.97", status=status)

    output = gate(folders("a.json", 0.9), folders("b.json", 0.5, "Half GPU")).out
    assert output.count("| 1.000 |") > 20
    assert f"## {tmp_path}/b.json" in output
    gate(folders("a.json", 0.85), status=1)
    gate(folders("a.json", 1), folders("b.json", 0.45, "Half GPU"), status=1)
    gate(folders("b.json", 0.45, "Half GPU"), folders("a.json", 1), status=1)


def test_a_file_may_lack_cases_of_a_folder(run, folders, tmp_path):
    run(tmp_path / "results", folders("a.json", 1, "Synthetic GPU", without(NAIVE)), *GATE)
    wrong = ended(*COARSE, "incorrect", "it says why")
    new = folders("a.json", 1, "Synthetic GPU", without(NAIVE), wrong)
    assert "**incorrect: it says why**" in run(tmp_path / "results", new, *GATE, status=1).out


def test_a_device_without_references_is_refused(folders, tmp_path, capsys):
    for name, path in (("New GPU", folders("a.json", 1, "New GPU")), ("Synthetic GPU", WARM)):
        error = refused(capsys, compare.main, tmp_path / "results", path)
        assert f"measured on {name} under its protocol" in error


def test_a_table_for_each_kernel_across_devices(run, folders):
    hot = on("05_coarse_1d", 4096, throttled=True)
    files = [
        folders("a.json", 1),
        folders("b.json", 0.9, "Synthetic GPU", hot),
        folders("c.json", 1.04),
        folders("d.json", 0.5, "Half GPU"),
    ]
    lines = run("--across", *files).out.splitlines()
    start = lines.index("## 05_coarse_1d, TFLOP/s")
    assert lines[start + 2] == "| M x N x K | Synthetic GPU, 3 boards | Half GPU, 1 board |"
    speed = one(load([COLD]), kernel="05_coarse_1d", side=4096).tflops
    texts = [f"{factor * speed:#.3g}" for factor in (1, 0.9, 1.04, 0.5)]
    row = f"| 4096 x 4096 x 4096 | {texts[0]} † ({texts[1]} to {texts[2]}, 14.0 %) | {texts[3]} |"
    assert row in lines[start : start + 12]
    on_gpu = load([COLD]).query("measured and is_gpu").kernel
    assert [line for line in lines if line.startswith("## ")] == [f"## {name}, TFLOP/s" for name in on_gpu.unique()]


def test_a_kernel_that_one_file_alone_has_gets_no_table(run, changed):
    one_kernel = changed(keep(lambda record: record["kernel"] == "05_coarse_1d"))
    output = run("--across", COLD, one_kernel).out
    titles = [line for line in output.splitlines() if line.startswith("## ")]
    assert sorted(titles) == ["## 05_coarse_1d, TFLOP/s", "## cublas, TFLOP/s"]  # which each record has beside it
    others = load([COLD]).query("measured and is_gpu").kernel.nunique() - 2
    assert output.endswith(f" Kernels of one file alone, which have no table: {others}.\n")


def test_tables_across_devices_leave_out_the_cpu_beside_a_gpu(run):
    assert "## cpu_blas" not in run("--across", SYNTHETIC / "end-to-end.json").out


def test_bad_input_exits_with_2(tmp_path, changed, capsys):
    absent = tmp_path / "absent.json"
    empty = changed(lambda document: document.update(benchmarks=[]))
    for arguments, message in (
        ([COLD, absent], "can not read"),
        ([absent, COLD], "absent.json: No such file or directory"),
        ([COLD, tmp_path], f"can not read {tmp_path}: Is a directory"),
        ([COLD, empty], "holds no case"),
        ([empty, COLD], "no case measured in OLD is in NEW"),
        (["--across", COLD, empty], "holds no measured case"),
        ([COLD, COLD, "--fail-below", "-1"], "takes a ratio above 0"),
        (["--across", COLD, COLD, "--fail-below", "0.9"], "takes neither"),
        ([COLD, COLD, "--partial"], "goes with --fail-below"),
        ([COLD], "OLD and NEW are needed"),
    ):
        assert message in refused(capsys, compare.main, *arguments)


def test_few_samples_have_a_range_and_six_an_interval(run, changed):
    def line_with(*samples: float) -> str:
        new = changed(on(*COARSE, samples_us=[*samples]))
        return next(line for line in run(new, new).out.splitlines() if "05_coarse_1d/4096x" in line)

    assert "| 1.000 | 0.833 to 1.200 (range of 3 samples) |" in line_with(100.0, 110.0, 120.0)
    assert "range" not in line_with(100.0, 101.0, 102.0, 103.0, 104.0, 105.0)
