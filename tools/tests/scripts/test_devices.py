"""A contributed board: the quick start leaves a folder that is accepted, and the page of devices lists the board."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import ROOT, committed_results, edit
from stand_ins import A100, HOST, RTX_4090, Board, write
from test_shell import fake, quick_start, suite
from tools import check_results
from tools.fleet import slug

BOARDS = (A100, RTX_4090)


def quickstart(board: Board, tmp_path: Path) -> Path:
    """What the quick start leaves where this board is: the runner copies a stand-in."""
    stand_in = tmp_path / "stand-in"
    write(board, stand_in)
    smi = f"case $* in *compute_cap*) echo {board.compute_capability} ;; *) echo {board.name} ;; esac"
    copy = f'out="${{@: -1}}"\n[ ! -e "{stand_in}/${{out##*/}}" ] || cp "{stand_in}/${{out##*/}}" "$out"'
    root = suite(tmp_path / "suite", copy, smi)
    fake(root / "bin", "nvcc", "")
    package = root / "library" / "python" / "sgemm"
    package.mkdir(parents=True)
    calibrate = f"import shutil, sys\nshutil.copy({str(stand_in / 'calibration.txt')!r}, sys.argv[-1])"
    (package / "__main__.py").write_text(calibrate, encoding="utf-8")
    done = quick_start(root)
    assert done.returncode == 0, done.stderr
    (folder,) = (root / "build" / "measurements").glob("*/*")
    assert f"scripts/check_results.py build/{folder.relative_to(root / 'build')}" in done.stderr
    return folder


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: slug(board.name))
def test_the_quick_start_leaves_a_folder_that_is_accepted(board, tmp_path, capsys):
    folder = quickstart(board, tmp_path)
    assert folder.name == slug(board.name)
    assert {"cold.json", "calibration.txt", "charts"} <= {path.name for path in folder.iterdir()}
    assert check_results.main([str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder}: every rule is kept\n"
    edit(folder / "cold.json", lambda document: document["context"]["device"].update(multiprocessors=1))
    assert check_results.main([str(folder)]) == 1, "its peaks follow from the multiprocessors"


def test_no_stand_in_is_among_the_results():
    files = [path for path in committed_results() if path.name != "kernels.json"]
    hosts = {json.loads(path.read_text(encoding="utf-8")).get("context", {}).get("host_name") for path in files}
    assert "vm" in hosts
    assert HOST not in hosts
    page = (ROOT / "docs" / "devices.md").read_text(encoding="utf-8")
    assert not [board.name for board in BOARDS if board.name in page]
