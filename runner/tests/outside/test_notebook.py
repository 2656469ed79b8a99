"""The notebook runs from top to bottom, and prints what it was committed with."""

from __future__ import annotations

import re
import shutil

import nbclient
import nbformat

from runs import BUILD, HANGS, ROOT, needs_runner

pytestmark = needs_runner

NOTEBOOK = ROOT / "examples" / "first_kernels.ipynb"


def printed(notebook) -> dict[str, str]:
    """What each cell printed. Which thread a check finds first is not always the same."""
    outputs = {}
    for cell in notebook.cells:
        text = "".join(output["text"] for output in cell.get("outputs", []))
        outputs[cell.source] = re.sub(r"block .*?, my\.cu|row \d+, column \d+", "...", text)
    return outputs


def test_the_notebook_prints_what_it_was_committed_with(tmp_path, monkeypatch):
    monkeypatch.setenv("SGEMM_BUILD", str(BUILD))
    committed = printed(nbformat.read(NOTEBOOK, as_version=4))
    folder = shutil.copytree(NOTEBOOK.parent, tmp_path / "examples")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    limits = dict.fromkeys(("timeout", "startup_timeout", "iopub_timeout"), HANGS)  # outputs that come late count too
    client = nbclient.NotebookClient(notebook, **limits, resources={"metadata": {"path": str(folder)}})
    found = printed(client.execute())
    has_gpu = next(source for source in found if source.startswith("if has_gpu"))
    if "no GPU" not in found[has_gpu]:  # where there is one, its speeds are what nobody can know
        assert "TFLOP/s" in found.pop(has_gpu)
        del committed[has_gpu]
    assert found == committed
