"""What a kernel looks like and is called in every chart: those of plot.py, and those of a report."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np

from tools.results import Row

CARD = "#ffffff"  # the charts bring their own light background, so they read on dark pages too
INK = "#1f2328"
MUTED = "#656d76"
GRID = "#e3e6ea"

# Each kernel has one colour and one marker. Chapters on FP32 units stand on one scale, later chapters on another one,
# because the end of the first is too bright for a light card, and those from 14 on on a third. The lightness of a scale
# rises or falls evenly, which colour-blind readers see as well. From 07 on steps are larger. Chapters still to be
# written share the last place.
SCALES = (
    ("plasma", (0.0, 0.08, 0.15, 0.21, 0.28, 0.35, 0.43, 0.54, 0.64)),
    ("viridis", (0.30, 0.47, 0.64, 0.79)),
    ("YlOrBr", (0.45, 0.58, 0.74, 0.92)),
)
PLACES = tuple((scale, place) for scale, places in SCALES for place in places)
MARKERS = "osD^vPX<>ph*dH"
LIBRARIES = {
    "cublas": ("cuBLAS", "#000000", "o"),
    "cublaslt_best": ("cuBLASLt best", "#7d8590", "s"),
    "cublas_tf32": ("cuBLAS TF32", "#57606a", "D"),
    "cpu_blas": ("OpenBLAS (CPU)", "#009e73", "s"),
    "cpu_naive": ("three loops (CPU)", "#56b4e9", "^"),
}
CUBLAS = LIBRARIES["cublas"][1]


def contrast(one: Any, other: Any) -> float:
    """Of two colours, as WCAG 2 defines it."""

    def luminance(color: Any) -> float:
        rgb = np.array(matplotlib.colors.to_rgb(color))
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ (0.2126, 0.7152, 0.0722)) + 0.05

    low, high = sorted((luminance(one), luminance(other)))
    return high / low


def color_of(row: Row) -> Any:
    """As Matplotlib takes it. Variants have their chapter's, and what is no chapter and no library is grey."""
    if not row.is_chapter:
        return LIBRARIES.get(row.kernel, ("", MUTED, ""))[1]
    scale, place = PLACES[min(row.number, len(PLACES)) - 1]
    return matplotlib.colormaps[scale](place)


def marker_of(row: Row) -> str:
    """As Matplotlib names it."""
    return MARKERS[(row.number - 1) % len(MARKERS)] if row.is_chapter else LIBRARIES.get(row.kernel, ("", "", "o"))[2]


def title_of(row: Row) -> str:
    """ "05 coarse 1d", "06: vectorized"; libraries by their own name."""
    if not row.is_chapter:
        return LIBRARIES.get(row.kernel, (row.kernel.replace("_", " "),))[0]
    number, _, name = row.kernel.partition(":")[0].partition("_")
    return f"{number}: {row.variant.replace('_', ' ')}" if row.variant else f"{number} {name.replace('_', ' ')}"
