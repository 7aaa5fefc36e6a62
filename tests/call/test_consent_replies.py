"""The words of a caller answer open confirmations, in order and beside the call."""

import asyncio

from backend.access.principal import PUBLIC, CallerScope, ToolScope
from backend.call.consent_replies import WAITING_LIMIT, ConsentReplies
from backend.errors import MemoryUnavailable
from backend.sessions.session import Session, SessionRequest
from backend.tools.confirmations import HEARD_AFTER_S
from tests.call.world import placed_call, settle
from tests.support.consent import confirmations, tool_context
from tests.support.waiting import until
from tests.tools.test_consent import box


class Answers:
    """Keeps what it is given, after a delay for the first."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str, str]] = []

    async def take(self, user: str, conversation: str, words: str) -> None:
        await asyncio.sleep(0.01 if words == "first" else 0)
        if words == "lost":
            raise MemoryUnavailable("Redis is away.")
        self.taken.append((user, conversation, words))


async def test_utterances_are_taken_in_order_even_if_one_fails() -> None:
    answers, session = Answers(), Session(SessionRequest("ada", "c1"), "fake")
    listener = ConsentReplies(session, answers.take)
    for words in ("first", "lost", "last"):
        listener.on_words(words)
    await until(lambda: len(answers.taken) == 2)
    assert answers.taken == [("ada", "c1", "first"), ("ada", "c1", "last")]
    await listener.close()


async def test_the_queue_is_bounded_and_empty_after_the_call() -> None:
    answers = Answers()
    listener = ConsentReplies(Session(SessionRequest("ada", "c1"), "fake"), answers.take)
    for _ in range(3 * WAITING_LIMIT):
        listener.on_words("first")
    assert len(listener._waiting) == WAITING_LIMIT
    await listener.close()
    assert answers.taken == []


async def test_words_typed_into_a_call_answer_in_its_conversation() -> None:
    answers = Answers()
    async with placed_call(conversation="c1", take_answer=answers.take) as placed:
        placed.live.type_text("Yes.")
        await settle()
        await until(lambda: answers.taken == [("ada", "c1", "Yes.")])


async def test_words_in_a_shared_session_answer_nothing_for_its_owner() -> None:
    answers = Answers()
    async with placed_call(conversation="c1", take_answer=answers.take) as placed:
        placed.session.share()
        placed.live.type_text("Yes.")
        await settle()
        assert answers.taken == []


async def test_a_tool_call_waits_for_a_late_transcript_of_the_consent() -> None:
    now = [0.0]
    asked = confirmations(lambda: now[0])
    registry, spoken = box(asked), tool_context("ada", "c", client="voice")
    assert (await registry.run("erase", '{"what": "all"}', spoken)).error == "needs_confirmation"
    now[0] = HEARD_AFTER_S + 1
    running = asyncio.create_task(registry.run("erase", '{"what": "all"}', spoken))
    await settle()
    await asked.take_answer("ada", "c", "Yes.")
    assert (await running).error is None


async def test_a_shared_session_may_call_public_tools_only() -> None:
    session = Session(SessionRequest("ada", "c1", caller_scope=CallerScope(ToolScope.OPERATOR)), "fake")
    assert session.caller_scope.scope is ToolScope.OPERATOR
    session.share()
    assert session.caller_scope == PUBLIC
