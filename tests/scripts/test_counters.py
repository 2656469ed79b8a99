from __future__ import annotations

import json
import sys
from pathlib import Path

from tools import counters

# Stands in for the runner: writes the results of the kernels that it is asked to profile.
FAKE_RUNNER = """#!{python}
import json, sys
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
assert sys.argv[1] == "--profile"
if {status} == 2:
    print("runner: there is no ncu", file=sys.stderr)
    sys.exit(2)
def launch(function, time, dram):
    return {{"function": function, "counters": {{"dram__bytes_read.sum": {{"value": dram, "unit": "byte"}}}},
            "derived": {{"time_us": time, "dram_bytes": dram}}}}
cases = []
for kernel in given["--kernel"].split(","):
    case = {{"kernel": kernel, "outcome": "profiled", "reason": "", "profile": {{
        "ncu": "0.0.0", "dropped_metrics": ["lts__t_sectors.sum"],
        "launches": [launch("prepare", 3.0, 1.0), launch("product", 40.0, 8.0), launch("add", None, 2.0)]}}}}
    if kernel == "05_coarse_1d":
        del case["profile"]["launches"][::2]
    if kernel in {broken!r}:
        case = {{"kernel": kernel, "outcome": "failed", "reason": "ncu gave no counters"}}
    cases.append(case)
device = {{"name": "Synthetic GPU", "compute_capability": "9.0", "driver": "1.2"}}
context = {{"device": device, "git_commit": "0" * 40, "git_dirty": False, "date": "2026-01-02T03:04:05+00:00"}}
out = sys.argv[sys.argv.index("--out") + 1]
size = sys.argv[sys.argv.index("--sizes") + 1]
json.dump({{"context": context, "benchmarks": cases, "size": size}}, open(out, "w"))
sys.exit({status})
"""


def install(tmp_path: Path, broken=(), status: int = 0) -> list[str]:
    """A build folder with a fake runner; returns the options that name it."""
    build = tmp_path / "build"
    build.mkdir(exist_ok=True)
    runner = build / "runner"
    script = FAKE_RUNNER.format(python=sys.executable, broken=tuple(broken), status=status)
    runner.write_text(script, encoding="utf-8")
    runner.chmod(0o755)
    return ["--build", str(build), "--out", str(tmp_path / "counters.json")]


def written(tmp_path: Path) -> dict:
    return json.loads((tmp_path / "counters.json").read_text(encoding="utf-8"))


def test_profiles_the_chapters_by_default(tmp_path):
    """The runner says which those are: products on several GPUs, for one, are not profiled."""
    assert counters.main(install(tmp_path)) == 0
    document = written(tmp_path)
    assert list(document["kernels"]) == ["chapters"] == list(document["derived"])
    assert document["context"] == {
        "device": "Synthetic GPU",
        "compute_capability": "9.0",
        "driver": "1.2",
        "ncu": "0.0.0",
        "size": 4096,
        "date": "2026-01-02T03:04:05+00:00",
        "git_commit": "0" * 40,
        "git_dirty": False,
        "dropped_metrics": ["lts__t_sectors.sum"],
    }


def test_each_launch_of_a_product_has_its_figures(tmp_path):
    assert counters.main([*install(tmp_path), "05_coarse_1d", "13_int8x6"]) == 0
    launches = written(tmp_path)["launches"]
    assert list(launches) == ["13_int8x6"]
    assert [launch["function"] for launch in launches["13_int8x6"]] == ["prepare", "product", "add"]
    assert launches["13_int8x6"][0]["derived"] == {"time_us": 3.0, "dram_bytes": 1.0}


def test_the_longest_launch_stands_for_a_product(tmp_path):
    assert counters.main([*install(tmp_path), "11_bf16x6", "--size", "2048"]) == 0
    document = written(tmp_path)
    assert document["kernels"] == {"11_bf16x6": {"dram__bytes_read.sum": {"value": 8.0, "unit": "byte"}}}
    assert document["derived"] == {"11_bf16x6": {"time_us": 40.0, "dram_bytes": 8.0}}
    assert document["context"]["size"] == 2048


def test_a_kernel_that_can_not_be_profiled_does_not_stop_the_others(tmp_path, capsys):
    options = install(tmp_path, broken=["01_naive"], status=1)
    assert counters.main([*options, "01_naive", "05_coarse_1d"]) == 1
    assert list(written(tmp_path)["kernels"]) == ["05_coarse_1d"]
    assert "01_naive: ncu gave no counters" in capsys.readouterr().err


def test_nothing_is_written_where_nothing_was_profiled(tmp_path):
    assert counters.main([*install(tmp_path, broken=["01_naive"], status=1), "01_naive"]) == 1
    assert not (tmp_path / "counters.json").exists()


def test_bad_input_exits_with_2(tmp_path, capsys):
    assert counters.main(["--build", str(tmp_path)]) == 2
    assert "there is no program" in capsys.readouterr().err
    assert counters.main(install(tmp_path, status=2)) == 2
    assert "the runner did not start" in capsys.readouterr().err
    assert not (tmp_path / "counters.json").exists()
