"""Gives a call's long work to the background: asked for so, too slow for the call, or left by a caller who hung up."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from backend.errors import VoiceError
from backend.tasks.task import Task, Tasks
from backend.thinkers.base import LocalCheckpoints, Manifest, Question

log = logging.getLogger(__name__)

GIVE_WITHIN_S = 2.0
"""Seconds giving a piece of work away may take."""
WAITING_LIMIT = 50
"""Pieces of work that may be on their way to the background at the same time; more are lost, and said so."""
STARTED = "I've started on it in the background. I'll tell you when it's done."
GOES_ON = "It takes longer than expected, so I go on with it in the background. I'll tell you when it's done."


class BackgroundHandoff:
    """Shared by all calls; owns what is on its way, so that the end of a call waits for nothing."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._on_their_way: set[asyncio.Task[Any]] = set()

    def __repr__(self) -> str:
        return f"BackgroundHandoff({len(self._on_their_way)} on their way)"

    def takes(self, manifest: Manifest, user_id: str) -> bool:
        """Whether that Thinker's work can go on without its call, for that user."""
        return manifest.background and bool(user_id)

    async def give(self, question: Question, steps: LocalCheckpoints) -> Task:
        """Have it done in the background, from the steps that are done. Raises `VoiceError` or `TimeoutError`."""
        async with asyncio.timeout(GIVE_WITHIN_S):
            return await self._tasks.create(
                question.user_id,
                question.domain,
                question.query,
                question.conversation_id,
                source_mode=question.source_mode,
                steps=steps.values,
            )

    def give_later(self, question: Question, steps: LocalCheckpoints) -> None:
        """The same for a call that is ending: it is on its way when this returns."""
        if len(self._on_their_way) >= WAITING_LIMIT:
            log.warning("the work of a call that has ended is lost: too much is on its way to the background")
            return
        giving = asyncio.create_task(self._give(question, steps), name="handover")
        self._on_their_way.add(giving)
        giving.add_done_callback(self._on_their_way.discard)

    async def close(self) -> None:
        """Until all that is on its way has arrived, or cannot."""
        if self._on_their_way:
            await asyncio.wait(set(self._on_their_way), timeout=GIVE_WITHIN_S)

    async def _give(self, question: Question, steps: LocalCheckpoints) -> None:
        try:
            await self.give(question, steps)
        except (VoiceError, TimeoutError) as error:
            log.warning("the work of a call that has ended could not go on: %s", type(error).__name__)
