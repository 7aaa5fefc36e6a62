"""Links in documents have targets, the index lists all documents, and each keeps its limit of words."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.of_extensions import is_of_deleted

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (".", "docs", "docs/howto", "examples", "benchmarks")
DOCUMENTS = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))
NOT_COUNTED = {"CHANGELOG.md", "NOTES.md", "documents.md", "settings.md", "testing-record.md", "world.md"}
"""History, and generated pages."""
MOST_WORDS = {"docs/performance.md": 2_000, "docs/architecture.md": 4_000, "CHANGELOG.md": 600}
MOST_WORDS_TOGETHER = 48_000


def prose(path: Path) -> str:
    """Return the document without blocks of code and generated tables."""
    return re.sub(
        r"^ *```.*?^ *```|<!-- thinkers:begin -->.*?<!-- thinkers:end -->", "", path.read_text(), flags=re.S | re.M
    )


def anchors(path: Path) -> set[str]:
    """Return the addresses of the headings, as hosts of repositories make them."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def links(path: Path) -> list[str]:
    """Return the links to other places of the repository."""
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)) if not link.startswith(("http:", "https:"))]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    for link in links(path):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if is_of_deleted(str(target.relative_to(ROOT))):
            continue
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_test_that_a_document_names_is_there(path: Path) -> None:
    for name, function in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", path.read_text()):
        if not is_of_deleted(name):
            tests = (ROOT / name).read_text()
            assert not function or f"def {function}(" in tests, f"{name}::{function}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_name_that_a_document_imports_is_public(path: Path) -> None:
    for module, names in re.findall(r"^from (responder_thinker[.\w]*) import ([\w, ]+)", path.read_text(), re.M):
        found = import_module(module)
        public = getattr(found, "__all__", dir(found))
        assert [name for name in names.strip().split(", ") if name not in public] == [], module


def test_the_index_lists_every_document() -> None:
    index = ROOT / "docs" / "README.md"
    listed = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    assert [str(path.relative_to(ROOT)) for path in DOCUMENTS if path not in {*listed, index}] == []


def test_documents_keep_their_limits_of_words() -> None:
    for name, most in MOST_WORDS.items():
        assert len((ROOT / name).read_text().split()) <= most, name
    counted = [path for path in DOCUMENTS if path.name not in NOT_COUNTED]
    assert sum(len(prose(path).split()) for path in counted) <= MOST_WORDS_TOGETHER
