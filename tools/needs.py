"""Whatever a command lacks ends it with one line instead of a traceback."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

PIP = {"vl_convert": "vl-convert-python"}  # packages that are called otherwise than their modules
# The others are python3-<module>; None: Debian has none.
APT = {"cogapp": None, "vl_convert": None}
DEVELOPMENT = ("check_results.py", "tables.py")  # take what requirements-dev.txt has
BAD_INPUT = 2  # exit status of every command
ROOT = Path(__file__).resolve().parents[1]


def stop(error: object) -> NoReturn:
    """Ends a script on bad input."""
    if isinstance(error, OSError) and error.filename is not None:
        error = f"{error.filename}: {error.strerror}"
    print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
    sys.exit(BAD_INPUT)


@contextmanager
def stopping(*kinds: type[Exception]) -> Iterator[None]:
    """For what a script does: such an error in it is bad input."""
    try:
        yield
    except kinds as error:
        stop(error)


def parser(text: str) -> argparse.ArgumentParser:
    """Of a script with this text at its top."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


def make_folder(folder: Path, of: str) -> None:
    """The folder of "the charts", say; ends the script where a file is in the way."""
    if folder.is_file():
        stop(f"{folder} is a file: {of} need a folder")
    folder.mkdir(parents=True, exist_ok=True)


def write_whole(path: Path, text: str) -> None:
    """So that nobody finds a part of the file."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def message(module: str, script: Path) -> str:
    top = module.partition(".")[0]
    pip, apt = PIP.get(top, top), APT.get(top, f"python3-{top}")
    option = " --dev" if script.name in DEVELOPMENT else ""
    command = str(script)
    if script.resolve().is_relative_to(ROOT / "tools"):
        command = "-m " + ".".join(script.resolve().relative_to(ROOT).with_suffix("").parts)
    return (
        f"{script.name}: this Python has no package {pip}; install it (pip install {pip}"
        f"{f', apt install {apt}' if apt else ''}) or use a Python that has it: $(scripts/python.sh{option}) {command}"
    )


def hook(kind: type[BaseException], error: BaseException, trace: object) -> None:
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        sys.__excepthook__(kind, error, trace)
        return
    print(message(error.name, Path(sys.argv[0])), file=sys.stderr)
    sys.stderr.flush()
    os._exit(BAD_INPUT)
