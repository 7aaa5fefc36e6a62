"""What the programs share: speech at the pace of a microphone, and a record, printed at the end as a line of JSON.

The programs run in an environment of their own, without this project: they are given files of 24 kHz mono PCM16.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

PIECE = 960
"""Bytes of 20 ms."""
WITHIN_S = 30.0
"""Seconds any step may take."""


class Seen:
    """What the client has shown its user."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.said: list[str] = []
        self.called: list[str] = []
        self.audio_bytes = 0
        self.interruptions = 0
        self.errors: list[str] = []

    def tell(self) -> None:
        """Print it."""
        sys.stdout.write(json.dumps(vars(self)) + "\n")

    def give_up(self, what: str) -> NoReturn:
        """Say what did not come, and end the process: a library's tasks may resist an exception."""
        sys.stderr.write(f"did not happen: {what}; seen: {json.dumps(vars(self))}\n")
        sys.stderr.flush()
        os._exit(1)

    async def until(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for it, or say what did not come."""
        deadline = time.monotonic() + WITHIN_S
        while not is_so():
            if time.monotonic() > deadline:
                self.give_up(what)
            await asyncio.sleep(0.02)


async def speak(send: Callable[[bytes], Awaitable[object]], name: str, seen: Seen, is_so: Callable[[], bool]) -> None:
    """Speak the file, then go on in silence, as a microphone does, until `is_so`."""
    audio = (Path(sys.argv[1]) / f"{name}.pcm").read_bytes()
    began, sent = time.monotonic(), 0
    while sent < len(audio) or not is_so():
        await send(audio[sent : sent + PIECE].ljust(PIECE, b"\0"))
        sent += PIECE
        if sent / 48_000 > WITHIN_S + len(audio) / 48_000:
            seen.give_up(f"what follows {name}")
        await asyncio.sleep(max(0.0, began + sent / 48_000 - time.monotonic()))
