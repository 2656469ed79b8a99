"""Products that tell what a machine gets: squares, layers of networks, batches of attention."""

import ctypes
import os
from ctypes import POINTER, byref, c_float, c_int64
from dataclasses import dataclass

from .. import library


@dataclass(frozen=True)
class Product:
    """A product of row-major matrices, and whether B is stored transposed."""

    name: str
    m: int
    n: int
    k: int
    transposed_b: bool = False
    batch: int = 1

    @property
    def size(self) -> str:
        batch = f"{self.batch} x " if self.batch > 1 else ""
        return f"{batch}{self.m} x {self.n} x {self.k}{' NT' if self.transposed_b else ''}"

    @property
    def flop(self) -> float:
        return 2.0 * self.m * self.n * self.k * self.batch

    @property
    def leading(self) -> tuple[int, int, int]:
        return self.k, self.k if self.transposed_b else self.n, self.n

    @property
    def elements(self) -> tuple[int, int, int]:
        """Of A, B and C, of one product of the batch."""
        return self.m * self.k, self.k * self.n, self.m * self.n

    def call(self, a: int | None = None, b: int | None = None, c: int | None = None) -> library.Product:
        (lda, ldb, ldc), (size_a, size_b, size_c) = self.leading, self.elements
        op_b = library.TRANSPOSE if self.transposed_b else library.NO_TRANSPOSE
        return library.product(
            library.ROW_MAJOR,
            (self.m, self.n, self.k),
            library.Operand(None, library.NO_TRANSPOSE, a, lda, size_a),
            library.Operand(None, op_b, b, ldb, size_b),
            (c, ldc, size_c),
            self.batch,
        )


PRODUCTS = (
    Product("square", 256, 256, 256),
    Product("square", 1024, 1024, 1024),
    Product("square", 2048, 2048, 2048),
    Product("square", 4096, 4096, 4096),
    Product("square", 8192, 8192, 8192),
    Product("odd sizes", 3001, 3001, 3001),
    Product("layer of a network", 8192, 4096, 1024, True),
    Product("its way back", 8192, 1024, 4096),
    Product("few tokens", 32, 4096, 4096, True),
    Product("attention", 512, 512, 64, True, 192),
)


def plan(handle: library.Handle, product: Product, accuracy: str) -> library.Plan:
    return library.plan(handle.set(0, library.ACCURACIES[accuracy]), product.call())


def accuracies(handle: library.Handle) -> list[str]:
    """Those that the device has kernels for, or else cuBLAS."""
    return [accuracy for accuracy in library.ACCURACIES if plan(handle, PRODUCTS[0], accuracy).kernel != b"none"]


def enqueue(handle: ctypes.c_void_p, product: Product, a: int, b: int, c: int) -> None:
    """C = A B, with the handle's settings."""
    library.check(library.load().sgemm_run(handle, byref(product.call(a, b, c))))


class Cublas:
    """cublasSgemm of the cuBLAS that libsgemm takes."""

    def __init__(self):
        path = library.load().sgemm_cublas_path()
        if not path:
            raise library.LibraryNotFound("there is no cuBLAS 12 or 13: pip install sgemm[cuda13], or set SGEMM_CUBLAS")
        self.library = ctypes.CDLL(os.fsdecode(path))
        scalar, matrix, integer = POINTER(c_float), [ctypes.c_void_p, c_int64, ctypes.c_longlong], c_int64
        self.multiply = self.library.cublasSgemmStridedBatched_64
        self.multiply.argtypes = [
            *(ctypes.c_void_p, ctypes.c_int, ctypes.c_int, integer, integer, integer, scalar),
            *(*matrix, *matrix, scalar, *matrix, integer),
        ]
        self.handle = ctypes.c_void_p()
        self.check(self.library.cublasCreate_v2(byref(self.handle)))

    def check(self, status: int) -> None:
        if status:
            raise library.SgemmError(status, f"cuBLAS failed with its status {status}")

    def enqueue(self, product: Product, a: int, b: int, c: int) -> None:
        """The same for cuBLAS, which is column-major: C^T = B^T A^T."""
        (lda, ldb, ldc), (size_a, size_b, size_c) = product.leading, product.elements
        self.check(
            self.multiply(
                *(self.handle, int(product.transposed_b), 0, product.n, product.m, product.k, library.ONE),
                *(b, ldb, size_b, a, lda, size_a, library.ZERO, c, ldc, size_c, product.batch),
            )
        )
