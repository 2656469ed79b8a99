import re

import pytest

from conftest import ROOT, SYNTHETIC, on
from tools import counts
from tools.counts import GLOBAL, SHARED, Pair, compare, expected_reads, load_counts
from tools.docs.tables import tiles_on_pages
from tools.results import ResultsError


def test_counts_stand_beside_what_was_measured(synthetic, edited):
    stores = GLOBAL["global store requests"].metric
    edited("counters.json", lambda document: document["kernels"]["01_naive"].pop(stores))
    comparison = compare(synthetic, synthetic, 4096)
    naive = comparison.case("01_naive")
    assert naive.pair(GLOBAL["global load requests"]).difference == pytest.approx(0, abs=1e-6)
    assert naive.pair(GLOBAL["global store requests"]).measured is None
    assert naive.pair(GLOBAL["global store requests"]).difference is None
    assert counts.quantities(naive)["shared load requests"][0] == Pair(None, None)
    tiled = comparison.case("02_smem_tiled")
    wavefronts = tiled.per_request("shared_loads", SHARED["shared_loads"][2])
    assert wavefronts == Pair(1.0, pytest.approx(1.2003, abs=1e-4))


def test_asynchronous_copies_are_global_loads():
    warptile = compare(SYNTHETIC, SYNTHETIC, 4096).case("07_warptile_hilbert")
    assert warptile.counts["global_loads"]["requests"] == 0
    assert warptile.pair(GLOBAL["global load requests"]).difference == pytest.approx(0, abs=1e-6)
    made = {title for title, (pair, _) in counts.quantities(warptile).items() if pair.counted is not None}
    assert {"shared load requests", "asynchronous copy requests"} < made and "shared store requests" not in made


def test_the_nearer_schedule_counts():
    naive = compare(SYNTHETIC, SYNTHETIC, 4096).case("01_naive")
    assert naive.dram("in_step").difference == pytest.approx(-0.0434, abs=1e-4)
    assert naive.dram("in_turn").difference == pytest.approx(0.8448, abs=1e-4)
    assert naive.nearest_dram == naive.dram("in_step")
    assert naive.exceeds_l2


@pytest.mark.parametrize(
    ("pair", "difference", "within"),
    [
        (Pair(102.0, 100.0), 0.02, True),
        (Pair(97.0, 100.0), -0.03, False),
        (Pair(0, 0), 0.0, True),
        (Pair(5, 0), None, False),
        (Pair(5, None), None, None),
        (Pair(None, 5), None, None),
    ],
)
def test_differences(pair, difference, within):
    assert pair.difference == (None if difference is None else pytest.approx(difference))
    assert pair.within(0.0201) is within


def test_kernels_that_were_not_measured_have_only_counts(synthetic):
    (synthetic / "counters.json").unlink()
    comparison = compare(synthetic, synthetic, 4096)
    assert comparison.counters_context is None
    assert all(case.dram("in_step").measured is None for case in comparison.cases)
    assert comparison.cases[0].nearest_dram.within(0.25) is None


def test_a_case_without_its_counts_is_refused(edited):
    path = edited("counts_4096.json", on("01_naive", 4096, lambda record: record.pop("counts")))
    with pytest.raises(ResultsError, match="has no counts"):
        _ = load_counts(path)[0].counts


def test_reads_worked_out_by_hand():
    assert expected_reads((1, 1), 4096, 8192) == {"a": 8192, "b": 4096}
    assert expected_reads((128, 256), 4096, 4096) == {"a": 16, "b": 32}
    assert expected_reads((256, 192), 4096, 4096) == {"a": 22, "b": 16}


RESULTS = ROOT / "results"
SIZES = sorted(
    int(path.stem.rpartition("_")[2])
    for path in (RESULTS / "cpu-executor").glob("counts_*.json")
    if path.stem.rpartition("_")[2].isdigit()
)


@pytest.mark.parametrize("size", SIZES)
def test_the_committed_counts_agree_with_the_hardware(size):
    comparison = compare(RESULTS / "cpu-executor", RESULTS / "nvidia-h200", size)
    assert len(comparison.cases) >= 13
    for kernel in comparison.cases:
        if kernel.dram("in_step").measured is None:
            continue
        for name, quantity in GLOBAL.items():
            assert kernel.pair(quantity).within(counts.GLOBAL_BAR), (kernel.kernel, name)
        assert kernel.pair(counts.FLOPS).within(0.005), kernel.kernel


@pytest.mark.parametrize("size", [size for size in SIZES if size % 256 == 0])
def test_elements_are_read_as_often_as_worked_out_by_hand(size):
    tile, compared = tiles_on_pages(), 0
    for kernel in load_counts(RESULTS / "cpu-executor" / counts.counts_file(size)):
        if (stated := tile(kernel.row)) is not None:
            reads = kernel.counts["reads_per_element"]
            assert {array: reads[array] for array in ("a", "b")} == expected_reads(stated, size, size), kernel.kernel
            compared += 1
    assert compared >= 13


# Terms of a number, bytes of each, numbers along k in an operand tile, and the bytes that are written about it: 12 has
# 128 scales and three words, 13 has 128 codes and a word. Besides, a word of progress becomes 0 once.
SPLITTING = {"11_bf16x6": (3, 2, 64, 0), "12_fp16x3": (2, 2, 64, 140), "13_int8x6": (3, 1, 128, 132)}


@pytest.mark.parametrize("kernel", SPLITTING)
def test_the_recorded_splitting_writes_what_follows_from_its_terms(kernel):
    cases = load_counts(RESULTS / "cpu-executor" / "counts_2048_whole.json")
    (case,) = (case for case in cases if case.kernel == kernel)
    split, product = case.launches[-2:]
    terms, term_bytes, k_tile, about_tile = SPLITTING[kernel]
    numbers = 2 * 2048**2
    stores = [line for line in split["lines"] if line["kind"] == "global_store" and line["array"] == "workspace"]
    expected = numbers * terms * term_bytes + numbers // (128 * k_tile) * about_tile + 4
    assert sum(line["bytes"] for line in stores) == expected
    assert (split["reads_per_element"]["a"], split["reads_per_element"]["b"]) == (1, 1)
    assert (product["reads_per_element"]["a"], product["reads_per_element"]["b"]) == (0, 0)


def test_64_tiles_read_what_the_document_says():
    slices = {
        (case.kernel, *case.row.shape[:2]): case.counts["first_wave"]["elements"] / case.row.shape[2]
        for case in load_counts(RESULTS / "cpu-executor" / "counts_64_tiles.json")
    }
    for kernel in ("07_warptile_hilbert", "07_warptile_hilbert:row_order"):
        assert slices[kernel, 128, 64 * 256] == 16512
        assert slices[kernel, 8 * 128, 8 * 256] == 3072


def test_the_recorded_lines_are_where_the_source_has_them():
    for kernel in load_counts(RESULTS / "cpu-executor" / "counts_4096.json"):
        for line in kernel.counts["lines"]:
            source = (ROOT / "kernels" / line["file"]).read_text(encoding="utf-8").splitlines()[line["line"] - 1]
            expected = r"[-+]=|\*|update" if line["kind"] == "flops" else r"\[|load|store|update|cp_async"
            assert re.search(expected, source), f"{line['file']}:{line['line']}: {source}"
