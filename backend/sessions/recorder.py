"""Recorders keep a call's sound and words once its caller has agreed; this is their interface.

An extension makes one for each call; without it, nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from backend.errors import BadRequest
from backend.media.frame import Frame
from backend.media.playout import OnPlayed
from backend.page_events import PageEvent
from backend.sessions.session import Session
from backend.transports.base import Transport
from backend.turns.events import Event


class Recorder(Protocol):
    """One call's recorder. It is given frames and events while `is_recording` only, and neither waits nor raises."""

    is_recording: bool
    """Whether the call is being recorded."""

    @property
    def is_possible(self) -> bool:
        """Return whether this call may be recorded, once its caller agrees."""
        ...

    def start(self) -> str:
        """Record from now on; return the recording's id. Raises `BadRequest` or `Forbidden` where that may not be."""
        ...

    def stop(self) -> None:
        """Stop recording; the recording so far stays. Does nothing when nothing is recorded."""
        ...

    def on_frame(self, frame: Frame) -> None:
        """Take a frame of the caller's voice."""
        ...

    def on_event(self, event: Event) -> None:
        """Take an event of the turn machine."""
        ...

    def on_page_event(self, event: PageEvent) -> None:
        """Take an event that the page shows."""
        ...

    async def close(self, reason: str) -> None:
        """End the recording with its call, for a reason such as `deleted`."""
        ...


OpenRecorder = Callable[[Session, Transport, OnPlayed, Callable[[PageEvent], None], Callable[[Event], None]], Recorder]
"""(session, transport, the present observer of played frames, publish, dispatch) → the recorder of a call."""


def not_recorded() -> BadRequest:
    """Return the error of a request to record a call without a recorder."""
    return BadRequest("Calls are not recorded on this server.", hint="The operator can allow it.")
