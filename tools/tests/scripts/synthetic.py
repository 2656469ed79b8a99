"""Results of a GPU that does not exist, for the tests: those of the H200, of some kernels and with few samples. None
says that a clock was lowered, and turns back to back come from a simple model."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tools import ROOT
from tools.results import without_times

H200 = ROOT / "results" / "nvidia-h200"
NEVER = {"date": "2000-01-01T00:00:00+00:00", "git_commit": "0" * 40, "git_dirty": False}
MODES = ("check", "count", "accuracy", "profile", "energy", "sustain")

SAMPLES = 5
SIZES = (256, 512, 1024, 2048, 4096, 8192)
COUNTED = ("01_naive", "02_smem_tiled", "07_warptile_hilbert")
CHAPTERS = (*COUNTED, "01_naive:uncoalesced", "02_smem_tiled:numba_mapping", "02_smem_tiled:tile16")
CHAPTERS += ("03_smem_strip_tiled", "04_smem_register_tiled", "05_coarse_1d", "06_coarse_2d")
CHAPTERS += ("06_coarse_2d:vectorized", "07_warptile_hilbert:row_order")
ON_GPU = ("cublas", "cublaslt_best", "cublas_tf32", *CHAPTERS)
CPU = ("cpu_naive", "cpu_blas")


def of_h200(name: str, folder: Path = H200) -> dict:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def context(name: str, schema_version: int = 1, **protocol) -> dict:
    """Of schema 1, from before there were modes."""
    made = of_h200(name)["context"] | NEVER | {"schema_version": schema_version, "cpu": "Synthetic CPU"}
    device = {"name": "Synthetic GPU", "memory_bytes": 100 << 30, "driver": "000.00 (synthetic)"}
    device |= {"max_memory_clock_mhz": 2600, "memory_bus_bits": 5120, "dram_peak_gbytes_s": 3328.0}
    made["device"] |= device | {"dram_peak_basis": "2 x 2600 MHz x 5120 bits"}
    made["protocol"] = {name: value for name, value in made["protocol"].items() if name not in MODES}
    made["protocol"] |= {"min_samples": SAMPLES, "max_samples": SAMPLES} | protocol
    return made


def cases(name: str, kernels: Iterable[str], sizes: Iterable[int] = SIZES) -> list[dict]:
    found = [r for r in of_h200(name)["benchmarks"] if r["kernel"] in kernels and r["m"] in sizes]
    for case in found:
        case |= {"throttled": False, "telemetry": None}
        case.pop("trace", None)
        case |= {field: case[field][:SAMPLES] for field in ("samples_us", "cublas_samples_us") if field in case}
    return found


def counters() -> dict:
    """What tools/counters.py writes: those of the H200."""
    document = of_h200("counters")
    document["context"] |= {"device": "Synthetic GPU", **NEVER}
    for part in ("kernels", "derived"):
        document[part] = {kernel: of for kernel, of in document[part].items() if kernel in CHAPTERS}
    del document["launches"]
    return document


def counted() -> list[dict]:
    """What the runner writes of kernels that it counted."""
    cases = of_h200("counts_4096", H200.parent / "cpu-executor")["benchmarks"]
    for case in (cases := [case for case in cases if case["kernel"] in COUNTED]):
        case["counts"]["gpu_model"] |= {"id": "synthetic", "name": "Synthetic GPU"}
    return cases


def turn(gflops: float, size: int, watts: float, seconds: float) -> dict:
    """Launches back to back on a GPU whose clock falls in the first half of the time."""
    launch_us = 2 * size**3 / gflops / 1e3
    launches = max(1, round(seconds * 25e3 / launch_us))  # of a batch
    batches = round(seconds * 1e6 / (launches * launch_us)) or 1
    points = range(0, round(seconds * 1e3) + 1, round(seconds * 50))
    samples = {"ms": [*points], "sm_clock_mhz": [1500 if 2 * ms < seconds * 1e3 else 1900 for ms in points]}
    samples |= {"power_w": [watts] * len(points), "temperature_c": [50] * len(points)}
    trace = {"mean_sm_clock_mhz": 1700.0, "mean_power_w": watts, "power_is": "instant", "no_energy": ""}
    trace |= {"throttled_share": 0.5, "throttle_shares": {"sw_power_cap": 0.5}, "samples": samples}
    trace["reasons"] = [{"sample": 0, "reasons": ["sw_power_cap"]}, {"sample": len(points) // 2, "reasons": []}]
    made = {"seconds": batches * launches * launch_us / 1e6, "launches": batches * launches, "launch_us": launch_us}
    made |= {"gflops": gflops, "joules_per_product": watts * launch_us / 1e6, "gflops_per_watt": gflops / watts}
    made |= {"watts": watts, "cut_short": False, "trace": trace}
    made["energy"] = {"source": "counter", "from_s": 0.1, "to_s": 0.9, "joules": watts * 0.8, "uncertainty": 0.012}
    return made | {"launches_per_batch": launches, "batch_us": [round(launches * launch_us, 3)] * batches}


def with_energy(case: dict) -> dict:
    """As `runner --energy` writes it: each kernel draws 10 W for each TFLOP/s, and 150 W besides."""
    speeds = {"kernel": case["gflops"], "cublas": 2 * case["m"] ** 3 / case["cublas_alone_us"] / 1e3}
    return case | {"energy": {name: turn(speed, case["m"], 150 + speed / 100, 1.0) for name, speed in speeds.items()}}


def sustained(case: dict) -> dict:
    """What `runner --sustain 20` writes of a case."""
    idle = {"seconds": 4.5, "from_c": 60, "to_c": 42}
    speeds = {"kernel": case["gflops"], "cublas": 5e4}
    turns = {name: turn(speed, case["m"], 640.0, 20.0) for name, speed in speeds.items()}
    turns |= {"asked_s": 20.0, "cool_downs": {"before_kernel": idle, "before_cublas": idle}}
    made = without_times(case) | {"outcome": "sustained", "throttled": True, "sustained": turns}
    return made | {"run_type": "aggregate", "time_unit": "none"}


def write_results(folder: Path) -> Path:
    """Writes what results/<device>/ holds, and what the executor counted."""
    errors = [case for case in of_h200("accuracy")["benchmarks"] if case["kernel"] in (*ON_GPU, *CPU)]
    kinds = {"accuracy": True, "data": list(dict.fromkeys(case["data"] for case in errors))}
    energy = {"energy": True, "energy_s": 1.0, "sustain": False}
    turns = {"energy": False, "sustain": True, "sustain_s": 20.0, "cool_kelvin": 2, "cool_s": 60.0}
    burst, copies = (256, 4096), (16, 32, 64, 512, 1024, 4096, 10000)
    files = {
        "cold": (context("cold"), [*cases("cold", ON_GPU), *cases("cold", CPU, burst)]),
        "warm": (context("warm"), cases("warm", ON_GPU, burst)),
        "end-to-end": (context("end-to-end"), cases("end-to-end", ("cublas", "01_naive", *CPU), copies)),
        "counts_4096": (context("cold") | {"device": None}, counted()),
        "accuracy": (context("accuracy", **kinds), errors),
        "energy": (context("cold", 2, **energy), [*map(with_energy, cases("cold", ON_GPU, (1024, 4096)))]),
        "sustained": (
            context("warm", 2, **turns),
            [*map(sustained, cases("cold", ("cublas", "07_warptile_hilbert"), (8192,)))],
        ),
    }
    listed = [chapter for chapter in of_h200("kernels") if chapter["id"] in ON_GPU]
    documents = {"counters": counters(), "kernels": listed}
    documents |= {n: {"context": c, "interrupted": False, "benchmarks": of} for n, (c, of) in files.items()}
    folder.mkdir()
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return folder


_MADE = tempfile.TemporaryDirectory()  # goes with the interpreter
SYNTHETIC = write_results(Path(_MADE.name) / "synthetic-gpu")
