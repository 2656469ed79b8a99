from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import ROOT, SYNTHETIC, case, of_file, slow_down, write_other_kernels
from tools import turns
from tools.docs import pages, tables
from tools.results import load, load_folder, one

ALL_BLOCKS = (
    "ladder(4096)",
    "all_variants(4096)",
    "noise()",
    "less_accurate(5)",
    'code("kernels/05_coarse_1d.cu", "for (int j", marks={"sums[i] +=": "(1)"})',
    "sweep()",
    "chapter(6)",
    'resources(1, "05_coarse_1d")',
    "environment()",
    "counters(7)",
    'counters(7, file="counters.json")',
    "claims()",
    "validation(4096)",
    'counts("01_naive", tile=(1, 1))',
    'counts("02_smem_tiled", "07_warptile_hilbert")',
    'lines("01_naive", "02_smem_tiled")',
    "reads()",
    "errors(4096)",
    'errors(1024, "componentwise")',
    "energy(4096)",
    "energies()",
    "sustained()",
    'chart("error_by_distribution", "how large the errors are")',
    'picture("access_01", "what a warp touches", "Title", ("01_naive", "global_load", "A", "a"))',
)


def write_page(folder: Path, *blocks: str) -> Path:
    page = folder / "page.md"
    parts = [f"<!-- [[[cog {block} ]]] -->\n<!-- [[[end]]] -->\n" for block in blocks]
    page.write_text("# Title\n\nText before.\n\n" + "\n".join(parts) + "\nText after.\n", encoding="utf-8")
    return page


def run(page: Path, *options: str, results: Path = SYNTHETIC) -> int:
    return tables.main([str(page), "--results", str(results), "--counts", str(results), *options])


def refusal(page: Path, capsys, **kwargs) -> str:
    before = page.read_text(encoding="utf-8")
    with pytest.raises(SystemExit) as exit_:
        run(page, **kwargs)
    assert exit_.value.code == 2
    assert page.read_text(encoding="utf-8") == before
    return capsys.readouterr().err


def test_the_pages_of_the_repository_are_not_stale(capsys):
    assert tables.main(["--check"]) == 0, capsys.readouterr().out


def test_writes_every_block_and_is_then_content(tmp_path, capsys):
    page = write_page(tmp_path, *ALL_BLOCKS)
    assert run(page, "--check") == 1
    assert run(page) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# Title\n\nText before.\n")
    assert text.endswith("\nText after.\n")
    capsys.readouterr()
    assert run(page, "--check") == 0
    assert capsys.readouterr().out == ""
    assert run(page) == 0
    assert page.read_text(encoding="utf-8") == text


def test_every_table_is_rectangular(tmp_path):
    page = write_page(tmp_path, *ALL_BLOCKS)
    run(page)
    widths = []
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            widths = []
            continue
        widths.append(line.count("|"))
        assert len(set(widths)) == 1, line


def test_check_prints_what_is_stale_and_writes_nothing(tmp_path, edited, synthetic, capsys):
    page = write_page(tmp_path, "ladder(4096)")
    run(page)
    before = page.read_text(encoding="utf-8")
    edited("cold.json", lambda document: case(document, "05_coarse_1d", 4096).update(gflops=12345.0))
    capsys.readouterr()
    assert run(page, "--check", results=synthetic) == 1
    output = capsys.readouterr()
    assert re.search(r"^-.*05_coarse_1d.* 17\.0 ", output.out, re.M)
    assert re.search(r"^\+.*05_coarse_1d.* 12\.3 ", output.out, re.M)
    assert "page.md is stale: run python -m tools.docs.tables" in output.err
    assert page.read_text(encoding="utf-8") == before


def test_an_edit_by_hand_is_stale(tmp_path):
    page = write_page(tmp_path, "sweep()")
    run(page)
    text, edits = re.subn(r"(05_coarse_1d\S* \| )2\.", r"\g<1>9.", page.read_text(encoding="utf-8"))
    assert edits == 1
    page.write_text(text, encoding="utf-8")
    assert run(page, "--check") == 1


def test_a_sweep_has_the_kernels_that_it_names(tmp_path):
    page = write_page(tmp_path, 'sweep("05_coarse_1d", 6)')
    run(page)
    rows = re.findall(r"^\| \S*`(\w+(?::\w+)?)`", page.read_text(encoding="utf-8"), re.M)
    assert rows == ["05_coarse_1d", "06_coarse_2d", "06_coarse_2d:vectorized"]


def test_the_ladder_has_a_row_a_chapter_and_says_why(tmp_path):
    page = write_page(tmp_path, "ladder(4096)")
    run(page)
    text = page.read_text(encoding="utf-8")
    names = re.findall(r"^\| \S*`(\w+(?::\w+)?)`", text, re.M)
    assert names == [
        *(name for name in dict.fromkeys(load_folder(SYNTHETIC).kernel) if re.match(r"\d\d_\w+$", name)),
        "cublas",
    ]
    assert "(detour) |" in next(line for line in text.splitlines() if "`03_smem_strip_tiled`" in line)
    assert next(line for line in text.splitlines() if "`05_coarse_1d`" in line).endswith(
        "| one element of B serves 8 sums |"
    )


def test_what_the_ladder_says_is_about_chapters_and_short():
    pages_ = {path.stem for path in (ROOT / "docs").glob("[0-9][0-9]_*.md")}
    chapters = {name for name in pages_ if (ROOT / "kernels" / f"{name}.cu").exists()}
    assert set(tables.chapters()) == chapters | {"cublas"}
    assert all(len(words.get("why", "").split()) <= 9 for words in tables.chapters().values())


def test_marks_of_throttled_cases_and_of_few_samples(tmp_path, edited, synthetic):
    def change(document: dict) -> None:
        document["context"]["protocol"]["confidence"] = 0.9
        case(document, "05_coarse_1d", 4096).update(
            throttled=True, telemetry={"start": {"throttle_reasons": []}, "end": {"throttle_reasons": ["sw_power_cap"]}}
        )
        few = case(document, "06_coarse_2d", 4096)
        few["samples_us"] = few["samples_us"][:3]

    edited("cold.json", change)
    for block in ("ladder(4096)", "all_variants(4096)", "sweep(5, 6)", "chapter(5, 6)"):
        page = write_page(tmp_path, block)
        run(page, results=synthetic)
        text = page.read_text(encoding="utf-8")
        assert " 17.0 † |" in text
        assert "† The driver reported a limit on the clock (`sw_power_cap`) when this measurement ended." in text
        assert text.count("(3 samples) |") == 1
        assert "in parentheses is below 5, too small for a 90 % interval of the median." in text
    page = write_page(tmp_path, "chapter(7)")
    run(page, results=synthetic)
    assert not re.search("†|samples", page.read_text(encoding="utf-8"))


def test_the_noise_is_cublas_against_itself(tmp_path):
    page = write_page(tmp_path, "environment()", "noise()")
    run(page)
    text = page.read_text(encoding="utf-8")
    assert (
        "| noise | cuBLAS against itself is at 100.2 to 101.5 % in pairs, and at 99.7 to 100.3 % of cuBLAS alone"
        in text
    )
    assert "| 4096 | 101.3 % | 100.1 % | 5 |" in text


def test_where_a_kernel_is_less_accurate_than_cublas(tmp_path, edited, synthetic):
    def worse(document: dict) -> None:
        for record in document["benchmarks"]:
            if (record["kernel"], record.get("data"), record["m"]) == ("05_coarse_1d", "normal", 1024):
                record["rel_err"] *= 3
                record["verified"] = False

    page = write_page(tmp_path, 'less_accurate("05_coarse_1d")')
    run(page)
    before = page.read_text(encoding="utf-8")
    edited("accuracy.json", worse)
    run(page, results=synthetic)
    after = set(page.read_text(encoding="utf-8").splitlines()) - set(before.splitlines())
    assert any(re.search(r"\| 1024 \| normal \| relative \| \S+ \(not promised\) \| \S+ \|$", line) for line in after)


def test_the_variants_quote_the_smaller_ratio_and_no_speed_for_what_was_not_measured(tmp_path):
    page = write_page(tmp_path, "all_variants(4096)")
    run(page)
    text = page.read_text(encoding="utf-8")
    record = one(load_folder(SYNTHETIC), kernel="05_coarse_1d", side=4096, l2="cold", time="kernel")
    row = next(line for line in text.splitlines() if "`05_coarse_1d`" in line)
    assert f"| {100 * min(record.vs_cublas, record.vs_cublas_alone):.1f} % |" in row
    assert "each thread computes 8 elements" in row
    assert re.search(r"`cpu_naive` \|  \| skipped \|  \|", text)


def test_a_chapter_that_is_not_on_the_fp32_units_has_no_column_for_their_peak(tmp_path, edited, synthetic):
    def on_tensor_cores(document: dict) -> None:
        for record in document["benchmarks"]:
            if record["kernel"] == "07_warptile_hilbert":
                record["percent_of_peak"] = None

    edited("cold.json", on_tensor_cores)
    page = write_page(tmp_path, 'chapter("07_warptile_hilbert")', 'chapter("05_coarse_1d")')
    assert run(page, results=synthetic) == 0
    first, _, second = page.read_text(encoding="utf-8").partition("<!-- [[[end]]] -->")
    assert "of cuBLAS, paired" in first
    assert "of FP32 peak" not in first
    assert "of FP32 peak" in second


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
    ],
)
def test_blocks_that_can_not_be_written(tmp_path, capsys, block, message):
    errors = refusal(write_page(tmp_path, block), capsys)
    assert message in errors
    # Of what Python itself raises, cog names the line after a block's.
    assert re.search(r'page\.md(\(5\)|", line 6)', errors)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- [[[cog sweep() ]]] -->\n", "Missing '[[[end]]]'"),
        ("<!-- [[[cog sweep() ]]] -->\n<!-- [[[cog sweep() ]]] -->\n<!-- [[[end]]] -->\n", "Unexpected '[[[cog'"),
        ("text\n<!-- [[[end]]] -->\n", "page.md(2): Unexpected '[[[end]]]'"),
    ],
)
def test_markers_that_do_not_match(tmp_path, capsys, text, message):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert message in refusal(page, capsys)


def test_missing_results_are_bad_input_only_where_they_are_needed(tmp_path, capsys):
    plain = tmp_path / "plain.md"
    plain.write_text("Nothing generated.\n", encoding="utf-8")
    assert run(plain, results=tmp_path / "absent") == 0
    assert "cold.json" in refusal(write_page(tmp_path, "sweep()"), capsys, results=tmp_path / "absent")


def test_chapters_link_to_their_pages(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "05_coarse_1d.md").write_text("", encoding="utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    readme, page, own = tmp_path / "README.md", tmp_path / "docs" / "other.md", tmp_path / "docs" / "05_coarse_1d.md"

    def linked(kernel: str, page: Path) -> str:
        return tables.Blocks(None, page)._linked(kernel)

    assert linked("05_coarse_1d", readme) == "[`05_coarse_1d`](docs/05_coarse_1d.md)"
    assert linked("05_coarse_1d:wide", page) == "[`05_coarse_1d:wide`](05_coarse_1d.md)"
    assert linked("05_coarse_1d", own) == "`05_coarse_1d`"
    assert linked("cublas", readme) == "`cublas`"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5187, "0.519"),
        (6.2, "6.20"),
        (50.26, "50.3"),
        (412.3, "412"),
        (1234.5, "1234"),
        (0.00123, "0.00123"),
        (0, "0"),
    ],
)
def test_significant_digits(value, text):
    assert tables.significant(value) == text


def test_units():
    assert tables.duration(12.345) == "12.35 µs"
    assert tables.duration(12345.6) == "12.35 ms"
    assert tables.duration(1.5e6) == "1.500 s"
    assert tables.count(1.234e9) == "1.23 G"
    assert tables.count(3) == "3.00"
    assert tables.maybe(tables.count, None) == tables.maybe(tables.count, float("nan")) == ""
    assert tables.error_size(1.234e-6) == "1.2e-6"
    assert tables.shape_text((512, 512, 512)) == "512"
    assert tables.shape_text((512, 512, 64)) == "512 x 512 x 64"


def test_the_validation_names_what_misses_a_bar(tmp_path):
    page = write_page(tmp_path, "validation(4096)")
    run(page)
    text = page.read_text(encoding="utf-8")
    assert "2 of 3 measured kernels, not `07_warptile_hilbert` (global load sectors)." in text
    assert "DRAM bytes of the nearer schedule within 25 %: all 3 measured kernels." in text
    assert "| **+100.0 %** |" in text
    assert text.count("**+") == 1


def test_the_validation_says_when_dram_is_too_far_off(tmp_path, edited, synthetic):
    def more(document: dict) -> None:
        for traffic in case(document, "01_naive", 4096)["counts"]["l2"].values():
            traffic["dram_read_bytes"] *= 2

    edited("counts_4096.json", more)
    page = write_page(tmp_path, "validation(4096)")
    run(page, results=synthetic)
    text = page.read_text(encoding="utf-8")
    assert "DRAM bytes of the nearer schedule within 25 %: 2 of 3 measured kernels, not `01_naive` (+79.1 %)." in text
    assert "| **+79.1 %** |" in text


def test_counts_come_in_one_order_and_without_empty_rows(tmp_path):
    page = write_page(tmp_path, 'counts("01_naive", "07_warptile_hilbert")', 'counts("01_naive")')
    run(page)
    both, alone = page.read_text(encoding="utf-8").split("<!-- [[[end]]] -->")[:2]
    titles = [line.split("|")[1].strip() for line in both.splitlines() if line.startswith("| ")]
    assert (
        titles.index("wavefronts per shared load") < titles.index("FLOP") < titles.index("DRAM bytes, blocks in step")
    )
    assert "shared load" not in alone


def test_a_kernel_that_was_not_counted_is_refused(tmp_path, capsys):
    assert "nothing was counted of 05_coarse_1d" in refusal(write_page(tmp_path, 'counts("05_coarse_1d")'), capsys)
    assert "there is no" in refusal(write_page(tmp_path, "validation(123)"), capsys)


def row_of(text: str, kernel: str) -> list[str]:
    line = next(line for line in text.splitlines() if f"`{kernel}`" in line or line.startswith(f"| {kernel} |"))
    return [cell.strip() for cell in line.split("|")[1:-1]]


def test_errors_by_kernel_and_distribution(tmp_path):
    page = write_page(tmp_path, "errors(4096)")
    run(page)
    text = page.read_text(encoding="utf-8")
    head = row_of(text, "relative error")
    assert dict(zip(head, row_of(text, "05_coarse_1d"), strict=True)) | {"relative error": ""} == {
        "relative error": "",
        **dict.fromkeys(("uniform", "normal", "denormals", "huge"), "1.1e-6"),
        "uniform01": "8.5e-7",
        "lognormal1": "9.9e-7",
        "lognormal4": "6.2e-8",
        "integers": "0",
        "cancelling": "1.2e-3",
        "inf": "match",
        "nan": "match",
        "zeros": "0",
    }
    assert row_of(text, "cublas_tf32")[head.index("denormals")] == "3.3e-1 (not promised)"
    assert row_of(text, "condition")[head.index("cancelling")] == "69500"
    assert row_of(text, "condition")[head.index("zeros")] == ""
    assert "`cpu_naive`" not in text, "it was skipped at this size"
    assert "over all elements" in text


def test_errors_leave_out_variants_that_change_nothing(tmp_path, edited, synthetic):
    def change(document: dict) -> None:
        for record in document["benchmarks"]:
            if record["name"] == "sgemm/02_smem_tiled:tile16/4096x4096x4096/uniform":
                record.update(rel_err=7e-6, outcome="incorrect", verified=False)
            if record["name"] == "sgemm/05_coarse_1d/4096x4096x4096/inf":
                record["accuracy"]["non_finite_wrong"] = 17
                record.update(outcome="incorrect", verified=False)

    edited("accuracy.json", change)
    page = write_page(tmp_path, "errors(4096)")
    run(page, results=synthetic)
    text = page.read_text(encoding="utf-8")
    assert "`02_smem_tiled:numba_mapping`" not in text
    assert row_of(text, "02_smem_tiled:tile16")[1] == "7.0e-6 (incorrect)"
    assert "17 differ (incorrect)" in row_of(text, "05_coarse_1d")
    assert "Variants that are not listed have the errors of their chapter's default." in text


def test_other_kernels_stand_below_their_repositories(tmp_path, synthetic):
    write_other_kernels(synthetic, "siboehm", 1.0, {"vs_cublas": 1.0}, of_file("runner.cu", "fast"))
    long = "06_a_name_that_is_longer_than_a_table_has_room_for_it"
    write_other_kernels(synthetic, "leimao", 1.0, {"vs_cublas": 1.0}, of_file(f"{long}.cu", outcome="incorrect"))
    write_other_kernels(synthetic, "leimao_beta0", 0.0, of_file(f"{long}.cu"))
    write_other_kernels(synthetic, "unknown", 1.0, of_file("unknown.cu"))
    page = write_page(tmp_path, "other_kernels(1024, 2048)")
    assert run(page, results=synthetic) == 0
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")][2:]
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


def test_the_library_is_summed_up_by_kind_and_accuracy(tmp_path, synthetic):
    lines = ["name,accuracy,speed", "square,fp32,1.0", "gram,fp32,4.0", "square,normwise,2.0", "gram,normwise,8.0"]
    (synthetic / "library_shapes.csv").write_text("\n".join([*lines, "square,fp32,0.25", "square,normwise,2.0"]))
    page = write_page(tmp_path, "library_products()")
    assert run(page, results=synthetic) == 0
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")][2:]
    assert rows == [
        "| square | 2 | 0.50 (0.25) | 2.00 (2.00) |",
        "| gram | 1 | 4.00 (4.00) | 8.00 (8.00) |",
        "| all | 3 | 1.00 (0.25) | 3.17 (2.00) |",
    ]


def test_what_checks_say_of_other_kernels(tmp_path, synthetic):
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
    others = [
        of_file("b.cu", name, outcome="failed", reason=reason) for name, reason in {"x": local, "y": shared}.items()
    ]
    both = [of_file("b.cu", "f", **executed), of_file("b.cu", "f", outcome="failed", reason=beyond, **odd)]
    write_other_kernels(synthetic, "siboehm", 1.0, *both, of_file("b.cu", "right", **executed), *others)
    write_other_kernels(synthetic, "siboehm_beta0", 0.0, of_file("b.cu", "f", outcome="failed", reason=unread))
    page = write_page(tmp_path, "checks()")
    assert run(page, results=synthetic) == 0
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert rows[0] == "| kernel | 1024 | 200 x 136 x 104 | beta = 0 | what is found first |"
    assert rows[3:] == [
        "| `f` | right | wrong | wrong | `a.cuh:54`: reads 16 bytes of B: outside of all arrays |",
        "| `right` | right |  |  |  |",
        "| `x` | wrong |  |  | `b.cuh:25`: has written before its local variable a |",
        "| `y` | wrong |  |  | `b.cu:9`: reads 4 bytes outside of shared memory |",
    ]


def test_errors_and_charts_that_do_not_exist_yet_are_no_mistake(tmp_path, synthetic):
    (synthetic / "accuracy.json").unlink()
    page = write_page(tmp_path, "errors(4096)", 'chart("error_against_speed", "Errors")')
    assert run(page, results=synthetic) == 0
    text = page.read_text(encoding="utf-8")
    assert "Not measured yet: `scripts/measure_device.sh --steps accuracy` writes `accuracy.json`." in text
    assert "The chart `error_against_speed.png` is not drawn yet" in text
    (synthetic / "charts").mkdir()
    (synthetic / "charts" / "error_against_speed.png").write_bytes(b"")
    assert run(page, "--check", results=synthetic) == 1
    run(page, results=synthetic)
    assert "![Errors](synthetic-gpu/charts/error_against_speed.png)" in page.read_text(encoding="utf-8")


def write_shapes(folder: Path) -> None:
    """A shapes.json with two squares and a deep product, which the second kernel does not support."""
    document = json.loads((folder / "cold.json").read_text(encoding="utf-8"))
    records = []
    for kernel, detail in (("cublas", ""), ("cublaslt_best", "algorithm 7"), ("07_warptile_hilbert", "128x256, tuned")):
        for size, shape in ((1024, (1024, 1024, 16384)), (4096, (4096, 4096, 4096)), (512, (512, 512, 512))):
            record = dict(case(document, kernel, size), detail=detail)
            records.append(record | dict(zip("mnk", shape, strict=True)))
    for record in [r for r in records if r["kernel"] == "07_warptile_hilbert"]:
        records.append(dict(record, kernel="06_coarse_2d", number=6))
    deep = records[-3]
    assert deep["k"] == 16384
    deep["outcome"] = "not_supported"
    for field in ("time_us", "gflops", "samples_us", "vs_cublas", "vs_cublas_alone"):
        del deep[field]
    (folder / "shapes.json").write_text(json.dumps(document | {"benchmarks": records}), encoding="utf-8")


def test_shapes_tells_the_configuration_and_the_ratios_of_every_problem(tmp_path, synthetic):
    write_shapes(synthetic)
    page = write_page(tmp_path, 'shapes("07_warptile_hilbert", "06_coarse_2d")', 'shapes("06_coarse_2d")')
    assert run(page, results=synthetic) == 0
    text = page.read_text(encoding="utf-8")
    first, _, second = text.partition("<!-- [[[end]]] -->")
    sizes = [line.split("|")[1].strip() for line in first.splitlines() if line.startswith("| ")]
    assert sizes == ["M x N x K", "---", "512", "4096", "1024 x 1024 x 16384"]
    row = next(line for line in first.splitlines() if line.startswith("| 4096"))
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    results = load_folder(SYNTHETIC)
    record = one(results, kernel="07_warptile_hilbert", side=4096, l2="cold", time="kernel")
    library = one(results, kernel="cublaslt_best", side=4096, l2="cold", time="kernel")
    smaller = f"{100 * min(record.vs_cublas, record.vs_cublas_alone):.1f} %"
    assert cells[1] == "128x256, tuned"
    assert cells[4:] == [smaller, f"{100 * library.microseconds / record.microseconds:.1f} %", smaller]
    deep = next(line for line in first.splitlines() if line.startswith("| 1024 x"))
    assert deep.split("|")[-2].strip() == ""
    assert "| 1024 x 1024 x 16384 |  |  | not supported |  |  |" in second
    assert run(page, "--check", results=synthetic) == 0


def test_shapes_before_they_are_measured(tmp_path, capsys, synthetic):
    page = write_page(tmp_path, 'shapes("07_warptile_hilbert")')
    assert run(page) == 0
    assert "Not measured yet: `scripts/measure_device.sh` writes `shapes.json`." in page.read_text(encoding="utf-8")
    assert "missing 1 required positional argument" in refusal(write_page(tmp_path, "shapes()"), capsys)
    write_shapes(synthetic)
    page = write_page(tmp_path, 'shapes("nonsense")')
    assert "shapes.json holds nothing about nonsense" in refusal(page, capsys, results=synthetic)


def test_each_launch_of_a_product_has_a_row(tmp_path, synthetic):
    page = write_page(tmp_path, 'launches("05_coarse_1d")')
    assert run(page, results=synthetic) == 0
    assert "Not measured yet: counters.json holds no launches of 05_coarse_1d." in page.read_text(encoding="utf-8")
    document = json.loads((synthetic / "counters.json").read_text(encoding="utf-8"))
    split = {"time_us": 10.0, "dram_bytes": 2e6, "dram_gbytes_s": 200.0, "tensor_pipe_percent": None}
    product = {"time_us": 30.0, "dram_bytes": 9e6, "dram_gbytes_s": 300.0, "tensor_pipe_percent": 92.5}
    functions = {"void sgemm::(anonymous namespace)::split<4, a::B>": split, "product": product}
    found = [{"function": function, "derived": derived} for function, derived in functions.items()]
    document["launches"] = {"05_coarse_1d": found}
    (synthetic / "counters.json").write_text(json.dumps(document), encoding="utf-8")
    assert run(page, results=synthetic) == 0
    rows = [line.split(" | ")[1:] for line in page.read_text(encoding="utf-8").splitlines() if "_1d`](" in line]
    assert rows[0] == ["`split`", "10.00 µs", "25.0 %", "2.00 MB", "200 GB/s", " |"]
    assert rows[1] == ["`product`", "30.00 µs", "75.0 %", "9.00 MB", "300 GB/s", "92.5 % |"]


def test_the_energy_of_a_product_stands_beside_that_of_cublas(tmp_path, edited, synthetic):
    page = write_page(tmp_path, "energy(4096)", "energies()")
    assert run(page) == 0
    text = page.read_text(encoding="utf-8")
    record = one(load([SYNTHETIC / "energy.json"]), kernel="05_coarse_1d", side=4096)
    own, rival = (record.energy[of] for of in ("kernel", "cublas"))
    ratio = own["joules_per_product"] / rival["joules_per_product"]
    cells = row_of(text, "05_coarse_1d")
    assert cells[2] == f"{own['watts']:.0f}"
    assert cells[3] == f"{own['trace']['mean_sm_clock_mhz']:.0f}"
    assert cells[5] == f"{own['joules_per_product']:.3g} J"
    assert cells[6] == tables.significant(own["gflops_per_watt"])
    assert cells[7] == f"{100 * ratio:.1f} %"
    over_size = row_of(text.partition("energies()")[2], "05_coarse_1d")
    assert over_size[-1] == f"{tables.significant(own['gflops_per_watt'])} ({100 * ratio:.0f}\u00a0%)"

    def without(document: dict) -> None:
        turn = case(document, "05_coarse_1d", 4096)["energy"]["kernel"]
        for name in ("watts", "energy", "joules_per_product", "gflops_per_watt"):
            del turn[name]
        turn["no_energy"] = "the turn was too short"

    edited("energy.json", without)
    assert run(page, results=synthetic) == 0
    text = page.read_text(encoding="utf-8")
    assert row_of(text, "05_coarse_1d")[5:] == ["", "", ""]
    assert "Without energy: the turn was too short." in text
    assert row_of(text.partition("energies()")[2], "05_coarse_1d")[-1] == ""


def test_sustained_speed_stands_beside_that_of_a_burst(tmp_path, edited, synthetic):
    def enlarge(document: dict) -> None:
        """The burst at 4096 stands for one at the size of the turns, at the same speed."""
        burst = case(document, "07_warptile_hilbert", 4096)
        burst.update(m=8192, n=8192, k=8192)
        burst["time_us"]["median"] *= 8

    page = write_page(tmp_path, "sustained()")
    edited("warm.json", enlarge)
    edited("sustained.json", slow_down)
    assert run(page, results=synthetic) == 0
    record = one(load([synthetic / "sustained.json"]), "sustained", kernel="07_warptile_hilbert")
    burst = one(load([SYNTHETIC / "warm.json"]), kernel="07_warptile_hilbert", side=4096)
    flops = 2.0 * record.side**3
    first, last = turns.ends_of(record.sustained["kernel"], flops)
    _, of_cublas = turns.ends_of(record.sustained["cublas"], flops)
    wanted = [tables.significant(value) for value in (burst.tflops, first, last)]
    wanted += [tables.share(last / burst.tflops), tables.share(last / of_cublas)]
    text = page.read_text(encoding="utf-8")
    assert row_of(text, "07_warptile_hilbert")[1:6] == wanted
    assert row_of(text, "cublas")[1:6:4] == ["", tables.share(1.05 / 1.1)]  # beside itself

    def without(document: dict) -> None:
        document["benchmarks"] = [r for r in document["benchmarks"] if r["kernel"] != "cublas"]

    edited("sustained.json", without)
    assert run(page, results=synthetic) == 0
    assert row_of(page.read_text(encoding="utf-8"), "cublas")[3:6:2] == [tables.significant(of_cublas), "100.0 %"]


def test_two_boards_agree_or_were_not_measured(tmp_path, synthetic):
    page = write_page(tmp_path, "agreement(0.5, 5)", "energy(4096)", "energies()", "sustained()")
    for file in ("energy.json", "sustained.json"):
        (synthetic / file).unlink()
    assert run(page, results=synthetic) == 0
    text = page.read_text(encoding="utf-8")
    for file in ("other_board/cold.json", "energy.json", "sustained.json"):
        assert f"Not measured yet: there is no {file} in synthetic-gpu." in text
    document = json.loads((synthetic / "cold.json").read_text(encoding="utf-8"))
    case(document, "05_coarse_1d", 4096)["vs_cublas"] *= 1.03
    (synthetic / "other_board").mkdir()
    (synthetic / "other_board" / "cold.json").write_text(json.dumps(document), encoding="utf-8")
    assert run(page, results=synthetic) == 0
    text = page.read_text(encoding="utf-8")
    assert "| 05_coarse_1d/4096x4096x4096 | 3.00 % |" in text
    assert "the median differs by 0.00 %, the worst by 3.00 % (limits: 0.5 % and 5 %)" in text


def test_a_kernel_with_a_page_may_lack_results(tmp_path, monkeypatch, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "08_new.md").write_text("", encoding="utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    page = write_page(tmp_path, "chapter(8)", 'resources("08_new")', 'counters("08_new:variant")')
    assert run(page) == 0
    text = page.read_text(encoding="utf-8")
    for name in ("8", "08_new", "08_new:variant"):
        assert f"Not measured yet: there is no kernel {name} in the results." in text
    assert "there is no kernel 9" in refusal(write_page(tmp_path, "chapter(9)"), capsys)


def test_the_pages_state_tiles_and_not_the_scripts(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("", encoding="utf-8")
    text = "<!-- [[[cog counts(5, tile=(64, 32), wide=(64, 64)) ]]] -->\n<!-- [[[end]]] -->\n"
    (tmp_path / "docs" / "05_new.md").write_text(text, encoding="utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    tile = tables.tiles_on_pages()
    assert tile(SimpleNamespace(number=5, variant="")) == (64, 32)
    assert tile(SimpleNamespace(number=5, variant="wide")) == (64, 64)
    assert tile(SimpleNamespace(number=5, variant="narrow")) == (64, 32)
    assert tile(SimpleNamespace(number=6, variant="")) is None
    assert (tmp_path / "docs" / "05_new.md").read_text(encoding="utf-8") == text


def test_no_script_lists_the_chapters():
    chapters = {path.stem for path in (ROOT / "kernels").glob("[0-9][0-9]_*.cu")}
    assert chapters
    for script in (ROOT / "tools").rglob("*.py"):
        code = script.read_text(encoding="utf-8")
        named = {chapter for chapter in chapters if f'"{chapter}' in code}
        assert len(named) <= 2, f"{script.name} names {sorted(named)}"
