"""What stands for a GPU in the tests of the Python package."""

import ctypes
import functools
import os
import shutil
import subprocess
from ctypes import c_char_p, c_double, c_int, c_size_t
from pathlib import Path

import numpy as np
import pytest

import sgemm.driver
import sgemm.drop_in
import sgemm.library

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]
INCLUDE = f"-I{ROOT / 'library' / 'include'}"


class Fake(ctypes.Structure):
    """FakeSgemm of fake_sgemm.hpp: what the fake library is to answer, and what it was asked."""

    _fields_ = (
        ("stream", c_size_t), ("accuracy", c_int), ("pointer_mode", c_int), ("multiprocessors", c_int),
        ("repeatable", c_int), ("workspace", c_size_t), ("workspace_bytes_of_call", c_size_t),
        ("status", c_int), ("kernel", c_char_p), ("reason", c_char_p), ("predicted_us", c_double),
        ("cublas_us", c_double), ("workspace_bytes", c_size_t),
        *((name, c_int) for name in ("device", "context", "repeatable_by_environment", "fails_in_batches")),
        ("products_without_memory", c_int), ("meanwhile", c_size_t),
        *((name, c_int) for name in ("handles", "packed", "plans", "plans_by_address", "products")),
        ("products_with_epilogue", c_int), ("product", sgemm.library.Product), ("epilogue", sgemm.library.Epilogue),
    )  # fmt: skip

    def __getattr__(self, name: str):
        """What the last product had."""
        return getattr(self.product, name)


class GpuArray:
    """An array of NumPy that says that it is on a GPU."""

    def __init__(self, numbers: np.ndarray, device: int = 0, stream: int | None = None, **changes):
        self.numbers = numbers
        self.device_number = device
        self.stream = stream
        self.changes = changes  # of what it says about itself

    @property
    def __cuda_array_interface__(self):
        interface = dict(self.numbers.__array_interface__)
        interface |= {"version": 3, "stream": self.stream, "strides": self.numbers.strides}
        return interface | self.changes

    def __dlpack_device__(self):
        return (2, self.device_number)


class DlpackArray:
    """The same by DLPack alone."""

    def __init__(self, numbers: np.ndarray):
        self.numbers = numbers
        self.consumers = []

    def __dlpack__(self, stream=None):
        self.consumers.append(stream)
        return self.numbers.__dlpack__()

    def __dlpack_device__(self):
        return (2, 0)


def compile_cpp(library: Path, *sources: Path | str) -> None:
    """Builds a library of C++ sources and flags."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or "g++"
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden", INCLUDE]
    subprocess.run([compiler, *flags, "-o", library, *sources, "-ldl", "-pthread"], check=True)


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory) -> str:
    library = tmp_path_factory.mktemp("library") / sgemm.library.NAME
    compile_cpp(library, FOLDER.parent / "drop_in" / "fake_sgemm.cpp")
    return str(library)


@pytest.fixture
def fake(fake_library, monkeypatch):
    """The record of the fake library, which the package loads in this test."""
    monkeypatch.setenv("SGEMM_LIBRARY", fake_library)
    sgemm.library.load.cache_clear()
    sgemm.library._handles.of_device.clear()
    library = ctypes.CDLL(fake_library)
    library.fake_sgemm.restype = ctypes.POINTER(Fake)
    record = library.fake_sgemm().contents
    ctypes.memset(ctypes.byref(record), 0, ctypes.sizeof(Fake))
    record.predicted_us, record.cublas_us, record.workspace_bytes = 10, 25, 64
    yield record
    sgemm.library._handles.of_device.clear()
    sgemm.library.load.cache_clear()


@pytest.fixture(scope="session")
def fake_drop_in_file(fake_library) -> str:
    """The drop-in beside the fake library. Its functions of cuBLAS are for callers of both versions."""
    library = Path(fake_library).with_name(sgemm.library.DROP_IN)
    exports = library.with_name("exports.map")
    product = "cublasSgemm_v2; cublasSgemmStridedBatched; cublasGemmEx; cublasGemmStridedBatchedEx;"
    version = cublas_version()
    exports.write_text(
        f"libcublas.so.{version} {{ global: {product} }};\n"
        f"libcublasLt.so.{version} {{ global: cublasLtMatmul; }};\n"
        "SGEMM_DROP_IN_0 { global: sgemm_drop_in_*; fake_*; };\n"
    )
    sources = [FOLDER / "fake_drop_in.cpp", *(ROOT / "library" / "cublas" / f"{name}.cpp" for name in
                                              ("accuracies", "redirection"))]  # fmt: skip
    compile_cpp(library, f"-I{ROOT / 'library' / 'cublas'}", f"-Wl,--version-script={exports}", *sources)
    return str(library)


def cublas_version() -> str:
    """The version of the cuBLAS that PyTorch is linked to."""
    try:
        import torch
    except ImportError:
        return "13"
    return (torch.version.cuda or "13").partition(".")[0]


@pytest.fixture
def fake_drop_in(fake, fake_drop_in_file):
    """The fake drop-in, which the package loads in this test."""
    sgemm.drop_in.load.cache_clear()
    loaded = sgemm.drop_in.load()
    loaded.fake_note.argtypes = [ctypes.c_char_p]
    loaded.fake_note(b"")
    yield loaded
    sgemm.drop_in.load.cache_clear()


def writes(value):
    """A function of CUDA that writes value(fake, ...) to its first argument."""
    return lambda fake, place, *arguments: setattr(place._obj, "value", value(fake, *arguments))


class FakeCuda:
    """NVIDIA's driver, and the cuBLAS that the fake library names: their memory is the host's, and events tell made-up
    times. Addresses, sizes and streams have to come in types of 64 bits."""

    cuDriverGetVersion = writes(lambda _: 13010)
    cuDeviceGetCount = writes(lambda _: 1)
    cuDeviceGetAttribute = writes(lambda _, which, device: which + device)
    cuDevicePrimaryCtxRetain = writes(lambda _, device: 1 + device)
    cuCtxPopCurrent_v2 = writes(lambda fake: fake.current[-1])
    cuCtxGetDevice = writes(lambda fake: fake.device)
    cuEventElapsedTime = writes(lambda *_: 10)
    cublasCreate_v2 = writes(lambda _: 1)

    def __init__(self):
        self.created = 0  # events
        self.device = 0  # that of all memory; -1: it is the host's
        self.order = []  # which stream waited for which, "later<earlier", and which the host waited for, "stream!"
        self.memory, self.events, self.current = {}, {}, []  # an event has the stream that recorded it
        self.cublasSgemmStridedBatched_64 = functools.partial(column_major_products)  # whose types are set

    def cuInit(self, flags):
        return flags

    def cuGetErrorString(self, status, text):
        text._obj.value = b"out of memory" if status == 2 else b"of the fake"

    def cuDeviceGetName(self, name, _, device):
        name.value = b"Fake %d" % device

    def cuCtxPushCurrent_v2(self, context):
        self.current.append(context.value)

    def cuDevicePrimaryCtxRelease_v2(self, device):
        return self.current.pop() != 1 + device

    def cuPointerGetAttribute(self, value, which, pointer):
        value._obj.value = self.device
        return self.device < 0 or which != 9 or not pointer.value

    def cuMemAlloc_v2(self, address, size):
        if size.value > 100 << 20:
            return 2
        memory = ctypes.create_string_buffer(size.value)
        address._obj.value = ctypes.addressof(memory)
        self.memory[address._obj.value] = memory

    def cuMemFree_v2(self, address):
        del self.memory[address.value]

    def cuMemcpyHtoD_v2(self, address, source, size):
        ctypes.memmove(address.value, source, size.value)

    def cuEventCreate(self, event, flags):
        event._obj.value = self.created = self.created + 1
        self.events[self.created] = None
        return flags not in (0, 2)

    def cuEventRecord(self, event, stream):
        known = event.value in self.events
        self.events[event.value] = (stream and stream.value) or 0
        return not known

    def cuStreamWaitEvent(self, stream, event, flags):
        self.order.append(f"{stream.value or 0}<{self.events[event.value]}")
        return flags

    def cuStreamSynchronize(self, stream):
        self.order.append(f"{stream.value or 0}!")

    def cuEventSynchronize(self, event):
        return event.value not in self.events

    def cuEventDestroy_v2(self, event):
        del self.events[event.value]


def column_major_products(_, transa, transb, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, *of_c):
    *layout_of_c, count = of_c

    def columns(address, number, length, ld, stride):
        numbers = (ctypes.c_float * ((count - 1) * stride + (number - 1) * ld + length)).from_address(address)
        strides = [4 * step for step in (stride, ld, 1)]
        return np.lib.stride_tricks.as_strided(np.frombuffer(numbers, np.float32), (count, number, length), strides)

    of_a = columns(a, m, k, lda, stride_a).swapaxes(1, 2) if transa else columns(a, k, m, lda, stride_a)
    of_b = columns(b, k, n, ldb, stride_b).swapaxes(1, 2) if transb else columns(b, n, k, ldb, stride_b)
    columns(c, n, m, *layout_of_c)[...] = alpha.contents.value * (of_b @ of_a) + beta.contents.value
    return 0


@pytest.fixture
def cuda(monkeypatch):
    """A driver and a cuBLAS whose memory is the host's."""
    fake, load = FakeCuda(), ctypes.CDLL
    sgemm.driver.loaded.cache_clear()
    ours = ("libcuda.so.1", "/cuda/libcublas.so.12")
    monkeypatch.setattr(ctypes, "CDLL", lambda name, *args, **options: fake if name in ours else load(name, *args))
    yield fake
    sgemm.driver.loaded.cache_clear()
    assert not fake.memory
    assert (fake.events, fake.current) == ({}, [])
