"""What a caller says is taken, in order and beside the call, as the answer to what they were asked."""

from __future__ import annotations

import asyncio

from backend.access.principal import PUBLIC, CallerScope, ToolScope
from backend.call.consent_replies import WAITING_LIMIT, ConsentReplies
from backend.errors import MemoryUnavailable
from backend.sessions.session import Session, SessionRequest
from backend.tools.confirmations import HEARD_AFTER_S
from backend.tools.runner import HEARD_WITHIN_S
from tests.call.world import placed_call, settle
from tests.support.consent import confirmations, tool_context
from tests.support.waiting import until
from tests.tools.test_consent import box


class Answers:
    """Notes what it is given, slowly."""

    def __init__(self) -> None:
        self.taken: list[tuple[str, str, str]] = []

    async def take(self, user: str, conversation: str, words: str) -> None:
        await asyncio.sleep(0.01 if words == "first" else 0)
        if words == "lost":
            raise MemoryUnavailable("Redis is away.")
        self.taken.append((user, conversation, words))


async def test_utterances_are_taken_in_order_and_one_that_fails_costs_itself_only() -> None:
    answers, session = Answers(), Session(SessionRequest("ada", "c1"), "fake")
    listener = ConsentReplies(session, answers.take)
    for words in ("first", "lost", "last"):
        listener.on_words(words)
    await until(lambda: len(answers.taken) == 2)
    assert answers.taken == [("ada", "c1", "first"), ("ada", "c1", "last")]
    await listener.close()


async def test_no_more_wait_than_its_bound_and_none_after_the_call() -> None:
    answers = Answers()
    listener = ConsentReplies(Session(SessionRequest("ada", "c1"), "fake"), answers.take)
    for _ in range(3 * WAITING_LIMIT):
        listener.on_words("first")
    assert len(listener._waiting) == WAITING_LIMIT
    await listener.close()
    assert answers.taken == []


async def test_what_is_typed_into_a_call_answers_in_its_conversation() -> None:
    answers = Answers()
    async with placed_call(conversation="c1", take_answer=answers.take) as placed:
        placed.live.type_text("Yes.")
        await settle()
        await until(lambda: answers.taken == [("ada", "c1", "Yes.")])


async def test_words_of_somebody_who_has_the_sessions_token_alone_answer_nothing_for_its_owner() -> None:
    answers = Answers()
    async with placed_call(conversation="c1", take_answer=answers.take) as placed:
        placed.session.share()
        placed.live.type_text("Yes.")
        await settle()
        assert answers.taken == []


async def test_a_yes_whose_words_come_after_the_call_of_the_tool_is_waited_for() -> None:
    now = [0.0]
    asked = confirmations(lambda: now[0])
    registry, spoken = box(asked), tool_context("ada", "c", client="voice")
    assert (await registry.run("erase", '{"what": "all"}', spoken)).error == "needs_confirmation"
    now[0] = HEARD_AFTER_S + 1
    running = asyncio.create_task(registry.run("erase", '{"what": "all"}', spoken))
    await asyncio.sleep(HEARD_WITHIN_S / 4)
    await asked.take_answer("ada", "c", "Yes.")
    assert (await running).error is None


async def test_a_session_that_somebody_shares_by_its_token_reaches_public_tools_only() -> None:
    session = Session(SessionRequest("ada", "c1", caller_scope=CallerScope(ToolScope.OPERATOR)), "fake")
    assert session.caller_scope.scope is ToolScope.OPERATOR
    session.share()
    assert session.caller_scope == PUBLIC
