"""The server's side of the Realtime protocol in one call: client events act on the call, and its steps are reported.

The transport of text (a WebSocket, a data channel) and audio is outside. It calls `receive` and `follow`, and gets
each server event through `send`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from backend.errors import VoiceError
from backend.extensions.realtime_endpoint.out_of_band import OutOfBand
from backend.extensions.realtime_endpoint.server_events import CallTranslator, shorten
from backend.media.frame import milliseconds
from backend.realtime.client_events import checked
from backend.realtime.conversation import Conversation
from backend.realtime.events import item_put_in, truncated
from backend.realtime.faults import (
    EXPIRED,
    Fault,
    active_response,
    error_event,
    invalid,
    no_event,
    not_json,
    nothing_to_cancel,
    nothing_to_commit,
)
from backend.realtime.fields import MIN_COMMIT_MS, audio_of, picture
from backend.realtime.ids import random_id
from backend.realtime.items import Item, read_item
from backend.runtime.json_objects import Json
from backend.sessions.client_session import ClientSession
from backend.sessions.session import LiveCall
from backend.sessions.sideband import Send
from backend.turns import commands as do
from backend.turns import events as ev

APPEND = "input_audio_buffer.append"
ITEMS_LIMIT = 1_000
"""The most items that are remembered; the oldest are forgotten first."""
TEXT_LIMIT = 64_000
"""Characters of a message, or of a tool's output."""
PICTURES_LIMIT = 4
"""Pictures of one message."""
IN_CONVERSATION = {
    "input": "it is for responses outside of the conversation",
    "tools": "set them in the session",
    "prompt": "set instructions",
}
"""Fields of a `response.create` that a response within the conversation cannot have, and what to do instead."""
LIMITS: Mapping[str, tuple[str, str]] = {
    "max_minutes": (EXPIRED, "Your session hit the maximum duration."),
    "budget": ("insufficient_quota", "You exceeded your current quota."),
    "responder_gone": ("responder_unavailable", "The Responder cannot be reached."),
    "responder_refused": ("responder_unavailable", "The Responder cannot be reached."),
}
"""Reasons for a call's end that its client gets as an `error` event."""


class AudioReceiver(Protocol):
    """The receiver of the audio of `input_audio_buffer.append`."""

    def append(self, audio: bytes) -> int:
        """Take audio in the session's format; return its length as bytes of 24 kHz PCM16."""

    def drop(self) -> None:
        """Drop audio that was not passed on yet."""


class ClientProtocol:
    """The protocol's side of one call."""

    def __init__(self, session: ClientSession, send: Send, audio: AudioReceiver | None) -> None:
        """`audio` is None where the caller's audio does not come by events."""
        self.session = session
        self._observers = [send]
        self._audio = audio
        self.control: LiveCall | None = None
        """The call, once it runs."""
        self.on_update: Callable[[], None] = lambda: None
        """Called when the session has changed."""
        self.on_ready: Callable[[], None] = lambda: None
        """Called once the client has configured its session, or begun without doing so. Then the Responder connects."""
        self._items = Conversation(ITEMS_LIMIT)
        self._out_of_band = OutOfBand(self._items)
        self.heard_bytes = 0
        """Bytes of 24 kHz PCM16 that have come from the client."""
        self._uncommitted_ms = 0
        self._early: list[ev.Event] = []
        self.translator = CallTranslator(
            session, self._items, lambda: milliseconds(self.heard_bytes), buffers=audio is None
        )

    def begin(self) -> None:
        """Send the client `session.created`."""
        self.send({"type": "session.created", "session": self.session.shown()})

    def join(self, send: Send) -> None:
        """Send `session.created` to another program, and then all events."""
        send(_stamped({"type": "session.created", "session": self.session.shown()}))
        self._observers.append(send)

    def leave(self, send: Send) -> None:
        """Stop sending events to that program."""
        self._observers.remove(send)

    @property
    def programs(self) -> int:
        """Return the number of other programs that get the events."""
        return len(self._observers)

    def count_audio(self, byte_count: int) -> None:
        """Count bytes of 24 kHz PCM16 that have come from the client."""
        self.heard_bytes += byte_count
        self._uncommitted_ms += milliseconds(byte_count)

    def attach(self, control: LiveCall) -> None:
        """Act on the call from now on, beginning with the events that came before it."""
        self.control = control
        control.choose(self.session.options)
        if not self.session.interruptions:
            control.allow_interruptions(False)
        early, self._early = self._early, []
        for event in early:
            control.submit(event)

    def send(self, event: Json) -> None:
        """Send a server event under an id of its own."""
        stamped = _stamped(event)
        for send in tuple(self._observers):
            send(stamped)

    def follow(self, event: ev.Event | None, commands: Sequence[do.Command]) -> None:
        """Report one step of the call to the client."""
        for each in self.translator.step(event, commands):
            self.send(each)
        if shown := self._out_of_band.shown(event):
            self.send(shown)
        for command in commands:
            if isinstance(command, do.CommitInput):
                self._uncommitted_ms = 0
            elif isinstance(command, do.HangUp) and command.reason in LIMITS:
                code, message = LIMITS[command.reason]
                self.send(error_event(message, code=code, kind="server_error"))

    def receive(self, text: str | bytes, answer: Send | None = None) -> None:
        """Carry out a client event. An `error` event answers a wrong one, and the session goes on.

        `answer` sends the error to a joined program, if that program sent the event.
        """
        event = None
        try:
            event = _decoded(text)
            kind, fields = checked(event, HANDLERS)
            HANDLERS[kind](self, fields)
            if kind != APPEND or self.heard_bytes:  # the first audio may be empty
                self.on_ready()
        except Fault as fault:
            (answer or self.send)(_stamped(fault.event(event)))
        except VoiceError as error:
            refusal = Fault(f"{error} {error.hint}".strip(), code="invalid_value")
            (answer or self.send)(_stamped(refusal.event(event)))

    def report_too_large(self, kind: str) -> None:
        """Report to the client that an event was too large for it."""
        self.send(error_event(f"A {kind} event was larger than your data channel takes.", code="event_too_large"))

    def _submit(self, event: ev.Event) -> None:
        if self.control is None:
            self._early.append(event)
        else:
            self.control.submit(event)

    # --- client events ------------------------------------------------------------------------------------------

    def _on_session_update(self, fields: Json) -> None:
        interruptions = self.session.interruptions
        self.session.update(fields["session"])
        if self.control is not None:
            self.control.choose(self.session.options)
            if self.session.interruptions is not interruptions:
                self.control.allow_interruptions(self.session.interruptions)
        self.on_update()
        self.send({"type": "session.updated", "session": self.session.shown()})

    def _on_append(self, fields: Json) -> None:
        audio = audio_of(fields["audio"])
        if self._audio is None:
            raise no_event("This call's audio comes over WebRTC.")
        self.count_audio(self._audio.append(audio))

    def _on_commit(self, fields: Json) -> None:
        if self._uncommitted_ms < MIN_COMMIT_MS:
            raise nothing_to_commit(MIN_COMMIT_MS, self._uncommitted_ms)
        self._uncommitted_ms = 0
        self._submit(ev.InputHandedIn() if self.session.turn_detection is None else ev.InputCommitWanted())

    def _on_clear(self, fields: Json) -> None:
        self._uncommitted_ms = 0
        if self._audio is not None:
            self._audio.drop()
        self._submit(ev.InputDropped())
        self.send({"type": "input_audio_buffer.cleared"})

    def _on_item_create(self, fields: Json) -> None:
        item = read_item(fields["item"], random_id("item"))
        event = _event_of(item)
        item.without_pictures()
        for shown in item_put_in(item, self._items.append(item)):
            self.send(shown)
        self._submit(event)

    def _on_item_retrieve(self, fields: Json) -> None:
        item = self._items.find(fields["item_id"], "retrieve")
        self.send({"type": "conversation.item.retrieved", "item": item.shown()})

    def _on_item_delete(self, fields: Json) -> None:
        item = self._items.find(fields["item_id"], "delete")
        if item.type != "message":
            raise invalid("item_id", "only messages can be deleted: calls and their results belong together.")
        if self.control is not None:
            self.control.correct(do.DeleteItem(self.translator.provider_id(item.id)))
        self._items.remove(item)
        self.send({"type": "conversation.item.deleted", "item_id": item.id})

    def _on_item_truncate(self, fields: Json) -> None:
        heard_ms = fields["audio_end_ms"]
        if fields["item_id"] in self.translator.deleted:  # It had not sounded, and the deletion crossed this event.
            self.send(truncated(fields["item_id"], heard_ms))
            return
        item = self._items.find(fields["item_id"], "truncate")
        if item.role != "assistant":
            raise invalid("item_id", "Only model output audio messages can be truncated.")
        if shorten(item, heard_ms) and self.control is not None:
            self.control.correct(do.TruncateItem(self.translator.provider_id(item.id), heard_ms))
        self.send(truncated(item.id, heard_ms))

    def _on_response_create(self, fields: Json) -> None:
        asked = self.session.read_response(fields.get("response"))
        if asked.get("conversation") == "none":
            self._submit(self._out_of_band.ask(asked, fields.get("event_id"), self.session, self._named_there))
            return
        for name, instead in IN_CONVERSATION.items():
            if asked.get(name):
                raise invalid(f"response.{name}", f"it is not supported here: {instead}.")
        if self.translator.is_replying:
            raise active_response()
        self.translator.metadata = asked.get("metadata")
        self._submit(ev.ReplyRequested(asked.get("instructions") or ""))

    def _on_response_cancel(self, fields: Json) -> None:
        named = fields.get("response_id")
        if named and self.control is not None and self._out_of_band.is_under_way(named):  # the reply goes on
            self.control.correct(do.CancelReply(named))
            return
        if not self.translator.is_busy:
            raise nothing_to_cancel()
        self._call_off()

    def _on_output_clear(self, fields: Json) -> None:
        if self._audio is not None:
            message = "'output_audio_buffer.clear' is for calls over WebRTC: your client plays the audio here."
            raise Fault(message, code="invalid_value")
        if self.translator.is_busy:
            self._call_off()

    def _call_off(self) -> None:
        self.translator.cut_by = "client_cancelled"
        try:
            self._submit(ev.ReplyCalledOff())
        finally:
            self.translator.cut_by = "turn_detected"

    def _named_there(self, item: Item) -> str | None:
        """Return the Responder's id of an item that the Responder made; None for other items."""
        is_theirs = item.type == "message" and item.kind in _MADE_THERE
        return self.translator.provider_id(item.id) if is_theirs else None


HANDLERS: Mapping[str, Callable[[ClientProtocol, Json], None]] = {
    "session.update": ClientProtocol._on_session_update,
    APPEND: ClientProtocol._on_append,
    "input_audio_buffer.commit": ClientProtocol._on_commit,
    "input_audio_buffer.clear": ClientProtocol._on_clear,
    "conversation.item.create": ClientProtocol._on_item_create,
    "conversation.item.retrieve": ClientProtocol._on_item_retrieve,
    "conversation.item.delete": ClientProtocol._on_item_delete,
    "conversation.item.truncate": ClientProtocol._on_item_truncate,
    "response.create": ClientProtocol._on_response_create,
    "response.cancel": ClientProtocol._on_response_cancel,
    "output_audio_buffer.clear": ClientProtocol._on_output_clear,
}
"""The handler of each client event."""


def _decoded(text: str | bytes) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise not_json("Events are JSON text: audio is sent in base64, in input_audio_buffer.append.") from None


def refused(error: VoiceError, code: str, kind: str) -> Json:
    """Return an `error` event with the content of `error`."""
    return _stamped(error_event(f"{error} {error.hint}".strip(), code=code, kind=kind))


def _stamped(event: Json) -> Json:
    return {"event_id": random_id("event"), **event}


def _event_of(item: Item) -> ev.Event:
    """Return the event that adds a client's item to the call. Raises `Fault`."""
    match item.type:
        case "message":
            return _message_of(item)
        case "function_call_output":
            return ev.ToolAnswered(item.call_id, _short(item.output, "item.output"))
        case "function_call":
            words = _short(f"{item.name}({item.arguments})", "item")
            return ev.MessageAdded("system", f"Earlier in this conversation you called the tool {words}")
        case kind:
            raise invalid("item.type", f"items of the type {kind!r} are not supported.")


def _message_of(item: Item) -> ev.MessageAdded:
    """Return a message with its words and pictures; audio counts by its transcript."""
    for number, part in enumerate(item.parts):
        if part["type"] != "input_image" and not (part.get("text") or part.get("transcript")):
            why = "it has no text: audio is taken by input_audio_buffer.append, and in messages by its transcript."
            raise invalid(f"item.content[{number}]", why)
    pictures = tuple(picture(url, f"item.content[{at}].image_url") for at, url in item.pictures)
    if len(pictures) > PICTURES_LIMIT:
        raise invalid("item.content", f"a message has at most {PICTURES_LIMIT} pictures.")
    assert item.role is not None, "a message has a role"
    return ev.MessageAdded(item.role, _short(item.words, "item.content"), pictures, item.id)


def _short(text: str, param: str) -> str:
    if len(text) > TEXT_LIMIT:
        raise invalid(param, f"it is longer than {TEXT_LIMIT} characters.")
    return text


_MADE_THERE = frozenset({"input_audio", "output_audio", "output_text"})
"""Kinds of messages for which we know the Responder's id."""
