"""The examples as far as they run without a GPU: their arguments, and the driver that runs them in turns."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import cupy_matmul
import example_results
import host_time
import infer_vit
import jax_matmul
import measure
import numba_matmul
import same_bits
import solver
import torch_check
import train_gpt

EXAMPLES = Path(measure.__file__).parent


@pytest.mark.parametrize(
    "example", [cupy_matmul, host_time, infer_vit, jax_matmul, numba_matmul, same_bits, solver, torch_check, train_gpt]
)
def test_arguments(example, tmp_path):
    assert example.parse([]).out is None
    assert example.parse(["--out", str(tmp_path / "x.json")]).out == tmp_path / "x.json"


def test_numba_in_its_simulator(tmp_path):
    pytest.importorskip("numba")
    command = [sys.executable, EXAMPLES / "numba_matmul.py", "--size", "33", "--out", tmp_path / "x.json"]
    subprocess.run(command, check=True, env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"})
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["error"] < 1e-6


@pytest.mark.parametrize(
    ("example", "arguments", "text"),
    [
        (train_gpt, ["--steps", "0"], "--steps: '0' is no whole number above 0"),
        (train_gpt, ["--width", "100"], "--width 100 is no multiple of 64"),
        (train_gpt, ["--words", "40000"], "--words 40000 are more than the model has: --vocabulary 32000"),
        (infer_vit, ["--width", "100"], "--width 100 is no multiple of 64"),
        (same_bits, ["--modes", "cublas,fast"], "fast: give some of cublas, fp32"),
        (cupy_matmul, ["--out", "/dev/null"], "/dev/null is no file in a folder that can be written"),
        (measure, ["--out", "/none/x.json", "solver.py"], "/none/x.json is no file in a folder that can be written"),
        (measure, ["--out", ".", "solver.py"], ". is no file in a folder that can be written"),
        (cupy_matmul, ["--sizes", "x"], "--sizes: 'x' is no whole number above 0"),
        (measure, ["--out", "x", "--modes", "cublas,fast", "solver.py"], "'fast' is none of cublas, tf32, fp32"),
        (measure, ["--out", "x", "--modes", "cublas", "none.py"], "there is no example"),
        (measure, ["--out", "x", "--preload", "/none.so", "solver.py"], "there is no /none.so: build the target"),
        (measure, ["--modes", "cublas", "solver.py"], "required: --out"),
    ],
)
def test_wrong_arguments_are_named(example, arguments, text, capsys):
    with pytest.raises(SystemExit) as stopped:
        example.parse(arguments)
    assert stopped.value.code == 2
    assert text in capsys.readouterr().err


def test_every_example_says_what_it_needs():
    others = ("example_results.py", "measure.py", "triton_matmul.py")
    examples = [path for path in EXAMPLES.glob("*.py") if path.name not in others]
    assert len(examples) == 9
    for path in examples:
        assert "\nNeeds " in path.read_text(), path.name
        shown = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True, check=True).stdout
        assert "--out OUT" in shown


@pytest.mark.parametrize("example", [cupy_matmul, host_time, infer_vit, jax_matmul, solver, torch_check, train_gpt])
def test_a_missing_package_is_named(example):
    package = {cupy_matmul: "cupy", jax_matmul: "jax"}.get(example, "torch")
    path = Path(example.__file__)
    bare = subprocess.run([sys.executable, "-S", "-E", path], capture_output=True, text=True, check=False)
    assert bare.returncode == 2
    assert bare.stderr.startswith(f"{path.name} needs {package}: pip install {package}")
    assert bare.stderr.count("\n") == 1


RUN = """
import json, os, sys
out = sys.argv[sys.argv.index("--out") + 1]
names = ("LD_PRELOAD", "SGEMM_ACCURACY")
json.dump({"arguments": sys.argv[1:-2], "variables": {n: os.environ.get(n) for n in names}}, open(out, "w"))
if path := os.environ.get("SGEMM_LOG"):
    open(path, "w").write(open(os.path.dirname(__file__) + "/log").read())
sys.exit(3 if os.environ.get("SGEMM_ACCURACY") == "normwise" else 0)
"""
LOG = """\
# libsgemm_cublas: process 7, SGEMM_ACCURACY=componentwise; us is the mean of the timed calls
   calls  timed          us    total_ms  function          ops   m   n   k  batch  by         why
       3      2       100.5       0.302  cublasSgemm       NT    2   3   4      5  11_bf16x6  predicted 9 us, cuBLAS 20
"""


def test_modes_take_turns(tmp_path, monkeypatch, capfd):
    (tmp_path / "run.py").write_text(RUN)
    (tmp_path / "log").write_text(LOG)
    preload = tmp_path / "preload.so"
    preload.write_text("")
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("SGEMM_ACCURACY", "of the caller")
    out = tmp_path / "out.json"
    options = ["--modes", "cublas,tf32,normwise", "--rounds", "2", "--preload", str(preload), "--out", str(out)]
    assert measure.main([*options, str(tmp_path / "run.py"), "--size", "5"]) == 1
    assert "run.py failed with normwise: status 3" in capfd.readouterr().err

    written = json.loads(out.read_text())
    runs = written["runs"]
    assert written["arguments"] == ["--size", "5"]
    assert written["commit"]
    modes = ["cublas", "tf32", "normwise"]
    assert [(run["round"], run["mode"]) for run in runs] == [(1, m) for m in modes] + [(2, m) for m in modes[::-1]]
    cublas, tf32, normwise = runs[:3]
    assert cublas["result"] == {"arguments": ["--size", "5"], "variables": {"LD_PRELOAD": None, "SGEMM_ACCURACY": None}}
    assert cublas["calls"] == []
    assert tf32["result"]["arguments"] == ["--size", "5", "--tf32"]
    assert normwise["result"]["variables"] == {"LD_PRELOAD": str(preload), "SGEMM_ACCURACY": "normwise"}
    assert [run["status"] for run in runs[:3]] == [0, 0, 3]
    [call] = normwise["calls"]
    assert call == {
        **{"calls": 3, "timed": 2, "us": 100.5, "total_ms": 0.302, "function": "cublasSgemm", "ops": "NT"},
        **{"m": 2, "n": 3, "k": 4, "batch": 5, "by": "11_bf16x6", "why": "predicted 9 us, cuBLAS 20"},
    }


def test_results_name_no_folder_of_a_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", "/home/somebody/libsgemm_cublas.so")
    torch = SimpleNamespace(
        __name__="torch",
        __version__="2.11",
        version=SimpleNamespace(cuda="13.0"),
        cuda=SimpleNamespace(get_device_name=lambda: "a GPU"),
    )
    example_results.write_results(tmp_path / "results.json", torch, {"error": 0.5})
    assert json.loads((tmp_path / "results.json").read_text()) == {
        "error": 0.5,
        "circumstances": {"device": "a GPU", "torch": "2.11", "cuda": "13.0", "preload": "libsgemm_cublas.so"},
    }
    example_results.write_results(None, torch, {})


def test_results_are_written_whole(tmp_path):
    path = tmp_path / "results.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        example_results.write_json(path, {"values": object()})
    assert path.read_text() == "old"
    example_results.write_json(path, {"values": [1, 2]})
    assert json.loads(path.read_text()) == {"values": [1, 2]}
    assert list(tmp_path.iterdir()) == [path]
