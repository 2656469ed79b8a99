from __future__ import annotations

import pytest

import compare
from conftest import SYNTHETIC, case

COLD = str(SYNTHETIC / "cold.json")


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


def test_a_case_that_became_right_is_told(edited, capsys):
    old = str(edited("cold.json", ended("05_coarse_1d", 4096, "incorrect", "17 elements wrong")))
    assert compare.main([old, COLD]) == 0
    assert "was incorrect in OLD and is measured in NEW" in capsys.readouterr().err


def test_other_devices_and_protocols_only_warn(edited, capsys):
    def elsewhere(document: dict) -> None:
        document["context"]["device"]["name"] = "Another GPU"
        document["context"]["protocol"]["beta"] = 1.0

    assert compare.main([COLD, str(edited("cold.json", elsewhere)), "--fail-below", "0.97"]) == 0
    errors = capsys.readouterr().err
    assert "warning: different device: Synthetic GPU against Another GPU" in errors
    assert "warning: different beta: 0.0 against 1.0" in errors


def test_missing_cases_warn(capsys):
    assert compare.main([COLD, str(SYNTHETIC / "warm.json")]) == 0
    errors = capsys.readouterr().err
    assert "warning: different l2: cold against warm" in errors
    assert "missing in NEW: 05_coarse_1d at 512x512x512" in errors
    assert compare.main([str(SYNTHETIC / "warm.json"), COLD]) == 0
    assert "missing in OLD: 05_coarse_1d at 512x512x512" in capsys.readouterr().err


def test_bad_input_exits_with_2(tmp_path, edited, capsys):
    absent = str(tmp_path / "absent.json")
    empty = str(edited("cold.json", lambda document: document.update(benchmarks=[])))
    for arguments in ([COLD, absent], [absent, COLD], [COLD, empty], [COLD, COLD, "--fail-below", "-1"], [COLD]):
        with pytest.raises(SystemExit) as exit_:
            compare.main(arguments)
        assert exit_.value.code == 2
    assert "no case measured in OLD is in NEW" in capsys.readouterr().err


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
