"""`PATCH /api/me`: what a user may change of what is known of them, as JSON and as the updates memory takes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from backend.users.profile import INSTRUCTION_CHARS
from backend.users.profile_updates import (
    FACT_CHARS,
    SUMMARY_CHARS,
    AddFact,
    AddInstruction,
    DropFact,
    DropInstruction,
    DropPreference,
    PreferenceName,
    ProfileUpdate,
    SetPreference,
    WatchTicker,
    WriteSummary,
)

CHANGES_LIMIT = 50
"""Changes one request may hold."""

Instruction = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=INSTRUCTION_CHARS)]
Fact = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=FACT_CHARS)]


class _Change(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SetOne(_Change):
    """Overwrites a preference; `watched_tickers` takes a list of symbols, every other one a text."""

    op: Literal["set_preference"]
    name: PreferenceName
    value: str | Annotated[list[str], Field(max_length=100)]

    def update(self) -> ProfileUpdate:
        """For memory. Raises `BadRequest` for what cannot be this preference's value."""
        return SetPreference(self.name, self.value if isinstance(self.value, str) else tuple(self.value))


class DropOne(_Change):
    """Forgets a preference."""

    op: Literal["drop_preference"]
    name: PreferenceName

    def update(self) -> ProfileUpdate:
        """For memory."""
        return DropPreference(self.name)


class Watch(_Change):
    """Adds a share to those watched, or takes it away."""

    op: Literal["watch_ticker"]
    symbol: str
    watched: bool = True

    def update(self) -> ProfileUpdate:
        """For memory. Raises `BadRequest` for what is no symbol."""
        return WatchTicker(self.symbol, self.watched)


class AddOneFact(_Change):
    """Something worth knowing, in a few words."""

    op: Literal["add_fact"]
    text: Fact

    def update(self) -> ProfileUpdate:
        """For memory."""
        return AddFact(self.text)


class DropOneFact(_Change):
    """Forgets a fact; one that is not there is forgotten already."""

    op: Literal["drop_fact"]
    text: Fact

    def update(self) -> ProfileUpdate:
        """For memory."""
        return DropFact(self.text)


class Summarise(_Change):
    """The summary in the user's own words; empty: forgotten."""

    op: Literal["write_summary"]
    text: Annotated[str, StringConstraints(strip_whitespace=True, max_length=SUMMARY_CHARS)]

    def update(self) -> ProfileUpdate:
        """For memory."""
        return WriteSummary(self.text)


class AddOneInstruction(_Change):
    """How the caller wants to be answered from now on."""

    op: Literal["add_instruction"]
    text: Instruction

    def update(self) -> ProfileUpdate:
        """For memory. Raises `BadRequest` for a text without words."""
        return AddInstruction(self.text)


class DropOneInstruction(_Change):
    """Drops one; one that is not there is dropped already."""

    op: Literal["drop_instruction"]
    text: Instruction

    def update(self) -> ProfileUpdate:
        """For memory."""
        return DropInstruction(self.text)


Change = Annotated[
    SetOne | DropOne | Watch | AddOneFact | DropOneFact | Summarise | AddOneInstruction | DropOneInstruction,
    Field(discriminator="op"),
]


class Changes(BaseModel):
    """`PATCH /api/me`: made together or, when one cannot be, not at all."""

    model_config = ConfigDict(extra="forbid")

    changes: Annotated[list[Change], Field(min_length=1, max_length=CHANGES_LIMIT)]

    def updates(self) -> list[ProfileUpdate]:
        """In order. Raises `BadRequest`."""
        return [change.update() for change in self.changes]
