"""The history of a call: a short tail in the process, and all words on their way to memory."""

from backend.call.history import TAIL, CallHistory, count_ended
from backend.responders.base import PastMessage
from backend.sessions.session import Session, SessionRequest
from backend.storage.memory import MemoryJob
from backend.testing.memory import FakeMemory


async def run(jobs: list[MemoryJob], memory: FakeMemory) -> None:
    for job in jobs:
        await job(memory)


def test_the_tail_keeps_the_newest_words() -> None:
    history = CallHistory("u1", "s1", lambda _: None)
    for number in range(TAIL + 5):
        history.add("user", str(number))
    assert len(history.tail()) == TAIL
    assert history.tail()[-1] == PastMessage("user", str(TAIL + 4))


async def test_an_ended_call_is_counted_for_its_user() -> None:
    jobs: list[MemoryJob] = []
    session, memory = Session(SessionRequest("ada"), "fake"), FakeMemory()
    await memory.update_user_context("ada", lambda _: {"facts": ["has a dog"], "signals": {"session_count": 2}})
    count_ended(jobs.append, session, "idle")
    await run(jobs, memory)
    context = await memory.user_context("ada")
    assert context["signals"]["session_count"] == 3 and context["facts"] == ["has a dog"]


async def test_a_deleted_session_is_not_counted_and_leaves_no_words() -> None:
    jobs: list[MemoryJob] = []
    session, memory = Session(SessionRequest("ada"), "fake"), FakeMemory()
    history = CallHistory("ada", session.conversation_id, jobs.append)
    history.add("user", "hello")
    count_ended(jobs.append, session, "deleted")
    await run(jobs, memory)
    assert await memory.recent_messages("ada", session.conversation_id) == []
    assert await memory.user_context("ada") == {}, "a user was written again who may be erased already"
