"""The code follows the glossary: private words of earlier versions are no names, and the files it lists exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.of_extensions import is_of_deleted

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"

UNUSED = frozenset(
    {
        "attendance", "beat", "bookkeeper", "clerk", "courier", "crier", "desk", "door", "doors", "errand", "errands",
        "hear", "house", "inlet", "keeper", "keepers", "knock", "knowing", "minds", "notebook", "outlet", "overhearing",
        "redial", "tell", "teller", "telling", "tellings", "tether",
    }
)  # fmt: skip
"""Words that the glossary lists under "Not used"; a name is split at underscores and capitals."""


def words(name: str) -> set[str]:
    """Return the lower-case words of an identifier: `_TellerDesk` → {'teller', 'desk'}."""
    return {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)}


def python_names(source: str) -> Iterator[str]:
    """Yield the names that a module defines: classes, functions, parameters, variables and attributes."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def script_names(source: str) -> Iterator[str]:
    """Yield the names that a page's module declares, without strings and comments."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*|`[^`]*`|\"[^\"\n]*\"", "", source, flags=re.S)
    yield from (first or second for first, second in re.findall(r"(?:class|function|const|let)\s+(\w+)|#(\w+)\(", code))


def found(folder: str, suffix: str) -> set[str]:
    names = set()
    for path in sorted((ROOT / folder).rglob(f"*{suffix}")):
        read = python_names if suffix == ".py" else script_names
        for name in [path.stem, *read(path.read_text())]:
            if words(name) & UNUSED:
                names.add(f"{path.relative_to(ROOT)}: {name}")
    return names


def test_the_server_uses_no_private_words_as_names() -> None:
    names = found("backend", ".py") | found("responder_thinker", ".py")
    assert {name for name in names if not name.startswith(("backend/extensions/", "backend/testing/"))} == set()


def test_the_page_uses_no_private_words_as_names() -> None:
    assert found("frontend", ".js") == set()


def test_every_file_the_glossary_names_exists() -> None:
    named = set(re.findall(r"`((?:frontend/|\w+/)[\w/.]*)`", GLOSSARY.read_text()))
    missing = [each for each in named if not (ROOT / each).exists() and not (ROOT / "backend" / each).exists()]
    assert sorted(each for each in missing if not is_of_deleted(each)) == []


def test_an_identifier_is_split_into_its_words() -> None:
    assert words("_TellerDesk2") == {"teller", "desk", "2"}
    assert words("HTTPServer_desk") == {"http", "server", "desk"}
    assert list(script_names('const clerk = "desk"; class Crier { #inlet() {} } // knock')) == [
        "clerk",
        "Crier",
        "inlet",
    ]
