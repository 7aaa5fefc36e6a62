"""The utterance classifier tells in some 50 ms what a short utterance is: "yeah", "stop", a cough, or something else.

A transcript comes hundreds of milliseconds after an utterance, and a reply that may have been interrupted cannot wait
so long. The reader knows nothing but the phrases of `turns/utterances.py`, and tells them from other words and
from noise; it also estimates whether a sentence is likely to end after given words. One child process does this for
all calls of a server process (`utterance_classifier_worker.py`), because pocketsphinx holds the interpreter lock.

A call is never disturbed: where the child is dead, busy or too late, the answer is None. A child that ends is started
again; one that has not answered for `STUCK_AFTER_S` is ended first.

Requests and answers are a header, then a payload (`REQUEST`, `ANSWER`, big-endian): audio as 24 kHz mono PCM16, or
words in UTF-8; answers in JSON. The worker skips a request after its deadline, and answers null.
"""

from __future__ import annotations

import asyncio
import logging
import os
import struct
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec

import msgspec

from backend.errors import SetupError
from backend.media.frame import BYTES_PER_MS
from backend.runtime.child_process import ChildProcess, Command, Limits, running
from backend.runtime.supervisor import cancel_all
from backend.turns.utterances import UtteranceKind

log = logging.getLogger(__name__)

READ_WITHIN_S = 0.25
"""Seconds an answer may take before it is given up."""
STUCK_AFTER_S = 10.0
"""Seconds without any answer to a request after which the child is ended; loading takes about one."""
MOST_WAITING = 8
"""Requests the child may have before it; one more is refused. All of them are answered in about `READ_WITHIN_S`."""
LONGEST_MS = 2000
"""Audio beyond this is no short utterance, and is not read."""

READ, SENTENCE_END = 1, 2
REQUEST = struct.Struct(">BIdI")
"""What is asked (`READ` or `SENTENCE_END`), number, deadline (seconds of the machine's steady clock), payload bytes."""
ANSWER = struct.Struct(">II")
"""Number of the request, payload bytes."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The classes of an utterance."""

    kind: UtteranceKind
    words: str = ""
    """The phrase that was recognised; empty for noise and for other words."""


class UtteranceClassifier:
    """The reader of a server process, shared by its calls. Construct it in a running event loop."""

    def __init__(self, *, within_s: float = READ_WITHIN_S) -> None:
        """Give each answer up after `within_s` seconds."""
        self._within_s = within_s
        # One thread for the matrix products: more would only wait for each other, and cost memory.
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        worker = Command(running("backend.media.utterance_classifier_worker"), env=environment, pipes=True)
        self._child = ChildProcess(
            "the utterance classifier",
            lambda: worker,
            until_ready=self._follow,
            limits=Limits(pauses_s=(0.1, 1.0, 5.0)),
        )
        self._beginning: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._waiting: dict[int, tuple[float, asyncio.Future[bytes]]] = {}
        self._count = 0

    def __repr__(self) -> str:
        return f"UtteranceClassifier({self._child!r}, {len(self._waiting)} waiting)"

    @property
    def depth(self) -> int:
        """Return the requests that the child has not answered."""
        return len(self._waiting)

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
        if self._beginning:
            await cancel_all([self._beginning])
        await self._child.close()
        await self._stop_following()

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
        process = self._child.running_process
        now = time.monotonic()
        if process is None or process.stdin is None or self._is_busy(now):
            return None
        self._count = number = (self._count + 1) % 2**32
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (now, answer)  # until it is answered, in time or not: the child has it before it
        try:
            async with asyncio.timeout(self._within_s):
                process.stdin.write(REQUEST.pack(what, number, now + self._within_s, len(payload)) + payload)
                await process.stdin.drain()
                return await answer
        except (TimeoutError, OSError):
            return None

    def _is_busy(self, now: float) -> bool:
        """Return whether there is no room for another request; end a child that answers nothing."""
        oldest = next(iter(self._waiting.values()), None)
        if oldest and now - oldest[0] > STUCK_AFTER_S:
            log.error("the utterance classifier has not answered for %g s and is ended", STUCK_AFTER_S)
            self._child.kill()
            return True
        return len(self._waiting) >= MOST_WAITING

    async def _follow(self, process: Process) -> None:
        await self._stop_following()
        self._forget_all()
        self._following = asyncio.create_task(self._take_answers(process), name="utterance classifier")

    async def _take_answers(self, process: Process) -> None:
        assert process.stdout
        try:
            while True:
                number, length = ANSWER.unpack(await process.stdout.readexactly(ANSWER.size))
                payload = await process.stdout.readexactly(length)
                _, answer = self._waiting.pop(number, (0.0, None))
                if answer and not answer.done():
                    answer.set_result(payload)
        except (asyncio.IncompleteReadError, OSError):
            self._forget_all()

    def _forget_all(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for _, answer in waiting.values():
            if not answer.done():
                answer.set_result(b"")

    async def _stop_following(self) -> None:
        if self._following:
            await cancel_all([self._following])
            self._following = None


@asynccontextmanager
async def open_utterance_classifier() -> AsyncIterator[UtteranceClassifier | None]:
    """Keep a reader until the block ends; the first call starts its child; None where pocketsphinx is missing."""
    if find_spec("pocketsphinx") is None:
        log.warning("utterances are not read: pocketsphinx is missing; what interrupts is judged by its length alone")
        yield None
        return
    reader = UtteranceClassifier()
    try:
        yield reader
    finally:
        await reader.close()
