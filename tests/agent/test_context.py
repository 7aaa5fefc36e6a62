"""The conversation stays within both budgets and is always valid to send."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.agent.context import ConversationContext, estimate_tokens
from backend.chat.history import ChatHistory
from backend.storage.memory import HISTORY_LIMIT
from backend.storage.messages import Message, StoredCall
from backend.testing.memory import FakeMemory
from tests.support.examples import examples

texts = st.text(max_size=200) | st.integers(0, 40_000).map(lambda n: "x" * n) | st.integers(0, 9_000).map("語".__mul__)


@st.composite
def units(draw: st.DrawFn) -> tuple[Message, ...]:
    kind = draw(st.sampled_from(["user", "assistant", "calls"]))
    if kind == "user":
        return (Message("user", draw(texts), 1.0),)
    if kind == "assistant":
        return (Message("assistant", draw(texts), 1.0),)
    number = draw(st.integers(1, 8))
    calls = tuple(StoredCall(f"id{index}", "tool", '{"a": "' + draw(texts) + '"}') for index in range(number))
    results = (Message("tool", draw(texts), 1.0, tool_call_id=call.id) for call in calls)
    return (Message("assistant", draw(texts), 1.0, tool_calls=calls), *results)


def assert_valid(messages: tuple[Message, ...]) -> None:
    open_calls: list[str] = []
    for message in messages:
        if message.role == "tool":
            assert open_calls.pop(0) == message.tool_call_id, "a result without its call"
        else:
            assert not open_calls, "a call without its result"
            open_calls = [call.id for call in message.tool_calls]
    assert not open_calls, "a call without its result"


@pytest.mark.block("000/trimming.py")
@pytest.mark.document("000", "bounded context")
@examples(80)
@given(st.lists(units(), min_size=1, max_size=25))
def test_a_context_within_its_budgets_has_no_orphans_and_keeps_the_newest_messages(
    conversation: list[tuple[Message, ...]],
) -> None:
    context = ConversationContext("c")
    question: str | None = None
    for unit in conversation:
        context.add_message(*unit)
        question = unit[0].message_id if unit[0].role == "user" else question
        kept = [message.message_id for message in context.messages]
        assert len(kept) <= 20
        assert context.tokens <= 8_000
        assert_valid(context.messages)
        assert kept[-len(unit) :] == [message.message_id for message in unit]
        assert question is None or question in kept


@pytest.mark.document("000", "messages")
@examples(30)
@given(st.lists(units(), max_size=10))
def test_stored_messages_read_back_the_same(conversation: list[tuple[Message, ...]]) -> None:
    async def through_memory() -> list[Message]:
        store = ChatHistory(FakeMemory())
        for unit in conversation:
            await store.append("c", "ada", unit)
        return await store.load("c", "ada")

    assert asyncio.run(through_memory()) == [message for unit in conversation for message in unit][-HISTORY_LIMIT:]


def test_a_message_over_budget_is_shortened_and_says_so() -> None:
    context = ConversationContext("c", messages=[Message("user", "x" * 100_000, 0)])
    assert context.messages[0].content.endswith("(shortened)")
    assert context.tokens <= 8_000


@pytest.mark.parametrize(
    "unit",
    [
        [],
        [Message("tool", "orphan", 0, tool_call_id="a")],
        [Message("assistant", "", 0, tool_calls=(StoredCall("a", "t", "{}"),))],
        [Message("user", "a", 0), Message("user", "b", 0)],
    ],
)
def test_an_incomplete_unit_is_refused(unit: list[Message]) -> None:
    with pytest.raises(ValueError, match="unit"):
        ConversationContext("c").add_message(*unit)


def test_orphans_in_a_store_are_left_out() -> None:
    calls = Message("assistant", "", 0, tool_calls=(StoredCall("a", "t", "{}"),))
    orphan = Message("tool", "x", 0, tool_call_id="z")
    last = Message("user", "hello", 0)
    assert ConversationContext("c", messages=[orphan, calls, last]).messages == (last,)


def test_the_estimate_of_tokens_is_not_too_low() -> None:
    assert estimate_tokens("The weather in Seattle is mild today.") >= 8
    assert estimate_tokens("天気はどうですか") >= 8
    assert estimate_tokens("") == 0
