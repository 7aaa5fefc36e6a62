"""Hearing: audio in, words out, through the recogniser's process. Bounded in time and in number."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys

from backend.errors import PeerError
from demo.offline.speech.ears_worker import HEADER

log = logging.getLogger(__name__)

MOST_WAITING = 32
"""Utterances waiting at once; one more is refused."""
RECOGNISED_WITHIN_S = 10.0
"""Loading included: the first utterance may come before the recogniser is ready."""
STOPPED_WITHIN_S = 1.0


class EarsFailed(PeerError):
    """The recogniser did not answer, or has too much to do."""


class Ears:
    """One recogniser process, started when first needed and again after it died."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[str]] = {}
        self._count = 0
        self._starting = asyncio.Lock()

    async def start(self) -> None:
        """Begin to load; returns at once. Safe to call again."""
        async with self._starting:
            if self._process and self._process.returncode is None:
                return
            await self._stop_reading()
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "demo.offline.speech.ears_worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            self._reader = asyncio.create_task(self._read(self._process), name="ears reader")

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
        process, self._process = self._process, None
        if process and process.returncode is None:
            assert process.stdin
            process.stdin.close()
            try:
                async with asyncio.timeout(STOPPED_WITHIN_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()
        await self._stop_reading()

    def __repr__(self) -> str:
        running = self._process is not None and self._process.returncode is None
        return f"<Ears {'running' if running else 'not running'}, {len(self._waiting)} waiting>"

    async def _ask(self, number: int, pcm: bytes) -> None:
        assert self._process and self._process.stdin
        self._process.stdin.write(HEADER.pack(number, len(pcm)) + pcm)
        await self._process.stdin.drain()

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
