"""libsgemm_cublas.so, the drop-in for cuBLAS, in this process: its functions, and its table of calls."""

import ctypes
import functools
from collections.abc import Iterable
from ctypes import CFUNCTYPE, c_char_p, c_int, c_int64, c_size_t
from dataclasses import dataclass, fields

from . import library

OFF, UNSET = -1, -2
ACCURACIES = {**library.ACCURACIES, "cublas": OFF}
CURRENT_TASK = CFUNCTYPE(c_int)
number_of = functools.partial(library.number_of, known=ACCURACIES)


@functools.cache
def load() -> ctypes.CDLL:
    """Loads the drop-in once, or takes that of LD_PRELOAD. Raises LibraryNotFound."""
    try:
        return declared(ctypes.CDLL(None if is_preloaded() else library.drop_in_path()))
    except (OSError, AttributeError) as error:
        if isinstance(error, library.LibraryNotFound):
            raise
        raise library.LibraryNotFound(f"the drop-in for cuBLAS can not be loaded: {error}") from None


def is_preloaded() -> bool:
    """Whether the program was started with the drop-in in LD_PRELOAD."""
    return hasattr(ctypes.CDLL(None), "sgemm_drop_in_attach")


def declared(drop_in: ctypes.CDLL) -> ctypes.CDLL:
    return library.declare(
        drop_in,
        "sgemm_drop_in_",
        ("attach", c_int, c_char_p),
        ("detach", None, c_char_p),
        ("set_accuracy", None, c_int),
        ("enter", c_int64, c_int),
        ("leave", None, c_int64),
        ("set_tasks", None, CURRENT_TASK),
        ("set_task_accuracy", None, c_int, c_int),
        ("accuracy", c_int),
        ("set_log", None, c_int),
        ("set_repeatable", None, c_int),
        ("table", c_size_t, c_char_p, c_size_t),
        ("clear_table", None),
    )


@dataclass(frozen=True)
class Calls:
    """The calls of one shape that went the same way. Matrices are column-major, as in cuBLAS. Times are those of one
    call on the GPU in microseconds, and 0 where they are not known."""

    calls: int
    timed: int
    measured_us: float
    predicted_us: float
    cublas_us: float  # a lower bound of cuBLAS's time
    function: str
    ops: str
    m: int
    n: int
    k: int
    batch: int
    by: str
    why: str

    @property
    def us(self) -> float:
        return self.measured_us or self.predicted_us

    @property
    def saved_ms(self) -> float:
        """What all calls saved at least, or 0 where that is not known."""
        return self.calls * (self.cublas_us - self.us) / 1e3 if self.us and self.cublas_us else 0.0


def calls() -> list[Calls]:
    """The calls that were noted, those that take the longest first."""
    drop_in = load()
    size = drop_in.sgemm_drop_in_table(None, 0)
    while True:
        text = ctypes.create_string_buffer(size + 1)
        written = drop_in.sgemm_drop_in_table(text, size + 1)
        if written <= size:
            break
        size = written  # calls came in between
    lines = text.value.decode().splitlines()
    types = [field.type for field in fields(Calls)]
    noted = [Calls(*(of(x) for of, x in zip(types, line.split("\t"), strict=True))) for line in lines]
    return sorted(noted, key=lambda line: -line.calls * line.us)


def table(noted: Iterable[Calls]) -> str:
    """A table for people, with what the calls saved in its last line."""
    noted = list(noted)
    if not noted:
        return "No products yet."
    lines = [
        f"{'calls':>8} {'us':>9} {'cuBLAS us':>9} {'saved ms':>9}  {'function':26} {'ops':3} "
        f"{'m':>7} {'n':>7} {'k':>7} {'batch':>6}  {'by':16} why"
    ]
    for line in noted:
        us = f"{line.us:.1f}{' ' if line.timed else '~'}" if line.us else ""
        cublas = f"{line.cublas_us:.0f}" if line.cublas_us else ""
        saved = f"{line.saved_ms:.1f}" if line.saved_ms else ""
        lines.append(
            f"{line.calls:8} {us:>9} {cublas:>9} {saved:>9}  {line.function:26} {line.ops:3} "
            f"{line.m:7} {line.n:7} {line.k:7} {line.batch:6}  {line.by:16} {line.why}"
        )
    total = sum(line.calls for line in noted)
    by_library = sum(line.calls for line in noted if line.by != "cublas")
    saved = sum(line.saved_ms for line in noted)
    lines.append(
        f"{by_library} of {total} calls by libsgemm, which saved some {saved:.0f} ms on the GPU. "
        "A time with ~ and that of cuBLAS are predictions."
    )
    return "\n".join(lines)
