"""torch_programs.py with a package of a few lines in place of PyTorch: its turns, and programs that fail."""

import json

import pytest

import torch_programs

TORCH = """
import contextlib
class Anything:
    def __getattr__(self, name): return lambda *arguments, **named: self
    def __call__(self, *arguments): return self
    def item(self): return 0.5
cuda = _dynamo = Anything()
manual_seed = lambda seed: None
randn = lambda *shape, **named: Anything()
inference_mode = contextlib.nullcontext
"""


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder of modules that programs find before all others."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "torch.py").write_text(TORCH)
    (tmp_path / "timm.py").write_text("from torch import Anything\ncreate_model = lambda name: Anything()\n")
    (tmp_path / "gpytorch.py").write_text("raise ImportError('no gpytorch here')\n")
    return tmp_path


def test_steps_are_timed_and_what_is_missing_is_left_out(packages, capfd):
    out = packages / "out.json"
    options = ["--modes", "cublas", "--programs", "gp,convnext", "--rounds", "3", "--steps", "2", "--out", str(out)]
    assert torch_programs.main(options) == 0
    shown = capfd.readouterr().out
    assert "gp           left out: no gpytorch here\n" in shown
    assert shown.splitlines()[-1].startswith("convnext ")
    written = json.loads(out.read_text())["programs"]
    assert written["gp"] == {"missing": "no gpytorch here"}
    assert len(written["convnext"]["cublas"]["seconds"]) == 3 * 2
    assert written["convnext"]["cublas"]["value"] == 0.5


def test_one_that_fails_leaves_the_others(packages, capfd):
    (packages / "gpytorch.py").write_text("raise RuntimeError('no memory')\n")
    assert torch_programs.main(["--modes", "cublas", "--programs", "gp,convnext", "--rounds", "1"]) == 1
    shown = capfd.readouterr()
    assert "gp with cublas: RuntimeError('no memory')" in shown.err
    assert "\nconvnext " in shown.out


def test_a_process_that_ends_is_the_end(packages, capfd):
    (packages / "timm.py").write_text("import os\nos._exit(7)\n")
    assert torch_programs.main(["--modes", "cublas", "--programs", "convnext,gp"]) == 1
    shown = capfd.readouterr()
    assert "torch_programs: convnext with cublas ended with status 7\n" in shown.err
    assert "gp" not in shown.out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--programs", "llama,vit"], "'vit' is none of llama, bert, convnext, compiled, threads, gp"),
        (["--modes", "fast"], "'fast' is none of cublas"),
        (["--preload", "/none.so"], "there is no /none.so: build the target sgemm_cublas"),
    ],
)
def test_wrong_arguments_are_named(arguments, text, capsys):
    with pytest.raises(SystemExit) as stopped:
        torch_programs.main(arguments)
    assert stopped.value.code == 2
    assert text in capsys.readouterr().err
