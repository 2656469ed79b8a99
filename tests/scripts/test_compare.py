from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, SYNTHETIC, add_layouts, case
from tools import compare
from tools.results import load, one

COLD = str(SYNTHETIC / "cold.json")


def ended_with(stdout) -> tuple[int, str]:
    """The status and the messages of the script, which writes its table to `stdout`."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "compare.py", COLD, COLD],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_reader_that_ends_early_ends_the_script_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    assert ended_with(writing) == (-signal.SIGPIPE, "")
    os.close(writing)


def test_a_full_disk_is_told_of():
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        assert ended_with(full) == (2, "compare.py: [Errno 28] No space left on device\n")


def scaled(kernel: str, size: int, factor: float):
    def change(document: dict) -> None:
        record = case(document, kernel, size)
        record["samples_us"] = [time * factor for time in record["samples_us"]]
        record["time_us"]["median"] *= factor

    return change


def ended(kernel: str, size: int, outcome: str, reason: str):
    def change(document: dict) -> None:
        record = case(document, kernel, size)
        record.update(outcome=outcome, reason=reason)
        for field in ("time_us", "samples_us", "gflops"):
            del record[field]

    return change


def test_a_file_equals_itself(capsys):
    assert compare.main([COLD, COLD, "--fail-below", "1"]) == 0
    output = capsys.readouterr()
    assert "| 05_coarse_1d/4096x4096x4096 |" in output.out
    assert "| 1.000 |" in output.out
    assert "Failing cases: 0." in output.out
    assert output.err == ""


def test_transposed_products_and_batches_are_compared_with_their_like(edited, capsys):
    new = str(edited("cold.json", add_layouts))
    assert compare.main([new, new, "--fail-below", "1"]) == 0
    output = capsys.readouterr().out
    assert "| cublas/1024x1024x1024:nt |" in output
    assert "| cublas/3x1024x1024x1024:tn |" in output
    assert compare.main([COLD, new]) == 0
    assert "missing in OLD: cublas at 1024x1024x1024:nt, 3x1024x1024x1024:tn" in capsys.readouterr().err
    assert compare.main(["--across", new]) == 0
    assert "| 3 x 1024 x 1024 x 1024:tn |" in capsys.readouterr().out


def test_a_slower_case_fails_only_below_the_threshold(edited, capsys):
    new = str(edited("cold.json", scaled("05_coarse_1d", 4096, 1.1)))
    assert compare.main([COLD, new]) == 0
    assert compare.main([COLD, new, "--fail-below", "0.97"]) == 1
    assert "**slower than 0.97**" in capsys.readouterr().out
    assert compare.main([COLD, new, "--fail-below", "0.85"]) == 0


def test_a_ratio_below_with_an_interval_that_reaches_the_threshold_does_not_fail(edited, capsys):
    def noisy(document: dict) -> None:
        record = case(document, "05_coarse_1d", 4096)
        record["samples_us"] = [
            time * f for time, f in zip(record["samples_us"], (0.8, 0.9, 1.1, 1.2, 1.3), strict=True)
        ]

    assert compare.main([COLD, str(edited("cold.json", noisy)), "--fail-below", "0.97"]) == 0
    assert "below 0.97, unclear" in capsys.readouterr().out


def test_the_interval_holds_the_ratio_and_is_the_same_every_time():
    old, new = (compare.load([SYNTHETIC / name]) for name in ("cold.json", "warm.json"))
    first, _ = compare.compare(old, new, "time", None)
    again, _ = compare.compare(old, new, "time", None)
    assert first == again
    assert all(c.interval.low <= c.ratio <= c.interval.high for c in first)


def test_speed_relative_to_cublas_ignores_a_slower_clock(edited):
    def slow_clock(document: dict) -> None:
        for record in document["benchmarks"]:
            for field in ("samples_us", "cublas_samples_us"):
                record[field] = [time * 1.2 for time in record.get(field, [])]

    new = str(edited("cold.json", slow_clock))
    assert compare.main([COLD, new, "--fail-below", "0.97", "--metric", "vs_cublas"]) == 0
    assert compare.main([COLD, new, "--fail-below", "0.97", "--metric", "time"]) == 1


@pytest.mark.parametrize(("outcome", "status"), [("incorrect", 1), ("failed", 1), ("skipped", 0), ("not_supported", 0)])
def test_a_case_that_went_wrong_fails(edited, capsys, outcome, status):
    new = str(edited("cold.json", ended("05_coarse_1d", 4096, outcome, "it says why")))
    assert compare.main([COLD, new]) == status
    output = capsys.readouterr()
    assert f"{outcome}: it says why" in output.out
    assert ("it says why" in output.err) == (status == 0)


GATE = ("--fail-below", "0.9")
NAIVE = ("01_naive", 1024)  # a kernel and a size of the synthetic results


def without(*cases: tuple[str, int]):
    def change(document: dict) -> None:
        for kernel, size in cases:
            document["benchmarks"].remove(case(document, kernel, size))

    return change


def is_interrupted(document: dict) -> None:
    document["interrupted"] = True


@pytest.fixture
def changed(tmp_path):
    """Another file with the synthetic results, changed."""

    def write(*changes) -> str:
        document = json.loads(Path(COLD).read_text(encoding="utf-8"))
        for change in changes:
            change(document)
        path = tmp_path / f"changed_{len(list(tmp_path.iterdir()))}.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    return write


@pytest.mark.parametrize("outcome", ["incorrect", "failed"])
@pytest.mark.parametrize(
    "before",
    [ended(*NAIVE, "executed", ""), ended(*NAIVE, "incorrect", "old"), ended(*NAIVE, "skipped", "s"), without(NAIVE)],
    ids=["executed", "incorrect", "skipped", "absent"],
)
def test_a_case_that_is_wrong_in_new_fails_whatever_old_says(changed, capsys, before, outcome):
    new = changed(ended(*NAIVE, outcome, "new reason"))
    for options in ([], GATE):
        assert compare.main([changed(before), new, *options]) == 1
        output = capsys.readouterr().out
        assert f"| 01_naive/1024x1024x1024 |  |  |  |  | **{outcome}: new reason** |" in output
        assert "Failing cases: 1." in output


def test_a_wrong_case_alone_is_counted(changed, capsys):
    def alone(document: dict) -> None:
        document["benchmarks"] = [case(document, *NAIVE)]

    assert compare.main([COLD, changed(alone, ended(*NAIVE, "failed", "it says why"))]) == 1
    assert "\n\nFailing cases: 1.\n" in capsys.readouterr().out


def test_cases_that_new_lacks_fail_the_gate_alone(changed, capsys):
    left_out = [NAIVE, ("05_coarse_1d", 4096), ("05_coarse_1d", 1024)]
    old, new = changed(ended("05_coarse_1d", 1024, "executed", "")), changed(without(*left_out))
    assert compare.main([old, new]) == 0
    output = capsys.readouterr()
    assert "Failing cases: 0." in output.out
    assert "missing in NEW: 05_coarse_1d at 1024x1024x1024, 4096x4096x4096" in output.err
    assert compare.main([old, new, *GATE]) == 1
    output = capsys.readouterr()
    assert "Failing cases: 3." in output.out
    for kernel, size in left_out:
        assert f"| {kernel}/{size}x{size}x{size} |  |  |  |  | **missing in NEW** |" in output.out
    assert "missing" not in output.err
    assert compare.main([old, new, *GATE, "--partial"]) == 0
    assert "missing in NEW: 01_naive at 1024x1024x1024" in capsys.readouterr().err


@pytest.mark.parametrize("outcome", ["incorrect", "not_supported", "skipped"])
def test_new_may_lack_what_old_did_not_do(changed, capsys, outcome):
    old = changed(ended(*NAIVE, outcome, "it says why"))
    assert compare.main([old, changed(without(NAIVE)), *GATE]) == 0
    assert "missing in NEW: 01_naive at 1024x1024x1024" in capsys.readouterr().err


@pytest.mark.parametrize("before", ["measured", "executed"])
def test_a_case_that_new_did_not_do_fails_the_gate_alone(changed, capsys, before):
    old = changed(*([] if before == "measured" else [ended(*NAIVE, before, "")]))
    new = changed(ended(*NAIVE, "skipped", "it says why"))
    assert compare.main([old, new]) == 0
    assert f"was {before} in OLD and is skipped in NEW: it says why" in capsys.readouterr().err
    assert compare.main([old, new, *GATE, "--partial"]) == 1
    output = capsys.readouterr()
    assert "**skipped: it says why**" in output.out
    assert "skipped" not in output.err


def test_an_interrupted_file_is_told_of_and_fails_the_gate(changed, capsys):
    new = changed(is_interrupted)
    for arguments, status in (
        ([COLD, new], 0),
        ([COLD, new, *GATE], 1),
        ([COLD, new, COLD, *GATE], 1),
        ([COLD, new, *GATE, "--partial"], 1),
        ([new, COLD, *GATE], 0),
        (["--across", COLD, new], 0),
        (["--agreement", "1,1", COLD, new], 1),
        (["--agreement", "1,1", new, COLD], 1),
    ):
        assert compare.main(arguments) == status, arguments
        output = capsys.readouterr()
        assert output.err == f"warning: {new} is of a run that was interrupted, so cases may be missing\n"
        assert ("so the file fails" in output.out) == (status == 1 and "--agreement" not in arguments)


def test_a_case_that_became_right_is_told(edited, capsys):
    old = str(edited("cold.json", ended("05_coarse_1d", 4096, "incorrect", "17 elements wrong")))
    assert compare.main([old, COLD]) == 0
    assert "was incorrect in OLD and is measured in NEW" in capsys.readouterr().err


def test_another_device_only_warns(edited, capsys):
    def elsewhere(document: dict) -> None:
        document["context"]["device"]["name"] = "Another GPU"
        document["context"]["protocol"]["max_seconds"] = 4.0

    assert compare.main([COLD, str(edited("cold.json", elsewhere)), "--fail-below", "0.97"]) == 0
    errors = capsys.readouterr().err
    assert "warning: different device: Synthetic GPU against Another GPU" in errors
    assert "warning: different max_seconds: 1.0 against 4.0" in errors


def refused(capsys, *arguments: str) -> str:
    """The message of a comparison that is bad input."""
    with pytest.raises(SystemExit) as exit_:
        compare.main(arguments)
    assert exit_.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [("l2", "warm"), ("time", "end-to-end"), ("data", "normal"), ("alpha", 2.0), ("beta", 1.0), ("seed", 1),
     ("verify", False), ("check", True), ("count", True), ("accuracy", True)],
)  # fmt: skip
@pytest.mark.parametrize("how", [[], ["--across"]])
def test_other_protocols_are_refused(edited, capsys, name, value, how):
    new = str(edited("cold.json", lambda document: document["context"]["protocol"].update({name: value})))
    error = refused(capsys, *how, COLD, new)
    assert f"different protocols are not compared: {name} is " in error
    assert f"{value} ({new})" in error


def test_another_schema_is_refused(edited, capsys):
    new = str(edited("cold.json", lambda document: document["context"].update(schema_version=3)))
    for how in ([], ["--across"]):
        assert "its schema_version is 3, this script reads 1 and 2" in refused(capsys, *how, COLD, new)


def test_protocols_that_may_differ_are_named(capsys):
    warm = str(SYNTHETIC / "warm.json")
    assert compare.main([COLD, warm, "--despite", "l2"]) == 0
    assert "missing in NEW: 05_coarse_1d at 512x512x512" in capsys.readouterr().err
    assert compare.main([warm, COLD, "--despite", "l2"]) == 0
    assert "missing in OLD: 05_coarse_1d at 512x512x512" in capsys.readouterr().err
    assert "l2 is cold" in refused(capsys, COLD, warm, "--despite", "beta,seed")
    assert "not heat" in refused(capsys, COLD, warm, "--despite", "heat")


@pytest.fixture
def folders(tmp_path, synthetic):
    """results/ of two devices: Synthetic GPU at its speed on two boards, and Half GPU at half the speed."""

    def write(path, factor: float, name: str = "Synthetic GPU", **protocol) -> str:
        document = json.loads((synthetic / "cold.json").read_text(encoding="utf-8"))
        document["context"]["device"]["name"] = name
        document["context"]["protocol"].update(protocol)
        for record in document["benchmarks"]:
            record["samples_us"] = [time / factor for time in record.get("samples_us", [])]
            if "time_us" in record:
                record["time_us"]["median"] /= factor
                record["gflops"] *= factor
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    results = tmp_path / "results"
    write(results / "synthetic-gpu" / "cold.json", 1)
    write(results / "synthetic-gpu" / "other_board" / "cold.json", 0.9)
    write(results / "synthetic-gpu" / "beta.json", 0.1, beta=1.0)
    write(results / "synthetic-gpu" / "runs" / "latest.json", 0.1)
    write(results / "half-gpu" / "cold.json", 0.5, "Half GPU")
    return lambda name, factor, device="Synthetic GPU": write(tmp_path / name, factor, device)


def test_each_file_is_compared_with_the_slowest_board_of_its_device(folders, tmp_path, capsys):
    results, gate = str(tmp_path / "results"), ("--fail-below", "0.97")
    assert compare.main([results, folders("a.json", 0.9), folders("b.json", 0.5, "Half GPU"), *gate]) == 0
    output = capsys.readouterr().out
    assert output.count("| 1.000 |") > 20
    assert f"## {tmp_path}/b.json" in output
    assert compare.main([results, folders("a.json", 0.85), *gate]) == 1
    assert compare.main([results, folders("a.json", 1), folders("b.json", 0.45, "Half GPU"), *gate]) == 1
    assert compare.main([results, folders("b.json", 0.45, "Half GPU"), folders("a.json", 1), *gate]) == 1


def test_a_file_may_lack_cases_of_a_folder(folders, tmp_path, capsys):
    new = Path(folders("a.json", 1))
    document = json.loads(new.read_text(encoding="utf-8"))
    without(NAIVE)(document)
    new.write_text(json.dumps(document), encoding="utf-8")
    assert compare.main([str(tmp_path / "results"), str(new), *GATE]) == 0
    ended("05_coarse_1d", 4096, "incorrect", "it says why")(document)
    new.write_text(json.dumps(document), encoding="utf-8")
    assert compare.main([str(tmp_path / "results"), str(new), *GATE]) == 1
    assert "**incorrect: it says why**" in capsys.readouterr().out


def test_a_device_without_references_is_refused(folders, tmp_path, capsys):
    results = str(tmp_path / "results")
    assert "measured on New GPU under its protocol" in refused(capsys, results, folders("a.json", 1, "New GPU"))
    warm = str(SYNTHETIC / "warm.json")
    assert "measured on Synthetic GPU under its protocol" in refused(capsys, results, warm)


def test_a_table_for_each_kernel_across_devices(folders, capsys):
    files = [folders("a.json", 1), folders("b.json", 0.9), folders("c.json", 1.04), folders("d.json", 0.5, "Half GPU")]
    assert compare.main(["--across", *files]) == 0
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("## 05_coarse_1d, TFLOP/s")
    assert lines[start + 2] == "| M x N x K | Synthetic GPU, 3 boards | Half GPU, 1 board |"
    speed = one(load([COLD]), kernel="05_coarse_1d", side=4096).tflops
    (row,) = [line for line in lines[start : start + 12] if line.startswith("| 4096 x ")]
    texts = [f"{factor * speed:#.3g}" for factor in (1, 0.9, 1.04, 0.5)]
    assert row == f"| 4096 x 4096 x 4096 | {texts[0]} ({texts[1]} to {texts[2]}, 14.0 %) | {texts[3]} |"
    on_gpu = load([COLD]).query("measured and is_gpu").kernel
    assert [line for line in lines if line.startswith("## ")] == [f"## {name}, TFLOP/s" for name in on_gpu.unique()]


def test_tables_across_devices_leave_out_the_cpu_beside_a_gpu(folders, synthetic, capsys):
    assert compare.main(["--across", str(synthetic / "end-to-end.json")]) == 0
    assert "## cpu_blas" not in capsys.readouterr().out


def test_bad_input_exits_with_2(tmp_path, edited, capsys):
    absent = str(tmp_path / "absent.json")
    empty = str(edited("cold.json", lambda document: document.update(benchmarks=[])))
    for arguments, message in (
        ([COLD, absent], "can not read"),
        ([absent, COLD], "can not read"),
        ([COLD, empty], "holds no case"),
        ([empty, COLD], "no case measured in OLD is in NEW"),
        (["--across", COLD, empty], "holds no measured case"),
        ([COLD, COLD, "--fail-below", "-1"], "takes a ratio above 0"),
        (["--across", COLD, COLD, "--fail-below", "0.9"], "takes neither"),
        ([COLD, COLD, "--partial"], "goes with --fail-below"),
        ([COLD], "OLD and NEW are needed"),
    ):
        assert message in refused(capsys, *arguments)


def test_few_samples_have_a_range_and_no_interval(edited, capsys):
    def few(document: dict) -> None:
        record = case(document, "05_coarse_1d", 4096)
        record["samples_us"] = [100.0, 110.0, 120.0]

    new = str(edited("cold.json", few))
    compare.main([new, new])
    lines = capsys.readouterr().out.splitlines()
    assert "| 1.000 | 0.833 to 1.200 (range of 3 samples) |" in next(x for x in lines if "05_coarse_1d/4096x" in x)


def test_six_samples_have_an_interval(edited, capsys):
    def six(document: dict) -> None:
        case(document, "05_coarse_1d", 4096)["samples_us"] = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0]

    new = str(edited("cold.json", six))
    compare.main([new, new])
    line = next(x for x in capsys.readouterr().out.splitlines() if "05_coarse_1d/4096x" in x)
    assert "range" not in line


def test_sweeps_agree_by_their_ratios_to_cublas(edited, capsys):
    """On a board that is 20 % slower all ratios are the same but for two."""
    ratios = {("05_coarse_1d", 4096): 1.004, ("01_naive", 1024): 0.97}

    def slower_board(document: dict) -> None:
        for record in document["benchmarks"]:
            if record["outcome"] == "measured":
                record["samples_us"] = [1.2 * time for time in record["samples_us"]]
                record["time_us"]["median"] *= 1.2
            if "vs_cublas" in record:
                record["vs_cublas"] *= ratios.get((record["kernel"], record["m"]), 1.001)

    new = str(edited("cold.json", slower_board))
    assert compare.main([COLD, new, "--agreement", "0.1001,3.01"]) == 0
    output = capsys.readouterr().out
    assert "| 01_naive/1024x1024x1024 | 3.00 % |\n| 05_coarse_1d/4096x4096x4096 | 0.40 % |" in output
    assert "the median differs by 0.10 %, the worst by 3.00 %" in output
    assert compare.main([COLD, new, "--agreement", "0.09,3.01"]) == 1
    assert compare.main([COLD, new, "--agreement", "0.1001,2.99"]) == 1


def test_sweeps_of_other_cases_do_not_agree(edited, capsys):
    new = str(edited("cold.json", lambda document: document["benchmarks"].remove(case(document, "01_naive", 1024))))
    assert compare.main([COLD, new, "--agreement", "1,1"]) == 1
    assert "in one file alone: 01_naive/1024x1024x1024" in capsys.readouterr().out


@pytest.mark.parametrize("limits", ["1", "2,1", "0,1", "a,b", "1,2,3"])
def test_limits_of_an_agreement_are_two_per_cents(limits):
    with pytest.raises(SystemExit) as exit_:
        compare.main([COLD, COLD, "--agreement", limits])
    assert exit_.value.code == 2


@pytest.mark.parametrize("how", [[], ["--across"], ["--agreement", "1,1"]])
def test_sustained_speeds_and_bursts_are_not_compared(edited, capsys, how):
    def sustained(document: dict) -> None:
        document["context"]["protocol"].update(sustain=True, sustain_s=20.0)

    new = str(edited("cold.json", sustained))
    assert f"sustain is False ({COLD}), True ({new})" in refused(capsys, *how, COLD, new)
