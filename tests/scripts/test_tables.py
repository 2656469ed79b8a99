"""The blocks of pages. fixtures/synthetic_page.txt has what they write of the synthetic results. With SGEMM_WRITE_PAGE
set, the tests write it anew: its difference shows what a change does.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import (
    ROOT,
    SYNTHETIC,
    case,
    edit,
    of_file,
    on,
    protocol,
    refused,
    slow_down,
    without,
    without_energy,
    write_other_kernels,
)
from tools import turns
from tools.docs import pages, tables
from tools.results import load, one

PAGE = Path(__file__).parent / "fixtures" / "synthetic_page.txt"
END = "<!-- [[[end]]] -->"


def run(page: Path, *options: str, results: Path = SYNTHETIC) -> int:
    return tables.main([str(page), "--results", str(results), "--counts", str(results), *options])


@pytest.fixture
def page(tmp_path) -> Callable[..., Path]:
    """page(BLOCK...) has these blocks, not written yet."""

    def write(*blocks: str) -> Path:
        parts = [f"<!-- [[[cog {block} ]]] -->\n{END}\n" for block in blocks]
        path = tmp_path / "page.md"
        path.write_text("# Title\n\nText before.\n\n" + "\n".join(parts) + "\nText after.\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def text_of(page, synthetic) -> Callable[..., str]:
    """text_of(BLOCK...) is a page with these blocks, written from the results that a test has changed."""

    def text(*blocks: str) -> str:
        path = page(*blocks)
        assert run(path, results=synthetic) == 0
        return path.read_text(encoding="utf-8")

    return text


def refusal(path: Path, capsys, **options) -> str:
    before = path.read_text(encoding="utf-8")
    errors = refused(capsys, lambda _: run(path, **options))
    assert path.read_text(encoding="utf-8") == before
    return errors


def row_of(text: str, kernel: str) -> list[str]:
    line = next(line for line in text.splitlines() if f"`{kernel}`" in line or line.startswith(f"| {kernel} |"))
    return [cell.strip() for cell in line.split("|")[1:-1]]


def rows_of(text: str) -> list[str]:
    """The lines of a table below its head."""
    return [line for line in text.splitlines() if line.startswith("|")][2:]


def test_the_pages_of_the_repository_are_not_stale(capsys):
    assert tables.main(["--check"]) == 0, capsys.readouterr().out


def test_every_block_is_as_it_was(tmp_path, capsys):
    if "SGEMM_WRITE_PAGE" in os.environ:
        run(PAGE)
    assert run(PAGE, "--check") == 0, capsys.readouterr().out
    text = PAGE.read_text(encoding="utf-8")
    empty = tmp_path / PAGE.name
    emptied = re.sub(rf"(\[\[\[cog [^\n]*\n).*?{re.escape(END)}", rf"\1{END}", text, flags=re.DOTALL)
    empty.write_text(emptied, encoding="utf-8")
    assert run(empty, "--check") == 1
    assert run(empty) == 0
    assert empty.read_text(encoding="utf-8") == text


def test_the_environment_is_that_of_the_file(text_of):
    text = text_of("environment()")
    assert "| GPU | Synthetic GPU, compute capability 9.0, 132 SMs, L2 60 MiB, memory 102 400 MiB |" in text
    assert "| FP32 peak | 66.9 TFLOP/s (132 SMs x 128 FP32 lanes x 2 x 1980 MHz (maximum SM clock)) |" in text
    assert "| DRAM peak | 3.33 TB/s (2 x 2600 MHz x 5120 bits) |" in text
    assert "| protocol | cold L2, uniform data (seed 42), alpha 1, beta 0, 5 to 5 samples, until the median's" in text
    assert "| noise | cuBLAS against itself is at 100.2 to 101.5 % in pairs, and at 99.7 to 100.3 % of cuBLAS" in text


def test_chapters_are_listed_by_the_gpus_that_they_run_on(text_of, synthetic):
    def alone(document):
        document[-1]["variants"][0]["max_compute_capability"] = "8.0"
        document[-2]["variants"][0]["min_compute_capability"] = "9.0"

    rows = rows_of(text_of("capabilities()"))
    assert rows == ["| 7.5 and later | 01 to 06 |", "| 8.0 and later | 07 |"]
    edit(synthetic / "kernels.json", alone)
    rows = rows_of(text_of("capabilities()"))
    assert rows == ["| 7.5 and later | 01 to 05 |", "| 8.0 alone | 07 |", "| 9.0 and later | 06 |"]


def test_check_prints_what_is_stale_and_writes_nothing(page, edited, synthetic, capsys):
    path = page("ladder(4096)")
    run(path)
    before = path.read_text(encoding="utf-8")
    edited("cold.json", on("05_coarse_1d", 4096, gflops=12345.0))
    capsys.readouterr()
    assert run(path, "--check", results=synthetic) == 1
    output = capsys.readouterr()
    assert re.search(r"^-.*05_coarse_1d.* 17\.0 ", output.out, re.M)
    assert re.search(r"^\+.*05_coarse_1d.* 12\.3 ", output.out, re.M)
    assert "page.md is stale: run python -m tools.docs.tables" in output.err
    assert path.read_text(encoding="utf-8") == before


def test_what_the_ladder_says_is_about_chapters_and_short():
    pages_ = {path.stem for path in (ROOT / "docs").glob("[0-9][0-9]_*.md")}
    chapters = {name for name in pages_ if (ROOT / "kernels" / f"{name}.cu").exists()}
    assert set(tables.chapters()) == chapters | {"cublas"}
    assert all(len(words.get("why", "").split()) <= 9 for words in tables.chapters().values())


def test_marks_of_throttled_cases_and_of_few_samples(text_of, edited):
    telemetry = {"start": {"throttle_reasons": []}, "end": {"throttle_reasons": ["sw_power_cap"]}}
    throttled = on("05_coarse_1d", 4096, throttled=True, telemetry=telemetry)
    few = on("06_coarse_2d", 4096, samples_us=[1.0, 2.0, 3.0])
    edited("cold.json", protocol(confidence=0.9), throttled, few)
    for block in ("ladder(4096)", "all_variants(4096)", "sweep(5, 6)", "chapter(5, 6)"):
        text = text_of(block)
        assert " 17.0 † |" in text
        assert "† The driver reported a limit on the clock (`sw_power_cap`) when this measurement ended." in text
        assert text.count("(3 samples) |") == 1
        assert "in parentheses is below 5, too small for a 90 % interval of the median." in text
    assert not re.search("†|samples", text_of("chapter(7)"))


def test_where_a_kernel_is_less_accurate_than_cublas(text_of, edited):
    before = text_of('less_accurate("05_coarse_1d")')

    def worse(record: dict) -> None:
        if record.get("data") == "normal":
            record.update(rel_err=3 * record["rel_err"], verified=False)

    edited("accuracy.json", on("05_coarse_1d", 1024, worse))
    after = set(text_of('less_accurate("05_coarse_1d")').splitlines()) - set(before.splitlines())
    assert any(re.search(r"\| 1024 \| normal \| relative \| \S+ \(not promised\) \| \S+ \|$", line) for line in after)


def test_a_chapter_that_is_not_on_the_fp32_units_has_no_column_for_their_peak(text_of, edited):
    edited("cold.json", on("07_warptile_hilbert", percent_of_peak=None))
    first, second, _ = text_of('chapter("07_warptile_hilbert")', 'chapter("05_coarse_1d")').split(END)
    assert "of cuBLAS, paired" in first
    assert ["of FP32 peak" in part for part in (first, second)] == [False, True]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("nonsense()", "name 'nonsense' is not defined"),
        ("ladder()", "missing 1 required positional argument: 'size'"),
        ("ladder(31)", "no cold measurement"),
        ("chapter()", "names no kernel"),
        ('chapter("08_unknown")', "there is no kernel 08_unknown"),
        ("resources(42)", "there is no kernel 42"),
        ('resources("cublas")', "hold no resources"),
        ('counters("cublas")', "counters.json holds nothing about cublas"),
        ('counters(7, file="counters_31.json")', "has no counters_31.json"),
        ("sweep(42)", "there is no kernel 42"),
        ('errors(4096, "absolute")', "errors are relative or componentwise"),
        ("errors(31)", "accuracy.json holds nothing at 31"),
        ('counts("05_coarse_1d")', "nothing was counted of 05_coarse_1d"),
        ("validation(123)", "there is no"),
        ("shapes()", "missing 1 required positional argument"),
    ],
)
def test_blocks_that_can_not_be_written(page, capsys, block, message):
    errors = refusal(page(block), capsys)
    assert message in errors
    # Of what Python itself raises, cog names the line after a block's.
    assert re.search(r'page\.md(\(5\)|", line 6)', errors)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- [[[cog sweep() ]]] -->\n", "Missing '[[[end]]]'"),
        (f"<!-- [[[cog sweep() ]]] -->\n<!-- [[[cog sweep() ]]] -->\n{END}\n", "Unexpected '[[[cog'"),
        (f"text\n{END}\n", "page.md(2): Unexpected '[[[end]]]'"),
    ],
)
def test_markers_that_do_not_match(tmp_path, capsys, text, message):
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    assert message in refusal(path, capsys)


def test_missing_results_are_bad_input_only_where_they_are_needed(page, tmp_path, capsys):
    assert run(page(), results=tmp_path / "absent") == 0
    assert "cold.json" in refusal(page("sweep()"), capsys, results=tmp_path / "absent")


@pytest.fixture
def docs(tmp_path, monkeypatch) -> Path:
    """The folder docs of another repository, without a page."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("", encoding="utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    return tmp_path / "docs"


def test_chapters_link_to_their_pages(docs):
    own = docs / "05_coarse_1d.md"
    own.write_text("", encoding="utf-8")
    for kernel, page, text in (
        ("05_coarse_1d", docs.parent / "README.md", "[`05_coarse_1d`](docs/05_coarse_1d.md)"),
        ("05_coarse_1d:wide", docs / "other.md", "[`05_coarse_1d:wide`](05_coarse_1d.md)"),
        ("05_coarse_1d", own, "`05_coarse_1d`"),
        ("cublas", docs.parent / "README.md", "`cublas`"),
    ):
        assert tables.Blocks(None, page)._linked(kernel) == text


NUMBERS = {
    tables.significant: "0.5187 0.519, 6.2 6.20, 50.26 50.3, 412.3 412, 1234.5 1234, 0.00123 0.00123, 0 0",
    tables.duration: "12.345 12.35 µs, 12345.6 12.35 ms, 1.5e6 1.500 s",
    tables.count: "1.234e9 1.23 G, 3 3.00",
    tables.error_size: "1.234e-6 1.2e-6",
    tables.joules: "2.5 2.50 J, 0.0012345 1.23 mJ",
}


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_are_written(form):
    for pair in NUMBERS[form].split(", "):
        number, _, text = pair.partition(" ")
        assert form(float(number)) == text
    assert tables.maybe(form, None) == tables.maybe(form, float("nan")) == ""


def test_shapes_are_written():
    assert tables.shape_text((512, 512, 512)) == "512"
    assert tables.shape_text((512, 512, 64)) == "512 x 512 x 64"


def test_the_validation_says_when_dram_is_too_far_off(text_of, edited):
    def more(record: dict) -> None:
        for traffic in record["counts"]["l2"].values():
            traffic["dram_read_bytes"] *= 2

    edited("counts_4096.json", on("01_naive", 4096, more))
    text = text_of("validation(4096)")
    assert "DRAM bytes of the nearer schedule within 25 %: 2 of 3 measured kernels, not `01_naive` (+79.1 %)." in text
    assert "| **+79.1 %** |" in text


def test_counts_have_no_empty_rows(text_of):
    assert "shared load" not in text_of('counts("01_naive")')


def test_errors_leave_out_variants_that_change_nothing(text_of, edited):
    def change(document: dict) -> None:
        for record in document["benchmarks"]:
            if record["name"] == "sgemm/02_smem_tiled:tile16/4096x4096x4096/uniform":
                record.update(rel_err=7e-6, outcome="incorrect", verified=False)
            if record["name"] == "sgemm/05_coarse_1d/4096x4096x4096/inf":
                record["accuracy"]["non_finite_wrong"] = 17
                record.update(outcome="incorrect", verified=False)

    edited("accuracy.json", change)
    text = text_of("errors(4096)")
    assert "`02_smem_tiled:numba_mapping`" not in text
    assert row_of(text, "02_smem_tiled:tile16")[1] == "7.0e-6 (incorrect)"
    assert "17 differ (incorrect)" in row_of(text, "05_coarse_1d")
    assert "Variants that are not listed have the errors of their chapter's default." in text


def test_other_kernels_stand_below_their_repositories(text_of, synthetic):
    write_other_kernels(synthetic, "siboehm", 1.0, {"vs_cublas": 1.0}, of_file("runner.cu", "fast"))
    long = "06_a_name_that_is_longer_than_a_table_has_room_for_it"
    write_other_kernels(synthetic, "leimao", 1.0, {"vs_cublas": 1.0}, of_file(f"{long}.cu", outcome="incorrect"))
    write_other_kernels(synthetic, "leimao_beta0", 0.0, of_file(f"{long}.cu"))
    write_other_kernels(synthetic, "unknown", 1.0, of_file("unknown.cu"))
    rows = rows_of(text_of("other_kernels(1024, 2048)"))
    assert [row.split(" | ")[0] for row in rows] == [
        "| **the ladder**, beta = 1",
        "| `cublas`",
        "| **siboehm/SGEMM_CUDA**, beta = 1",
        "| `fast`",
        "| **leimao/CUDA-GEMM-Optimization**, beta = 0 and 1",
        "| `06_…is_longer_than_a_table_has_room_for_it`",
    ]
    assert "4.00 (" in rows[3]
    assert "(50.0 %) |  |" in rows[3]
    assert "incorrect |  |" in rows[5]  # of beta = 1


def test_the_library_is_summed_up_by_kind_and_accuracy(text_of, synthetic):
    lines = ["name,accuracy,speed", "square,fp32,1.0", "gram,fp32,4.0", "square,normwise,2.0", "gram,normwise,8.0"]
    (synthetic / "library_shapes.csv").write_text("\n".join([*lines, "square,fp32,0.25", "square,normwise,2.0"]))
    assert rows_of(text_of("library_products()")) == [
        "| square | 2 | 0.50 (0.25) | 2.00 (2.00) |",
        "| gram | 1 | 4.00 (4.00) | 8.00 (8.00) |",
        "| all | 3 | 1.00 (0.25) | 3.17 (2.00) |",
    ]


def test_what_checks_say_of_other_kernels(text_of, synthetic):
    executed = {"outcome": "executed", "gflops": None}
    odd = {"m": 200, "n": 136, "k": 104}
    beyond = (
        "block (1,0,0), thread (2,0,0), clone/src/a.cuh:54 in void f<128, 8>(int, float const*), called at "
        "clone/b.cu:3 in void g(int) [with int T = 3]: reads 16 bytes at row 104, column 24 of B, which has 104 rows "
        "of 136: outside of all arrays"
    )
    unread = "block (0,0,0), thread (0,0,0), clone/b.cu:7 in f(int): reads 4 bytes at row 0, column 0 of C, which holds"
    local = "block (0,0,0), thread (7,3,0) has written before its local variable a (clone/src/b.cuh:25)"
    shared = "block (0,0,0), thread (7,3,0), b.cu:9 in f(int): reads 4 bytes at 0x7f29665, outside of shared memory"
    others = [of_file("b.cu", name, outcome="failed", reason=why) for name, why in {"x": local, "y": shared}.items()]
    both = [of_file("b.cu", "f", **executed), of_file("b.cu", "f", outcome="failed", reason=beyond, **odd)]
    write_other_kernels(synthetic, "siboehm", 1.0, *both, of_file("b.cu", "right", **executed), *others)
    write_other_kernels(synthetic, "siboehm_beta0", 0.0, of_file("b.cu", "f", outcome="failed", reason=unread))
    text = text_of("checks()")
    assert "| kernel | 1024 | 200 x 136 x 104 | beta = 0 | what is found first |" in text
    assert rows_of(text)[1:] == [
        "| `f` | right | wrong | wrong | `a.cuh:54`: reads 16 bytes of B: outside of all arrays |",
        "| `right` | right |  |  |  |",
        "| `x` | wrong |  |  | `b.cuh:25`: has written before its local variable a |",
        "| `y` | wrong |  |  | `b.cu:9`: reads 4 bytes outside of shared memory |",
    ]


def test_errors_and_charts_that_do_not_exist_yet_are_no_mistake(text_of, synthetic):
    (synthetic / "accuracy.json").unlink()
    blocks = ("errors(4096)", 'chart("error_against_speed", "Errors")')
    text = text_of(*blocks)
    assert "Not measured yet: `scripts/measure_device.sh --steps accuracy` writes `accuracy.json`." in text
    assert "The chart `error_against_speed.png` is not drawn yet" in text
    (synthetic / "charts").mkdir()
    (synthetic / "charts" / "error_against_speed.png").touch()
    assert "![Errors](synthetic-gpu/charts/error_against_speed.png)" in text_of(*blocks)


def write_shapes(folder: Path) -> None:
    """A shapes.json with two squares and a deep product, which the second kernel does not support."""
    records = []
    for kernel, detail in (("cublas", ""), ("cublaslt_best", "algorithm 7"), ("07_warptile_hilbert", "128x256, tuned")):
        for size, shape in ((1024, (1024, 1024, 16384)), (4096, (4096, 4096, 4096)), (512, (512, 512, 512))):
            record = case(folder / "cold.json", kernel, size) | {"detail": detail}
            records.append(record | dict(zip("mnk", shape, strict=True)))
    records += [record | {"kernel": "06_coarse_2d", "number": 6} for record in records[-3:]]
    deep = records[-3]
    deep["outcome"] = "not_supported"
    for field in ("time_us", "gflops", "samples_us", "vs_cublas", "vs_cublas_alone"):
        del deep[field]
    edit(folder / "cold.json", lambda document: document.update(benchmarks=records), new=folder / "shapes.json")


def test_shapes_tells_the_configuration_and_the_ratios_of_every_problem(text_of, synthetic):
    write_shapes(synthetic)
    text = text_of('shapes("07_warptile_hilbert", "06_coarse_2d")', 'shapes("06_coarse_2d")')
    first, second, _ = text.split(END)
    sizes = [line.split("|")[1].strip() for line in first.splitlines() if line.startswith("| ")]
    assert sizes == ["M x N x K", "---", "512", "4096", "1024 x 1024 x 16384"]
    record, library = (one(load([SYNTHETIC / "cold.json"]), kernel=kernel, side=4096) for kernel in (
        "07_warptile_hilbert", "cublaslt_best"))  # fmt: skip
    smaller = f"{100 * min(record.vs_cublas, record.vs_cublas_alone):.1f} %"
    lead = f"{100 * library.microseconds / record.microseconds:.1f} %"
    cells = row_of(first, "4096")
    assert cells[1] == "128x256, tuned"
    assert cells[4:] == [smaller, lead, smaller]
    assert row_of(first, "1024 x 1024 x 16384")[-1] == ""
    assert row_of(second, "1024 x 1024 x 16384") == ["1024 x 1024 x 16384", "", "", "not supported", "", ""]


def test_shapes_before_they_are_measured(page, text_of, capsys, synthetic):
    text = text_of('shapes("07_warptile_hilbert")')
    assert "Not measured yet: `scripts/measure_device.sh` writes `shapes.json`." in text
    write_shapes(synthetic)
    errors = refusal(page('shapes("nonsense")'), capsys, results=synthetic)
    assert "shapes.json holds nothing about nonsense" in errors


def test_each_launch_of_a_product_has_a_row(text_of, edited):
    text = text_of('launches("05_coarse_1d")')
    assert "Not measured yet: counters.json holds no launches of 05_coarse_1d." in text
    split = {"time_us": 10.0, "dram_bytes": 2e6, "dram_gbytes_s": 200.0, "tensor_pipe_percent": None}
    product = {"time_us": 30.0, "dram_bytes": 9e6, "dram_gbytes_s": 300.0, "tensor_pipe_percent": 92.5}
    functions = {"void sgemm::(anonymous namespace)::split<4, a::B>": split, "product": product}
    found = [{"function": function, "derived": derived} for function, derived in functions.items()]
    edited("counters.json", lambda document: document.update(launches={"05_coarse_1d": found}))
    rows = [line.split(" | ")[1:] for line in text_of('launches("05_coarse_1d")').splitlines() if "_1d`](" in line]
    assert rows[0] == ["`split`", "10.00 µs", "25.0 %", "2.00 MB", "200 GB/s", " |"]
    assert rows[1] == ["`product`", "30.00 µs", "75.0 %", "9.00 MB", "300 GB/s", "92.5 % |"]


def test_energy_that_was_not_told(text_of, edited):
    edited("energy.json", on("05_coarse_1d", 4096, without_energy("the turn was too short", "kernel")))
    first, second, _ = text_of("energy(4096)", "energies()").split(END)
    assert row_of(first, "05_coarse_1d")[5:] == ["", "", ""]
    assert "Without energy: the turn was too short." in first
    assert row_of(second, "05_coarse_1d")[-1] == ""


def test_sustained_speed_stands_beside_that_of_a_burst(text_of, edited, synthetic):
    def enlarge(record: dict) -> None:
        """The burst at 4096 stands for one at the size of the turns, at the same speed."""
        record.update(m=8192, n=8192, k=8192)
        record["time_us"]["median"] *= 8

    edited("warm.json", on("07_warptile_hilbert", 4096, enlarge))
    edited("sustained.json", slow_down)
    record = one(load([synthetic / "sustained.json"]), "sustained", kernel="07_warptile_hilbert")
    burst = one(load([SYNTHETIC / "warm.json"]), kernel="07_warptile_hilbert", side=4096)
    flops = 2.0 * record.side**3
    first, last = turns.ends_of(record.sustained["kernel"], flops)
    _, of_cublas = turns.ends_of(record.sustained["cublas"], flops)
    wanted = [tables.significant(value) for value in (burst.tflops, first, last)]
    wanted += [tables.share(last / burst.tflops), tables.share(last / of_cublas)]
    text = text_of("sustained()")
    assert row_of(text, "07_warptile_hilbert")[1:6] == wanted
    beside = one(load([synthetic / "warm.json"]), kernel="cublas", side=8192)  # its burst beside 07
    assert row_of(text, "cublas")[1:6:4] == [tables.significant(beside.tflops), tables.share(1.05 / 1.1)]
    edited("sustained.json", without("cublas"))
    assert row_of(text_of("sustained()"), "cublas")[3:6:2] == [tables.significant(of_cublas), "100.0 %"]


def test_two_boards_agree_or_were_not_measured(text_of, synthetic):
    for file in ("energy.json", "sustained.json"):
        (synthetic / file).unlink()
    text = text_of("agreement(0.5, 5)", "energy(4096)", "energies()", "sustained()")
    for file in ("other_board/first_board.json", "energy.json", "sustained.json"):
        assert f"Not measured yet: there is no {file} in synthetic-gpu." in text
    (synthetic / "other_board").mkdir()
    vs_cublas = 1.03 * case(synthetic / "cold.json", "05_coarse_1d", 4096)["vs_cublas"]
    shutil.copy(synthetic / "cold.json", synthetic / "other_board" / "first_board.json")
    other = synthetic / "other_board" / "cold.json"
    edit(synthetic / "cold.json", on("05_coarse_1d", 4096, vs_cublas=vs_cublas), new=other)
    text = text_of("agreement(0.5, 5)")
    assert "| 05_coarse_1d/4096x4096x4096 | 3.00 % |" in text
    assert "the median differs by 0.00 %, the worst by 3.00 % (limits: 0.5 % and 5 %)" in text


def test_a_kernel_with_a_page_may_lack_results(page, text_of, docs, capsys):
    (docs / "08_new.md").write_text("", encoding="utf-8")
    text = text_of("chapter(8)", 'resources("08_new")', 'counters("08_new:variant")')
    for name in ("8", "08_new", "08_new:variant"):
        assert f"Not measured yet: there is no kernel {name} in the results." in text
    assert "there is no kernel 9" in refusal(page("chapter(9)"), capsys)


def test_the_pages_state_tiles_and_not_the_scripts(docs):
    text = f"<!-- [[[cog counts(5, tile=(64, 32), wide=(64, 64)) ]]] -->\n{END}\n"
    (docs / "05_new.md").write_text(text, encoding="utf-8")
    tile = tables.tiles_on_pages()
    found = {
        (n, v): tile(SimpleNamespace(number=n, variant=v)) for n, v in ((5, ""), (5, "wide"), (5, "narrow"), (6, ""))
    }
    assert found == {(5, ""): (64, 32), (5, "wide"): (64, 64), (5, "narrow"): (64, 32), (6, ""): None}
    assert (docs / "05_new.md").read_text(encoding="utf-8") == text


def test_no_script_lists_the_chapters():
    chapters = {path.stem for path in (ROOT / "kernels").glob("[0-9][0-9]_*.cu")}
    assert chapters
    for script in (ROOT / "tools").rglob("*.py"):
        code = script.read_text(encoding="utf-8")
        named = {chapter for chapter in chapters if f'"{chapter}' in code}
        assert len(named) <= 2, f"{script.name} names {sorted(named)}"
