"""Hearing: audio in, words out, through the recogniser's process. Bounded in time and in number."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys

from backend.errors import PeerError
from backend.runtime.child_process import ChildProcess, Command, Limits
from local_responder.recognition.ears_worker import HEADER

log = logging.getLogger(__name__)

MOST_WAITING = 32
"""Utterances waiting at once; one more is refused."""
RECOGNISED_WITHIN_S = 10.0
"""Loading included: the first utterance may come before the recogniser is ready."""


class EarsFailed(PeerError):
    """The recogniser did not answer, or has too much to do."""


class Ears:
    """One recogniser process, started again when it dies. Construct it in a running event loop."""

    def __init__(self) -> None:
        worker = Command([sys.executable, "-m", "local_responder.recognition.ears_worker"], pipes=True)
        self._child = ChildProcess(
            "the recogniser", lambda: worker, until_ready=self._read_on, limits=Limits(pauses_s=(0.05, 0.5, 5.0))
        )
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[str]] = {}
        self._count = 0
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Begin to load; returns at once. Safe to call again."""
        async with self._starting:
            await self._child.start()

    async def recognise(self, pcm: bytes) -> str:
        """The words in 24 kHz mono PCM16; '' when nothing was understood. Raises `EarsFailed`."""
        if len(self._waiting) >= MOST_WAITING:
            raise EarsFailed("The recogniser has too much to do.")
        await self.start()
        self._count = (self._count + 1) % 2**32
        number = self._count
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(RECOGNISED_WITHIN_S):
                await self._ask(number, pcm)
                return await answer
        except (TimeoutError, OSError) as error:
            raise EarsFailed("The recogniser did not answer in time.") from error
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        """End the process. Safe to call twice."""
        await self._child.close()
        await self._stop_reading()

    def __repr__(self) -> str:
        return f"Ears({self._child!r}, {len(self._waiting)} waiting)"

    async def _ask(self, number: int, pcm: bytes) -> None:
        process = await self._child.wait_until_running()
        assert process.stdin
        process.stdin.write(HEADER.pack(number, len(pcm)) + pcm)
        await process.stdin.drain()

    async def _read_on(self, process: asyncio.subprocess.Process) -> None:
        await self._stop_reading()
        self._reader = asyncio.create_task(self._read(process), name="ears reader")

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout
        try:
            while True:
                number, length = HEADER.unpack(await process.stdout.readexactly(HEADER.size))
                words = (await process.stdout.readexactly(length)).decode()
                answer = self._waiting.get(number)
                if answer and not answer.done():
                    answer.set_result(words)
        except asyncio.IncompleteReadError:
            log.info("the recogniser has ended")
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(EarsFailed("The recogniser ended."))

    async def _stop_reading(self) -> None:
        reader, self._reader = self._reader, None
        if reader:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader
