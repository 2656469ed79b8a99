"""What the examples have in common: results that are written whole or not at all."""

import json
import os
from argparse import ArgumentTypeError
from pathlib import Path


def write_json(path: Path, values: dict) -> None:
    """Writes a file in one step: readers see the old content or the new."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(json.dumps(values, indent=1) + "\n")
    scratch.replace(path)


def positive(text: str) -> int:
    """An argument that is a whole number above 0."""
    if not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)
