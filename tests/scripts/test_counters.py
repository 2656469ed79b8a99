from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import counters
from conftest import SYNTHETIC

LISTING = json.loads((SYNTHETIC / "kernels.json").read_text(encoding="utf-8"))

# Stands in for ncu: writes what the real one writes to its log file, and knows no metric named in REFUSED.
FAKE_NCU = """#!{python}
import json, os, sys
if "--version" in sys.argv:
    print("NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 0.0.0 (synthetic)")
    sys.exit()
metrics = sys.argv[sys.argv.index("--metrics") + 1].split(",")
log = sys.argv[sys.argv.index("--log-file") + 1]
results = sys.argv[sys.argv.index("--out") + 1]
kernel = sys.argv[sys.argv.index("--kernel") + 1]
context = {{"device": {{"name": "Synthetic GPU", "compute_capability": "9.0"}}, "git_commit": "0" * 40}}
json.dump({{"context": context, "benchmarks": []}}, open(results, "w"))
refused = [m for m in metrics if m in {refused!r}]
with open(log, "w") as file:
    print("==PROF== Connected to process 1", file=file)
    if refused and {named!r}:
        print("==ERROR== Failed to find metric " + refused[0], file=file)
    if refused or kernel in {broken!r}:
        sys.exit(1)
    names = ["ID", "Kernel Name", *metrics]
    units = ["", "", *("ns" if "time" in m else "" for m in metrics)]
    cells = ["0", "f", *("n/a" if "misc" in m else "2,000" if "time" in m else "8" for m in metrics)]
    names += ["device__attribute_clock_rate", "launch__grid_size"]
    units += ["", ""]
    cells += ["1980000", "256"]
    for row in (names, units, cells):
        print(",".join('"' + cell + '"' for cell in row), file=file)
"""


def install(tmp_path: Path, refused=(), named=True, broken=()) -> list[str]:
    """A build folder with a runner that lists kernels, and a fake ncu; returns the options that name them."""
    build = tmp_path / "build"
    build.mkdir()
    runner, ncu = build / "runner", tmp_path / "ncu"
    runner.write_text(f"#!{sys.executable}\nprint({json.dumps(LISTING)!r})\n", encoding="utf-8")
    script = FAKE_NCU.format(python=sys.executable, refused=tuple(refused), named=named, broken=tuple(broken))
    ncu.write_text(script, encoding="utf-8")
    for program in (runner, ncu):
        program.chmod(0o755)
    return ["--build", str(build), "--ncu", str(ncu), "--out", str(tmp_path / "counters.json")]


def written(tmp_path: Path) -> dict:
    return json.loads((tmp_path / "counters.json").read_text(encoding="utf-8"))


def test_profiles_every_chapter_by_default(tmp_path):
    assert counters.main(install(tmp_path)) == 0
    document = written(tmp_path)
    assert list(document["kernels"]) == counters.chapter_ids(LISTING)
    assert document["context"]["device"] == "Synthetic GPU"
    assert document["context"]["ncu"] == "0.0.0"
    assert document["context"]["size"] == 4096
    values = document["kernels"]["05_coarse_1d"]
    assert values["gpu__time_duration.sum"] == {"value": 2000.0, "unit": "ns"}
    assert counters.stall_metric("misc") not in values
    assert set(values) < set(counters.METRICS)
    assert document["derived"]["05_coarse_1d"]["time_us"] == 2.0


@pytest.mark.parametrize("named", [True, False])
def test_rejected_metrics_are_dropped_and_listed(tmp_path, capsys, named):
    refused = ["dram__bytes_read.sum", "lts__t_sectors.sum"]
    assert counters.main([*install(tmp_path, refused, named), "05_coarse_1d", "01_naive"]) == 0
    document = written(tmp_path)
    assert sorted(document["context"]["dropped_metrics"]) == refused
    assert "dram__bytes_write.sum" in document["kernels"]["01_naive"]
    assert "dram__bytes_read.sum" not in document["kernels"]["01_naive"]
    assert "ncu rejects" in capsys.readouterr().err


def test_a_kernel_that_can_not_be_profiled_does_not_stop_the_others(tmp_path, capsys):
    options = install(tmp_path, broken=["01_naive"])
    assert counters.main([*options, "01_naive", "05_coarse_1d"]) == 1
    assert list(written(tmp_path)["kernels"]) == ["05_coarse_1d"]
    assert "01_naive: ncu gave no counters" in capsys.readouterr().err


def test_bad_input_exits_with_2(tmp_path, capsys):
    options = install(tmp_path)
    assert counters.main([*options[:2], "--ncu", str(tmp_path / "absent")]) == 2
    assert counters.main(["--build", str(tmp_path)]) == 2
    (tmp_path / "build" / "runner").write_text("#!/bin/sh\necho '[]'\n", encoding="utf-8")
    assert counters.main(options) == 2
    assert "names no chapters" in capsys.readouterr().err


def test_reads_ids_from_lists_of_several_shapes():
    assert counters.chapter_ids([{"number": None, "id": "cpu_blas"}, {"number": 0, "id": "cublas"}]) == []
    assert counters.chapter_ids({"kernels": [{"number": 1, "id": "01_naive"}]}) == ["01_naive"]
    assert counters.chapter_ids([{"number": 1, "variants": [{"id": "01_naive"}, {"id": "01_naive:x"}, {}]}]) == [
        "01_naive",
        "01_naive:x",
    ]
    assert counters.chapter_ids("text") == []


def test_parses_csv_between_other_lines():
    text = '==PROF== x\n"ID","Kernel Name","a__b.sum","c__d.pct"\n"","","ns","%"\n"0","f","1,234.5","n/a"\n==PROF== y\n'
    assert counters.parse_csv(text) == {"a__b.sum": {"value": 1234.5, "unit": "ns"}}
    assert counters.parse_csv("==ERROR== nothing\n") == {}
    assert counters.parse_csv('"ID","Kernel Name","a__b.sum"\n"","","ns"\n') == {}


def test_finds_rejected_metrics_in_complaints():
    metrics = ["a__b.sum", "c__d.avg.pct_of_peak", "launch__e"]
    assert counters.rejected("==ERROR== Failed to find metric a__b.sum\n", metrics) == ["a__b.sum"]
    assert counters.rejected("==WARNING== c__d is not supported\n", metrics) == ["c__d.avg.pct_of_peak"]
    assert counters.rejected("==PROF== Profiling a__b.sum\n", metrics) == []


def test_names_of_device_functions():
    assert counters.function_patterns("05_coarse_1d") == ["^coarse_1d_kernel", "coarse_1d_.*kernel"]
    assert counters.function_patterns("06_coarse_2d:vectorized") == ["^coarse_2d_kernel", "coarse_2d_.*kernel"]
    assert counters.function_patterns("cublas") == ["gemm"]


def test_derived_figures():
    values = {
        "gpu__time_duration.sum": {"value": 2.0, "unit": "ms"},
        "dram__bytes_read.sum": {"value": 3e6, "unit": "byte"},
        "dram__bytes_write.sum": {"value": 1e6, "unit": "byte"},
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": {"value": 0.0, "unit": ""},
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": {"value": 0.0, "unit": ""},
        "lts__t_sectors.sum": {"value": 10.0, "unit": "sector"},
        "sm__sass_inst_executed_op_ldgsts.sum": {"value": 0.0, "unit": "inst"},
        "smsp__sass_inst_executed_op_shared_ld.sum": {"value": 4.0, "unit": "inst"},
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": {"value": 6.0, "unit": ""},
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum": {"value": 0.0, "unit": ""},
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": {"value": 0.0, "unit": ""},
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum": {"value": 0.0, "unit": ""},
        counters.stall_metric("wait"): {"value": 0.5, "unit": ""},
        counters.stall_metric("barrier"): {"value": 2.5, "unit": ""},
    }
    derived = counters.derive(values, 1000)
    assert derived["tflops"] == pytest.approx(1.0)
    assert derived["flop_per_dram_byte"] == pytest.approx(500.0)
    assert derived["l2_bytes"] == 320.0
    assert derived["global_load_sectors_per_request"] is None
    assert derived["shared_load_wavefronts_per_request"] == 1.5
    assert derived["shared_load_bank_conflicts"] == 0.0
    # A kernel without asynchronous copies has no figures about them, rather than zeros.
    assert {name: value for name, value in derived.items() if name.startswith("async")} == {
        "async_copy_percent_of_loads": None,
        "async_copy_wavefronts_per_request": None,
        "async_copy_bank_conflicts": None,
    }
    assert list(derived["stalls"]) == ["barrier", "wait"]
    assert counters.derive({}, 1000)["time_us"] is None
