"""Whatever a client sends, in whatever order: the core answers with valid events, never with two replies together."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backend.realtime.serving.core import Realtime
from backend.realtime.serving.effects import Effect, Listen, Order, Stop
from backend.realtime.serving.parts import Begin, Call, End, ReplyPart, ReplySound, TranscriptDone, Words
from tests.realtime.talking import events, message
from tests.support.examples import examples

ITEM_IDS = st.one_of(st.sampled_from(["mine", "root"]), st.integers(0, 3))
"""Names of items, or their places in the conversation."""
CLIENT_EVENTS: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.integers(0, 400).map(
        lambda ms: {"type": "input_audio_buffer.append", "audio": base64.b64encode(bytes(ms * 48)).decode()}
    ),
    st.sampled_from(
        [
            {"type": "input_audio_buffer.commit"},
            {"type": "input_audio_buffer.clear"},
            {"type": "response.create"},
            {"type": "response.create", "response": {"conversation": "none", "output_modalities": ["text"]}},
            {"type": "response.cancel"},
            {"type": "conversation.item.create", "item": message("user", "hello")},
            {"type": "conversation.item.create", "item": message("user", "hello", id="mine")},
        ]
    ),
    st.builds(lambda item: {"type": "conversation.item.delete", "item_id": item}, ITEM_IDS),
    st.builds(
        lambda item, ms: {
            "type": "conversation.item.truncate",
            "item_id": item,
            "content_index": 0,
            "audio_end_ms": ms,
        },
        ITEM_IDS,
        st.integers(0, 300),
    ),
    st.dictionaries(st.sampled_from(["type", "item", "audio", "session"]), st.none() | st.text() | st.integers()),
)
PARTS: st.SearchStrategy[ReplyPart] = st.sampled_from(
    [Begin(), Words("a "), ReplySound(bytes(4800)), Call("f", "{}"), End(), End("failed")]
)
STEPS = st.lists(st.one_of(CLIENT_EVENTS, PARTS, st.just("stopped"), st.just("heard")), max_size=25)


class Walk:
    """Drives a core as a shell would, and keeps what must hold."""

    def __init__(self) -> None:
        self.core = Realtime("offline")
        self.replies: list[str] = []
        self.stopping: list[str] = []
        self.listens: list[Listen] = []
        self.created: list[str] = []
        self.done: list[str] = []
        self.take(self.core.open())
        session = {"type": "realtime", "audio": {"input": {"turn_detection": None}}}
        self.take(self.core.receive({"type": "session.update", "session": session}))

    def step(self, step: Any) -> None:
        if step == "heard":
            for listen in self.listens:
                self.take(self.core.heard(listen.item, TranscriptDone("words")))
        elif step == "stopped":
            for reply in self.stopping:
                self.take(self.core.stopped(reply))
        elif isinstance(step, dict):
            items = [item.id for item in self.core.conversation] or ["none"]
            place = step.get("item_id")
            named = {"item_id": items[place % len(items)]} if isinstance(place, int) else {}
            self.take(self.core.receive(step | named))
        else:
            for reply in self.replies:
                self.take(self.core.said(reply, step))

    def take(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Order):
                self.replies.append(effect.response_id)
            elif isinstance(effect, Stop):
                self.stopping.append(effect.response_id)
            elif isinstance(effect, Listen):
                self.listens.append(effect)
        for event in events(effects):
            if event["type"] == "response.created" and event["response"]["conversation_id"]:
                self.created.append(event["response"]["id"])
            if event["type"] == "response.done" and event["response"]["conversation_id"]:
                self.done.append(event["response"]["id"])


@given(STEPS)
@examples(100)
def test_every_walk_keeps_the_protocol(steps: list[Any]) -> None:
    walk = Walk()
    for step in steps:
        walk.step(step)
        assert len(walk.created) - len(walk.done) in (0, 1)
    assert walk.done == walk.created[: len(walk.done)]
    assert len(set(walk.created)) == len(walk.created)
    ids = [item.id for item in walk.core.conversation]
    assert len(ids) == len(set(ids))
