"""The files that the runner writes against their schemas, and the schemas against files that are wrong."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from runs import BUILD, ROOT, ran, schema_errors

CPU_TESTS = BUILD / "runner.build" / "tests" / "cpu_tests"
RESULTS = "runner/record/results.schema.json"
VERDICTS = "runner/verdict/verdicts.schema.json"
SCHEMAS = {"results_with_device.json": RESULTS, "results_without_device.json": RESULTS, "verdicts.json": VERDICTS}

pytestmark = pytest.mark.skipif(not CPU_TESTS.exists(), reason=f"there is no {CPU_TESTS}")


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """Files with every kind of record, those of a GPU among them, which the unit tests write."""
    folder: Path = tmp_path_factory.mktemp("samples")
    environment = os.environ | {"SGEMM_SAMPLES": str(folder)}
    ran(CPU_TESTS, "--gtest_filter=*FileTest.Sample*", env=environment).check_returncode()
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.iterdir()}


def test_files_agree_with_their_schemas(samples):
    assert samples.keys() == SCHEMAS.keys()
    for name, schema in SCHEMAS.items():
        assert schema_errors(schema, samples[name]) == [], name


def test_files_with_every_kind_of_record_make_a_report(samples, tmp_path):
    pytest.importorskip("vl_convert", reason="vl-convert-python is missing, which PyPI alone has")
    for name, document in samples.items():
        path = tmp_path / name
        path.write_text(json.dumps(document), encoding="utf-8")
        done = ran(sys.executable, ROOT / "scripts" / "report.py", path, "-o", tmp_path / "report.html")
        of_device = " names no device, so its GPU is called unknown, and has no peaks\n"
        expected = f"warning: {path}{of_device}" if name == "results_without_device.json" else ""
        assert (done.returncode, done.stderr) == (0, expected), name


def test_files_of_the_first_version_agree_as_well(samples):
    document = json.loads((ROOT / "results/nvidia-h200/cold.json").read_text(encoding="utf-8"))
    document["context"]["schema_version"] = 1
    assert schema_errors(RESULTS, document) == []


def of(document: dict, outcome: str) -> dict:
    return next(r for r in document["benchmarks"] if r["outcome"] == outcome)


def record(outcome: str, /, **fields: object) -> Callable[[dict], None]:
    return lambda document: of(document, outcome).update(fields)


def with_energy(document: dict) -> dict:
    return next(r for r in document["benchmarks"] if "energy" in r)


def of_two_launches(document: dict) -> dict:
    return next(r for r in document["benchmarks"] if "launches" in r.get("counts", {}))


WRONG_RESULTS = [
    (lambda document: of(document, "measured").pop("gflops"), "gflops"),
    (record("executed", gflops=1.0), "benchmarks["),
    (record("counted", gflops=1.0), "benchmarks["),
    (record("compared", surprise=1), "surprise"),
    (record("measured", ops="nn"), "ops"),
    (record("measured", batch=1), "batch"),
    (record("measured", name="sgemm/cpu_blas/1x2x3:ntn"), "name"),
    (lambda document: of(document, "compared").pop("accuracy"), "accuracy"),
    (record("profiled", accuracy_class="fp16"), "accuracy_class"),
    (record("compared", data="ones"), "data"),
    (lambda document: document["context"]["protocol"].update(l2="hot"), "l2"),
    (lambda document: document["context"].pop("git_dirty"), "git_dirty"),
    (lambda document: document["context"]["protocol"].pop("seed"), "seed"),
    (lambda document: document.pop("interrupted"), "interrupted"),
    (lambda document: document["context"].update(schema_version=3), "schema_version"),
    (record("sustained", outcome="measured"), "benchmarks["),
    (lambda document: of(document, "sustained").pop("sustained"), "sustained"),
    (lambda document: of(document, "sustained").update(with_energy(document)), "benchmarks["),
    (lambda document: with_energy(document)["energy"].pop("cublas"), "energy"),
    (lambda document: with_energy(document)["energy"]["kernel"].update(no_energy="why"), "energy"),
    (lambda document: with_energy(document)["trace"]["samples"].pop("ms"), "ms"),
    (lambda document: of(document, "counted")["counts"].pop("lines"), "lines"),
    (lambda document: of_two_launches(document)["counts"].update(lines=[]), "counts"),
    (lambda document: of_two_launches(document)["counts"]["launches"][1].pop("function"), "function"),
    (lambda document: of_two_launches(document)["counts"]["launches"].pop(), "launches"),
]
WRONG_VERDICTS = [
    (lambda document: document["verdicts"][0].update(accepted=False), "verdict"),
    (lambda document: document["verdicts"][0].update(speeds=[]), "speeds"),
    (lambda document: document["verdicts"][1].update(accepted=True), "verdict"),
    (lambda document: document["verdicts"][1].update(speeds=document["verdicts"][0]["speeds"]), "speeds"),
    (lambda document: document["verdicts"][1].pop("reason"), "reason"),
    (lambda document: document["verdicts"][0]["speeds"][0].pop("samples"), "samples"),
    (lambda document: document["verdicts"][0]["cases"][0].update(trial="luck"), "luck"),
    (lambda document: document["verdicts"][0]["trials"][0].pop("seconds"), "seconds"),
    (lambda document: document.update(secret="x"), "secret"),
]


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [("results_without_device.json", *row) for row in WRONG_RESULTS]
    + [("verdicts.json", *row) for row in WRONG_VERDICTS],
)
def test_what_is_wrong_in_a_file_is_found(samples, name, change, field):
    document = json.loads(json.dumps(samples[name]))
    change(document)
    errors = schema_errors(SCHEMAS[name], document)
    assert any(field in error for error in errors), errors
