"""Arrays of other packages, as far as a product needs them."""

import contextlib
import ctypes
import functools
import operator
import sys
from dataclasses import dataclass, field
from typing import Any

from . import driver

CUDA, CUDA_MANAGED = 2, 13  # kinds of devices in DLPack
HERE = contextlib.nullcontext()  # on the current device
MOST_BYTES = 1 << 46  # of a tensor, and few addresses are below
MOST_LAYOUTS = 1024  # that are remembered, as working them out takes longer than a call


@dataclass(slots=True)
class Array:
    """FP32 numbers on a GPU: what PyTorch, `__cuda_array_interface__` or DLPack says of an object. Strides are in
    elements. `stream` is the one that the producer named, or None."""

    owner: Any
    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: int
    stream: int | None = None
    read_only: bool = False
    keeper: Any = field(default=None, repr=False)  # lives as long as the memory has to


@functools.lru_cache
def package_of(kind: type) -> str:
    """The package whose arrays are of this type, or of one that it is derived from: torch, cupy, or "" for others."""
    for package, name in (("torch", "Tensor"), ("cupy", "ndarray")):
        module = sys.modules.get(package)
        if module is not None and issubclass(kind, getattr(module, name, ())):
            return package
    return ""


def array_of(name: str, value: Any, stream: int = 0) -> Array:
    """Describes the argument `name`, which work on a stream is to use. Raises TypeError for what is no FP32 array on a
    GPU. Where it is PyTorch's, refuse_traces() comes before."""
    if package_of(type(value)) == "torch":
        return from_torch({name: value})[name]
    device = device_of(name, value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None and ("stream" in interface or not hasattr(value, "__dlpack__")):
        return _from_interface(name, value, interface, device)
    if hasattr(value, "__dlpack__"):  # which waits for the producer, as versions before the third can not
        return _from_dlpack(name, value, device, stream, interface)
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


def from_torch(tensors: dict[str, Any]) -> dict[str, Array]:
    """array_of() for all that are PyTorch's. Each question to PyTorch takes its part of a call's time."""
    torch = sys.modules["torch"]
    float32, strided, forward = torch.float32, torch.strided, torch.autograd.forward_ad
    has_tangents = forward._current_level >= 0
    arrays = {}
    for name, tensor in tensors.items():
        if tensor.requires_grad and torch.is_grad_enabled():
            raise ValueError(f"{name} requires a gradient, and there is none here: detach it, or call under no_grad()")
        try:
            pointer, why = tensor.data_ptr(), ""
        except RuntimeError as error:  # in the trace of a compiler, and of other tensors that stand for some
            pointer, why = 0, f": {error}"
        # What has no memory has offsets for addresses.
        is_void = pointer < MOST_BYTES and (why or pointer == tensor.storage_offset() * tensor.element_size())
        if is_void and torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            raise TypeError(f"{name} is a tensor of torch.func, which has no memory that a product could read")
        if tensor.dtype is not float32 or tensor.layout is not strided:
            raise TypeError(f"{name} holds {tensor.dtype} in the layout {tensor.layout}, not float32 in a strided one")
        if has_tangents and forward.unpack_dual(tensor).tangent is not None:
            raise TypeError(f"{name} has a forward-mode derivative, which is not computed here")
        if is_void and (why or tensor.numel() > 0):
            raise TypeError(f"{name} is a {type(tensor).__name__} without memory of its own{why}")
        device = tensor.get_device() if tensor.is_cuda else device_of(name, tensor)
        if tensor.is_neg():  # its numbers have the other sign in memory
            tensor = tensor.resolve_neg()
            pointer = tensor.data_ptr()
        arrays[name] = Array(tensor, pointer, tensor.shape, tensor.stride(), device)
    return arrays


def refuse_traces(*names: str) -> None:
    """Raises TypeError where PyTorch traces what is done with its tensors, as with the arguments of these names."""
    tracer = sys.modules.get("torch.fx.experimental.proxy_tensor")
    if sys.modules["torch"].jit.is_tracing() or (tracer and tracer.get_innermost_proxy_mode()):
        raise TypeError(f"{names[0]} is traced by torch.jit or make_fx, and the trace would lack the product")


INTERFACE_VERSIONS = range(4)  # those that were published


def _from_interface(name: str, value: Any, interface: dict, device: int | None) -> Array:
    try:
        version, kind = interface["version"], interface["typestr"]
        pointer, read_only = interface["data"]
        pointer, stream = _address(pointer or 0), interface.get("stream")
        stream = stream if stream is None else _address(stream)
        shape = tuple(map(_size, interface["shape"]))
        strides = interface.get("strides")
        steps = strides if strides is None else tuple(map(_size, strides))
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
    if pointer == 0 and 0 not in shape:
        raise TypeError(f"{name} has elements, and no address of them")
    if steps is None:
        steps = _contiguous(shape)
    elif len(steps) != len(shape):
        raise TypeError(f"{name} has {len(shape)} dimensions and {len(steps)} strides")
    elif any(step % 4 for step in steps):
        raise TypeError(f"{name} has strides that are no multiples of 4 bytes")
    else:
        steps = tuple(step // 4 for step in steps)
    if device is None:
        device = _device_of_memory(name, pointer)
    return Array(value, pointer, shape, steps, device, stream, bool(read_only))


def _size(value: Any) -> int:
    """Raises TypeError and ValueError for what is none, or is beyond the 64 bits that ctypes would cut it to."""
    if not -1 << 63 <= (number := operator.index(value)) < 1 << 63:
        raise ValueError(f"{value} is no size")
    return number


def _address(value: Any) -> int:
    """Raises TypeError and ValueError for what is none."""
    if not 0 <= (number := operator.index(value)) < 1 << 64:
        raise ValueError(f"{value} is no address")
    return number


def _device_of_memory(name: str, pointer: int) -> int:
    try:  # an array without elements may have no address
        return driver.loaded().device_of(pointer) if pointer else driver.loaded().current_device()
    except driver.DriverError as error:
        raise TypeError(f"{name} is not in the memory of a GPU: {error}") from None


def _contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, stride = [], 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= size
    return tuple(reversed(strides))


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


_FLOAT = 2  # DLPack's code of floating-point numbers


def _from_dlpack(name: str, value: Any, device: int, stream: int, interface: dict | None) -> Array:
    capsule = value.__dlpack__(stream=stream or 1)  # 1 is the default stream there
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(get_pointer(capsule, b"dltensor"))
    if (tensor.code, tensor.bits, tensor.lanes) != (_FLOAT, 32, 1):
        raise TypeError(f"{name} does not hold float32")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else _contiguous(shape)
    read_only = bool(interface and interface["data"][1])
    return Array(value, (tensor.data or 0) + tensor.byte_offset, shape, strides, device, None, read_only, capsule)


def empty_like_in(value: Any, shape: tuple[int, ...]) -> Any:
    """A new array of the package that `value` comes from, on its device. Raises TypeError for other packages than
    PyTorch and CuPy."""
    package = package_of(type(value))
    module = sys.modules.get(package)
    if package == "torch":
        return module.empty(shape, dtype=module.float32, device=value.device)
    if package == "cupy":
        return module.empty(shape, dtype=module.float32)
    raise TypeError(f"arrays of {type(value).__module__.partition('.')[0]} can not be made here: give one as `out`")


def current_stream(value: Any) -> int | None:
    """The stream that the package of an array works on. None: that of another package than PyTorch and CuPy is not
    known."""
    package = package_of(type(value))
    if package == "torch":
        torch = sys.modules["torch"]
        if raw := getattr(torch._C, "_cuda_getCurrentRawStream", None):  # which makes no object of Python
            return raw(value.get_device())
        return torch.cuda.current_stream(value.device).cuda_stream
    return sys.modules["cupy"].cuda.get_current_stream().ptr if package == "cupy" else None


def stream_of(stream: Any) -> int:
    """The number of a stream of PyTorch, CuPy or CUDA Python, or of an integer. Raises TypeError for others, and
    ValueError for a number that is no stream's."""
    if hasattr(stream, "__cuda_stream__"):
        return _address(stream.__cuda_stream__()[1])
    for number in (stream, getattr(stream, "cuda_stream", None), getattr(stream, "ptr", None)):
        if isinstance(number, int):
            return _address(number)
    raise TypeError(f"stream is a {type(stream).__name__}: give a stream of PyTorch or CuPy, or its number")


def current_device(value: Any, device: int | None) -> contextlib.AbstractContextManager:
    """Makes the array's device current for a while, in PyTorch and CuPy. Others have to do so themselves."""
    package = package_of(type(value))
    if package == "torch" and (cuda := sys.modules["torch"].cuda).current_device() != device:
        return cuda.device(device)
    return sys.modules["cupy"].cuda.Device(device) if package == "cupy" else HERE


def overlap(a: Array, b: Array) -> bool:
    """Whether two arrays have an element in common. Strides are not negative, and one of those of a matrix is 1."""
    first, last = (a, b) if a.pointer < b.pointer else (b, a)
    if last.pointer >= first.pointer + extent(first.shape, first.strides) or 0 in a.shape or 0 in b.shape:
        return False
    length, ld, lines, starts = _lines(b)
    length_a, ld_a, lines_a, starts_a = _lines(a)
    # Lines of a that lie as far apart as those of b are one line beside lines of b from further ahead.
    apart, ahead = (1, lines_a - 1) if ld_a == ld else (lines_a, 0)
    if a.strides[0] == b.strides[0] or 1 in (len(starts), len(starts_a)):  # as many differences as matrices
        apart_by = {one - starts[0] for one in starts_a} | {starts_a[0] - other for other in starts}
    else:
        apart_by = {one - other for one in starts_a for other in starts}
    for start in apart_by:
        for at in range(start, start + apart * ld_a, ld_a):
            low, high = at - length + 1, at + length_a - 1  # within which lines of b begin that have a part of this one
            line = max(-(-low // ld), -ahead)
            if line < lines and line * ld <= high:
                return True
    return False


def extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How many bytes there are from the first element to behind the last one."""
    return 4 + 4 * sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def _lines(array: Array) -> tuple[int, int, int, list[int]]:
    """The length of contiguous lines, their distance and number in a matrix, and where matrices begin, in elements."""
    (rows, columns), (by_rows, by_columns) = array.shape[-2:], array.strides[-2:]
    if by_columns != 1 and columns > 1:
        rows, columns, by_rows, by_columns = columns, rows, by_columns, by_rows
    begin = array.pointer // 4
    batch = range(array.shape[0]) if len(array.shape) == 3 else range(1)
    return columns, max(by_rows, 1), rows, [begin + i * array.strides[0] for i in batch]
