"""What was said: a short tail at hand, all of it on its way to memory."""

from __future__ import annotations

from backend.call.history import TAIL, CallHistory, count_ended
from backend.responders.base import PastMessage
from backend.sessions.session import Session, SessionRequest
from backend.storage.memory import MemoryJob
from backend.testing.memory import FakeMemory


async def run(jobs: list[MemoryJob], memory: FakeMemory) -> None:
    for job in jobs:
        await job(memory)


def test_the_tail_is_bounded_and_keeps_the_newest() -> None:
    history = CallHistory("u1", "s1", lambda _: None)
    for number in range(TAIL + 5):
        history.add("user", str(number))
    assert len(history.tail()) == TAIL
    assert history.tail()[-1] == PastMessage("user", str(TAIL + 4))


async def test_an_ended_call_counts_for_its_user() -> None:
    jobs: list[MemoryJob] = []
    session, memory = Session(SessionRequest("ada"), "fake"), FakeMemory()
    await memory.update_user_context("ada", lambda _: {"facts": ["has a dog"], "signals": {"session_count": 2}})
    count_ended(jobs.append, session, "idle")
    await run(jobs, memory)
    context = await memory.user_context("ada")
    assert context["signals"]["session_count"] == 3 and context["facts"] == ["has a dog"]


async def test_a_deleted_session_is_forgotten_with_what_was_still_waiting_and_not_counted() -> None:
    jobs: list[MemoryJob] = []
    session, memory = Session(SessionRequest("ada"), "fake"), FakeMemory()
    history = CallHistory("ada", session.conversation_id, jobs.append)
    history.add("user", "hello")
    count_ended(jobs.append, session, "deleted")
    await run(jobs, memory)
    assert await memory.recent_messages("ada", session.conversation_id) == []
    assert await memory.user_context("ada") == {}, "another process may have erased the user already"
