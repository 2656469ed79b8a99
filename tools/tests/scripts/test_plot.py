from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import combinations, pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from conftest import (
    ROOT,
    SYNTHETIC,
    context,
    cpu_alone,
    device,
    every,
    executed,
    keep,
    on,
    protocol,
    refused,
    without,
    without_energy,
)
from tools.plots import plot
from tools.results import one

CHAPTERS = [f"chapter_{number:02d}" for number in range(1, 8)]  # those of the synthetic results
UNDRAWN = (
    "percent_of_cublas_tensor",
    "time_with_copies",
    "other_kernels",
    "loss_curves",
    "scaling",
)  # from the synthetic results
NAMES = [*(name for name in plot.CHARTS if name not in UNDRAWN), *CHAPTERS]
TWO_GPUS = ROOT / "results" / "nvidia-h200-x2"
COLD, WARM, END_TO_END, COUNTERS, ACCURACY, ENERGY, SUSTAINED = (
    SYNTHETIC / f"{name}.json" for name in ("cold", "warm", "end-to-end", "counters", "accuracy", "energy", "sustained")
)
HILBERT = "07_warptile_hilbert"
ANOTHER = device(name="Another GPU")
DRAWN_WITH = "3.11.2"  # of Matplotlib, the committed charts


@cache
def every_source() -> plot.Source:
    accuracy, energy = (plot.load([path]) for path in (ACCURACY, ENERGY))
    return plot.Source(
        plot.load([COLD, WARM, END_TO_END]), plot.load_counters(COUNTERS), accuracy=accuracy, energy=energy
    )


def source_of(cold: Path = COLD, **others) -> plot.Source:
    return plot.Source(plot.load([cold]), **others)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def unwritten(monkeypatch) -> list[str]:
    """Has charts drawn and not written, which takes most of the time; the names of those that would be."""
    names: list[str] = []

    def save(fig: Figure, path: Path) -> None:
        names.append(path.name)
        plt.close(fig)

    monkeypatch.setattr(plot, "save", save)
    return names


def main(*arguments: object) -> int:
    return plot.main(list(map(str, arguments)))


def texts_in(*places: Axes | Figure) -> list[str]:
    return [text.get_text() for place in places for text in place.texts]


def notes_of(fig: Figure) -> str:
    return " ".join(texts_in(fig)).replace("\n", " ")


def lines_of(ax: Axes, **properties) -> list[Line2D]:
    """The lines and points with these properties, say color="#000000"."""
    return [
        line for line in ax.lines if all(getattr(line, f"get_{name}")() == value for name, value in properties.items())
    ]


def drawn_at(lines: Iterable[Line2D]) -> list[tuple]:
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in lines]


def charts_in(folder: Path) -> list[str]:
    return [chart.name for chart in (folder / "charts").iterdir()]


def test_a_folder_stands_for_its_files_and_gets_the_charts(synthetic, capsys, unwritten):
    assert main(synthetic) == 0
    assert set(unwritten) == {f"{name}.png" for name in NAMES}
    skipped = [line for line in capsys.readouterr().out.splitlines() if line.startswith("skipped")]
    assert skipped == [
        "skipped percent_of_cublas_tensor: no chapter on tensor cores was compared with cuBLAS",
        "skipped time_with_copies: it takes an end-to-end sweep of 01_naive, 02_smem_tiled:tile16, cublas",
        "skipped other_kernels: no results of other people's kernels",
        "skipped loss_curves: no losses of a training with cuBLAS",
        "skipped scaling: no product on several GPUs that one GPU had as well",
    ]
    assert not plt.get_fignums()


def test_says_what_is_missing(tmp_path, capsys, unwritten):
    lacking = {
        "cpu_against_gpu": "it takes an end-to-end sweep",
        "roofline": "it takes a file of tools/counters.py",
        "error_by_distribution": "it takes a file of runner --accuracy",
    }
    assert main("--only", ",".join([*lacking, "ladder"]), COLD, "--out", tmp_path) == 0
    output = capsys.readouterr().out
    assert [f"skipped {name}: {reason}" in output for name, reason in lacking.items()] == [True] * 3
    assert unwritten == ["ladder.png"]


def test_without_gpu_kernels_the_cpu_is_drawn(edited, capsys):
    path = edited("cold.json", cpu_alone)
    assert main(path) == 0
    assert charts_in(path.parent) == ["gflops_over_size.png"]
    assert main(edited("cold.json", keep(lambda record: record["outcome"] == "skipped"))) == 1
    assert "skipped gflops_over_size: no measured kernel" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["check", "count"])
def test_what_was_executed_without_being_timed_keeps_no_chart_from_its_neighbours(synthetic, edited, capsys, mode):
    """The quick start without a GPU draws from both."""
    shutil.copy(COLD, synthetic / "executed.json")
    untimed, timed = edited("executed.json", partial(executed, mode=mode)), edited("cold.json", cpu_alone)
    assert main(untimed) == 1
    assert "skipped gflops_over_size: no measured kernel" in capsys.readouterr().out
    assert main(untimed, timed) == 0
    assert charts_in(timed.parent) == ["gflops_over_size.png"]


def test_wrong_cases_are_not_drawn(edited):
    source = source_of(edited("cold.json", on(HILBERT, outcome="incorrect")))
    texts = texts_in(plot.gflops_over_size(source).axes[0])
    assert "06 coarse 2d" in texts
    assert "07 warptile hilbert" not in texts


def test_the_ladder_is_at_4096_or_the_largest_common_size(edited):
    assert plot.ladder_size_of(source_of()) == 4096
    small = keep(lambda record: record["m"] < 4096)
    assert plot.ladder_size_of(source_of(edited("cold.json", small, without(("05_coarse_1d", 2048))))) == 1024


def test_products_on_tensor_cores_are_drawn_where_they_are_as_accurate_as_fp32(edited):
    """Chapter 07 in split operands, above the FP32 peak, and a variant of it in TF32."""

    def faster(record: dict) -> None:
        record["gflops"] = 1.1 * source_of().device["fp32_peak_gflops"] * record["m"] / 4096

    split = on(HILBERT, None, faster, accuracy_class="fp16_split")
    source = source_of(edited("cold.json", split, on(f"{HILBERT}:row_order", accuracy_class="tf32")))
    for draw in (plot.gflops_over_size, plot.ladder, partial(plot.chapter, number=7)):
        fig = draw(source)
        ax = fig.axes[0]
        names = [*texts_in(ax), *(label.get_text() for label in ax.get_yticklabels())]
        assert any("07 warptile hilbert" in name for name in names)
        assert not any("07: row order" in name for name in names)
        notes = notes_of(fig)
        assert ("lower precision: 07:\u00a0row\u00a0order" in notes) == isinstance(draw, partial)  # the chapter
        assert ("07 multiply on tensor cores" in notes) == (draw == plot.ladder)


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
        fig = plot.charts_of(source)[name](source)
        hollow = lines_of(fig.axes[0], markerfacecolor=plot.CARD, color=plot.color_of(row))
        assert [at[0] for at in drawn_at(hollow)] == [x], name
        assert "Hollow: the GPU had lowered its clock" in notes_of(fig)
    faces = [bar.get_facecolor()[:3] for bar in plot.ladder(source).axes[0].patches]
    assert faces.count((1, 1, 1)) == 1


def test_every_shape_has_a_row_with_the_smaller_ratio(edited):
    def reshape(record: dict) -> None:
        record["m"] *= 1 + (record["m"] == 512)

    slower_alone = on(HILBERT, 2048, vs_cublas_alone=0.5)
    source = source_of(shapes=plot.load([edited("cold.json", slower_alone, every(reshape))]))
    (ax,) = plot.percent_of_cublas(source).axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["256", "1024", "2048", "4096", "8192", "1024 × 512 × 512"]
    row = one(source.shapes, kernel=HILBERT, side=2048)
    assert 50.0 in [x for x, _ in drawn_at(lines_of(ax, color=plot.color_of(row)))]
    assert (ax.get_xscale(), ax.get_xlim()[0]) == ("linear", 0)


def test_sweeps_of_several_protocols_or_devices_are_refused(edited, capsys):
    other = edited("cold.json", protocol(beta=1.0))
    assert "beta is 0.0 (" in refused(capsys, plot.main, COLD, other)
    other = edited("cold.json", protocol(beta=0.0), ANOTHER)
    assert "files of different devices can not be joined" in refused(capsys, plot.main, COLD, other)


def source_with_errors(path: Path = ACCURACY) -> plot.Source:
    return source_of(accuracy=plot.load([path]))


def test_errors_by_distribution_merge_what_coincides_and_mark_what_is_far_beyond_cublas(edited):
    """A bound by rows holds where the error is large: what is marked is told by the axis."""

    def large(record: dict) -> None:
        if record["data"] == "lognormal4":
            record["rel_err"] *= 100

    rings = [
        lines_of(plot.error_by_distribution(source_with_errors(path)).axes[0], color=plot.ALERT)
        for path in (ACCURACY, edited("accuracy.json", on("06_coarse_2d", None, large, verified=True)))
    ]
    assert [sum(len(line.get_xdata()) for line in found) for found in rings] == [0, 1]
    fig = plot.error_by_distribution(source_with_errors())
    ax = fig.axes[0]
    kinds = [tick.get_text() for tick in ax.get_yticklabels()]
    lines = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    assert kinds == ["uniform", "uniform01", "normal", "lognormal1", "lognormal4", "denormals", "huge", "cancelling"]
    assert "Exact in every kernel and not drawn: integers." in notes_of(fig)
    tf32 = one(plot.load([ACCURACY]), None, kernel="cublas_tf32", side=4096, data="denormals")
    assert dict(zip(kinds, lines["cuBLAS TF32"].get_xdata(), strict=True))["denormals"] == tf32.rel_err
    assert set(lines) == {"01 to 07, cuBLAS,\ncuBLASLt best", "cuBLAS TF32", "OpenBLAS (CPU)"}
    assert lines["01 to 07, cuBLAS,\ncuBLASLt best"].get_color() == plot.CUBLAS


def test_errors_from_the_executor_need_no_sweep(edited):
    path = edited("accuracy.json", context(device=None))
    assert main(path) == 0
    assert charts_in(path.parent) == ["error_by_distribution.png"]


@pytest.mark.parametrize("folder", sorted((ROOT / "results").glob("*/charts")), ids=lambda folder: folder.parent.name)
def test_committed_charts_are_what_is_drawn_of_the_results(folder, tmp_path):
    """Byte for byte, with the Matplotlib that drew them."""
    if plot.matplotlib.__version__ != DRAWN_WITH:
        pytest.skip(f"the charts were drawn with Matplotlib {DRAWN_WITH}")
    charts = sorted(path.stem for path in folder.iterdir())
    assert main(folder.parent, "--out", tmp_path, "--only", ",".join(charts)) == 0
    assert [
        name for name in charts if (folder / f"{name}.png").read_bytes() != (tmp_path / f"{name}.png").read_bytes()
    ] == []


def test_a_folder_without_a_sweep_stands_for_all_that_the_runner_wrote(tmp_path, capsys, unwritten):
    for name in ("nvidia-h200-x2", "nvidia-h200-x4"):
        assert main("--only", "scaling", ROOT / "results" / name, "--out", tmp_path) == 0
    assert unwritten == ["scaling.png"] * 2
    (tmp_path / "empty").mkdir()
    assert "no other results" in refused(capsys, plot.main, tmp_path / "empty")
    for folder in (ROOT / "results").glob("*/programs"):
        assert f"--only loss_curves draws them for {folder.parent}" in refused(capsys, plot.main, folder)


def test_a_line_is_of_one_number_of_gpus():
    """A kernel on one GPU and on two, and another on two alone."""
    rows = plot.load([TWO_GPUS / f"{name}.json" for name in ("one-gpu", "two-gpus")])
    sweep = plot.Source(rows[(rows.gpus == 2) | (rows.kernel != "14_many_gpus:fp16x3")]).sweep()
    drawn = {kernel: set(of_kernel.gpus) for kernel, of_kernel in sweep.groupby("kernel") if "many_gpus" in kernel}
    assert drawn == {"14_many_gpus": {1}, "14_many_gpus:bf16x6": {1}, "14_many_gpus:fp16x3": {2}}


def test_charts_are_chosen_by_name(tmp_path, capsys, unwritten):
    assert main("--only", "ladder,gflops_over_size", COLD, "--out", tmp_path) == 0
    assert unwritten == ["ladder.png", "gflops_over_size.png"]
    error = refused(capsys, plot.main, "--only", "ladder,leiter", COLD, "--out", tmp_path)
    assert "--only: no chart 'leiter'; there are gflops_over_size, " in error


def test_where_nvml_tells_no_energy_nothing_is_drawn(edited, capsys, unwritten):
    untold = without_energy("NVML counts no energy of this GPU, or not for this user")
    assert main("--only", "energy_over_size", edited("energy.json", every(untold)), COLD) == 1
    assert "skipped energy_over_size: NVML told no energy" in capsys.readouterr().out


def test_sustained_speeds_and_energies_give_no_points_to_other_charts(tmp_path, unwritten):
    """Their runs have bursts of other conditions, or none."""
    assert main(ENERGY, SUSTAINED, "--out", tmp_path) == 0
    assert unwritten == ["energy_over_size.png"]
    with pytest.raises(plot.ResultsError, match=r"energy is False .* True .*; sustain is False"):
        plot.load([COLD, ENERGY, SUSTAINED])


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_large_enough_and_do_not_overlap(name):
    fig = plot.charts_of(every_source())[name](every_source())
    fig.canvas.draw()
    ax = fig.axes[-1]
    labels = [t for axes in fig.axes for t in axes.texts if t.get_text().strip()]
    assert all(text.get_fontsize() >= 9 for text in [*labels, *fig.texts, *ax.get_xticklabels(), *ax.get_yticklabels()])
    # Of an annotation, the text without its leader line.
    boxes = [(t.get_text(), Text.get_window_extent(t).padded(-2)) for t in labels if not t.get_rotation()]
    assert [(a, b) for (a, box), (b, other) in combinations(boxes, 2) if box.overlaps(other)] == []
    assert [t for t in [*labels, *fig.texts] if not fig.bbox.contains(t.get_window_extent().x1, fig.bbox.y0)] == []


def test_labels_are_moved_apart_within_bounds():
    placed = plot.spread([5.0, 5.1, 5.2, 50.0], gap=2.0, low=0.0, high=100.0)
    assert all(b - a >= 2.0 - 1e-9 for a, b in pairwise(sorted(placed)))
    assert placed[3] == 50.0
    assert sum(placed[:3]) / 3 == pytest.approx(5.1)
    assert sorted(plot.spread([0.0, 0.0], gap=2.0, low=1.0, high=100.0)) == [1.0, 3.0]
    assert sorted(plot.spread([99.0, 99.0], gap=2.0, low=0.0, high=100.0)) == [98.0, 100.0]
    assert plot.spread([], 1.0, 0.0, 1.0) == []


def test_bad_files_exit_with_2(tmp_path, capsys):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"context": {"schema_version": 99}, "benchmarks": []}), encoding="utf-8")
    for argument, message in (
        (path, "schema_version is 99"),
        (tmp_path / "absent.json", "absent"),
        (tmp_path, "holds none"),
    ):
        assert message in refused(capsys, plot.main, argument)
