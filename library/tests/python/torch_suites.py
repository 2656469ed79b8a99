#!/usr/bin/env python3
"""Runs pieces of PyTorch's own test suites on a GPU with cuBLAS and with sgemm.torch, and compares what passes.

PyTorch's test files are not in its package: get test/test_linalg.py, test_nn.py, test_torch.py and test_matmul_cuda.py
from https://github.com/pytorch/pytorch, best of the installed version. What files of another version import in vain is
replaced by something that does nothing: their tests may fail, with cuBLAS as well. Needs expecttest.

    library/tests/python/torch_suites.py FOLDER --out suites.json
    library/tests/python/torch_suites.py FOLDER --accuracies normwise --list

Exits with 1 if a test that passes with cuBLAS does not pass with the switch on.
"""

import argparse
import collections
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[3] / "library" / "python"

# Tests about products. They have the device's name at their end, but for those of test_nn.
CHOSEN = {
    "test_linalg.py": r"(?i)(matmul|mm_|_mm\b|addmm|addbmm|bmm|baddbmm|einsum|linear_algebra|multi_dot|chain|"
    r"tensordot|inner|outer|addmv|addr|dot|matrix_power|strided_mm|blas|gemm).*cuda",
    "test_torch.py": r"(?i)(addmm|bmm|matmul|_mm_|cdist|cov|corrcoef|cublas).*cuda",
    "test_nn.py": r"(?i)(linear|bilinear|multihead|transformer|rnn_retain).*",
    "test_matmul_cuda.py": r"(?i)(cublas|addmm|mm_|matmul|gemm).*cuda",
}
# Those that measure memory or time, or need several GPUs.
LEFT_OUT = r"(?i)large|64bit|memory|tunable|multigpu|nondeterministic_alert|scaled|grouped|fp8|int4|int8|int_mm|rowwise"


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compares what passes of PyTorch's suites with and without it.")
    parser.add_argument("folder", type=Path, help="with PyTorch's test files")
    parser.add_argument("--accuracies", default="componentwise,normwise", help="to compare with cuBLAS")
    parser.add_argument("--files", default=",".join(CHOSEN), help="of the suites, between commas")
    parser.add_argument("--only", default="", help="of the tests' names, by a regular expression: float32$")
    parser.add_argument("--seconds", type=int, default=600, help="limit of one run (600)")
    parser.add_argument("--list", action="store_true", help="list the tests, and run none")
    parser.add_argument("--out", type=Path, help="writes all outcomes into this JSON file")
    parser.add_argument("--run", help=argparse.SUPPRESS)  # in a process of its own: an accuracy, or cublas
    options = parser.parse_args(arguments)
    for name in options.files.split(","):
        if not (options.folder / name).is_file():
            parser.error(f"there is no {options.folder / name}")
    return options


class Missing:
    """What the installed version does not have: a decorator, a function or a list that does nothing."""

    def __call__(self, *arguments, **_):
        return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else self

    def __iter__(self):
        return iter(())

    def __add__(self, other):
        return other

    __radd__ = __add__

    def __bool__(self):
        return False


def imported(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    while True:
        try:
            spec.loader.exec_module(module)
            return module
        except ImportError as error:
            name = re.match(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
            if name is None or hasattr(sys.modules[name[2]], name[1]):
                raise
            print(f"{path.name}: {name[2]} has no {name[1]}", file=sys.stderr)
            setattr(sys.modules[name[2]], name[1], Missing())


def tests_of(path: Path, only: str) -> list[unittest.TestCase]:
    module = imported(path)
    classes = [of for of in vars(module).values() if isinstance(of, type) and issubclass(of, unittest.TestCase)]
    names = re.compile(CHOSEN[path.name])
    return [
        test
        for of in classes
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(of)
        if names.search(test._testMethodName)
        and re.search(only, test._testMethodName)
        and not re.search(LEFT_OUT, test.id())
    ]


class Outcomes(unittest.TestResult):
    """What became of each test, written as soon as it is known: a test may end the process."""

    def __init__(self, out: io.TextIOBase):
        super().__init__()
        self.out = out

    def write(self, test: unittest.TestCase, outcome: str, why: str = "") -> None:
        self.out.write(json.dumps([test.id(), outcome, why[-400:]]) + "\n")
        self.out.flush()

    def addSuccess(self, test):
        self.write(test, "passed")

    def addExpectedFailure(self, test, err):
        self.write(test, "passed")

    def addUnexpectedSuccess(self, test):
        self.write(test, "failed", "passed, which was not expected")

    def addSkip(self, test, reason):
        self.write(test, "skipped", reason)

    def addFailure(self, test, err):
        self.write(test, "failed", self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self.write(test, "failed", self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.write(test, "failed", self._exc_info_to_string(err, test))


def run_here(options: argparse.Namespace) -> int:
    """The tests of one file, in this process."""
    if options.run != "cublas":
        import sgemm.torch

        sgemm.torch.enable(options.run)
    [name] = options.files.split(",")
    tests = tests_of(options.folder / name, options.only)
    if options.list:
        print("\n".join(test.id() for test in tests))
        return 0
    with options.out.open("w") as out:
        outcomes = Outcomes(out)
        for test in tests:
            test(outcomes)
    if options.run != "cublas":
        from sgemm import drop_in

        calls = drop_in.calls()
        by_library = sum(line.calls for line in calls if line.by != "cublas")
        print(f"{by_library} of {sum(line.calls for line in calls)} products by libsgemm")
    return 0


def run(options: argparse.Namespace, name: str, accuracy: str) -> dict[str, tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "outcomes"
        command = [sys.executable, __file__, str(options.folder), "--files", name, "--only", options.only]
        command += ["--run", accuracy, "--out", str(out)]
        paths = [str(LIBRARY), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTORCH_TEST_WITH_SLOW": "0"}
        start = time.perf_counter()
        try:
            result = subprocess.run(command, env=environment, timeout=options.seconds, capture_output=True, text=True)
            ended = "" if result.returncode == 0 else f", ended with {result.returncode}: {result.stderr[-1500:]}"
            ended += f", {result.stdout.strip()[-200:]}" if result.stdout else ""
        except subprocess.TimeoutExpired:
            ended = f", stopped after {options.seconds} s"
        lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    outcomes = {}
    for test, outcome, why in lines:
        if outcomes.get(test, ("",))[0] != "failed":
            outcomes[test] = (outcome, why)
    counts = dict(collections.Counter(outcome for outcome, _ in outcomes.values()))
    print(f"{name}, {accuracy}: {counts}, {time.perf_counter() - start:.0f} s{ended}", flush=True)
    return outcomes


def main() -> int:
    options = parse()
    if options.run:
        return run_here(options)
    if options.list:
        for name in options.files.split(","):
            one = argparse.Namespace(**vars(options) | {"files": name, "run": "cublas"})
            run_here(one)
        return 0
    written, lost = {}, []
    for name in options.files.split(","):
        off = run(options, name, "cublas")
        written[name] = {"cublas": off}
        for accuracy in options.accuracies.split(","):
            on = written[name][accuracy] = run(options, name, accuracy)
            for test, (outcome, _) in off.items():
                found, why = on.get(test, ("not run", ""))
                if outcome == "passed" and found != "passed":
                    lost.append(test)
                    print(f"  {accuracy}: {test} {found}: {why}", flush=True)
            passed_off = {test for test, (outcome, _) in off.items() if outcome == "passed"}
            gained = [test for test, (outcome, _) in on.items() if outcome == "passed" and test not in passed_off]
            if gained:
                print(f"  {accuracy}: passed only with the switch on: {', '.join(gained)}")
    if options.out:
        options.out.write_text(json.dumps(written, indent=1) + "\n")
    print(f"{len(lost)} tests pass with cuBLAS alone")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
