"""FP32 matrix products of JAX by libsgemm.

    import sgemm.jax
    c = sgemm.jax.matmul(a, b, accuracy="normwise")  # under jit, vmap and grad as well
    sgemm.jax.enable()                               # jnp.matmul and all else that asks for FP32

XLA calls libsgemm as it calls cuBLAS: on its own stream, in memory of its own.
"""

import contextlib
import ctypes
import functools
import math
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import mlir

from . import driver, library

__all__ = ["disable", "enable", "matmul"]

NAME = "libsgemm_jax.so"
TARGET = "sgemm_dot"
# Products with fewer multiplications are cuBLAS's in libsgemm, and those of XLA may be part of something larger.
FEWEST = 256**3


def matmul(a: Any, b: Any, accuracy: str = "componentwise") -> jax.Array:
    """a @ b for FP32 arrays on a GPU, with the shapes of jnp.matmul.

    `accuracy` is "fp32", "componentwise", "normwise", "rowwise" or "reproducible" (docs/accuracy.md), also of the
    gradients. There are gradients in reverse mode. Raises TypeError for other types, ValueError for other accuracies
    and for shapes that do not fit, and LibraryNotFound.
    """
    for name, given in (("a", a), ("b", b)):
        array = given if isinstance(given, (np.ndarray, np.generic)) else jnp.asarray(given)  # of 64 bits this makes 32
        if array.dtype != jnp.float32:
            raise TypeError(f"{name} holds {array.dtype}, not float32")
        if array.ndim == 0:
            raise ValueError(f"{name} is a number: give an array")
    a, b = jnp.asarray(a), jnp.asarray(b)
    number = library.number_of(accuracy)
    matrix_a, matrix_b = a[None] if a.ndim == 1 else a, b[:, None] if b.ndim == 1 else b
    if matrix_a.shape[-1] != matrix_b.shape[-2]:
        raise ValueError(f"a has {matrix_a.shape[-1]} columns and b has {matrix_b.shape[-2]} rows: these must be equal")
    batch = jnp.broadcast_shapes(matrix_a.shape[:-2], matrix_b.shape[:-2])
    if matrix_b.ndim == 2:  # one product of many rows
        rows = matrix_a.reshape(math.prod(matrix_a.shape[:-1]), matrix_a.shape[-1])
        result = _product(rows, matrix_b, False, False, number)
    else:
        result = _product(_as_batch(matrix_a, len(batch)), _as_batch(matrix_b, len(batch)), False, False, number)
    matrix = (() if a.ndim == 1 else a.shape[-2:-1]) + (() if b.ndim == 1 else b.shape[-1:])
    return result.reshape(batch + matrix)


def enable(accuracy: str = "componentwise") -> None:
    """Has FP32 products that are compiled from now on computed by libsgemm where it is predicted to be faster: those of
    jnp.matmul, dot, einsum, tensordot, lax.dot_general, and their gradients.

    Products in FP32 are those with precision "highest", or the algorithm F32_F32_F32. Without one JAX asks for TF32 on
    a GPU, and gets it from cuBLAS as before: jax.config.update("jax_default_matmul_precision", "highest") asks for FP32
    everywhere. Programs that XLA divides among several devices keep cuBLAS, but for what is inside shard_map.

    Raises ValueError for another accuracy, and LibraryNotFound.
    """
    number = library.number_of(accuracy)
    _load()
    disable()
    _replace_rule(_platform(), number)
    jax.clear_caches()


def disable() -> None:
    """Leaves products that are compiled from now on to XLA."""
    if _replaced:
        platform, before = _replaced.popitem()
        rules = _rules()._platform_specific_lowerings[platform]
        if before is None:
            del rules[lax.dot_general_p]
        else:
            rules[lax.dot_general_p] = before
        jax.clear_caches()


# ---- How it is done ----

_replaced: dict[str, Any] = {}  # the rule that a platform had before


def _platform() -> str:
    return "cuda"


@functools.cache
def _load() -> None:
    """Tells XLA of the call. Raises LibraryNotFound."""
    library.load()
    try:
        call = ctypes.CDLL(str(Path(library.library_path()).with_name(NAME)))
    except OSError as error:
        raise library.LibraryNotFound(f"the library for JAX can not be loaded: {error}") from None
    call.sgemm_jax_load.restype = ctypes.c_char_p
    if problem := call.sgemm_jax_load(os.fsencode(library.library_path())):
        raise library.LibraryNotFound(f"libsgemm can not be used: {problem.decode()}")
    platform = {"cuda": "CUDA"}.get(_platform(), _platform())
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(call.sgemm_jax_dot), platform=platform)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4))
def _product(a: jax.Array, b: jax.Array, transpose_a: bool, transpose_b: bool, accuracy: int) -> jax.Array:
    """op(a) op(b) for arrays of the same number of dimensions. Those of a batch are equal, or 1 in one of them."""
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-1 if transpose_a else -2], b.shape[-2 if transpose_b else -1])
    if 0 in (*shape, *a.shape):  # nothing to multiply
        return jnp.zeros(shape, jnp.float32)
    _load()
    call = jax.ffi.ffi_call(TARGET, jax.ShapeDtypeStruct(shape, jnp.float32), vmap_method="expand_dims")
    return call(a, b, transpose_a=bool(transpose_a), transpose_b=bool(transpose_b), accuracy=np.int32(accuracy))


def _forward(a, b, transpose_a, transpose_b, accuracy):
    return _product(a, b, transpose_a, transpose_b, accuracy), (a, b)


def _backward(transpose_a, transpose_b, accuracy, operands, gradient):
    a, b = operands
    if transpose_a:
        of_a = _product(b, gradient, transpose_b, True, accuracy)
    else:
        of_a = _product(gradient, b, False, not transpose_b, accuracy)
    if transpose_b:
        of_b = _product(gradient, a, True, transpose_a, accuracy)
    else:
        of_b = _product(a, gradient, not transpose_a, False, accuracy)
    return _summed(of_a, a.shape), _summed(of_b, b.shape)


_product.defvjp(_forward, _backward)


def _summed(gradient: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """The gradient of a matrix that served several products."""
    axes = tuple(i for i, size in enumerate(shape) if size == 1 and gradient.shape[i] != 1)
    return gradient.sum(axes, keepdims=True) if axes else gradient


def _as_batch(array: jax.Array, dimensions: int) -> jax.Array:
    return array.reshape((1,) * (dimensions + 2 - array.ndim) + array.shape)


# ---- jnp.matmul and all else that becomes lax.dot_general ----


def _rules() -> Any:
    """Where JAX keeps how primitives are compiled. It has no public way to read or remove one."""
    from jax._src.interpreters import mlir as rules

    return rules


def _replace_rule(platform: str, accuracy: int) -> None:
    rules = _rules()
    before = rules._platform_specific_lowerings[platform].get(lax.dot_general_p)
    rule_before = (before or rules._lowerings[lax.dot_general_p]).rule

    def rule(context, a, b, **parameters):
        if not _is_taken(context, accuracy, **parameters):
            return rule_before(context, a, b, **parameters)
        dot = functools.partial(_dot_general, dimension_numbers=parameters["dimension_numbers"], accuracy=accuracy)
        return mlir.lower_fun(dot, multiple_results=False)(context, a, b)

    mlir.register_lowering(lax.dot_general_p, rule, platform=platform)
    _replaced[platform] = before


def _is_taken(context: Any, accuracy: int, *, dimension_numbers, precision, **_: Any) -> bool:
    """Whether libsgemm is to compute a product."""
    a, b = context.avals_in
    if not _asks_for_fp32(precision) or not _is_undivided(context.module_context.axis_context):
        return False
    if any(aval.dtype != jnp.float32 for aval in (a, b, *context.avals_out)):
        return False
    if not all(isinstance(size, int) for size in (*a.shape, *b.shape)):
        return False
    (contracted, _), (batch, _) = dimension_numbers
    k = math.prod(a.shape[i] for i in contracted)
    count = math.prod(a.shape[i] for i in batch)
    if k == 0 or count == 0:
        return False
    if accuracy == library.ACCURACIES["reproducible"]:
        return True  # XLA has other bits
    m, n = (math.prod(x.shape) // (k * count) for x in (a, b))
    device = _device(context.module_context.axis_context)
    return m * n * k >= FEWEST and _is_faster(m, n, k, count, accuracy, device)


def _asks_for_fp32(precision: Any) -> bool:
    if isinstance(precision, lax.DotAlgorithmPreset):
        return precision == lax.DotAlgorithmPreset.F32_F32_F32
    both = precision if isinstance(precision, tuple) else (precision, precision)
    return all(of == lax.Precision.HIGHEST for of in both)


def _is_undivided(axes: Any) -> bool:
    """Whether the shapes are those of one device. XLA would gather the operands of a call that it can not divide."""
    if hasattr(axes, "num_devices"):
        return axes.num_devices == 1
    return hasattr(axes, "manual_axes") and set(axes.manual_axes) == set(axes.mesh.axis_names)


def _device(axes: Any) -> int | None:
    """CUDA's number of the device that a program is compiled for, or of this process's first."""
    devices = getattr(axes, "device_assignment", None) or ()
    first, *_ = [*(of for of in devices if of.process_index == jax.process_index()), *jax.local_devices()]
    return first.local_hardware_id if first.platform == "gpu" else None


def _is_faster(m: int, n: int, k: int, count: int, accuracy: int, device: int | None) -> bool:
    """What libsgemm plans on a device, with operands as they lie in most programs."""
    a, b = library.Operand(ld=k, stride=m * k), library.Operand(ld=n, stride=k * n)
    planned = library.product(library.ROW_MAJOR, (m, n, k), a, b, (None, n, m * n), count)
    settings = 0, accuracy, None, library.FALLBACK_NONE  # which needs no cuBLAS
    try:
        with contextlib.nullcontext() if device is None else driver.loaded().current(device):
            plan = library.with_handle(device or 0, settings, library.plan, planned)
    except (library.SgemmError, driver.DriverError):  # there is no GPU where the program is compiled
        return False
    return plan.kernel not in (b"cublas", b"none")


def _dot_general(a: jax.Array, b: jax.Array, *, dimension_numbers: Any, accuracy: int) -> jax.Array:
    (contracted_a, contracted_b), (batch_a, batch_b) = dimension_numbers
    matrices_a, transpose_a, free_a = _matrices(a, batch_a, contracted_a)
    matrices_b, transpose_b, free_b = _matrices(b, batch_b, contracted_b)
    result = _product(matrices_a, matrices_b, transpose_a, not transpose_b, accuracy)
    return result.reshape((*(a.shape[i] for i in batch_a), *free_a, *free_b))


def _matrices(x: jax.Array, batch: Any, contracted: Any) -> tuple[jax.Array, bool, list[int]]:
    """The array as a batch of matrices, whether the contracted dimensions are their rows, and the sizes of the others.
    An array that lies in one of these two ways is taken as it is."""
    free = [i for i in range(x.ndim) if i not in batch and i not in contracted]
    rows_contracted = [*batch, *contracted, *free] == list(range(x.ndim)) and bool(free)
    x_free = [x.shape[i] for i in free]
    k, count = (math.prod(x.shape[i] for i in of) for of in (contracted, batch))
    order = [*batch, *contracted, *free] if rows_contracted else [*batch, *free, *contracted]
    matrix = (k, math.prod(x_free)) if rows_contracted else (math.prod(x_free), k)
    # One matrix for all products needs no dimension of a batch.
    return x.transpose(order).reshape(((count,) if batch else ()) + matrix), rows_contracted, x_free
