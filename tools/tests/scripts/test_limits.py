from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from helpers import SYNTHETIC, case, committed_results, on, said
from synthetic import H200
from tools import compare
from tools.limits import implausible
from tools.results import load, pick, read_file, read_json


def of_case(kernel: str, size: int, name: str = "cold.json") -> tuple[dict, dict]:
    """A case of the H200 and its context, both to be changed."""
    document = read_json(H200 / name)
    return case(document, kernel, size), document["context"]


def test_committed_cases_would_be_implausible_if_they_were_twenty_times_as_fast():
    files = filter(lambda file: file.is_results, map(read_file, committed_results()))
    for document in (file.document for file in files):
        for record in document["benchmarks"]:
            on_one_gpu = record["platform"] == "gpu" and "spread" not in record
            if on_one_gpu and record["m"] >= 4096 and record["outcome"] == "measured" and record["gflops"] > 30e3:
                record["time_us"]["median"] /= 20
                assert implausible(record, document["context"]), record["name"]


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        ({}, 66.9),
        ({"number": -1}, 535.2),
        ({"number": -1, "path": "my.cu", "accuracy_class": "tf32"}, 1070.4),
        # Strassen's products could be faster beyond 8192.
        ({"number": -1, "path": "my.cu", "m": 40000, "n": 40000, "k": 40000}, 535.2 * (8 / 7) ** 2),
        ({"accuracy_class": "fp32_strassen"}, 66.9 * 512 / 343),
        ({"accuracy_class": "bf16_split"}, 178.4),
        ({"accuracy_class": "int8_split"}, 428.2),
        ({"accuracy_class": "tf32"}, 535.2),
    ],
)
def test_the_limit_is_that_of_the_class(change, limit):
    record, context = of_case("09_every_shape", 8192)
    record |= change
    for tflops, is_implausible in ((limit * 1.04, False), (limit * 1.06, True)):
        record["time_us"]["median"] = 2 * record["m"] ** 3 / tflops / 1e6
        assert bool(implausible(record, context)) is is_implausible


@pytest.mark.parametrize(("l2", "time", "slowest"), [("cold", "kernel", True), ("warm", "kernel", False)])
def test_cold_operands_come_from_dram(l2, time, slowest):
    record, context = of_case("09_every_shape", 4096)
    record |= {"m": 1, "n": 4096, "number": -1}  # 64 MiB of B: 13.9 us, of which an L2 keeps 60 MB
    context["protocol"] |= {"l2": l2, "time": time}
    record["time_us"]["median"] = 13.0
    assert bool(implausible(record, context)) is slowest
    record["time_us"]["median"] = 14.0
    assert not implausible(record, context)


def test_a_sample_holds_a_launch():
    record, context = of_case("09_every_shape", 256)
    record |= {"m": 1, "n": 1, "k": 1, "launches_per_sample": 1}
    record["time_us"]["median"] = 1.0
    assert "empty kernel" in implausible(record, context)
    record["launches_per_sample"] = 2
    assert not implausible(record, context)


def test_turns_have_limits_too():
    record, context = of_case("12_fp16x3", 8192, "sustained.json")
    assert not implausible(record, context)
    record["sustained"]["kernel"]["launch_us"] /= 4
    assert "multiply-adds of fp16" in implausible(record, context)


def test_an_unknown_gpu_has_no_limit_of_multiply_adds():
    record, context = of_case("09_every_shape", 8192)
    record["time_us"]["median"] /= 20
    assert implausible(record, context)
    context["device"]["compute_capability"] = "25.0"
    assert not implausible(record, context)
    context["device"] = None
    assert not implausible(record, context)


def test_an_implausible_case_has_no_time_in_any_table(edited: Callable[..., Path], capsys):
    new = edited("cold.json", on("05_coarse_1d", 4096, lambda record: record["time_us"].update(median=1.0)))
    [row] = pick(load([new]), "implausible").itertuples()
    assert (row.kernel, row.side) == ("05_coarse_1d", 4096)
    assert "at least" in row.reason
    assert not row.measured
    assert pd.isna([row.gflops, row.microseconds, row.tflops, row.of_cublas, row.vs_cublas]).all()
    assert "implausible: took 1 us" in said(capsys, compare.main, SYNTHETIC / "cold.json", new, status=1).out
