"""How a caller's audio comes in and goes out, whatever the wire.

Implementations: `webrtc` (the browser), `websocket` (networks without UDP), `fake` (tests). All of them keep
their outgoing audio in an `media.playout.Playout` and pass `tests/contracts/test_transport.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from backend.conversation.events import Heard, PlaybackEvent
from backend.media.frame import Frame

Ear = Callable[[Frame], object]
"""Called on the event loop with each frame of the caller's microphone, in order; must not wait for anything."""
PlaybackListener = Callable[[PlaybackEvent], None]


class Transport(Protocol):
    """One caller. Every method but `hear` and `close` returns at once and is called on the event loop."""

    async def hear(self, ear: Ear) -> None:
        """Give `ear` the caller's microphone, in order, losses concealed: the last second first, then frame by frame.

        Returns when the caller has hung up; raises `TransportLost` when the network is gone (no packet for 10 s)
        or the connection never came up (10 s), and what `ear` has raised. One ear at a time.
        """
        ...

    def listen(self, listener: PlaybackListener) -> None:
        """Call `listener` on the event loop whenever an item's first frame leaves, and when the queue drains."""
        ...

    def play(self, item: str, pcm: bytes) -> bool:
        """Queue 24 kHz mono PCM16 of `item`, any length. False: the queue is full and `pcm` was dropped."""
        ...

    def hold(self) -> None:
        """Play silence from the next frame on, keeping what is queued."""
        ...

    def resume(self) -> None:
        """Go on where `hold` stopped; no sample is lost or repeated."""
        ...

    def flush(self) -> tuple[Heard, ...]:
        """Drop what is queued (and end a hold); tell, oldest first, of each item not played to its end."""
        ...

    def stats(self) -> Mapping[str, float]:
        """How the media flows; at least `inbox_frames` (not yet heard) and `queued_ms` (not yet played)."""
        ...

    async def close(self) -> None:
        """Release sockets and tasks within 5 s; `hear` returns. Safe to call twice."""
        ...
