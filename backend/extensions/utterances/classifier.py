"""The utterance classifier tells in some 50 ms what a short utterance is: "yeah", "stop", a cough, or something else.

A transcript comes hundreds of milliseconds after an utterance, and a reply that may have been interrupted cannot wait
so long. The reader knows nothing but the phrases of `turns/utterances.py`, and tells them from other words and
from noise; it also estimates whether a sentence is likely to end after given words. One child process does this for
all calls of a server process (`worker.py`), because pocketsphinx holds the interpreter lock.

A call is never disturbed: where the child is dead, busy or too late, the answer is None. A child that ends is started
again; one that has not answered for `STUCK_AFTER_S` is ended first.

The child has one request at a time. Requests and answers are a header, then a payload (`REQUEST`, `ANSWER`,
big-endian): audio as 24 kHz mono PCM16, or words in UTF-8; answers in JSON.
"""

from __future__ import annotations

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
"""Seconds an answer may take before it is given up."""
STUCK_AFTER_S = 10.0
"""Seconds without an answer after which the child is ended; loading takes about one."""
MOST_WAITING = 8
"""Requests that may wait; one more is refused. All of them are answered in about `READ_WITHIN_S`."""
READ, SENTENCE_END = 1, 2
REQUEST = struct.Struct(">BI")
"""The header of a request: its kind (`READ` or `SENTENCE_END`), and the bytes of its payload."""
ANSWER = struct.Struct(">I")
"""Payload bytes."""


class UtteranceClassifier:
    """The reader of a server process, shared by its calls. Construct it in a running event loop."""

    def __init__(self, *, within_s: float = READ_WITHIN_S) -> None:
        """Give each answer up after `within_s` seconds."""
        self._within_s = within_s
        # One thread for the matrix products: more would only wait for each other, and cost memory.
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
        """Start the child unless it was begun before, without waiting; where that fails, nothing is read."""
        if self._beginning is None:
            self._beginning = asyncio.create_task(self._begin(), name="utterance classifier begins")

    async def _begin(self) -> None:
        try:
            await self.start()
        except (SetupError, OSError) as error:
            log.warning("utterances are not read: %s", error)

    async def close(self) -> None:
        """End the child. Safe to call twice."""
        await cancel_all([*self._waiting, *([self._beginning] if self._beginning else [])])
        await self._child.close()

    async def read(self, pcm: bytes) -> Reading | None:
        """Return what an utterance of 24 kHz mono PCM16 is; None: it is too long, or could not be read in time."""
        if len(pcm) > LONGEST_MS * BYTES_PER_MS:
            return None
        answer = await self._ask(READ, pcm)
        return msgspec.json.decode(answer, type=Reading | None) if answer else None

    async def sentence_end(self, words: str) -> float | None:
        """Return the probability that a sentence ends after its last `words`, as log10; None: not known in time.

        Some -0.5 after "the weather in seattle", below -1.2 after "can you tell me".
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
        """Ask the child once it is free, unless the answer was given up."""
        async with self._turn:
            found = None if answer.done() else await self._answer_of_child(what, payload)
        if not answer.done():
            answer.set_result(found)

    async def _answer_of_child(self, what: int, payload: bytes) -> bytes | None:
        process = self._child.running_process
        if process is None or process.stdin is None or process.stdout is None:
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
            pass  # it has ended, and is started again
        return None
