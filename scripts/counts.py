"""What the executor counted (`runner --device cpu --count`), and the same quantities as Nsight Compute measured them.

The counts are those of the source: every access that it makes is one. The GPU executes what nvcc made of it, which may
join accesses to neighbouring addresses. EXPLANATIONS says where it does, so that a difference is either explained or
wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from results import COUNTERS_FILE, Record, ResultsError, counters_of_folder, load

USUAL_SIZE = 4096  # of counters.json; files of other sizes bear theirs in their names
FLOAT_BYTES = 4
SCHEDULES = ("in_step", "in_turn")
GLOBAL_BAR = 0.02  # how far a count of global memory may be from the measured one
SHARED_BAR = 0.02  # above, a difference of accesses to shared memory is explained
DRAM_BAR = 0.25  # how far the bytes from DRAM may be, where the matrices are larger than the L2


def counts_file(size: int) -> str:
    return f"counts_{size}.json"


def counters_file(size: int) -> str:
    return COUNTERS_FILE if size == USUAL_SIZE else f"counters_{size}.json"


def ratio(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


@dataclass(frozen=True)
class Counted:
    """What was counted of one kernel on one problem."""

    record: Record

    @property
    def id(self) -> str:
        return self.record.id

    @cached_property
    def counts(self) -> dict:
        return self.record["counts"]

    @property
    def elements(self) -> int:
        """Of C."""
        m, n, _ = self.record.shape
        return m * n

    @property
    def matrix_bytes(self) -> int:
        m, n, k = self.record.shape
        return FLOAT_BYTES * (m * k + k * n + m * n)

    @property
    def exceeds_l2(self) -> bool:
        return self.matrix_bytes > self.counts["gpu_model"]["l2_bytes"]

    def of(self, *kinds: str, field: str) -> float:
        """The sum of a field of several kinds of access."""
        return sum(self.counts[kind][field] for kind in kinds)

    def dram_bytes(self, schedule: str) -> float:
        traffic = self.counts["l2"][schedule]
        return traffic["dram_read_bytes"] + traffic["dram_written_bytes"]

    @property
    def l2_to_sm_bytes(self) -> float:
        """What its blocks ask the L2 for does not depend on when they run."""
        return self.counts["l2"]["in_step"]["read_bytes"]


@dataclass(frozen=True)
class Quantity:
    """Something that is counted and, unless `measured` finds nothing, measured."""

    name: str
    counted: Callable[[Counted], float | None]
    measured: Callable[[Measured], float | None]


@dataclass(frozen=True)
class Measured:
    """Nsight Compute's counters of one kernel."""

    values: Mapping[str, Mapping]

    def __call__(self, *metrics: str) -> float | None:
        """The sum of those that are there, None where none is."""
        known = [self.values[metric]["value"] for metric in metrics if metric in self.values]
        return sum(known) if known else None


def _metric(*metrics: str) -> Callable[[Measured], float | None]:
    return lambda measured: measured(*metrics)


def _counted(*kinds: str, field: str) -> Callable[[Counted], float]:
    return lambda case: case.of(*kinds, field=field)


LOADS = ("global_loads", "async_copies")  # as Nsight Compute counts them
LSU = "l1tex__{}_pipe_lsu_mem_global_op_{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"
EXECUTED = {
    "shared_loads": "smsp__sass_inst_executed_op_shared_ld.sum",
    "shared_stores": "smsp__sass_inst_executed_op_shared_st.sum",
    "async_copies": "sm__sass_inst_executed_op_ldgsts.sum",
}
OPERATIONS = {"shared_loads": "ld", "shared_stores": "st", "async_copies": "ldgsts"}


def _flops(measured: Measured) -> float | None:
    ffma = measured("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")
    return None if ffma is None else 2 * ffma


def _shared(kind: str, what: str) -> tuple[Quantity, ...]:
    operation = OPERATIONS[kind]
    return (
        Quantity(f"{what} requests", _counted(kind, field="requests"), _metric(EXECUTED[kind])),
        Quantity(f"{what} wavefronts", _counted(kind, field="wavefronts"), _metric(WAVEFRONTS.format(operation))),
        Quantity(f"{what} conflicts", _counted(kind, field="conflicts"), _metric(CONFLICTS.format(operation))),
    )


GLOBAL = (
    Quantity("global load requests", _counted(*LOADS, field="requests"), _metric(LSU.format("t_requests", "ld"))),
    Quantity("global load sectors", _counted(*LOADS, field="sectors"), _metric(LSU.format("t_sectors", "ld"))),
    Quantity(
        "global store requests", _counted("global_stores", field="requests"), _metric(LSU.format("t_requests", "st"))
    ),
    Quantity(
        "global store sectors", _counted("global_stores", field="sectors"), _metric(LSU.format("t_sectors", "st"))
    ),
)
SHARED = {
    "shared_loads": _shared("shared_loads", "shared load"),
    "shared_stores": _shared("shared_stores", "shared store"),
    "async_copies": _shared("async_copies", "asynchronous copy"),
}
FLOPS = Quantity("FLOP", lambda case: case.counts.get("flops"), _flops)
L2_TO_SM = Quantity(
    "bytes from L2 to the SMs", lambda case: case.l2_to_sm_bytes, _metric("l1tex__m_xbar2l1tex_read_bytes.sum")
)
QUANTITIES = {q.name: q for q in (*GLOBAL, *(q for group in SHARED.values() for q in group), FLOPS, L2_TO_SM)}


@dataclass(frozen=True)
class Pair:
    counted: float | None
    measured: float | None

    @property
    def both(self) -> tuple[float | None, float | None]:
        return self.counted, self.measured

    @property
    def difference(self) -> float | None:
        """Of the counted from the measured one, as a fraction of it."""
        if self.counted is None or self.measured is None:
            return None
        if self.measured == 0:
            return 0.0 if self.counted == 0 else None
        return self.counted / self.measured - 1

    def within(self, bar: float) -> bool | None:
        """None where there is nothing to compare with."""
        if self.counted is None or self.measured is None:
            return None
        return self.difference is not None and abs(self.difference) <= bar


NOTHING = Pair(None, None)


@dataclass(frozen=True)
class Case:
    """One kernel at one size, counted and, where it was, measured."""

    counted: Counted
    measured: Measured

    @property
    def id(self) -> str:
        return self.counted.id

    def pair(self, quantity: str) -> Pair:
        return Pair(QUANTITIES[quantity].counted(self.counted), QUANTITIES[quantity].measured(self.measured))

    def per_request(self, kind: str, quantity: Quantity) -> Pair:
        """Wavefronts or conflicts of an access to shared memory, each side by its own requests."""
        requests, of_all = self.pair(SHARED[kind][0].name), self.pair(quantity.name)
        return Pair(ratio(of_all.counted, requests.counted), ratio(of_all.measured, requests.measured))

    @property
    def dram_measured(self) -> float | None:
        return self.measured("dram__bytes_read.sum", "dram__bytes_write.sum")

    def dram(self, schedule: str) -> Pair:
        return Pair(self.counted.dram_bytes(schedule), self.dram_measured)

    @property
    def nearest_dram(self) -> Pair:
        """Of the two schedules, the one that is nearer to what was measured."""
        pairs = [self.dram(schedule) for schedule in SCHEDULES]
        return min(pairs, key=lambda pair: abs(pair.difference or 0))

    @property
    def dram_lies_between(self) -> bool:
        """Whether what was measured is more than one schedule's and less than the other's."""
        counted = [self.counted.dram_bytes(schedule) for schedule in SCHEDULES]
        return self.dram_measured is not None and min(counted) <= self.dram_measured <= max(counted)

    def explanation(self, kind: str) -> str:
        """Why its accesses to shared memory were counted and measured differently; nothing where they were not."""
        pairs = [self.pair(quantity.name) for quantity in SHARED[kind][:2]]
        same = all(pair.within(SHARED_BAR) for pair in pairs)
        return "" if same else explanation(self.id, kind)

    def accesses(self) -> list[str]:
        """The kinds of access to shared memory that it makes."""
        return [kind for kind in SHARED if self.counted.counts[kind]["requests"]]


@dataclass(frozen=True)
class Comparison:
    """All kernels at one size."""

    size: int
    cases: tuple[Case, ...]
    contexts: tuple[dict, dict | None]  # of the counts and of the counters

    def case(self, id_: str) -> Case:
        for case in self.cases:
            if case.id == id_:
                return case
        raise ResultsError(f"nothing was counted of {id_} at {self.size}")


def load_counts(path: Path) -> tuple[Counted, ...]:
    """The counted records of a results file, in the order of the chapters."""
    if not path.exists():
        raise ResultsError(f"there is no {path}")
    counted = tuple(Counted(record) for record in load([path]) if record.outcome == "counted")
    if not counted:
        raise ResultsError(f"{path} holds no counted kernel")
    return counted


def counted_in(folder: Path) -> tuple[Counted, ...]:
    """Everything that was counted, of all files; nothing where there is no such folder."""
    return tuple(case for path in sorted(folder.glob("counts_*.json")) for case in load_counts(path))


def compare(counts_folder: Path, counters_folder: Path, size: int) -> Comparison:
    counted = [case for case in load_counts(counts_folder / counts_file(size)) if case.record.size == size]
    document = counters_of_folder(counters_folder, counters_file(size))
    kernels = document["kernels"] if document else {}
    cases = tuple(Case(case, Measured(kernels.get(case.id, {}))) for case in counted)
    return Comparison(size, cases, (counted[0].record.context, document["context"] if document else None))


# Why counts of accesses to shared memory and measurements differ.

JOINED_ALONG_K = "nvcc joins reads of A along k, four to one of 128 bits"
JOINED_COLUMNS = "nvcc joins reads of neighbouring columns, four to one of 128 bits"
JOINED_BOTH = "nvcc joins reads along k and of neighbouring columns to 128 bits"
AS_DEFAULT = "rows that do not split into fours: the default kernel runs, see there"
BUSY_BANKS = "measured: waits for banks that other traffic holds, too"
NO_COUNTER = "no counter of wavefronts"


@dataclass(frozen=True)
class Explanation:
    kind: str  # of access
    kernels: Sequence[str]
    why: str


EXPLANATIONS: tuple[Explanation, ...] = (
    Explanation(
        "shared_loads",
        ("02_smem_tiled", "02_smem_tiled:numba_mapping", "02_smem_tiled:tile16", "05_coarse_1d"),
        JOINED_ALONG_K,
    ),
    Explanation("shared_loads", ("04_smem_register_tiled",), JOINED_COLUMNS),
    Explanation("shared_loads", ("06_coarse_2d",), JOINED_BOTH),
    Explanation("shared_loads", ("06_coarse_2d:vectorized",), AS_DEFAULT),
    Explanation(
        "shared_stores",
        (
            "02_smem_tiled",
            "02_smem_tiled:tile16",
            "04_smem_register_tiled",
            "05_coarse_1d",
            "06_coarse_2d",
            "06_coarse_2d:vectorized",
        ),
        BUSY_BANKS,
    ),
    Explanation(
        "async_copies",
        ("07_warptile_hilbert", "07_warptile_hilbert:block_barrier", "07_warptile_hilbert:row_order"),
        NO_COUNTER,
    ),
)


def explanation(kernel: str, kind: str) -> str:
    return next((e.why for e in EXPLANATIONS if e.kind == kind and kernel in e.kernels), "")


# What the documents work out by hand.


@dataclass(frozen=True)
class Tile:
    """Rows and columns of C for which an element of A or B is read once."""

    rows: int
    columns: int


TILES = {
    "01_naive": Tile(1, 1),
    "01_naive:uncoalesced": Tile(1, 1),
    "02_smem_tiled": Tile(32, 32),
    "02_smem_tiled:numba_mapping": Tile(16, 16),
    "02_smem_tiled:tile16": Tile(16, 16),
    "03_smem_strip_tiled": Tile(32, 32),
    "04_smem_register_tiled": Tile(64, 16),
    "05_coarse_1d": Tile(64, 64),
    "06_coarse_2d": Tile(128, 128),
    "06_coarse_2d:vectorized": Tile(128, 128),
    "07_warptile_hilbert": Tile(128, 256),
    "07_warptile_hilbert:block_barrier": Tile(128, 256),
    "07_warptile_hilbert:row_order": Tile(128, 256),
    "08_warp_specialized": Tile(128, 256),
    "08_warp_specialized:serpentine": Tile(128, 256),
    "08_warp_specialized:tile256x192": Tile(256, 192),
    "10_tf32x3": Tile(128, 128),
    "10_tf32x3:single_sum": Tile(128, 128),
}


def expected_reads(kernel: str, m: int, n: int) -> dict[str, int]:
    """How often each element of A and of B is read: once for each tile in its rows or columns of C."""
    tile = TILES[kernel]
    return {"a": -(-n // tile.columns), "b": -(-m // tile.rows)}
