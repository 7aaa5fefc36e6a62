"""A mode is a named profile of how the server thinks and speaks, chosen by each user, for voice and text.

`modes.toml` holds the built-in modes; a file that names a tool or a step that does not exist is refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from backend.errors import NotFound, SettingsError, SetupError
from backend.users.profile import UserProfile

DEFAULT = "default"
"""The mode of a user who has chosen none."""

BUILT_IN = Path(__file__).with_name("modes.toml")
FILE_LIMIT = 256 * 1024
"""The most bytes of a modes file."""
HINT = f"Correct the file named in MODES_FILE; {BUILT_IN.name} in backend/users shows every field."

Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class Mode(BaseModel):
    """One mode. An empty field keeps the behaviour without a mode."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name = DEFAULT
    description: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] = ""
    model: Annotated[str, StringConstraints(strip_whitespace=True, max_length=100)] = ""
    """'fast', 'advanced', a model's name, or empty."""
    prompt: Text = ""
    personality: Text = ""
    steps: tuple[str, ...] | None = None
    """The names of the steps around a turn; None: all that fit."""
    tools: tuple[str, ...] | None = None
    """The names of the tools in a chat; None: routing, and the tools that no Thinker has."""

    def words(self) -> str:
        """Return the mode's part of a prompt; empty when it has none."""
        parts = [self.prompt, f"Your manner: {self.personality}" if self.personality else ""]
        return "\n\n".join(filter(None, parts))

    def shown(self) -> dict[str, str]:
        """Return the mode as `GET /mode` lists it."""
        return {"name": self.name, "description": self.description, "model": self.model or "usual"}


class Modes:
    """All modes of the server; `default` is always among them."""

    def __init__(self, modes: Iterable[Mode] = ()) -> None:
        self._by_name = {DEFAULT: Mode()} | {mode.name: mode for mode in modes}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all modes, the default first."""
        return tuple(self._by_name)

    def get(self, name: str) -> Mode:
        """Return the mode of that name. Raises `NotFound`, which lists all."""
        if name not in self._by_name:
            raise NotFound("There is no such mode.", hint=f"The modes are: {', '.join(self._by_name)}.")
        return self._by_name[name]

    def named(self, name: str) -> Mode:
        """Return the mode of that name, or the default, since a user's choice may be older than the file."""
        return self._by_name.get(name, self._by_name[DEFAULT])

    def chosen(self, profile: UserProfile) -> Mode:
        """Return the mode that the user has chosen, or the default."""
        return self.named(profile.mode)


def load_modes(
    path: Path | None = None,
    *,
    has_tool: Callable[[str], bool] | None = None,
    check_steps: Callable[[Iterable[str]], None] | None = None,
) -> Modes:
    """Return the modes of `path`, or the built-in ones.

    `has_tool` says whether a mode may use that tool; `check_steps` raises a `SetupError` for a step that does not
    exist. Raises `SettingsError`, which names the file, the mode and the field.
    """
    file = path or BUILT_IN
    modes = [_mode(file, name, table) for name, table in _tables(file).items()]
    for mode in modes:
        if has_tool and (missing := sorted(name for name in mode.tools or () if not has_tool(name))):
            raise _wrong(file, f"mode {mode.name}: there is no tool {', '.join(missing)}")
        if check_steps and mode.steps:
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
