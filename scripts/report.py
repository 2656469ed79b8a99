#!/usr/bin/env python3
"""Writes one HTML file that shows results, with filters and charts that answer; it needs no network and no server.

    scripts/report.py results/nvidia-h200/*.json -o report.html
    scripts/report.py old.json new.json -o comparison.html --images charts

A folder stands for its *.json. Sweeps of several devices and boards may be given: each file stays apart, as does each
protocol (a cold L2 and a warm one, say), and files of one protocol are compared with each other. Files of other kinds
have simpler views: --accuracy, --count, executed cases, counters of scripts/counters.py, programs, tuning.

--images draws the charts that the report shows first as PNG and SVG as well, from the same definitions.

Exit status: 0 fine, 2 bad input or a missing Python package.
"""

from __future__ import annotations

import needs

# isort: split
import argparse
import base64
import gzip
import html
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert

import report_charts
from report_data import CARDS, GREYS, GRIDS, INKS, Report, files_of, gather
from results import ResultsError

FOLDER = Path(__file__).parent / "report"  # the page's template, style and scripts
SCRIPTS = ("data.js", "filters.js", "tables.js", "charts.js", "page.js")
MOST_BYTES = 5_000_000  # of a report
FEWER_SAMPLES = (100, 30, 10, 0)  # of a case, where the report would be larger


def first_shown(report: Report) -> tuple[int, list[str]]:
    """The protocol and the kernels that a reader sees first: the one with most cases, and default variants."""
    used = [case["protocol"] for case in report.cases if case["charted"]]
    default = {case["name"] for case in report.cases if case["default"]} or report.looks.keys()
    return max(dict.fromkeys(used), key=used.count, default=0), [name for name in report.looks if name in default]


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
    protocol, kernels = first_shown(report)
    configs = {t: report_charts.config(INKS[t], GRIDS[t], GREYS[t]) for t in CARDS}
    document = {
        "title": title,
        **{name: getattr(report, name) for name in ("files", "protocols", "cases", "pairs", "roofs", "looks")},
        "tables": [vars(table) for table in report.tables],
        "first": {"protocol": protocol, "kernels": kernels},
        "charts": report_charts.CHARTS,
        "configs": configs,
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

    text = filled(report.notes)
    for most in FEWER_SAMPLES:
        if len(text.encode()) <= MOST_BYTES:
            break
        document["cases"] = [thinned(case, most) for case in report.cases]
        text = filled([*report.notes, f"To keep this file small, it has at most {most} samples of each case."])
    return text


# The charts that are drawn as images, with the field that a case needs for each.
IMAGES = {"relative": "of", "absolute": "tflops", "error": "err", "energy": "gflop_per_joule", "roofline": "intensity"}


def images(report: Report, folder: Path) -> Iterator[Path]:
    """Draws PNG and SVG of the charts that the page shows first, in the light theme."""
    protocol, kernels = first_shown(report)
    rows = [case for case in report.cases if case["protocol"] == protocol and case["name"] in kernels]
    config = report_charts.config(INKS["light"], GRIDS["light"], GREYS["light"]) | {"background": CARDS["light"]}
    folder.mkdir(parents=True, exist_ok=True)
    for view, name in IMAGES.items():
        shown = [row for row in rows if name in row]
        squares = [row for row in shown if "side" in row]
        forms = {"over_size": squares, "by_shape": [row for row in shown if "side" not in row], "scatter": shown}
        for form, spec in report_charts.CHARTS[view].items():
            if forms[form]:
                spec = report_charts.fill(spec, forms[form], report.looks, "light", INKS["light"], roofs=report.roofs)
                path = folder / f"{view}_{form}.png"
                path.write_bytes(vl_convert.vegalite_to_png(spec | {"config": config}, scale=2))
                yield path
                path = path.with_suffix(".svg")
                path.write_text(vl_convert.vegalite_to_svg(spec | {"config": config}), encoding="utf-8")
                yield path


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help="results files or folders of them")
    parser.add_argument("-o", "--out", type=Path, default=Path("report.html"), help="the report (default: %(default)s)")
    parser.add_argument("--title", help="its title (default: the devices)")
    parser.add_argument("--images", type=Path, metavar="FOLDER", help="draws the charts as PNG and SVG as well")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        report = gather(files_of(options.results))
        devices = dict.fromkeys(case["device"] for case in report.cases if case["platform"] == "gpu")
        title = options.title or f"SGEMM on {', '.join(devices) or 'the CPU'}"
        options.out.write_text(page(report, title), encoding="utf-8")
        print(options.out)
        for path in images(report, options.images) if options.images else ():
            print(path)
    except (ResultsError, OSError) as error:
        needs.stop(error)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
