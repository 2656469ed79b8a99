"""sgemm.matmul()."""

import sys
from ctypes import byref, c_float
from typing import Any

from . import driver, library
from .arrays import (
    Array,
    array_of,
    current_device,
    current_stream,
    device_of,
    empty_like_in,
    overlap,
    package_of,
    stream_of,
)  # fmt: skip


def matmul(
    a: Any,
    b: Any,
    accuracy: str = "componentwise",
    out: Any = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    stream: Any = None,
) -> Any:
    """out = alpha * a @ b + beta * out, enqueued on a stream of the GPU.

    `a` is m x k and `b` is k x n, or both or one of them are batches of such matrices with three dimensions. All are
    FP32 arrays on one GPU, of PyTorch, CuPy, or any package with `__cuda_array_interface__` or DLPack. Rows or columns
    have to be contiguous, so that transposed and cut out matrices are taken as they are. Nothing is copied.

    `accuracy` is "fp32", "componentwise", "normwise", "rowwise" or "reproducible" (docs/accuracy.md). `out` is
    m x n, or a batch of such matrices, and must not overlap a and b. Without it, a new array of PyTorch or CuPy is
    made. It is not read if beta is 0.

    The work goes to the current stream of a's package, behind the work on the streams of b and out, which wait for it.
    With `stream`, a stream of PyTorch or CuPy or its number, it goes there, behind the same work, and the caller waits.

    Returns out. Raises TypeError and ValueError for wrong arguments, LibraryNotFound, and SgemmError. There are no
    gradients: where PyTorch records them, tensors that require them are refused. The version of `out` is raised, as by
    PyTorch's own changes in place.
    """
    if accuracy not in list(library.ACCURACIES):
        raise ValueError(f"accuracy is {accuracy!r}: give one of {', '.join(library.ACCURACIES)}")
    if out is None and beta != 0:
        raise ValueError("beta is not 0: give the array that it multiplies as `out`")
    given = {"a": a, "b": b} | ({} if out is None else {"out": out})
    tensors = {name: value for name, value in given.items() if package_of(value) == "torch"}
    _refuse_gradients(tensors)
    with current_device(a, device_of("a", a)):
        number = _number_of(stream, a)
        arrays = {name: array_of(name, value, number) for name, value in given.items()}
        shape = _shape_of_product(arrays["a"], arrays["b"])
        if out is None:
            given["out"] = empty_like_in(a, shape)
            arrays["out"] = array_of("out", given["out"], number)
        _check_out(arrays, given["out"], shape)
        if 0 not in shape:
            if "out" in tensors and not out.is_inference():
                sys.modules["torch"].autograd.graph.increment_version(out)
            _enqueue(*arrays.values(), accuracy, alpha, beta, number, given, waits=stream is None)
    return given["out"]


def _refuse_gradients(tensors: dict[str, Any]) -> None:
    if not tensors:
        return
    torch = sys.modules["torch"]
    for name, tensor in tensors.items():
        if torch.is_grad_enabled() and tensor.requires_grad:
            raise ValueError(f"{name} requires a gradient, and there is none here: detach it, or call under no_grad()")
    out = tensors.get("out")
    if out is not None and out.is_neg():
        raise ValueError("out is a view whose numbers PyTorch negates when it reads them: give another tensor")
    if out is not None and out.is_inference() and not torch.is_inference_mode_enabled():
        raise ValueError("out was made in inference mode, and can not be changed outside of it")


def _number_of(stream: Any, a: Any) -> int:
    if stream is not None:
        number = stream_of(stream)
    elif (number := current_stream(a)) is None:
        number = (getattr(a, "__cuda_array_interface__", None) or {}).get("stream") or 0
    return 0 if number == LEGACY else number


LEGACY = 1  # the default stream by another number


def _check_out(arrays: dict[str, Array], out: Any, shape: tuple[int, ...]) -> None:
    array_a, array_b, array_out = (arrays[name] for name in ("a", "b", "out"))
    if array_out.shape != shape:
        raise ValueError(f"out has the shape {array_out.shape}, but a @ b has {shape}")
    if array_out.read_only:
        raise ValueError("out is read-only")
    if not array_a.device == array_b.device == array_out.device:
        devices = f"{array_a.device}, {array_b.device} and {array_out.device}"
        raise ValueError(f"a, b and out are on devices {devices}: all have to be on one")


def _shape_of_product(a: Array, b: Array) -> tuple[int, ...]:
    for name, array in (("a", a), ("b", b)):
        if len(array.shape) not in (2, 3):
            raise ValueError(f"{name} has {len(array.shape)} dimensions: give a matrix or a batch of matrices")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"a has {a.shape[-1]} columns and b has {b.shape[-2]} rows: these have to be equal")
    batches = {array.shape[0] for array in (a, b) if len(array.shape) == 3}
    if len(batches - {1}) > 1:
        raise ValueError(f"a is a batch of {a.shape[0]} and b of {b.shape[0]}: give equal ones, or one of 1")
    matrix = (a.shape[-2], b.shape[-1])
    return (max(batches - {1}, default=1), *matrix) if batches else matrix


def _enqueue(
    a: Array, b: Array, out: Array, accuracy: str, alpha: float, beta: float, stream: int, given: dict, waits: bool
) -> None:
    order = library.ROW_MAJOR if _ld("out", out, library.ROW_MAJOR) else library.COLUMN_MAJOR
    op_a, ld_a = _op_and_ld("a", a, order)
    op_b, ld_b = _op_and_ld("b", b, order)
    ld_out = _ld("out", out, order) or _no_layout("out", out)
    strides = [_batch_stride(name, array) for name, array in (("a", a), ("b", b), ("out", out))]
    for name, array in (("a", a), ("b", b)):
        if overlap(out, array):
            raise ValueError(f"out overlaps {name}, which the product reads")
    handle = library.handle_of(a.device).pointer
    sgemm = library.load()
    library.check(sgemm.sgemm_set_stream(handle, stream))
    library.check(sgemm.sgemm_set_accuracy(handle, library.ACCURACIES[accuracy]))
    others = {current_stream(value) for value in given.values()} | {array.stream for array in (a, b, out)}
    others = {0 if other == LEGACY else other for other in others if other is not None} - {stream}
    for other in sorted(others):
        driver.order(other, stream)
    batch_count = out.shape[0] if len(out.shape) == 3 else 1
    factors = byref(c_float(alpha)), byref(c_float(beta))
    library.check(
        sgemm.sgemm_gemm_strided_batched(
            *(handle, order, op_a, op_b, *out.shape[-2:], a.shape[-1], factors[0]),
            *(a.pointer, ld_a, strides[0]),
            *(b.pointer, ld_b, strides[1], factors[1]),
            *(out.pointer, ld_out, strides[2], batch_count),
        )
    )
    if waits:
        for other in sorted(others):
            driver.order(stream, other)
    elif others:
        for array in (a, b, out):
            if package_of(array.owner) == "torch":  # whose memory may be another's when this work begins
                array.owner.record_stream(sys.modules["torch"].cuda.ExternalStream(stream, array.device))


def _op_and_ld(name: str, array: Array, order: int) -> tuple[int, int]:
    """How a call in `order` reads the array, and with which leading dimension."""
    other = library.COLUMN_MAJOR if order == library.ROW_MAJOR else library.ROW_MAJOR
    if ld := _ld(name, array, order):
        return library.NO_TRANSPOSE, ld
    return library.TRANSPOSE, _ld(name, array, other) or _no_layout(name, array)


def _ld(name: str, array: Array, order: int) -> int | None:
    """The leading dimension of the array's matrices in an order, or None if they do not lie in that order."""
    lines, length = array.shape[-2:]
    between_lines, in_line = array.strides[-2:]
    if order == library.COLUMN_MAJOR:
        lines, length = length, lines
        between_lines, in_line = in_line, between_lines
    if lines <= 1 or length == 0:
        return max(length, 1) if in_line == 1 or length <= 1 else None
    if length > 1 and in_line != 1:
        return None
    return between_lines if between_lines >= max(length, 1) else None


def _batch_stride(name: str, array: Array) -> int:
    if len(array.shape) == 2 or array.shape[0] <= 1:
        return 0
    if array.strides[0] < 0:
        raise ValueError(f"{name} has matrices in descending order: give a copy")
    return array.strides[0]


def _no_layout(name: str, array: Array) -> int:
    raise ValueError(
        f"{name} has the strides {array.strides}: neither its rows nor its columns are contiguous. Give a copy"
    )
