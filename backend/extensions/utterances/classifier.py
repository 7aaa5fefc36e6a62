"""The utterance classifier recognises a short utterance in some 50 ms: "yeah", "stop", a cough, or something else.

A transcript comes hundreds of milliseconds after an utterance, and a reply that may have been interrupted cannot wait
that long. The classifier knows only the phrases of `turns/utterances.py`, and distinguishes them from other words and
from noise. It also estimates how likely a sentence ends after given words. One child process (`worker.py`) does this
for all calls of a server process, because pocketsphinx holds the interpreter's lock.

A call is never disturbed: if the child is dead, busy or too late, the answer is None. A child that ends is started
again. A child that has not answered for `STUCK_AFTER_S` is ended first.

The child handles one request at a time. Requests and answers have a header and a payload (`REQUEST`, `ANSWER`,
big-endian). A request has 24 kHz mono PCM16 or words in UTF-8, an answer has JSON.
"""

import asyncio
import logging
import os
import struct

import msgspec

from backend.call.utterance_tap import LONGEST_MS, Reading
from backend.errors import SetupError
from backend.media.frame import BYTES_PER_MS
from backend.runtime.child_process import ChildProcess, Command, Limits, running
from backend.runtime.supervisor import cancel_all, start_among

log = logging.getLogger(__name__)

READ_WITHIN_S = 0.25
"""Seconds after which an answer is no longer awaited."""
STUCK_AFTER_S = 10.0
"""Seconds without an answer after which the child is ended; loading takes about one."""
MOST_WAITING = 8
"""The most waiting requests; others are refused. So many are answered in about `READ_WITHIN_S`."""
READ, SENTENCE_END = 1, 2
REQUEST = struct.Struct(">BI")
"""The header of a request: its kind (`READ` or `SENTENCE_END`), and the length of its payload in bytes."""
ANSWER = struct.Struct(">I")
"""The header of an answer: the length of its payload in bytes."""


class UtteranceClassifier:
    """The classifier that all calls of a server process share. Construct it in a running event loop."""

    def __init__(self, *, within_s: float = READ_WITHIN_S) -> None:
        """Await each answer for at most `within_s` seconds."""
        self._within_s = within_s
        # One thread for the matrix products: more threads would wait for each other, and cost memory.
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        worker = Command(running("backend.extensions.utterances.worker"), env=environment, pipes=True)
        self._child = ChildProcess(
            "the utterance classifier",
            lambda: worker,
            limits=Limits(pauses_s=(0.1, 1.0, 5.0)),
        )
        self._beginning: asyncio.Task[None] | None = None
        self._waiting: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Start the child, which then loads for about a second. Raises `ChildFailed` or `OSError`."""
        await self._child.start()

    def begin(self) -> None:
        """Start the child in the background, unless that was done before. If it fails, no utterance is classified."""
        if self._beginning is None:
            self._beginning = asyncio.create_task(self._begin(), name="utterance classifier begins")

    async def _begin(self) -> None:
        try:
            await self.start()
        except (SetupError, OSError) as error:
            log.warning("short utterances are not classified: %s", error)

    async def close(self) -> None:
        """End the child. Safe to call twice."""
        await cancel_all([*self._waiting, *([self._beginning] if self._beginning else [])])
        await self._child.close()

    async def read(self, pcm: bytes) -> Reading | None:
        """Classify an utterance of 24 kHz mono PCM16; return None if it is too long, or the answer comes too late."""
        if len(pcm) > LONGEST_MS * BYTES_PER_MS:
            return None
        answer = await self._ask(READ, pcm)
        return msgspec.json.decode(answer, type=Reading | None) if answer else None

    async def sentence_end(self, words: str) -> float | None:
        """Return the log10 of the probability that a sentence ends after `words`; None if it comes too late.

        It is about -0.5 after "the weather in seattle", and below -1.2 after "can you tell me".
        """
        answer = await self._ask(SENTENCE_END, words.encode())
        return msgspec.json.decode(answer, type=float | None) if answer else None

    async def _ask(self, what: int, payload: bytes) -> bytes | None:
        if not self._child.running or len(self._waiting) >= MOST_WAITING:
            return None
        answer: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        start_among(self._waiting, "utterance classifier", self._exchange(what, payload, answer))
        try:
            async with asyncio.timeout(self._within_s):
                return await answer
        except TimeoutError:
            return None

    async def _exchange(self, what: int, payload: bytes, answer: asyncio.Future[bytes | None]) -> None:
        """Ask the child once it is free, unless the answer is no longer awaited."""
        async with self._turn:
            found = None if answer.done() else await self._answer_of_child(what, payload)
        if not answer.done():
            answer.set_result(found)

    async def _answer_of_child(self, what: int, payload: bytes) -> bytes | None:
        process = self._child.running_process
        if process is None or process.stdin is None or process.stdout is None:  # it does not run
            return None
        try:
            async with asyncio.timeout(STUCK_AFTER_S):
                process.stdin.write(REQUEST.pack(what, len(payload)) + payload)
                await process.stdin.drain()
                (length,) = ANSWER.unpack(await process.stdout.readexactly(ANSWER.size))
                return await process.stdout.readexactly(length)
        except TimeoutError:
            log.error("the utterance classifier has not answered for %g s and is ended", STUCK_AFTER_S)
            self._child.kill()
        except (asyncio.IncompleteReadError, OSError):
            pass  # the child has ended, and is started again
        return None
