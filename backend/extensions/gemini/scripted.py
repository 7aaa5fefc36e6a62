"""A scripted peer for Gemini's Live API on one connection. A wrong message ends the connection with code 1007.

The tests of this extension play the parts of the API that outlive a connection.
"""

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any

from backend.extensions.gemini.schema import WrongMessage, parse
from backend.media.resample import Resampler
from backend.realtime.serving.core import Realtime
from backend.realtime.serving.effects import CloseConnection, Effect, Send
from backend.realtime.serving.parts import ReplyPart

INVALID = 1007
Event = dict[str, Any]


class GeminiRealtime(Realtime):
    """A conversation by the Live API's rules, made of the Realtime API's events."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._set_up = False
        self._in_activity = False
        self._audio_bytes = 0
        self._resampler = Resampler(16_000, 24_000)
        self._open_calls: set[str] = set()
        self._wants_reply = False

    def receive(self, event: Any) -> list[Effect]:
        """Carry out a client message, or hang up with its fault as the reason."""
        try:
            events = [*self._as_ours(parse(json.dumps(event)))]
        except WrongMessage as error:
            return [CloseConnection(INVALID, str(error)[:120])]
        return [effect for each in events for effect in super(GeminiRealtime, self).receive(each)]

    def _as_ours(self, message: Event) -> Iterator[Event]:
        [(kind, content)] = message.items()
        if (kind == "setup") is self._set_up:
            raise WrongMessage("A setup is the first message, and no other")
        match kind:
            case "setup":
                self._set_up = True
                yield _session(content)
            case "clientContent":
                yield from self._sent(content)
            case "toolResponse":
                yield from self._results(content["functionResponses"])
            case "realtimeInput":
                yield from self._listened(content)

    def _sent(self, content: Event) -> Iterator[Event]:
        yield from self._interrupted()
        yield from ({"type": "conversation.item.create", "item": _message(turn)} for turn in content.get("turns", ()))
        if content.get("turnComplete"):
            yield from self._replied()

    def _results(self, results: list[Event]) -> Iterator[Event]:
        for each in results:
            if each["id"] not in self._open_calls:
                raise WrongMessage(f"No open call is {each['id']}")
            self._open_calls.remove(each["id"])
            item = {"type": "function_call_output", "call_id": each["id"], "output": json.dumps(each["response"])}
            yield {"type": "conversation.item.create", "item": item}

    def _listened(self, given: Event) -> Iterator[Event]:
        starts, ends = "activityStart" in given, "activityEnd" in given
        if starts is self._in_activity:
            raise WrongMessage("Activities begin and end in turn, and audio is within one")
        if starts:
            self._in_activity, self._audio_bytes = True, 0
            yield from self._interrupted()
        if "audio" in given:
            heard = base64.b64decode(given["audio"]["data"])
            self._audio_bytes += len(heard)
            pcm = self._resampler.push(heard)
            yield {"type": "input_audio_buffer.append", "audio": base64.b64encode(pcm).decode()}
        if ends:
            if not self._audio_bytes:
                raise WrongMessage("No turn to complete")
            self._in_activity = False
            rest, self._resampler = self._resampler.flush(), Resampler(16_000, 24_000)
            yield {"type": "input_audio_buffer.append", "audio": base64.b64encode(rest).decode()}
            yield {"type": "input_audio_buffer.commit"}
            yield from self._replied()

    def _interrupted(self) -> Iterator[Event]:
        self._wants_reply = False
        if self._active and not self._active.cancelled:
            yield {"type": "response.cancel"}

    def _replied(self) -> Iterator[Event]:
        """Begin a reply once the interrupted one has ended."""
        self._wants_reply = self._active is not None
        if not self._wants_reply:
            yield {"type": "response.create"}

    def said(self, response_id: str, part: ReplyPart) -> list[Effect]:
        """Return the effects of a part of a reply."""
        effects = super().said(response_id, part)
        if self._wants_reply and self._active is None:
            self._wants_reply = False
            effects += super().receive({"type": "response.create"})
        return effects

    def _stamped(self, effects: Iterable[Effect]) -> list[Effect]:
        sent: list[Effect] = []
        for effect in super()._stamped(effects):
            if not isinstance(effect, Send):
                sent.append(effect)
            elif effect.event["type"] == "error" and effect.event["error"]["code"] != "session_expired":
                sent.append(CloseConnection(INVALID, effect.event["error"]["message"][:120]))
            else:
                sent += map(Send, self._as_theirs(effect.event))
        return sent

    def _as_theirs(self, event: Event) -> Iterator[Event]:
        """Return a server event in this API's form; most events have none."""
        match event["type"]:
            case "session.updated":
                yield {"setupComplete": {}}
            case "conversation.item.input_audio_transcription.delta":
                yield {"serverContent": {"inputTranscription": {"text": event["delta"]}}}
            case "response.output_audio_transcript.delta":
                yield {"serverContent": {"outputTranscription": {"text": event["delta"]}}}
            case "response.output_audio.delta":
                sound = {"mimeType": "audio/pcm;rate=24000", "data": event["delta"]}
                yield {"serverContent": {"modelTurn": {"parts": [{"inlineData": sound}]}}}
            case "response.done":
                yield from self._ended(event["response"])
            case "error":
                yield {"goAway": {"timeLeft": "0s"}}

    def _ended(self, response: Event) -> Iterator[Event]:
        calls = [item for item in response.get("output") or () if item["type"] == "function_call"]
        if calls:
            self._open_calls.update(call["call_id"] for call in calls)
            called = [
                {"id": call["call_id"], "name": call["name"], "args": json.loads(call["arguments"])} for call in calls
            ]
            yield {"toolCall": {"functionCalls": called}}
        end = "interrupted" if response["status"] == "cancelled" else "generationComplete"
        yield {"serverContent": {end: True}}
        yield {"serverContent": {"turnComplete": True}, "usageMetadata": _usage(response.get("usage") or {})}


def _session(setup: Event) -> Event:
    declared = [each for tool in setup.get("tools", ()) for each in tool["functionDeclarations"]]
    tools = [
        {
            "type": "function",
            "name": each["name"],
            "description": each["description"],
            "parameters": each["parametersJsonSchema"],
        }
        for each in declared
    ]
    instructions = "".join(part["text"] for part in setup["systemInstruction"]["parts"])
    hearing = {"turn_detection": None, "transcription": {"model": "gemini"}}
    session = {"type": "realtime", "instructions": instructions, "tools": tools, "audio": {"input": hearing}}
    return {"type": "session.update", "session": session}


def _message(turn: Event) -> Event:
    role, kind = ("assistant", "output_text") if turn["role"] == "model" else ("user", "input_text")
    return {"type": "message", "role": role, "content": [_part(part, kind) for part in turn["parts"]]}


def _part(part: Event, kind: str) -> Event:
    if picture := part.get("inlineData"):
        return {"type": "input_image", "image_url": f"data:{picture['mimeType']};base64,{picture['data']}"}
    return {"type": kind, "text": part["text"]}


def _usage(used: Event) -> Event:
    def details(side: str) -> list[Event]:
        kinds = used.get(f"{side}_token_details") or {}
        return [{"modality": kind.upper(), "tokenCount": kinds.get(f"{kind}_tokens", 0)} for kind in ("text", "audio")]

    return {
        "promptTokenCount": used.get("input_tokens", 0),
        "responseTokenCount": used.get("output_tokens", 0),
        "promptTokensDetails": details("input"),
        "responseTokensDetails": details("output"),
    }


PEERS = {"gemini": GeminiRealtime}
