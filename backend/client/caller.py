"""What every calling program can do, over WebRTC or WebSocket: say PCM, and keep what it hears with its time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from backend.audio.frame import FRAME_BYTES, Frame

KEPT_FRAMES = 50 * 60 * 10
"""Frames kept of what was heard: ten minutes."""
AUDIBLE = 200
"""Sample value (of 32,767) above which a frame is not silence; codec noise stays far below."""


@dataclass(frozen=True, slots=True)
class HeardFrame:
    """One frame and when it arrived, in seconds on the event loop's clock."""

    at: float
    frame: Frame

    @property
    def audible(self) -> bool:
        """Whether there is more than silence in it."""
        samples = memoryview(self.frame).cast("h")
        return max(samples) > AUDIBLE or min(samples) < -AUDIBLE


class Ear:
    """What a caller has heard, oldest first."""

    def __init__(self) -> None:
        self.frames: deque[HeardFrame] = deque(maxlen=KEPT_FRAMES)
        self.last_audible_at: float | None = None

    def __repr__(self) -> str:
        return f"Ear({len(self.frames)} frames)"

    def hear(self, frame: Frame, at: float) -> None:
        """Keep one frame."""
        heard = HeardFrame(at, frame)
        self.frames.append(heard)
        if heard.audible:
            self.last_audible_at = at

    def pcm(self) -> bytes:
        """All of it, 24 kHz mono PCM16."""
        return b"".join(heard.frame for heard in self.frames)


class Caller(Protocol):
    """One program's end of a call."""

    ear: Ear

    def say(self, pcm: bytes) -> None:
        """Speak 24 kHz mono PCM16 after what is being said; before and after it there is silence."""
        ...

    async def said(self) -> None:
        """Wait until everything has been spoken."""
        ...

    @property
    def hung_up(self) -> bool:
        """Whether the server has ended the call, or it was lost."""
        ...

    async def close(self) -> None:
        """Hang up."""
        ...


def cut_frames(pcm: bytes) -> Iterator[Frame]:
    """24 kHz mono PCM16 in frames, the last one padded with silence."""
    for at in range(0, len(pcm), FRAME_BYTES):
        yield Frame(pcm[at : at + FRAME_BYTES].ljust(FRAME_BYTES, b"\0"))
