"""FP32 matrix products of libsgemm, for arrays of PyTorch, CuPy, and others on NVIDIA GPUs.

    import sgemm
    c = sgemm.matmul(a, b)                        # a @ b
    c = sgemm.matmul(a, b.T, accuracy="normwise") # no copy of b is made

The library is found as sgemm.library_path() describes.
"""

from .arrays import Array
from .library import VERSION as __version__
from .library import LibraryNotFound, SgemmError, library_path, version
from .product import matmul

__all__ = ["Array", "LibraryNotFound", "SgemmError", "__version__", "library_path", "matmul", "version"]
