import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from helpers import ROOT, Change, committed_results, context, device, edit, every, keep, on, protocol, ran, refused
from synthetic import turn
from tools import check_results
from tools.results import without_times

RESULTS = ROOT / "results"


def test_runs_from_the_root_leave_no_results_of_the_repository(tmp_path):
    names = [f"results/gpu/{name}" for name in ("cold.json", "programs/gpt.json", "20261128-101112.json")]
    for name in (*names, "results/cpu/20261128-101112.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert len(committed_results(root=tmp_path)) == 4, "an archive has what was committed"
    for command in (["init", "-q"], ["add", *names[:2]]):
        ran("git", "-C", tmp_path, *command, status=0)
    assert committed_results(root=tmp_path) == [tmp_path / name for name in names[:2]]
    assert committed_results("gpu/programs", root=tmp_path) == [tmp_path / names[1]]


@pytest.mark.parametrize("folder", sorted({path.relative_to(RESULTS).parts[0] for path in committed_results()}))
def test_committed_results_keep_every_rule(folder, capsys, tmp_path):
    for path in (*committed_results(folder), *(RESULTS / folder).glob("*.txt")):
        copy = tmp_path / path.relative_to(RESULTS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    status = check_results.main([str(tmp_path / folder)])
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("accepted: ")]
    assert (status, lines) == (0, [f"{tmp_path / folder}: every rule is kept"])


def test_each_exception_is_that_of_a_committed_file():
    files = [path for path in committed_results() if path.name != "kernels.json"]
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in files]
    dates = {document["context"]["date"] for document in documents if "context" in document}
    assert {date for date, _ in check_results.ACCEPTED} <= dates


def test_programs_name_no_folder_of_a_machine(folder, capsys):
    (folder / "programs").mkdir()
    for preload in ("libsgemm_cublas.so", "/root/build/libsgemm_cublas.so"):
        program = {"example": "train_gpt.py", "runs": [{"mode": "cublas", "preload": preload}]}
        (folder / "programs" / "gpt.json").write_text(json.dumps(program), encoding="utf-8")
        assert any("/root/build" in line for line in broken(folder, capsys)) == preload.startswith("/")


KEY = "key.device NVIDIA H200\nkey.multiprocessors 132\n"
CALIBRATION = f"libsgemm calibration 1\ndate 2026\n{KEY}cublas 6 4e5 4e6\nend\n"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (("", ""), None),
        (("end\n", ""), "schema"),
        (("4e5", "nan"), "schema"),
        (("6 4e5 4e6", "fast"), "schema"),
        (("H200", "L4"), "names"),
    ],
)
def test_a_calibration_is_whole_and_of_the_device(folder, capsys, change, rule):
    (folder / "calibration.txt").write_text(CALIBRATION.replace(*change), encoding="utf-8")
    lines = broken(folder, capsys)
    assert [f"calibration.txt: {rule}: " in line for line in lines] == ([True] if rule else [])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Results of an H200 that keep every rule: two kernels at two sizes, errors on three kinds of operands."""
    folder = tmp_path / "nvidia-h200"
    folder.mkdir()

    def write(source: str, target: str, kernels: tuple[str, ...], *sizes: int, **fields: object) -> None:
        shapes = [(size, size, size) for size in sizes]
        chosen = keep(lambda r: r["kernel"] in kernels and (r["m"], r["n"], r["k"]) in shapes)
        edit(RESULTS / "nvidia-h200" / source, chosen, context(**fields), new=folder / target)

    write("shapes_tensor.json", "cold.json", ("cublas", "12_fp16x3"), 1024, 4096)
    write("accuracy.json", "accuracy.json", ("12_fp16x3",), 1024, executable="./runner", argv=["./runner"])
    edit(RESULTS / "nvidia-h200" / "counters.json", new=folder / "counters.json")
    (folder / "kernels.json").write_text('[{"id": "cublas", "variants": []}]', encoding="utf-8")
    return folder


def broken(folder: Path, capsys) -> list[str]:
    status = check_results.main([str(folder)])
    lines = capsys.readouterr().out.splitlines()
    assert status == (1 if lines != [f"{folder}: every rule is kept"] else 0)
    return lines if status else []


record = partial(on, "12_fp16x3", 4096)  # changes the last record, of a size where the chapter is fast


def times_faster(factor: float) -> Change:
    """All times of the last record, with what follows from them."""

    def change(last: dict) -> None:
        last["gflops"] *= factor
        last["vs_cublas"] *= factor
        last["time_us"]["median"] /= factor
        last["samples_us"] = [time / factor for time in last["samples_us"]]

    return record(change)


def incorrect(document: dict) -> None:
    last = without_times(document["benchmarks"].pop())
    del last["trace"]
    last |= {"outcome": "incorrect", "reason": "17 elements are wrong", "verified": False}
    document["benchmarks"].append(last | {"run_type": "aggregate", "time_unit": "none"})


def at_its_end(**told: object) -> Change:
    """What the GPU tells after the last record."""
    return record(lambda last: last["telemetry"]["end"].update(told))


def hot_turn(document: dict) -> None:
    """A turn for the energy on a GPU that was too hot for a tenth of the time."""
    hot = turn(1.0, 4096, 700.0, 1.0)
    hot["trace"]["throttle_shares"] = {"hw_slowdown": 0.1}
    document["context"]["protocol"]["energy"] = True
    document["benchmarks"][-1]["energy"] = {"kernel": hot, "cublas": hot}


OF_LIBRARY = [times_faster(1.2), record(accuracy_class="bf16_split", number=-1, kernel="libsgemm:any")]


def of_a_chapter(document: dict) -> None:
    for change in (*OF_LIBRARY, on("libsgemm:any", number=11, kernel="11_bf16x6")):
        change(document)


@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        (lambda document: document["context"].pop("argv"), "schema", "'argv' is a required property"),
        (context(schema_version=3), "schema", "3 is not one of [1, 2]"),
        (record(surprise=1), "schema", "surprise"),
        (device(name="NVIDIA A100"), "names", "folder nvidia-a100"),
        (lambda document: document.update(interrupted=True), "finished", "interrupted"),
        (lambda document: document.update(benchmarks=[]), "finished", "no case"),
        (context(git_dirty=True), "finished", "commit first"),
        (context(git_commit="unknown"), "finished", "commit first"),
        (record(verified=False), "verified", "was not verified"),
        (record(max_bound_ratio=1.5), "verified", "1.5 times its bound"),
        (incorrect, "verified", "is incorrect: 17 elements are wrong"),
        (protocol(check=True), "protocols", "were checked"),
        (protocol(l2="warm"), "protocols", "l2 is cold (needed), warm (cold.json)"),
        (protocol(beta=1.0), "protocols", "beta is 0.0 (needed), 1.0"),
        (protocol(seed=1), "protocols", "seed is 42"),
        (protocol(data="normal"), "protocols", "data is uniform"),
        (protocol(max_seconds=0.5), "protocols", "at least 7 samples"),
        (protocol(min_samples=3), "protocols", "at least 7 samples"),
        (protocol(flush_bytes=(60 << 20) - 1), "protocols", "L2 was not cold"),
        (protocol(energy=True), "protocols", "energy is False (needed), True (cold.json)"),
        (hot_turn, "throttling", "throttled by hw_slowdown"),
        (at_its_end(throttle_reasons=["sw_power_cap", "hw_thermal_slowdown"]), "throttling", "by hw_thermal_slowdown"),
        (device(fp32_peak_gflops=133816.32), "peaks", "SMs and clock give 66908.2"),
        (device(dram_peak_gbytes_s=9628.6), "peaks", "bus and clock give 4814.3"),
        (record(gflops=1.0), "statistics", "gflops is 1,"),
        (record(batch=2), "statistics", "gflops is "),
        (record(vs_cublas=9.0), "statistics", "vs_cublas is 9,"),
        (record(cublas_samples_us=[1.0]), "statistics", "samples and 1 of cuBLAS"),
        (record(lambda last: last["time_us"].update(median=1.0)), "statistics", "time_us.median is 1,"),
        (record(kernel="cublas"), "statistics", "of itself"),
        (times_faster(4), "plausible", "multiply-adds of fp16 x 2 x 1980 MHz / 3 for each product"),
        (record(accuracy_class="fp32"), "plausible", "GFLOP at 66.91 TFLOP/s"),
        (of_a_chapter, "plausible", "multiply-adds of bf16"),
        (record(m=1 << 20, n=64, k=1024), "plausible", "MB of operands over 4814 GB/s"),
        (device(memory_bytes=1 << 20), "plausible", "needs more memory"),
        (at_its_end(sm_clock_mhz=1995), "plausible", "ran at 1995 MHz"),
        (context(device=None), "plausible", "there is no device"),
        (context(executable="/tmp/build/runner"), "paths", "/tmp/build/runner"),
        (context(argv=["./runner", "--out=/home/me/cold.json"]), "paths", "/home/me/cold.json"),
        (record(detail="~/sgemm/kernel.cu"), "paths", "~/sgemm/kernel.cu"),
    ],
)
def test_each_rule_is_broken_by_a_wrong_folder(folder, capsys, change, rule, words):
    edit(folder / "cold.json", change)
    assert any(f"cold.json: {rule}: " in line and words in line for line in broken(folder, capsys))


def test_the_sweep_of_another_board_has_the_same_protocol(folder, capsys):
    others = [folder / name / "cold.json" for name in ("other_board", "runs")]
    for other in others:
        other.parent.mkdir()
        edit(folder / "cold.json", new=other)
    assert broken(folder, capsys) == []
    for other in others:
        edit(other, protocol(seed=1))
    (line,) = broken(folder, capsys)
    assert "other_board/cold.json: protocols: seed is 42 (needed), 1 (cold.json)" in line


def test_errors_need_no_proof_where_none_is_promised(folder, capsys):
    edit(folder / "accuracy.json", every(lambda record: record.get("accuracy", {}).update(promised=True)))
    (line,) = broken(folder, capsys)
    assert "accuracy.json: verified: " in line


RIGHT = {
    "as it was measured": [],
    "files of other people may be wrong": [incorrect, record(path="their.cu")],
    "installed programs may be named": [record(detail="/usr/local/cuda/bin/nvcc -O3 /opt/cuda/include")],
    "the library multiplies numbers of any kind": OF_LIBRARY,
}


@pytest.mark.parametrize("changes", RIGHT.values(), ids=RIGHT)
def test_a_right_folder_keeps_every_rule(folder, capsys, changes):
    edit(folder / "cold.json", *changes)
    assert broken(folder, capsys) == []


def test_several_gpus_are_several_times_as_fast(folder, capsys):
    spread = {"gpus": 2, "grid": "1x2", "exchange": "peer copies", "received_bytes": 1.0}
    edit(folder / "cold.json", times_faster(4), record(spread=spread))
    assert not any("plausible" in line for line in broken(folder, capsys))


def test_names_of_files_and_folders(folder, capsys):
    (folder / "cold.json").rename(folder / "My Results.json")
    lines = broken(folder, capsys)
    assert any("small letters" in line for line in lines)
    assert any("cold.json is missing" in line for line in lines)
    edit(folder / "counters.json", lambda document: document["context"].update(device="NVIDIA A100"))
    assert any("counters.json: names: " in line for line in broken(folder, capsys))


def test_other_files_are_no_results(folder, tmp_path, capsys):
    for text in ("{}", "[1]", "3", "{", '{"kernels": {}, "schema_version": 7}'):
        (folder / "other.json").write_text(text, encoding="utf-8")
        assert any("other.json: schema: " in line for line in broken(folder, capsys)), text
    (tmp_path / "empty").mkdir()
    assert "holds no results" in refused(capsys, check_results.main, tmp_path / "empty")
    assert "missing is no folder" in refused(capsys, check_results.main, tmp_path / "missing")


# Committed results that stand in one table come from one state of the device code.

# What decides the instructions that a GPU runs, and their launches. Ranks, the executor and the list of kernels are the
# host's.
HOST_CODE = ("executor", "many_gpus", "14_many_gpus.cpp", "host/chapter.hpp")
DEVICE_CODE = ("kernels", *(f":!kernels/{path}" for path in HOST_CODE))

# What stands in tables of its own: a pair of boards, other people's kernels, programs with the drop-in, the library,
# and the list of kernels.
APART = ("other_board", "other_kernels", "programs", "library", "kernels.json")


def commits(folder: Path) -> dict[str, str]:
    """The commit of every results file of the folder, by the name of the file."""
    found = {}
    for path in committed_results(folder.relative_to(RESULTS)):
        name = path.relative_to(folder)
        if name.parts[0] not in APART:
            found[str(name)] = json.loads(path.read_text(encoding="utf-8"))["context"]["git_commit"]
    return found


H200, H100 = RESULTS / "nvidia-h200", RESULTS / "nvidia-h100-80gb-hbm3"
FOLDERS = {"first": H200, "pair of boards": H200 / "other_board", "second device": H100}


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_results_come_from_one_state_of_the_device_code(folder):
    """As scripts/measure_device.sh measures them. The first has "levels" of another, in tables of its own."""
    found = commits(folder)
    for commit in set(found.values()):
        if ran("git", "cat-file", "-e", f"{commit}^{{commit}}").returncode != 0:
            pytest.skip(f"the history here lacks {commit}")
    of_levels = [name for name in found if folder == H200 and name.startswith(("levels", "large"))]
    first = {name: "levels.json" if name in of_levels else "cold.json" for name in found}
    pairs = {name: (found[first[name]], commit) for name, commit in found.items()}
    differing = ("git", "diff", "--quiet")
    assert [name for name, pair in pairs.items() if ran(*differing, *pair, "--", *DEVICE_CODE).returncode != 0] == []
