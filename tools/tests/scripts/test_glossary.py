"""The glossary: in order, and with every term that pages link to."""

import re
from pathlib import Path

import pytest

from helpers import ROOT

DOCS = ROOT / "docs"
GLOSSARY = (DOCS / "glossary.md").read_text()
TERMS = re.findall(r"^### (.+)$", GLOSSARY, re.MULTILINE)


def anchor(heading: str) -> str:
    """As GitHub makes them."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


ANCHORS = {anchor(term) for term in TERMS}


def test_terms_are_sorted_and_told_once() -> None:
    assert sorted(TERMS, key=str.lower) == TERMS
    assert len(ANCHORS) == len(TERMS)


@pytest.mark.parametrize("page", sorted([*DOCS.rglob("*.md"), DOCS.parent / "README.md"]), ids=lambda page: page.name)
def test_linked_terms_exist(page: Path) -> None:
    pattern = r"\]\(#([\w-]+)\)" if page.name == "glossary.md" else r"glossary\.md#([\w-]+)"
    missing = set(re.findall(pattern, page.read_text())) - ANCHORS
    assert not missing, f"{page.name} links to terms that the glossary lacks: {', '.join(sorted(missing))}"
