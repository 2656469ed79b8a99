"""What the five source documents claim in numbers, and what this suite finds for each.

A claim's figures stand here because a document states them; what is set against them is computed from the results, the
counters, what the executor counted, or the arithmetic of tiles. Speeds, times and measured traffic may be ABOUT away
from a claim; counts, the sizes of blocks and those of memories may not. scripts/tables.py writes the outcome into
docs/claims.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from math import isqrt, log2
from pathlib import Path

from counts import Counted, counted_in
from results import Record, Results, counters_of_folder, crossover, load_folder

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
NOT_COMPARABLE = "not comparable"
NOT_MEASURED = "not measured"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, NOT_COMPARABLE, NOT_MEASURED)

ARITHMETIC = "arithmetic"  # follows from shapes alone
KERNEL = "kernel"  # a property of the code, on any GPU
SPEED = "speed"  # depends on the code and on the GPU
DEVICE = "device"  # a property of the GPU

SIZE = 4096  # M = N = K, where a document names no size
ABOUT = 0.15  # how far a measured value may be from a claimed one, as a fraction of it
FLOAT_BYTES = 4
WARP = 32
REGISTERS_PER_SM = 65536  # 32-bit, in every NVIDIA GPU since compute capability 3.0
HOPPER = "9.0"

NOTES = "MMUL notes"
MURRAY = "Murray, tiling"
CUDA_POST = "Matrix Multiplication in CUDA"
SLIDES = "Numba slides"
GAUTAM = "Gautam, 2D coarsening"
SOURCES = (NOTES, MURRAY, CUDA_POST, SLIDES, GAUTAM)


class Missing(Exception):
    """The results lack what a claim needs; the message says what."""


@dataclass(frozen=True)
class Finding:
    measured: str
    verdict: str
    why: str = ""


@dataclass(frozen=True)
class Claim:
    id: str
    source: str
    kind: str
    text: str
    check: Callable[[Evidence], Finding]


@dataclass(frozen=True)
class Evidence:
    """One device's results; anything may be absent."""

    results: Results
    counters: dict | None = None
    counted: tuple[Counted, ...] = ()

    def counted_of(self, kernel: str, m: int = SIZE, n: int = SIZE) -> Counted | None:
        """What was counted of a kernel for a C of this shape, for whatever K."""
        return next((c for c in self.counted if c.id == kernel and c.record.shape[:2] == (m, n)), None)

    @property
    def device(self) -> dict:
        if not self.results.device:
            raise Missing("no GPU in the results")
        return self.results.device

    def of_device(self, field: str):
        if field not in self.device:
            raise Missing(f"the results do not hold the device's {field}")
        return self.device[field]

    def cold(self, kernel: str, size: int = SIZE) -> Record:
        record = self.results.one(id=kernel, size=size, l2="cold", time="kernel")
        if record is None:
            raise Missing(f"no cold measurement of {kernel} at {size}")
        return record

    def tiled(self, tile: int) -> Record:
        """Chapter 02 with square tiles of this side."""
        bytes_ = 2 * tile * tile * FLOAT_BYTES
        picked = self.results.pick(
            lambda r: r.get("smem_bytes") == bytes_, number=2, size=SIZE, l2="cold", time="kernel"
        )
        if not picked:
            raise Missing(f"no cold measurement of 02_smem_tiled with tiles of {tile} at {SIZE}")
        # The variants with another thread mapping have the same tiles; the fastest is the plain one.
        return max(picked, key=lambda r: r.tflops)

    def variant(self, chapter: str, word: str) -> Record:
        picked = self.results.pick(
            lambda r: r.id.startswith(f"{chapter}:") and word in r.variant, size=SIZE, l2="cold", time="kernel"
        )
        if not picked:
            raise Missing(f"{chapter} has no variant that differs in this alone")
        return picked[0]

    def end_to_end(self, kernel: str) -> dict[int, float]:
        """Microseconds by size, copies included; CPU kernels copy nothing, so any measurement of them serves."""
        is_cpu = kernel.startswith("cpu_")
        picked = self.results.pick(lambda r: r.size is not None, id=kernel)
        times = {r.size: r.microseconds for r in picked if is_cpu or r.time == "end-to-end"}
        if not times:
            raise Missing(f"no end-to-end measurement of {kernel}")
        return times

    def counter(self, kernel: str, name: str):
        value = self.counter_or_none(kernel, name)
        if value is None:
            raise Missing(f"no counter {name} of {kernel}")
        return value

    def counter_or_none(self, kernel: str, name: str):
        return (self.counters or {}).get("derived", {}).get(kernel, {}).get(name)


def is_about(measured: float, claimed: float) -> bool:
    return abs(measured - claimed) <= ABOUT * abs(claimed)


def judge(holds: bool, measured: str, why_not: str = "", note: str = "") -> Finding:
    return Finding(measured, REPRODUCED, note) if holds else Finding(measured, NOT_REPRODUCED, why_not or note)


def kib(bytes_: float) -> str:
    return f"{bytes_ / 1024:g} KiB"


def times(value: float) -> str:
    return f"{value:.3g}×"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def arithmetic(holds: Callable[[], bool], text: Callable[[], str], note: str = "") -> Callable[[Evidence], Finding]:
    return lambda _: judge(holds(), text(), note=note)


def other_gpu(field: str, text: Callable[[float], str], whose: str) -> Callable[[Evidence], Finding]:
    """A fact of another GPU: this one's figure beside it."""

    def check(evidence: Evidence) -> Finding:
        measured = text(evidence.of_device(field))
        return Finding(measured, NOT_COMPARABLE, f"a fact of {whose}; here {evidence.device['name']}")

    return check


def ratio_to_cublas(evidence: Evidence, kernel: str) -> float:
    ratio = evidence.cold(kernel).vs_cublas
    if ratio is None:
        raise Missing(f"{kernel} was not compared with cuBLAS")
    return ratio


# MMUL notes


def product_shape(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int] | None:
    return (a[0], b[1]) if a[1] == b[0] else None


def uses(tile: int, depth: int) -> float:
    """Multiply-adds for each element of A in a tile of `tile` rows and `depth` columns."""
    return tile * tile * depth / (tile * depth)


def shared_memory_per_sm(evidence: Evidence) -> Finding:
    measured = evidence.of_device("smem_per_sm_bytes")
    if evidence.of_device("compute_capability") != HOPPER:
        return Finding(kib(measured), NOT_COMPARABLE, "the claim is about compute capability 9.0")
    return judge(measured == 228 * 1024, kib(measured), note="same compute capability, 9.0")


def register_file(evidence: Evidence) -> Finding:
    multiprocessors = evidence.of_device("multiprocessors")
    mib = multiprocessors * REGISTERS_PER_SM * FLOAT_BYTES / 2**20
    text = f"{multiprocessors} SMs × {REGISTERS_PER_SM} registers × {FLOAT_BYTES} B = {mib:.4g} MiB"
    if evidence.of_device("compute_capability") != HOPPER:
        return Finding(text, NOT_COMPARABLE, "the claim is about compute capability 9.0")
    return judge(is_about(mib, 33), text)


def bf16_rate(evidence: Evidence) -> Finding:
    peak = evidence.of_device("fp32_peak_gflops") / 1e3
    why = "no kernel here computes in BF16; about twice the FP32 peak is its rate without tensor cores"
    return Finding(f"FP32 peak {peak:.1f} TFLOP/s", NOT_COMPARABLE, why)


def tile_reuse(evidence: Evidence) -> Finding:
    tiled = evidence.tiled(32)
    side = isqrt(tiled["smem_bytes"] // (2 * FLOAT_BYTES))
    measured = evidence.counter("01_naive", "global_load_requests") / evidence.counter(tiled.id, "global_load_requests")
    counted, holds = counted_reads(evidence, tiled.id, side)
    return judge(
        is_about(measured, side) and holds,
        f"global load requests of 01 over those of {tiled.id} (tiles of {side}): {times(measured)}{counted}",
        "the compiler may join or split loads",
    )


def counted_reads(evidence: Evidence, tiled: str, side: int) -> tuple[str, bool]:
    """How often the executor found elements of A and B read, and whether it is N and N / side times, exactly."""
    cases = [evidence.counted_of(kernel) for kernel in ("01_naive", tiled)]
    if None in cases:
        return "", True
    reads = [{case.counts["reads_per_element"][array] for array in ("a", "b")} for case in cases]
    text = [" or ".join(f"{value:g}" for value in sorted(values)) for values in reads]
    holds = reads == [{SIZE}, {SIZE / side}]
    return f"; counted: every element of A and B is read {text[0]} times in 01, {text[1]} times in {tiled}", holds


def idle_loaders(tile: int) -> int:
    """Threads of a square block that load a strip of A (first column of threads) or of B (first row)."""
    return sum(1 for x, y in product(range(tile), repeat=2) if x == 0 or y == 0)


def strip_barriers(evidence: Evidence) -> Finding:
    strip, tiled = evidence.cold("03_smem_strip_tiled"), evidence.tiled(32)
    speed = strip.tflops / tiled.tflops
    measured = f"speed of 03 over that of {tiled.id}: {times(speed)}"
    stalls = [(evidence.counter_or_none(r.id, "stalls") or {}).get("barrier") for r in (strip, tiled)]
    if None not in stalls:
        measured += f"; warps waiting at a barrier per issued instruction {stalls[0]:.2g} against {stalls[1]:.2g}"
    return judge(speed < 1, measured)


def register_tiled_block(evidence: Evidence) -> Finding:
    record = evidence.cold("04_smem_register_tiled")
    threads, bytes_ = record["threads_per_block"], record["smem_bytes"]
    return judge(threads == 64 and bytes_ == 4 * 16 * FLOAT_BYTES, f"{threads} threads, {bytes_} B of shared memory")


# Murray


def hilbert_threads(evidence: Evidence) -> Finding:
    threads = evidence.cold("07_warptile_hilbert")["threads_per_block"]
    return judge(threads == 8 * WARP, f"{threads} threads a block")


def registers_per_thread(evidence: Evidence) -> Finding:
    users = evidence.results.pick(lambda r: r.get("registers") is not None)
    if not users:
        raise Missing("no kernel says how many registers it takes")
    record = max(users, key=lambda r: r["registers"])
    why = "255: the 256th register name of the instruction set is the constant zero"
    return Finding(f"most in use: {record['registers']} ({record.id})", NOT_REPRODUCED, why)


def one_block_per_sm(evidence: Evidence) -> Finding:
    blocks = evidence.cold("07_warptile_hilbert")["blocks_per_sm"]
    return judge(
        blocks == 1, f"{blocks} on {evidence.device['name']}", "registers and shared memory leave room for more"
    )


def slices_read(rows: int, columns: int) -> int:
    """Elements of A and B, for each of K, that a grid of 256 x 128 output tiles reads."""
    return rows * 256 + columns * 128


def tiles_read(rows: int, columns: int) -> Callable[[Evidence], Finding]:
    """The claim is about 256 x 128 tiles of a column-major C, which chapter 07 has as 128 x 256 tiles in row-major."""

    def check(evidence: Evidence) -> Finding:
        slices = slices_read(rows, columns)
        text = f"{rows} × 256 + {columns} × 128 = {slices} (× K)"
        case = evidence.counted_of("07_warptile_hilbert", columns * 128, rows * 256)
        if case is None:
            return judge(slices == CLAIMED_SLICES[rows, columns], text)
        counted = case.counts["first_wave"]["elements"] / case.record.shape[2]
        text += f"; counted in 07 for the 64 tiles of a {columns * 128}×{rows * 256} C: {counted:g} (× K)"
        return judge(slices == counted == CLAIMED_SLICES[rows, columns], text)

    return check


CLAIMED_SLICES = {(64, 1): 16512, (8, 8): 3072}


def best_of_64_tiles() -> tuple[int, list[str]]:
    grids = [(rows, 64 // rows) for rows in range(1, 65) if 64 % rows == 0]
    least = min(slices_read(*grid) for grid in grids)
    return least, [f"{rows}×{columns}" for rows, columns in grids if slices_read(rows, columns) == least]


def hilbert_curve(order: int) -> list[tuple[int, int]]:
    """The cells of a square of side 2**order along the Hilbert curve, from corner (0, 0) to corner (0, side - 1)."""
    if order == 0:
        return [(0, 0)]
    half = 2 ** (order - 1)
    part = hilbert_curve(order - 1)
    first = [(column, row) for row, column in part]
    last = [(half - 1 - column, 2 * half - 1 - row) for row, column in part]
    middle = [(half + row, column) for row, column in part] + [(half + row, half + column) for row, column in part]
    return first + middle + last


def next_square_is_adjacent(side: int, count: int) -> bool:
    """Whether each square of side x side cells on a curve of `count` squares has rows or columns of the one before."""
    order = (side * isqrt(count)).bit_length() - 1
    cells, size = hilbert_curve(order), side * side
    squares = [cells[i : i + size] for i in range(0, len(cells), size)]
    spans = [({row for row, _ in square}, {column for _, column in square}) for square in squares]
    square_shaped = all(len(rows) == len(columns) == side for rows, columns in spans)
    return square_shaped and all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(spans))


def hilbert_speed(evidence: Evidence) -> Finding:
    curve, rows = evidence.cold("07_warptile_hilbert"), evidence.cold("07_warptile_hilbert:row_order")
    speed = curve.tflops / rows.tflops
    measured = f"speed of the curve over row-major order: {times(speed)}"
    traffic = [evidence.counter_or_none(r.id, "dram_bytes") for r in (curve, rows)]
    hits = [evidence.counter_or_none(r.id, "l2_hit_percent") for r in (curve, rows)]
    holds = speed > 1
    if None not in traffic:
        measured += f"; DRAM bytes {times(traffic[0] / traffic[1])}"
        holds = traffic[0] < traffic[1]
    if None not in hits:
        measured += f"; L2 hits {hits[0]:.3g} % against {hits[1]:.3g} %"
    counted = [evidence.counted_of(r.id, 2 * SIZE, 2 * SIZE) for r in (curve, rows)]
    if None not in counted:
        moved = [case.dram_bytes("in_step") for case in counted]
        measured += f"; counted at {2 * SIZE}: DRAM bytes {times(moved[0] / moved[1])}"
    blocks, across = evidence.of_device("multiprocessors"), SIZE // 256
    why = (
        f"C is only {across} tiles of 128×256 wide at {SIZE}: in row-major order the {blocks} blocks at work cover "
        f"{-(-blocks // across)}×{across} tiles, which is compact already"
    )
    return judge(holds, measured, why)


def pipeline_memory(evidence: Evidence) -> Finding:
    bytes_ = evidence.cold("07_warptile_hilbert")["smem_bytes"]
    tiles = 4 * (256 * 8 + 8 * 128) * FLOAT_BYTES
    measured = f"{bytes_} B; the document's four pairs take {tiles} B"
    if bytes_ == tiles:
        return Finding(measured, REPRODUCED)
    ours = 4 * 16 * (128 + 4 + 256) * FLOAT_BYTES
    if bytes_ == ours:
        why = f"chapter 07 has four pairs of 16 k, not 8, and pads A: 4 × 16 × (128 + 4 + 256) × 4 B = {ours} B"
        return Finding(measured, NOT_COMPARABLE, why)
    return Finding(measured, NOT_REPRODUCED, "another pipeline")


def named_barriers(evidence: Evidence) -> Finding:
    full = evidence.variant("07_warptile_hilbert", "barrier")
    partial = evidence.cold("07_warptile_hilbert")
    speed = partial.tflops / full.tflops
    measured = f"speed over {full.id}: {times(speed)}"
    stalls = [(evidence.counter_or_none(r.id, "stalls") or {}).get("barrier") for r in (partial, full)]
    if None not in stalls:
        measured += f"; warps waiting at a barrier per issued instruction {stalls[0]:.2g} against {stalls[1]:.2g}"
    why = "an SM runs one block of eight equally loaded warps: little waiting to save, and two barriers replace one"
    return judge(speed > 1, measured, why)


def transposing_copy(evidence: Evidence) -> Finding:
    other = evidence.variant("07_warptile_hilbert", "transpos")
    speed = evidence.cold("07_warptile_hilbert").tflops / other.tflops
    return judge(speed > 1, f"speed over {other.id}: {times(speed)}")


# Matrix Multiplication in CUDA


def multiply_adds(evidence: Evidence) -> Finding:
    exact = SIZE**2 * (2 * SIZE - 1)
    short = f"2MNK is {100 * (2 * SIZE**3 / exact - 1):.2g} % above the exact count at {SIZE}"
    counted = evidence.counter_or_none("01_naive", "ffma")
    if counted is not None:
        short += f"; FFMA counted in 01: {counted / SIZE**3:.5g} MNK"
        return judge(is_about(counted, SIZE**3), short)
    return judge(True, short)


def cpu_crossover(evidence: Evidence) -> Finding:
    size = crossover(evidence.end_to_end("01_naive"), evidence.end_to_end("cpu_naive"))
    if size is None:
        raise Missing("the times of 01_naive and cpu_naive do not cross")
    why = f"a CPU thread against the fixed cost of copies and launch: another host, {evidence.device['name']} for A100"
    return judge(is_about(size, 55), f"N ≈ {size:.0f}", why)


def flat_start(evidence: Evidence) -> Finding:
    small = {size: time for size, time in evidence.end_to_end("01_naive").items() if size <= 64}
    if len(small) < 2:
        raise Missing("no end-to-end measurements at 64 and below")
    least, most = min(small), max(small)
    growth = small[most] / small[least]
    per_doubling = growth ** (1 / log2(most / least))
    measured = f"N from {least} to {most}: {times((most / least) ** 3)} the work, {times(growth)} the time"
    measured += f" ({times(per_doubling)} a doubling)"
    return judge(per_doubling <= 1 + ABOUT, measured, "the product or the copies already show")


def ten_thousand(evidence: Evidence) -> Finding:
    near = {size: time for size, time in evidence.end_to_end("01_naive").items() if abs(size - 10000) <= 500}
    if not near:
        raise Missing("no end-to-end measurement of 01_naive near 10000")
    size = min(near, key=lambda s: abs(s - 10000))
    why = f"an A100, its host and another simple kernel there; {evidence.device['name']}, its host and 01 here"
    return judge(is_about(near[size] / 1e6, 0.85), f"{near[size] / 1e6:.3g} s at {size}", why)


def end_to_end_gain(evidence: Evidence, kernel: str) -> str | None:
    """How many times as fast as 01_naive a kernel is when copies count, at the largest size measured for both."""
    try:
        naive, other = evidence.end_to_end("01_naive"), evidence.end_to_end(kernel)
    except Missing:
        return None
    size = max(naive.keys() & other.keys(), default=None)
    return None if size is None else f"{times(naive[size] / other[size])} at {size}"


def tiling_gain(evidence: Evidence) -> Finding:
    tiled, naive = evidence.tiled(16), evidence.cold("01_naive")
    gain = tiled.tflops / naive.tflops
    measured = f"{tiled.id} over 01_naive: {times(gain)}"
    if (with_copies := end_to_end_gain(evidence, tiled.id)) is not None:
        measured += f", {with_copies} with copies"
    why = "another GPU and another simple kernel"
    busy = [evidence.counter_or_none(r.id, "shared_pipe_percent") for r in (naive, tiled)]
    if None not in busy:
        why += (
            f"; here L1 hits, which serve 01, and shared memory share a data pipe, busy to {busy[0]:.0f} % in 01 and "
            f"{busy[1]:.0f} % in {tiled.id}"
        )
    return judge(is_about(gain, 2), measured, why)


def usual_tile(evidence: Evidence) -> Finding:
    small, large = evidence.tiled(16), evidence.tiled(32)
    shown = [f"{r.tflops:.3g} TFLOP/s with {kib(r['smem_bytes'])}" for r in (small, large)]
    why = f"shared memory is not scarce: an SM has {kib(evidence.of_device('smem_per_sm_bytes'))}"
    return judge(small.tflops >= large.tflops, f"tiles of 16: {shown[0]}; of 32: {shown[1]}", why)


def cublas_gain(evidence: Evidence) -> Finding:
    cublas, naive, tiled = evidence.cold("cublas"), evidence.cold("01_naive"), evidence.tiled(16)
    gain = cublas.tflops / naive.tflops
    measured = f"cuBLAS over 01_naive: {times(gain)}, over tiles of 16: {times(cublas.tflops / tiled.tflops)}"
    if (with_copies := end_to_end_gain(evidence, "cublas")) is not None:
        measured += f"; over 01_naive with copies: {with_copies}"
    shares = [r.tflops * 1e3 / evidence.of_device("fp32_peak_gflops") for r in (cublas, naive)]
    why = f"of the FP32 peak cuBLAS reaches {percent(shares[0])} here, 01 {percent(shares[1])}; copies even it out"
    return judge(is_about(gain, 4), measured, why)


def tensor_core_gain(evidence: Evidence) -> Finding:
    tensor = evidence.results.pick(lambda r: r.size is not None, id="cublas_tf32", l2="cold", time="kernel")
    if not tensor:
        raise Missing("no cold measurement of cublas_tf32")
    best = max((r.tflops / evidence.cold("cublas", r.size).tflops, r.size) for r in tensor)
    measured = f"cuBLAS in TF32 over cuBLAS in FP32: up to {times(best[0])}, at {best[1]}"
    holds = 8 * (1 - ABOUT) <= best[0] <= 16 * (1 + ABOUT)
    return judge(holds, measured, "TF32 is the slowest tensor-core format; the claim names none")


def cublas_on_tensor_cores(evidence: Evidence) -> Finding:
    record = evidence.cold("cublas")
    mode = record.context.get("cublas_math_mode", "unknown")
    peak = evidence.of_device("fp32_peak_gflops") / 1e3
    measured = f"{record.tflops:.1f} TFLOP/s, the FP32 units' peak being {peak:.1f}; math mode {mode}"
    tf32 = evidence.results.one(id="cublas_tf32", size=SIZE, l2="cold", time="kernel")
    if tf32 is not None and tf32.get("rel_err") and record.get("rel_err"):
        measured += f"; relative error {record['rel_err']:.1e}, with TF32 {tf32['rel_err']:.1e}"
    why = "single-precision cuBLAS stays on the FP32 units unless TF32 is allowed"
    return judge(record.tflops > peak, measured, why)


# Numba slides


def reads_per_element(evidence: Evidence) -> Finding:
    tiled = evidence.tiled(16)
    measured = evidence.counter("01_naive", "global_load_requests") / evidence.counter(tiled.id, "global_load_requests")
    counted, holds = counted_reads(evidence, tiled.id, 16)
    return judge(
        is_about(measured, 16) and holds,
        f"global load requests of 01 over those of {tiled.id}: {times(measured)}{counted}",
        "the compiler may join or split loads",
    )


# Gautam


def coarse_1d_memory(evidence: Evidence) -> Finding:
    bytes_ = evidence.cold("05_coarse_1d")["smem_bytes"]
    return judge(bytes_ == 4096, f"{bytes_} B")


def tiled_memory(evidence: Evidence) -> Finding:
    record = evidence.tiled(32)
    return judge(record["smem_bytes"] == 8192, f"{record['smem_bytes']} B ({record.id})")


def threads_of_sm(record: Record) -> int:
    """How many threads an SM holds: what a kernel has there, over its occupancy."""
    return round(record["threads_per_block"] * record["blocks_per_sm"] / record["occupancy"])


def coarse_1d_occupancy(evidence: Evidence) -> Finding:
    coarse, tiled = evidence.cold("05_coarse_1d"), evidence.tiled(32)
    shown = [f"{r['blocks_per_sm']} blocks of {r['threads_per_block']}" for r in (coarse, tiled)]
    shown = [f"{text}, {percent(r['occupancy'])}" for text, r in zip(shown, (coarse, tiled), strict=True)]
    most = threads_of_sm(tiled)
    why = f"threads are the limit, not shared memory: {most} an SM, which both block sizes divide"
    if most % tiled["threads_per_block"] == 0:
        why += f" (1536, in the document, hold one block of {tiled['threads_per_block']})"
    return judge(
        coarse["occupancy"] > tiled["occupancy"], f"resident on an SM: 05 {shown[0]}; {tiled.id} {shown[1]}", why
    )


def coarse_2d_memory(evidence: Evidence) -> Finding:
    bytes_, before = evidence.cold("06_coarse_2d")["smem_bytes"], evidence.cold("05_coarse_1d")["smem_bytes"]
    tiles = 2 * 128 * 16 * FLOAT_BYTES
    measured = f"{bytes_} B (tiles {tiles} B, padding {bytes_ - tiles} B), after {before} B in 05"
    return judge(bytes_ >= tiles and bytes_ > before, measured)


def coarse_2d_threads(evidence: Evidence) -> Finding:
    threads = evidence.cold("06_coarse_2d")["threads_per_block"]
    return judge(threads == 128 * 128 // (8 * 8), f"128 × 128 / (8 × 8) = {128 * 128 // 64}; {threads} threads a block")


def threads_per_sm(evidence: Evidence) -> Finding:
    most = threads_of_sm(evidence.cold("06_coarse_2d"))
    if most != 1536:
        return Finding(f"{most}", NOT_COMPARABLE, f"a fact of the document's GPU; here {evidence.device['name']}")
    return Finding(f"{most}", REPRODUCED)


def more_blocks(evidence: Evidence) -> Finding:
    coarse, before = evidence.cold("06_coarse_2d"), evidence.cold("05_coarse_1d")
    measured = f"06: {coarse['blocks_per_sm']} blocks of {coarse['threads_per_block']}"
    measured += f"; 05: {before['blocks_per_sm']} of {before['threads_per_block']}"
    why = f"{coarse['registers']} registers a thread fill the register file first"
    return judge(coarse["blocks_per_sm"] > before["blocks_per_sm"], measured, why)


def share_of_cublas(kernel: str, claimed: float, change: str = "") -> Callable[[Evidence], Finding]:
    """`change`: what the chapter does differently from the document's kernel that bears on its speed."""

    def check(evidence: Evidence) -> Finding:
        share = ratio_to_cublas(evidence, kernel)
        why = "another GPU and another cuBLAS" + (f"; {change}" if change else "")
        return judge(is_about(share, claimed), f"{percent(share)} at {SIZE}", why)

    return check


def gigabytes(bytes_: float) -> str:
    return f"{bytes_ / 2**30:.1f} GiB"


H100 = "an H100 SXM"
LAPTOP = "an RTX 4080 Laptop"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "bandwidth",
        NOTES,
        DEVICE,
        "global memory moves 3 TB/s",
        other_gpu("dram_peak_gbytes_s", lambda v: f"peak {v / 1e3:.2f} TB/s", H100),
    ),
    Claim("bf16", NOTES, DEVICE, "BF16 arithmetic reaches 120 TFLOP/s", bf16_rate),
    Claim("memory", NOTES, DEVICE, "global memory is 80 GB", other_gpu("memory_bytes", gigabytes, H100)),
    Claim("smem_per_sm", NOTES, DEVICE, "an SM has 228 KB of shared memory", shared_memory_per_sm),
    Claim("register_file", NOTES, DEVICE, "all register files together hold 33 MB", register_file),
    Claim(
        "twelve",
        NOTES,
        ARITHMETIC,
        "a 3×3 block covers a 12×12 product's tile in four steps, with 9 threads",
        arithmetic(lambda: 12 // 3 == 4 and 3 * 3 == 9, lambda: f"12 / 3 = {12 // 3} steps, 3 × 3 = {3 * 3} threads"),
    ),
    Claim("reuse", NOTES, KERNEL, "each element in shared memory is used TILE_SIZE times", tile_reuse),
    Claim(
        "strip_reuse",
        NOTES,
        ARITHMETIC,
        "strips (TILE_SIZE×1 and 1×TILE_SIZE) reuse an element as often as square tiles do",
        arithmetic(
            lambda: uses(32, 1) == uses(32, 32) == 32,
            lambda: f"tiles of 32: strip {uses(32, 1):g}, square {uses(32, 32):g} multiply-adds an element",
        ),
    ),
    Claim(
        "strip_barriers",
        NOTES,
        SPEED,
        "with strips, two barriers guard one multiply-add a thread, with tiles TILE_SIZE of them; strips pay for it",
        strip_barriers,
    ),
    Claim(
        "idle_loaders",
        NOTES,
        ARITHMETIC,
        "2·TILE_SIZE − 1 of TILE_SIZE² threads load strips, the others idle",
        arithmetic(
            lambda: all(idle_loaders(t) == 2 * t - 1 for t in (16, 32)),
            lambda: f"tiles of 16: {idle_loaders(16)} of {16 * 16}; of 32: {idle_loaders(32)} of {32 * 32}",
        ),
    ),
    Claim(
        "rectangles",
        NOTES,
        ARITHMETIC,
        "tiles of 2×2 and 2×4 give an output tile of 2×4",
        arithmetic(lambda: product_shape((2, 2), (2, 4)) == (2, 4), lambda: "(2×2)·(2×4) = 2×4"),
    ),
    Claim(
        "quarter",
        NOTES,
        ARITHMETIC,
        "with 64 rows, 16 columns and one strip a quarter of the threads load B; 64 / 16 strips employ all",
        arithmetic(
            lambda: 16 / 64 == 1 / 4 and 16 * (64 // 16) == 64,
            lambda: f"16 / 64 = {16 / 64:g}; {64 // 16} strips × 16 columns = {64 // 16 * 16} elements for 64 threads",
        ),
    ),
    Claim("one_row_each", NOTES, KERNEL, "a block has one thread for each of its 64 output rows", register_tiled_block),
    Claim("block", MURRAY, KERNEL, "a block is 8 warps of 32, 256 threads", hilbert_threads),
    Claim("l2", MURRAY, DEVICE, "the L2 cache is 48 MB", other_gpu("l2_bytes", lambda v: f"{v / 2**20:g} MiB", LAPTOP)),
    Claim(
        "l1",
        MURRAY,
        DEVICE,
        "shared memory and L1 are 128 KB",
        other_gpu("smem_per_sm_bytes", lambda v: f"shared memory up to {kib(v)} an SM", LAPTOP),
    ),
    Claim("vram", MURRAY, DEVICE, "global memory is 12 GB", other_gpu("memory_bytes", gigabytes, LAPTOP)),
    Claim(
        "latencies",
        MURRAY,
        DEVICE,
        "global memory answers in hundreds of cycles, L2 in tens, shared memory in a few, registers in one",
        lambda _: Finding("", NOT_MEASURED, "the suite measures products, no latencies"),
    ),
    Claim("registers", MURRAY, DEVICE, "a thread has 256 registers", registers_per_thread),
    Claim(
        "sms",
        MURRAY,
        DEVICE,
        "the GPU has 58 SMs",
        other_gpu("multiprocessors", lambda v: f"{v} SMs", LAPTOP),
    ),
    Claim("one_block", MURRAY, KERNEL, "an SM runs one block of the kernel at a time", one_block_per_sm),
    Claim(
        "column",
        MURRAY,
        ARITHMETIC,
        "64 tiles in a column (64×1 of 256×128) read 16512K elements",
        tiles_read(64, 1),
    ),
    Claim(
        "square",
        MURRAY,
        ARITHMETIC,
        "64 tiles in a square (8×8) read 3072K elements",
        tiles_read(8, 8),
    ),
    Claim(
        "optimal",
        MURRAY,
        ARITHMETIC,
        "of all grids of 64 tiles the square one reads least",
        arithmetic(
            lambda: "8×8" in best_of_64_tiles()[1],
            lambda: f"least is {best_of_64_tiles()[0]} (× K), by {' and '.join(best_of_64_tiles()[1])}",
            "tied with its mirror: the one covers 2048 × 1024 elements of C, the other 1024 × 2048",
        ),
    ),
    Claim(
        "next_square",
        MURRAY,
        ARITHMETIC,
        "on the Hilbert curve the next 8×8 tiles have the rows or the columns of the last ones",
        arithmetic(
            lambda: next_square_is_adjacent(8, 16), lambda: "true of all 16 squares of 8×8 on a curve through 32×32"
        ),
    ),
    Claim("hilbert", MURRAY, SPEED, "the Hilbert curve's order of blocks uses the L2 cache better", hilbert_speed),
    Claim(
        "pipeline",
        MURRAY,
        KERNEL,
        "four pairs of tiles, 256×8 and 8×128, lie in shared memory",
        pipeline_memory,
    ),
    Claim(
        "warps",
        MURRAY,
        ARITHMETIC,
        "a 256×128 tile splits into 8 of 64×64, one a warp",
        arithmetic(
            lambda: 256 // 64 * (128 // 64) == 8, lambda: f"{256 // 64} × {128 // 64} = {256 // 64 * (128 // 64)}"
        ),
    ),
    Claim(
        "barriers",
        MURRAY,
        ARITHMETIC,
        "2 warps share the copy of a slice of A and 4 that of a slice of B: quarter- and half-block barriers suffice",
        arithmetic(
            lambda: 8 // (256 // 64) == 2 and 8 // (128 // 64) == 4,
            lambda: f"8 warps / {256 // 64} slices of A = {8 // (256 // 64)}; / {128 // 64} of B = {8 // (128 // 64)}",
        ),
    ),
    Claim("partial_sync", MURRAY, SPEED, "partial barriers improve the speed significantly", named_barriers),
    Claim(
        "thread_tile",
        MURRAY,
        ARITHMETIC,
        "a thread computes 8×16 elements from two 4×1 pieces of A and one 1×16 of B",
        arithmetic(
            lambda: 64 * 64 // WARP == 8 * 16 and 2 * 4 == 8,
            lambda: f"64 × 64 / {WARP} = {64 * 64 // WARP} = 8 × 16; 2 × 4 = {2 * 4} rows",
        ),
    ),
    Claim(
        "vectors",
        MURRAY,
        ARITHMETIC,
        "a 128-bit access moves four elements",
        arithmetic(lambda: 128 // 8 // FLOAT_BYTES == 4, lambda: f"128 bit / 32 bit = {128 // 32}"),
    ),
    Claim(
        "transpose",
        MURRAY,
        SPEED,
        "transposing one operand while copying is a gain, though it takes 32-bit copies",
        transposing_copy,
    ),
    Claim("flops", CUDA_POST, ARITHMETIC, "a product takes about 2MNK operations", multiply_adds),
    Claim("crossover", CUDA_POST, SPEED, "below N = 55 a CPU thread is faster, above it the GPU", cpu_crossover),
    Claim("flat", CUDA_POST, SPEED, "for small matrices the GPU's time does not depend on the size", flat_start),
    Claim(
        "ten_thousand", CUDA_POST, SPEED, "the simple kernel takes 0.85 s near N = 10000, copies included", ten_thousand
    ),
    Claim("tiling", CUDA_POST, SPEED, "16×16 tiles make the simple kernel about 2 times as fast", tiling_gain),
    Claim("tile_16", CUDA_POST, SPEED, "16 is the usual tile, shared memory being scarce", usual_tile),
    Claim("cublas", CUDA_POST, SPEED, "cuBLAS is about 4 times as fast", cublas_gain),
    Claim("tensor_cores", CUDA_POST, SPEED, "tensor cores do 8 to 16 times the FP32 units' work", tensor_core_gain),
    Claim("cublas_uses", CUDA_POST, SPEED, "cuBLAS runs this product on tensor cores", cublas_on_tensor_cores),
    Claim(
        "reads",
        SLIDES,
        KERNEL,
        "an element is read BPG·TPB times by the naive kernel and BPG times with tiles, TPB-fold less (TPB = 16)",
        reads_per_element,
    ),
    Claim(
        "steps",
        SLIDES,
        ARITHMETIC,
        "a block of C takes BPG block products",
        arithmetic(lambda: SIZE // 16 * 16 == SIZE, lambda: f"at {SIZE} with TPB = 16: BPG = {SIZE // 16}"),
    ),
    Claim("smem_1d", GAUTAM, KERNEL, "the 1D kernel takes 4096 bytes of shared memory", coarse_1d_memory),
    Claim("smem_tiled", GAUTAM, KERNEL, "the tiled kernel takes 8192 bytes (32×32 tiles)", tiled_memory),
    Claim(
        "latency",
        GAUTAM,
        KERNEL,
        "with less shared memory and fewer threads more blocks hide latency",
        coarse_1d_occupancy,
    ),
    Claim(
        "example",
        GAUTAM,
        ARITHMETIC,
        "4 threads with 4 elements each cover 4×4, with tiles of 4×2 and 2×4 in two phases",
        arithmetic(
            lambda: 4 * 4 == 4 * 4 and 4 // 2 == 2, lambda: f"4 × 4 = {4 * 4} elements, 4 / 2 = {4 // 2} phases"
        ),
    ),
    Claim("smem_2d", GAUTAM, KERNEL, "tiles of 128×16 and 16×128 take more shared memory", coarse_2d_memory),
    Claim("threads_2d", GAUTAM, KERNEL, "8×8 elements a thread make 256 threads for 128×128", coarse_2d_threads),
    Claim("threads_per_sm", GAUTAM, DEVICE, "an SM holds 1536 threads", threads_per_sm),
    Claim("more_blocks", GAUTAM, KERNEL, "so still more blocks are resident than in the 1D kernel", more_blocks),
    Claim(
        "share_1d",
        GAUTAM,
        SPEED,
        "1D coarsening (8 elements) reaches 37 % of cuBLAS",
        share_of_cublas("05_coarse_1d", 0.37),
    ),
    Claim(
        "share_2d",
        GAUTAM,
        SPEED,
        "2D coarsening (8×8) reaches 58 % of cuBLAS",
        share_of_cublas("06_coarse_2d", 0.58, "06 lays the tiles out so that 128-bit reads meet no bank conflicts"),
    ),
)


def gather(folder: Path, counts: Path | None = None) -> Evidence:
    """The evidence in a results folder, and in one of what was counted."""
    return Evidence(load_folder(folder), counters_of_folder(folder), counted_in(counts) if counts else ())


def find(claim: Claim, evidence: Evidence) -> Finding:
    try:
        return claim.check(evidence)
    except Missing as missing:
        return Finding("", NOT_MEASURED, str(missing))
