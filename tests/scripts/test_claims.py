from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, reduce
from itertools import pairwise
from math import log2

import pandas as pd
import pytest

from conftest import ROOT, SYNTHETIC, on
from tools.counts import Case, counted_in
from tools.docs import claims
from tools.docs.claims import (
    KINDS,
    NOT_COMPARABLE,
    NOT_MEASURED,
    NOT_REPRODUCED,
    REPRODUCED,
    UNEXPLAINED,
    Evidence,
    Finding,
    find,
    statements,
)
from tools.results import counters_of_folder, load, load_folder

CLAIMS = claims.claims()


@cache
def committed() -> Evidence:
    """What the published page is made from."""
    folder = ROOT / "results" / "nvidia-h200"
    large = {8192: counters_of_folder(folder, "counters_8192.json")}
    counts = counted_in(ROOT / "results" / "cpu-executor")
    return Evidence(load_folder(folder), counters_of_folder(folder), counts, large)


def gather(folder=SYNTHETIC) -> Evidence:
    return Evidence(load_folder(folder), counters_of_folder(folder) or {})


def finding(id_: str, evidence: Evidence) -> Finding:
    return find(CLAIMS[id_], evidence)


@cache
def found(id_: str) -> Finding:
    return finding(id_, committed())


def with_verdict(verdict: str) -> list[str]:
    return [id_ for id_ in CLAIMS if found(id_).verdict == verdict]


Change = Callable[[Evidence], Evidence]


def in_rows(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Change:
    return lambda evidence: replace(evidence, results=change(evidence.results))


def in_contexts(change: Callable[[dict], dict]) -> Change:
    return in_rows(lambda rows: rows.assign(context=[context | change(context) for context in rows.context]))


def field(kernel: str, name: str, factor: float) -> Change:
    """Scales a field of every record of a kernel."""
    return in_rows(lambda rows: rows.assign(**{name: rows[name].mask(rows.kernel == kernel, rows[name] * factor)}))


def without(kernel: str) -> Change:
    return in_rows(lambda rows: rows[rows.kernel != kernel])


def device(**fields) -> Change:
    """Changes what is said of the GPU; None takes it away."""
    known = {name: value for name, value in fields.items() if value is not None}

    def change(context: dict) -> dict:
        return {"device": {n: v for n, v in context["device"].items() if n not in fields} | known}

    return in_contexts(change)


def math_mode(mode: str) -> Change:
    return in_contexts(lambda _: {"cublas_math_mode": mode})


def counter(kernel: str, name: str, factor: float | None) -> Change:
    """Scales a counter, or a reason for stalls, of a kernel; None takes it away."""

    def change(evidence: Evidence) -> Evidence:
        counters = copy.deepcopy(evidence.counters)
        place = counters["derived"][kernel]
        place = place["stalls"] if name in place.get("stalls", {}) else place
        value = place.pop(name)
        if factor is not None:
            place[name] = value * factor
        return replace(evidence, counters=counters)

    return change


def counted(kernel: str, path: str, factor: float | None) -> Change:
    """Scales one number of everything that was counted of a kernel; None takes the kernel away."""

    def change(evidence: Evidence) -> Evidence:
        cases = [one for one in evidence.counted if one.kernel != kernel]
        for one in evidence.counted if factor is not None else ():
            if one.kernel == kernel:
                counts = copy.deepcopy(one.counts)
                *way, last = path.split(".")
                reduce(dict.__getitem__, way, counts)[last] *= factor
                cases.append(Case(one.row._replace(counts=counts), one.metrics))
        return replace(evidence, counted=tuple(cases))

    return change


def at_8192(kernel: str, factor: float | None) -> Change:
    """Scales the DRAM bytes of a kernel at 8192; None takes them away."""
    return lambda evidence: replace(
        evidence,
        at_sizes={
            8192: counter(kernel, "dram_bytes", factor)(replace(evidence, counters=evidence.at_sizes[8192])).counters
        },
    )


HILBERT = "07_warptile_hilbert"

# What is said of each claim that is reproduced: a change that refutes it, and one that takes away what it needs.
REFUTED: dict[str, tuple[Change, Change]] = {
    "smem_per_sm": (device(smem_per_sm_bytes=100 << 10), device(smem_per_sm_bytes=None)),
    "register_file": (device(multiprocessors=100), device(multiprocessors=None)),
    "reuse": (counted("02_smem_tiled", "reads_per_element.a", 2), counter("01_naive", "global_load_requests", None)),
    "strip_barriers": (field("03_smem_strip_tiled", "tflops", 20), counter("03_smem_strip_tiled", "barrier", None)),
    "one_row_each": (field("04_smem_register_tiled", "threads_per_block", 2), without("04_smem_register_tiled")),
    "block": (field(HILBERT, "threads_per_block", 2), without(HILBERT)),
    "one_block": (field(HILBERT, "blocks_per_sm", 2), without(HILBERT)),
    "column": (counted(HILBERT, "first_wave.elements", 1.01), counted(HILBERT, "", None)),
    "square": (counted(HILBERT, "first_wave.elements", 0.99), counted(HILBERT, "", None)),
    "hilbert": (at_8192(HILBERT, 2), at_8192(HILBERT, None)),
    "apart": (counted(HILBERT, "shared_loads.wavefronts", 2), counted(HILBERT, "", None)),
    "flops": (counter("01_naive", "ffma", 2), counter("01_naive", "ffma", None)),
    "tensor_cores": (field("cublas_tf32", "tflops", 0.5), without("cublas_tf32")),
    "reads": (counter("01_naive", "global_load_requests", 2), counted("02_smem_tiled:tile16", "", None)),
    "smem_1d": (field("05_coarse_1d", "smem_bytes", 2), without("05_coarse_1d")),
    "smem_tiled": (field("02_smem_tiled", "smem_bytes", 2), without("02_smem_tiled")),
    "smem_2d": (field("05_coarse_1d", "smem_bytes", 5), without("06_coarse_2d")),
    "threads_2d": (field("06_coarse_2d", "threads_per_block", 0.5), without("06_coarse_2d")),
    "share_1d": (field("05_coarse_1d", "of_cublas", 1.3), without("05_coarse_1d")),
}

# For each reason on the published page, its first words and a change of the results that makes it false.
FALSIFIED: dict[str, list[tuple[str, Change]]] = {
    "bandwidth": [("a fact of", device(name="NVIDIA H100 80GB HBM3"))],
    "bf16": [("120 is about", field("11_bf16x6", "tflops", 0.1))],
    "memory": [("a fact of", device(name="NVIDIA H100 80GB HBM3"))],
    "l2": [("a fact of", device(name="NVIDIA GeForce RTX 4080 Laptop GPU"))],
    "l1": [("a fact of", device(name="NVIDIA GeForce RTX 4080 Laptop GPU"))],
    "vram": [("a fact of", device(name="NVIDIA GeForce RTX 4080 Laptop GPU"))],
    "sms": [("a fact of", device(name="NVIDIA GeForce RTX 4080 Laptop GPU"))],
    "registers": [("255", in_rows(lambda rows: rows.assign(registers=rows.registers.clip(upper=254))))],
    "any_two": [("without tensor cores", field("09_every_shape", "of_cublas", 0.9))],
    "pipeline": [("chapter 07 has", field(HILBERT, "smem_bytes", 2))],
    "partial_sync": [("an SM runs", counter("07_warptile_hilbert:block_barrier", "barrier", 100))],
    "crossover": [("the fixed cost of copies", device(name="NVIDIA A100"))],
    "flat": [("the product or", lambda evidence: growing(4.1, evidence))],
    "ten_thousand": [("the document has an A100", device(name="NVIDIA A100"))],
    "tiling": [
        ("another GPU", device(name="NVIDIA A100")),
        ("L1 hits", counter("01_naive", "shared_pipe_percent", 0.1)),
    ],
    "tile_16": [("shared memory is not", device(smem_per_sm_bytes=16 << 10))],
    "cublas": [("cuBLAS reaches", field("cublas", "tflops", 0.6))],
    "cublas_uses": [("single-precision", math_mode("CUBLAS_TF32_TENSOR_OP_MATH"))],
    "latency": [("threads are", field("05_coarse_1d", "blocks_per_sm", 0.5))],
    "threads_per_sm": [("a fact of", field("06_coarse_2d", "occupancy", 2048 / 1536))],
    "more_blocks": [("128 registers", field("06_coarse_2d", "registers", 0.5))],
}


def growing(factor: float, evidence: Evidence) -> Evidence:
    """01_naive with copies takes so many times as long for every doubling."""
    rows = evidence.results
    chosen = (rows.kernel == "01_naive") & (rows.time == "end-to-end")
    times = [20 * factor ** log2(side) for side in rows.side.fillna(1)]
    return replace(evidence, results=rows.assign(microseconds=rows.microseconds.mask(chosen, times)))


def test_every_claim_is_complete():
    for id_, claim in CLAIMS.items():
        assert claim["kind"] in KINDS, id_
        optional = {"values", "here", "holds", "why_not", "not_comparable", "missing"}
        assert claim.keys() <= {"source", "kind", "text", *optional}, id_
        assert "missing" in claim or {"values", "here", "holds"} <= claim.keys(), id_
        for reason in (*claim.get("why_not", []), *claim.get("not_comparable", [])):
            assert reason.keys() == {"text", "holds"}, id_


@pytest.mark.parametrize("id_", [id_ for id_ in CLAIMS if "values" in CLAIMS[id_]])
def test_no_predicate_holds_without_a_value_from_the_results(id_):
    claim = CLAIMS[id_]
    readers = {name for name in dir(Evidence) if not name.startswith("_")}
    read: set[str] = set()
    for name, expression in claim["values"].items():
        if set(re.findall(r"\w+", expression)) & (readers | read):
            read.add(name)
    reasons = (*claim.get("why_not", []), *claim.get("not_comparable", []))
    for predicate in (claim["holds"], *(reason["holds"] for reason in reasons)):
        assert set(re.findall(r"\w+", predicate)) & read, predicate


def test_without_results_nothing_is_reproduced():
    nothing = Evidence(load([]), {})
    for id_, claim in CLAIMS.items():
        result = find(claim, nothing)
        assert result.verdict == NOT_MEASURED, id_
        assert result.why, id_


def test_every_reproduced_claim_has_a_change_that_refutes_it():
    assert set(with_verdict(REPRODUCED)) == set(REFUTED)


@pytest.mark.parametrize("id_", REFUTED)
def test_what_is_reproduced_depends_on_the_results(id_):
    refuted, missing = REFUTED[id_]
    assert finding(id_, refuted(committed())).verdict == NOT_REPRODUCED
    assert finding(id_, missing(committed())).verdict == NOT_MEASURED


def test_every_claim_that_is_not_reproduced_says_why():
    for id_ in (*with_verdict(NOT_REPRODUCED), *with_verdict(NOT_COMPARABLE), *with_verdict(NOT_MEASURED)):
        assert found(id_).why not in ("", UNEXPLAINED), id_


def test_every_reason_that_is_given_has_a_change_that_makes_it_false():
    for id_ in (*with_verdict(NOT_REPRODUCED), *with_verdict(NOT_COMPARABLE)):
        given = found(id_).why
        words = [word for word, _ in FALSIFIED.get(id_, [])]
        assert given.startswith(words[0]), id_
        assert all(word in given for word in words), id_
        assert given.count("; ") >= len(words) - 1, id_
    assert set(FALSIFIED) == {*with_verdict(NOT_REPRODUCED), *with_verdict(NOT_COMPARABLE)}


@pytest.mark.parametrize(("id_", "words", "change"), [(i, *pair) for i, pairs in FALSIFIED.items() for pair in pairs])
def test_a_reason_that_is_false_is_not_given(id_, words, change):
    altered = finding(id_, change(committed()))
    assert words not in altered.why
    assert altered.verdict in (REPRODUCED, NOT_REPRODUCED)
    if len(FALSIFIED[id_]) == 1 and altered.verdict == NOT_REPRODUCED and id_ != "pipeline":
        assert altered.why == UNEXPLAINED


def test_a_false_reason_in_the_data_is_not_published():
    claim = CLAIMS["registers"] | {"why_not": [{"text": "no kernel takes more than 100", "holds": "most <= 100"}]}
    assert find(claim, committed()).why == UNEXPLAINED
    claim = CLAIMS["bf16"] | {"not_comparable": [{"text": "no kernel computes in BF16", "holds": "rate == 0"}]}
    assert find(claim, committed())[1:] == (NOT_REPRODUCED, UNEXPLAINED)


def test_bf16_is_what_chapter_11_computes_in():
    assert re.search(r"in FP32: \d{3} TFLOP/s", found("bf16").measured)
    assert finding("bf16", without("11_bf16x6")(committed())).verdict == NOT_MEASURED


@pytest.mark.parametrize("equation", [e for s in statements().values() for e in s["follows"]])
def test_what_follows_is_worked_out(equation):
    assert claims.is_right(equation)
    wrong = re.sub(r"(\d+)(\)?)$", lambda match: f"{int(match[1]) + 1}{match[2]}", equation)
    assert wrong != equation
    assert not claims.is_right(wrong)


def test_an_equation_that_is_wrong_is_shown_as_such(monkeypatch):
    entry = {"source": "a document", "text": "two and two", "follows": ["2 + 2 = 5", "2 + 2 = 4"]}
    monkeypatch.setattr(claims, "entries", lambda: {"sum": entry})
    text = claims.markdown(gather(), lambda head, rows, left: str(rows))
    assert "2 + 2 = 5 is wrong; 2 + 2 = 4" in text
    assert "4 is wrong" not in text


def test_reads_of_tile_grids():
    assert claims.slices(64, 1) == 16512
    assert claims.slices(8, 8) == claims.least(64) == 3072
    assert claims.loaders(32) == 63
    assert claims.shape((2, 2), (2, 4)) == (2, 4)
    assert claims.shape((2, 3), (2, 4)) is None


def test_the_hilbert_curve():
    cells = claims.hilbert_curve(3)
    assert sorted(cells) == [(row, column) for row in range(8) for column in range(8)]
    assert cells[0] == (0, 0)
    assert cells[-1] == (0, 7)
    assert all(abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1 for a, b in pairwise(cells))
    assert claims.breaks(8, 16) == claims.breaks(2, 4) == 0


def test_another_order_of_tiles_is_no_hilbert_curve(monkeypatch):
    def row_by_row(order: int) -> list[tuple[int, int]]:
        return [(row, column) for row in range(2**order) for column in range(2**order)]

    monkeypatch.setattr(claims, "hilbert_curve", row_by_row)
    assert claims.breaks(8, 16) > 0


def test_a_fact_of_another_gpu_is_held_against_that_gpu():
    on_h100 = device(name="NVIDIA H100 80GB HBM3", dram_peak_gbytes_s=3350.0, memory_bytes=85e9)(committed())
    assert finding("bandwidth", on_h100).verdict == REPRODUCED
    assert finding("memory", on_h100).verdict == REPRODUCED
    assert finding("bandwidth", device(name="NVIDIA H100 80GB HBM3")(committed())).verdict == NOT_REPRODUCED


def test_a_share_of_cublas_takes_the_smaller_ratio_and_fifteen_percent(edited, synthetic):
    def verdict_with(paired: float, alone: float) -> Finding:
        edited("cold.json", on("05_coarse_1d", 4096, vs_cublas=paired, vs_cublas_alone=alone))
        return finding("share_1d", gather(synthetic))

    assert verdict_with(0.37, 0.38).verdict == REPRODUCED
    assert verdict_with(0.60, 0.40) == Finding("40.0 % at 4096", REPRODUCED)
    assert verdict_with(0.30, 0.60).verdict == NOT_REPRODUCED
    assert verdict_with(0.43, 0.60).verdict == NOT_REPRODUCED


def test_the_crossover_comes_from_the_end_to_end_sweep(edited, synthetic):
    assert finding("crossover", gather()).measured.startswith("N ≈ ")

    edited("end-to-end.json", on("cpu_naive", None, time_us={"median": 1e9}))
    assert finding("crossover", gather(synthetic)).why == "the times of 01_naive and cpu_naive do not cross"


def test_parts_whose_values_are_not_known_are_left_out():
    evidence = replace(gather(), at_sizes={8192: gather().counters})
    assert "DRAM" in finding("hilbert", evidence).measured
    assert "counted" not in finding("hilbert", evidence).measured
    without_counters = replace(evidence, counters={})
    assert finding("hilbert", gather()).verdict == NOT_MEASURED
    assert finding("tiling", without_counters).measured.startswith("02_smem_tiled:tile16 over 01_naive: ")
    assert "with copies" not in finding("tiling", without_counters).measured
    assert "with copies" in finding("cublas", evidence).measured


@pytest.mark.parametrize(("bytes_", "verdict"), [(49152, REPRODUCED), (99328, NOT_COMPARABLE), (5000, NOT_REPRODUCED)])
def test_a_deeper_pipeline_is_another_design_not_a_failure(bytes_, verdict):
    altered = field(HILBERT, "smem_bytes", bytes_ / 99328)(committed())
    assert finding("pipeline", altered).verdict == verdict


@pytest.mark.parametrize(("growth", "verdict"), [(1.0, REPRODUCED), (1.1, REPRODUCED), (1.3, NOT_REPRODUCED)])
def test_flat_means_little_growth_for_each_doubling(growth, verdict):
    assert finding("flat", growing(growth, committed())).verdict == verdict
