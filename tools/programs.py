"""Programs with cuBLAS and with libsgemm in front of it: the files that examples/measure.py wrote."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from tools.forms import Form, duration, error_size, hundredths, significant, whole
from tools.results import NotMeasured, ResultsError, read_json

MODES = {"cublas": "cuBLAS", "tf32": "cuBLAS in TF32", "fp32": "`fp32`", "componentwise": "`componentwise`"}
MODES |= {"normwise": "`normwise`", "rowwise": "`rowwise`"}

Runs = Mapping[str, list[dict]]


def load_runs(folder: Path, file: str) -> Runs:
    """The runs of a file by mode, those that left a result. Raises NotMeasured where there is no file."""
    path = folder / file
    if not path.exists():
        raise NotMeasured(f"there is no {path.name} in {folder.name}")
    document = read_json(path)
    if not isinstance(document, dict) or not isinstance(document.get("runs"), list):
        raise ResultsError(f"{path} was not written by examples/measure.py: it has no runs")
    runs: dict[str, list[dict]] = defaultdict(list)
    for run in document["runs"]:
        if run["result"] is not None:
            runs[run["mode"]].append(run)
    return runs


def settled(times: list[float]) -> float:
    """The median without the first quarter, in which code is loaded and memory found."""
    return median(times[len(times) // 4 :])


class Quantity(NamedTuple):
    """A row of the table: what it is, in which file, how it comes from a run's result, and how it is written. A time
    is shown beside its ratio to cuBLAS's."""

    title: str
    file: str
    value: Callable[[dict], float]
    form: Form
    is_time: bool = False


QUANTITIES = (
    Quantity("GPT: a step of the training", "gpt.json", lambda r: 1e3 * settled(r["step_ms"]), duration, True),
    Quantity("GPT: loss of the last step", "gpt.json", lambda r: r["loss"][-1], lambda v: significant(v, 4)),
    Quantity("GPT: memory in use, GB", "gpt.json", lambda r: r["device_used_bytes"] / 1e9, significant),
    Quantity("ViT: a batch", "vit.json", lambda r: 1e3 * settled(r["batch_ms"]), duration, True),
    Quantity("ViT: error of the scores", "vit.json", lambda r: r["error"], error_size),
    Quantity("CuPy: a product at 8192", "cupy.json", lambda r: 1e3 * r["sizes"]["8192"]["ms"], duration, True),
    Quantity("CuPy: its error", "cupy.json", lambda r: r["sizes"]["8192"]["error"], error_size),
    Quantity(
        "Gram matrix: largest relative error of an eigenvalue",
        "solver.json",
        lambda r: r["gram"]["largest_relative_error"],
        error_size,
    ),
    Quantity("Gram matrix: negative eigenvalues", "solver.json", lambda r: r["gram"]["negative_eigenvalues"], whole),
    Quantity("Newton's iteration: residual", "solver.json", lambda r: min(r["newton"]["residuals"]), error_size),
)


def medians(runs: Runs, value: Callable[[dict], float]) -> dict[str, float]:
    """The median over the runs of each mode, in the order of MODES."""
    return {mode: median(value(run["result"]) for run in runs[mode]) for mode in MODES if runs.get(mode)}


def gain(folder: Path, mode: str) -> float:
    """The time of a step with cuBLAS over that in a mode, in the long training, whose losses are shown."""
    of_mode = medians(load_runs(folder, "curves.json"), QUANTITIES[0].value)
    if mode not in of_mode or "cublas" not in of_mode:
        raise ResultsError(f"curves.json has no run of {mode} beside cublas")
    return of_mode["cublas"] / of_mode[mode]


def program_rows(folder: Path) -> list[list[str]]:
    """A row for each quantity and a column for each mode. A mode that a program did not run has no text."""
    rows = []
    for quantity in QUANTITIES:
        values = medians(load_runs(folder, quantity.file), quantity.value)
        cells = {mode: quantity.form(value) for mode, value in values.items()}
        if quantity.is_time and "cublas" in values:
            for mode in cells.keys() - {"cublas"}:
                cells[mode] += f" ({hundredths(values['cublas'] / values[mode])} times as fast)"
        rows.append([quantity.title, *(cells.get(mode, "") for mode in MODES)])
    return rows


def error_rows(folder: Path) -> list[list[str]]:
    """The relative errors of torch_check.py: a row for each call of PyTorch and a column for each mode."""
    runs = load_runs(folder, "check.json")
    names = dict.fromkeys(name for of_mode in runs.values() for run in of_mode for name in run["result"]["errors"])
    rows = []
    for name in names:
        values = medians(runs, lambda result, name=name: result["errors"][name]["relative"])
        rows.append([name, *(error_size(values[mode]) if mode in values else "" for mode in MODES)])
    return rows


class LossCurve(NamedTuple):
    """The losses of a training, step by step."""

    mode: str
    seed: int
    losses: list[float]


def loss_curves(folder: Path) -> list[LossCurve]:
    """Those of the files curves*.json, in the order of the files' names. None where there are no such files."""
    return [
        LossCurve(mode, run["result"]["seed"], run["result"]["loss"])
        for path in sorted(folder.glob("curves*.json"))
        for mode, of_mode in load_runs(folder, path.name).items()
        for run in of_mode
    ]


LAST_STEPS = 100


def curve_rows(folder: Path) -> list[list[str]]:
    """How far the losses of each training are from those of the first one with cuBLAS: at the step where they are
    furthest apart, and on average over the last steps. Raises NotMeasured where there are no such files."""
    curves = loss_curves(folder)
    reference = next((curve for curve in curves if curve.mode == "cublas"), None)
    if reference is None:
        raise NotMeasured(f"there are no losses of a training with cuBLAS in {folder.name}")
    rows = []
    for curve in curves:
        apart = [abs(mine - its) for mine, its in zip(curve.losses, reference.losses, strict=False)]
        distances = ["", ""] if curve is reference else [error_size(max(apart)), error_size(mean(apart[-LAST_STEPS:]))]
        last = significant(curve.losses[-1], 5)
        rows.append([MODES[curve.mode], str(curve.seed), str(len(curve.losses)), last, *distances])
    return rows
