"""Which room may include from which: the order of dependence that the folders show."""

import re
from pathlib import Path

import pytest

from helpers import ROOT, ran

SOURCES = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)

RUNNER = ["base", "problem", "device", "verify", "baselines", "timing", "count", "record", "user", "judge", "bench"]
RUNNER += ["cli", "report", "verdict"]
KERNELS = ["ptx", "common", "host"]
PLAIN_CPP = re.compile(r"common/\w+\.hpp")  # for every floor of kernels/
MANY_GPUS = ["schedule", "exchange", "ranks"]


def sources(folder: Path) -> list[Path]:
    """Its tests are no part of a room: they may see any other one."""
    files = (path for path in sorted(folder.rglob("*")) if path.suffix in SOURCES)
    return [path for path in files if "tests" not in path.relative_to(ROOT).parts]


def upward_includes(folder: Path, floors: list[str]) -> list[str]:
    """Each include of a higher floor, as "file -> header"; files outside the floors stand above all of them."""
    found = []
    for path in sources(folder):
        floor = path.relative_to(folder).parts[0]
        if floor not in floors:
            continue
        for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
            target = header.split("/")[0]
            if PLAIN_CPP.fullmatch(header) and folder.name == "kernels":
                continue
            if target in floors and floors.index(target) > floors.index(floor):
                found.append(f"{path.relative_to(folder)} -> {header}")
    return found


@pytest.mark.parametrize(("folder", "floors"), [("runner", RUNNER), ("kernels", KERNELS), ("many_gpus", MANY_GPUS)])
def test_no_file_includes_from_a_higher_floor(folder: str, floors: list[str]) -> None:
    assert upward_includes(ROOT / folder, floors) == []


@pytest.mark.parametrize(("folder", "floors"), [("runner", RUNNER), ("many_gpus", MANY_GPUS)])
def test_every_folder_has_its_floor(folder: str, floors: list[str]) -> None:
    assert {path.name for path in (ROOT / folder).iterdir() if path.is_dir()} == {*floors, "tests"}


def included_rooms(folder: Path) -> set[str]:
    """The folders that quoted includes begin with."""
    return {
        header.split("/")[0] for path in sources(folder) for header in INCLUDE.findall(path.read_text(encoding="utf-8"))
    }


def test_many_gpus_stand_between_the_kernels_and_main() -> None:
    """The schedule is a part of the kernels, and ranks are the runner's by an interface that main() hands over."""
    assert included_rooms(ROOT / "many_gpus" / "schedule") <= {*KERNELS, "schedule"}
    assert included_rooms(ROOT / "many_gpus" / "ranks").isdisjoint({"report"})
    for room in RUNNER:
        assert included_rooms(ROOT / "runner" / room) & set(MANY_GPUS) <= {"schedule"}, room


@pytest.mark.parametrize(("folder", "other"), [("kernels", "runner"), ("library", "runner"), ("kernels", "library")])
def test_a_room_knows_nothing_of_another(folder: str, other: str) -> None:
    headers = {path.relative_to(ROOT / other).as_posix() for path in (ROOT / other).rglob("*.hpp")}
    for path in sources(ROOT / folder):
        assert not headers & set(INCLUDE.findall(path.read_text(encoding="utf-8"))), path


CHAPTERS = sorted((ROOT / "kernels").glob("*.cu"))


def what_a_reader_meets(chapter: Path) -> list[Path]:
    """The file and all headers of the project that a GPU's compiler reads for it."""
    rule = ran("c++", "-x", "c++", "-MM", "-MG", "-D__CUDACC__", "-I", ROOT / "kernels", chapter, status=0).stdout
    paths = (Path(word) for word in rule.replace("\\\n", " ").split()[1:])
    return [path for path in paths if path.is_absolute() and path.exists()]


# The most lines and files of a chapter. 09 and 18 have the loop of 08 with slices, which the library takes as well, its
# barrier, and 09 a second kernel; 13 and 15 have the digits and the loop's parts in two headers, and one that stores C.
MOST = {7: (1110, 15), 8: (1270, 15), 9: (1870, 19), 13: (1560, 17), 15: (1600, 17), 18: (1760, 17)}


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_can_be_read_to_the_end(chapter: Path) -> None:
    read, number = what_a_reader_meets(chapter), int(chapter.name[:2])
    most_lines, most_files = MOST.get(number, (800 if number < 7 else 1600, 16))
    assert len(chapter.read_text(encoding="utf-8").splitlines()) <= 410
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in read) <= most_lines
    assert len(read) <= most_files


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_registration_is_short(chapter: Path) -> None:
    found = re.findall(
        r"^(?:const Registration|  return) [^;]*?\bChapter\(\d+(?:[^;{]|\{[^}]*\})*;", chapter.read_text(), re.M
    )
    assert found
    assert max(statement.count("\n") + 1 for statement in found) <= 8
