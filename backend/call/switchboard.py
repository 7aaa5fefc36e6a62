"""The switchboard of one call: its parts speak to the engine, which is built of them, by this."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from backend import page_events as page
from backend.turns import events as ev
from backend.turns.turn import TurnMachine
from backend.users.profile import UserProfile

if TYPE_CHECKING:
    from backend.call.engine import CallEngine


class Switchboard:
    """What the parts of a call may ask of its engine. None of them does before the engine is there."""

    engine: CallEngine

    def __init__(self, machine: TurnMachine) -> None:
        self._machine = machine
        self._now = asyncio.get_running_loop().time

    def __repr__(self) -> str:
        return f"Switchboard({self._machine!r})"

    def turn(self) -> int:
        """Return the number of the caller's latest turn."""
        return self._machine.turn

    def turn_age_ms(self) -> int:
        """Return the milliseconds since the caller's last sound of that turn."""
        return self._machine.turn_age_ms(self._now())

    def dispatch(self, event: ev.Event) -> None:
        """Give the machine an event."""
        self.engine.dispatch(event)

    def publish(self, event: page.PageEvent) -> None:
        """Show an event on the page."""
        self.engine.publish(event)

    def brief_again(self, profile: UserProfile) -> None:
        """Brief the Responder on a changed profile."""
        self.engine.brief_again(profile)
