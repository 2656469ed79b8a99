"""Whatever a command lacks ends it with one line instead of a traceback."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

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


def write_whole(path: Path, text: str) -> None:
    """So that nobody finds a part of the file."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def hook(kind: type[BaseException], error: BaseException, trace: object) -> None:
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        sys.__excepthook__(kind, error, trace)
        return
    remedy = "start it with $(scripts/python.sh --dev), which has all that scripts/requirements-dev.txt lists"
    print(f"{Path(sys.argv[0]).name}: this Python has no package {error.name}: {remedy}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(BAD_INPUT)
