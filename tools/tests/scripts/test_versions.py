"""One version: CMake and the Python package read it in the header, and every other file that names it is looked at."""

import re

import pytest

from helpers import ROOT


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


MAJOR, MINOR, PATCH = re.findall(
    r"^#define SGEMM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", text("library/include/sgemm/sgemm.h"), re.MULTILINE
)
VERSION = f"{MAJOR}.{MINOR}.{PATCH}"
COMPATIBLE = f"{MAJOR}.{MINOR}" if MAJOR == "0" else MAJOR  # with the versions that begin with these


@pytest.mark.parametrize(
    ("path", "pattern", "version"),
    [
        ("CITATION.cff", r"^version: (\S+)$", VERSION),
        ("CHANGELOG.md", r"^## \[(\d\S*)\] - ", VERSION),
        ("library/python/sgemm/library.py", r'^VERSION = "(.*)"$', VERSION),
        ("docs/library.md", r"^find_package\(sgemm (\S+) REQUIRED\)$", COMPATIBLE),
        ("docs/library.md", r"`libsgemm\.so\.([\d.]+)`", COMPATIBLE),
        ("docs/preload.md", r"`libsgemm\.so\.([\d.]+)`", COMPATIBLE),
        ("examples/library/CMakeLists.txt", r"^find_package\(sgemm (\S+) REQUIRED\)$", COMPATIBLE),
    ],
)
def test_the_version_of(path, pattern, version):
    assert re.search(pattern, text(path), re.MULTILINE)[1] == version
