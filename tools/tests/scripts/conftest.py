import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import edit
from synthetic import SYNTHETIC


@pytest.fixture
def synthetic(tmp_path: Path) -> Path:
    """A copy of the synthetic results that a test may change."""
    return Path(shutil.copytree(SYNTHETIC, tmp_path / "synthetic-gpu"))


@pytest.fixture
def edited(synthetic: Path) -> Callable[..., Path]:
    """edited(NAME, CHANGE...) changes one of the synthetic files in place and returns its path."""
    return lambda name, *changes: edit(synthetic / name, *changes)
