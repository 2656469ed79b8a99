"""python -m sgemm, with a libsgemm and a driver that need no GPU."""

import ctypes
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sgemm.library
from sgemm import driver
from sgemm.commands import bench, info, main, products

pytest_plugins = ("fakes",)
PACKAGE = Path(sgemm.library.__file__).parents[1]


@pytest.fixture
def drop_in(fake_library, fake_drop_in_file, monkeypatch):
    monkeypatch.setenv("SGEMM_LIBRARY", fake_library)
    for name in ("LD_PRELOAD", "SGEMM_LOG", "SGEMM_ACCURACY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE))
    return fake_drop_in_file


def run(*arguments, folder=None, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "sgemm", "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, **options)


REPORT = """
import os, sys
print([os.environ.get(name) for name in ("LD_PRELOAD", "SGEMM_LOG", "SGEMM_ACCURACY")], sys.argv[1:], __name__)
sys.exit(7)
"""


def test_a_script_gets_the_drop_in_and_keeps_its_arguments_and_status(drop_in, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(REPORT)
    done = run(script, "--accuracy", "of the script", "-m", "x")
    assert done.stdout == f"{[drop_in, '1', None]} ['--accuracy', 'of the script', '-m', 'x'] __main__\n"
    assert done.returncode == 7


def test_options(drop_in, tmp_path):
    script = tmp_path / "train.py"
    script.write_text(REPORT)
    with_log = run("--accuracy", "normwise", "--log", "table", script, folder=tmp_path)
    assert with_log.stdout.startswith(str([drop_in, str(tmp_path / "table"), "normwise"]))
    quiet = run("--quiet", script, env=os.environ | {"SGEMM_LOG": "of the caller"})
    assert quiet.stdout.startswith(str([drop_in, None, None]))
    inherited = run(script, env=os.environ | {"SGEMM_LOG": "of the caller", "LD_PRELOAD": drop_in})
    assert inherited.stdout.startswith(str([f"{drop_in}:{drop_in}", "of the caller", None]))
    assert quiet.stderr == ""
    wrong = run("--accuracy", "fp16", script)
    assert wrong.returncode == 2
    assert "'fp16'" in wrong.stderr
    variable = run(script, env=os.environ | {"SGEMM_ACCURACY": "tf32"})
    assert (variable.returncode, variable.stdout) == (2, "")
    assert "SGEMM_ACCURACY=tf32 is none of fp32, componentwise" in variable.stderr


def test_a_library_that_is_named_from_here_has_its_drop_in_beside_it(drop_in, fake_library, monkeypatch):
    monkeypatch.setenv("SGEMM_LIBRARY", f"./{Path(fake_library).name}")
    assert run("printenv", "LD_PRELOAD", folder=Path(drop_in).parent).stdout == f"{drop_in}\n"
    monkeypatch.chdir(Path(drop_in).parent)
    assert sgemm.library.candidates() == [fake_library]


def test_without_a_gpu_run_says_that_nothing_is_changed(drop_in):
    done = run("printenv", "LD_PRELOAD", env=os.environ | {"CUDA_VISIBLE_DEVICES": ""})
    assert (done.returncode, done.stdout) == (0, f"{drop_in}\n")
    assert re.fullmatch(r"sgemm: no GPU can be used: .+ The drop-in leaves all calls to cuBLAS\.\n", done.stderr)


def test_the_version_is_that_of_the_library(capsys):
    header = (Path(__file__).parents[3] / "library" / "include" / "sgemm" / "sgemm.h").read_text(encoding="utf-8")
    assert sgemm.__version__ == ".".join(re.findall(r"#define SGEMM_VERSION_\w+ (\d+)", header))
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"sgemm {sgemm.__version__}\n"


def test_a_module_and_a_folder(drop_in, tmp_path):
    package = tmp_path / "training"
    package.mkdir()
    (package / "__main__.py").write_text(REPORT)
    module = run("-m", "training", "a", folder=tmp_path)
    assert (module.returncode, module.stdout.split("] ", 1)[1]) == (7, "['a'] __main__\n")
    assert run(package, "a").stdout == module.stdout


def test_a_program_that_is_not_python(drop_in, tmp_path):
    done = run("sh", "-c", 'echo "$LD_PRELOAD $1"; exit 3', "sh", "x")
    assert (done.returncode, done.stdout) == (3, f"{drop_in} x\n")
    executable = tmp_path / "tool.py"
    executable.write_text("#!/bin/sh\necho of the shell\n")
    executable.chmod(0o755)
    assert run(executable).stdout == "of the shell\n"
    on_path = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    (tmp_path / "here").mkdir()
    assert run("tool.py", folder=tmp_path / "here", env=on_path).stdout == "of the shell\n"
    (tmp_path / "here" / "tool.py").write_text("print('of this folder')")
    assert run("tool.py", folder=tmp_path / "here", env=on_path).stdout == "of this folder\n"


def test_the_program_takes_the_place_of_the_command(drop_in):
    process = subprocess.Popen(
        [sys.executable, "-m", "sgemm", "run", "sh", "-c", "echo $$; exec sleep 60"], stdout=subprocess.PIPE, text=True
    )
    assert int(process.stdout.readline()) == process.pid
    process.send_signal(signal.SIGTERM)  # a shell's background processes ignore SIGINT, and so do their children
    assert process.wait(20) == -signal.SIGTERM
    process.stdout.close()


@pytest.mark.parametrize(
    ("name", "status"), [("no_such_program", 127), ("no_such_script.py", 2), ("plain.txt", 126), ("x" * 300, 126)]
)
def test_what_can_not_be_started_is_named(drop_in, tmp_path, name, status):
    (tmp_path / "plain.txt").write_text("")
    done = run(f"./{name}", folder=tmp_path)
    assert done.returncode == status
    assert name in done.stderr


def test_without_a_drop_in_the_places_are_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("SGEMM_LIBRARY", str(tmp_path / "libsgemm.so"))
    assert main(["run", "true"]) == 1
    assert capsys.readouterr().err == f"sgemm: libsgemm_cublas.so was not found. Looked in {tmp_path}\n"


def test_a_path_that_the_loader_would_divide_is_refused(monkeypatch, tmp_path, capsys):
    folder = tmp_path / "my programs"
    folder.mkdir()
    (folder / sgemm.library.DROP_IN).write_text("")
    monkeypatch.setenv("SGEMM_LIBRARY", str(folder / "libsgemm.so"))
    assert main(["run", "true"]) == 1
    assert "libsgemm_cublas.so has a blank or a colon in its path" in capsys.readouterr().err


def test_info(fake, cuda, capsys, monkeypatch):
    installed = {"cupy": ["cupy-cuda13x"], "jax": ["jax", "jax"], "numpy": ["numpy"]}
    monkeypatch.setattr(info.metadata, "packages_distributions", lambda: installed)
    monkeypatch.setattr(info.metadata, "version", {"cupy-cuda13x": "14.2.0", "jax": "0.10.2"}.__getitem__)
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert f"libsgemm   {sgemm.__version__}, {sgemm.library_path()}\n" in out
    assert "calibrated /cache/fake.txt: not used, the fake has none\n" in out
    assert "cuBLAS     12.8.4, /cuda/libcublas.so.12\n" in out
    assert (
        "JAX        0.10.2 (jax): sgemm.jax.enable() redirects its products\n"
        "CuPy       14.2.0 (cupy-cuda13x): python -m sgemm run redirects its products\n"
        "driver     CUDA 13.1\n"
    ) in out
    assert "GPU 0      Fake 0, compute capability 75.76, 16 multiprocessors: chapter 09 and cuBLAS" in out
    lines = {line[:24].strip(): line[24:].split() for line in out.splitlines()}
    assert lines["4096 x 4096 x 4096"] == ["cublas", *["11_bf16x6", "2.50"] * 4]
    assert lines["256 x 256 x 256"] == ["cublas"] * 5
    assert "Why cuBLAS:\n  the fake likes small ones (256 x 256 x 256, fp32)\n" in out


def test_calibrate(fake, cuda, capsys):
    assert main(["calibrate"]) == 0
    assert capsys.readouterr().out == "Measuring products on the Fake 0 for at most a minute.\n/cache/fake.txt\n"
    assert main(["calibrate", "--out", "mine.txt"]) == 0
    assert capsys.readouterr().out.endswith("\nmine.txt\n")
    assert main(["calibrate", "--out", "\udcff"]) == 0, "a path of other bytes than UTF-8"
    fake.status = 7
    assert main(["calibrate"]) == 1
    assert capsys.readouterr().err == "sgemm: the fake can not write\n"
    assert main(["calibrate", "--device", "1"]) == 1
    assert "there is no GPU 1: there are 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("capability", "takes"),
    [
        ((9, 0), "chapters 11, 12 and 15"),
        ((12, 0), "chapter 09 and cuBLAS"),
        ((8, 9), "cuBLAS, as libsgemm's kernels need compute capability 9.0"),
    ],
)
def test_info_says_what_other_gpus_get(capability, takes):
    assert takes in info.of_device(driver.Device(1, "GPU", capability, 10))


def test_info_without_a_gpu_says_so_and_succeeds(fake, monkeypatch, capsys):
    sgemm.version()
    monkeypatch.setattr(driver.ctypes, "CDLL", no_library)
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert "GPU        none can be used: there is no NVIDIA driver on this machine (gone)" in out
    assert main(["bench"]) == 1
    assert capsys.readouterr().err == "sgemm: there is no NVIDIA driver on this machine (gone)\n"


def no_library(name, *_, **__):
    raise OSError("gone")


def test_a_reader_may_leave(drop_in):
    process = subprocess.Popen(
        [sys.executable, "-m", "sgemm", "info"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert process.wait(60) == 1
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.parametrize(
    ("output", "status", "text"), [(">&-", 0, ""), (">/dev/full", 1, "sgemm: the output can not be written: No space")]
)
def test_output_that_goes_nowhere_is_named(drop_in, output, status, text):
    shell = f"{sys.executable} -m sgemm info {output}"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True)
    assert (done.returncode, done.stderr[: len(text)]) == (status, text)
    assert "Traceback" not in done.stderr


def test_paths_need_be_no_text(drop_in, fake_library, tmp_path, monkeypatch):
    library = tmp_path / "\udcff.so"
    library.symlink_to(fake_library)
    monkeypatch.setenv("SGEMM_LIBRARY", str(library))
    done = subprocess.run([sys.executable, "-m", "sgemm", "info"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\udcff.so" in done.stdout


def test_info_names_an_old_driver():
    assert "CUDA 12.8: a libsgemm that CUDA 13 has built needs 13.0" in info.of_driver((12, 8))
    assert info.of_driver((13, 1)) == "CUDA 13.1"


def test_bench_prints_a_table(fake, cuda, monkeypatch, capsys):
    small = products.Product("small", 16, 8, 4, True, 2)
    large = products.Product("large", 8192, 8192, 8192)
    monkeypatch.setattr(bench, "PRODUCTS", (small, large))
    assert main(["bench"]) == 0
    out = capsys.readouterr().out
    assert "large               8192 x 8192 x 8192        cuMemAlloc_v2 failed: out of memory" in out
    [line] = [line for line in out.splitlines() if line.startswith("small    ")]
    assert line.split()[1:] == ["2", *["x", "16", "x", "8", "x", "4", "NT", "0.0"], *["0.0", "(1.00x)"] * 5]
    assert main(["bench", "--device", "1"]) == 1
    assert "there is no GPU 1: there are 1" in capsys.readouterr().err


def test_memory_is_filled_to_its_end(cuda):
    with driver.Driver().memory(10, b"abcd") as address:
        assert ctypes.string_at(address, 10) == b"abcdabcdab"


def test_turns_of_a_measurement():
    calls = []
    times = iter([9.0, 0.004, 9.0, 0.5] + [5 * way for _ in range(bench.TURNS) for way in (0.001, 0.1)])

    def seconds(work):
        work()
        return next(times)

    works = {"a": lambda count: calls.append(("a", count)), "b": lambda count: calls.append(("b", count))}
    measured = bench.measure(SimpleNamespace(seconds=seconds), works)
    assert measured == {"a": pytest.approx(0.001), "b": pytest.approx(0.5)}
    assert calls[4:6] == [("a", 5), ("b", 1)]
    assert len(calls) == 4 + 2 * bench.TURNS


def test_random_operands_are_ordinary_numbers():
    numbers = memoryview(bench.random_floats(4096)).cast("f").tolist()
    assert all(0.5 <= abs(number) < 1 for number in numbers)
    assert min(numbers) < 0 < max(numbers)
    assert len(set(numbers)) > 4000


@pytest.mark.parametrize("transposed", [False, True])
def test_products_are_right(fake, cuda, transposed):
    """Those of libsgemm and those of cuBLAS, whose fakes compute on the host."""
    product = products.Product("a batch", 5, 4, 3, transposed, 2)
    rng = np.random.default_rng(1)
    shape_of_b = (2, 4, 3) if transposed else (2, 3, 4)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 5, 3), shape_of_b))
    handle, cublas = sgemm.library.Handle(), products.Cublas()
    for enqueue in (lambda *matrices: products.enqueue(handle.pointer, *matrices), cublas.enqueue):
        c = np.full((2, 5, 4), np.nan, np.float32)
        enqueue(product, a.ctypes.data, b.ctypes.data, c.ctypes.data)
        np.testing.assert_allclose(c, a @ (b.swapaxes(1, 2) if transposed else b), atol=1e-6)
