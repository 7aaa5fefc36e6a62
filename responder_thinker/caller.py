"""A program's end of a call, over WebRTC or WebSocket: it speaks PCM, and records the frames that arrive with times."""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from backend.media.frame import FRAME_BYTES, FRAME_MS, SILENCE, Frame, milliseconds

KEPT_FRAMES = 50 * 60 * 10
"""The most received frames that are recorded: ten minutes."""
AUDIBLE = 200
"""The sample value (of 32,767) above which a frame is not silence; codec noise stays far below."""
GAP_S = 0.1
"""The most seconds by which the network may delay a frame; a longer delay is a pause."""


@dataclass(frozen=True, slots=True)
class ReceivedFrame:
    """One frame, and when it arrived, in seconds on the event loop's clock."""

    at: float
    frame: Frame

    @property
    def audible(self) -> bool:
        """True if the frame is more than silence."""
        samples = memoryview(self.frame).cast("h")
        return max(samples) > AUDIBLE or min(samples) < -AUDIBLE


class ReceivedAudio:
    """The frames a caller has received, oldest first."""

    def __init__(self) -> None:
        self.frames: deque[ReceivedFrame] = deque(maxlen=KEPT_FRAMES)
        self.last_audible_at: float | None = None
        self.on_frame: Callable[[bytes], object] | None = None
        """The function that is called with each frame, 960 bytes, as it arrives; None: no function."""

    def add(self, frame: Frame, at: float) -> None:
        """Record one frame."""
        received = ReceivedFrame(at, frame)
        self.frames.append(received)
        if received.audible:
            self.last_audible_at = at
        if self.on_frame:
            self.on_frame(frame)

    def pcm(self) -> bytes:
        """Return all sound as 24 kHz mono PCM16, with silence for the gaps."""
        sound = bytearray()
        for received in self.frames:
            late_s = received.at - self.frames[0].at - milliseconds(len(sound)) / 1000
            if late_s > GAP_S:
                sound += SILENCE * int(late_s * 1000 / FRAME_MS)
            sound += received.frame
        return bytes(sound)


class Caller(ABC):
    """One program's end of a call."""

    def __init__(self) -> None:
        self.received = ReceivedAudio()
        self._speech: deque[bytes] = deque()
        """The speech that is still to be sent, in pieces of 20 ms."""
        self._silent = asyncio.Event()
        self._silent.set()

    @abstractmethod
    def say(self, pcm: bytes) -> None:
        """Speak 24 kHz mono PCM16, after earlier speech; before and after it there is silence."""

    async def said(self) -> None:
        """Wait until everything has been spoken, or the call is over."""
        await self._silent.wait()

    @property
    @abstractmethod
    def hung_up(self) -> bool:
        """True if the call is over: the server has ended it, or it was lost."""

    @abstractmethod
    async def close(self) -> None:
        """Hang up and release everything. Safe to call twice."""

    def _speak(self, pieces: Iterable[bytes]) -> None:
        self._speech.extend(pieces)
        if self._speech:
            self._silent.clear()


def cut_frames(pcm: bytes) -> Iterator[Frame]:
    """Yield 24 kHz mono PCM16 in frames, the last one padded with silence."""
    for at in range(0, len(pcm), FRAME_BYTES):
        yield Frame(pcm[at : at + FRAME_BYTES].ljust(FRAME_BYTES, b"\0"))
