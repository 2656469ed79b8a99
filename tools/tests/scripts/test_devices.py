"""A contributed board: the quick start leaves a folder that is accepted. What the runner measured on an H100 stands for
what it would measure here."""

from conftest import ROOT, edit, fake
from test_shell import quick_start, suite
from tools import check_results

H100 = ROOT / "results" / "nvidia-h100-80gb-hbm3"


def test_the_quick_start_leaves_a_folder_that_is_accepted(tmp_path, capsys):
    smi = "case $* in *compute_cap*) echo 9.0 ;; *) echo NVIDIA H100 80GB HBM3 ;; esac"
    copy = f'out="${{@: -1}}"\n[ ! -e "{H100}/${{out##*/}}" ] || cp "{H100}/${{out##*/}}" "$out"'
    root = suite(tmp_path / "suite", copy, smi)
    fake(root / "bin", "nvcc", "")
    package = root / "library" / "python" / "sgemm"
    package.mkdir(parents=True)
    calibrate = f"import shutil, sys\nshutil.copy({str(H100 / 'calibration.txt')!r}, sys.argv[-1])"
    (package / "__main__.py").write_text(calibrate, encoding="utf-8")
    done = quick_start(root)
    assert done.returncode == 0, done.stderr
    (folder,) = (root / "build" / "measurements").glob("*/*")
    assert f"scripts/check_results.py build/{folder.relative_to(root / 'build')}" in done.stderr
    assert folder.name == H100.name
    assert {"cold.json", "calibration.txt", "charts"} <= {path.name for path in folder.iterdir()}
    assert check_results.main([str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder}: every rule is kept\n"
    edit(folder / "cold.json", lambda document: document["context"]["device"].update(multiprocessors=1))
    assert check_results.main([str(folder)]) == 1, "its peaks follow from the multiprocessors"
