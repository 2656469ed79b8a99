"""The Python package as users get it: the libraries of a build, packed, checked by auditwheel, installed and imported.

SGEMM_BUILD names the build folder, which has to be configured with -DSGEMM_GLIBC=2.28.
"""

import os
import platform
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SGEMM_BUILD", ROOT / "build-test")).resolve()
VERSION = ".".join(
    re.findall(r"#define SGEMM_VERSION_[A-Z]+ (\d+)", (ROOT / "library/include/sgemm/sgemm.h").read_text())
)


@pytest.fixture(scope="session")
def dist(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [ROOT / "scripts/wheel.sh", "--build", BUILD, "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def wheel(dist) -> Path:
    """auditwheel gives no wheel this name whose libraries need anything that such a system may lack."""
    [path] = dist.glob("*.whl")
    assert path.name == f"sgemm-{VERSION}-py3-none-manylinux_2_28_{platform.machine()}.whl"
    return path


@pytest.fixture(scope="session")
def python(wheel, tmp_path_factory) -> Path:
    """Of an environment with nothing but the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    path = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", path]
    subprocess.run([*pip, "install", "--no-index", wheel], check=True)
    return path


def packages_of(python: Path) -> Path:
    [folder] = python.parents[1].glob("lib/python*/site-packages")
    return folder


def run(python: Path, *arguments, **variables: str) -> subprocess.CompletedProcess:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SGEMM_", "PYTHON", "LD_"))
    }
    command = [python, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment | variables, cwd="/")


def test_what_it_holds(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"sgemm-{VERSION}.dist-info/METADATA").decode()
    soname = f"libsgemm.so.{VERSION.rpartition('.')[0]}"
    assert {f"sgemm/lib/{soname}", "sgemm/lib/libsgemm_cublas.so", "sgemm/__main__.py"} <= names
    assert f"\nVersion: {VERSION}\n" in metadata
    required = re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)
    assert all("extra ==" in requirement for requirement in required), "nothing is installed beside it"


def test_libraries_need_neither_cuda_nor_a_folder_of_the_machine(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    libraries = list(tmp_path.glob("sgemm/lib/*"))
    assert len(libraries) >= 2
    for library in libraries:
        dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
        assert not re.search(r"\((RUNPATH|RPATH)\)|\[lib(cuda|cublas)", dynamic)


def test_an_empty_environment_imports_it(python):
    code = "import sgemm; print(sgemm.version(), sgemm.library_path(), sgemm.library.drop_in_path())"
    folder = packages_of(python) / "sgemm" / "lib"
    number = sum(int(part) * 100**place for place, part in enumerate(reversed(VERSION.split("."))))
    soname = f"libsgemm.so.{VERSION.rpartition('.')[0]}"
    done = run(python, "-c", code)
    assert done.stdout.split() == [str(number), f"{folder}/{soname}", f"{folder}/libsgemm_cublas.so"], done.stderr


def test_without_a_gpu_the_message_is_clear(python):
    done = run(python, "-m", "sgemm", "info")
    assert done.returncode == 0
    assert re.search(r"^GPU +none can be used: |^GPU 0 ", done.stdout, re.MULTILINE), done.stdout
    if "none can be used" in done.stdout:
        handle = run(python, "-c", "import sgemm; sgemm.library.Handle()")
        assert "SGEMM_STATUS_NOT_INITIALIZED: The handle is null, its device was reset or its process" in handle.stderr


def test_programs_run_with_the_drop_in(python):
    done = run(python, "-m", "sgemm", "run", "--quiet", "-m", "platform")
    assert (done.returncode, done.stderr) == (0, "")
    maps = run(python, "-m", "sgemm", "run", "cat", "/proc/self/maps").stdout
    assert f"{packages_of(python)}/sgemm/lib/libsgemm_cublas.so" in maps


CUBLAS = """
#define FUNCTION(name) int name(void) { return 0; }
int cublasGetProperty(int which, int* value) { *value = which == 0 ? MAJOR : which; return 0; }
FUNCTION(cublasCreate_v2) FUNCTION(cublasSetStream_v2) FUNCTION(cublasSetWorkspace_v2) FUNCTION(cublasSetSmCountTarget)
FUNCTION(cublasSetPointerMode_v2) FUNCTION(cublasSgemm_v2_64) FUNCTION(cublasSgemmStridedBatched_64)
#ifndef INCOMPLETE
FUNCTION(cublasSgemmBatched_64)
#endif
"""


def make_cublas(folder: Path, major: int, *flags: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"libcublas.so.{major}"
    options = ["-x", "c", "-shared", "-fPIC", f"-DMAJOR={major}", f"-Wl,-soname,{library.name}", *flags]
    command = [os.environ.get("CC", "cc"), *options, "-o", library, "-"]
    subprocess.run(command, input=CUBLAS, text=True, check=True)
    return library


@pytest.fixture
def packages(python, request):
    """The folder where packages are installed, without cuBLAS after the test."""
    folder = packages_of(python)
    request.addfinalizer(lambda: subprocess.run(["rm", "-rf", folder / "nvidia"], check=True))
    return folder


def cublas_of(python: Path, before: str = "", **variables: str) -> list[str]:
    code = "import sgemm; library = sgemm.library.load(); print(library.sgemm_cublas_version(), "
    done = run(python, "-c", before + code + "library.sgemm_cublas_path().decode())", **variables)
    assert done.returncode == 0, done.stderr
    return [*done.stdout.split(), done.stderr]


def test_cublas_of_packages_is_found(python, packages, tmp_path):
    old = make_cublas(packages / "nvidia/cublas/lib", 12)
    assert cublas_of(python) == ["120102", str(old), ""]
    new = make_cublas(packages / "nvidia/cu13/lib", 13)
    assert cublas_of(python) == ["130102", str(new), ""]
    elsewhere = make_cublas(tmp_path, 12)
    load = f"import ctypes; ctypes.CDLL({str(elsewhere)!r}); "
    assert cublas_of(python, load) == ["120102", str(elsewhere), ""], "what is loaded goes first"
    assert cublas_of(python, SGEMM_CUBLAS=str(old)) == ["120102", str(old), ""]


def test_cublas_of_a_toolkit_is_found(python, tmp_path):
    # The loader may find one before.
    named = make_cublas(tmp_path / "toolkit/lib64", 13)
    found = cublas_of(python, CUDA_HOME=str(tmp_path / "toolkit"))
    by_loader = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    assert found[1] == str(named) or "libcublas.so.1" in by_loader


def test_an_incomplete_cublas_is_none(python, packages, tmp_path):
    incomplete = make_cublas(packages / "nvidia/cu13/lib", 13, "-DINCOMPLETE")
    assert str(incomplete) not in cublas_of(python)[1:2]
    version, *rest = cublas_of(python, SGEMM_CUBLAS=str(incomplete))
    assert version == "0"
    assert f"{incomplete} has no cublasSgemmBatched_64" in rest[-1]
    missing = cublas_of(python, SGEMM_CUBLAS="/nowhere/libcublas.so.13")
    assert "libsgemm: no cuBLAS 12 or 13 was found, so that calls for it fail:\n  /nowhere/libcublas" in missing[-1]


def test_the_sources_are_whole(dist):
    """Every file that the libraries were compiled from."""
    [path] = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    dependencies = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True
    ).stdout
    needed = set()
    for block in dependencies.split("\n\n"):
        if re.match("library/(?!tests/)", block):
            files = [(BUILD / line.strip()).resolve() for line in block.splitlines()[1:]]
            needed |= {str(file.relative_to(ROOT)) for file in files if file.is_relative_to(ROOT)}
    needed = {name for name in needed if not name.startswith((".", "build"))}  # XLA is in an environment
    assert "library/include/sgemm/sgemm.h" in needed
    assert needed <= names
    assert {"CMakeLists.txt", "LICENSE", "PKG-INFO", "pyproject.toml", "tools/glibc_stubs.py"} <= names
    assert not [name for name in names if re.match(r"docs|results|simt|tests|\.|.*__pycache__", name)]
