"""Reads the modes from their file, and refuses one that names what does not exist."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Container, Iterable
from pathlib import Path

from pydantic import ValidationError

from backend.errors import SettingsError, SetupError
from backend.users.modes import Mode, Modes

BUILT_IN = Path(__file__).with_name("modes.toml")
FILE_LIMIT = 256 * 1024
"""Bytes a modes file may have."""
HINT = f"Correct the file named in MODES_FILE; {BUILT_IN.name} in backend/users shows every field."


def load_modes(
    path: Path | None = None,
    *,
    tools: Container[str] | None = None,
    check_steps: Callable[[Iterable[str]], None] | None = None,
) -> Modes:
    """The modes of `path`, or the built-in ones.

    `tools` are the names a mode may use; `check_steps` raises a `SetupError` for a step there is not. Raises
    `SettingsError`, naming the file, the mode and the field.
    """
    file = path or BUILT_IN
    modes = [_mode(file, name, table) for name, table in _tables(file).items()]
    for mode in modes:
        if tools is not None and (missing := sorted(name for name in mode.tools or () if name not in tools)):
            raise _wrong(file, f"mode {mode.name}: there is no tool {', '.join(missing)}")
        if check_steps is not None and mode.steps:
            try:
                check_steps(mode.steps)
            except SetupError as error:
                raise _wrong(file, f"mode {mode.name}: {error}") from error
    return Modes(modes)


def _tables(file: Path) -> dict[str, object]:
    try:
        content = file.read_bytes()
        if len(content) > FILE_LIMIT:
            raise _wrong(file, f"it is larger than {FILE_LIMIT // 1024} KB")
        return tomllib.loads(content.decode())
    except OSError as error:
        raise _wrong(file, f"it cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(file, f"it is not TOML: {error}") from error


def _mode(file: Path, name: str, table: object) -> Mode:
    if not isinstance(table, dict):
        raise _wrong(file, f"{name} is not a table; write [{name}]")
    try:
        return Mode.model_validate({**table, "name": name})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise _wrong(file, f"mode {name}, {where}: {problem['msg']}") from error


def _wrong(file: Path, what: str) -> SettingsError:
    return SettingsError(f"The modes in {file} cannot be used: {what.rstrip('.')}.", hint=HINT)
