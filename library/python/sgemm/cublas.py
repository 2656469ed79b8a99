"""The cuBLAS of nvidia-* packages, which libsgemm can not find by itself: it does not know where Python looks."""

import ctypes
import os
import sys
from pathlib import Path

# What is loaded, and where packages have it. The newest goes first, as in libsgemm.
FILES = {
    "libcublas.so.13": Path("nvidia", "cu13", "lib"),
    "libcublas.so.12": Path("nvidia", "cublas", "lib"),
}


def is_loaded(soname: str) -> bool:
    try:
        ctypes.CDLL(soname, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False
    return True


def offer() -> None:
    """Loads the first cuBLAS of a package on sys.path, unless the process has one already or SGEMM_CUBLAS names one.
    libsgemm then takes what is loaded. It looks for others only if there is none."""
    if os.environ.get("SGEMM_CUBLAS") or any(is_loaded(soname) for soname in FILES):
        return
    for soname, folder in FILES.items():
        for place in sys.path:
            path = Path(place) / folder / soname
            if path.exists():
                try:
                    ctypes.CDLL(str(path))
                except OSError:
                    continue
                return
