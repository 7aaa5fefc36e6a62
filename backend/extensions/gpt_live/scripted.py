"""GPT-Live on one connection, by the `openai` package's types, made of the Realtime API's events.

The peer hears all the time and finds turns by itself. A call of the script's tools becomes a delegation, which has no
description. Appended commentary is spoken, and instructions are carried out if they say "now". While the peer says
nothing, it sends as much silence as it hears.
"""

import base64
from collections.abc import Iterable, Iterator
from typing import Any

from backend.extensions.gpt_live.schema import faults
from backend.realtime.ids import random_id
from backend.realtime.serving.core import Realtime
from backend.realtime.serving.effects import CloseConnection, Effect, Effects, Send
from backend.realtime.serving.parts import ReplyPart
from backend.realtime.serving.turn_detection import VoiceEnded
from backend.testing.offline.schema_checked import STRICT

Event = dict[str, Any]
BYTES_PER_MS = 48
TOOL = {"type": "function", "name": "route_to_thinker", "description": "Delegate.", "parameters": {"type": "object"}}
"""The tool that the dialogue behind it calls in order to delegate."""
LASTS_S = 7200
STUCK_MS = 1000
"""Milliseconds without sound during a reply after which a stuck reply gives way to the requested one."""


class LiveRealtime(Realtime):
    """A conversation by GPT-Live's rules."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._session_id = random_id("live")
        self._started = False
        self._heard_ms = 0
        self._delegated: set[str] = set()
        self._answered: set[str] = set()
        self._wants_reply = False
        self._sounded_at_ms = 0

    def receive(self, event: Any) -> list[Effect]:
        """Carry out a client event, or refuse it with an `error` event that says what is wrong with it."""
        if found := faults(event, started=self._started):
            return self._sent(_error(STRICT, "; ".join(found), event))
        delegation = event.get("delegation_id")
        if delegation is not None and delegation not in self._delegated:
            return self._sent(_error("unknown_delegation", f"No delegation is {delegation}.", event))
        effects: list[Effect] = []
        for each in self._as_ours(event):
            effects += super().receive(each)
        if event["type"] == "session.close":
            effects += [*self._sent(self._closed("close_requested")), CloseConnection(1000, "close_requested")]
        elif event["type"] == "session.input_audio.append" and not self._active:
            effects += self._sent({"type": "session.output_audio.delta", "delta": _silence(event["audio"])})
            effects += self._next_reply()  # the present one was cut off
        elif event["type"].endswith(".append") and "content" in event:
            at = {"start_ms": self._heard_ms, "end_ms": self._heard_ms}
            effects += self._sent({"type": f"{event['type']}ed", "client_event_id": event.get("event_id"), **at})
        return effects

    def _as_ours(self, event: Event) -> Iterator[Event]:
        match event["type"]:
            case "session.start":
                self._started = True
                self._resource = event["session"]
                yield _session(event["session"])
                for past in event["session"].get("input") or ():
                    yield {"type": "conversation.item.create", "item": {**past, "type": "message"}}
            case "session.input_audio.append":
                self._heard_ms += len(base64.b64decode(event["audio"])) // BYTES_PER_MS
                yield {"type": "input_audio_buffer.append", "audio": event["audio"]}
            case "session.thinking.append":
                yield _note(event["content"])
            case "session.instructions.append":
                yield _note(event["content"])
                if " now" in event["content"]:
                    yield from self._replied()
            case "session.commentary.append":
                yield self._result(event)
                yield from self._replied()

    def _result(self, event: Event) -> Event:
        """Return commentary as the result of the delegation it answers, the first time, or else as a note."""
        call = event["delegation_id"]
        if call is None or call in self._answered:
            return _note(event["content"])
        self._answered.add(call)
        item = {"type": "function_call_output", "call_id": call, "output": event["content"]}
        return {"type": "conversation.item.create", "item": item}

    def _replied(self) -> Iterator[Event]:
        """Speak once the present speech has ended."""
        if self._active and self._heard_ms - self._sounded_at_ms > STUCK_MS:
            yield {"type": "response.cancel"}
        self._wants_reply = self._active is not None
        if not self._wants_reply:
            yield {"type": "response.create"}

    def said(self, response_id: str, part: ReplyPart) -> list[Effect]:
        """Return the effects of a part of a reply."""
        return super().said(response_id, part) + self._next_reply()

    def _next_reply(self) -> list[Effect]:
        if not self._wants_reply or self._active is not None:
            return []
        self._wants_reply = False
        return super().receive({"type": "response.create"})

    def _voice_ended(self, change: VoiceEnded) -> Effects:
        """Answer the turn, if need be after the present speech."""
        yield from super()._voice_ended(change)
        self._wants_reply |= self._active is not None and bool(self._active.cancelled)

    def _sent(self, event: Event) -> list[Effect]:
        return [Send({"event_id": random_id("event"), **event})]

    def _stamped(self, effects: Iterable[Effect]) -> list[Effect]:
        sent: list[Effect] = []
        for effect in super()._stamped(effects):
            if isinstance(effect, Send):
                for event in self._as_theirs(effect.event):
                    sent += self._sent(event)
            else:
                sent.append(effect)
        return sent

    def _as_theirs(self, event: Event) -> Iterator[Event]:
        """Return a server event in this API's form; most events have none."""
        at = {"start_ms": max(0, self._heard_ms - 100), "end_ms": self._heard_ms}
        match event["type"]:
            case "session.updated":
                yield {"type": "session.started", "session": self._shown()}
            case "conversation.item.input_audio_transcription.delta":
                yield {"type": "session.input_transcript.delta", "delta": event["delta"], **at}
            case "response.output_audio_transcript.delta":
                yield {"type": "session.output_transcript.delta", "delta": event["delta"], **at}
            case "response.output_audio.delta":
                self._sounded_at_ms = self._heard_ms
                yield {"type": "session.output_audio.delta", "delta": event["delta"]}
            case "response.done":
                yield from self._delegations(event["response"])
            case "error" if event["error"]["code"] == "session_expired":
                yield self._closed("expired")
            case "error":
                yield _error(event["error"]["code"] or "error", event["error"]["message"], {})

    def _delegations(self, response: Event) -> Iterator[Event]:
        for item in response.get("output") or ():
            if item["type"] == "function_call":
                self._delegated.add(item["call_id"])
                work = {"id": item["call_id"], "type": "delegation", "target": "client"}
                yield {"type": "session.delegation.created", "delegation": work, "offset_ms": self._heard_ms}

    def _closed(self, reason: str) -> Event:
        usage = {"seconds": self._heard_ms / 1000}
        return {"type": "session.closed", "reason": reason, "session": self._shown(), "usage": usage}

    def _shown(self) -> Event:
        return {"id": self._session_id, "expires_at": LASTS_S, "status": "active", **self._resource}


def _session(given: Event) -> Event:
    detection = {"type": "server_vad", "silence_duration_ms": 300}
    hearing = {"turn_detection": detection, "transcription": {"model": given["model"]}}
    instructions = given.get("instructions") or ""
    session = {"type": "realtime", "instructions": instructions, "tools": [TOOL], "audio": {"input": hearing}}
    return {"type": "session.update", "session": session}


def _silence(audio: str) -> str:
    """Return silence of the same length as that sound."""
    return base64.b64encode(bytes(len(base64.b64decode(audio)))).decode()


def _note(text: str) -> Event:
    content = [{"type": "input_text", "text": text}]
    return {"type": "conversation.item.create", "item": {"type": "message", "role": "system", "content": content}}


def _error(code: str, message: str, event: Any) -> Event:
    client_event_id = event.get("event_id") if isinstance(event, dict) else None
    error = {"type": "invalid_request_error", "code": code, "message": message, "client_event_id": client_event_id}
    return {"type": "error", "error": error}


PEERS = {"gpt_live": LiveRealtime}
