"""The work of a task: its Thinker, asked with all the patience there is, from the steps an earlier run has kept."""

from __future__ import annotations

from backend.tasks import keys
from backend.tasks.model_call_log import Archive
from backend.tasks.run import Run
from backend.tasks.task import Outcome
from backend.thinkers.base import Manifest, Question, ThinkerProgress
from backend.thinkers.dispatcher import ThinkerDispatcher


def background_kinds(manifests: tuple[Manifest, ...]) -> frozenset[str]:
    """The domains that can be done in the background."""
    return frozenset(manifest.domain for manifest in manifests if manifest.background)


class Thinking:
    """`run.Work` over the Thinkers."""

    def __init__(self, thinkers: ThinkerDispatcher, archive: Archive) -> None:
        self._thinkers = thinkers
        self._archive = archive

    def __repr__(self) -> str:
        return f"Thinking({self._thinkers!r})"

    async def __call__(self, run: Run) -> Outcome:
        """The answer to a task's instruction. Raises what `ThinkerDispatcher.answer` raises."""
        task = run.task

        def tell(progress: ThinkerProgress) -> None:
            if progress.detail:
                run.progress(progress.detail)

        question = Question(
            task.kind,
            task.instruction,
            task.id,
            task.owner,
            source_mode=task.source_mode,
            conversation_id=task.conversation_id,
        )
        with self._archive.scope(task.id, task.owner, while_there=keys.record(task.id)):
            answer = await self._thinkers.answer(question, tell, checkpoints=run, patient=True)
        return Outcome(answer.text, answer.source, answer.citations)
