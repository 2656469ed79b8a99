"""What the executor counted (`runner --device cpu --count`), and the same quantities as Nsight Compute measured them.

The counts are those of the source: every access that it makes is one. The GPU executes what nvcc made of it, which may
join accesses to neighbouring addresses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tools import counters
from tools.counters import ratio
from tools.forms import Form, count, hundredths, in_bytes, plain_count, significant
from tools.results import COUNTERS_FILE, ResultsError, Row, load, load_counters, pick, rows_of

USUAL_SIZE = 4096  # of counters.json; files of other sizes bear theirs in their names
FLOAT_BYTES = 4
SCHEDULES = ("in_step", "in_turn")
GLOBAL_BAR = 0.02  # how far a count of global memory may be from the measured one
DRAM_BAR = 0.25  # how far the bytes from DRAM may be, where the matrices are larger than the L2


def counts_file(size: int) -> str:
    return f"counts_{size}.json"


class Pair(NamedTuple):
    counted: float | None
    measured: float | None

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


class Quantity(NamedTuple):
    """A field of the counts, summed over kinds of access, and the metric that measures the same."""

    kinds: tuple[str, ...]
    field: str
    metric: str
    factor: int = 1  # from what is measured to what is counted


LOADS = ("global_loads", "async_copies")  # as Nsight Compute counts them
GLOBAL = {
    "global load requests": Quantity(LOADS, "requests", counters.PLAIN["global_load_requests"]),
    "global load sectors": Quantity(LOADS, "sectors", counters.LOAD_SECTORS),
    "global store requests": Quantity(("global_stores",), "requests", counters.STORE_REQUESTS),
    "global store sectors": Quantity(("global_stores",), "sectors", counters.STORE_SECTORS),
}
# Kinds of access to shared memory: what each is called, and its requests, wavefronts and conflicts.
SHARED = {
    kind: (
        what,
        Quantity((kind,), "requests", executed),
        Quantity((kind,), "wavefronts", counters.WAVEFRONTS.format(operation)),
        Quantity((kind,), "conflicts", counters.CONFLICTS.format(operation)),
    )
    for kind, what, (executed, operation) in (
        ("shared_loads", "shared load", counters.SHARED["shared_load"]),
        ("shared_stores", "shared store", counters.SHARED["shared_store"]),
        ("async_copies", "asynchronous copy", counters.SHARED["async_copy"]),
    )
}
FLOPS = Quantity((), "flops", counters.PLAIN["ffma"], 2)


@dataclass(frozen=True)
class Case:
    """One kernel on one problem: what was counted, and the metrics of Nsight Compute where it was measured."""

    row: Row
    metrics: Mapping[str, Mapping]

    @property
    def kernel(self) -> str:
        return self.row.kernel

    @property
    def counts(self) -> dict:
        if not isinstance(self.row.counts, dict):
            raise ResultsError(f"{self.row.name} has no counts")
        return self.row.counts

    @property
    def launches(self) -> list[dict]:
        """The counts of each launch; those of the kernel where it makes only one."""
        return self.counts.get("launches", [self.counts])

    @property
    def lines(self) -> list[dict]:
        """The counts of source lines, of one launch after the other."""
        return [line for launch in self.launches for line in launch["lines"]]

    @property
    def exceeds_l2(self) -> bool:
        m, n, k = self.row.shape
        return FLOAT_BYTES * (m * k + k * n + m * n) > self.counts["gpu_model"]["l2_bytes"]

    def of(self, *kinds: str, field: str) -> float:
        """The sum of a field of several kinds of access."""
        return sum(self.counts[kind][field] for kind in kinds)

    def measured(self, *metrics: str, factor: int = 1) -> float | None:
        """The sum of those that are there, None where none is."""
        known = [self.metrics[metric]["value"] for metric in metrics if metric in self.metrics]
        return sum(known) * factor if known else None

    def pair(self, quantity: Quantity) -> Pair:
        counted = self.of(*quantity.kinds, field=quantity.field) if quantity.kinds else self.counts.get(quantity.field)
        return Pair(counted, self.measured(quantity.metric, factor=quantity.factor))

    def per_request(self, kind: str, quantity: Quantity) -> Pair:
        """Wavefronts or conflicts of an access to shared memory, each side by its own requests."""
        requests, of_all = self.pair(SHARED[kind][1]), self.pair(quantity)
        return Pair(*map(ratio, of_all, requests))

    def dram(self, schedule: str) -> Pair:
        traffic = self.counts["l2"][schedule]
        counted = traffic["dram_read_bytes"] + traffic["dram_written_bytes"]
        return Pair(counted, self.measured(*counters.DRAM))

    @property
    def nearest_dram(self) -> Pair:
        """The schedule of the two that is nearer to what was measured."""
        return min(map(self.dram, SCHEDULES), key=lambda pair: abs(pair.difference or 0))

    @property
    def dram_lies_between(self) -> bool:
        """Whether what was measured is more than one schedule's and less than the other's."""
        (first, measured), (second, _) = map(self.dram, SCHEDULES)
        return measured is not None and min(first, second) <= measured <= max(first, second)


@dataclass(frozen=True)
class Comparison:
    """All kernels at one size."""

    size: int
    cases: tuple[Case, ...]
    counters_context: dict | None

    def case(self, kernel: str) -> Case:
        if found := next((case for case in self.cases if case.kernel == kernel), None):
            return found
        raise ResultsError(f"nothing was counted of {kernel} at {self.size}")


def load_counts(path: Path, measured: dict | None = None) -> tuple[Case, ...]:
    """The counted kernels of a results file, in the order of the chapters, beside their counters."""
    kernels = measured["kernels"] if measured else {}
    rows = rows_of(pick(load([path]), "counted"))
    if not (cases := tuple(Case(row, kernels.get(row.kernel, {})) for row in rows)):
        raise ResultsError(f"{path} holds no counted kernel")
    return cases


def compare(counts_folder: Path, counters_folder: Path, size: int) -> Comparison:
    path = counters_folder / (COUNTERS_FILE if size == USUAL_SIZE else f"counters_{size}.json")
    document = load_counters(path) if path.exists() else None
    cases = load_counts(counts_folder / counts_file(size), document)
    squares = tuple(case for case in cases if case.row.side == size)
    return Comparison(size, squares, document["context"] if document else None)


def quantities(case: Case) -> dict[str, tuple[Pair, Form]]:
    """What was counted and measured of a kernel, by title, each with how it is written."""
    found: dict[str, tuple[Pair, Form]] = {}
    for array in ("a", "b"):
        times = case.counts["reads_per_element"][array]
        found[f"times each element of {array.upper()} is read"] = Pair(times, None), plain_count
    asked = case.of("global_loads", "global_stores", "async_copies", field="bytes")
    m, n, _ = case.row.shape
    found["bytes asked of global memory per element of C"] = Pair(asked / (m * n), None), plain_count
    for what in ("global load", "global store"):
        requests, sectors = (case.pair(GLOBAL[f"{what} {field}"]) for field in ("requests", "sectors"))
        found[f"{what} requests"] = requests, count
        found[f"sectors per {what} request"] = Pair(*map(ratio, sectors, requests)), significant
    for kind, (what, requests, wavefronts, conflicts) in SHARED.items():
        made, none = case.counts[kind]["requests"] > 0, Pair(None, None)
        found[f"{what} requests"] = case.pair(requests) if made else none, count
        found[f"wavefronts per {what}"] = case.per_request(kind, wavefronts) if made else none, hundredths
        found[f"conflicts per {what}"] = case.per_request(kind, conflicts) if made else none, hundredths
    found["arrivals of a warp at a barrier"] = Pair(case.counts["barriers"], None), count
    found["FLOP"] = case.pair(FLOPS), count
    read = case.counts["l2"]["in_step"]["read_bytes"]  # in turn it is the same
    found["bytes from L2 to the SMs"] = Pair(read, case.measured(counters.PLAIN["l2_to_sm_bytes"])), in_bytes
    for schedule in SCHEDULES:
        found[f"DRAM bytes, blocks {schedule.replace('_', ' ')}"] = case.dram(schedule), in_bytes
    return found


def expected_reads(tile: tuple[int, int], m: int, n: int) -> dict[str, int]:
    """How often each element of A and of B is read, worked out by hand: once for each tile in its rows or columns of
    C. A tile is given by the rows and columns of C for which an element is read once."""
    rows, columns = tile
    return {"a": -(-n // columns), "b": -(-m // rows)}
