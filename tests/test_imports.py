"""The arrows of the architecture, proven: which room imports which, and nothing else.

Every `import` in `backend/` is read with `ast`, those inside functions and `TYPE_CHECKING` included.
A target is a room ("audio") or one file of a room ("memory.base").
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BACKEND = Path(__file__).resolve().parent.parent / "backend"
ARCHITECTURE = BACKEND.parent / "docs" / "architecture.md"

COMMON = {"errors"}
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "alarm": set(),
    "settings": {"errors"}
    | {"settings_pipeline", "settings_reasoning", "settings_background", "settings_coordinator"}
    | {"settings_github", "settings_mcp", "settings_tools", "settings_notifications"},
    "settings_reasoning": set(),
    "settings_github": set(),
    "settings_mcp": set(),
    "settings_tools": set(),
    "settings_notifications": set(),
    "settings_pipeline": set(),
    "settings_background": set(),
    "settings_coordinator": set(),
    "conversation": set(),
    "audio": COMMON,
    "session": COMMON
    | {
        "alarm",
        "settings",
        "conversation",
        "audio",
        "pipeline",
        "thinkers",
        "modes",
        "transports.base",
        "responder.base",
    }
    | {"agent.prompt", "background.tasks"}
    | {
        "memory.base",
        "memory.notices",
        "memory.presence",
        "memory.relay",
        "memory.user",
        "models.base",
        "tracing.base",
    },
    "transports": COMMON | {"alarm", "conversation.events", "audio"},
    "responder": COMMON | {"conversation.events", "conversation.commands", "audio"},
    "memory": COMMON,
    "calendar": COMMON | {"settings"},
    "models": COMMON,
    "agent": COMMON | {"models.base", "tools", "memory.base", "tracing.base"},
    "tracing": COMMON,
    "pipeline": COMMON
    | {"settings", "agent", "tools", "models.base", "models.embedding"}
    | {"memory.base", "memory.user", "memory.memories", "memory.notes", "memory.finding"},
    "reasoning": COMMON | {"agent", "tools", "models", "settings_reasoning"},
    "background": COMMON
    | {
        "settings_background",
        "settings_coordinator",
        "agent",
        "tools.base",
        "tools.runner",
        "memory.base",
        "memory.guard",
        "memory.notices",
        "memory.outbox",
        "memory.relay",
        "models.base",
        "thinkers",
        "tracing.base",
    },
    "notifications": COMMON
    | {"settings_notifications", "calendar", "pipeline.webhooks"}
    | {"memory.base", "memory.guard", "memory.notices", "memory.presence", "memory.relay"},
    "tools": COMMON
    | {"settings", "settings_github", "calendar", "models.embedding"}
    | {"memory.base", "memory.user", "memory.memories", "memory.notes", "memory.finding"},
    "mcp": COMMON | {"settings_mcp", "tools"},
    "thinkers": COMMON
    | {
        "settings",
        "agent",
        "modes",
        "tools",
        "pipeline",
        "reasoning",
        "calendar",
        "models.base",
        "memory.base",
        "memory.user",
        "tracing.base",
    },
    "modes": COMMON,
    "chat": COMMON
    | {"settings", "agent", "modes", "pipeline", "thinkers", "tools", "memory.base", "memory.user", "responder.base"}
    | {
        "session.feed",
        "session.desk",
        "session.handover",
        "session.history",
        "session.knowing",
        "session.knowing_summary",
    }
    | {"session.knowing_words", "tracing.base"},
    "offline": COMMON | {"audio"},
    "offline_child": COMMON,
    "client": COMMON
    | {
        "audio",
        "transports.wire",
        "transports.pacer",
        "transports.peer",
        "transports.rtp",
    },  # the other end of the wire
    "standins": {"settings"},
    "http": COMMON
    | {
        "settings",
        "session",
        "chat",
        "models.embedding",
        "memory.base",
        "memory.notices",
        "memory.user",
        "reasoning",
        "tools.base",
    }
    | {"background.tasks", "background.archive", "background.channels", "background.coordinating"}
    | {"mcp.tokens", "notifications.reminding"},
    "fleet": COMMON | {"session.directory", "session.feed", "session.handles", "session.placing"},
}
"""Room → what it may import besides itself. `main` and `cli` see all."""

ONE_FILE: dict[str, set[str]] = {
    "audio.playout": {"conversation.events"},  # it reports what was played as events of the conversation
    "audio.vad": {"settings"},  # it opens the engine the settings name
    "http.services": {"transports.base"},  # it names what the routes are given
}
"""What a single file may import beyond its room's arrows, and why."""

SEES_ALL = {"main", "house", "cli", "server", "workers", "tour", "task_worker"}
PURE = {"conversation", "audio.segmenter"}
"""Standard library and `errors` only: no sockets, no clock, no asyncio."""
IMPURE_STANDARD = {
    "asyncio",
    "socket",
    "selectors",
    "threading",
    "subprocess",
    "time",
    "os",
    "http",
    "urllib",
    "logging",
}
"""What a pure file must not take from the standard library either."""


def files() -> Iterator[tuple[str, Path]]:
    """Every file of the backend as its dotted name without the leading `backend.`."""
    for path in sorted(BACKEND.rglob("*.py")):
        parts = path.relative_to(BACKEND).with_suffix("").parts
        yield ".".join(part for part in parts if part != "__init__"), path


def imported(path: Path) -> Iterator[str]:
    """Every module a file imports, with full names; `from package import name` counts as both."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written in full"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" if _is_package(module) else module for alias in node.names)


def _is_package(module: str) -> bool:
    top, *rest = module.split(".")
    return top == "backend" and (BACKEND / Path(*rest) / "__init__.py").exists()


def own_imports(path: Path) -> set[str]:
    return {name.removeprefix("backend.") for name in imported(path) if name.startswith("backend")}


def foreign_imports(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path) if not name.startswith("backend")}


def allows(allowed: set[str], target: str) -> bool:
    return any(target == each or target.startswith(f"{each}.") for each in allowed)


def room_of(name: str) -> str:
    return name.split(".")[0]


@pytest.mark.parametrize("name", [name for name, _ in files() if name and room_of(name) not in SEES_ALL])
def test_a_file_imports_only_along_the_arrows(name: str) -> None:
    path = dict(files())[name]
    room = room_of(name)
    assert room in ARROWS, f"{room} is a new room: say in ARROWS, and in docs/architecture.md, what it may import"
    allowed = ARROWS[room] | {room} | ONE_FILE.get(name, set())
    astray = sorted(target for target in own_imports(path) if not allows(allowed, target))
    assert astray == [], f"backend/{name.replace('.', '/')}.py may not import {astray}"


@pytest.mark.parametrize("name", [name for name, _ in files() if room_of(name) in PURE or name in PURE])
def test_a_pure_file_takes_nothing_but_the_standard_library(name: str) -> None:
    path = dict(files())[name]
    assert foreign_imports(path) <= sys.stdlib_module_names
    assert foreign_imports(path).isdisjoint(IMPURE_STANDARD)


@pytest.mark.parametrize("room", ARROWS)
def test_no_arrow_is_drawn_that_nobody_needs(room: str) -> None:
    unused = ARROWS[room] - {each for each in ARROWS[room] if any(allows({each}, used) for used in used_by(room))}
    assert unused == set()


def test_the_architecture_tells_of_every_room_and_where_its_arrows_lead() -> None:
    told = dict(rows_of_the_architecture())
    rooms = {path.parent.name for path in BACKEND.glob("*/__init__.py")} - SEES_ALL
    assert rooms <= told.keys(), "a room has no row"
    leading = {room: {room_of(used) for used in used_by(room)} - {room} for room in rooms}
    assert {room: told[room] for room in rooms} == leading


def used_by(room: str) -> set[str]:
    return {used for name, path in files() if name and room_of(name) == room for used in own_imports(path) if used}


def rows_of_the_architecture() -> Iterator[tuple[str, set[str]]]:
    """Each room of the table, and the rooms it may import there."""
    for first, arrows in re.findall(r"^\| (`.*?) \| .* \| (.*) \|$", ARCHITECTURE.read_text(), re.M):
        for room in re.findall(r"`(\w+)/`", first):
            yield room, {room_of(target) for target in re.findall(r"`([\w.]+)`", arrows)}


def test_nothing_below_imports_the_composition_root() -> None:
    importers = [name for name, path in files() if own_imports(path) & SEES_ALL]
    assert [name for name in importers if room_of(name) not in SEES_ALL | {""}] == []


def test_the_offline_server_is_never_imported() -> None:
    importers = {name for name, path in files() if any(allows({"offline"}, each) for each in own_imports(path))}
    assert {name for name in importers if room_of(name) != "offline"} == set()


def test_no_room_imports_tests_or_benchmarks() -> None:
    for name, path in files():
        assert foreign_imports(path).isdisjoint({"tests", "benchmarks", "scripts"}), name


def test_the_check_sees_a_wrong_arrow(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def later():\n    from backend.offline import speech\n    import backend.http.app\n")
    assert own_imports(wrong) == {"offline.speech", "http.app"}
    assert not any(allows(ARROWS["session"], target) for target in own_imports(wrong))
