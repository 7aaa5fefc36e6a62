"""Long input for GPT-Live, within the documented sizes. And the strictness of the peer that plays it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import connect as dial

from backend.extensions.gpt_live.codec import LiveCodec
from backend.extensions.gpt_live.messages import HISTORY_LIMIT, PARTS_LIMIT, answer_of, parts_of, session_of
from backend.extensions.gpt_live.schema import MESSAGES, faults
from backend.responders.base import Briefing, PastMessage
from backend.testing.offline.schema_checked import STRICT
from backend.turns import commands as do
from backend.turns.commands import Purpose
from tests.support.offline_peer import running_peer

SENTENCE = "The river rises in the hills, and runs through four towns to the sea. "


def started(instructions: str = "be kind", history: list[PastMessage] | None = None) -> dict[str, Any]:
    return {"type": "session.start", "session": session_of("gpt-live-1", "marin", instructions, history or [])}


@pytest.mark.parametrize("text", [SENTENCE * 40, "a " * 4000, "ü" * 4000, "語。" * 2000, "word"], ids=len)
def test_a_long_answer_is_sent_in_parts_that_fit_into_messages(text: str) -> None:
    parts = parts_of(text)
    assert 1 <= len(parts) <= PARTS_LIMIT
    for part in parts:
        message = {"type": "session.commentary.append", "content": part, "delegation_id": "d1"}
        assert faults(message) == []
    kept = "".join("".join(parts).split())
    assert "".join(text.split()).startswith(kept) and kept


def test_an_answer_is_cut_at_the_ends_of_sentences() -> None:
    assert all(part.endswith("to the sea.") for part in parts_of(SENTENCE * 40))


def test_a_session_begins_with_instructions_and_history_within_the_limits() -> None:
    history = [PastMessage("user" if number % 2 else "assistant", f"{number} " + SENTENCE) for number in range(400)]
    event = started("Be kind. " * 20_000, history)
    assert faults(event, started=False) == []
    given = event["session"]["input"]
    assert len(given) <= min(HISTORY_LIMIT, MESSAGES)
    assert given[-1]["content"][0]["text"].startswith("399 "), "the newest is kept"
    assert len(event["session"]["instructions"].encode()) <= 16_384 * 2


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ('{"answer": "It rains.", "source": "live"}', "It rains."),
        ('{"answer": "It rains.", "source": "sample"}', "It rains. (This is sample data: say so.)"),
        ('{"error": "It took too long."}', "There is no answer: It took too long."),
        ("not JSON", "not JSON"),
        ("[1]", "[1]"),
        ("{}", "{}"),
    ],
)
def test_a_thinkers_answer_is_sent_as_text(output: str, answer: str) -> None:
    assert answer_of(output) == answer


def test_a_result_is_sent_under_its_delegation_aloud_or_silently_and_a_note_under_none() -> None:
    codec = LiveCodec("gpt-live-1", "marin")
    codec.start(Briefing("be kind"), [])
    for delegation in (b"d1", b"d2"):
        codec.decode(b'{"type": "session.delegation.created", "delegation": {"id": "%b"}}' % delegation, 0.5)
    commands = (
        do.SubmitResult("d1", '{"answer": "4"}'),
        do.CreateReply(Purpose.RESULT, "result-1"),
        do.SubmitResult("d2", '{"answer": "5"}', silent=True),
        do.AddNote("a note"),
    )
    messages = [json.loads(sent) for command in commands for sent in codec.encode(command, 1.0)[0]]
    assert [faults(message) for message in messages] == [[]] * 3
    sent = [(message["type"], message["content"], message["delegation_id"]) for message in messages]
    assert sent[:2] == [("session.commentary.append", "4", "d1"), ("session.thinking.append", "5", "d2")]
    assert sent[2][0] == "session.thinking.append" and "a note" in sent[2][1] and sent[2][2] is None


# --- the strictness of the peer ----------------------------------------------------------------------


async def test_a_wrong_message_is_refused_and_the_session_goes_on() -> None:
    with running_peer("--strict", "gpt_live") as peer:
        async with dial(peer.realtime_url, compression=None) as socket:

            async def send(event: dict[str, Any]) -> dict[str, Any]:
                await socket.send(json.dumps(event))
                answer: dict[str, Any] = json.loads(await asyncio.wait_for(socket.recv(), 30))
                return answer

            thought = {
                "type": "session.thinking.append",
                "event_id": "e7",
                "content": "It rains.",
                "delegation_id": None,
            }
            assert (await send(started()))["type"] == "session.started"
            refused = await send(thought | {"surprise": 1})
            assert (refused["error"]["code"], refused["error"]["client_event_id"]) == (STRICT, "e7")
            assert (await send(thought))["type"] == "session.thinking.appended"
