"""Arrays of other packages, as far as a product needs them."""

import contextlib
import ctypes
import operator
import sys
from dataclasses import dataclass, field
from typing import Any

CUDA, CUDA_MANAGED = 2, 13  # kinds of devices in DLPack


@dataclass(frozen=True)
class Array:
    """FP32 numbers on a GPU: what `__cuda_array_interface__` or DLPack says of an object. Strides are in elements.
    `stream` is the one that the producer named, or None."""

    owner: Any
    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: int
    stream: int | None = None
    read_only: bool = False
    keeper: Any = field(default=None, repr=False)  # lives as long as the memory has to

    @property
    def package(self) -> str:
        return type(self.owner).__module__.partition(".")[0]


def array_of(name: str, value: Any) -> Array:
    """Describes the argument `name`. Raises TypeError for what is no FP32 array on a GPU."""
    device = device_of(name, value)
    if (interface := getattr(value, "__cuda_array_interface__", None)) is not None:
        return _from_interface(name, value, interface, 0 if device is None else device)
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(name, value, 0 if device is None else device)
    raise TypeError(
        f"{name} is a {type(value).__module__}.{type(value).__name__}, which has neither __cuda_array_interface__ nor "
        "__dlpack__: give an array of PyTorch, CuPy or the like"
    )


def device_of(name: str, value: Any) -> int | None:
    """The device that an object says it is on, or None if it does not say. Raises TypeError if it is no GPU of CUDA."""
    if not hasattr(value, "__dlpack_device__"):
        return None
    kind, device = value.__dlpack_device__()
    if int(kind) not in (CUDA, CUDA_MANAGED):
        raise TypeError(f"{name} is not on a GPU of CUDA: move it there first")
    return int(device)


INTERFACE_VERSIONS = range(4)  # those that were published


def _from_interface(name: str, value: Any, interface: dict, device: int) -> Array:
    try:
        version, kind = interface["version"], interface["typestr"]
        pointer, read_only = interface["data"]
        shape = tuple(operator.index(size) for size in interface["shape"])
        strides = interface.get("strides")
        steps = strides if strides is None else tuple(operator.index(stride) for stride in strides)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TypeError(f"{name} has a broken __cuda_array_interface__: {error!r}") from error
    if version not in INTERFACE_VERSIONS:
        known = f"{INTERFACE_VERSIONS[0]} to {INTERFACE_VERSIONS[-1]}"
        raise TypeError(f"{name} has version {version} of __cuda_array_interface__, of which {known} are known")
    if kind not in ("<f4", "=f4"):
        raise TypeError(f"{name} holds {kind}, not float32")
    if interface.get("mask") is not None:
        raise TypeError(f"{name} has a mask, which a product does not know: fill the masked elements first")
    if min(shape, default=0) < 0:
        raise TypeError(f"{name} has the shape {shape}, with sizes below 0")
    if steps is None:
        steps = _contiguous(shape)
    elif len(steps) != len(shape):
        raise TypeError(f"{name} has {len(shape)} dimensions and {len(steps)} strides")
    elif any(step % 4 for step in steps):
        raise TypeError(f"{name} has strides that are no multiples of 4 bytes")
    else:
        steps = tuple(step // 4 for step in steps)
    return Array(value, pointer, shape, steps, device, interface.get("stream"), bool(read_only))


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, stride = [], 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= size
    return tuple(reversed(strides))


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_FLOAT = 2  # DLPack's code of floating-point numbers


def _from_dlpack(name: str, value: Any, device: int) -> Array:
    capsule = value.__dlpack__(stream=1)  # ready for the default stream
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(get_pointer(capsule, b"dltensor"))
    if (tensor.code, tensor.bits, tensor.lanes) != (_FLOAT, 32, 1):
        raise TypeError(f"{name} does not hold float32")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _contiguous(shape)
    return Array(value, (tensor.data or 0) + tensor.byte_offset, shape, strides, device, keeper=capsule)


def empty_like_in(array: Array, shape: tuple[int, ...]) -> Any:
    """A new array of the package that `array` comes from, on its device. Raises TypeError for other packages than
    PyTorch and CuPy."""
    module = sys.modules.get(array.package)
    if array.package == "torch":
        return module.empty(shape, dtype=module.float32, device=array.owner.device)
    if array.package == "cupy":
        return module.empty(shape, dtype=module.float32)
    raise TypeError(f"arrays of {array.package} can not be made here: give one as `out`")


def current_stream(array: Array) -> int:
    """The stream that the array's package works on. For packages other than PyTorch and CuPy it is the stream that the
    array names, or the default stream."""
    module = sys.modules.get(array.package)
    if array.package == "torch":
        return module.cuda.current_stream(array.device).cuda_stream
    if array.package == "cupy":
        return module.cuda.get_current_stream().ptr
    return array.stream or 0


def stream_of(stream: Any) -> int:
    """The number of a stream of PyTorch, CuPy or CUDA Python, or of an integer. Raises TypeError for others."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    for attribute in ("cuda_stream", "ptr"):
        if isinstance(number := getattr(stream, attribute, None), int):
            return number
    raise TypeError(f"stream is a {type(stream).__name__}: give a stream of PyTorch or CuPy, or its number")


def current_device(array: Array) -> contextlib.AbstractContextManager:
    """Makes the array's device current for a while, in PyTorch and CuPy. Others have to do so themselves."""
    module = sys.modules.get(array.package)
    if array.package == "torch":
        return module.cuda.device(array.device)
    if array.package == "cupy":
        return module.cuda.Device(array.device)
    return contextlib.nullcontext()
