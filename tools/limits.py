"""What no kernel can beat: the limits of runner/judge/limits.hpp, from what a results file says of the GPU."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from tools import ROOT

RATES = "runner/device/rates.json"
OF_EMPTY = 0.5  # of an empty kernel's time
LEAST_HALVED = 8192


class Limit(NamedTuple):
    """The least microseconds that one product takes, and why."""

    us: float
    formula: str


@cache
def table() -> dict[str, Any]:
    return json.loads((ROOT / RATES).read_text(encoding="utf-8"))


def multiply_adds(capability: str, kind: str) -> int | None:
    """Of one multiprocessor in a cycle; None where they are not known."""
    return table()["rates"].get(capability, {}).get(kind)


def flops(record: Mapping) -> float:
    """Of one product."""
    return 2.0 * record.get("batch", 1) * record["m"] * record["n"] * record["k"]


def of_multiply_adds(record: Mapping, device: Mapping, own: bool) -> Iterator[Limit]:
    """A chapter multiplies numbers of one kind. Other kernels may reach the bound of their class in any way."""
    capability, sms, mhz = (device[name] for name in ("compute_capability", "multiprocessors", "max_sm_clock_mhz"))
    if not multiply_adds(capability, "fp16"):
        return
    gpus = (record.get("spread") or {}).get("gpus", 1)
    accuracy = record["accuracy_class"]
    ways = []
    for kind, products in table()["products"]["tf32" if accuracy == "tf32" else "fp32" if own else "file"].items():
        if (own and kind != table()["chapters"][accuracy]) or not (rate := multiply_adds(capability, kind)):
            continue
        basis = f"{sms} SMs x {rate} multiply-adds of {kind} x 2 x {mhz} MHz / {products} for each product"
        ways.append((2 * gpus * sms * rate * mhz / 1e3 / products, f"{gpus} GPUs x " * (gpus > 1) + basis))
    gflops, basis = max(ways, default=(0, ""))
    smallest, halvings = min(record["m"], record["n"], record["k"]), 3 if own and accuracy == "fp32_strassen" else 0
    while not own and smallest >= 2 * LEAST_HALVED:  # each time seven products do for eight (Strassen 1969)
        smallest, halvings = smallest // 2, halvings + 1
    if halvings:
        gflops, basis = gflops * (8 / 7) ** halvings, f"{basis} x (8/7)^{halvings}"
    if gflops:
        formula = f"{flops(record) / 1e9:.4g} GFLOP at {gflops / 1e3:.4g} TFLOP/s = {basis}"
        yield Limit(flops(record) / gflops / 1e3, formula)


def of_bytes(record: Mapping, device: Mapping, protocol: Mapping, cold: bool) -> Iterator[Limit]:
    """What is written may stay in the L2 when the clock stops, and with a warm one what is read may have been there."""
    peak = device["dram_peak_gbytes_s"]
    if record.get("spread") or not peak > 0:
        return
    m, n, k, batch = record["m"], record["n"], record["k"], record.get("batch", 1)
    c = 4.0 * batch * m * n
    read = 4.0 * batch * (m + n) * k * (protocol["alpha"] != 0) + c * (protocol["beta"] != 0)
    l2 = device["l2_bytes"]
    needed = max(0.0, read if cold else read - l2) + max(0.0, c - l2)
    what = "operands" if cold else "operands beyond the L2"
    yield Limit(needed / peak / 1e3, f"{needed / 1e6:.4g} MB of {what} over {peak:.4g} GB/s")


def limits_of(record: Mapping, context: Mapping, *, cold: bool, launches: int, own: bool) -> Iterator[Limit]:
    """The limits that are known for a product on the GPU of a results file."""
    device, protocol = context["device"], context["protocol"]
    if not device or record["platform"] != "gpu":
        return
    if protocol["alpha"] != 0:
        yield from of_multiply_adds(record, device, own)
    if protocol["time"] == "kernel":
        yield from of_bytes(record, device, protocol, cold)
    if (empty := protocol.get("empty_kernel_us")) and not record.get("spread"):
        of = f"half of an empty kernel's {empty:.3g} us over {launches} launches"
        yield Limit(OF_EMPTY * empty / launches, of)


def implausible(record: Mapping, context: Mapping, *, own: bool = False) -> str | None:
    """Why a GPU like that of the results file can not have been so fast, or None. `own` is for kernels that multiply as
    the chapters of their class do, as all chapters do."""
    own = own or record["number"] > 0
    cold = context["protocol"]["l2"] == "cold"
    timed = []
    if record["outcome"] == "measured":
        timed.append((record["time_us"]["median"], cold, record.get("launches_per_sample", 1)))
    for turns in ("energy", "sustained"):
        if turn := (record.get(turns) or {}).get("kernel"):
            timed.append((turn["launch_us"], False, turn["launches_per_batch"]))
    for us, is_cold, launches in timed:
        for limit in limits_of(record, context, cold=is_cold, launches=launches, own=own):
            if not us * table()["tolerance"] >= limit.us:
                return f"took {us:.4g} us, and at least {limit.us:.4g} us are needed: {limit.formula}"
    return None
