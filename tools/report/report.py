"""Writes one HTML file that shows results, with filters and charts that answer; it needs no network and no server.

    scripts/report.py results/nvidia-h200/*.json -o report.html
    scripts/report.py old.json new.json -o comparison.html --images charts

A folder stands for its *.json. Sweeps of several devices and boards may be given: each file stays apart, as does each
protocol (a cold L2 and a warm one, say), and files of one protocol are compared with each other. Files of other kinds
have simpler views: --accuracy, --count, executed cases, counters of tools/counters.py, programs, tuning. Verdicts of
--judge become a leaderboard.

--images draws the charts that the report shows first as PNG and SVG as well, from the same definitions.

Exit status: 0 fine, 2 bad input or a missing Python package.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import html
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import vl_convert

from tools import needs
from tools.fleet import Spread
from tools.report import charts as report_charts
from tools.report.data import CARDS, GREYS, GRIDS, INKS, Report, files_of, gather
from tools.results import ResultsError

FOLDER = Path(__file__).with_name("page")  # the page's template, style and scripts
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


def of_one_problem(cases: Sequence[dict], usual: str = "") -> list[dict]:
    """The cases of the usual problem, or else of the largest."""
    largest = max(cases, key=lambda case: case["m"] * case["n"] * case["k"], default={}).get("problem")
    chosen = usual if any(case["problem"] == usual for case in cases) else largest
    return [case for case in cases if case["problem"] == chosen]


def moments_of(cases: Sequence[dict]) -> list[dict]:
    """The moments of sustained cases, those of a case's two turns on lines of their own."""
    return [
        moment
        | {name: case[name] for name in ("name", "problem", "source")}
        | {"line": f"{case['id']} {moment['turn']}"}
        for case in of_one_problem(cases)
        for moment in case["moments"]
    ]


def over_files(cases: Sequence[dict]) -> list[dict]:
    """The cases that several files of a device have: the median of their speeds, and the range. As in fleet.py, the CPU
    beside a GPU is no part of its board."""
    groups: dict[tuple, list[dict]] = {}
    for case in (case for case in cases if "beside_gpu" not in case):
        groups.setdefault((case["device"], case["case"]), []).append(case)
    rows = []
    for (device, _), group in groups.items():
        files = len({case["file"] for case in group})
        speeds = [case["tflops"] for case in group]
        hot = any(case["throttled"] for case in group)
        spread = Spread(median(speeds), min(speeds), max(speeds), files, hot)
        about = {name: group[0][name] for name in ("name", "problem", "side") if name in group[0]}
        about |= {"source": device, "group": f"{device} {group[0]['kernel']}"}
        if files > 1:
            rows.append(about | spread._asdict() | {"spread": 100 * spread.relative})
    return rows


# The charts that are drawn as images: the field that a case needs, and what is drawn of these cases. The page has the
# same in page/page.js, where filters change the cases.
IMAGES: dict[str, tuple[str, Callable[[Sequence[dict]], list[dict]]]] = {
    "relative": ("of", list),
    "absolute": ("tflops", list),
    "error": ("written_err", partial(of_one_problem, usual="4096")),
    "energy": ("gflop_per_joule", list),
    "sustained": ("moments", moments_of),
    "boards": ("tflops", over_files),
    "spread": ("tflops", over_files),
    "roofline": ("intensity", list),
}


def first_drawn(report: Report, view: str) -> tuple[str, list[dict]]:
    """What a view shows first, below a title that tells the protocol, and the problem where all is of one. The protocol
    is the page's, or the first one that has something for the view."""
    usual, kernels = first_shown(report)
    needed, drawn = IMAGES[view]
    cases = [case for case in report.cases if case["name"] in kernels and needed in case]
    for protocol in sorted(range(len(report.protocols)), key=lambda protocol: protocol != usual):
        if rows := drawn([case for case in cases if case["protocol"] == protocol]):
            problems = {row["problem"] for row in rows}
            return report.protocols[protocol] + (f", M × N × K {problems.pop()}" if len(problems) == 1 else ""), rows
    return "", []


def images(report: Report, folder: Path) -> Iterator[Path]:
    """Draws PNG and SVG of the charts that the page shows first, in the light theme, into a folder that is there."""
    config = report_charts.config(INKS["light"], GRIDS["light"], GREYS["light"]) | {"background": CARDS["light"]}
    for view in IMAGES:
        text, rows = first_drawn(report, view)
        title = {"text": text, "anchor": "start", "fontSize": 12, "fontWeight": 500, "color": INKS["light"]}
        forms = {"over_size": [row for row in rows if "side" in row]}
        forms["by_shape"] = [row for row in rows if "side" not in row]
        for form, quantity in report_charts.OVER_TIME.items():
            forms[form] = [row for row in rows if quantity.field in row]
        for form, spec in report_charts.CHARTS[view].items():
            if shown := forms.get(form, rows):
                spec = report_charts.fill(spec, shown, report.looks, "light", INKS["light"], roofs=report.roofs)
                spec |= {"config": config, "title": title}
                path = folder / f"{view}_{form}.png"
                path.write_bytes(vl_convert.vegalite_to_png(spec, scale=2))
                yield path
                path = path.with_suffix(".svg")
                path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
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
        devices |= dict.fromkeys(report.judged_on)
        if options.out.is_dir():
            raise ResultsError(f"{options.out} is a folder: the report needs a file")
        if options.images:
            needs.make_folder(options.images, "the images")
        title = options.title or f"SGEMM on {', '.join(devices) or 'the CPU'}"
        options.out.write_text(page(report, title), encoding="utf-8")
        print(options.out)
        for path in images(report, options.images) if options.images else ():
            print(path)
    except (ResultsError, OSError) as error:
        needs.stop(error)
    return 0
