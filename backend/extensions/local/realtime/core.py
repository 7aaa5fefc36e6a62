"""The Realtime conversation, pure: client events and a handler's parts in, server events and orders out.

No sockets, no clock, no asyncio. `receive` answers a client event; `partly_heard`, `heard` and `said` take what a
handler makes of the caller's audio and of a reply; `tick` gets the time. Each returns effects (`effects.py`), in
the order they must happen. One reply writes to the conversation at a time; from `Answer` to the `End` of its parts it
is the active one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from backend.extensions.local.realtime.conversation import Conversation
from backend.extensions.local.realtime.effects import (
    Abort,
    Answer,
    Discard,
    Effect,
    Effects,
    Feed,
    HangUp,
    Listen,
    Open,
    Send,
    SendText,
    Silenced,
    Stop,
)
from backend.extensions.local.realtime.faults import Fault, active_response, error_event, invalid, missing
from backend.extensions.local.realtime.fields import (
    mapping,
    metadata,
    one_of,
    only,
    required_text,
    sequence,
    text,
    whole,
)
from backend.extensions.local.realtime.ids import Ids
from backend.extensions.local.realtime.input_buffer import InputBuffer, decode_audio
from backend.extensions.local.realtime.items import Item, read_item
from backend.extensions.local.realtime.parts import (
    AskApproval,
    Audio,
    Begin,
    Call,
    Complain,
    Drop,
    End,
    Expire,
    Garble,
    HearingPart,
    NextMessage,
    Refuse,
    ReplyPart,
    ServerCall,
    ServerPart,
    ServerResult,
    Transcript,
    TranscriptDone,
    TranscriptFailed,
    Trouble,
    Words,
)
from backend.extensions.local.realtime.response import Event, Order, Response, directed
from backend.extensions.local.realtime.session import Session, modality, tools
from backend.extensions.local.realtime.turn_detection import TurnDetector, VoiceBegan, VoiceEnded, prefix_ms

CREATE_FIELDS = frozenset(
    (
        *("audio", "conversation", "input", "instructions", "max_output_tokens", "metadata", "output_modalities"),
        *("parallel_tool_calls", "prompt", "reasoning", "tool_choice", "tools"),
    )
)


@dataclass(slots=True)
class Knobs:
    """How the core itself can be made to misbehave, for tests of a client."""

    refuse_replies: int = 0
    """The next so many `response.create` are refused as if a reply were active."""
    empty_commits: int = 0
    """The next so many commits find an empty buffer."""
    expires_after_s: float = 3600.0
    """Seconds until `session_expired`."""


class Realtime:
    """One connection's conversation."""

    def __init__(self, model: str, *, connection: int = 1, now: float = 0.0, knobs: Knobs | None = None) -> None:
        self.ids = Ids(connection)
        self.knobs = knobs or Knobs()
        self.session = Session(self.ids.new("sess"), model)
        self.conversation = Conversation()
        self._expires_at = now + self.knobs.expires_after_s
        self._buffer = InputBuffer()
        self._detector: TurnDetector | None = TurnDetector(self.session.turn_detection or {})
        self._spoken_item = ""
        self._utterance = ""
        """The item that the utterance being appended will become; '' while there is none."""
        self._active: Response | None = None
        self._beside: dict[str, Response] = {}

    # --- what comes in ------------------------------------------------------------------------------

    def open(self) -> list[Effect]:
        """The connection stands."""
        return self._stamped([Send({"type": "session.created", "session": self.session.shown()})])

    def receive(self, event: Any) -> list[Effect]:
        """Carry out a client event. A wrong one is answered with an `error` event that names its `event_id`."""
        effects: list[Effect] = []
        given_id = event.get("event_id") if isinstance(event, dict) else None
        event_id = given_id if isinstance(given_id, str) else None
        try:
            effects.extend(self._handle(event, event_id))
        except Fault as fault:
            effects.append(Send(_complaint(fault, event_id)))
        return self._stamped(effects)

    def malformed(self, why: str) -> list[Effect]:
        """A message that is not a JSON object."""
        return self._stamped([Send(error_event(why, code="invalid_json"))])

    def partly_heard(self, item_id: str, part: Transcript) -> list[Effect]:
        """Tell some of the words of the utterance that is to become item `item_id`, as streaming transcription does."""
        if item_id != self._utterance or not self.session.transcribes:
            return []
        return self._stamped([Send(_transcript_delta(item_id, part.delta))])

    def heard(self, item: Item, part: HearingPart) -> list[Effect]:
        """A piece of the transcript of user item `item`."""
        return self._stamped(self._heard(item, part))

    def said(self, response_id: str, part: ReplyPart) -> list[Effect]:
        """A piece of a reply. Parts for a response that is over are dropped."""
        response = self._response(response_id)
        if response is None:
            return []
        return self._stamped(self._said(response, part))

    def stopped(self, response_id: str) -> list[Effect]:
        """A cancelled reply's maker has stopped."""
        return self.said(response_id, End())

    def trouble(self, part: Trouble) -> list[Effect]:
        """Something goes wrong that belongs to no reply."""
        return self._stamped(self._trouble(part))

    def tick(self, now: float) -> list[Effect]:
        """Expire when the session's time is up."""
        if now < self._expires_at:
            return []
        self._expires_at = float("inf")
        return self.trouble(Expire())

    @property
    def deadline(self) -> float:
        """When `tick` has something to do."""
        return self._expires_at

    def __repr__(self) -> str:
        return f"<Realtime {self.conversation} {self._buffer} active={self._active}>"

    # --- client events ------------------------------------------------------------------------------

    def _handle(self, event: Any, event_id: str | None) -> Iterable[Effect]:
        if not isinstance(event, dict):
            raise Fault("Expected a JSON object.", code="invalid_json")
        kind = required_text(event, "type")
        handler = HANDLERS.get(kind)
        if handler is None:
            known = ", ".join(repr(each) for each in HANDLERS)
            raise Fault(f"Invalid value: '{kind}'. Supported values are: {known}.", code="invalid_value", param="type")
        return handler(self, event, event_id)

    def _session_update(self, event: Event, _event_id: str | None) -> Effects:
        if "session" not in event:
            raise missing("session")
        before = self.session.turn_detection
        self.session.update(event["session"])
        if self.session.turn_detection != before:
            detection = self.session.turn_detection
            self._detector = TurnDetector(detection) if detection else None
        yield Send({"type": "session.updated", "session": self.session.shown()})

    def _append(self, event: Event, _event_id: str | None) -> Effects:
        pcm = decode_audio(required_text(event, "audio"))
        self._buffer.append(pcm)
        if self._detector is None:
            yield from self._feed()
            return
        for change in self._detector.feed(pcm):
            yield from self._voice_began(change) if isinstance(change, VoiceBegan) else self._voice_ended(change)
        if self._detector.speaking:
            yield from self._feed()
        else:
            self._buffer.keep_last(prefix_ms(self.session.turn_detection or {}))

    def _feed(self) -> Effects:
        if not self._utterance:
            self._utterance = self._spoken_item or self.ids.new("item")
            yield Open(self._utterance)
        if pcm := self._buffer.unfed():
            yield Feed(pcm)

    def _voice_began(self, change: VoiceBegan) -> Effects:
        detection = self.session.turn_detection or {}
        self._spoken_item = self.ids.new("item")
        start_ms = max(0, change.at_ms - prefix_ms(detection))
        yield Send(
            {"type": "input_audio_buffer.speech_started", "audio_start_ms": start_ms, "item_id": self._spoken_item}
        )
        if detection["interrupt_response"] and self._active and not self._active.cancelled:
            yield from self._cancel(self._active, "turn_detected")

    def _voice_ended(self, change: VoiceEnded) -> Effects:
        item_id, self._spoken_item = self._spoken_item, ""
        yield Send({"type": "input_audio_buffer.speech_stopped", "audio_end_ms": change.at_ms, "item_id": item_id})
        yield from self._take_turn(item_id)
        if (self.session.turn_detection or {})["create_response"] and not self._active:
            yield self._answer({}, None)

    def _commit(self, event: Event, _event_id: str | None) -> Effects:
        if self.knobs.empty_commits > 0:
            self.knobs.empty_commits -= 1
            self._buffer.clear()
        yield from self._take_turn(self._utterance or self.ids.new("item"))

    def _take_turn(self, item_id: str) -> Effects:
        fed = self._buffer.fed
        pcm = self._buffer.take()
        if not self._utterance:
            yield Open(item_id)
        if rest := pcm[fed:]:
            yield Feed(rest)
        self._utterance = ""
        item = Item(item_id, "message", role="user", kind="input_audio", audio_bytes=len(pcm))
        previous = self.conversation.append(item)
        yield Send({"type": "input_audio_buffer.committed", "previous_item_id": previous, "item_id": item_id})
        yield from self._item_events(item, previous)
        yield Listen(item, pcm)

    def _clear(self, event: Event, _event_id: str | None) -> Effects:
        self._buffer.clear()
        if self._utterance:
            self._utterance = ""
            yield Discard()
        yield Send({"type": "input_audio_buffer.cleared"})

    def _item_create(self, event: Event, _event_id: str | None) -> Effects:
        if "item" not in event:
            raise missing("item")
        item = read_item(event["item"], self.ids.new("item"))
        after = event.get("previous_item_id")
        previous = self.conversation.insert(item, text(after, "previous_item_id") if after is not None else None)
        yield from self._item_events(item, previous)

    def _item_events(self, item: Item, previous: str | None) -> Effects:
        yield Send({"type": "conversation.item.added", "previous_item_id": previous, "item": item.shown()})
        yield Send({"type": "conversation.item.done", "previous_item_id": previous, "item": item.shown()})

    def _item_retrieve(self, event: Event, _event_id: str | None) -> Effects:
        item = self.conversation.find(required_text(event, "item_id"))
        yield Send({"type": "conversation.item.retrieved", "item": item.shown()})

    def _item_truncate(self, event: Event, _event_id: str | None) -> Effects:
        item = self.conversation.find(required_text(event, "item_id"))
        if "content_index" not in event:
            raise missing("content_index")
        if whole(event["content_index"], "content_index") != 0:
            raise invalid("content_index", "the item has one content part, at index 0.")
        if "audio_end_ms" not in event:
            raise missing("audio_end_ms")
        end_ms = whole(event["audio_end_ms"], "audio_end_ms")
        item.truncate(end_ms)
        yield Silenced()
        yield Send(
            {"type": "conversation.item.truncated", "item_id": item.id, "content_index": 0, "audio_end_ms": end_ms}
        )

    def _item_delete(self, event: Event, _event_id: str | None) -> Effects:
        item_id = required_text(event, "item_id")
        self.conversation.remove(item_id)
        yield Send({"type": "conversation.item.deleted", "item_id": item_id})

    def _response_create(self, event: Event, event_id: str | None) -> Effects:
        wanted = dict(mapping(event.get("response") or {}, "response"))
        only(wanted, CREATE_FIELDS, "response.")
        if one_of(wanted.get("conversation", "auto"), ["auto", "none"], "response.conversation") == "auto":
            if self._active:
                raise active_response(self._active.id)
            if self.knobs.refuse_replies > 0:
                self.knobs.refuse_replies -= 1
                raise active_response(self.ids.new("resp"))
        yield self._answer(wanted, event_id)

    def _answer(self, wanted: Event, event_id: str | None) -> Answer:
        response = Response(self._order(wanted, event_id), self.ids, self.conversation)
        if response.order.out_of_band:
            self._beside[response.id] = response
        else:
            self._active = response
        return Answer(response.order)

    def _order(self, wanted: Event, event_id: str | None) -> Order:
        session = self.session
        own_input, modalities, offered = wanted.get("input"), wanted.get("output_modalities"), wanted.get("tools")
        instructions = text(wanted.get("instructions") or session.instructions, "response.instructions")
        items = tuple(self.conversation) if own_input is None else self._own_input(own_input)
        items, instructions = directed(items, instructions)
        return Order(
            response_id=self.ids.new("resp"),
            event_id=event_id,
            items=items,
            instructions=instructions,
            tools=tuple(session.tools if offered is None else tools(offered, "response.tools")),
            tool_choice=wanted.get("tool_choice", session.tool_choice),
            modality=session.modality if modalities is None else modality(modalities, "response.output_modalities"),
            voice=session.voice,
            metadata=metadata(wanted.get("metadata"), "response.metadata"),
            out_of_band=wanted.get("conversation") == "none",
            speed=session.speed,
        )

    def _own_input(self, given: Any) -> tuple[Item, ...]:
        """Items made for one reply only, or references to items of the conversation."""
        return tuple(
            self.conversation.find(required_text(item, "id", "response.input."))
            if isinstance(item, dict) and item.get("type") == "item_reference"
            else read_item(item, self.ids.new("item"))
            for item in sequence(given, "response.input")
        )

    def _response_cancel(self, event: Event, _event_id: str | None) -> Effects:
        named = event.get("response_id")
        response = self._active if named is None else self._response(text(named, "response_id"))
        if response is None or response.cancelled:
            raise Fault("Cancellation failed: no active response found", code="response_cancel_not_active")
        yield from self._cancel(response, "client_cancelled")

    def _cancel(self, response: Response, why: str) -> Effects:
        response.cancelled = why
        yield Stop(response.id)

    # --- what a handler makes of it -----------------------------------------------------------------

    def _heard(self, item: Item, part: HearingPart) -> Effects:
        kind = "conversation.item.input_audio_transcription."
        at = {"item_id": item.id, "content_index": 0}
        match part:
            case Transcript(delta):
                if self.session.transcribes:
                    yield Send(_transcript_delta(item.id, delta))
            case TranscriptDone(words, certainty):
                item.words, item.transcribed = words, True
                if self.session.transcribes:
                    spent = {"type": "duration", "seconds": round(item.audio_ms / 1000, 3)}
                    done = {"type": kind + "completed", "transcript": words, "usage": spent, **at}
                    if self.session.gives_logprobs:
                        done["logprobs"] = _logprobs(words, certainty)
                    yield Send(done)
            case TranscriptFailed(code, message):
                if self.session.transcribes:
                    why = {"type": "transcription_error", "code": code, "message": message, "param": None}
                    yield Send({"type": kind + "failed", "error": why, **at})
            case Complain() | Expire() | Drop() | Garble():
                yield from self._trouble(part)

    def _said(self, response: Response, part: ReplyPart) -> Effects:
        match part:
            case Refuse(code, message, kind):
                self._forget(response)
                yield Send(error_event(message, code=code, kind=kind, client_event_id=response.order.event_id))
            case Complain() | Expire() | Drop() | Garble():
                yield from self._trouble(part)
            case _:
                for event in self._events(response, part):
                    yield Send(event)

    def _events(
        self, response: Response, part: Begin | Words | Audio | NextMessage | Call | ServerPart | End
    ) -> Iterator[Event]:
        match part:
            case Begin():
                yield from response.begin()
            case Words(delta, starts_ms):
                yield from response.words(delta, starts_ms)
            case Audio(pcm):
                self.session.spoken = True
                yield from response.audio(pcm)
            case NextMessage():
                yield from response.next_message()
            case Call(name, arguments):
                yield from response.call(name, arguments)
            case ServerCall(server, name, arguments):
                yield from response.server_call(server, name, arguments)
            case ServerResult(output, error):
                yield from response.server_result(output, error)
            case AskApproval(server, name, arguments):
                yield from response.ask_approval(server, name, arguments)
            case End(status, details, rate_limits):
                if rate_limits:
                    yield {"type": "rate_limits.updated", "rate_limits": rate_limits}
                yield from response.end(status, details)
                self._forget(response)

    def _trouble(self, part: Trouble) -> Effects:
        match part:
            case Complain(code, message, kind, fatal):
                yield Send(error_event(message, code=code, kind=kind))
                if fatal:
                    yield HangUp(4000, code)
            case Expire():
                message = "Your session hit the maximum duration of 60 minutes."
                yield Send(error_event(message, code="session_expired"))
                yield HangUp(1001, "session_expired")
            case Drop():
                yield Abort()
            case Garble(text):
                yield SendText(text)

    def _response(self, response_id: str) -> Response | None:
        if self._active and self._active.id == response_id:
            return self._active
        return self._beside.get(response_id)

    def _forget(self, response: Response) -> None:
        if self._active is response:
            self._active = None
        self._beside.pop(response.id, None)

    def _stamped(self, effects: Iterable[Effect]) -> list[Effect]:
        """Run the effects' generators to their end, giving each event its id."""
        done: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Send):
                effect = Send({"event_id": self.ids.new("event"), **effect.event})
            done.append(effect)
        return done


def _transcript_delta(item_id: str, delta: str) -> Event:
    kind = "conversation.item.input_audio_transcription.delta"
    return {"type": kind, "item_id": item_id, "content_index": 0, "delta": delta}


def _complaint(fault: Fault, event_id: str | None) -> Event:
    return error_event(str(fault), code=fault.code, kind=fault.kind, param=fault.param, client_event_id=event_id)


HANDLERS: dict[str, Callable[[Realtime, Event, str | None], Iterable[Effect]]] = {
    "session.update": Realtime._session_update,
    "input_audio_buffer.append": Realtime._append,
    "input_audio_buffer.commit": Realtime._commit,
    "input_audio_buffer.clear": Realtime._clear,
    "conversation.item.create": Realtime._item_create,
    "conversation.item.retrieve": Realtime._item_retrieve,
    "conversation.item.truncate": Realtime._item_truncate,
    "conversation.item.delete": Realtime._item_delete,
    "response.create": Realtime._response_create,
    "response.cancel": Realtime._response_cancel,
}


def _logprobs(words: str, least: float) -> list[dict[str, Any]]:
    """Return an entry for each word; the recognizer only says how certain the least certain of them is."""
    return [{"token": word, "bytes": [*word.encode()], "logprob": round(least, 4)} for word in words.split()]
