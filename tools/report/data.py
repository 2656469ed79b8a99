"""What a report shows: the cases of results files as plain values, what they are compared with, and the tables of
verdicts. Figures come from results.py, compare.py and fleet.py; nothing is defined anew here."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tools import results, turns
from tools.compare import BROKEN, case_name, compare
from tools.fleet import device_name
from tools.forms import error_size, shape_text, share, significant
from tools.plots import specs
from tools.plots.looks import looks_of, names_of
from tools.report.verdicts import leaderboards
from tools.results import MODES, PROTOCOL, ResultsError, Row, as_the_schema_has_it, load, rows_of, usable

VERDICTS_SCHEMA = "runner/verdict/verdicts.schema.json"
MOST_PAIRS = 10  # of files that are compared with each other
MOST_MOMENTS = 200  # of a turn
TURNS = dict(zip(("kernel", "cublas"), specs.TURNS, strict=True))
CHARTED = ("measured", "sustained")  # outcomes of cases that charts show
# What a ratio of two files has of the newer one's case.
ABOUT = ("id", "file", "source", "protocol", "device", "name", "side", "problem", "throttled", "group")


class Table(NamedTuple):
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
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    looks: dict[str, dict[str, str]] = field(default_factory=dict)
    judged_on: list[str] = field(default_factory=list)  # devices of verdicts


def plain(value: Any) -> Any:
    """A value of a table as JSON has it: None for what is missing, floats with six digits."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def present(fields: Mapping[str, Any]) -> dict:
    """Without the fields that are missing."""
    return {name: value for name, field in fields.items() if (value := plain(field)) is not None}


def short_names(paths: Sequence[Path]) -> list[str]:
    """As many of the last parts of each path as tell it from the others."""
    parts = [path.with_suffix("").parts for path in paths]

    def tail(own: tuple[str, ...]) -> tuple[str, ...]:
        tails = (own[-length:] for length in range(1, len(own)))
        return next((tail for tail in tails if sum(other[-len(tail) :] == tail for other in parts) == 1), own)

    return ["/".join(tail(own)) for own in parts]


def protocol_key(context: dict) -> tuple:
    """Files with the same key may be compared."""
    return tuple(str(results.protocol_value(context["protocol"], name)) for name in PROTOCOL)


VERIFIED = {True: "verified", False: "not verified", None: "verified or not"}
# Of modes that are on.
WORDS = {"check": "accesses checked", "count": "counted", "accuracy": "errors compared", "sustain": "sustained"}


def protocol_titles(protocols: Sequence[dict]) -> list[str]:
    """ "cold L2, kernel time, uniform data, beta 0" for each, and what else they differ in."""
    always = ("l2", "time", "data", "beta", *MODES)
    numbered = {str(number): protocol for number, protocol in enumerate(protocols)}
    more = [name for name in PROTOCOL if name not in always and results.protocol_differences(numbered, [name])]
    titles = []
    for protocol in protocols:
        data = protocol.get("data", "unknown")
        parts = [f"{protocol['l2']} L2", f"{protocol['time']} time"]
        parts += [f"{data if isinstance(data, str) else 'all kinds of'} data", f"beta {protocol.get('beta', 0):g}"]
        parts += [WORDS.get(name, name) for name in MODES if results.protocol_value(protocol, name)]
        parts += [VERIFIED[protocol.get(name)] if name == "verify" else f"{name} {protocol.get(name)}" for name in more]
        titles.append(", ".join(parts))
    return titles


def turns_of(row: Row) -> dict:
    """What the turns of a case told, of runner --energy or --sustain: the kernel's, and cuBLAS's beside it. Empty where
    the file has none. A sustained case has its moments as well."""
    both = next((turns for turns in (row.energy, row.sustained) if isinstance(turns, dict)), {})
    own, rival = both.get("kernel"), both.get("cublas") or {}
    if not own:
        return {}
    work, trace = 2.0 * row.batch * row.m * row.n * row.k, own["trace"]
    shares = {reason.replace("_", " "): part for reason, part in trace["throttle_shares"].items()}
    case = {
        "joules": own.get("joules_per_product"),
        "gflop_per_joule": own.get("gflops_per_watt"),
        "rival_joules": rival.get("joules_per_product"),
        "no_energy": own.get("no_energy"),
        "turn_watts": own.get("watts", trace.get("mean_power_w")),
        "turn_mhz": trace.get("mean_sm_clock_mhz"),
        "turn_seconds": own["seconds"],
        "turn_tflops": own["gflops"] / 1e3,
        "turn_throttled": trace["throttled_share"] > 0,
        "throttle_shares": ", ".join(f"{reason} {share(part)}" for reason, part in shares.items()) or None,
    }
    if rival:
        case |= {"rival_tflops": rival["gflops"] / 1e3, "turn_of": 100 * own["gflops"] / rival["gflops"]}
    if row.outcome == "sustained":
        case["first_tflops"], case["last_tflops"] = turns.ends_of(own, work)
        case["celsius"] = turns.last_temperature(own)
        case["cut_short"] = own["cut_short"] or None
        found = {name: turns.moments(turn, work, MOST_MOMENTS) for name, turn in both.items() if name in TURNS}
        case["moments"] = [present({"turn": TURNS[name]} | each) for name, each_of in found.items() for each in each_of]
    return case


def case_of(row: Row, name: str, of_file: Mapping) -> dict:
    """A case as the page has it, with the fields of its file. Ratios to cuBLAS are in percent, and fields that are
    missing are absent.

    The interval of a speed is that of its time. Few samples support none, so theirs is a range; `few` says how many.
    """
    as_they_are = ("kernel", "platform", "m", "n", "k", "side", "outcome")
    end = row.telemetry["end"] if isinstance(row.telemetry, dict) else {}  # as the GPU was after the samples
    reasons = ", ".join(end.get("throttle_reasons", ())).replace("_", " ")
    case = {
        **{name: getattr(row, name) for name in as_they_are},
        **of_file,
        "device": device_name(row.context) if row.is_gpu else row.context["cpu"],
        "case": case_name(row),
        "name": name,
        "default": not (row.is_chapter and row.variant),
        "problem": shape_text(row.shape),
        "data": row.data if isinstance(row.data, str) else None,
        "charted": row.outcome in CHARTED,
        "reason": row.reason or None,
        "detail": row.detail or None,
        "err": row.rel_err if row.rel_err and row.rel_err > 0 else None,
        "throttled": row.throttled is True,
        "why_throttled": reasons or "yes" if row.throttled is True else None,
        "few": row.few_samples,
        "group": f"{row.kernel} {row.gpus} {of_file['file']}",
    }
    case |= turns_of(row)
    if row.measured:
        low, high = (row.tflops * row.microseconds / row.time_us[end] for end in ("ci_high", "ci_low"))
        case |= {"us": row.microseconds, "tflops": row.tflops, "tflops_low": low, "tflops_high": high}
        case |= {"written_speed": f"{significant(row.tflops)} TFLOP/s", "samples": row.samples_us}
        if isinstance(row.cublas_samples_us, list):
            case["rivals"] = row.cublas_samples_us
        if case["err"]:
            case["written_err"] = error_size(case["err"])
        if end.get("power_w") is not None:
            case["power"] = f"{end['power_w']:.0f} W at {end['sm_clock_mhz']} MHz"
        if not pd.isna(row.vs_cublas):
            low, high = row.vs_cublas_ci
            case |= {"of": 100 * row.vs_cublas, "of_low": 100 * low, "of_high": 100 * high}
            case |= {"of_least": 100 * row.of_cublas}
            case["written_ratio"] = f"{share(row.vs_cublas)} ({share(low)} to {share(high)})"
    return present(case)


def paired(tables: Mapping[int, pd.DataFrame], cases: Sequence[dict], titles: Sequence[str]) -> Iterator[dict]:
    """For every two files of one protocol that measured a case in common: the ratio of their speeds for each case, with
    the interval, as compare.py has them."""
    measured = {(case["file"], case["case"]): case for case in cases if case["outcome"] == "measured"}
    for old, new in itertools.combinations(tables, 2):
        if protocol_key(tables[old].context.iloc[0]) != protocol_key(tables[new].context.iloc[0]):
            continue
        compared = []
        for found in compare(tables[old], tables[new], "time", None)[0]:
            if found.ratio:
                low, high = found.interval
                ratios = {"ratio": found.ratio, "ratio_low": low, "ratio_high": high}
                case = {name: value for name, value in measured[new, found.case].items() if name in ABOUT}
                compared.append(present(case | ratios | {"verdict": found.verdict, "few": found.few_samples}))
        if compared:
            yield {"title": f"{titles[old]} → {titles[new]}", "cases": compared}


def notes_of(source: str, rows: pd.DataFrame, document: dict) -> Iterator[tuple[str, str]]:
    """What a reader has to know of a file before its numbers: what it is, and of how many of its cases it holds."""
    if document.get("interrupted"):
        yield "Interrupted, so that cases are missing", source
    if rows.empty:
        yield "Without any case", source
        return
    if rows.context.iloc[0].get("git_dirty"):
        yield "Measured with code that no commit has", source
    if rows.beside.notna().any():
        yield "cuBLAS as it was timed beside the kernels", source
    timed = rows[rows.outcome.isin(CHARTED)]
    without = timed.apply(lambda row: turns_of(row).get("no_energy"), axis="columns")
    for what, found in (
        ("On a throttled GPU, hollow points", timed.throttled.eq(True)),
        ("With too few samples for an interval, a range instead", timed[timed.measured].few_samples.notna()),
        *((f"No energy: {reason}", without.eq(reason)) for reason in without.dropna().unique()),
        ("Not verified", ~timed[timed.beside.isna()].verified.eq(True)),
        ("Incorrect, implausible or failed, in the table of all cases alone", rows.outcome.isin(BROKEN)),
    ):
        if found.any():
            yield what, f"{source} ({found.sum()} of {len(found)})"


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
    report = Report()
    notes: dict[str, list[str]] = {}  # what is to be known, of which files
    tables: dict[int, pd.DataFrame] = {}
    files = usable(paths)
    paths = [Path(file.path) for file in files]
    sources = short_names(paths)
    judged = [file.document for file in files if file.kind == "verdicts"]
    for index, (file, source) in enumerate(zip(files, sources, strict=True)):
        if file.is_results:
            tables[index] = load([file])
            with as_the_schema_has_it(file.path):
                for what, where in notes_of(source, tables[index], file.document):
                    notes.setdefault(what, []).append(where)
        elif file.kind != "verdicts":
            notes.setdefault("Not shown, without cases of the runner", []).append(f"{source}{Path(file.path).suffix}")
        elif file.document.get("interrupted"):
            notes.setdefault("Interrupted, so that files are missing", []).append(source)
    with as_the_schema_has_it(", ".join(map(str, paths)), VERDICTS_SCHEMA):
        report.tables += (Table(*board) for board in leaderboards(judged))
        report.judged_on = [device_name(document["context"]) for document in judged]
    report.notes += (f"{what}: {', '.join(where)}." for what, where in notes.items())
    tables = {index: rows for index, rows in tables.items() if len(rows)}
    if not tables and not report.tables:
        raise ResultsError(f"there is nothing to show: {' '.join(report.notes)}")

    contexts = {index: rows.context.iloc[0] for index, rows in tables.items()}
    keys = {protocol_key(context): context["protocol"] for context in contexts.values()}
    report.protocols = protocol_titles(list(keys.values()))
    listed = {index: list(rows_of(rows)) for index, rows in tables.items()}
    every = [row for rows in listed.values() for row in rows]
    names = names_of(every)
    report.looks = looks_of(every, names)
    for index, rows in listed.items():
        with as_the_schema_has_it(paths[index]):
            protocol = list(keys).index(protocol_key(contexts[index]))
            of_file = {"file": index, "source": sources[index], "protocol": protocol}
            report.files.append({"file": sources[index]} | file_facts(contexts[index], tables[index]))
            for row in rows:
                case = case_of(row, names[row.kernel, row.gpus], of_file)
                report.cases.append(case | {"id": len(report.cases), "under": report.protocols[protocol]})
    report.pairs = list(itertools.islice(paired(tables, report.cases, sources), MOST_PAIRS))
    if len({case["protocol"] for case in report.cases if case["charted"]}) > 1:
        report.notes.append("The files were measured under several protocols; charts show one at a time.")
    return report


def file_facts(context: dict, rows: pd.DataFrame) -> dict:
    """What the page tells of a file, by the heading of the column."""
    protocol = context["protocol"]
    facts = {
        "device": device_name(context),
        "measured on": context.get("date"),
        "commit": (context.get("git_commit") or "")[:12],
        "CPU": context.get("cpu"),
        "driver": (context["device"] or {}).get("driver"),
        "cuBLAS": context.get("cublas_version"),
        "protocol": ", ".join(f"{name} {protocol.get(name)}" for name in PROTOCOL if name not in MODES),
        "cases": ", ".join(f"{number} {outcome}" for outcome, number in rows.outcome.value_counts().items()),
    }
    return {name: value for name, value in facts.items() if value}
