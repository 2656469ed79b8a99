"""How numbers are written, in tables and in prose."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

Form = Callable[[float], str]


def maybe(form: Form, value: float | None) -> str:
    return "" if value is None or pd.isna(value) else form(value)


def significant(value: float, digits: int = 3) -> str:
    """Fixed notation with so many significant digits, all digits before the point."""
    if value == 0:
        return "0"
    text = f"{value:#.{digits}g}"
    if "e" in text:
        text = f"{value:.0f}" if abs(value) >= 1 else f"{value:.{digits}f}"
    return text.rstrip(".")


def share(value: float | None) -> str:
    return maybe(lambda v: f"{100 * v:.1f} %", value)


def percent(value: float) -> str:
    return f"{value:.1f} %"


def whole(value: float) -> str:
    return f"{value:.0f}"


def hundredths(value: float) -> str:
    return f"{value:.2f}"


def error_size(value: float) -> str:
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def in_units(value: float, units: Sequence[tuple[float, str]], digits: int = 3) -> str:
    for limit, unit in units:
        if abs(value) >= limit:
            return f"{significant(value / limit, digits)} {unit}"
    return significant(value, digits)


def duration(microseconds: float) -> str:
    return in_units(microseconds, ((1e6, "s"), (1e3, "ms"), (1, "µs")), 4)


def count(value: float) -> str:
    """1234567 as 1.23 M."""
    return in_units(value, ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")))


def plain_count(value: float) -> str:
    """Few as they are, many in short."""
    return f"{value:g}" if value < 10_000 and value == int(value) else count(value)


def in_bytes(value: float) -> str:
    return f"{count(value)}B"


def mebibytes(bytes_: float) -> str:
    return f"{bytes_ / 2**20:,.0f} MiB".replace(",", " ")


def shape_text(shape: tuple[int, int, int]) -> str:
    return " x ".join(map(str, dict.fromkeys(shape) if len(set(shape)) == 1 else shape))


# Titles, fields of counters.json and forms.
COUNTER_ROWS: tuple[tuple[str, str, Form], ...] = (
    ("time under the profiler", "time_us", duration),
    ("TFLOP/s", "tflops", significant),
    ("FMA pipe busy", "fma_pipe_percent", percent),
    ("tensor cores busy", "tensor_pipe_percent", percent),
    ("SM clock", "sm_clock_mhz", lambda v: f"{v:.0f} MHz"),
    ("issue slots busy", "issue_slots_busy_percent", percent),
    ("FFMA among all instructions", "ffma_percent_of_instructions", percent),
    ("achieved occupancy", "achieved_occupancy_percent", percent),
    ("DRAM bytes", "dram_bytes", in_bytes),
    ("DRAM throughput", "dram_gbytes_s", lambda v: f"{significant(v)} GB/s"),
    ("FLOP per DRAM byte", "flop_per_dram_byte", significant),
    ("bytes from L2 to the SMs", "l2_to_sm_bytes", in_bytes),
    ("FLOP per byte from L2", "flop_per_l2_to_sm_byte", significant),
    ("bytes looked up in L2", "l2_bytes", in_bytes),
    ("L2 hit rate", "l2_hit_percent", percent),
    ("L1 hit rate", "l1_hit_percent", percent),
    ("global load requests", "global_load_requests", count),
    ("sectors per global load request", "global_load_sectors_per_request", significant),
    ("sectors per global store request", "global_store_sectors_per_request", significant),
    ("asynchronous copies among global loads", "async_copy_percent_of_loads", percent),
    ("wavefronts per shared load", "shared_load_wavefronts_per_request", significant),
    ("wavefronts per shared store", "shared_store_wavefronts_per_request", significant),
    ("wavefronts per asynchronous copy", "async_copy_wavefronts_per_request", significant),
    ("bank conflicts, shared loads", "shared_load_bank_conflicts", count),
    ("bank conflicts, shared stores", "shared_store_bank_conflicts", count),
    ("bank conflicts, asynchronous copies", "async_copy_bank_conflicts", count),
    ("data pipe of L1 and shared memory busy", "shared_pipe_percent", percent),
)
