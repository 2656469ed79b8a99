import jsonschema
import pandas as pd
import pytest

from helpers import ROOT, SYNTHETIC, add_layouts, case, context, device, on, protocol
from tools import results
from tools.results import ResultsError, crossover, device_of, load, load_counters, one, parse_size, pick, size_text


def test_loads_all_files_of_a_device_in_chapter_order():
    rows = load(SYNTHETIC / name for name in results.SWEEP_FILES)
    names = list(rows.kernel.unique())
    chapters = [name for name in names if name[0].isdigit()]
    assert names[: len(chapters)] == chapters == sorted(chapters)
    assert names[len(chapters)] == "cublas"
    assert names[-2:] == ["cpu_blas", "cpu_naive"]
    assert device_of(rows)["name"] == "Synthetic GPU"
    assert set(rows.l2) == {"cold", "warm"}
    assert set(rows.time) == {"kernel", "end-to-end"}


def test_picks_by_outcome_and_field():
    rows = load([SYNTHETIC / "cold.json"])
    skipped = pick(rows, "skipped")
    assert list(skipped.kernel) == ["cpu_naive"]
    assert skipped.tflops.isna().all()
    assert one(rows, kernel="cpu_naive", side=4096) is None
    assert one(rows, None, kernel="cpu_naive", side=4096).name == skipped.name.iloc[0]


@pytest.mark.parametrize(
    ("accuracy_class", "expected"),
    [("tf32", False), *((name, True) for name in ("fp32", "fp32_split", "bf16_split", "fp16_split", "int8_split"))],
)
def test_kernels_of_split_operands_are_compared_with_those_of_fp32(edited, accuracy_class, expected):
    path = edited("cold.json", on("05_coarse_1d", 4096, accuracy_class=accuracy_class))
    row = one(load([path]), kernel="05_coarse_1d", side=4096)
    assert bool(row.has_fp32_accuracy) is expected


def test_the_last_file_wins(edited):
    slower = on("01_naive", 256, lambda record: record["time_us"].update(median=1e6))
    old = (SYNTHETIC / "cold.json", edited("cold.json", slower))
    assert one(load(old), kernel="01_naive", side=256, l2="cold").microseconds == 1e6
    assert one(load(reversed(old)), kernel="01_naive", side=256, l2="cold").microseconds < 1e6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (protocol(beta=1.0), r"different protocols can not be joined: beta is 0.0 \(.*\), 1.0 \("),
        (device(name="Another GPU"), "Another GPU, Synthetic GPU"),
    ],
)
def test_files_of_other_operands_or_devices_are_not_joined(edited, change, message):
    with pytest.raises(ResultsError, match=message):
        load([SYNTHETIC / "warm.json", edited("cold.json", change)])


def test_transposed_products_and_batches_are_cases_of_their_own(edited):
    def add_batches(document: dict) -> None:
        add_layouts(document)
        document["benchmarks"].append(document["benchmarks"][-1] | {"batch": 2})

    plain = one(load([SYNTHETIC / "cold.json"]), kernel="cublas", side=1024)
    rows = load([edited("cold.json", add_batches)])
    rows = pick(rows, kernel="cublas", m=1024)
    layouts = ["", "2x:tn", "3x:tn", ":nt"]
    assert sorted(size_text(shape).replace("1024x1024x1024", "") for shape in rows["shape"]) == layouts
    assert one(pick(rows, kernel="cublas"), shape=(1024, 1024, 1024)).gflops == plain.gflops
    assert len(pick(rows, kernel="cublas", side=1024)) == 1


def test_a_byte_order_mark_before_the_results_is_passed_over(tmp_path):
    marked = tmp_path / "cold.json"
    marked.write_text((SYNTHETIC / "cold.json").read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert len(load([marked])) == len(load([SYNTHETIC / "cold.json"]))


def test_what_host_code_has_timed_is_its_owners_word(edited):
    rows = load([edited("cold.json", on("05_coarse_1d", 256, host_code=True, detail="64x64"))])
    details = {row.kernel: row.detail for row in rows.itertuples() if row.side == 256}
    assert details["05_coarse_1d"] == "64x64; timed beside its own host code: its owner's word"
    assert details["01_naive"] == ""


@pytest.mark.parametrize(
    ("text", "written"),
    [
        *(("64", "64x64x64"), ("64:nn", "64x64x64"), ("64:nt", "64x64x64:nt"), ("1x2x3x4", "2x3x4")),
        *((text, text) for text in ("4096x128x64", "96x512x512x64:tn", "2x3x4x5")),
    ],
)
def test_sizes_are_read_as_the_runner_reads_them(text, written):
    assert size_text(parse_size(text)) == written


@pytest.mark.parametrize("text", ["", "x", "8x4", "64:512", "64:", "64:nx", "64:tnt", "1x2x3x4x5", "-1", "6 4", "٦"])
def test_what_is_no_single_size_is_refused(text):
    with pytest.raises(ResultsError, match="is no size"):
        parse_size(text)


def test_a_case_with_repetitions_is_the_median_one_unless_one_went_wrong(edited):
    def repeated(*outcomes: str) -> pd.DataFrame:
        copies = []
        for index, outcome in enumerate(outcomes):
            copy = case(SYNTHETIC / "cold.json", "01_naive", 256) | {"repetition_index": index, "outcome": outcome}
            copy["time_us"]["median"] = 100.0 * (index + 1)
            copies.append(copy)
        path = edited("cold.json", lambda document: document.update(benchmarks=copies))
        return pick(load([path]), None, kernel="01_naive")

    assert list(repeated("measured", "measured", "measured").microseconds) == [200.0]
    assert list(repeated("measured", "incorrect", "measured").outcome) == ["incorrect"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("{}\n{}", "holds more than one JSON document: each run needs a file of its own"),
        ("[1, 2]", "not a results file"),
        ('{"runs": [1]}', "not a results file"),
        ('{"context": {"library_build_type": "release"}, "benchmarks": []}', "it is Google Benchmark's own file"),
        ('{"context": {"schema_version": 1}, "kernels": {}}', "not a results file"),
        ('{"context": {"schema_version": 3}, "benchmarks": []}', "schema_version is 3, this script reads 1 and 2"),
        ('{"context": {}, "benchmarks": []}', "schema_version is None"),
        ('{"context": {"schema_version": 1}, "benchmarks": []}', "names no device or protocol"),
    ],
)
def test_refuses_other_files(tmp_path, content, message):
    path = tmp_path / "file.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ResultsError, match=message):
        load([path])


def test_a_file_without_a_gpu_has_an_empty_device(edited):
    assert device_of(load([edited("cold.json", context(device=None))])) == {}
    assert device_of(load([])) == {}


def test_counters_of_another_schema_are_refused(tmp_path):
    path = tmp_path / "counters.json"
    path.write_text('{"schema_version": 7, "kernels": {}}', encoding="utf-8")
    with pytest.raises(ResultsError, match="schema_version is 7"):
        load_counters(path)
    with pytest.raises(ResultsError, match="not a file of tools/counters"):
        load_counters(SYNTHETIC / "cold.json")


def test_crossover_is_interpolated_and_counts_from_the_right():
    assert crossover({1: 4.0, 4: 4.0, 16: 4.0}, {1: 1.0, 4: 4.0, 16: 16.0}) == pytest.approx(4.0)
    assert crossover({10: 1.0, 1000: 1.0}, {10: 0.1, 1000: 10.0}) == pytest.approx(100.0)
    assert crossover({10: 1.0, 20: 1.0}, {10: 2.0, 20: 3.0}) is None  # faster from the start
    assert crossover({10: 3.0, 20: 3.0}, {10: 2.0, 20: 2.0}) is None  # never faster
    assert crossover({1: 3.0, 2: 1.0, 4: 3.0}, {1: 2.0, 2: 2.0, 4: 2.0}) is None  # faster only in between
    assert crossover({}, {}) is None


@pytest.mark.parametrize("path", sorted(SYNTHETIC.glob("*.json")), ids=lambda path: path.name)
def test_synthetic_results_match_the_schema(path):
    """Committed ones do so as scripts/check_results.py says."""
    schema = jsonschema.Draft202012Validator(results.read_json(ROOT / "runner" / "record" / "results.schema.json"))
    if results.read_file(path).is_results:
        assert [f"{error.json_path}: {error.message}" for error in schema.iter_errors(results.read_json(path))] == []


def test_an_interval_of_the_median_takes_six_samples():
    assert [results.least_samples(confidence) for confidence in (0.75, 0.9, 0.95)] == [3, 5, 6]
