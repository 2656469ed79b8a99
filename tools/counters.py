"""Collects hardware counters of the chapters' kernels, which the runner reads with Nsight Compute, in one file.

    python -m tools.counters --build build --out results/nvidia-h200/counters.json
    python -m tools.counters --build build 05_coarse_1d 06_coarse_2d:vectorized

Runs on a machine with the GPU, `ncu` and nothing else but Python's standard library. `runner --profile` profiles each
kernel in one product, as itself, at the clocks it finds and with the caches emptied before each pass of the profiler.
Of a product with several launches, `kernels` and `derived` have the one that takes longest, and `launches` has what is
derived for each, with its function. A metric that this version of `ncu` rejects is left out, and listed in the file.

Exit status: 0 every kernel was profiled, 1 some could not be, 2 bad input.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

USAGE_ERROR = 2  # of the runner


class ProfileError(Exception):
    """Kernels that could not be profiled; the message is one line."""


def profile(runner: Path, kernels: Sequence[str], size: int) -> dict:
    """The results file of a run of the runner. What it prints goes to standard output."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        command = [str(runner), "--profile", "--kernel", ",".join(kernels), "--sizes", str(size), "--no-verify"]
        done = subprocess.run([*command, "--out", str(results)], check=False)
        if done.returncode == USAGE_ERROR or not results.exists():
            raise ProfileError("the runner did not start, as it says above")
        return json.loads(results.read_text(encoding="utf-8"))


def document_of(results: dict, size: int) -> dict:
    """What the runner found, by kernel."""
    context = results["context"]
    device = context.get("device") or {}
    document = {"schema_version": 1, "context": {}, "kernels": {}, "derived": {}, "launches": {}}
    profiles = {case["kernel"]: case["profile"] for case in results["benchmarks"] if "profile" in case}
    for kernel, found in profiles.items():
        launch = max(found["launches"], key=lambda launch: launch["derived"]["time_us"] or 0)
        document["kernels"][kernel] = launch["counters"]
        document["derived"][kernel] = launch["derived"]
        if len(found["launches"]) > 1:
            document["launches"][kernel] = [
                {"function": launch["function"], "derived": launch["derived"]} for launch in found["launches"]
            ]
    document["context"] = {
        "device": device.get("name", "unknown"),
        "compute_capability": device.get("compute_capability", "unknown"),
        "driver": device.get("driver", "unknown"),
        "ncu": next((found["ncu"] for found in profiles.values()), "unknown"),
        "size": size,
        "date": context["date"],
        "git_commit": context.get("git_commit", "unknown"),
        "git_dirty": context.get("git_dirty", False),
        "dropped_metrics": sorted({metric for found in profiles.values() for metric in found["dropped_metrics"]}),
    }
    return document


def write_atomically(path: Path, document: dict) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "kernels", nargs="*", metavar="ID", help="as --kernel takes them (default: chapters, with their variants)"
    )
    parser.add_argument("--build", type=Path, default=Path("build"), help="folder with the runner (default: build)")
    parser.add_argument("--size", type=int, default=4096, help="M = N = K (default: 4096)")
    parser.add_argument("--out", type=Path, default=Path("counters.json"), help="default: counters.json")
    options = parser.parse_args(arguments)
    if options.size < 1:
        parser.error("--size takes a number above 0")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    runner = (options.build / "runner").resolve()
    if not os.access(runner, os.X_OK):
        print(f"counters.py: there is no program {runner}", file=sys.stderr)
        return 2
    try:
        results = profile(runner, options.kernels or ["chapters"], options.size)
        document = document_of(results, options.size)
        if document["kernels"]:
            write_atomically(options.out, document)
            print(options.out)
    except (ProfileError, OSError) as error:
        print(f"counters.py: {error}", file=sys.stderr)
        return 2
    missing = [case for case in results["benchmarks"] if "profile" not in case]
    for case in missing:
        print(f"{case['kernel']}: {case['reason']}", file=sys.stderr)
    return 1 if missing or not document["kernels"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
