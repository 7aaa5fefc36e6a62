"""The handoff moves work to the background: on request, at the deadline, or when the caller hangs up."""

import asyncio
import logging
from dataclasses import dataclass

from backend.errors import MemoryUnavailable, NoAnswer, VoiceError
from backend.storage.memory import Memory
from backend.storage.outbox import Enqueue
from backend.tasks.service import TaskService
from backend.thinkers.base import Checkpoints, Manifest, Question

log = logging.getLogger(__name__)

HAND_OFF_WITHIN_S = 2.0
"""Seconds the handoff of one question may take."""


@dataclass(frozen=True, slots=True)
class BackgroundHandoff:
    """The `thinkers.dispatcher.Handoff` of all calls and typed turns."""

    tasks: TaskService
    enqueue: Enqueue
    """Queues the questions of ending calls, so that no call waits."""

    def accepts(self, manifest: Manifest, user_id: str) -> bool:
        """Return whether that Thinker's work for that user can go on without the call."""
        return manifest.background and bool(user_id)

    async def hand_off(self, question: Question, checkpoints: Checkpoints) -> str:
        """Create a background task from the question and its finished steps. Raises `VoiceError`."""
        try:
            async with asyncio.timeout(HAND_OFF_WITHIN_S):
                task = await self.tasks.create(
                    question.user_id,
                    question.domain,
                    question.query,
                    question.conversation_id,
                    source_mode=question.source_mode,
                    steps=checkpoints.values,
                    scope=question.rights.caller_scope,
                )
        except TimeoutError:
            raise NoAnswer("It could not be started in the background just now.") from None
        log.info("handed to the background: task %s", task.id)
        return task.id

    def hand_off_later(self, question: Question, checkpoints: Checkpoints) -> None:
        """Hand over the question of a call that is ending. Returns immediately."""

        async def hand_off(_: Memory) -> None:
            try:
                await self.hand_off(question, checkpoints)
            except (MemoryUnavailable, NoAnswer) as error:
                raise MemoryUnavailable(str(error)) from error  # the outbox tries again: the same question is one task
            except VoiceError as error:
                log.warning("the work of a call that has ended could not go on: %s", type(error).__name__)

        self.enqueue(hand_off)
