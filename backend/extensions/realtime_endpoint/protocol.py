"""One client of the Realtime protocol: its events are carried out on the call, and the call's steps are sent to it.

What carries the text (a WebSocket, a data channel) and the audio stands outside: it calls `receive` and `follow`, and
is given each server event by `send`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from backend.errors import CallerError, VoiceError
from backend.extensions.realtime_endpoint.client_events import APPEND, ClientFault, audio_of, parse
from backend.extensions.realtime_endpoint.items import ItemList
from backend.extensions.realtime_endpoint.out_of_band import OutOfBand
from backend.extensions.realtime_endpoint.responses import new_id
from backend.extensions.realtime_endpoint.server_events import CallTranslator
from backend.extensions.realtime_endpoint.session import RealtimeSession
from backend.media.frame import milliseconds
from backend.media.pictures import checked_picture
from backend.runtime.json_objects import Json
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.call_options import CallOptions

COMMIT_LEAST_MS = 100
"""Milliseconds of audio that a turn needs that a client hands in."""
TEXT_LIMIT = 64_000
"""Characters of a message, or of a tool's output."""
PICTURES_LIMIT = 4
"""Pictures of one message."""
ACTIVE = "conversation_already_has_active_response"
DUPLICATE = "item_create_duplicate_item_id"
IN_CONVERSATION = {
    "input": "it is for responses outside of the conversation",
    "tools": "set them in the session",
    "prompt": "set instructions",
}
"""Fields of a `response.create` that a response within the conversation cannot have, and what to do instead."""
LIMITS: Mapping[str, tuple[str, str]] = {
    "max_minutes": ("session_expired", "Your session hit the maximum duration."),
    "budget": ("insufficient_quota", "You exceeded your current quota."),
    "responder_gone": ("responder_unavailable", "The Responder cannot be reached."),
    "responder_refused": ("responder_unavailable", "The Responder cannot be reached."),
}
"""Reasons for a call's end that its client gets as an `error` event."""


Send = Callable[[Json], None]
"""Sends an event to one program."""


class CallControl(Protocol):
    """The call, as its client acts on it."""

    def choose(self, options: CallOptions) -> None:
        """Go on with these options."""

    def submit(self, event: ev.Event) -> None:
        """Take what the client has decided."""

    def correct(self, command: do.TruncateItem | do.DeleteItem | do.CancelReply) -> None:
        """Tell the Responder what the client knows better. Raises `BadRequest` where it cannot forget an item."""

    def allow_interruptions(self, allowed: bool) -> None:
        """Set whether the caller's voice interrupts replies."""


class AudioInput(Protocol):
    """What takes the audio of `input_audio_buffer.append`."""

    def append(self, audio: bytes) -> int:
        """Take audio in the session's format; return how many bytes of 24 kHz PCM16 it is."""

    def drop(self) -> None:
        """Forget what is not passed on yet."""


class ClientProtocol:
    """The protocol's side of one call."""

    def __init__(self, session: RealtimeSession, send: Send, audio: AudioInput | None) -> None:
        """`audio` is None where the caller's audio does not come by events."""
        self.session = session
        self._listeners = [send]
        self._audio = audio
        self.control: CallControl | None = None
        """The call, once it runs."""
        self.on_update: Callable[[], None] = lambda: None
        """Called when the session has changed."""
        self.on_ready: Callable[[], None] = lambda: None
        """Called when the client has configured its session, or begun without: the Responder may be connected."""
        self.items = ItemList()
        self.out_of_band = OutOfBand(self.items)
        self.heard_bytes = 0
        """24 kHz PCM16 that has come from the client."""
        self._uncommitted_ms = 0
        self._early: list[ev.Event] = []
        self.translator = CallTranslator(
            self.items,
            new_id("conv"),
            audio=self._output_audio,
            is_client_tool=lambda name: self.session.options.is_client_tool(name),
            heard_ms=lambda: milliseconds(self.heard_bytes),
        )
        self.translator.buffers = audio is None
        self._adapt()

    def __repr__(self) -> str:
        return f"ClientProtocol({self.session!r}, {self.translator!r})"

    def begin(self) -> None:
        """Greet the client."""
        self.send({"type": "session.created", "session": self.session.shown()})

    def join(self, send: Send) -> None:
        """Send another program the events from now on, too, after greeting it."""
        send(_stamped({"type": "session.created", "session": self.session.shown()}))
        self._listeners.append(send)

    def leave(self, send: Send) -> None:
        """Send that program nothing any more."""
        self._listeners.remove(send)

    @property
    def programs(self) -> int:
        """How many are sent the events."""
        return len(self._listeners)

    def count_audio(self, byte_count: int) -> None:
        """Note that so much 24 kHz PCM16 has come from the client."""
        self.heard_bytes += byte_count
        self._uncommitted_ms += milliseconds(byte_count)

    def attach(self, control: CallControl) -> None:
        """Act on the call from now on; what was decided before it ran is carried out now."""
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
        for send in tuple(self._listeners):
            send(stamped)

    def follow(self, event: ev.Event | None, commands: Sequence[do.Command]) -> None:
        """Tell the client of one step of the call."""
        for each in self.translator.step(event, commands):
            self.send(each)
        if isinstance(event, ev.OutOfBandProgress | ev.OutOfBandRefused) and (shown := self._out_of_band(event)):
            self.send(shown)
        for command in commands:
            if isinstance(command, do.CommitInput):
                self._uncommitted_ms = 0
            elif isinstance(command, do.HangUp) and command.reason in LIMITS:
                code, message = LIMITS[command.reason]
                self._send_error(message, code, kind="server_error")

    def receive(self, text: str | bytes, answer: Send | None = None) -> None:
        """Carry out a client event; one that cannot be is answered with an `error` event, and the session goes on.

        `answer` sends the error to the sender of the event, if that is one who has joined.
        """
        event_id = None
        try:
            event, fields = parse(text)
            event_id = event.event_id
            if event.type == APPEND:
                self._append(audio_of(event.audio))
            else:
                HANDLERS[event.type](self, fields)
                self.on_ready()
        except ClientFault as fault:
            event_id = event_id or fault.event_id
            self._send_error(str(fault), fault.code, param=fault.param, event_id=event_id, answer=answer)
        except VoiceError as error:
            self._send_error(f"{error} {error.hint}".strip(), "invalid_value", event_id=event_id, answer=answer)

    def refuse_binary(self) -> None:
        """Answer a message that is no text."""
        self.send(binary_refusal())

    def report_too_large(self, kind: str) -> None:
        """Tell the client of an event that is larger than what it takes."""
        self._send_error(f"A {kind} event was larger than your data channel takes.", "event_too_large")

    def _send_error(
        self,
        message: str,
        code: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        event_id: str | None = None,
        answer: Send | None = None,
    ) -> None:
        (answer or self.send)(error_event(message, code, kind=kind, param=param, event_id=event_id))

    def _submit(self, event: ev.Event) -> None:
        if self.control is None:
            self._early.append(event)
        else:
            self.control.submit(event)

    def _output_audio(self) -> Json:
        output = self.session.shown()["audio"]["output"]
        return {"format": output["format"], "voice": output["voice"]}

    def _adapt(self) -> None:
        translator, session = self.translator, self.session
        translator.modality = "text" if session.modality == "text" else "audio"
        translator.paced = session.paced
        translator.transcribes = session.transcribes

    def _out_of_band(self, event: ev.OutOfBandProgress | ev.OutOfBandRefused) -> Json | None:
        if isinstance(event, ev.OutOfBandProgress):
            return self.out_of_band.on_progress(event)
        return self.out_of_band.on_refused(event)

    # --- client events --------------------------------------------------------------------------------------

    def _on_session_update(self, fields: Json) -> None:
        interruptions = self.session.interruptions
        self.session.update(fields["session"])
        self._adapt()
        if self.control is not None:
            self.control.choose(self.session.options)
            if self.session.interruptions is not interruptions:
                self.control.allow_interruptions(self.session.interruptions)
        self.on_update()
        self.send({"type": "session.updated", "session": self.session.shown()})

    def _append(self, audio: bytes) -> None:
        if self._audio is None:
            raise ClientFault("This call's audio comes over WebRTC.", code="invalid_event")
        taken = self._audio.append(audio)
        self.count_audio(taken)
        if taken:
            self.on_ready()

    def _on_commit(self, fields: Json) -> None:
        if self._uncommitted_ms < COMMIT_LEAST_MS:
            raise ClientFault(
                f"Error committing input audio buffer: buffer too small. Expected at least {COMMIT_LEAST_MS}ms of "
                f"audio, but buffer only has {self._uncommitted_ms}ms of audio.",
                code="input_audio_buffer_commit_empty",
            )
        self._uncommitted_ms = 0
        self._submit(ev.InputHandedIn() if self.session.turn_detection is None else ev.InputCommitWanted())

    def _on_clear(self, fields: Json) -> None:
        self._uncommitted_ms = 0
        if self._audio is not None:
            self._audio.drop()
        self._submit(ev.InputDropped())
        self.send({"type": "input_audio_buffer.cleared"})

    def _on_item_create(self, fields: Json) -> None:
        item: Json = dict(fields["item"])
        item_id = item.get("id") or new_id("item")
        if self.items.find(item_id) is not None:
            raise ClientFault(f"There is an item {item_id!r} already.", code=DUPLICATE, param="item.id")
        event = _event_of(item | {"id": item_id})
        previous = self.items.last
        item |= {"id": item_id, "object": "realtime.item", "status": "completed"}
        if isinstance(event, ev.MessageAdded) and event.pictures:
            item["content"] = [_without_picture(part) for part in item["content"]]
        self.items.add(item)
        self.send({"type": "conversation.item.added", "previous_item_id": previous, "item": item})
        if event is not None:
            self._submit(event)
        self.send({"type": "conversation.item.done", "previous_item_id": previous, "item": item})

    def _on_item_retrieve(self, fields: Json) -> None:
        self.send({"type": "conversation.item.retrieved", "item": self._item(fields, "retrieve")})

    def _on_item_delete(self, fields: Json) -> None:
        item = self._item(fields, "delete")
        if item.get("type") != "message":
            raise ClientFault("Only messages can be deleted: calls and their results belong together.", param="item_id")
        if self.control is not None:
            self.control.correct(do.DeleteItem(self.translator.provider_id(item["id"])))
        self.items.delete(item["id"])
        self.send({"type": "conversation.item.deleted", "item_id": item["id"]})

    def _on_item_truncate(self, fields: Json) -> None:
        item, heard_ms = self._item(fields, "truncate"), fields["audio_end_ms"]
        if item.get("role") != "assistant":
            raise ClientFault("Only model output audio messages can be truncated.", param="item_id")
        if heard_ms < 0:
            raise ClientFault("'audio_end_ms' must not be negative.", param="audio_end_ms")
        if self.items.truncate(item["id"], heard_ms) and self.control is not None:
            self.control.correct(do.TruncateItem(self.translator.provider_id(item["id"]), heard_ms))
        self.send(
            {
                "type": "conversation.item.truncated",
                "item_id": item["id"],
                "content_index": 0,
                "audio_end_ms": heard_ms,
            }
        )

    def _on_response_create(self, fields: Json) -> None:
        asked: Json = fields.get("response") or {}
        if asked.get("conversation") == "none":
            self._submit(self.out_of_band.ask(asked, fields.get("event_id"), self.session, self._named_there))
            return
        for name, instead in IN_CONVERSATION.items():
            if asked.get(name):
                raise ClientFault(f"'response.{name}' is not supported here: {instead}.", param=f"response.{name}")
        if self.translator.is_replying:
            raise ClientFault("Conversation already has an active response in progress.", code=ACTIVE)
        self.translator.metadata = asked.get("metadata")
        self._submit(ev.ReplyRequested(asked.get("instructions") or ""))

    def _on_response_cancel(self, fields: Json) -> None:
        named = fields.get("response_id")
        if named and self.control is not None and self.out_of_band.is_under_way(named):
            self.control.correct(do.CancelReply(named))
            return
        if not self.translator.is_busy:
            raise ClientFault("Cancellation failed: no active response found", code="response_cancel_not_active")
        self._call_off()

    def _on_output_clear(self, fields: Json) -> None:
        if self._audio is not None:
            raise ClientFault("'output_audio_buffer.clear' is for calls over WebRTC: your client plays the audio here.")
        if self.translator.is_busy:
            self._call_off()

    def _call_off(self) -> None:
        self.translator.cut_by = "client_cancelled"
        try:
            self._submit(ev.ReplyCalledOff())
        finally:
            self.translator.cut_by = "turn_detected"

    def _named_there(self, item: Json) -> str | None:
        """Return the Responder's name of an item that it has made; None for another."""
        return self.translator.provider_id(item["id"]) if _is_the_providers(item) else None

    def _item(self, fields: Json, what: Literal["retrieve", "delete", "truncate"]) -> Json:
        item = self.items.find(fields["item_id"])
        if item is None:
            message = f"Item with item_id not found: {fields['item_id'][:64]}."
            raise ClientFault(message, code=f"item_{what}_invalid_item_id", param="item_id")
        return item


HANDLERS: Mapping[str, Callable[[ClientProtocol, Json], None]] = {
    "session.update": ClientProtocol._on_session_update,
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
"""What is done about each client event; `input_audio_buffer.append` has a way of its own."""


def error_event(
    message: str,
    code: str,
    *,
    kind: str = "invalid_request_error",
    param: str | None = None,
    event_id: str | None = None,
) -> Json:
    """Return an `error` event; `event_id` is that of the client event it is about."""
    error = {"type": kind, "code": code, "message": message, "param": param, "event_id": event_id}
    return _stamped({"type": "error", "error": error})


def binary_refusal() -> Json:
    """Return the answer to a message that is no text."""
    return error_event("Events are JSON text: audio is sent in base64, in input_audio_buffer.append.", "invalid_event")


def _stamped(event: Json) -> Json:
    return {"event_id": new_id("event"), **event}


def _event_of(item: Json) -> ev.Event | None:
    """Return what an item of the client's means for the call; None: nothing. Raises `ClientFault`."""
    match item.get("type"):
        case "message":
            return _message_of(item)
        case "function_call_output":
            output = item.get("output")
            text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
            return ev.ToolAnswered(item["call_id"], _short(text, "item.output"))
        case "function_call":
            words = f"{item.get('name')}({item.get('arguments')})"
            return ev.MessageAdded(
                "system", f"Earlier in this conversation you called the tool {_short(words, 'item')}"
            )
        case kind:
            raise ClientFault(f"Items of the type {str(kind)[:64]!r} are not supported.", param="item.type")


def _message_of(item: Json) -> ev.MessageAdded:
    """Return a message with its words and pictures; a recording counts by its transcript."""
    words, pictures = list[str](), list[str]()
    for number, part in enumerate(item.get("content") or ()):
        if part.get("type") == "input_image":
            pictures.append(_picture(part, f"item.content[{number}].image_url"))
            continue
        text: Any = part.get("text") or part.get("transcript")
        if not text:
            hint = "audio is taken by input_audio_buffer.append, and in messages by its transcript"
            raise ClientFault(f"'item.content[{number}]' has no text: {hint}.", param=f"item.content[{number}]")
        words.append(text)
    if not words and not pictures:
        raise ClientFault("The message is empty.", code="missing_required_parameter", param="item.content")
    if len(pictures) > PICTURES_LIMIT:
        raise ClientFault(f"A message has at most {PICTURES_LIMIT} pictures.", param="item.content")
    return ev.MessageAdded(item["role"], _short("\n".join(words), "item.content"), tuple(pictures), item["id"])


def _picture(part: Json, param: str) -> str:
    try:
        return checked_picture(part.get("image_url") or "")
    except CallerError as error:
        raise ClientFault(f"{error} {error.hint}", param=param) from None


def _without_picture(part: Json) -> Json:
    """Return a part of a message as it is shown again: a picture is passed on, and not kept."""
    return {name: value for name, value in part.items() if name != "image_url"}


def _short(text: str, param: str) -> str:
    if len(text) > TEXT_LIMIT:
        raise ClientFault(f"'{param}' is longer than {TEXT_LIMIT} characters.", param=param)
    return text


def _is_the_providers(item: Json) -> bool:
    """Return whether the Responder knows the item by a name that we know."""
    return bool(item.get("type") == "message" and item["content"] and item["content"][0].get("type") in _MADE_THERE)


_MADE_THERE = frozenset({"input_audio", "output_audio", "output_text"})
