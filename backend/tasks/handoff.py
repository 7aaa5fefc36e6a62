"""Hands long work to the background: asked for so, too slow for its deadline, or left by a caller who hung up."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from backend.errors import NoAnswer, VoiceError
from backend.runtime.supervisor import start_among
from backend.tasks.service import TaskService
from backend.thinkers.base import Checkpoints, Manifest, Question

log = logging.getLogger(__name__)

HAND_OFF_WITHIN_S = 2.0
"""Seconds handing one question over may take."""
PENDING_LIMIT = 50
"""Questions of ended calls that may be on their way to the background in parallel; more are lost, and logged."""


@dataclass(eq=False, repr=False)
class BackgroundHandoff:
    """The `thinkers.dispatcher.Handoff` of all calls and typed turns. It owns what is on its way, so no call waits."""

    tasks: TaskService
    _pending: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    def __repr__(self) -> str:
        return f"BackgroundHandoff({len(self._pending)} pending)"

    def accepts(self, manifest: Manifest, user_id: str) -> bool:
        """Return whether that Thinker's work can go on without its call, for that user."""
        return manifest.background and bool(user_id)

    async def hand_off(self, question: Question, checkpoints: Checkpoints) -> str:
        """Make a background task of the question, from the steps that are done. Raises `VoiceError`."""
        try:
            async with asyncio.timeout(HAND_OFF_WITHIN_S):
                task = await self.tasks.create(
                    question.user_id,
                    question.domain,
                    question.query,
                    question.conversation_id,
                    source_mode=question.source_mode,
                    steps=checkpoints.values,
                    reach=question.rights.reach,
                )
        except TimeoutError:
            raise NoAnswer("It could not be started in the background just now.") from None
        log.info("handed to the background: task %s", task.id)
        return task.id

    def hand_off_later(self, question: Question, checkpoints: Checkpoints) -> None:
        """Hand over the question of a call that is ending. Returns immediately."""
        if len(self._pending) >= PENDING_LIMIT:
            log.warning("the work of a call that has ended is lost: too much is on its way to the background")
            return
        start_among(self._pending, "background hand-off", self._hand_off_quietly(question, checkpoints))

    async def close(self) -> None:
        """Wait until all that is pending has arrived, or cannot."""
        if self._pending:
            await asyncio.wait(set(self._pending), timeout=HAND_OFF_WITHIN_S)

    async def _hand_off_quietly(self, question: Question, checkpoints: Checkpoints) -> None:
        try:
            await self.hand_off(question, checkpoints)
        except VoiceError as error:
            log.warning("the work of a call that has ended could not go on: %s", type(error).__name__)
