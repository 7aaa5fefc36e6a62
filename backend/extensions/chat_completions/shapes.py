"""The answers of `/v1/chat/completions`: a reply as a whole, or as chunks while it is written.

A chunk that was sent cannot be taken back. If the steps after the turn add to the end of the answer, the addition is
sent; if they rewrite the answer, the new one is sent whole, after an empty line.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from backend.chat.turn import ChatReply
from backend.page_events import ChatStateChanged, TokenGenerated
from backend.runtime.json_objects import Json
from backend.sessions.event_log import name_of

DONE = b"data: [DONE]\n\n"
"""The event that ends a stream."""


def encode(chunks: Iterable[Json]) -> bytes:
    """Return chunks as server-sent events."""
    return b"".join(b"data: %b\n\n" % msgspec.json.encode(chunk) for chunk in chunks)


@dataclass(slots=True)
class Shape:
    """The shape of one answer: it turns the reply, or the events of the turn, into the API's objects."""

    id: str
    model: str
    """The name of the model in the client's request."""
    one_call: bool = False
    """The client takes one call at a time."""
    with_usage: bool = False
    """A stream ends with the tokens that were used."""
    created: int = field(default_factory=lambda: int(time.time()))
    _round: str = ""
    """The words that were sent since the model was last asked."""
    _apart: bool = False
    """Words of an earlier round were sent."""

    def whole(self, reply: ChatReply) -> Json:
        """Return the reply as one object."""
        calls = self._calls(reply.client_calls)
        message: Json = {"role": "assistant", "content": reply.text or None, "refusal": None}
        message["annotations"] = sources(reply)
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": finish_reason(reply), "logprobs": None}
        shown: Json = {**self._head("chat.completion"), "choices": [choice], "usage": usage(reply)}
        return shown | _kept(reply)

    def begin(self) -> Json:
        """Return the first chunk."""
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def on_event(self, type_: str, data: Mapping[str, Any]) -> list[Json]:
        """Return the chunks for an event of the running turn."""
        if type_ == name_of(ChatStateChanged) and data["state"] == "tool_calling":
            self._apart, self._round = self._apart or bool(self._round.strip()), ""
        if type_ != name_of(TokenGenerated):
            return []
        words = str(data["text"])
        apart = "\n\n" if self._apart and not self._round else ""
        self._round += words
        return [self._chunk({"content": apart + words})]

    def end(self, reply: ChatReply) -> list[Json]:
        """Return the last chunks."""
        chunks = [self._chunk({"content": rest})] if (rest := self._rest(reply.text)) else []
        calls = self._calls(reply.client_calls)
        if calls:
            chunks.append(self._chunk({"tool_calls": [{"index": n, **call} for n, call in enumerate(calls)]}))
        delta = {"annotations": found} if (found := sources(reply)) else {}
        chunks.append(self._chunk(delta, finish_reason(reply)) | _kept(reply))
        if self.with_usage:
            chunks.append({**self._head("chat.completion.chunk"), "choices": [], "usage": usage(reply)})
        return chunks

    def _rest(self, text: str) -> str:
        """Return the part of the answer `text` that is still to be sent."""
        sent = self._round.strip()
        if not sent:
            return f"\n\n{text}" if text and self._apart else text
        if sent in text:
            return text.partition(sent)[2]
        return f"\n\n{text}"

    def _calls(self, calls: Sequence[Any]) -> list[Json]:
        shown: list[Json] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
        return shown[:1] if self.one_call else shown

    def _head(self, kind: str) -> Json:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _chunk(self, delta: Json, reason: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        usage_then: Json = {"usage": None} if self.with_usage else {}
        return {**self._head("chat.completion.chunk"), "choices": [choice], **usage_then}


def finish_reason(reply: ChatReply) -> str:
    """Return the API's word for the reason why the answer ended."""
    if reply.client_calls:
        return "tool_calls"
    return "length" if reply.incomplete or reply.state == "cancelled" else "stop"


def usage(reply: ChatReply) -> Json:
    """Return the tokens of the conversation's model; the Thinkers' tokens count only towards the budgets."""
    return {
        "prompt_tokens": reply.tokens - reply.tokens_out,
        "completion_tokens": reply.tokens_out,
        "total_tokens": reply.tokens,
    }


def sources(reply: ChatReply) -> list[Json]:
    """Return the answer's sources that have an address; they belong to the answer as a whole."""
    end = len(reply.text)
    return [
        {
            "type": "url_citation",
            "url_citation": {"url": each.url, "title": each.title, "start_index": 0, "end_index": end},
        }
        for each in reply.citations
        if each.url
    ]


def _kept(reply: ChatReply) -> Json:
    """Return the ID of the conversation that keeps the exchange, if one does."""
    return {"metadata": {"conversation_id": reply.conversation_id}} if reply.conversation_id else {}
