from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Iterable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import matplotlib.colors as mcolors
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from conftest import ROOT, SYNTHETIC, case, cpu_alone, executed, of_file, write_other_kernels
from tools.plots import plot
from tools.results import one, pick

CHAPTERS = [f"chapter_{number:02d}" for number in range(1, 8)]  # those of the synthetic results
UNDRAWN = ("percent_of_cublas_tensor", "other_kernels", "loss_curves", "scaling")  # from the synthetic results
NAMES = [*(name for name in plot.CHARTS if name not in UNDRAWN), *CHAPTERS]
TWO_GPUS = ROOT / "results" / "nvidia-h200-x2"
FILES = [
    str(SYNTHETIC / f"{name}.json")
    for name in ("cold", "warm", "end-to-end", "counters", "accuracy", "energy", "sustained")
]


@cache
def every_source() -> plot.Source:
    accuracy, energy, sustained = (plot.load([path]) for path in FILES[4:])
    counters = plot.load_counters(FILES[3])
    return plot.Source(plot.load(FILES[:3]), counters, accuracy=accuracy, energy=energy, sustained=sustained)


def png_size(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    return struct.unpack(">II", head[16:24])


@pytest.fixture
def unwritten(monkeypatch) -> list[str]:
    """Has charts drawn and not written, which takes most of the time; the names of those that would be."""
    names: list[str] = []

    def save(fig: Figure, path: Path) -> None:
        names.append(path.name)
        plt.close(fig)

    monkeypatch.setattr(plot, "save", save)
    return names


def test_a_folder_stands_for_its_files_and_gets_the_charts(synthetic, capsys, unwritten):
    assert plot.main([str(synthetic)]) == 0
    assert set(unwritten) == {f"{name}.png" for name in NAMES}
    skipped = [line for line in capsys.readouterr().out.splitlines() if line.startswith("skipped")]
    assert skipped == [
        "skipped percent_of_cublas_tensor: no chapter on tensor cores was compared with cuBLAS",
        "skipped other_kernels: no results of other people's kernels",
        "skipped loss_curves: no losses of a training with cuBLAS",
        "skipped scaling: no product on several GPUs that one GPU had as well",
    ]
    assert not plt.get_fignums()


def test_other_kernels_stand_beside_the_ladder(synthetic):
    sizes = ({"m": size, "n": size, "k": size, "gflops": 1e4 * size / 1024} for size in (1024, 2048))
    slow, fast, wrong = (of_file("a.cu", name) for name in ("slow", "fast", "wrong"))
    cases = [kernel | size for size in sizes for kernel in ({}, slow, fast | {"vs_cublas": 1.0})]
    for one_case in cases:
        one_case["gflops"] = one_case["gflops"] * (2 if one_case.get("variant") == "fast" else 1)
    write_other_kernels(synthetic, "siboehm", 1.0, *cases, wrong | {"outcome": "incorrect"})
    write_other_kernels(synthetic, "salykova", 0.0, {}, of_file("only.cuh"))
    fig = plot.other_kernels(plot.replace(every_source(), others=plot.results.other_kernels(synthetic)))
    first, second = fig.axes[:2]
    assert (first.get_title(loc="left"), second.get_title(loc="left")) == ("siboehm/SGEMM_CUDA", "salykova/sgemm.cu")
    assert [text.get_text() for text in (*first.texts, *second.texts)] == ["fast", "only"]
    theirs = lines_of(first, color=plot.THEIRS)
    assert sorted(tuple(line.get_ydata()) for line in theirs) == [(10.0, 20.0), (20.0, 40.0)]
    assert len(lines_of(first, color=plot.CUBLAS)) == 1
    legend = [text.get_text() for text in fig.axes[-1].get_legend().get_texts()]
    assert legend == ["their fastest, by name", "their others", "cuBLAS"]
    plt.close(fig)


def test_loss_curves_stand_beside_that_of_cublas(synthetic, unwritten):
    def write(name: str, *runs: tuple[str, int, list[float]]) -> None:
        documents = [{"mode": mode, "result": {"seed": seed, "loss": losses}} for mode, seed, losses in runs]
        (synthetic / "programs" / name).write_text(json.dumps({"runs": documents}), encoding="utf-8")

    (synthetic / "programs").mkdir()
    write("curves.json", ("cublas", 1, [9.0, 5.0]), ("normwise", 1, [9.0, 5.5]))
    write("curves_seed_2.json", ("cublas", 2, [9.5, 4.0, 3.0]))
    write("gpt.json", ("cublas", 3, [1.0]))  # not of the curves
    assert plot.main([str(synthetic)]) == 0
    assert "loss_curves.png" in unwritten
    curves = plot.programs.loss_curves(synthetic / "programs")
    fig = plot.loss_curves(plot.replace(every_source(), losses=curves))
    above, below = fig.axes
    assert [text.get_text() for text in above.get_legend().get_texts()] == ["cuBLAS", "normwise", "cuBLAS, seed 2"]
    assert [list(line.get_ydata()) for line in above.lines] == [[9.0, 5.0], [9.0, 5.5], [9.5, 4.0, 3.0]]
    assert [list(line.get_ydata()) for line in below.lines] == [[0.0, 0.5], [0.5, 1.0]]
    plt.close(fig)


def test_charts_are_the_same_every_time(tmp_path):
    source = every_source()
    files = [tmp_path / "first.png", tmp_path / "second.png"]
    for file in files:
        plot.save(plot.ladder(source), file)
    assert files[0].read_bytes() == files[1].read_bytes()
    width, height = png_size(files[0])
    assert width == plot.WIDTH * plot.PNG_DPI
    assert height > 800


def test_says_what_is_missing(tmp_path, capsys, unwritten):
    assert plot.main([FILES[0], "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "skipped cpu_against_gpu: it takes an end-to-end sweep" in output
    assert "skipped roofline: it takes a file of tools/counters.py" in output
    assert "skipped error_against_speed: it takes a file of runner --accuracy" in output
    assert "skipped error_by_distribution: it takes a file of runner --accuracy" in output
    assert "cpu_against_gpu.png" not in unwritten
    assert "ladder.png" in unwritten


def test_without_gpu_kernels_the_cpu_is_drawn(edited):
    path = edited("cold.json", cpu_alone)
    assert plot.main([str(path)]) == 0
    assert [chart.name for chart in (path.parent / "charts").iterdir()] == ["cpu_speed.png"]


def test_without_measurements_there_is_nothing_to_draw(edited, capsys):
    def skipped(document: dict) -> None:
        cpu_alone(document)
        document["benchmarks"] = [r for r in document["benchmarks"] if r["outcome"] == "skipped"]

    assert plot.main([str(edited("cold.json", skipped))]) == 1
    assert "skipped cpu_speed: no measured kernel" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["check", "count"])
def test_what_was_executed_without_being_timed_keeps_no_chart_from_its_neighbours(synthetic, edited, capsys, mode):
    """The quick start without a GPU draws from both."""
    shutil.copy(FILES[0], synthetic / "executed.json")
    untimed, timed = edited("executed.json", partial(executed, mode=mode)), edited("cold.json", cpu_alone)
    assert plot.main([str(untimed)]) == 1
    assert "skipped cpu_speed: no measured kernel" in capsys.readouterr().out
    assert plot.main([str(untimed), str(timed)]) == 0
    assert [chart.name for chart in (timed.parent / "charts").iterdir()] == ["cpu_speed.png"]


def test_wrong_cases_are_not_drawn(edited):
    def spoil(document: dict) -> None:
        for record in document["benchmarks"]:
            if record["kernel"] == "07_warptile_hilbert":
                record["outcome"] = "incorrect"

    results = plot.load([edited("cold.json", spoil)])
    fig = plot.gflops_over_size(plot.Source(results))
    texts = [text.get_text() for text in fig.axes[0].texts]
    plt.close(fig)
    assert "06 coarse 2d" in texts
    assert "07 warptile hilbert" not in texts


def test_the_ladder_is_at_the_size_asked_for_or_the_largest_common_one(edited):
    cold = plot.load([SYNTHETIC / "cold.json"])
    assert plot.ladder_size_of(plot.Source(cold)) == 4096
    assert plot.ladder_size_of(plot.Source(cold, None, 512)) == 512

    def drop(document: dict) -> None:
        document["benchmarks"] = [
            r for r in document["benchmarks"] if r["m"] < 4096 and (r["kernel"], r["m"]) != ("05_coarse_1d", 2048)
        ]

    assert plot.ladder_size_of(plot.Source(plot.load([edited("cold.json", drop)]))) == 1024


def test_the_crossover_is_written_into_the_chart():
    results = plot.load(FILES[:3])
    fig = plot.cpu_against_gpu(plot.Source(results))
    texts = " ".join(text.get_text() for text in fig.axes[0].texts)
    plt.close(fig)
    naive = {
        name: dict(plot.pick(results, kernel=name, time="end-to-end").set_index("side").microseconds)
        for name in ("01_naive", "cpu_naive")
    }
    assert f"N ≈ {plot.crossover(naive['01_naive'], naive['cpu_naive']):.0f}" in texts


def test_a_chapter_stands_between_the_one_before_and_cublas():
    source = plot.Source(plot.load(FILES[:1]))
    for number, expected in (
        (1, ["01 naive", "01: uncoalesced", "cuBLAS"]),
        (6, ["05 coarse 1d", "06 coarse 2d", "06: vectorized", "cuBLAS"]),
    ):
        fig = plot.chapter(source, number)
        labels = sorted(text.get_text().rpartition("  ")[0] for text in fig.axes[0].texts)
        texts = [text.get_text() for text in fig.texts]
        thin = [line for line in fig.axes[0].lines if line.get_linewidth() == 1.1]
        plt.close(fig)
        assert labels == expected
        assert f"Chapter {number:02d}: {'naive' if number == 1 else 'coarse_2d'}" in texts
        assert len(thin) == (number > 1)
    with pytest.raises(plot.NoData):
        plot.chapter(source, 42)


def with_tensor_cores(document: dict, accuracy_class: str) -> None:
    """Chapter 07 in split operands, above the FP32 peak, and a variant of it in TF32."""
    peak = document["context"]["device"]["fp32_peak_gflops"]
    for record in document["benchmarks"]:
        if record["kernel"] == "07_warptile_hilbert" and record.get("gflops"):
            record["accuracy_class"] = accuracy_class
            record["gflops"] = 1.1 * peak * record["m"] / 4096
        if record["kernel"] == "07_warptile_hilbert:row_order":
            record["accuracy_class"] = "tf32"


@pytest.mark.parametrize("accuracy_class", ["fp32_split", "bf16_split", "fp16_split", "int8_split"])
def test_products_on_tensor_cores_are_drawn_where_they_are_as_accurate_as_fp32(edited, accuracy_class):
    change = partial(with_tensor_cores, accuracy_class=accuracy_class)
    source = plot.Source(plot.load([edited("cold.json", change)]))
    for draw in (plot.gflops_over_size, plot.ladder, partial(plot.chapter, number=7)):
        fig = draw(source)
        ax = fig.axes[0]
        names = " ".join(text.get_text() for text in [*ax.texts, *ax.get_yticklabels()])
        notes = " ".join(text.get_text() for text in fig.texts)
        plt.close(fig)
        assert "07 warptile hilbert" in names
        assert "07: row order" not in names
        assert ("lower precision: 07:\u00a0row\u00a0order" in notes) == isinstance(draw, partial)  # the chapter
        assert ("07 multiply on tensor cores" in notes) == (draw == plot.ladder)


def lines_of(ax: Axes, **properties) -> list[Line2D]:
    """The lines and points with these properties, say color="#000000"."""
    return [
        line for line in ax.lines if all(getattr(line, f"get_{name}")() == value for name, value in properties.items())
    ]


def drawn_at(lines: Iterable[Line2D]) -> list[tuple]:
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in lines]


def test_a_kernel_looks_the_same_in_every_chart():
    source = every_source()
    row = one(source.results, kernel="05_coarse_1d", side=4096, l2="cold")
    for name in ("gflops_over_size", "roofline", "error_against_speed", "chapter_06"):
        fig = plot.charts_of(source)[name](source)
        found = lines_of(fig.axes[0], color=plot.color_of(row), marker="v")
        plt.close(fig)
        assert found, name
    looks = {(plot.color_of(row), plot.point(row)["marker"]) for row in source.results.itertuples() if not row.variant}
    assert len(looks) == source.results.kernel[source.results.variant == ""].nunique()


def test_later_chapters_are_lighter():
    chapters = plot.pick(plot.load(FILES[:1]), is_chapter=True, side=4096, variant="").itertuples()
    colors = [plot.color_of(row) for row in chapters]
    lightness = [0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue, _ in colors]
    assert len(colors) == 7
    assert all(earlier < later for earlier, later in pairwise(lightness))


def test_speed_shows_defaults_and_the_ratios_near_cublas():
    source = plot.Source(plot.load(FILES[:1]))
    fig = plot.gflops_over_size(source)
    ax, zoom = fig.axes
    plt.close(fig)
    names = [text.get_text() for text in ax.texts]
    assert "06 coarse 2d" in names
    assert not [name for name in names if ":" in name]
    row = one(source.results, kernel="07_warptile_hilbert", side=8192)
    heights = [list(line.get_ydata()) for line in lines_of(zoom, color=plot.color_of(row))]
    assert [100 * row.vs_cublas] in heights
    assert list(100 * np.array(row.vs_cublas_ci)) in heights
    beyond = one(source.results, kernel="07_warptile_hilbert", side=256)
    assert f"{100 * beyond.vs_cublas:.0f}\n▾" in [text.get_text() for text in zoom.texts]


def test_without_the_rivals_speed_is_drawn_alone(edited, capsys):
    def drop(document: dict) -> None:
        document["benchmarks"] = [r for r in document["benchmarks"] if r["number"] in range(7)]

    source = plot.Source(plot.load([edited("cold.json", drop)]))
    fig = plot.gflops_over_size(source)
    plt.close(fig)
    assert len(fig.axes) == 1
    with pytest.raises(plot.NoData, match="none of the chapters 07 to 09"):
        plot.percent_of_cublas(source)


def test_throttled_points_are_hollow(edited):
    def throttle(document: dict) -> None:
        case(document, "07_warptile_hilbert", 4096)["throttled"] = True

    path = edited("cold.json", throttle)
    source = plot.Source(plot.load([path]), plot.load_counters(FILES[3]), accuracy=plot.load(FILES[4:5]))
    row = one(source.results, kernel="07_warptile_hilbert", side=4096)
    hollow = {"markerfacecolor": plot.CARD, "color": plot.color_of(row)}
    expected = {
        "gflops_over_size": 4096,
        "chapter_07": 4096,
        "percent_of_cublas": 100 * row.vs_cublas,
        "error_against_speed": row.tflops,
        "roofline": source.counters["derived"][row.kernel]["flop_per_dram_byte"],
    }
    for name, x in expected.items():
        fig = plot.charts_of(source)[name](source)
        notes = " ".join(text.get_text() for text in fig.texts).replace("\n", " ")
        found = [line.get_xdata()[0] for line in lines_of(fig.axes[0], **hollow)]
        plt.close(fig)
        assert found == [x], name
        assert "Hollow: the GPU had lowered its clock" in notes
    fig = plot.ladder(source)
    faces = [bar.get_facecolor()[:3] for bar in fig.axes[0].patches]
    plt.close(fig)
    assert faces.count((1, 1, 1)) == 1


def test_intervals_of_few_samples_are_ranges():
    few, many = (pd.DataFrame({"samples": samples}) for samples in ([3, 7, 4, 3], [6, 7]))
    assert "dotted the range of 3 (level 75 %) or 4 (level 88 %) samples" in plot.ratios_note(few)
    assert "range" not in plot.ratios_note(many)


def test_chapters_on_tensor_cores_have_a_chart_of_ratios(edited):
    def split(document: dict) -> None:
        for record in document["benchmarks"]:
            if record["kernel"] == "06_coarse_2d":
                record["accuracy_class"] = "bf16_split"

    source = plot.Source(plot.load([edited("cold.json", split)]))
    fig = plot.percent_of_cublas_tensor(source)
    (ax,) = fig.axes
    names = [text.get_text() for text in fig.legends[0].get_texts()]
    plt.close(fig)
    assert names == ["06 coarse 2d"]
    row = one(source.results, kernel="06_coarse_2d", side=2048)
    assert 100 * row.vs_cublas in [x for x, _ in drawn_at(lines_of(ax, color=plot.color_of(row)))]


def test_every_shape_has_a_row(edited):
    def reshape(document: dict) -> None:
        for record in document["benchmarks"]:
            samples = {2048: 4, 4096: 10}.get(record["m"], 5)
            record["samples_us"] = (2 * record.get("samples_us", []))[:samples]
            record["m"] *= 1 + (record["m"] == 512)

    shapes = edited("cold.json", reshape)
    source = plot.Source(plot.load(FILES[:1]), shapes=plot.load([shapes]))
    fig = plot.percent_of_cublas(source)
    everything, zoom = fig.axes
    names = [label.get_text() for label in everything.get_yticklabels()]
    notes = " ".join(text.get_text() for text in fig.texts).replace("\n", " ")
    plt.close(fig)
    assert names == ["256", "1024", "2048", "4096", "8192", "1024 × 512 × 512"]
    row = one(source.shapes, kernel="07_warptile_hilbert", side=2048)
    colored = {"color": plot.color_of(row)}
    assert 100 * row.vs_cublas in [x for x, _ in drawn_at(lines_of(everything, **colored))]
    dotted = [list(line.get_xdata()) for line in lines_of(zoom, **colored, linestyle=":")]
    assert list(100 * np.array(row.vs_cublas_ci)) in dotted
    solid = lines_of(zoom, **colored, linestyle="-")
    assert len(solid) == 1, "that of 10 samples"
    assert "the range of 4 (level 88 %) or 5 (level 94 %) samples" in notes


def test_sweeps_of_several_devices_share_a_chart(edited, tmp_path, unwritten):
    def rename(document: dict) -> None:
        document["context"]["device"]["name"] = "Another GPU"

    other = edited("cold.json", rename)
    sources = plot.sources_of([Path(FILES[0]), other], None)
    assert [source.device["name"] for source in sources] == ["Synthetic GPU", "Another GPU"]
    fig = plot.devices(sources)
    names = [text.get_text() for text in fig.axes[0].texts]
    row = one(sources[0].results, kernel="05_coarse_1d")
    styles = {line.get_linestyle() for line in lines_of(fig.axes[0], color=plot.color_of(row), marker="v")}
    plt.close(fig)
    assert {"05 coarse 1d, Synthetic GPU", "05 coarse 1d, Another GPU"} <= set(names)
    assert len(styles) == 2
    assert plot.main([FILES[0], str(other), "--out", str(tmp_path)]) == 0
    assert unwritten == ["devices.png"]


def test_sweeps_of_several_devices_and_protocols_are_refused(edited, tmp_path, capsys):
    def change(document: dict) -> None:
        document["context"]["device"]["name"] = "Another GPU"
        document["context"]["protocol"]["beta"] = 1.0

    other = str(edited("cold.json", change))
    for how in ([], ["--across"]):
        with pytest.raises(SystemExit) as exit_:
            plot.main([FILES[0], other, "--out", str(tmp_path), *how])
        assert exit_.value.code == 2
        assert "beta is 0.0 (" in capsys.readouterr().err


@pytest.fixture
def boards(synthetic, edited):
    """Two boards of one device, the second slower by 20 %, and one of another device."""

    def slower(document: dict) -> None:
        for record in document["benchmarks"]:
            if "gflops" in record:
                record["gflops"] *= 0.8
            record["throttled"] = record["m"] == 4096

    shutil.copy(FILES[0], synthetic / "slow.json")
    other = edited("cold.json", lambda document: document["context"]["device"].update(name="Another GPU"))
    return [Path(FILES[0]), edited("slow.json", slower), other]


def test_a_chart_across_boards_has_medians_and_ranges(boards):
    fig = plot.across(plot.load_boards(boards[:2]), "05_coarse_1d")
    ax = fig.axes[0]
    row = one(plot.load(FILES[:1]), kernel="05_coarse_1d", side=4096)
    bars = [bar for bar in ax.containers if mcolors.same_color(bar[0].get_color(), plot.color_of(row))]
    assert len(bars) == 1
    medians, _, (lines,) = bars[0]
    middle = dict(zip(medians.get_xdata(), medians.get_ydata(), strict=True))
    ends = {segment[0][0]: sorted(y for _, y in segment) for segment in lines.get_segments()}
    hollow = [drawn_at([line]) for line in ax.lines if line.get_markerfacecolor() == plot.CARD]
    names = [text.get_text() for text in ax.texts]
    plt.close(fig)
    assert middle[4096] == pytest.approx(0.9 * row.tflops)
    assert ends[4096] == pytest.approx([0.8 * row.tflops, row.tflops])
    assert [4096] in [[x for x, _ in places] for places in hollow]
    assert "05 coarse 1d, Synthetic GPU, 2 boards" in names


def test_there_is_a_chart_for_each_kernel_of_several_boards(boards, tmp_path, unwritten):
    paths = list(map(str, boards))
    assert plot.main(["--across", *paths, "--out", str(tmp_path)]) == 0
    measured = plot.load(FILES[:1]).query("measured and is_gpu").kernel.unique()
    assert unwritten == [f"across_{kernel.replace(':', '-')}.png" for kernel in measured]
    assert plot.main(["--across", paths[0], "--out", str(tmp_path)]) == 1


def test_each_device_has_a_line_of_its_own(boards):
    fig = plot.across(plot.load_boards([boards[0], boards[2]]), "05_coarse_1d")
    names = [text.get_text() for text in fig.axes[0].texts]
    styles = {bar[0].get_linestyle() for bar in fig.axes[0].containers}
    plt.close(fig)
    assert {"05 coarse 1d, Synthetic GPU, 1 board", "05 coarse 1d, Another GPU, 1 board"} <= set(names)
    assert len(styles) == 2


def source_with_errors(path: Path | str = FILES[4]) -> plot.Source:
    return plot.Source(plot.load(FILES[:1]), accuracy=plot.load([path]))


def test_errors_stand_over_speeds():
    source = source_with_errors()
    fig = plot.error_against_speed(source)
    ax = fig.axes[0]
    points = drawn_at(line for line in ax.lines if len(line.get_xdata()) == 1)
    names = [text.get_text() for text in ax.texts]
    plt.close(fig)
    tf32 = one(source.results, kernel="cublas_tf32", side=4096, l2="cold")
    error = one(source.accuracy, "compared", kernel="cublas_tf32", side=4096, data="uniform")
    assert (tf32.tflops, error.rel_err) in points
    assert len(points) == 9, "seven chapters, cuBLAS in FP32 and in TF32"
    assert {"cuBLAS", f"cuBLAS TF32 · {tf32.of_cublas:.2f} × cuBLAS", "better"} <= set(names)


def test_chapters_with_the_error_of_cublas_share_a_name(edited):
    def differ(document: dict) -> None:
        for record in document["benchmarks"]:
            if record["kernel"] == "06_coarse_2d" and record["rel_err"]:
                record["rel_err"] *= 1.1

    path = edited("accuracy.json", differ)
    fig = plot.error_against_speed(source_with_errors(path))
    names = [text.get_text() for text in fig.axes[0].texts]
    plt.close(fig)
    assert "chapters 01 to 05 and 07: cuBLAS's error" in names
    assert [name[:12] for name in names if name[0] == "0"] == ["06 coarse 2d"]
    fig = plot.error_by_distribution(source_with_errors(path))
    names = [line.get_label() for line in fig.axes[0].lines]
    plt.close(fig)
    assert "01 to 05, 07, cuBLAS,\ncuBLASLt best" in names
    assert "06 coarse 2d" in names


def test_a_row_of_the_ladder_has_speed_and_share():
    source = plot.Source(plot.load(FILES[:1]))
    fig = plot.ladder(source)
    ax = fig.axes[0]
    names = [label.get_text() for label in ax.get_yticklabels()]
    widths = [bar.get_width() for bar in ax.patches]
    texts = [text.get_text() for text in ax.texts]
    plt.close(fig)
    row = one(source.results, kernel="05_coarse_1d", side=4096)
    assert names == [plot.title_of(r) for r in pick(source.defaults(), side=4096).itertuples()]
    assert len(names) == 8, "defaults and cuBLAS"
    assert widths[names.index("05 coarse 1d")] == row.tflops
    assert {plot.significant(row.tflops), f"{100 * row.of_cublas:.1f} %", "100.0 %"} <= set(texts)


def with_pipe(counters: dict) -> dict:
    """As if the data pipe of L1 and shared memory had been half busy, and the L2 had given 01 the most."""
    for kernel in counters["derived"].values():
        kernel["shared_pipe_percent"] = 50.0
    return counters


def test_the_roofline_has_a_panel_for_each_memory():
    source = plot.Source(plot.load(FILES[:1]), with_pipe(plot.load_counters(FILES[3])))
    counted = source.counters["derived"]["01_naive"]
    fig = plot.roofline(source)
    row = one(source.results, kernel="01_naive", side=4096)
    places = [drawn_at(lines_of(ax, marker="o")) for ax in fig.axes]
    titles = [ax.get_title(loc="left") for ax in fig.axes]
    labels = [text.get_text() for text in fig.axes[-1].texts]
    plt.close(fig)
    sms, clock = source.device["multiprocessors"], counted["sm_clock_mhz"]
    pipe = 0.5 * 128 * sms * clock * 1e6  # bytes in a second
    expected = [counted["flop_per_dram_byte"], counted["flop_per_l2_to_sm_byte"], counted["tflops"] * 1e12 / pipe]
    assert [x for panel in places for x, _ in panel] == pytest.approx(expected)
    assert {y for panel in places for _, y in panel} == {row.tflops}
    most = max(k["tflops"] / k["flop_per_l2_to_sm_byte"] for k in source.counters["derived"].values())
    assert titles[0] == "DRAM\n3.33 TB/s"
    assert titles[1] == f"L2 to SMs\n{plot.significant(most)} TB/s, measured"
    assert titles[2] == "L1 and shared memory\n33.5 TB/s"
    assert {"FP32 units: 66.9", "3 × FP16, 6 × INT8: 357", "6 × BF16, 3 × TF32: 178", "cuBLAS"} <= set(labels)


def test_errors_of_another_device_have_no_speed(edited):
    def rename(document: dict) -> None:
        document["context"]["device"]["name"] = "Another GPU"

    with pytest.raises(plot.NoData, match="different devices"):
        plot.error_against_speed(source_with_errors(edited("accuracy.json", rename)))


def test_errors_by_distribution_merge_what_coincides_and_mark_what_is_beyond_its_bound():
    fig = plot.error_by_distribution(source_with_errors())
    ax = fig.axes[0]
    kinds = [tick.get_text() for tick in ax.get_yticklabels()]
    lines = {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}
    tf32 = dict(zip(kinds, lines["cuBLAS TF32"].get_xdata(), strict=True))
    rings = [len(line.get_xdata()) for line in ax.lines if line.get_color() == plot.ALERT]
    notes = " ".join(text.get_text() for text in fig.texts).replace("\n", " ")
    plt.close(fig)
    assert kinds == ["uniform", "uniform01", "normal", "lognormal1", "lognormal4", "denormals", "huge", "cancelling"]
    assert "Exact in every kernel and not drawn: integers." in notes
    assert tf32["denormals"] > 0.3
    assert sum(rings) == 1
    assert set(lines) == {"01 to 07, cuBLAS,\ncuBLASLt best", "cuBLAS TF32", "OpenBLAS (CPU)"}
    assert lines["01 to 07, cuBLAS,\ncuBLASLt best"].get_color() == plot.CUBLAS


def test_errors_from_the_executor_need_no_sweep(edited):
    def without_a_device(document: dict) -> None:
        document["context"]["device"] = None

    path = edited("accuracy.json", without_a_device)
    assert plot.main([str(path)]) == 0
    assert [chart.name for chart in (path.parent / "charts").iterdir()] == ["error_by_distribution.png"]


def test_energy_is_that_of_a_flop_and_of_turns():
    """A kernel of the synthetic results draws 10 W for each TFLOP/s, and 150 W besides."""
    fig = plot.energy_over_size(every_source())
    of_flops, of_power = fig.axes
    row = one(every_source().energy, kernel="05_coarse_1d", side=4096)
    tflops = row.energy["kernel"]["gflops"] / 1e3
    energies = [line.get_ydata()[-1] for line in of_flops.lines if len(line.get_ydata()) == 2]
    assert any(energy == pytest.approx((150 + 10 * tflops) / tflops, rel=1e-6) for energy in energies)
    powers = [line.get_ydata()[-1] for line in of_power.lines if len(line.get_ydata()) == 2]
    assert any(power == pytest.approx(150 + 10 * tflops) for power in powers)
    assert any("warm L2" in text.get_text() for text in fig.texts)
    names = {text.get_text().split("  ")[0]: text.get_text().split("  ")[-1] for text in of_flops.texts}
    assert float(names["05 coarse 1d"]) == pytest.approx(row.energy["kernel"]["gflops_per_watt"], rel=0.006)
    plt.close(fig)


def over_time(ax: Axes) -> list[Line2D]:
    """The lines of data; those to labels have four points."""
    return [line for line in ax.lines if len(line.get_ydata()) > 10]


def test_sustained_speed_is_drawn_over_time():
    fig = plot.sustained(every_source())
    speed, clock, power, temperature = fig.axes
    assert [line.get_ydata()[-1] for line in over_time(speed)] == pytest.approx([48.6, 50.0])
    assert max(speed.lines[0].get_xdata()) == pytest.approx(20, abs=1)
    # Each point is the mean of 0.5 s.
    (turn,) = (row.sustained["kernel"] for row in every_source().sustained.itertuples() if row.kernel != "cublas")
    samples = turn["trace"]["samples"]
    first = [mhz for ms, mhz in zip(samples["ms"], samples["sm_clock_mhz"], strict=True) if ms < 500]
    assert clock.lines[0].get_ydata()[0] == pytest.approx(np.mean(first))
    assert list(power.lines[0].get_ydata()[[0, -1]]) == [650, 650]
    assert temperature.lines[0].get_ydata()[0] == pytest.approx(np.mean(samples["temperature_c"][: len(first)]))
    assert any("warm L2" in text.get_text() for text in fig.texts)
    plt.close(fig)


def test_sustained_cublas_is_that_beside_the_first_kernel_where_it_has_no_case(edited):
    def without(document: dict) -> None:
        document["benchmarks"] = [r for r in document["benchmarks"] if r["kernel"] != "cublas"]

    rows = plot.load([edited("sustained.json", without)])
    fig = plot.sustained(plot.Source(rows, sustained=rows))
    black, _ = over_time(fig.axes[0])
    assert black.get_color() == plot.CUBLAS
    turn = rows.iloc[0].sustained["cublas"]
    assert black.get_ydata()[-1] == pytest.approx(turn["gflops"] / 1e3, rel=0.01)
    assert "cuBLAS" in {text.get_text().split("  ")[0] for text in fig.axes[0].texts}
    plt.close(fig)


def test_scaling_compares_products_on_two_gpus_with_one():
    """The largest size had no product on one GPU, and the only oblong one has the work of two 16384 cubed."""
    paths = [TWO_GPUS / f"{name}.json" for name in ("one-gpu", "two-gpus", "two-gpus-49152")]
    rows = plot.load(paths)
    fig = plot.scaling(plot.Source(rows))

    def speed(gpus: int, *shape: int) -> float:
        return one(rows, kernel="14_many_gpus", gpus=gpus, shape=shape).tflops

    cube = (16384,) * 3
    strong, weak = ({tuple(line.get_xdata()): line.get_ydata() for line in ax.lines[:1]} for ax in fig.axes)
    assert list(strong) == [(4096, 8192, 16384, 32768)]
    assert next(iter(strong.values()))[2] == pytest.approx(50 * speed(2, *cube) / speed(1, *cube))
    assert list(weak) == [(16384,)]
    assert weak[16384,] == pytest.approx([50 * speed(2, 16384, 32768, 16384) / speed(1, *cube)])
    plt.close(fig)
    with pytest.raises(plot.NoData, match="no product on several GPUs"):
        plot.scaling(plot.Source(plot.load(paths[:1])))


def test_a_line_is_of_one_number_of_gpus():
    """A kernel on one GPU and on two, and another on two alone."""
    rows = plot.load([TWO_GPUS / f"{name}.json" for name in ("one-gpu", "two-gpus")])
    rows = rows[(rows.gpus == 2) | (rows.kernel != "14_many_gpus:fp16x3")]
    sweep = plot.Source(rows).sweep()
    drawn = {kernel: set(of_kernel.gpus) for kernel, of_kernel in sweep.groupby("kernel") if "many_gpus" in kernel}
    assert drawn == {"14_many_gpus": {1}, "14_many_gpus:bf16x6": {1}, "14_many_gpus:fp16x3": {2}}


def test_charts_are_chosen_by_name(tmp_path, capsys, unwritten):
    assert plot.main(["--only", "ladder,gflops_over_size", FILES[0], "--out", str(tmp_path)]) == 0
    assert unwritten == ["ladder.png", "gflops_over_size.png"]
    with pytest.raises(SystemExit) as error:
        plot.main(["--only", "ladder,leiter", FILES[0], "--out", str(tmp_path)])
    assert error.value.code == 2
    assert "--only: no chart 'leiter'; there are gflops_over_size, " in capsys.readouterr().err


def test_where_nvml_tells_no_energy_nothing_is_drawn(edited, capsys, unwritten):
    def without(document: dict) -> None:
        for data in document["benchmarks"]:
            for turn in data["energy"].values():
                for name in ("watts", "energy", "joules_per_product", "gflops_per_watt"):
                    del turn[name]
                turn["no_energy"] = "NVML counts no energy of this GPU, or not for this user"

    assert plot.main([str(edited("energy.json", without)), FILES[0]]) == 0
    assert "skipped energy_over_size: NVML told no energy" in capsys.readouterr().out


def test_sustained_speeds_and_energies_give_no_points_to_other_charts(tmp_path, capsys, unwritten):
    """Their runs have bursts of other conditions, or none."""
    assert plot.main([*FILES[5:], "--out", str(tmp_path)]) == 0
    assert unwritten == ["energy_over_size.png", "sustained.png"]
    with pytest.raises(plot.ResultsError, match=r"energy is False .* True .*; sustain is False"):
        plot.load([FILES[0], *FILES[5:]])


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_large_enough_and_do_not_overlap(name):
    source = every_source()
    fig = plot.charts_of(source)[name](source)
    fig.canvas.draw()
    ax = fig.axes[-1]
    labels = [t for axes in fig.axes for t in axes.texts if t.get_text().strip()]
    assert all(text.get_fontsize() >= 9 for text in [*labels, *fig.texts, *ax.get_xticklabels(), *ax.get_yticklabels()])
    # Of an annotation, the text without its leader line.
    boxes = [Text.get_window_extent(text) for text in labels if not text.get_rotation()]
    overlapping = [
        (labels[i].get_text(), labels[j].get_text())
        for i in range(len(boxes))
        for j in range(i)
        if boxes[i].padded(-2).overlaps(boxes[j].padded(-2))
    ]
    frame = fig.bbox
    outside = [t.get_text() for t in [*labels, *fig.texts] if not frame.contains(t.get_window_extent().x1, frame.y0)]
    plt.close(fig)
    assert overlapping == []
    assert outside == []


def test_labels_are_moved_apart_within_bounds():
    placed = plot.spread([5.0, 5.1, 5.2, 50.0], gap=2.0, low=0.0, high=100.0)
    assert all(b - a >= 2.0 - 1e-9 for a, b in pairwise(sorted(placed)))
    assert placed[3] == 50.0
    assert sum(placed[:3]) / 3 == pytest.approx(5.1)
    low = plot.spread([0.0, 0.0], gap=2.0, low=1.0, high=100.0)
    assert sorted(low) == [1.0, 3.0]
    high = plot.spread([99.0, 99.0], gap=2.0, low=0.0, high=100.0)
    assert sorted(high) == [98.0, 100.0]
    assert plot.spread([], 1.0, 0.0, 1.0) == []


def test_text_colours_stand_out_from_the_card():
    pale = plot.readable("#fdb42f")
    assert max(pale) < 0.8
    assert plot.readable("#000000") == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("arguments", [["--format", "svg"], ["--ladder-size", "big"]])
def test_bad_options_exit_with_2(arguments):
    with pytest.raises(SystemExit) as exit_:
        plot.main([FILES[0], *arguments])
    assert exit_.value.code == 2


def test_bad_files_exit_with_2(tmp_path, capsys):
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"context": {"schema_version": 99}, "benchmarks": []}), encoding="utf-8")
    for argument in (path, tmp_path / "absent.json", tmp_path):
        with pytest.raises(SystemExit) as exit_:
            plot.main([str(argument)])
        assert exit_.value.code == 2
    assert "schema_version is 99" in capsys.readouterr().err
