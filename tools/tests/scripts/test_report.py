"""scripts/report.py: what goes into a report, and what it refuses. tools/tests/browser opens reports in a browser."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("vl_convert", reason="vl-convert-python is missing, which PyPI alone has")

from helpers import case, committed_results, context, device, ended, on, protocol, refused, said, without_energy
from synthetic import SYNTHETIC
from tools import turns
from tools.compare import main as compare_main
from tools.plots import looks, specs
from tools.report import report

COLD = SYNTHETIC / "cold.json"


@pytest.fixture(autouse=True)
def small_bundle(monkeypatch):
    """Vega takes seconds to be packed; tools/tests/browser takes the real one."""
    monkeypatch.setattr(report, "vega", lambda: "/* Vega */")


def document_of(page: Path) -> dict:
    found = re.search(r'id="data">([^<]*)<', page.read_text(encoding="utf-8"))
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def written(tmp_path: Path, *files: Path) -> dict:
    out = tmp_path / "report.html"
    assert report.main([*map(str, files), "-o", str(out)]) == 0
    return document_of(out)


def refusal(capsys, tmp_path: Path, *files: Path) -> str:
    out = tmp_path / "report.html"
    error = refused(capsys, report.main, *files, "-o", out)
    assert not out.exists()
    return error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (on("01_naive", 256, lambda record: record["time_us"].pop("ci_low")), "KeyError: 'ci_low'"),
        (on("01_naive", 256, lambda record: record.pop("outcome")), "lacks outcome"),
        (on("01_naive", 256, lambda record: record.pop("samples_us")), "lacks its times"),
        (on("01_naive", 256, outcome="fine"), "unknown outcome 'fine'"),
        (on("01_naive", 256, m="4096"), "as its m"),
        (on("01_naive", 256, number=None), "null as its number"),
        (on("01_naive", 256, samples_us="1 2 3"), "samples that are no list"),
        (on("01_naive", 256, energy={"kernel": {"launch_us": 1e6, "launches_per_batch": 1}}), "KeyError: 'trace'"),
        (lambda document: document["benchmarks"].append("case"), "is no object"),
        (context(protocol=None), "AttributeError"),
        (context(device="GPU"), "its device is no object"),
    ],
)
def test_what_is_not_as_the_schema_has_it_is_refused_with_its_name(capsys, edited, tmp_path, change, message):
    path = edited("cold.json", change)
    error = refusal(capsys, tmp_path, path)
    assert message in error and str(path) in error and error.count("\n") == 1


def test_nothing_to_show_is_said(capsys, edited, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, message in (
        (edited("cold.json", lambda document: document["benchmarks"].clear()), "nothing to show"),
        # The note of a page names no folder of its maker.
        (SYNTHETIC / "kernels.json", "nothing to show: Not shown, without cases of the runner: kernels.json."),
        (tmp_path / "absent.json", "absent"),
        (tmp_path / "empty", "holds no *.json"),
    ):
        assert message in refusal(capsys, tmp_path, path)


def test_figures_are_those_of_the_file(tmp_path):
    found = written(tmp_path, COLD)
    record = case(COLD, "06_coarse_2d", 4096)
    shown = next(c for c in found["cases"] if c["case"] == "06_coarse_2d/4096x4096x4096")
    assert shown["of"] == pytest.approx(100 * record["vs_cublas"], rel=1e-5)
    assert [shown["of_low"], shown["of_high"]] == pytest.approx([100 * v for v in record["vs_cublas_ci"]], rel=1e-5)
    assert shown["tflops"] == pytest.approx(record["gflops"] / 1e3, rel=1e-5)
    assert shown["tflops_low"] <= shown["tflops"] <= shown["tflops_high"]
    work = 2 * 4096**3 / 1e6
    assert shown["tflops_low"] == pytest.approx(work / record["time_us"]["ci_high"], rel=1e-4)
    assert shown["samples"] == pytest.approx(record["samples_us"], rel=1e-5)
    assert {"light", "dark", "shape"} == found["looks"][shown["name"]].keys()


def test_protocols_stay_apart(edited, tmp_path):
    found = written(tmp_path, COLD, SYNTHETIC / "warm.json")
    assert [title.partition(",")[0] for title in found["protocols"]] == ["cold L2", "warm L2"]
    assert {(c["source"], c["protocol"]) for c in found["cases"]} == {("cold", 0), ("warm", 1)}
    assert found["pairs"] == []
    assert any("several protocols" in note for note in found["notes"])
    # A mode that an older file does not know is off.
    found = written(tmp_path, COLD, edited("cold.json", protocol(accuracy=False)))
    assert len(found["protocols"]) == len(found["pairs"]) == 1
    assert not any("several protocols" in note for note in found["notes"])


def test_two_files_of_one_protocol_are_compared_as_compare_does(capsys, edited, tmp_path):
    slower = on("06_coarse_2d", 4096, lambda record: record.update(samples_us=[2 * us for us in record["samples_us"]]))
    new = edited("cold.json", slower)
    (pair,) = written(tmp_path, COLD, new)["pairs"]
    shown = next(c for c in pair["cases"] if c["problem"] == "4096" and c["name"].startswith("06 "))
    assert shown["ratio"] == pytest.approx(0.5)
    lines = said(capsys, compare_main, COLD, new).out.splitlines()
    line = next(line for line in lines if "06_coarse_2d/4096x4096x4096 " in line)
    assert f"{shown['ratio_low']:.3f} to {shown['ratio_high']:.3f}" in line


def test_energy_is_shown_where_a_record_has_it(edited, tmp_path):
    path = edited("energy.json", on("01_naive", 4096, without_energy("no counter here")))
    found = written(tmp_path, path)
    shown = {c["case"]: c for c in found["cases"] if "joules" in c}
    records = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    assert len(shown) == len(records) - 1
    assert "No energy: no counter here: energy (1 of " in "\n".join(found["notes"])
    both = case({"benchmarks": records}, "06_coarse_2d", 4096)["energy"]
    fields = shown["06_coarse_2d/4096x4096x4096"]
    for name, value in {
        "joules": both["kernel"]["joules_per_product"],
        "gflop_per_joule": both["kernel"]["gflops_per_watt"],
        "rival_joules": both["cublas"]["joules_per_product"],
        "turn_mhz": 1700.0,
        "turn_of": 100 * both["kernel"]["gflops"] / both["cublas"]["gflops"],
    }.items():
        assert fields[name] == pytest.approx(value, rel=1e-5), name
    assert fields["throttle_shares"] == "sw power cap 50.0 %"
    assert "moments" not in fields


def test_a_batch_of_two_that_takes_twice_as_long_is_as_fast(edited, tmp_path):
    def twice(record: dict) -> None:
        own = record["sustained"]["kernel"]
        own.update(launch_us=2 * own["launch_us"], batch_us=[2 * us for us in own["batch_us"]])

    two = on("07_warptile_hilbert", 8192, twice, ops="tn", batch=2)
    files = (SYNTHETIC / "sustained.json", edited("sustained.json", two))
    shown = [c for path in files for c in written(tmp_path, path)["cases"] if c["kernel"] == "07_warptile_hilbert"]
    assert shown[1]["first_tflops"] == pytest.approx(shown[0]["first_tflops"], rel=1e-5)


def test_sustained_cases_have_moments_and_nothing_of_a_burst(tmp_path):
    found = written(tmp_path, COLD, SYNTHETIC / "sustained.json")
    shown = [c for c in found["cases"] if c["outcome"] == "sustained"]
    assert {c["protocol"] for c in shown} == {1}
    assert not any(c.keys() & {"tflops", "of", "us", "samples"} for c in shown)
    assert found["pairs"] == []
    (own,) = (c for c in shown if c["kernel"] == "07_warptile_hilbert")
    both = case(SYNTHETIC / "sustained.json", own["kernel"], 8192)["sustained"]
    assert own["turn_tflops"] == pytest.approx(both["kernel"]["gflops"] / 1e3, rel=1e-5)
    moments = {turn: [m for m in own["moments"] if m["turn"] == turn] for turn in specs.TURNS}
    assert [len(of) for of in moments.values()] == [len(both[name]["batch_us"]) for name in ("kernel", "cublas")]
    assert moments["the kernel"][7]["tflops"] == pytest.approx(own["turn_tflops"], rel=1e-5)
    assert [moments["the kernel"][i]["mhz"] for i in (0, -1)] == [1500, 1900]
    assert [moments["the kernel"][i].get("why") for i in (0, -1)] == ["sw power cap", ""]


def test_moments_are_means_of_equal_parts():
    """The second half of the launches takes three times as long, and the trace lacks a clock."""
    trace = {"samples": {"ms": [0, 900, 2500], "sm_clock_mhz": [1000, 1200, None], "power_w": [100, 200, 300]}}
    trace["reasons"] = [{"sample": 0, "reasons": []}, {"sample": 2, "reasons": ["sw_power_cap"]}]
    turn = {"batch_us": [5e5, 5e5, 1.5e6, 1.5e6], "launches_per_batch": 10, "trace": trace}
    first, second = turns.moments(turn, 1e12, 2)
    assert (first["seconds"], second["seconds"]) == (1, 3)
    assert first["tflops"] == pytest.approx((20 + 10 * 2 / 3) / 2)
    assert second["tflops"] == pytest.approx((10 * 4 / 3) / 2)
    assert (first["mhz"], first["watts"], first["why"]) == (1100, 150, "")
    assert (second.get("mhz"), second["watts"], second["why"]) == (None, 300, "sw power cap")
    assert turns.ends_of(turn, 1e12) == pytest.approx((20, 20 / 3))
    assert len(turns.moments(turn, 1e12, 200)) == 4


def test_a_reader_is_told_what_is_wrong_with_a_file(edited, tmp_path):
    changes = (on("06_coarse_2d", 4096, throttled=True), on("05_coarse_1d", 4096, verified=False))
    changes += (ended("01_naive", 4096, "failed", "out of luck"), lambda document: document.update(interrupted=True))
    notes = "\n".join(written(tmp_path, edited("cold.json", *changes))["notes"])
    for words in ("Interrupted", "On a throttled GPU", "Not verified", "Incorrect, implausible or failed"):
        assert words in notes


def verdict_of(file: str, ratio: float | None, verdict: str = "accepted", **more: object) -> dict:
    speeds = [{"size": "512x512x512", "gflops": 5e4, "gflops_ci": [49e3, 51e3], "throttled": False}] if ratio else []
    vs_cublas = {"mean": ratio, "ci_low": ratio * 0.99, "ci_high": ratio * 1.01} if ratio else None
    found = {"file": file, "hash": "a" * 64, "accepted": verdict == "accepted", "verdict": verdict, "reason": ""}
    found |= {"outcome": "measured", "vs_cublas": vs_cublas, "speeds": speeds, "notes": [], "weak_on": []}
    return found | more


def verdicts_file(path: Path, *verdicts: dict, sizes: str = "512x512x512", device: str = "GPU") -> Path:
    document = {"verdicts_version": 2, "context": {"device": {"name": device}, "cpu": "CPU"}, "sizes": sizes}
    document |= {"secret": "0" * 32, "interrupted": False, "verdicts": verdicts}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_verdicts_make_leaderboards_of_a_device_and_its_sizes(tmp_path):
    again, sizes, device = (tmp_path / f"{name}.json" for name in ("again", "sizes", "device"))
    page = verdicts_file(
        tmp_path / "verdicts.json",
        verdict_of("a.cu", 0.5, weak_on=["inf", "nan"]),
        verdict_of("b.cu", 1.0),
        verdict_of("c.cu", None),
        verdict_of("bad.cu", None, "refused", outcome="incorrect", reason="17 of 20 elements wrong"),
        verdict_of("slow.cu", None, "undecided", outcome="skipped", reason="not enough memory"),
    )
    refused_once = verdict_of("bad.cu", 2.0)  # and accepted at another try
    verdicts_file(again, verdict_of("b.cu", 1.25, notes=["fast only", "not checked"]), refused_once)
    verdicts_file(sizes, verdict_of("a.cu", 0.5), sizes="8x8x8")
    verdicts_file(device, verdict_of("a.cu", 0.5), device="Other")
    found = written(tmp_path, page, again, sizes, device)
    tables = {table["title"]: table for table in found["tables"]}
    kinds = ("Leaderboard", "Notes", "Refused", "Undecided")
    boards = [f"{kind}: GPU, 512x512x512" for kind in kinds]
    assert list(tables) == [*boards, "Leaderboard: GPU, 8x8x8", "Leaderboard: Other, 512x512x512"]
    assert found["title"] == "SGEMM on GPU, Other"
    leaders, notes, refused_, undecided = (tables[board] for board in boards)
    rows = [dict(zip(leaders["columns"], row, strict=True)) for row in leaders["rows"]]
    ranked = [(row["rank"], row["file"], row["times as fast as cuBLAS"], row["not as FP32 with"]) for row in rows]
    assert ranked == [(1, "b.cu", 1.25, ""), (2, "a.cu", 0.5, "inf, nan"), (3, "c.cu", None, "")], "the last one counts"
    assert (rows[0]["from"], rows[0]["to"]) == (1.238, 1.262)
    assert rows[0]["TFLOP/s at 512x512x512"] == "50.00 (49.00 to 51.00)"
    assert rows[0]["runs it again"] == f"runner --judge b.cu --sizes 512x512x512 --secret {'0' * 32}"
    assert rows[0]["SHA-256"] == "a" * 64
    assert notes["rows"] == [["b.cu", note] for note in ("fast only", "not checked")]
    assert refused_["rows"][0][:3] == ["bad.cu", "incorrect", "17 of 20 elements wrong"]
    assert undecided["rows"][0][:3] == ["slow.cu", "skipped", "not enough memory"]


def test_verdicts_that_are_not_as_the_schema_has_them_are_refused(capsys, tmp_path):
    path = verdicts_file(tmp_path / "given.json", verdict_of("a.cu", 0.5) | {"speeds": None})
    error = refusal(capsys, tmp_path, path)
    assert "verdicts.schema.json" in error
    assert str(path) in error


def test_every_results_file_of_the_repository_makes_a_report(tmp_path):
    files = committed_results()
    found = written(tmp_path, *files)
    assert len({c["source"] for c in found["cases"]}) == len(found["files"])
    (note,) = [note for note in found["notes"] if note.startswith("Not shown, without cases of the runner: ")]
    others = note.partition(": ")[2].removesuffix(".").split(", ")
    assert any("kernels.json" in other for other in others)
    assert len(found["files"]) + len(others) == len(files)


def test_an_axis_of_errors_has_no_number_twice():
    text = json.dumps(specs.CHARTS["error"]["scatter"])
    assert '"format": ".2~e"' in text
    assert '"format": ".0e"' not in text, "which has 1.2e-7 and 1.4e-7 alike"


def test_the_html_holds_no_text_of_the_files(edited, tmp_path):
    name = "</script><img src=x onerror=alert(1)>"
    found = written(tmp_path, edited("cold.json", on("01_naive", 4096, reason=name), device(name=name)))
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<img" not in html
    assert html.count("</script>") == 3
    assert name in {c["device"] for c in found["cases"]}


def test_a_report_stays_small_by_leaving_out_samples_and_says_so(monkeypatch, tmp_path):
    written(tmp_path, COLD)
    monkeypatch.setattr(report, "MOST_BYTES", (tmp_path / "report.html").stat().st_size - 1)
    found = written(tmp_path, COLD)
    assert any("at most" in note for note in found["notes"])
    assert (tmp_path / "report.html").stat().st_size <= report.MOST_BYTES


@pytest.mark.parametrize("theme", looks.CARDS)
def test_colours_can_be_seen_on_the_card(theme):
    for color in ("#000000", "#ffffff", "#0d0887", "#f0f921", "#656d76"):
        seen = looks.seen_on(color, theme)
        assert looks.contrast(seen, looks.CARDS[theme]) >= looks.GRAPHICS


def test_energy_is_hollow_where_the_gpu_was_throttled_meanwhile():
    fields = {view: set(re.findall(r"datum\.(\w*throttled)", json.dumps(specs.CHARTS[view]))) for view in specs.CHARTS}
    assert {view for view, of in fields.items() if of == {"turn_throttled"}} == {"energy"}
    assert fields["relative"] == fields["error"] == {"throttled"}
