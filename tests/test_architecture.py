"""Each room imports only the rooms along its arrows.

Every `import` in `backend/` is read with `ast`, those inside functions and `TYPE_CHECKING` included. A room is a
package directly under `backend/`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

BACKEND = Path(__file__).resolve().parent.parent / "backend"
ARCHITECTURE = BACKEND.parent / "docs" / "architecture.md"

GROUND = {"citations", "errors", "page_events"}
"""The rooms that every room may import."""
TOP = "app"
"""The composition root, which imports every room and which no room imports."""
COMMAND_LINE = "app.cli"
"""The one file that imports the client, for the commands that place calls."""
SEAM = "extension"
"""The module of the class `Extension`: above every room, and imported by `app` and extensions only."""
EXTENSIONS = "extensions"
"""Folders that can be deleted; each may import every room except `app` and the other extensions."""
ROWS = re.findall(r"^\| `(\w+)/` \| .* \| (.*) \|$", ARCHITECTURE.read_text(), re.M)
ARROWS = {room: set(re.findall(r"`(\w+)`", cell)) for room, cell in ROWS if room not in (TOP, EXTENSIONS)}
"""Room → the rooms it may import, from the top down, as the architecture page has them."""

PURE: dict[str, set[str]] = {"turns": set(), "realtime": {"msgspec"}, "media.segmenter": set()}
"""Rooms and files without sockets, clock and asyncio → what they import besides the standard library."""
IMPURE_STANDARD = {
    "asyncio",
    "http",
    "logging",
    "os",
    "selectors",
    "socket",
    "subprocess",
    "threading",
    "time",
    "urllib",
}
"""Modules of the standard library that a pure file must not import."""


def files() -> dict[str, Path]:
    """Return every file of the backend by its dotted name without the leading `backend.`."""
    named = {}
    for path in sorted(BACKEND.rglob("*.py")):
        parts = path.relative_to(BACKEND).with_suffix("").parts
        named[".".join(part for part in parts if part != "__init__")] = path
    return named


FILES = files()
ROOMS = {path.parent.name for path in BACKEND.glob("*/__init__.py")}


@cache
def imported(path: Path) -> frozenset[str]:
    """Return every module that a file imports, with full names; `from package import name` counts as both."""
    return frozenset(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" if _is_package(module) else module for alias in node.names)


def _is_package(module: str) -> bool:
    top, *rest = module.split(".")
    return top == "backend" and (BACKEND / Path(*rest) / "__init__.py").exists()


def own_imports(path: Path) -> set[str]:
    return {name.removeprefix("backend.") for name in imported(path) if name.startswith("backend.")}


def extensions_used(name: str) -> set[str]:
    """Return the extensions that a file imports from, without the one it belongs to."""
    used = {parts[1] for each in own_imports(FILES[name]) if (parts := each.split("."))[0] == EXTENSIONS and parts[1:]}
    return used - {name.split(".")[1]} if name.startswith(f"{EXTENSIONS}.") else used


def foreign_imports(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path) if not name.startswith("backend")}


def room_of(name: str) -> str:
    """Return the room of a file; the application, the service and the seam stand beside the rooms."""
    return TOP if name in ("main", "thinker_service", SEAM) else name.split(".")[0]


def rooms_used_by(room: str) -> set[str]:
    """Return the rooms that the files of `room` import from, without itself and the ground."""
    used = {room_of(each) for name, path in FILES.items() if room_of(name) == room for each in own_imports(path)}
    return used - {room, EXTENSIONS} - GROUND


def test_the_architecture_page_lists_every_room_of_at_most_29() -> None:
    assert {room for room, _ in ROWS} == ROOMS
    assert len(ROOMS) <= 29


@pytest.mark.parametrize("room", ARROWS)
def test_a_room_imports_only_along_its_arrows(room: str) -> None:
    allowed = ARROWS[room] | {room, EXTENSIONS} | GROUND
    used = {name: own_imports(path) for name, path in FILES.items() if room_of(name) == room}
    astray = {(name, target) for name in used for target in used[name] if room_of(target) not in allowed}
    assert astray == set()


def test_the_core_names_no_extension() -> None:
    core = [name for name in FILES if room_of(name) != EXTENSIONS]
    assert {name: used for name in core if (used := extensions_used(name))} == {}


def test_no_extension_imports_another_one() -> None:
    used: dict[str, set[str]] = {}
    for name in FILES:
        if room_of(name) == EXTENSIONS and (others := extensions_used(name)):
            used.setdefault(name.split(".")[1], set()).update(others)
    assert used == {}


def test_the_tests_of_an_extension_import_no_other_one() -> None:
    tests = Path(__file__).resolve().parent / EXTENSIONS
    used = {
        (path.relative_to(tests).parts[0], parts[2])
        for path in tests.rglob("*.py")
        for name in imported(path)
        if (parts := name.split("."))[1:2] == [EXTENSIONS] and parts[2:]
    }
    assert {(one, other) for one, other in used if one not in (other, "__init__.py")} == set()


def test_every_arrow_leads_down() -> None:
    order = list(ARROWS)
    up = [(room, target) for room in order for target in ARROWS[room] if order.index(target) <= order.index(room)]
    assert up == []


def test_a_pure_file_imports_no_module_for_sockets_clocks_or_tasks() -> None:
    standard = sys.stdlib_module_names - IMPURE_STANDARD
    for pure, computes in PURE.items():
        paths = [path for name, path in FILES.items() if pure in (room_of(name), name)]
        assert paths
        assert {path: used for path in paths if (used := foreign_imports(path) - standard - computes)} == {}


@pytest.mark.parametrize("room", ARROWS)
def test_every_arrow_stands_for_an_import(room: str) -> None:
    assert ARROWS[room] - rooms_used_by(room) == set()


def test_no_room_imports_a_package_outside_the_server() -> None:
    for name, path in FILES.items():
        outside = {"tests", "benchmarks", "scripts"} | (
            set() if name == COMMAND_LINE or room_of(name) in (EXTENSIONS, "testing") else {"responder_thinker"}
        )
        assert foreign_imports(path).isdisjoint(outside), name


@pytest.mark.parametrize(
    ("folder", "other", "but"),
    [("benchmarks", "tests", ""), ("tests", "benchmarks", "tests/benchmarks/"), ("backend", "benchmarks", "")],
)
def test_benchmarks_and_tests_share_code_only_through_backend_testing(folder: str, other: str, but: str) -> None:
    users = [
        path
        for path in sorted(BACKEND.parent.joinpath(folder).rglob("*.py"))
        if other in foreign_imports(path) and not (but and path.is_relative_to(BACKEND.parent / but))
    ]
    assert users == []


def test_no_public_class_name_is_defined_twice() -> None:
    names = Counter(
        node.name
        for name, path in FILES.items()
        if room_of(name) not in (EXTENSIONS, "testing")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, times in names.items() if times > 1] == []
