"""What a mode is: a named profile of how the server thinks and speaks, chosen by each user, for voice and text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from backend.errors import NotFound
from backend.users.profile import UserProfile

DEFAULT = "default"
"""The mode of whoever has chosen none."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=4_000)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,31}$")]


class Limits(BaseModel):
    """How far a turn may go. None: what is usual."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool_rounds: int = Field(default=10, ge=1, le=10)
    history_messages: int = Field(default=20, ge=1, le=20)
    deadline_s: float | None = Field(default=None, gt=0, le=600)
    """Of a chat's turn, in seconds."""
    thinker_deadline_s: float | None = Field(default=None, gt=0, le=600)
    """Shortens a Thinker's own; it never makes it longer."""


class Mode(BaseModel):
    """One profile. What is empty stands as it is without a mode."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name = DEFAULT
    description: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] = ""
    model: Annotated[str, StringConstraints(strip_whitespace=True, max_length=100)] = ""
    """'fast', 'advanced', a model's name, or empty."""
    prompt: Text = ""
    personality: Text = ""
    steps: tuple[str, ...] | None = None
    """Names of the steps around a turn; None: all that fit."""
    tools: tuple[str, ...] | None = None
    """Names of the tools a chat offers; None: routing, and those that no Thinker has."""
    limits: Limits = Limits()

    def model_name(self, usual: str, models: Mapping[str, str]) -> str:
        """The model that thinks: the mode's, or the `usual` tier's. `models` names 'fast' and 'advanced'."""
        wanted = self.model or usual
        return models.get(wanted, wanted)

    def words(self) -> str:
        """What a model is told of it; empty when it says nothing."""
        parts = [self.prompt, f"Your manner: {self.personality}" if self.personality else ""]
        return "\n\n".join(filter(None, parts))

    def shown(self) -> dict[str, Any]:
        """What `GET /mode` tells of it."""
        return {"name": self.name, "description": self.description, "model": self.model or "usual"}


class Modes:
    """All there are; `default` is always among them."""

    def __init__(self, modes: Iterable[Mode] = ()) -> None:
        self._by_name = {DEFAULT: Mode()} | {mode.name: mode for mode in modes}

    def __repr__(self) -> str:
        return f"Modes({', '.join(self._by_name)})"

    def __iter__(self) -> Iterable[Mode]:
        return iter(self._by_name.values())

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, the default first."""
        return tuple(self._by_name)

    def get(self, name: str) -> Mode:
        """The mode of that name. Raises `NotFound`, which lists all."""
        if name not in self._by_name:
            raise NotFound("There is no such mode.", hint=f"The modes are: {', '.join(self._by_name)}.")
        return self._by_name[name]

    def named(self, name: str) -> Mode:
        """The mode of that name, or the default: a user's choice may be older than the file."""
        return self._by_name.get(name, self._by_name[DEFAULT])

    def chosen(self, profile: UserProfile) -> Mode:
        """Return the mode the user has chosen, else the default."""
        return self.named(profile.mode)
