"""The blocks of pages. The pages of the repository show what they write where nothing is to be noted. In fixtures/,
notable_page.txt has the other cases, bare_page.txt what there is without results, and synthetic_page.txt has numbers in
prose. With SGEMM_WRITE_PAGE set, the tests write them anew: the difference shows what a change does.
"""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import case, edit, of_file, on, protocol, refused, slow_down, without_energy, write_other_kernels
from synthetic import SYNTHETIC
from tools import ROOT
from tools.docs import pages, tables

HILBERT = "07_warptile_hilbert"
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


def refusal(path: Path, capsys, **options) -> str:
    before = path.read_text(encoding="utf-8")
    errors = refused(capsys, lambda _: run(path, **options))
    assert path.read_text(encoding="utf-8") == before
    return errors


def test_the_pages_of_the_repository_are_not_stale(capsys):
    assert tables.main(["--check"]) == 0, capsys.readouterr().out


# What the pages of the repository have not, and notable_page.txt has.


def fast_burst(record: dict) -> None:
    """The burst at 4096 stands for one at the size of the turns, at the same speed."""
    record.update(m=8192, n=8192, k=8192)
    record["time_us"]["median"] *= 8
    record["cublas_samples_us"] = [8 * time for time in record["cublas_samples_us"]]


def wrong_errors(document: dict) -> None:
    """An error that no kernel promises, one that is wrong, and a variant that differs from its chapter."""
    for record in document["benchmarks"]:
        name = record["name"].removeprefix("sgemm/")
        if name == "05_coarse_1d/1024x1024x1024/normal":
            record.update(rel_err=3 * record["rel_err"], verified=False)
        if name == "02_smem_tiled:tile16/4096x4096x4096/uniform":
            record.update(rel_err=7e-6, outcome="incorrect", verified=False)
        if name == "05_coarse_1d/4096x4096x4096/inf":
            record["accuracy"]["non_finite_wrong"] = 17
            record.update(outcome="incorrect", verified=False)


def more_dram(record: dict) -> None:
    for traffic in record["counts"]["l2"].values():
        traffic["dram_read_bytes"] *= 2


def other_gpus(document: list[dict]) -> None:
    document[-1]["variants"][0]["max_compute_capability"] = "8.0"
    document[-2]["variants"][0]["min_compute_capability"] = "9.0"


def two_launches(document: dict) -> None:
    split = {"time_us": 10.0, "dram_bytes": 2e6, "dram_gbytes_s": 200.0, "tensor_pipe_percent": None}
    product = {"time_us": 30.0, "dram_bytes": 9e6, "dram_gbytes_s": 300.0, "tensor_pipe_percent": 92.5}
    functions = {"void sgemm::(anonymous namespace)::split<4, a::B>": split, "product": product}
    found = [{"function": function, "derived": derived} for function, derived in functions.items()]
    document["launches"] = {"05_coarse_1d": found}


def shapes(document: dict) -> None:
    """Two squares and a deep product, which the second kernel does not support."""
    records = []
    for kernel, detail in (("cublas", ""), ("cublaslt_best", "algorithm 7"), (HILBERT, "128x256, tuned")):
        for size, shape in ((1024, (512, 512, 4096)), (4096, (4096, 4096, 4096)), (512, (512, 512, 512))):
            record = case(document, kernel, size) | {"detail": detail}
            records.append(record | dict(zip("mnk", shape, strict=True)))
    records += [record | {"kernel": "06_coarse_2d", "number": 6} for record in records[-3:]]
    deep = records[-3]
    deep["outcome"] = "not_supported"
    for field in ("time_us", "gflops", "samples_us", "vs_cublas", "vs_cublas_alone"):
        del deep[field]
    document["benchmarks"] = records


def products(document: dict) -> None:
    """By two accuracies: two squares, a batch of squares, few rows, and a product of each layout."""
    found = [("nn", 1, 512, 512, 512), ("tt", 1, 1024, 1024, 1024), ("nn", 8, 512, 512, 512), ("nt", 1, 128, 512, 768)]
    found += [(ops, 1, 129, 512, 768) for ops in ("nn", "nt", "tn", "tt")]
    same = case(document, "cublas", 512)
    document["benchmarks"] = [
        same | {"kernel": kernel, "vs_cublas": speed * (i + 1), "vs_cublas_alone": speed * (i + 1.5)}
        | dict(zip(("ops", "batch", "m", "n", "k"), product, strict=True))
        for i, product in enumerate(found)
        for kernel, speed in (("libsgemm:fp32", 1.0), ("libsgemm:normwise", 2.0))
    ]  # fmt: skip


def checked_kernels(folder: Path) -> None:
    """Other people's kernels: a long name, several values of beta, and what checks say."""
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
    timed = [{"vs_cublas": 1.0}, of_file("runner.cu", "fast")]
    write_other_kernels(folder, "siboehm", 1.0, *timed, *both, of_file("b.cu", "right", **executed), *others)
    write_other_kernels(folder, "siboehm_beta0", 0.0, of_file("b.cu", "f", outcome="failed", reason=unread))
    long = "06_a_name_that_is_longer_than_a_table_has_room_for_it"
    write_other_kernels(folder, "leimao", 1.0, of_file(f"{long}.cu", outcome="incorrect"))
    write_other_kernels(folder, "leimao_beta0", 0.0, of_file(f"{long}.cu"))
    write_other_kernels(folder, "unknown", 1.0, of_file("unknown.cu"))


def untold(document: dict) -> None:
    """A GPU need not tell its peak and its driver."""
    for name in ("fp32_peak_gflops", "fp32_peak_basis", "driver"):
        del document["context"]["device"][name]


def make_bare(folder: Path) -> None:
    for file in ("energy.json", "sustained.json", "accuracy.json"):
        (folder / file).unlink()


def make_notable(folder: Path) -> None:
    telemetry = {"start": {"throttle_reasons": []}, "end": {"throttle_reasons": ["sw_power_cap"]}}
    throttled = on("05_coarse_1d", 4096, throttled=True, telemetry=telemetry)
    few = on("06_coarse_2d", 4096, samples_us=[1.0, 2.0, 3.0])
    too_short = on("05_coarse_1d", 4096, without_energy("the turn was too short", "kernel"))
    edit(folder / "cold.json", shapes, new=folder / "shapes.json")
    (folder / "other_board").mkdir()
    shutil.copy(folder / "cold.json", folder / "other_board" / "first_board.json")
    vs_cublas = 1.03 * case(folder / "cold.json", "05_coarse_1d", 4096)["vs_cublas"]
    other_board = folder / "other_board" / "cold.json"
    edit(folder / "cold.json", on("05_coarse_1d", 4096, vs_cublas=vs_cublas), new=other_board)
    for name, *changes in (
        ("cold", untold, protocol(confidence=0.9), throttled, few, on("06_coarse_2d", percent_of_peak=None)),
        ("kernels", other_gpus),
        ("accuracy", wrong_errors),
        ("counts_4096", on("01_naive", 4096, more_dram)),
        ("counters", two_launches),
        ("energy", too_short),
        ("warm", on(HILBERT, 4096, fast_burst)),
        ("sustained", slow_down),
    ):
        edit(folder / f"{name}.json", *changes)
    (folder / "library").mkdir()
    edit(folder / "cold.json", products, new=folder / "library" / "products.json")
    checked_kernels(folder)


PAGES = {"synthetic_page.txt": lambda folder: None, "notable_page.txt": make_notable, "bare_page.txt": make_bare}


@pytest.mark.parametrize("name", PAGES)
def test_every_block_is_as_it_was(synthetic, tmp_path, capsys, name):
    page = Path(__file__).parent / "fixtures" / name
    PAGES[name](synthetic)
    if "SGEMM_WRITE_PAGE" in os.environ:
        run(page, results=synthetic)
    assert run(page, "--check", results=synthetic) == 0, capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    empty = tmp_path / name
    emptied = re.sub(rf"(\[\[\[cog [^\n]*\n).*?{re.escape(END)}", rf"\1{END}", text, flags=re.DOTALL)
    empty.write_text(emptied, encoding="utf-8")
    assert run(empty, "--check", results=synthetic) == 1
    assert run(empty, results=synthetic) == 0
    assert empty.read_text(encoding="utf-8") == text


def test_check_prints_what_is_stale_and_writes_nothing(page, edited, synthetic, capsys):
    path = page("ladder(4096)")
    path.write_text(path.read_text(encoding="utf-8") + "\nOf it <!--= tflops.5.4096 -->?<!--/-->.\n", encoding="utf-8")
    assert (run(path, "--check"), run(path), run(path, "--check")) == (1, 0, 0)
    before = path.read_text(encoding="utf-8")
    speed = f"{case(SYNTHETIC / 'cold.json', '05_coarse_1d', 4096)['gflops'] / 1e3:.1f}"
    edited("cold.json", on("05_coarse_1d", 4096, gflops=12345.0))
    capsys.readouterr()
    assert run(path, "--check", results=synthetic) == 1
    output = capsys.readouterr()
    assert f"{path}:{before.count(chr(10))}: tflops.5.4096 is 12.3, the page says {speed}" in output.out
    assert re.search(r"^-.*05_coarse_1d.* \d\d\.\d ", output.out, re.M)
    assert re.search(r"^\+.*05_coarse_1d.* 12\.3 ", output.out, re.M)
    assert "page.md is stale: run python -m tools.docs.tables" in output.err
    assert path.read_text(encoding="utf-8") == before


def test_what_the_ladder_says_is_about_chapters_and_short():
    pages_ = {path.stem for path in (ROOT / "docs").glob("[0-9][0-9]_*.md")}
    chapters = {name for name in pages_ if (ROOT / "kernels" / f"{name}.cu").exists()}
    assert set(tables.chapters()) == chapters | {"cublas"}
    assert all(len(words.get("why", "").split()) <= 9 for words in tables.chapters().values())


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("nonsense()", "name 'nonsense' is not defined"),
        ("ladder()", "missing 1 required positional argument: 'size'"),
        ("ladder(31)", "no cold measurement"),
        ("chapter()", "names no kernel"),
        ('chapter("08_unknown")', "there is no kernel 08_unknown"),
        ("counters(42)", "there is no kernel 42"),
        ('counters("cublas")', "counters.json holds nothing about cublas"),
        ('counters(7, file="counters_31.json")', "there is no counters_31.json"),
        ("sweep(42)", "there is no kernel 42"),
        ('errors(4096, "absolute")', "errors are relative or componentwise"),
        ("errors(31)", "accuracy.json holds nothing at 31"),
        ('counts("05_coarse_1d")', "nothing was counted of 05_coarse_1d"),
        ("validation(123)", "counts_123.json: No such file or directory"),
        ("shapes()", "missing 1 required positional argument"),
    ],
)
def test_blocks_that_can_not_be_written(page, capsys, block, message):
    errors = refusal(page(block), capsys)
    assert message in errors
    # Of what Python itself raises, cog names the line after a block's.
    assert re.search(r'page\.md(\(5\)|", line 6)', errors)


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


def test_shapes_of_an_unknown_kernel_are_refused(page, synthetic, capsys):
    edit(synthetic / "cold.json", shapes, new=synthetic / "shapes.json")
    errors = refusal(page('shapes("nonsense")'), capsys, results=synthetic)
    assert "shapes.json holds nothing about nonsense" in errors


def test_a_kernel_with_a_page_may_lack_results(page, docs, capsys):
    (docs / "08_new.md").write_text("", encoding="utf-8")
    path = page("chapter(8)", 'counters("08_new")', 'counters("08_new:variant")')
    assert run(path) == 0
    for name in ("8", "08_new", "08_new:variant"):
        assert f"Not measured yet: there is no kernel {name} in the results." in path.read_text(encoding="utf-8")
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
    for script in set((ROOT / "tools").rglob("*.py")) - set((ROOT / "tools" / "tests").rglob("*")):
        code = script.read_text(encoding="utf-8")
        named = {chapter for chapter in chapters if f'"{chapter}' in code}
        assert len(named) <= 2, f"{script.name} names {sorted(named)}"
