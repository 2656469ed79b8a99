"""What a kernel looks like and is called in every chart: those of plot.py, and those of a report."""

import itertools
from collections.abc import Iterable, Mapping
from math import inf

from tools.results import Row, is_of_file, short_name

CARDS = {"light": "#ffffff", "dark": "#161b22"}  # documents have charts of the light theme
INKS = {"light": "#1f2328", "dark": "#e6edf3"}
GRIDS = {"light": "#e3e6ea", "dark": "#30363d"}
GREYS = {"light": "#59636e", "dark": "#9198a1"}
GRAPHICS, TEXT = 3.0, 4.5  # the contrast against the card that WCAG 2 asks of a line or a point, and of small text

# Each kernel has one colour and one marker. Chapters on FP32 units stand on one scale, later chapters on another one,
# because the end of the first is too bright for a light card, those from 14 on on a third, and those from 18 on on a
# fourth. The lightness of a scale rises or falls evenly, which colour-blind readers see as well. From 07 on steps are
# larger. Chapters still to be written share the last place.
COLORS = ("#0d0887", "#38049a", "#5601a4", "#6e00a8", "#8808a6", "#a11b9b", "#ba3388", "#d5536f", "#e87059")
COLORS += ("#355f8d", "#23898e", "#2cb17e", "#75d054", "#feaa38", "#f27f1b", "#ce4f03", "#862e05", "#35a7d8", "#0a58ca")
MUTED = "#656d76"
# As Vega has them; what it has no name for is a path in a square from -1 to 1.
X = "M-1,-0.4L-0.4,-1L0,-0.6L0.4,-1L1,-0.4L0.6,0L1,0.4L0.4,1L0,0.6L-0.4,1L-1,0.4L-0.6,0Z"
PENTAGON = "M0,-1L0.95,-0.31L0.59,0.81L-0.59,0.81L-0.95,-0.31Z"
HEXAGON = "M0,-1L0.87,-0.5L0.87,0.5L0,1L-0.87,0.5L-0.87,-0.5Z"
HEXAGON_ON_EDGE = "M-1,0L-0.5,-0.87L0.5,-0.87L1,0L0.5,0.87L-0.5,0.87Z"
THIN_DIAMOND = "M0,-1L0.6,0L0,1L-0.6,0Z"
STAR = "M0,-1L0.26,-0.36L0.95,-0.31L0.43,0.14L0.59,0.81L0,0.45L-0.59,0.81L-0.43,0.14L-0.95,-0.31L-0.26,-0.36Z"
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", X, "triangle-left", "triangle-right")
SHAPES += (PENTAGON, HEXAGON, STAR, THIN_DIAMOND, HEXAGON_ON_EDGE)
LIBRARIES = {
    "cublas": ("cuBLAS", "#000000", "circle"),
    "cublaslt_best": ("cuBLASLt best", "#7d8590", "square"),
    "cublas_tf32": ("cuBLAS TF32", "#57606a", "diamond"),
    "cpu_blas": ("OpenBLAS (CPU)", "#009e73", "square"),
    "cpu_naive": ("three loops (CPU)", "#56b4e9", "triangle-up"),
}
CUBLAS = LIBRARIES["cublas"][1]
# For kernels that have no colour of their own, such as those of a .cu file.
OTHERS = ("#0969da", "#bf3989", "#1a7f37", "#bc4c00", "#8250df", "#9a6700", "#cf222e", "#0e7490")


def most_gained(speeds: Mapping[str, float], most: int) -> dict[str, float]:
    """Of kernels in the order of the chapters at most so many: the fastest, and those that are most times as fast as
    the fastest kept before them."""
    kept = dict(speeds)
    while len(kept) > most:
        gains, fastest = {}, 0.0
        for name, speed in kept.items():
            gains[name] = speed / fastest if fastest else inf
            fastest = max(fastest, speed)
        best = max(kept, key=kept.get)
        del kept[min((name for name in kept if name != best), key=gains.get)]
    return kept


def channels(color: str) -> list[int]:
    return [int(color[at : at + 2], 16) for at in (1, 3, 5)]


def mixed(one: str, other: str, weight: float) -> str:
    """The colour that is the given share of the way from one to the other."""
    pairs = zip(channels(one), channels(other), strict=True)
    return "#" + "".join(f"{round(a + weight * (b - a)):02x}" for a, b in pairs)


def luminance(color: str) -> float:
    """As WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in channels(color))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one) + 0.05, luminance(other) + 0.05))
    return high / low


def seen_on(color: str, theme: str, wanted: float = GRAPHICS) -> str:
    """The colour moved towards the ink of a theme, where it must be, until it has enough contrast to the card."""
    steps = (mixed(color, INKS[theme], share / 40) for share in range(41))
    return next(each for each in steps if contrast(each, CARDS[theme]) >= wanted)


def title_of(row: Row) -> str:
    """ "05 coarse 1d", "06: vectorized"; libraries by their own name."""
    if not row.is_chapter:
        return LIBRARIES.get(row.kernel, (row.kernel.replace("_", " "),))[0]
    number, _, name = row.kernel.partition(":")[0].partition("_")
    return f"{number}: {row.variant.replace('_', ' ')}" if row.variant else f"{number} {name.replace('_', ' ')}"


def names_of(rows: Iterable[Row]) -> dict[tuple[str, int], str]:
    """What a kernel on so many GPUs is called, in full where two share a name."""
    kernels = {(row.kernel, row.gpus): row for row in rows}
    short = {key: short_name(row) if is_of_file(row) else title_of(row) for key, row in kernels.items()}
    of_name: dict[str, set[str]] = {}
    for (kernel, _), name in short.items():
        of_name.setdefault(name, set()).add(kernel)
    return {
        (kernel, gpus): (name if len(of_name[name]) == 1 else kernel) + (f" on {gpus} GPUs" if gpus > 1 else "")
        for (kernel, gpus), name in short.items()
    }


def looks_of(rows: Iterable[Row], names: Mapping[tuple[str, int], str]) -> dict[str, dict[str, str]]:
    """The shape of each name, and its colour in each theme. Variants lie between their chapter's colour and grey."""
    first = {names[row.kernel, row.gpus]: row for row in reversed(list(rows))}
    others, shapes, variants, found = itertools.cycle(OTHERS), itertools.cycle(SHAPES), {}, {}
    for name, row in sorted(first.items(), key=lambda item: (item[1].number <= 0, item[1].number, item[0])):
        if row.is_chapter:
            color, shape = COLORS[min(row.number, len(COLORS)) - 1], SHAPES[(row.number - 1) % len(SHAPES)]
            variants[row.number] = variants.get(row.number, 0) + 1 if row.variant else 0
            color = mixed(color, MUTED, 1 - 0.75 ** variants[row.number])
        else:
            _, color, shape = LIBRARIES.get(row.kernel) or ("", next(others), next(shapes))
        inks = INKS if color == CUBLAS else {theme: seen_on(color, theme) for theme in CARDS}
        found[name] = inks | {"shape": shape}
    return found
