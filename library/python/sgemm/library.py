"""libsgemm itself: where it is, its functions, and handles."""

import ctypes
import functools
import os
import sys
import threading
from collections.abc import Callable, Mapping
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p, pointer
from pathlib import Path
from typing import Any

from . import cublas

VERSION = "0.4.0"
NAME = f"libsgemm.so.{VERSION.rpartition('.')[0]}"
DROP_IN = "libsgemm_cublas.so"
ROW_MAJOR, COLUMN_MAJOR = 101, 102
NO_TRANSPOSE, TRANSPOSE = 0, 1
NOT_INITIALIZED = 1  # a status
FALLBACK_CUBLAS, FALLBACK_NONE = 0, 1
ACCURACIES = {"fp32": 0, "componentwise": 1, "normwise": 2, "rowwise": 3, "reproducible": 4}


def number_of(accuracy: Any, known: Mapping[str, int] = ACCURACIES) -> int:
    """Raises ValueError for what is none of the known accuracies."""
    if not isinstance(accuracy, str) or accuracy not in known:
        raise ValueError(f"accuracy is {accuracy!r}: give one of {', '.join(known)}")
    return known[accuracy]


class Plan(ctypes.Structure):
    """sgemm_plan_t: the algorithm that the library takes for a call, and why."""

    _fields_ = (
        ("kernel", ctypes.c_char * 32),
        ("configuration", ctypes.c_char * 64),
        ("reason", ctypes.c_char * 128),
        ("launches", c_int),
        ("workspace_bytes", ctypes.c_size_t),
        ("predicted_us", ctypes.c_double),
        ("cublas_us", ctypes.c_double),
    )


class Operand(ctypes.Structure):
    """sgemm_operand_t"""

    _fields_ = (
        ("packed", c_void_p), ("op", c_int), ("x", c_void_p), ("ld", c_int64), ("stride", c_int64),
        ("addresses", c_void_p),
    )  # fmt: skip


class Epilogue(ctypes.Structure):
    """sgemm_epilogue_t"""

    _fields_ = (
        ("activation", c_int), ("bias_of", c_int), ("bias", c_void_p), ("aux", c_void_p), ("aux_ld", c_int64),
    )  # fmt: skip


class Product(ctypes.Structure):
    """sgemm_product_t"""

    _fields_ = (
        ("size", ctypes.c_size_t), ("order", c_int), ("m", c_int64), ("n", c_int64), ("k", c_int64),
        ("alpha", POINTER(c_float)), ("a", Operand), ("b", Operand), ("beta", POINTER(c_float)), ("c", c_void_p),
        ("ldc", c_int64), ("d", c_void_p), ("ldd", c_int64), ("stride_of_d", c_int64), ("addresses_of_d", c_void_p),
        ("batch_count", c_int64), ("epilogue", POINTER(Epilogue)),
    )  # fmt: skip


ONE, ZERO = pointer(c_float(1)), pointer(c_float(0))


def product(
    order: int,
    sizes: tuple[int, int, int],
    a: Operand,
    b: Operand,
    d: tuple[int | None, int, int],
    batch_count: int = 1,
    epilogue: Any = None,
) -> Product:
    """D = op(A) op(B). `sizes` are m, n and k, and `d` is the address of D, its leading dimension and its stride in a
    batch."""
    size = ctypes.sizeof(Product)
    return Product(size, order, *sizes, ONE, a, b, ZERO, None, 0, *d, None, batch_count, epilogue)


class LibraryNotFound(OSError):
    """No libsgemm was found, or it can not be loaded. The text says where it was looked for."""


class SgemmError(RuntimeError):
    """A function of libsgemm did not succeed. `status` is its number."""

    def __init__(self, status: int, text: str):
        super().__init__(text)
        self.status = status


def folders() -> list[Path]:
    """Where libsgemm and its drop-in may be: this package's own folder for them, the library folders of Python's
    prefix, and the build folder of the source tree that this package lies in."""
    package = Path(__file__).resolve().parent
    places = [package / "lib", Path(sys.prefix) / "lib", Path(sys.prefix) / "lib64"]
    source = package.parents[2]
    if (source / "library" / "include" / "sgemm" / "sgemm.h").exists():
        places.append(source / "build" / "library")
    return places


def candidates() -> list[str]:
    """Where libsgemm may be: the file that SGEMM_LIBRARY names, or else folders() in turn, and wherever the loader
    looks."""
    if named := os.environ.get("SGEMM_LIBRARY"):
        return [str(Path(named).absolute()) if "/" in named else named]  # other libraries are looked for beside it
    return [str(folder / NAME) for folder in folders()] + [NAME]


def drop_in_path() -> str:
    """The file of the drop-in for cuBLAS, which is beside libsgemm. Raises LibraryNotFound."""
    named = os.environ.get("SGEMM_LIBRARY")
    if named and "/" not in named:  # which the loader looks for
        named = library_path()
    places = [Path(named).absolute().parent] if named else folders()
    for folder in places:
        if (path := folder / DROP_IN).exists():
            return str(path)
    raise LibraryNotFound(f"{DROP_IN} was not found. Looked in " + ", ".join(str(folder) for folder in places))


@functools.cache
def load() -> ctypes.CDLL:
    """Loads libsgemm once. Raises LibraryNotFound."""
    failures = []
    for path in candidates():
        try:
            library = declared(ctypes.CDLL(path))
        except (OSError, AttributeError) as error:
            failures.append(f"  {path}: {str(error).removeprefix(path + ': ')}")
            continue
        found = library.sgemm_version()
        if f"libsgemm.so.{found // 10000}.{found // 100 % 100}" == NAME:
            cublas.offer()
            return library
        failures.append(f"  {path}: it is of version {found // 10000}.{found // 100 % 100}.{found % 100}")
    raise LibraryNotFound(
        "libsgemm was not found. Install its package (docs/library.md), or set SGEMM_LIBRARY to its file. Looked for "
        f"{NAME}:\n" + "\n".join(failures)
    )


def library_path() -> str:
    """The file of the loaded libsgemm. Raises LibraryNotFound."""
    found = (c_char_p * 4)()  # a Dl_info, whose first field it is
    ctypes.pythonapi.dladdr(ctypes.cast(load().sgemm_version, c_void_p), found)
    return os.fsdecode(found[0])


def version() -> int:
    """The version of libsgemm: 10000 * major + 100 * minor + patch."""
    return load().sgemm_version()


def plan(handle: c_void_p, planned: Product) -> Plan:
    """What libsgemm would do. Raises SgemmError."""
    result = Plan()
    check(load().sgemm_plan(handle, byref(planned), byref(result)))
    return result


def declare(loaded: ctypes.CDLL, prefix: str, *functions: tuple) -> ctypes.CDLL:
    """Tells ctypes of functions. Each is the name behind the prefix, the type of the result, and those of arguments."""
    for name, result, *arguments in functions:
        function = getattr(loaded, prefix + name)
        function.restype, function.argtypes = result, arguments
    return loaded


def declared(library: ctypes.CDLL) -> ctypes.CDLL:
    handle, matrix = c_void_p, [c_void_p, c_int64]
    return declare(
        library,
        "sgemm_",
        ("version", c_int),
        ("cublas_version", c_int),
        ("cublas_path", c_char_p),
        ("calibrate", c_int, c_char_p, POINTER(c_char_p)),
        ("calibration", c_char_p),
        ("status_name", c_char_p, c_int),
        ("status_string", c_char_p, c_int),
        ("create", c_int, POINTER(handle)),
        ("destroy", c_int, handle),
        ("get_device", c_int, handle, POINTER(c_int)),
        ("set_stream", c_int, handle, c_void_p),
        ("set_accuracy", c_int, handle, c_int),
        ("set_fallback", c_int, handle, c_int),
        ("set_repeatable", c_int, handle, c_int),
        ("get_repeatable", c_int, handle, POINTER(c_int)),
        ("plan", c_int, handle, POINTER(Product), POINTER(Plan)),
        ("run", c_int, handle, POINTER(Product)),
        ("packed_size", c_int, handle, c_int64, c_int64, POINTER(c_size_t)),
        ("pack", c_int, handle, *[c_int] * 3, c_int64, c_int64, *matrix, c_void_p, c_size_t, POINTER(c_void_p)),
        ("packed_destroy", c_int, c_void_p),
    )


def check(status: int) -> None:
    """Raises SgemmError for a status that is not success."""
    if status != 0:
        name = load().sgemm_status_name(status).decode()
        raise SgemmError(status, f"{name}: {load().sgemm_status_string(status).decode()}")


class Handle:
    """A handle of libsgemm for the device that is current when it is made."""

    def __init__(self):
        self.pointer = c_void_p()
        check(load().sgemm_create(byref(self.pointer)))
        device = c_int()
        check(load().sgemm_get_device(self.pointer, byref(device)))
        self.device = device.value
        self.settings: tuple | None = None
        repeatable = c_int()
        check(load().sgemm_get_repeatable(self.pointer, byref(repeatable)))
        self.repeatable = bool(repeatable.value)  # what the environment says

    def set(
        self, stream: int, accuracy: int, repeatable: bool | None = None, fallback: int = FALLBACK_CUBLAS
    ) -> c_void_p:
        """The handle for calls with these settings. Without `repeatable` they are as the environment says."""
        settings = stream, accuracy, self.repeatable if repeatable is None else bool(repeatable), fallback
        if settings != self.settings:
            self.settings = None
            check(load().sgemm_set_stream(self.pointer, stream))
            check(load().sgemm_set_accuracy(self.pointer, accuracy))
            check(load().sgemm_set_repeatable(self.pointer, settings[2]))
            check(load().sgemm_set_fallback(self.pointer, fallback))
            self.settings = settings
        return self.pointer

    def __del__(self):
        # At the end of the process CUDA may be gone before this.
        if self.pointer and not sys.is_finalizing():
            load().sgemm_destroy(self.pointer)


class _Handles(threading.local):
    """The handles of one thread, by device."""

    def __init__(self):
        self.of_device: dict[int, Handle] = {}


_handles = _Handles()


def handle_of(device: int) -> Handle:
    """This thread's handle for a device, which has to be current."""
    if (handle := _handles.of_device.get(device)) is None:
        handle = Handle()
        if handle.device != device:
            raise ValueError(f"the arrays are on device {device}, but device {handle.device} is current")
        _handles.of_device[device] = handle
    return handle


def with_handle(device: int, settings: tuple, call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call returns with this thread's handle. Where the device was reset since that was made, it is another."""
    try:
        return call(handle_of(device).set(*settings), *arguments)
    except SgemmError as error:
        if error.status != NOT_INITIALIZED or _handles.of_device.pop(device, None) is None:
            raise
        return call(handle_of(device).set(*settings), *arguments)
