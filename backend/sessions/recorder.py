"""The interface of recorders, which keep a call's audio and words when its caller has agreed.

An extension makes one for each call; without it, nothing is recorded.
"""

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
    """The recorder of one call. It gets frames and events only while `is_recording`, and neither waits nor raises."""

    is_recording: bool
    """True while the call is being recorded."""

    @property
    def is_possible(self) -> bool:
        """Return whether this call may be recorded, once its caller agrees."""
        ...

    def start(self) -> str:
        """Record from now on; return the recording's id. Raises `BadRequest` or `Forbidden` if that is not allowed."""
        ...

    def stop(self) -> None:
        """Stop recording, and keep the recording so far; do nothing if nothing is recorded."""
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
