from __future__ import annotations

import json
import struct
from functools import partial
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import plot
from conftest import SYNTHETIC
from results import one

CHAPTERS = [f"chapter_{number:02d}" for number in range(1, 8)]  # those of the synthetic results
NAMES = [*plot.CHARTS, *CHAPTERS]
FILES = [
    str(SYNTHETIC / name) for name in ("cold.json", "warm.json", "end-to-end.json", "counters.json", "accuracy.json")
]


def every_source() -> plot.Source:
    return plot.Source(plot.load(FILES[:3]), plot.load_counters(FILES[3]), accuracy=plot.load(FILES[4:]))


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


def test_a_folder_stands_for_its_files_and_gets_the_charts(synthetic, capsys):
    assert plot.main([str(synthetic)]) == 0
    assert {path.name for path in (synthetic / "charts").iterdir()} == {f"{name}.png" for name in NAMES}
    for path in (synthetic / "charts").iterdir():
        width, height = png_size(path)
        assert width == plot.WIDTH * plot.PNG_DPI
        assert height > 800
        assert path.stat().st_size > 20_000
    assert "skipped" not in capsys.readouterr().out
    assert not plt.get_fignums()


@pytest.mark.parametrize("name", ["gflops_over_size", "error_by_distribution"])
def test_charts_are_the_same_every_time(tmp_path, name):
    source = every_source()
    for file in ("first.png", "second.png"):
        plot.save(plot.charts_of(source)[name](source), tmp_path / file)
    assert (tmp_path / "first.png").read_bytes() == (tmp_path / "second.png").read_bytes()


def test_says_what_is_missing(tmp_path, capsys, unwritten):
    assert plot.main([FILES[0], "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "skipped cpu_against_gpu: it takes an end-to-end sweep" in output
    assert "skipped cold_against_warm: it takes a cold and a warm sweep" in output
    assert "skipped error_against_speed: it takes a file of runner --accuracy" in output
    assert "skipped error_by_distribution: it takes a file of runner --accuracy" in output
    assert "cpu_against_gpu.png" not in unwritten
    assert "ladder.png" in unwritten


def cpu_alone(document: dict) -> None:
    document["context"]["device"] = None
    document["benchmarks"] = [r for r in document["benchmarks"] if r["platform"] == "cpu"]


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
        (1, ["01 naive", "01 uncoalesced", "cuBLAS"]),
        (6, ["05 coarse 1d", "06 coarse 2d", "06 vectorized", "cuBLAS"]),
    ):
        fig = plot.chapter(source, number)
        labels = sorted(text.get_text().rpartition("  ")[0] for text in fig.axes[0].texts)
        texts = [text.get_text() for text in fig.texts]
        grey = [line for line in fig.axes[0].lines if line.get_color() == plot.BEFORE and len(line.get_xdata()) > 3]
        plt.close(fig)
        assert labels == expected
        assert f"Chapter {number:02d}: {'naive' if number == 1 else 'coarse_2d'}" in texts
        assert len(grey) == (number > 1)
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


@pytest.mark.parametrize("accuracy_class", ["fp32_split", "bf16_split", "fp16_split"])
def test_products_on_tensor_cores_are_drawn_where_they_are_as_accurate_as_fp32(edited, accuracy_class):
    change = partial(with_tensor_cores, accuracy_class=accuracy_class)
    source = plot.Source(plot.load([edited("cold.json", change)]))
    for draw in (plot.gflops_over_size, plot.percent_of_cublas, plot.ladder, partial(plot.chapter, number=7)):
        fig = draw(source)
        ax = fig.axes[0]
        names = " ".join(text.get_text() for text in [*ax.texts, *ax.get_yticklabels()])
        notes = " ".join(text.get_text() for text in fig.texts)
        plt.close(fig)
        assert "07 warptile hilbert" in names
        assert "07 row order" not in names
        assert ("lower precision: 07 row order" in notes) == isinstance(draw, partial)  # the chapter
        assert (plot.LEFT_OUT in notes) == (draw in (plot.gflops_over_size, plot.percent_of_cublas))


def source_with_errors(path: Path | str = FILES[4]) -> plot.Source:
    return plot.Source(plot.load(FILES[:1]), accuracy=plot.load([path]))


def test_errors_stand_over_speeds():
    source = source_with_errors()
    fig = plot.error_against_speed(source)
    ax = fig.axes[0]
    points = {(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if len(line.get_xdata()) == 1}
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    looks = {(line.get_marker(), line.get_color()) for line in ax.get_legend().get_lines()}
    plt.close(fig)
    tf32 = one(source.results, kernel="cublas_tf32", side=4096, l2="cold")
    error = one(source.accuracy, "compared", kernel="cublas_tf32", side=4096, data="uniform")
    assert (tf32.tflops, error.rel_err) in points
    chapters = plot.pick(source.results, is_chapter=True, variant="").itertuples()
    assert set(names) == {plot.title_of(row) for row in chapters} | {"cuBLAS", "cuBLAS TF32", "cuBLASLt best"}
    assert len(looks) == len(names), "each kernel looks different"


def test_resources_stand_in_rows_beside_the_speed():
    source = plot.Source(plot.load(FILES[:1]))
    fig = plot.resources(source)
    names = [label.get_text() for label in fig.axes[0].get_yticklabels()]
    written = [[text.get_text() for text in ax.texts] for ax in fig.axes]
    widths = [[bar.get_width() for bar in ax.patches] for ax in fig.axes]
    plt.close(fig)
    row = one(source.results, kernel="05_coarse_1d", side=4096)
    at = names.index("05 coarse 1d")
    shown = [row.registers, row.smem_bytes / 1024, 100 * row.occupancy, row.tflops]
    assert [values[at] for values in widths] == shown
    assert [texts[at] for texts in written] == ["48", "4", "50", plot.three_digits(row.tflops)]
    assert [len(texts) for texts in written] == [len(names)] * 4


def test_the_roofline_stands_at_what_was_counted_or_at_what_is_compulsory():
    results, counters = plot.load(FILES[:1]), plot.load_counters(FILES[3])

    def intensities(source: plot.Source) -> set[float]:
        fig = plot.roofline(source)
        plt.close(fig)
        return {line.get_xdata()[0] for line in fig.axes[0].lines if line.get_marker() == "o"}

    counted = {counters["derived"][kernel]["flop_per_dram_byte"] for kernel in ("01_naive", "01_naive:uncoalesced")}
    assert intensities(plot.Source(results, counters)) == counted
    assert intensities(plot.Source(results)) == {plot.compulsory_intensity(4096, 4096, 4096)}


def test_errors_of_another_device_have_no_speed(edited):
    def rename(document: dict) -> None:
        document["context"]["device"]["name"] = "Another GPU"

    with pytest.raises(plot.NoData, match="different devices"):
        plot.error_against_speed(source_with_errors(edited("accuracy.json", rename)))


def test_errors_by_distribution_mark_what_is_exact_and_what_is_beyond_its_bound():
    fig = plot.error_by_distribution(source_with_errors())
    ax = fig.axes[0]
    kinds = [tick.get_text() for tick in ax.get_yticklabels()]
    lines = {line.get_label(): line for line in ax.lines}
    tf32 = dict(zip(kinds, lines["cuBLAS TF32"].get_xdata(), strict=True))
    rings = [len(line.get_xdata()) for line in ax.lines if line.get_color() == plot.PEAK]
    plt.close(fig)
    assert kinds == [
        "uniform", "uniform01", "normal", "lognormal1", "lognormal4", "denormals", "huge", "integers", "cancelling"
    ]  # fmt: skip
    assert tf32["integers"] < 1e-9, "left of every error"
    assert tf32["denormals"] > 0.3
    assert sum(rings) == 1
    assert "06 vectorized" not in lines


def test_errors_from_the_executor_need_no_sweep(edited):
    def executed(document: dict) -> None:
        document["context"]["device"] = None

    path = edited("accuracy.json", executed)
    assert plot.main([str(path)]) == 0
    assert [chart.name for chart in (path.parent / "charts").iterdir()] == ["error_by_distribution.png"]


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_large_enough_and_do_not_overlap(name):
    source = every_source()
    fig = plot.charts_of(source)[name](source)
    fig.canvas.draw()
    ax = fig.axes[-1]
    labels = [t for t in ax.texts if t.get_text().strip()]
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
