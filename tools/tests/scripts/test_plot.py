import shutil
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib.metadata import version
from itertools import combinations
from pathlib import Path

import pytest

pytest.importorskip("vl_convert", reason="vl-convert-python is missing, which PyPI alone has")

import vl_convert

from helpers import context, cpu_alone, device, every, executed, keep, on, refused, said, without, without_energy
from synthetic import SYNTHETIC
from test_drawings import Box, text_box
from tools import ROOT
from tools.plots import plot
from tools.plots.plot import Chart
from tools.results import one

CHAPTERS = [f"chapter_{number:02d}" for number in range(1, 8)]  # those of the synthetic results
# From the synthetic results.
UNDRAWN = ("percent_of_cublas_tensor", "time_with_copies", "other_kernels", "loss_curves", "scaling")
NAMES = [*(name for name in plot.CHARTS if name not in UNDRAWN), *CHAPTERS]
COLD, WARM, END_TO_END, COUNTERS, ACCURACY, ENERGY, SUSTAINED = (
    SYNTHETIC / f"{name}.json" for name in ("cold", "warm", "end-to-end", "counters", "accuracy", "energy", "sustained")
)
HILBERT = "07_warptile_hilbert"
DRAWN_WITH = "1.9.0.post1"  # of vl-convert, the committed charts


@cache
def every_source() -> plot.Source:
    accuracy, energy = (plot.load([path]) for path in (ACCURACY, ENERGY))
    return plot.Source(
        plot.load([COLD, WARM, END_TO_END]), plot.load_counters(COUNTERS), accuracy=accuracy, energy=energy
    )


def source_of(cold: Path = COLD, **others) -> plot.Source:
    return plot.Source(plot.load([cold]), **others)


@pytest.fixture
def unwritten(monkeypatch) -> list[str]:
    """Has charts drawn and not written, which takes most of the time; the names of those that would be."""
    names: list[str] = []

    def save(chart: Chart, path: Path) -> None:
        chart.spec()
        names.append(path.name)

    monkeypatch.setattr(plot, "save", save)
    return names


def main(*arguments: object) -> int:
    return plot.main(list(map(str, arguments)))


def texts_in(*panels: Mapping) -> list[str]:
    """What is written into panels: at lines' ends, and in marks of their own."""
    texts = []
    for panel in panels:
        for layer in (layer for layer in panel["layer"] if layer["mark"]["type"] == "text"):
            field = layer.get("encoding", {}).get("text", {}).get("field")
            rows = layer.get("data", panel.get("data"))["values"] if field else ()
            texts += [row[field] for row in rows] if field else [layer["mark"]["text"]]
    return texts


def rows_of(panel: Mapping, **fields) -> list[dict]:
    """The rows that are drawn with these fields, say name="cuBLAS"."""
    rows = panel["data"]["values"]
    return [row for row in rows if all(row[name] == value for name, value in fields.items())]


def charts_in(folder: Path) -> list[str]:
    return [chart.name for chart in (folder / "charts").iterdir()]


def test_what_a_file_has_no_data_for_is_skipped_with_the_reason(tmp_path, capsys, unwritten):
    lacking = {
        "cpu_against_gpu": "it takes an end-to-end sweep of GPU kernels, and CPU kernels",
        "roofline": "it takes a file of tools/counters.py (counters.json)",
        "error_by_distribution": "it takes a file of runner --accuracy (accuracy.json)",
        "percent_of_cublas_tensor": "no chapter on tensor cores was compared with cuBLAS",
        "time_with_copies": "it takes an end-to-end sweep of 01_naive, 02_smem_tiled:tile16, cublas",
        "other_kernels": "no results of other people's kernels",
        "loss_curves": "no losses of a training with cuBLAS",
        "scaling": "no product on several GPUs that one GPU had as well",
    }
    output = said(capsys, plot.main, "--only", ",".join([*lacking, "ladder"]), COLD, "--out", tmp_path).out
    skipped = [line for line in output.splitlines() if line.startswith("skipped")]
    assert skipped == [f"skipped {name}: {reason}" for name, reason in lacking.items()]
    assert unwritten == ["ladder.svg"]


def test_a_folder_stands_for_its_files_and_gets_the_charts(synthetic, unwritten):
    assert main(synthetic) == 0
    assert set(unwritten) == {f"{name}.svg" for name in NAMES}


def test_without_gpu_kernels_the_cpu_is_drawn(edited, capsys):
    path = edited("cold.json", cpu_alone)
    assert main(path) == 0
    assert charts_in(path.parent) == ["gflops_over_size.svg"]
    nothing = edited("cold.json", keep(lambda record: record["outcome"] == "skipped"))
    assert "skipped gflops_over_size: no measured kernel" in said(capsys, plot.main, nothing, status=1).out


@pytest.mark.parametrize("mode", ["check", "count"])
def test_what_was_executed_without_being_timed_keeps_no_chart_from_its_neighbours(synthetic, edited, capsys, mode):
    """The quick start without a GPU draws from both."""
    shutil.copy(COLD, synthetic / "executed.json")
    untimed, timed = edited("executed.json", partial(executed, mode=mode)), edited("cold.json", cpu_alone)
    assert "skipped gflops_over_size: no measured kernel" in said(capsys, plot.main, untimed, status=1).out
    assert main(untimed, timed) == 0
    assert charts_in(timed.parent) == ["gflops_over_size.svg"]


def test_wrong_cases_are_not_drawn(edited):
    source = source_of(edited("cold.json", on(HILBERT, outcome="incorrect")))
    texts = texts_in(*plot.gflops_over_size(source).panels)
    assert "06 coarse 2d" in texts
    assert "07 warptile hilbert" not in texts


def test_the_ladder_is_at_4096_or_the_largest_common_size(edited):
    assert plot.ladder_size_of(source_of()) == 4096
    small = keep(lambda record: record["m"] < 4096)
    assert plot.ladder_size_of(source_of(edited("cold.json", small, without(("05_coarse_1d", 2048))))) == 1024


def test_without_the_rivals_no_ratio_is_drawn(edited):
    source = source_of(edited("cold.json", keep(lambda record: record["number"] in range(7))))
    with pytest.raises(plot.NoData, match="none of the chapters 07 to 09"):
        plot.percent_of_cublas(source)


def test_throttled_points_are_hollow(edited):
    path = edited("cold.json", on(HILBERT, 4096, throttled=True))
    source = source_of(path, counters=plot.load_counters(COUNTERS), accuracy=plot.load([ACCURACY]))
    row = one(source.results, kernel=HILBERT, side=4096)
    expected = {
        "gflops_over_size": 4096,
        "chapter_07": 4096,
        "percent_of_cublas": 100 * row.of_cublas,
        "roofline": source.counters["derived"][row.kernel]["flop_per_dram_byte"],
    }
    for name, x in expected.items():
        chart = plot.charts_of(source)[name](source)
        (hollow,) = rows_of(chart.panels[0], throttled=True)
        assert hollow["name"] == "07 warptile hilbert" and pytest.approx(x, rel=1e-4) in hollow.values(), name
        assert "Hollow: the GPU had lowered its clock" in chart.note
    (bar,) = rows_of(plot.ladder(source).panels[0], throttled=True)
    assert bar["name"] == "07 warptile hilbert"


@pytest.mark.parametrize("capability", ["7.5", "9.0"])
def test_roofs_of_splits_are_those_of_gpus_with_their_formats(edited, capability):
    cold = edited("cold.json", device(compute_capability=capability))
    source = source_of(cold, counters=plot.load_counters(COUNTERS))
    assert ("Tensor cores" in plot.roofline(source).note) == (capability == "9.0")


def test_errors_far_beyond_those_of_cublas_are_marked(edited):
    """A bound by rows holds where the error is large: what is marked is told by the axis."""

    def large(record: dict) -> None:
        if record["data"] == "lognormal4":
            record["rel_err"] *= 100

    path = edited("accuracy.json", on("06_coarse_2d", None, large, verified=True))
    (panel,) = plot.error_by_distribution(source_of(accuracy=plot.load([path]))).panels
    assert [row["data"] for row in rows_of(panel, ring=True)] == ["lognormal4"]


def test_errors_from_the_executor_need_no_sweep(edited):
    path = edited("accuracy.json", context(device=None))
    assert main(path) == 0
    assert charts_in(path.parent) == ["error_by_distribution.svg"]


@pytest.mark.parametrize("folder", sorted((ROOT / "results").glob("*/charts")), ids=lambda folder: folder.parent.name)
def test_committed_charts_are_what_is_drawn_of_the_results(folder, tmp_path):
    """Byte for byte, with the vl-convert that drew them."""
    if version("vl-convert-python") != DRAWN_WITH:
        pytest.skip(f"the charts were drawn with vl-convert {DRAWN_WITH}")
    charts = sorted(path.stem for path in folder.iterdir())
    assert main(folder.parent, "--out", tmp_path, "--only", ",".join(charts)) == 0
    assert [
        name for name in charts if (folder / f"{name}.svg").read_bytes() != (tmp_path / f"{name}.svg").read_bytes()
    ] == []


def test_a_folder_without_a_sweep_stands_for_all_that_the_runner_wrote(tmp_path, capsys, unwritten):
    for name in ("nvidia-h200-x2", "nvidia-h200-x4"):
        assert main("--only", "scaling", ROOT / "results" / name, "--out", tmp_path) == 0
    assert unwritten == ["scaling.svg"] * 2
    (tmp_path / "empty").mkdir()
    assert "holds none of cold.json, " in (error := refused(capsys, plot.main, tmp_path / "empty"))
    assert "no other results" in error
    (tmp_path / "empty" / "other.json").write_text("{}", encoding="utf-8")
    assert "other files can not be used" in refused(capsys, plot.main, tmp_path / "empty")
    for folder in (ROOT / "results").glob("*/programs"):
        assert f"--only loss_curves draws them for {folder.parent}" in refused(capsys, plot.main, folder)


def test_a_line_is_of_one_number_of_gpus():
    """A kernel on one GPU and on two, and another on two alone."""
    rows = plot.load([ROOT / "results" / "nvidia-h200-x2" / f"{name}.json" for name in ("one-gpu", "two-gpus")])
    sweep = plot.Source(rows[(rows.gpus == 2) | (rows.kernel != "14_many_gpus:fp16x3")]).sweep()
    drawn = {kernel: set(of_kernel.gpus) for kernel, of_kernel in sweep.groupby("kernel") if "many_gpus" in kernel}
    assert drawn == {"14_many_gpus": {1}, "14_many_gpus:bf16x6": {1}, "14_many_gpus:fp16x3": {2}}


def test_charts_are_chosen_by_name(tmp_path, capsys, unwritten):
    assert main("--only", "ladder,gflops_over_size", COLD, "--out", tmp_path) == 0
    assert unwritten == ["ladder.svg", "gflops_over_size.svg"]
    error = refused(capsys, plot.main, "--only", "ladder,leiter", COLD, "--out", tmp_path)
    assert "--only: no chart 'leiter'; there are gflops_over_size, " in error


def test_where_nvml_tells_no_energy_nothing_is_drawn(edited, capsys, unwritten):
    untold = without_energy("NVML counts no energy of this GPU, or not for this user")
    asked = ("--only", "energy_over_size", edited("energy.json", every(untold)), COLD)
    assert "skipped energy_over_size: NVML told no energy" in said(capsys, plot.main, *asked, status=1).out


def test_sustained_speeds_and_energies_give_no_points_to_other_charts(tmp_path, unwritten):
    """Their runs have bursts of other conditions, or none."""
    assert main(ENERGY, SUSTAINED, "--out", tmp_path) == 0
    assert unwritten == ["energy_over_size.svg"]
    with pytest.raises(plot.ResultsError, match=r"energy is False .* True .*; sustain is False"):
        plot.load([COLD, ENERGY, SUSTAINED])


PHONE = 358  # pixels of text beside the margins of a page


def written(mark: dict, x: float = 0, y: float = 0) -> Iterator[tuple[str, float, Box]]:
    """The texts below a mark of a scenegraph that are not turned: each with its size and its box."""
    for item in mark.get("items", ()):
        left, top = x + item.get("x", 0), y + item.get("y", 0)
        if mark["marktype"] == "group":
            for child in item["items"]:
                yield from written(child, left, top)
        elif mark["marktype"] == "text" and not item.get("angle"):
            size, lines = item["fontSize"], item["text"] if isinstance(item["text"], list) else [item["text"]]
            weight = "bold" if item.get("fontWeight") == "bold" else "normal"
            anchor = {"left": "start", "center": "middle", "right": "end"}[item.get("align", "left")]
            base = {"top": 0.75, "middle": 0.3, "bottom": -0.2}.get(item.get("baseline"), 0) * size + item.get("dy", 0)
            for number, text in enumerate(line for line in lines if line):
                place = left + item.get("dx", 0), top + base + number * item.get("lineHeight", 0)
                yield text, size, text_box(text, size, weight, *place, anchor)


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_large_enough_and_do_not_overlap(name):
    scene = vl_convert.vegalite_to_scenegraph(plot.charts_of(every_source())[name](every_source()).spec())
    texts = list(written(scene["scenegraph"]))
    assert len(texts) > 8
    assert min(size for _, size, _ in texts) * min(1, PHONE / scene["width"]) >= 8
    assert [(a, b) for (a, _, box), (b, _, other) in combinations(texts, 2) if box.meets(other, by=2)] == []
