import re

import pytest

from helpers import ROOT, on
from tools import counts
from tools.counts import GLOBAL, Pair, compare, expected_reads, load_counts
from tools.docs.tables import tiles_on_pages
from tools.results import ResultsError


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


def test_reads_worked_out_by_hand():
    assert expected_reads((1, 1), 4096, 8192) == {"a": 8192, "b": 4096}
    assert expected_reads((256, 192), 4096, 4096) == {"a": 22, "b": 16}


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
