"""Files that people bring: what can be used of them is used, and a sentence says what is not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import ROOT, SYNTHETIC, context, edit, every, keep, on, refused, said
from tools import compare
from tools.plots import plot
from tools.report import data, report
from tools.results import UNKNOWN, File, load, one, pick, read_file

COLD = SYNTHETIC / "cold.json"
ENERGY, SUSTAINED = SYNTHETIC / "energy.json", SYNTHETIC / "sustained.json"
NAIVE = ("01_naive", 256)
FIVE = keep(lambda record: record["kernel"] in ("05_coarse_1d", "cpu_blas"))
GOOGLE = {"context": {"date": "now", "executable": "./bench", "library_build_type": "release"}, "benchmarks": []}


def warnings(capsys) -> list[str]:
    return [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]


# What a file of one kernel tells of cuBLAS and of the CPU.


def test_a_file_of_one_kernel_has_cublas_from_the_samples_beside_it(edited):
    rows, whole = load([edited("cold.json", FIVE)]), load([COLD])
    beside, kernel = (one(rows, kernel=name, side=4096) for name in ("cublas", "05_coarse_1d"))
    assert beside.samples_us == one(whole, kernel="05_coarse_1d", side=4096).cublas_samples_us
    assert beside.beside == "05_coarse_1d"
    assert beside.microseconds == sorted(kernel.cublas_samples_us)[2]
    assert beside.tflops == pytest.approx(2 * 4096**3 / beside.microseconds / 1e6)
    assert len(pick(rows, kernel="cublas")) == len(pick(rows, kernel="05_coarse_1d"))
    assert pick(whole, kernel="cublas").beside.isna().all(), "its own cases count where there are any"
    assert pick(load([edited("energy.json", FIVE), COLD][:1]), kernel="cublas").energy.notna().all()


def test_cublas_of_its_own_counts_before_what_another_file_tells(edited):
    five = edit(COLD, FIVE, new=edited("cold.json").with_name("five.json"))
    assert pick(load([COLD, five]), kernel="cublas").beside.isna().all()


def test_the_intervals_are_those_of_the_runner():
    for path in sorted((ROOT / "results").glob("nvidia-h200/*.json")):
        file = read_file(path)
        for record in file.document["benchmarks"] if file.is_results else []:
            if record["outcome"] == "measured":
                low, high = (record["time_us"][name] for name in ("ci_low", "ci_high"))
                found = plot.results.median_interval(record["samples_us"], 0.95)
                assert found == pytest.approx((low, high), rel=1e-3), record["name"]


def test_charts_the_comparison_and_the_report_of_one_kernel_show_cublas_and_the_cpu(edited, capsys):
    path = edited("cold.json", FIVE)
    source = plot.Source(load([path]))
    for draw in (plot.gflops_over_size, plot.ladder, lambda of: plot.chapter(of, 5)):
        rows = draw(source).panels[0]["data"]["values"]
        assert {"05 coarse 1d", "cuBLAS", "OpenBLAS (CPU)"} <= {row["name"] for row in rows}
    table = said(capsys, compare.main, path, path).out
    assert all(f"| {name}/4096x4096x4096 |" in table for name in ("05_coarse_1d", "cublas", "cpu_blas"))
    shown = {case["name"] for case in data.gather([path]).cases}
    assert shown == {"05 coarse 1d", "cuBLAS", "OpenBLAS (CPU)"}


def test_energy_and_sustained_speeds_have_cublas_as_well(edited):
    alone = keep(lambda record: record["kernel"] != "cublas")
    energy, sustained = (load([edited(path.name, alone)]) for path in (ENERGY, SUSTAINED))
    kernel, cublas = (one(sustained, "sustained", kernel=name).sustained for name in ("07_warptile_hilbert", "cublas"))
    assert cublas["kernel"] == cublas["cublas"] == kernel["cublas"]
    chart = plot.energy_over_size(plot.Source(energy, energy=energy))
    assert "cuBLAS" in {row["name"] for row in chart.panels[0]["data"]["values"]}


def test_cublas_beside_a_kernel_fails_no_gate_and_is_in_no_mean(edited, capsys):
    path = edited("cold.json", FIVE)
    slow = edit(path, every(lambda r: r.update(cublas_samples_us=[2 * t for t in r.get("cublas_samples_us", [])])))
    old = edit(COLD, FIVE, new=path.with_name("old.json"))
    output = said(capsys, compare.main, old, slow, "--fail-below", "0.97").out
    assert "| 0.500 |" in output
    assert "ratios: 1.000. Failing cases: 0." in output
    without = edit(old, every(lambda r: r.pop("cublas_samples_us", None), cublas_alone_us=None), new=path)
    assert "missing" not in said(capsys, compare.main, old, without, "--fail-below", "0.97").err


# What can not be used.

NO_NUMBERS: dict[str, Callable] = {
    "gflops is nan": on(*NAIVE, gflops=float("nan")),
    "real_time is inf": on(*NAIVE, real_time=float("inf")),
    "gflops is null": on(*NAIVE, gflops=None),
    "time_us is null": on(*NAIVE, time_us=None),
    "samples_us is null": on(*NAIVE, samples_us=None),
    "samples_us is -1": on(*NAIVE, samples_us=[1.0, -1]),
    "time_us.median is 0": on(*NAIVE, lambda record: record["time_us"].update(median=0)),
    'gflops is "fast"': on(*NAIVE, gflops="fast"),
}


@pytest.mark.parametrize("what", NO_NUMBERS)
def test_a_case_without_numbers_is_left_out_and_named(edited, capsys, what):
    path = edited("cold.json", NO_NUMBERS[what])
    rows = load([path])
    (warning,) = warnings(capsys)
    assert warning.startswith(f"warning: {path}: sgemm/01_naive/256x256x256 is left out, because {what}")
    assert one(rows, None, kernel="01_naive", side=256) is None
    assert one(rows, kernel="01_naive", side=512) is not None
    assert "01_naive/256x" not in said(capsys, compare.main, COLD, path).out
    assert data.gather([path]).cases


def test_cases_without_numbers_are_counted_in_one_sentence(edited, capsys):
    path = edited("cold.json", on("01_naive", None, gflops=float("nan")))
    assert plot.main(["--only", "ladder", str(path)]) == 0
    (warning,) = warnings(capsys)
    assert warning.endswith(", and so are 5 more")
    nothing = edited("warm.json", keep(lambda record: record["kernel"] == "01_naive"), every(gflops=None))
    assert "nothing to show" in refused(capsys, report.main, nothing, "-o", nothing.with_suffix(".html"))


@pytest.mark.parametrize("device", [None, {}, "absent"])
def test_a_file_that_names_no_device_is_used(edited, capsys, device):
    change = context(device=device) if device != "absent" else lambda document: document["context"].pop("device")
    path = edited("cold.json", change)
    assert plot.main([str(path)]) == 0
    (warning,) = warnings(capsys)
    assert "names no device" in warning
    assert compare.main([str(COLD), str(path)]) == 0
    assert {file["device"] for file in data.gather([path]).files} == {UNKNOWN}


def test_a_case_that_is_there_twice_is_named_and_the_last_one_counts(edited, capsys):
    def twice(document: dict) -> None:
        like = next(record for record in document["benchmarks"] if (record["kernel"], record["m"]) == NAIVE)
        slower = like | {"time_us": {**like["time_us"], "median": 1e6}}
        document["benchmarks"].append(slower)

    path = edited("cold.json", twice)
    assert one(load([path]), kernel="01_naive", side=256).microseconds == 1e6
    (warning,) = warnings(capsys)
    assert warning.endswith("has 01_naive at 256x256x256 2 times, and the last one counts")


@pytest.mark.parametrize("text", ["not JSON", json.dumps(GOOGLE), '{"some": "thing"}', "[" * 100_000])
def test_one_foreign_file_keeps_no_file_beside_it_from_being_used(tmp_path, capsys, text):
    folder = tmp_path / "synthetic-gpu"
    folder.mkdir()
    (folder / "foreign.json").write_text(text, encoding="utf-8")
    mine = Path(shutil.copy(COLD, folder / "mine.json"))
    for read in (
        lambda: plot.main(["--only", "ladder", str(folder)]),
        lambda: plot.main(["--only", "ladder", *map(str, sorted(folder.glob("*.json")))]),
        lambda: 0 if data.gather(data.files_of([folder])).cases else 1,
        lambda: compare.main([str(tmp_path), str(mine)]),
    ):
        assert read() == 0
        (warning,) = (line for line in warnings(capsys) if "foreign.json" in line)
        assert warning.endswith("; the other files are used")
    assert "absent.json" in refused(capsys, plot.main, mine, tmp_path / "absent.json")


def test_a_file_is_parsed_once(edited, monkeypatch):
    """200 MB take a while."""
    path, parsed = edited("cold.json"), []
    read = plot.results.read_json
    monkeypatch.setattr(plot.results, "read_json", lambda given: parsed.append(given) or read(given))
    assert plot.main(["--only", "ladder", str(path)]) == 0
    assert data.gather([path]).cases
    assert parsed.count(path) == 2
    assert isinstance(read_file(path), File)
