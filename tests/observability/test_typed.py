"""Work outside calls is traced whole, too: typed turns with the Thinkers they consult, summaries, digests."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from backend.chat.chat import Chat
from backend.chat.turn import ChatReply, ChatRequest
from backend.coordinator.coordinator import Digest, DigestItem
from backend.coordinator.decider import ModelDecider
from backend.coordinator.store import ChannelEntry
from backend.errors import ModelUnavailable, VoiceError
from backend.models.base import Finished
from backend.observability.tracing import Tracer
from backend.responders.base import PastMessage
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.testing.tracer import FakeTracer
from backend.users.summaries import Summaries
from tests.http.world import settings_with
from tests.support.agents import call
from tests.support.chats import chat_over
from tests.support.waiting import until

SECRET = "my very private question"
ROUTE = call("route_to_thinker", '{"domain": "knowledge", "query": "Why is the sky blue?"}')


async def answered(chat: Chat, text: str = SECRET, conversation: str | None = "c1", **more: Any) -> ChatReply:
    turn = await chat.begin(ChatRequest("ada", text, conversation, **more))
    reply = await turn.wait()
    await chat.close()
    return reply


def chat_with(folder: Path, tracer: Tracer, *scenes: Any) -> Chat:
    settings = settings_with(data_dir=folder)
    return chat_over(settings, FakeMemory(), ScriptedModel(*scenes), tracer=tracer)


async def test_a_typed_turn_is_a_trace_down_to_its_thinkers_models(tmp_path: Path) -> None:
    scenes = (
        [ROUTE, Finished("tool_calls", 10, 1)],
        ["Air.", Finished("stop", 20, 2)],
        ["Air!", Finished("stop", 3, 3)],
    )
    tracer = FakeTracer()
    reply = await answered(chat_with(tmp_path, tracer, *scenes), platform="terminal")
    [turn] = tracer.ended("turn")
    assert (turn.name, turn.parent, turn.session_id) == ("typed turn", None, "c1")
    inside = [(span.kind, span.name) for span in tracer.under(turn)]
    assert inside == [
        ("model", "gpt-5.4-mini"),
        ("tool", "route_to_thinker"),
        ("thinker", "knowledge"),
        ("model", "gpt-5.4-mini"),
    ]
    [thinker] = tracer.ended("thinker")
    [routing], [thinking] = tracer.under(thinker), tracer.ended("thinking")
    assert (thinking.parent, [span.name for span in tracer.under(thinking)]) == (routing, ["gpt-5.4"])
    assert reply.thinkers == ("knowledge",)
    facts = turn.facts | {"outcome": turn.outcome, "tokens": turn.tokens}
    expected = {"platform": "terminal", "mode": "default", "thinkers": "knowledge", "history": "kept"}
    assert facts.items() >= (expected | {"outcome": "complete", "tokens": 39}).items()


async def test_a_turn_without_a_conversation_is_a_trace_with_its_words(tmp_path: Path) -> None:
    tracer = FakeTracer()
    reply = await answered(chat_with(tmp_path, tracer, ["Hello."]), conversation=None, message_id="m1")
    [turn] = tracer.ended("turn")
    assert (turn.session_id, turn.name, turn.outcome, reply.history) == ("m1", "typed turn", "complete", "none")
    assert (turn.words_in, turn.words_out) == ([SECRET], ["Hello."])
    assert [record.kind for record in tracer.under(turn)] == ["model"]


async def test_a_typed_turn_has_its_outcome(tmp_path: Path) -> None:
    failed = FakeTracer()
    with pytest.raises(VoiceError):
        await answered(chat_with(tmp_path, failed, [ModelUnavailable("The model is gone.")]))
    assert [record.outcome for record in failed.ended("turn")] == ["failed"]

    tracer = FakeTracer()
    model = ScriptedModel(["One", 30.0])
    chat = chat_over(settings_with(data_dir=tmp_path), FakeMemory(), model, tracer=tracer)
    turn = await chat.begin(ChatRequest("ada", SECRET, "c1"))
    await until(lambda: bool(model.requests))
    assert await chat.cancel("ada", "c1")
    assert (await turn.wait()).state == "cancelled"
    await chat.close()
    assert [record.outcome for record in tracer.ended("turn")] == ["cancelled"]


async def test_a_summary_is_a_trace_with_its_model() -> None:
    tracer, memory = FakeTracer(), FakeMemory()
    model = ScriptedModel(['{"summary": "Has a dog.", "facts": []}', Finished("stop", 30, 4)], ["no notes"])
    summaries = Summaries(model, "fast", memory, tracer)
    for session in ("s1", "s2"):
        summaries.request(session, "ada", [PastMessage("user", "I have a dog."), PastMessage("assistant", "Nice.")])
        await until(lambda: summaries.depth == 0)
    good, bad = tracer.ended("summary")
    assert (good.session_id, good.outcome, good.tokens, bad.outcome) == ("s1", "complete", 34, "failed")
    [asked] = tracer.under(good)
    assert (asked.name, asked.outcome, asked.facts["tokens_in"]) == ("fast", "complete", 30)


async def test_a_digest_is_a_trace_with_its_model_and_actions() -> None:
    tracer = FakeTracer()
    model = ScriptedModel([call("capture_feedback", '{"feeling": "praise", "text": "bees"}')], ["Thank you."])
    decider = ModelDecider(model, "fast", lambda *_, **__: nullcontext(), {"research"}, tracer)
    entry = ChannelEntry("1-0", "input", 1.0, "I love bees.", "api")
    await decider.decide(Digest("d1", "ada", [DigestItem(entry)]))
    [digest] = tracer.ended("digest")
    assert (digest.session_id, digest.outcome, digest.facts["happened"]) == ("digest-d1", "complete", 1)
    assert [record.kind for record in tracer.under(digest)] == ["model", "tool", "model"]
