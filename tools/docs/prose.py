"""Measured numbers in prose: markers that tools.docs.tables fills in.

    12 runs at <!--= tflops.12.4096 -->228<!--/--> TFLOP/s.

A marker names a value of values.py, which stands between the marker and its end, all on one line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tools.docs.values import Values
from tools.results import ResultsError

MARKER = re.compile(r"<!--=((?:(?!<!--|-->).)*)-->((?:(?!<!--).)*)<!--/-->")
BEGINS_LINE = re.compile(r"[ \t>]*(?:[-*+] +|\d+[.)] +)*<!--=")


class Filled(NamedTuple):
    """A page with the values that its markers come to. What changes or is wrong begins with the number of its line."""

    text: str
    changes: list[str]
    problems: list[str]


def fill(text: str, values: Values) -> Filled:
    changes, problems = [], []

    def filled(number: int, line: str) -> str:
        def written(marker: re.Match) -> str:
            name, stands = marker[1].strip(), marker[2]
            try:
                value = values.written(name)
            except ResultsError as error:
                problems.append(f"{number}: {name}: {error}")
                return marker[0]
            if stands != value:
                changes.append(f"{number}: {name} is {value}, the page says {stands}")
            return f"<!--={marker[1]}-->{value}<!--/-->"

        if re.search("<!--[=/]", MARKER.sub("", line)):
            problems.append(f"{number}: a marker without its end <!--/--> on the line, or an end without a marker")
        if BEGINS_LINE.match(line):
            problems.append(f"{number}: a line can not begin with a marker: Markdown takes it all as HTML")
        return MARKER.sub(written, line)

    lines = [filled(number, line) for number, line in enumerate(text.split("\n"), 1)]
    return Filled("\n".join(lines), changes, problems)
