from __future__ import annotations

from itertools import pairwise
from math import log2

import pytest

import claims
from claims import CLAIMS, NOT_COMPARABLE, NOT_MEASURED, NOT_REPRODUCED, REPRODUCED, Evidence, find
from conftest import SYNTHETIC, case
from results import Results

BY_ID = {claim.id: claim for claim in CLAIMS}


def finding(id_: str, evidence: Evidence) -> claims.Finding:
    return find(BY_ID[id_], evidence)


@pytest.fixture
def evidence() -> Evidence:
    return claims.gather(SYNTHETIC)


def test_every_claim_has_an_id_of_its_own_a_known_source_and_a_known_kind():
    assert len(BY_ID) == len(CLAIMS)
    assert {claim.source for claim in CLAIMS} == set(claims.SOURCES)
    assert {claim.kind for claim in CLAIMS} <= {claims.ARITHMETIC, claims.KERNEL, claims.SPEED, claims.DEVICE}


def test_every_claim_ends_in_a_verdict(evidence):
    for claim in CLAIMS:
        found = find(claim, evidence)
        assert found.verdict in claims.VERDICTS, claim.id
        assert found.measured or found.why, claim.id
        if found.verdict != REPRODUCED:
            assert found.why or claim.kind == claims.SPEED, claim.id


def test_without_results_only_arithmetic_holds():
    nothing = Evidence(Results((), ()))
    for claim in CLAIMS:
        found = find(claim, nothing)
        if claim.kind == claims.ARITHMETIC:
            assert found.verdict == REPRODUCED, claim.id
        else:
            assert found.verdict == NOT_MEASURED, claim.id
            assert found.why, claim.id


def test_reads_of_tile_grids():
    assert claims.slices_read(64, 1) == 16512
    assert claims.slices_read(8, 8) == 3072
    assert claims.best_of_64_tiles() == (3072, ["4×16", "8×8"])
    assert claims.idle_loaders(32) == 63
    assert claims.product_shape((2, 2), (2, 4)) == (2, 4)
    assert claims.product_shape((2, 3), (2, 4)) is None


def test_the_hilbert_curve():
    cells = claims.hilbert_curve(3)
    assert sorted(cells) == [(row, column) for row in range(8) for column in range(8)]
    assert cells[0] == (0, 0)
    assert cells[-1] == (0, 7)
    assert all(abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1 for a, b in pairwise(cells))
    assert claims.next_square_is_adjacent(8, 16)
    assert claims.next_square_is_adjacent(2, 4)


def test_another_order_of_tiles_is_no_hilbert_curve(monkeypatch):
    def row_by_row(order: int) -> list[tuple[int, int]]:
        return [(row, column) for row in range(2**order) for column in range(2**order)]

    monkeypatch.setattr(claims, "hilbert_curve", row_by_row)
    assert not claims.next_square_is_adjacent(8, 16)


@pytest.mark.parametrize(
    ("id_", "verdict", "measured"),
    [
        ("smem_1d", REPRODUCED, "4096 B"),
        ("smem_tiled", REPRODUCED, "8192 B"),
        ("smem_per_sm", REPRODUCED, "228 KiB"),
        ("register_file", REPRODUCED, "33 MiB"),
        ("pipeline", REPRODUCED, "49152 B"),
        ("reads", REPRODUCED, "16×"),
        ("sms", NOT_COMPARABLE, "132 SMs"),
        ("threads_per_sm", NOT_COMPARABLE, "2048"),
        ("registers", NOT_REPRODUCED, "226"),
        ("cublas_uses", NOT_REPRODUCED, "FP32"),
        ("partial_sync", NOT_MEASURED, ""),
    ],
)
def test_findings_from_the_synthetic_results(evidence, id_, verdict, measured):
    found = finding(id_, evidence)
    assert found.verdict == verdict
    assert measured in found.measured


def test_a_share_of_cublas_takes_the_smaller_ratio_and_fifteen_percent(edited, synthetic):
    def verdict_with(paired: float, alone: float) -> claims.Finding:
        edited(
            "cold.json",
            lambda document: case(document, "05_coarse_1d", 4096).update(vs_cublas=paired, vs_cublas_alone=alone),
        )
        return finding("share_1d", claims.gather(synthetic))

    assert verdict_with(0.37, 0.38).verdict == REPRODUCED
    assert verdict_with(0.60, 0.40) == claims.Finding("40.0 % at 4096", REPRODUCED, "")
    assert verdict_with(0.30, 0.60).verdict == NOT_REPRODUCED
    assert verdict_with(0.43, 0.60).verdict == NOT_REPRODUCED


def test_the_crossover_comes_from_the_end_to_end_sweep(evidence, edited, synthetic):
    assert finding("crossover", evidence).measured.startswith("N ≈ ")

    def gpu_always_faster(document: dict) -> None:
        for record in document["benchmarks"]:
            if record["kernel"] == "01_naive":
                record["time_us"]["median"] = 1e-3

    edited("end-to-end.json", gpu_always_faster)
    assert finding("crossover", claims.gather(synthetic)).why == "the times of 01_naive and cpu_naive do not cross"


def test_a_variant_decides_where_there_is_one(edited, synthetic):
    def add(document: dict) -> None:
        original = case(document, "07_warptile_hilbert", 4096)
        slower = {**original, "kernel": "07_warptile_hilbert:block_barrier", "variant": "block_barrier"}
        document["benchmarks"].append({**slower, "gflops": original["gflops"] / 2})

    edited("cold.json", add)
    found = finding("partial_sync", claims.gather(synthetic))
    assert found.verdict == REPRODUCED
    assert "2×" in found.measured


def test_counters_are_optional(evidence):
    without = Evidence(evidence.results)
    assert finding("hilbert", without).verdict == REPRODUCED
    assert "DRAM" not in finding("hilbert", without).measured
    assert "DRAM" in finding("hilbert", evidence).measured
    assert finding("reads", without).verdict == NOT_MEASURED


def set_smem(kernel: str, bytes_: int):
    def change(document: dict) -> None:
        for record in document["benchmarks"]:
            if record["kernel"] == kernel:
                record["smem_bytes"] = bytes_

    return change


def test_padding_is_not_held_against_the_size_of_tiles(edited, synthetic):
    edited("cold.json", set_smem("06_coarse_2d", 16896))
    found = finding("smem_2d", claims.gather(synthetic))
    assert found.verdict == REPRODUCED
    assert "padding 512 B" in found.measured
    edited("cold.json", set_smem("06_coarse_2d", 8192))
    assert finding("smem_2d", claims.gather(synthetic)).verdict == NOT_REPRODUCED


@pytest.mark.parametrize(("bytes_", "verdict"), [(49152, REPRODUCED), (99328, NOT_COMPARABLE), (5000, NOT_REPRODUCED)])
def test_a_deeper_pipeline_is_another_design_not_a_failure(edited, synthetic, bytes_, verdict):
    edited("cold.json", set_smem("07_warptile_hilbert", bytes_))
    assert finding("pipeline", claims.gather(synthetic)).verdict == verdict


@pytest.mark.parametrize(("growth", "verdict"), [(1.0, REPRODUCED), (1.1, REPRODUCED), (1.3, NOT_REPRODUCED)])
def test_flat_means_little_growth_for_each_doubling(edited, synthetic, growth, verdict):
    def change(document: dict) -> None:
        for record in document["benchmarks"]:
            if record["kernel"] == "01_naive" and record["m"] <= 64:
                record["time_us"]["median"] = 20 * growth ** log2(record["m"])

    edited("end-to-end.json", change)
    assert finding("flat", claims.gather(synthetic)).verdict == verdict


def test_gains_with_copies_come_from_the_largest_common_size(evidence):
    naive, cublas = evidence.end_to_end("01_naive"), evidence.end_to_end("cublas")
    size = max(naive.keys() & cublas.keys())
    assert claims.end_to_end_gain(evidence, "cublas") == f"{claims.times(naive[size] / cublas[size])} at {size}"
    assert claims.end_to_end_gain(evidence, "no_such_kernel") is None
