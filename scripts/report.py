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
import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import vl_convert

import report_charts
from compare import case_name, compare
from fleet import count, device_name, is_results
from forms import error_size, shape_text, share, significant
from plot import LIBRARIES, MUTED, color_of, is_of_file, short_name, title_of
from results import PROTOCOL, ResultsError, Row, is_counters, load, protocol_differences, read_json

FOLDER = Path(__file__).parent / "report"  # the page's template, style and scripts
SCRIPTS = ("data.js", "filters.js", "tables.js", "charts.js", "page.js")
MOST_BYTES = 5_000_000  # of a report
FEWER_SAMPLES = (100, 30, 10, 0)  # of a case, where the report would be larger
MOST_PAIRS = 10  # of files that are compared with each other

CARDS = {"light": "#ffffff", "dark": "#161b22"}
INKS = {"light": "#1f2328", "dark": "#e6edf3"}
GRIDS = {"light": "#e3e6ea", "dark": "#30363d"}
GREYS = {"light": "#59636e", "dark": "#9198a1"}
CONTRAST = 3.0  # of a point or a line against the card, which WCAG 2 asks of graphics
# For kernels that have no colour of their own, such as those of a .cu file.
OTHERS = ("#0969da", "#bf3989", "#1a7f37", "#bc4c00", "#8250df", "#9a6700", "#cf222e", "#0e7490")


@dataclass(frozen=True)
class Table:
    """A simple view: rows of texts and numbers under a title."""

    title: str
    text: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass
class Report:
    """What the page shows. `cases` are rows of the charts, in plain JSON values."""

    files: list[dict] = field(default_factory=list)
    protocols: list[str] = field(default_factory=list)
    cases: list[dict] = field(default_factory=list)
    pairs: list[dict] = field(default_factory=list)
    roofs: list[dict] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    colors: dict[str, dict[str, str]] = field(default_factory=dict)


def plain(value: Any) -> Any:
    """A value of a table as JSON has it: None for what is missing, floats with six digits."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.6g}")
    return value


def short_names(paths: Sequence[Path]) -> list[str]:
    """As many of the last parts of each path as tell it from the others."""
    names = []
    for path in paths:
        parts = path.with_suffix("").parts
        for length in range(1, len(parts) + 1):
            tail = parts[-length:]
            if sum(other.with_suffix("").parts[-length:] == tail for other in paths) == 1:
                break
        names.append("/".join(tail))
    return names


def name_of(row: Row) -> str:
    name = short_name(row) if is_of_file(row) else title_of(row)
    return f"{name} on {row.gpus} GPUs" if row.gpus > 1 else name


def protocol_key(context: dict) -> tuple:
    return tuple(str(context["protocol"].get(name)) for name in PROTOCOL if name != "verify")


def protocol_title(context: dict, others: Iterable[dict]) -> str:
    """ "cold L2, kernel time, uniform data, beta 0", and what else differs from the other files' protocol."""
    protocol = context["protocol"]
    data = protocol.get("data", "unknown")
    parts = [f"{protocol['l2']} L2", f"{protocol['time']} time"]
    parts += [f"{data if isinstance(data, str) else 'all kinds of'} data", f"beta {protocol.get('beta', 0):g}"]
    shown = ("l2", "time", "data", "beta", "verify")
    for name in PROTOCOL:
        if name not in shown and protocol_differences({"": protocol, **{f"{i}": o for i, o in enumerate(others)}}, [name]):
            parts.append(f"{name} {protocol.get(name)}")
    return ", ".join(parts)


def energy_of(row: Row) -> dict:
    """What a turn of one kernel without pauses told of energy; empty where the file has none."""
    energy = getattr(row, "energy", None)
    turn = energy.get("kernel") if isinstance(energy, dict) else None
    if not isinstance(turn, dict):
        return {}
    return {
        "joules": turn.get("joules_per_product"),
        "gflops_per_watt": turn.get("gflops_per_watt"),
        "energy_watts": turn.get("watts"),
        "energy_mhz": (turn.get("trace") or {}).get("mean_sm_clock_mhz"),
        "no_energy": turn.get("no_energy"),
    }


def telemetry_of(row: Row) -> dict:
    """Power and clock as the GPU reported them once, after the samples."""
    end = row.telemetry["end"] if isinstance(row.telemetry, dict) else {}
    reasons = ", ".join(end.get("throttle_reasons", ())).replace("_", " ")
    return {
        "watts": end.get("power_w"),
        "mhz": end.get("sm_clock_mhz"),
        "why_throttled": reasons if row.throttled is True else None,
    }


def case_of(row: Row, file: int, source: str, protocol: int) -> dict:
    """A case as the page has it. Ratios to cuBLAS are in percent, and fields that are missing are absent.

    The interval of a speed is that of its time. Few samples support none, so theirs is a range; `few` says how many.
    """
    m, n, k = row.shape
    case = {
        "file": file,
        "source": source,
        "protocol": protocol,
        "device": device_name(row.context) if row.is_gpu else row.context["cpu"],
        "kernel": row.kernel,
        "name": name_of(row),
        "variant": row.variant,
        "platform": row.platform,
        "m": m,
        "n": n,
        "k": k,
        "side": row.side,
        "problem": shape_text(row.shape),
        "data": row.data if isinstance(row.data, str) else None,
        "outcome": row.outcome,
        "reason": row.reason or None,
        "detail": row.detail or None,
        "err": row.rel_err if row.rel_err and row.rel_err > 0 else None,
        "verified": row.verified,
        "throttled": row.throttled is True,
        "few": row.few_samples,
    }
    case["group"] = f"{row.kernel} {row.gpus} {file}"
    case |= telemetry_of(row) | energy_of(row)
    if row.measured:
        time = row.time_us
        case |= {
            "us": row.microseconds,
            "tflops": row.tflops,
            "tflops_low": row.tflops * row.microseconds / time["ci_high"],
            "tflops_high": row.tflops * row.microseconds / time["ci_low"],
            "written_speed": f"{significant(row.tflops)} TFLOP/s",
            "samples": row.samples_us,
            "rivals": row.cublas_samples_us if isinstance(row.cublas_samples_us, list) else None,
        }
        if case["err"]:
            case["written_err"] = error_size(case["err"])
        if case["watts"] is not None:
            case["power"] = f"{case['watts']:.0f} W at {case['mhz']} MHz"
        if not pd.isna(row.vs_cublas):
            low, high = row.vs_cublas_ci
            case |= {
                "of": 100 * row.vs_cublas,
                "of_low": 100 * low,
                "of_high": 100 * high,
                "of_least": 100 * row.of_cublas,
                "written_ratio": f"{share(row.vs_cublas)} ({share(low)} to {share(high)})",
            }
        if not pd.isna(row.tflops) and row.is_gpu:
            # Each matrix once: what any kernel has to move, so the roof is one that none exceeds.
            case["intensity"] = 2 * m * n * k / (4.0 * (m * k + k * n + m * n))
    return {name: value for name, value in ((n, plain(v)) for n, v in case.items()) if value is not None}


def roofs_of(context: dict, cases: Sequence[dict]) -> Iterator[dict]:
    """The ends of a device's slope, of its DRAM, and of its flat part, of its FP32 units."""
    device = context["device"] or {}
    peak, bandwidth = (device.get(name) for name in ("fp32_peak_gflops", "dram_peak_gbytes_s"))
    xs = [case["intensity"] for case in cases if "intensity" in case]
    if not peak or not bandwidth or not xs:
        return
    ridge = peak / bandwidth
    for limit, ends in (("DRAM", (min(*xs, ridge), ridge)), ("FP32 units", (ridge, max(*xs, ridge)))):
        for x in ends:
            y = min(x * bandwidth, peak) / 1e3
            yield {"device": device["name"], "limit": limit, "intensity": plain(x), "tflops": plain(y)}


def contrast(rgb: np.ndarray, card: np.ndarray) -> float:
    """As WCAG 2 defines it, of colours from 0 to 1."""
    linear = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722) for c in (rgb, card)]
    return (max(linear) + 0.05) / (min(linear) + 0.05)


def seen_on(color: Any, theme: str) -> str:
    """The colour moved towards the ink of a theme, where it must be, until it has enough contrast to the card."""
    rgb, card, ink = (np.array(matplotlib.colors.to_rgb(c)) for c in (color, CARDS[theme], INKS[theme]))
    while contrast(rgb, card) < CONTRAST:
        rgb = rgb + 0.05 * (ink - rgb)
    return matplotlib.colors.to_hex(rgb)


def colors_of(rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    """The colour of each name in the light and in the dark theme. Variants lie between their chapter's and grey."""
    first = {name_of(row): row for row in reversed(list(rows))}
    others, variants, found = itertools.cycle(OTHERS), {}, {}
    for name, row in sorted(first.items(), key=lambda item: (item[1].number <= 0, item[1].number, item[0])):
        color = color_of(row)
        if not row.is_chapter and row.kernel not in LIBRARIES:
            color = next(others)
        elif row.variant:
            variants[row.number] = variants.get(row.number, 0) + 1
            weight = 1 - 0.75 ** variants[row.number]
            color = tuple(a + weight * (b - a) for a, b in zip(*map(matplotlib.colors.to_rgb, (color, MUTED)), strict=True))
        found[name] = {theme: seen_on(color, theme) for theme in CARDS}
    return found


def paired(tables: Mapping[int, pd.DataFrame], protocols: Sequence[int], sources: Sequence[str]) -> list[dict]:
    """Every two files of one protocol that measured a case in common: the ratio of their speeds, as compare.py has it,
    for each case."""
    pairs = []
    for old, new in itertools.combinations(tables, 2):
        if protocols[old] != protocols[new] or len(pairs) == MOST_PAIRS:
            continue
        rows = {case_name(row): row for row in tables[new].itertuples()}
        compared, _ = compare(tables[old], tables[new], "time", None)
        cases = []
        for found in compared:
            row = rows[found.case]
            cases.append(
                {
                    "case": found.case,
                    "file": new,
                    "protocol": protocols[new],
                    "ratio": found.ratio,
                    "ratio_low": found.interval and found.interval.low,
                    "ratio_high": found.interval and found.interval.high,
                    "verdict": found.verdict,
                    "few": found.few_samples,
                }
                | {name: getattr(row, name) for name in ("kernel", "variant", "m", "n", "k", "side")}
                | {"name": name_of(row), "problem": shape_text(row.shape), "throttled": row.throttled is True}
                | {"source": sources[new], "group": row.kernel, "device": device_name(row.context)}
            )
        if any(case["ratio"] for case in cases):
            cases = [{n: v for n, v in ((n, plain(v)) for n, v in case.items()) if v is not None} for case in cases]
            pairs.append({"title": f"{sources[old]} → {sources[new]}", "cases": cases})
    return pairs


COUNTS = {
    "global load sectors": lambda c: c["global_loads"]["sectors"] + c["async_copies"]["sectors"],
    "sectors a request": lambda c: per(c["global_loads"]["sectors"], c["global_loads"]["requests"]),
    "global store sectors": lambda c: c["global_stores"]["sectors"],
    "bank conflicts": lambda c: sum(c[kind]["conflicts"] for kind in ("shared_loads", "shared_stores", "async_copies")),
    "barriers": lambda c: c["barriers"],
    "L2 hits, model": lambda c: share(c["l2"]["in_step"]["hit_rate"]) if "l2" in c else None,
    "DRAM bytes read, model": lambda c: c["l2"]["in_step"]["dram_read_bytes"] if "l2" in c else None,
}


def per(value: float, of: float) -> float | None:
    return value / of if of else None


def counts_table(source: str, rows: pd.DataFrame) -> Table | None:
    counted = [row for row in rows.itertuples() if isinstance(row.counts, dict)]
    if not counted:
        return None
    body = [
        [name_of(row), shape_text(row.shape), *(plain(of(row.counts)) for of in COUNTS.values())] for row in counted
    ]
    text = "What the CPU executor counted of one product: requests of warps, and an L2 model. Nothing was timed."
    return Table(f"Counts: {source}", text, ["kernel", "M × N × K", *COUNTS], body)


def counters_table(source: str, document: dict) -> Table:
    """The derived counters that are single numbers, a row for each kernel."""
    derived = document.get("derived") or {}
    columns = list(dict.fromkeys(n for of in derived.values() for n, v in of.items() if not isinstance(v, dict)))
    rows = [[kernel, *(plain(of.get(name)) for name in columns)] for kernel, of in derived.items()]
    text = f"Nsight Compute's counters at {document['context'].get('size', 'an unknown size')}."
    return Table(f"Counters: {source}", text, ["kernel", *(name.replace("_", " ") for name in columns)], rows)


def program_table(source: str, document: dict) -> Table:
    rows = [[run.get("round"), run.get("mode"), run.get("status"), plain(run.get("seconds"))] for run in document["runs"]]
    text = f"{document.get('example', 'A program')} with cuBLAS and with libsgemm in front of it; whole runs."
    return Table(f"Program: {source}", text, ["round", "mode", "exit status", "seconds"], rows)


def tuning_table(source: str, entries: list[dict]) -> Table:
    columns = [name for name, value in entries[0].items() if not isinstance(value, (dict, list))]
    rows = [[plain(entry.get(name)) for name in columns] for entry in entries]
    text = "The configurations that a tuning stored."
    return Table(f"Tuning: {source}", text, [name.replace("_", " ") for name in columns], rows)


def other_table(path: Path, source: str) -> Table | str:
    """The view of a file that the runner's sweeps did not write, or why it has none. Raises ResultsError for a file
    that nothing in the suite writes."""
    document = read_json(path)
    if is_counters(path):
        return counters_table(source, document)
    if isinstance(document, list) and document and all(isinstance(e, dict) and "variants" in e for e in document):
        return f"{path} is a list of kernels (runner --list), which holds no results."
    if isinstance(document, dict) and isinstance(document.get("runs"), list):
        return program_table(source, document)
    entries = document.get("entries") if isinstance(document, dict) else None
    if isinstance(entries, list) and entries:
        return tuning_table(source, entries)
    raise ResultsError(f"can not use {path}: it is not a results file of this suite")


def notes_of(source: str, rows: pd.DataFrame, document: dict) -> Iterator[str]:
    """What a reader has to know of a file before its numbers."""
    if document.get("interrupted"):
        yield f"{source}: the run was interrupted, so cases are missing."
    if rows.empty:
        yield f"{source} holds no case."
        return
    if rows.context.iloc[0].get("git_dirty"):
        yield f"{source}: the code had changes that no commit has."
    measured = rows[rows.measured]
    if hot := int((measured.throttled.fillna(False).astype(bool)).sum()):
        yield f"{source}: the GPU was throttled in {hot} of {count(len(measured), 'measured case')}; hollow points."
    if few := int(measured.few_samples.notna().sum()):
        yield f"{source}: {count(few, 'case')} of {len(measured)} with too few samples for an interval show their range."
    if unverified := int((~measured.verified.fillna(False).astype(bool)).sum()):
        yield f"{source}: {count(unverified, 'measured case')} not verified."
    if wrong := int(rows.outcome.isin(["incorrect", "failed"]).sum()):
        yield f"{source}: {count(wrong, 'case')} incorrect or failed; see the table of cases."


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Raises ResultsError for a folder without results."""
    found: list[Path] = []
    for path in paths:
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
        if not files:
            raise ResultsError(f"{path} holds no *.json")
        found += files
    return list(dict.fromkeys(found))


def gather(paths: Sequence[Path]) -> Report:
    """Raises ResultsError for a file that can not be used, and where no file has anything to show."""
    report, tables, keys, protocols = Report(), {}, {}, []
    rows_of_all: list[Row] = []
    sources = short_names(paths)
    for index, (path, source) in enumerate(zip(paths, sources, strict=True)):
        protocols.append(-1)
        if not is_results(path):
            found = other_table(path, source)
            (report.notes if isinstance(found, str) else report.tables).append(found)
            report.files.append({"source": source})
            continue
        document, rows = read_json(path), load([path])
        report.notes += notes_of(source, rows, document)
        context = document["context"]
        protocols[index] = keys.setdefault(protocol_key(context), len(keys))
        report.files.append(file_facts(source, context, protocols[index], rows))
        if table := counts_table(source, rows) if len(rows) else None:
            report.tables.append(table)
        rows_of_all += rows.itertuples()
        cases = [case_of(row, index, source, protocols[index]) for row in rows.itertuples()]
        report.cases += cases
        if len(rows) and rows.measured.any():
            tables[index] = rows
    if not report.cases and not report.tables:
        raise ResultsError(f"there is nothing to show: {' '.join(report.notes) or 'no file holds a case'}")
    contexts = [rows.context.iloc[0] for rows in tables.values()]
    for key in keys:
        one = next((c for c in contexts if protocol_key(c) == key), None)
        report.protocols.append(protocol_title(one, (c["protocol"] for c in contexts)) if one else "")
    for context in {device_name(c): c for c in contexts}.values():
        report.roofs += roofs_of(context, [c for c in report.cases if c["device"] == device_name(context)])
    report.colors = colors_of(rows_of_all)
    report.pairs = paired(tables, protocols, sources)
    for number, case in enumerate(report.cases):
        case["id"] = number
    if len(set(protocols) - {-1}) > 1:
        report.notes.append("The files were measured under several protocols; charts show one at a time.")
    return report


def file_facts(source: str, context: dict, protocol: int, rows: pd.DataFrame) -> dict:
    """What the page tells of a file, and what its filters need."""
    outcomes = rows.outcome.value_counts().to_dict() if len(rows) else {}
    facts = {
        "device": device_name(context),
        "measured on": context.get("date"),
        "commit": (context.get("git_commit") or "")[:12] or None,
        "CPU": context.get("cpu"),
        "driver": (context["device"] or {}).get("driver"),
        "cuBLAS": context.get("cublas_version"),
        "protocol": ", ".join(f"{name} {context['protocol'].get(name)}" for name in ("l2", "time", "data", "beta")),
        "cases": ", ".join(f"{number} {outcome}" for outcome, number in outcomes.items()) or "none",
    }
    return {"source": source, "protocol": protocol, "facts": {name: value for name, value in facts.items() if value}}


def first_shown(report: Report) -> tuple[int, list[str]]:
    """The protocol and the kernels that a reader sees first: the one with most cases, and default variants."""
    measured = [case for case in report.cases if case["outcome"] == "measured"]
    used = [case["protocol"] for case in measured]
    default = {case["name"] for case in measured if not case.get("variant")} or {case["name"] for case in report.cases}
    return max(dict.fromkeys(used), key=used.count, default=0), [name for name in report.colors if name in default]


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
        **{name: getattr(report, name) for name in ("files", "protocols", "cases", "pairs", "roofs", "colors")},
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


def images(report: Report, folder: Path) -> list[Path]:
    """PNG and SVG of the charts that the page shows first, in the light theme."""
    protocol, kernels = first_shown(report)
    rows = [c for c in report.cases if c["protocol"] == protocol and c["name"] in kernels and c["outcome"] == "measured"]
    colors = {name: themes["light"] for name, themes in report.colors.items()}
    config = report_charts.config(INKS["light"], GRIDS["light"], GREYS["light"]) | {"background": CARDS["light"]}
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    needed = {"relative": "of", "absolute": "tflops", "error": "err", "roofline": "intensity", "energy": "gflops_per_watt"}
    for view, name in needed.items():
        for form, spec in report_charts.CHARTS[view].items():
            drawn = [row for row in rows if name in row and (form == "scatter" or (form == "over_size") == ("side" in row))]
            if not drawn:
                continue
            filled = report_charts.fill(spec, drawn, colors, INKS["light"], roofs=report.roofs) | {"config": config}
            path = folder / f"{view}_{form}.png"
            path.write_bytes(vl_convert.vegalite_to_png(filled, scale=2))
            path.with_suffix(".svg").write_text(vl_convert.vegalite_to_svg(filled), encoding="utf-8")
            written += [path, path.with_suffix(".svg")]
    return written


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
