"""Writes one HTML file that shows results, with filters and charts that answer; it needs no network and no server.

    scripts/report.py results/nvidia-h200/*.json -o report.html
    scripts/report.py old.json new.json -o comparison.html

A folder stands for its *.json. Sweeps of several devices and boards may be given: each file stays apart, as does each
protocol (a cold L2 and a warm one, say), and files of one protocol are compared with each other. Cases of
--accuracy, --count and --check have simpler views. Verdicts of --judge become a leaderboard.

Exit status: 0 fine, 2 bad input or a missing Python package.
"""

import base64
import gzip
import html
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert

from tools import needs
from tools.plots import specs
from tools.plots.looks import CARDS, INKS, most_gained
from tools.report.data import Report, files_of, gather
from tools.results import ResultsError

FOLDER = Path(__file__).with_name("page")  # the page's template, style, scripts and views
SCRIPTS = ("data.js", "filters.js", "tables.js", "charts.js", "page.js")
MOST_BYTES = 5_000_000  # of a report
LINES = 5  # of a chart at first
FEWER_SAMPLES = (100, 30, 10, 0)  # of a case, where the report would be larger


def first_shown(report: Report) -> dict[str, Any]:
    """What a reader sees first: the protocol with most cases, and as many default variants as can be followed."""
    used = [case["protocol"] for case in report.cases if case["charted"]]
    protocol = max(dict.fromkeys(used), key=used.count, default=0)
    default = {case["name"] for case in report.cases if case["default"]} or report.looks.keys()
    defaults = [name for name in report.looks if name in default]
    best: dict[str, float] = {}
    for case in report.cases:
        if case["protocol"] == protocol and re.match(r"\d\d_", case["kernel"]) and "tflops" in case:
            best[case["name"]] = max(best.get(case["name"], 0.0), case["tflops"])
    kept = {"cuBLAS", *most_gained({name: best[name] for name in filter(best.get, defaults)}, LINES - 1)}
    kernels = [name for name in defaults if name in kept] if best and len(defaults) > LINES else defaults
    return {"protocol": protocol, "kernels": kernels, "defaults": defaults}


def thinned(case: dict, most: int) -> dict:
    """With at most so many samples of a case, evenly picked."""
    kept = dict(case)
    for name in ("samples", "rivals"):
        if len(samples := case.get(name) or ()) > most:
            kept[name] = [samples[i * len(samples) // most] for i in range(most)]
    return kept


@cache
def vega() -> str:
    """Vega-Lite and what shows it, for a script element; vl-convert brings them."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")


def packed(document: Any) -> str:
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def page(report: Report, title: str) -> str:
    """The HTML. Texts from the files are packed, and scripts alone write them into the page, as text."""
    document = {
        "title": title,
        **{name: getattr(report, name) for name in ("files", "protocols", "cases", "pairs", "looks")},
        "tables": [table._asdict() for table in report.tables],
        "first": first_shown(report),
        "charts": specs.CHARTS,
        "views": json.loads((FOLDER / "views.json").read_text(encoding="utf-8")),
        "configs": {theme: specs.config(theme) for theme in CARDS},
        "inks": INKS,
    }
    template = (FOLDER / "page.html").read_text(encoding="utf-8")
    script = "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS)
    style = (FOLDER / "page.css").read_text(encoding="utf-8")

    def filled(notes: Sequence[str]) -> str:
        texts = {"title": html.escape(title), "style": style, "vega": vega(), "script": script}
        texts["data"] = packed(document | {"notes": list(notes)})
        parts = template.split("@@")
        return "".join(texts[part] if place % 2 else part for place, part in enumerate(parts))

    text, fewer = filled(report.notes), iter(FEWER_SAMPLES)
    while len(text.encode()) > MOST_BYTES and (most := next(fewer, None)) is not None:
        document["cases"] = [thinned(case, most) for case in report.cases]
        text = filled([*report.notes, f"To keep this file small, it has at most {most} samples of each case."])
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    parser = needs.parser(__doc__)
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="results files or folders of them")
    parser.add_argument("-o", "--out", type=Path, default=Path("report.html"), help="the report (default: %(default)s)")
    options = parser.parse_args(arguments)
    with needs.stopping(ResultsError, OSError):
        report = gather(files_of(options.results))
        if options.out.is_dir():
            raise ResultsError(f"{options.out} is a folder: the report needs a file")
        measured_on = [case["device"] for case in report.cases if case["platform"] == "gpu"]
        devices = ", ".join(dict.fromkeys([*measured_on, *report.judged_on])) or "the CPU"
        options.out.write_text(page(report, f"SGEMM on {devices}"), encoding="utf-8")
        print(options.out)
    return 0
