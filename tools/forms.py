"""How numbers are written, in tables and in prose."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from math import isnan

from tools.counters import FIGURES
from tools.results import size_text

Form = Callable[[float], str]

STALLS_SHOWN = 4


def maybe(form: Form, value: float | dict | None) -> str:
    return "" if value is None or (isinstance(value, float) and isnan(value)) else form(value)


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


percent = "{:.1f} %".format
whole = "{:.0f}".format
tenths = "{:.1f}".format
hundredths = "{:.2f}".format


def plain(value: float) -> str:
    return whole(value) if value == int(value) else f"{value:g}"


def error_size(value: float) -> str:
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def in_units(value: float, units: Sequence[tuple[float, str]], digits: int = 3) -> str:
    for limit, unit in units:
        if abs(value) >= limit:
            return f"{significant(value / limit, digits)} {unit}"
    return significant(value, digits)


duration = partial(in_units, units=((1e6, "s"), (1e3, "ms"), (1, "µs")), digits=4)  # of microseconds
joules = partial(in_units, units=((1, "J"), (1e-3, "mJ"), (1e-6, "µJ")))
count = partial(in_units, units=((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")))  # 1234567 as 1.23 M


def plain_count(value: float) -> str:
    """Few as they are, many in short."""
    return f"{value:g}" if value < 10_000 and value == int(value) else count(value)


def in_bytes(value: float) -> str:
    return f"{count(value)}B"


def mebibytes(bytes_: float) -> str:
    return f"{bytes_ / 2**20:,.0f} MiB".replace(",", " ")


def shape_text(shape: tuple) -> str:
    """ "4096", "4096 x 128 x 64", "96 x 512 x 512 x 64:tn"."""
    return f"{shape[0]}" if len(set(shape)) == 1 else size_text(shape).replace("x", " x ")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, text_last: bool = False) -> str:
    """A Markdown table; the first `left` columns are text and, with `text_last`, the last one, the others numbers."""
    is_text = [column < left or (text_last and column == len(head) - 1) for column in range(len(head))]
    rule = ["---" if text else "---:" for text in is_text]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *rows])


def runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    """[1, 2, 3, 5] as [1, 2, 3] and [5]."""
    for _, group in groupby(enumerate(sorted(numbers)), key=lambda pair: pair[1] - pair[0]):
        yield [number for _, number in group]


def chapters_name(numbers: Iterable[int]) -> Iterator[str]:
    """[1, 2, 3, 5] as "01 to 03" and "05"; two neighbours stay two."""
    for run in runs(numbers):
        yield from [f"{run[0]:02d} to {run[-1]:02d}"] if len(run) > 2 else (f"{number:02d}" for number in run)


def stalls(warps: dict[str, float]) -> str:
    """The reasons for which most warps wait, most first as in the file; "selected" is none."""
    waiting = [item for item in warps.items() if item[0] != "selected"][:STALLS_SHOWN]
    return ", ".join(f"{reason.replace('_', ' ')} {significant(value, 2)}" for reason, value in waiting)


# The forms that rows of counters name.
NAMED_FORMS: dict[str, Callable] = {
    "duration": duration,
    "significant": significant,
    "percent": percent,
    "count": count,
    "bytes": in_bytes,
    "MHz": "{:.0f} MHz".format,
    "stalls": stalls,
}

# Titles, fields of counters.json and forms.
COUNTER_ROWS = [(title, field, NAMED_FORMS[form]) for title, field, form, *_ in FIGURES["rows"]]
