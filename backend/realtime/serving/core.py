"""The Realtime conversation, pure: client events and a handler's parts in, server events and orders out.

No sockets, no clock, no asyncio. `receive` answers a client event; `partly_heard`, `heard` and `said` take the parts of
transcripts and replies that a handler makes. Each returns effects (`effects.py`) in the order in which they must occur.
One reply at a time writes to the conversation; from its `Order` to its `End` it is the active one.
"""

from collections.abc import Callable, Iterable
from typing import Any

from backend.realtime.client_events import checked
from backend.realtime.conversation import Conversation
from backend.realtime.events import audio_committed, heard_for, item_put_in, transcription, truncated
from backend.realtime.faults import (
    EXPIRED,
    Fault,
    active_response,
    error_event,
    invalid,
    not_json,
    nothing_to_cancel,
)
from backend.realtime.fields import picture
from backend.realtime.ids import random_id
from backend.realtime.items import Item, directed, read_item, reference_of
from backend.realtime.response import Event
from backend.realtime.serving.effects import (
    Abort,
    CloseConnection,
    Discard,
    Effect,
    Effects,
    Feed,
    Listen,
    Open,
    Order,
    Send,
    SendText,
    Silenced,
    Stop,
)
from backend.realtime.serving.input_buffer import InputBuffer, decode_audio
from backend.realtime.serving.parts import (
    End,
    Expire,
    HearingPart,
    ReplyPart,
    ReplySound,
    TranscriptDone,
    TranscriptFailed,
    TranscriptGrew,
)
from backend.realtime.serving.reply_stream import ReplyStream
from backend.realtime.serving.turn_detection import PREFIX_MS, TurnDetector, VoiceBegan, VoiceEnded
from backend.realtime.session import RealtimeSession


class Realtime:
    """One connection's conversation."""

    def __init__(self, model: str) -> None:
        self.session = RealtimeSession(random_id("sess"), model)
        self.conversation = Conversation()
        self._buffer = InputBuffer()
        self._detector: TurnDetector | None = TurnDetector(self.session.turn_detection or {})
        self._spoken_item = ""
        self._utterance = ""
        """The item that the utterance being appended will become; '' while there is none."""
        self._active: ReplyStream | None = None
        self._beside: dict[str, ReplyStream] = {}

    # --- what comes in ------------------------------------------------------------------------------

    def open(self) -> list[Effect]:
        """Greet a client that has connected."""
        return self._stamped([Send({"type": "session.created", "session": self.session.shown()})])

    def receive(self, event: Any) -> list[Effect]:
        """Carry out a client event. A wrong one is answered with an `error` event that names its `event_id`."""
        effects: list[Effect] = []
        try:
            effects.extend(self._handle(event))
        except Fault as fault:
            effects.append(Send(fault.event(event)))
        return self._stamped(effects)

    def malformed(self, why: str) -> list[Effect]:
        """Answer a message that is not JSON."""
        return self._stamped([Send(not_json(why).event())])

    def partly_heard(self, item_id: str, part: TranscriptGrew) -> list[Effect]:
        """Send some words of the utterance that will become item `item_id`, as streaming transcription does."""
        if item_id != self._utterance or not self.session.transcribes:
            return []
        return self._stamped([Send(transcription("delta", item_id, delta=part.delta))])

    def heard(self, item: Item, part: HearingPart) -> list[Effect]:
        """Take a part of the transcript of user item `item`."""
        return self._stamped(self._heard(item, part))

    def said(self, response_id: str, part: ReplyPart) -> list[Effect]:
        """Take a part of a reply; parts for a response that is over are dropped."""
        response = self._response(response_id)
        if response is None:
            return []
        return self._stamped(self._said(response, part))

    def stopped(self, response_id: str) -> list[Effect]:
        """Note that the handler has stopped making a cancelled reply."""
        return self.said(response_id, End())

    # --- client events ------------------------------------------------------------------------------

    def _handle(self, event: Any) -> Iterable[Effect]:
        kind, fields = checked(event, HANDLERS)
        return HANDLERS[kind](self, fields)

    def _session_update(self, event: Event) -> Effects:
        before = self.session.turn_detection
        self.session.update(event["session"])
        if self.session.turn_detection != before:
            detection = self.session.turn_detection
            self._detector = TurnDetector(detection) if detection else None
        yield Send({"type": "session.updated", "session": self.session.shown()})

    def _append(self, event: Event) -> Effects:
        pcm = decode_audio(event["audio"])
        self._buffer.append(pcm)
        if self._detector is None:
            yield from self._feed()
            return
        for change in self._detector.feed(pcm):
            yield from self._voice_began(change) if isinstance(change, VoiceBegan) else self._voice_ended(change)
        if self._detector.speaking:
            yield from self._feed()
        else:
            self._buffer.keep_last(PREFIX_MS)

    def _feed(self) -> Effects:
        if not self._utterance:
            self._utterance = self._spoken_item or random_id("item")
            yield Open(self._utterance)
        if pcm := self._buffer.unfed():
            yield Feed(pcm)

    def _voice_began(self, change: VoiceBegan) -> Effects:
        detection = self.session.turn_detection or {}
        self._spoken_item = random_id("item")
        start_ms = max(0, change.at_ms - PREFIX_MS)
        yield Send(
            {"type": "input_audio_buffer.speech_started", "audio_start_ms": start_ms, "item_id": self._spoken_item}
        )
        if detection["interrupt_response"] and self._active and not self._active.cancelled:
            yield from self._cancel(self._active, "turn_detected")  # once: a cancelled reply may still be sending

    def _voice_ended(self, change: VoiceEnded) -> Effects:
        item_id, self._spoken_item = self._spoken_item, ""
        yield Send({"type": "input_audio_buffer.speech_stopped", "audio_end_ms": change.at_ms, "item_id": item_id})
        yield from self._take_turn(item_id)
        if (self.session.turn_detection or {})["create_response"] and not self._active:
            yield self._answer({})

    def _commit(self, event: Event) -> Effects:
        yield from self._take_turn(self._utterance or random_id("item"))

    def _take_turn(self, item_id: str) -> Effects:
        rest, audio_bytes = self._buffer.take()
        if not self._utterance:
            yield Open(item_id)
        if rest:
            yield Feed(rest)
        self._utterance = ""
        item = Item(item_id, "message", role="user", kind="input_audio", audio_bytes=audio_bytes)
        yield from map(Send, audio_committed(item, self.conversation.append(item)))
        yield Listen(item)

    def _clear(self, event: Event) -> Effects:
        self._buffer.clear()
        if self._utterance:
            self._utterance = ""
            yield Discard()
        yield Send({"type": "input_audio_buffer.cleared"})

    def _item_create(self, event: Event) -> Effects:
        item = read_item(event["item"], random_id("item"))
        if item.has_audio:
            raise invalid("item.content", "audio cannot be put in here.")
        for at, url in item.pictures:
            picture(url, f"item.content[{at}].image_url")
        self.conversation.check_answers(item)
        yield from map(Send, item_put_in(item, self.conversation.append(item)))

    def _item_truncate(self, event: Event) -> Effects:
        item, end_ms = self.conversation.find(event["item_id"], "truncate"), event["audio_end_ms"]
        if event["content_index"]:
            raise invalid("content_index", "the item has one content part, at index 0.")
        item.truncate(end_ms)
        yield Silenced()
        yield Send(truncated(item.id, end_ms))

    def _item_delete(self, event: Event) -> Effects:
        item = self.conversation.find(event["item_id"], "delete")
        self.conversation.remove(item)
        yield Send({"type": "conversation.item.deleted", "item_id": item.id})

    def _response_create(self, event: Event) -> Effects:
        wanted = self.session.read_response(event.get("response"))
        if wanted.get("conversation") != "none" and self._active:
            raise active_response(self._active.id)
        yield self._answer(wanted)

    def _answer(self, wanted: Event) -> Order:
        response = ReplyStream(self._order(wanted), self.conversation)
        if response.order.out_of_band:
            self._beside[response.id] = response
        else:
            self._active = response
        return response.order

    def _order(self, wanted: Event) -> Order:
        session = self.session
        items = self._own_input(wanted["input"]) if "input" in wanted else tuple(self.conversation)
        items, instructions = directed(items, wanted.get("instructions") or session.instructions)
        return Order(
            response_id=random_id("resp"),
            items=items,
            instructions=instructions,
            tools=tuple(wanted.get("tools", session.tools)),
            tool_choice=wanted.get("tool_choice", session.tool_choice),
            modality=wanted.get("output_modalities", [session.modality])[0],
            voice=session.voice,
            metadata=wanted.get("metadata"),
            out_of_band=wanted.get("conversation") == "none",
            speed=session.speed,
        )

    def _own_input(self, given: list[Any]) -> tuple[Item, ...]:
        """Return items made for one reply only, or references to items of the conversation."""
        return tuple(
            self.conversation.referred(named, f"response.input[{at}].id")
            if (named := reference_of(item, f"response.input[{at}]"))
            else read_item(item, random_id("item"), f"response.input[{at}]")
            for at, item in enumerate(given)
        )

    def _response_cancel(self, event: Event) -> Effects:
        named = event.get("response_id")
        response = self._active if named is None else self._response(named)
        if response is None or response.cancelled:
            raise nothing_to_cancel()
        yield from self._cancel(response, "client_cancelled")

    def _cancel(self, response: ReplyStream, why: str) -> Effects:
        response.cancelled = why
        yield Stop(response.id)

    # --- what a handler makes of it -----------------------------------------------------------------

    def _heard(self, item: Item, part: HearingPart) -> Effects:
        match part:
            case TranscriptGrew(delta):
                if self.session.transcribes:
                    yield Send(transcription("delta", item.id, delta=delta))
            case TranscriptDone(words, certainty):
                item.words, item.transcribed = words, True
                if self.session.transcribes:
                    sure = {"logprobs": _logprobs(words, certainty)} if self.session.gives_logprobs else {}
                    spent = heard_for(round(item.audio_ms / 1000, 3))
                    yield Send(transcription("completed", item.id, transcript=words, usage=spent, **sure))
            case TranscriptFailed(code, message):
                if self.session.transcribes:
                    why = {"type": "transcription_error", "code": code, "message": message, "param": None}
                    yield Send(transcription("failed", item.id, error=why))

    def _said(self, response: ReplyStream, part: ReplyPart) -> Effects:
        match part:
            case Expire():
                message = "Your session hit the maximum duration of 60 minutes."
                yield Send(error_event(message, code=EXPIRED))
                yield CloseConnection(1001, "session_expired")
            case Abort() | SendText():
                yield part
            case _:
                self.session.begun = self.session.begun or isinstance(part, ReplySound)
                yield from map(Send, response.take(part))
                if isinstance(part, End):
                    self._forget(response)

    def _response(self, response_id: str) -> ReplyStream | None:
        if self._active and self._active.id == response_id:
            return self._active
        return self._beside.get(response_id)

    def _forget(self, response: ReplyStream) -> None:
        if self._active is response:
            self._active = None
        self._beside.pop(response.id, None)

    def _stamped(self, effects: Iterable[Effect]) -> list[Effect]:
        """Run the effects' generators to their end, giving each event its id."""
        done: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Send):
                effect = Send({"event_id": random_id("event"), **effect.event})
            done.append(effect)
        return done


HANDLERS: dict[str, Callable[[Realtime, Event], Iterable[Effect]]] = {
    "session.update": Realtime._session_update,
    "input_audio_buffer.append": Realtime._append,
    "input_audio_buffer.commit": Realtime._commit,
    "input_audio_buffer.clear": Realtime._clear,
    "conversation.item.create": Realtime._item_create,
    "conversation.item.truncate": Realtime._item_truncate,
    "conversation.item.delete": Realtime._item_delete,
    "response.create": Realtime._response_create,
    "response.cancel": Realtime._response_cancel,
}


def _logprobs(words: str, least: float) -> list[dict[str, Any]]:
    """Return an entry for each word; the recognizer reports only the certainty of the least certain one."""
    return [{"token": word, "bytes": [*word.encode()], "logprob": round(least, 4)} for word in words.split()]
