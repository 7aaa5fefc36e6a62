"""A background task may use the tools that its user could use when it was created, and asks for no consent."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from backend.access.principal import CallerScope, ToolScope
from backend.tasks.task import Task
from backend.tasks.worker import TaskRun, thinker_work
from backend.thinkers.base import Answer, Question
from backend.tools.base import ToolRights

SIGNED_IN = CallerScope(ToolScope.SIGNED_IN, frozenset({"web_search"}))


async def rights_of(task: Task) -> ToolRights:
    """The rights of the question that a task's run asks."""
    asked: list[Question] = []

    async def answer(question: Question, *_: Any, **__: Any) -> Answer:
        asked.append(question)
        return Answer("Done.", "model")

    calls = SimpleNamespace(scope=lambda *_, **__: nullcontext())
    await thinker_work(cast(Any, SimpleNamespace(answer=answer)), cast(Any, calls))(TaskRun(task, cast(Any, None), {}))
    return asked[0].rights


async def test_a_run_has_the_stored_reach_of_its_task_and_is_unattended() -> None:
    task = Task("t1", "ada", "c1", "research", "Look it up.", 1.0, 1.0, scope=SIGNED_IN)
    stored = msgspec.json.decode(msgspec.json.encode(task), type=Task)
    assert stored.scope == SIGNED_IN
    rights = await rights_of(stored)
    assert rights.caller_scope == SIGNED_IN and not rights.attended
