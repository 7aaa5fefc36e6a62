"""The codec of the Realtime API's messages: commands of ours to text, text to events of ours. Pure.

Written against the GA protocol (`openai.types.realtime` has its types, against which the tests check every
message). Parsing goes through one `msgspec` structure instead of the SDK's typed models: an audio delta comes
in for every tenth of a second of speech, and this costs a tenth of what they do.
"""

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

import msgspec

from backend.errors import ResponderRejected, ResponderUnavailable
from backend.media.frame import milliseconds
from backend.realtime.faults import EXPIRED, NOTHING_TO_CANCEL, NOTHING_TO_COMMIT
from backend.realtime.fields import ITEM_ID_LIMIT
from backend.realtime.items import DIRECTION
from backend.realtime.session import LOGPROBS, PCM
from backend.responders.base import Briefing, Capabilities, PastMessage
from backend.responders.limits_and_usage import retry_after_s, usage_of
from backend.responders.openai_models import capabilities_of
from backend.runtime.json_objects import Json
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose, ResponderCommand
from backend.turns.events import ReplyStatus, ResponderEvent

FATAL = frozenset({"insufficient_quota", "invalid_api_key", "account_deactivated", "billing_hard_limit_reached"})
"""Error codes after which no connection of this key will work."""
BENIGN = frozenset({NOTHING_TO_CANCEL, NOTHING_TO_COMMIT})
"""Harmless races: both sides were right when they sent."""
QUIET_PURPOSES = frozenset({Purpose.NOTICE, Purpose.FILLER, Purpose.NUDGE, Purpose.GOODBYE, Purpose.GREETING})
"""The purposes of replies that must not call a tool."""
CALL_NOTHING = "Do not call a tool in this reply."
"""The instruction for them where a provider's schema has no `tool_choice`."""

OUT_OF_BAND = "out_of_band"
"""The purpose of responses outside of the conversation, and the beginning of their requests."""
TRUNCATION: Json = {"type": "retention_ratio", "retention_ratio": 0.8}
"""A conversation that grows too long is cut to this share, so that the cache holds for the replies that follow."""

APPEND = b'{"type":"input_audio_buffer.append","event_id":"e%d","audio":%b}'
sound_to_json = msgspec.json.Encoder().encode
"""Bytes as a JSON string of base64. It and its reverse take half as long as `binascii`, which also needs a copy."""
sound_of = msgspec.json.Decoder(bytes).decode
words_of = msgspec.json.Decoder(str).decode


class Voice(msgspec.Struct, frozen=True):
    """The model and voice asked of the provider, beside the briefing."""

    model: str
    name: str
    transcript_model: str
    effort: str = ""
    """The reasoning effort of a model that reasons; empty: the provider's default."""
    noise_reduction: str = ""
    """The provider's noise reduction, near_field or far_field; empty: none."""
    language: str = ""
    """The language of what callers say, in ISO 639-1, for the transcript; empty: it is recognized."""
    speed: float = 1.0
    """The speed of speech; 1 is the voice's own."""


SURE_MODELS = "gpt-4o"
"""The prefixes of the names of transcription models that report their certainty."""
UNSURE_BELOW = -0.8
"""The log-probability of its least certain token below which a transcript is doubtful. Of 263 sentences, read by three
voices in quiet and in noise and recognized by the local Responder, it finds 83 % of those with more than a tenth of
their words wrong, and 19 % of the others; the mean of the tokens tells less."""


class ServerEvent(msgspec.Struct):
    """The fields read of any server event; the rest is skipped while parsing."""

    type: str
    response_id: str = ""
    item_id: str = ""
    previous_item_id: str | None = None
    delta: msgspec.Raw = msgspec.Raw(b'""')
    """The field as raw JSON; the type of the event says what kind of string it is."""
    transcript: str = ""
    logprobs: list[Json] | None = None
    audio_start_ms: int = 0
    audio_end_ms: int = 0
    response: Json | None = None
    item: Json | None = None
    error: Json | None = None


class RealtimeCodec:
    """The codec of one connection, which numbers our events and knows when the caller's speech began."""

    def __init__(self, voice: Voice, capabilities: Capabilities | None = None) -> None:
        """`capabilities` are by default those of OpenAI's model of this name."""
        self._voice = voice
        self.capabilities = capabilities or capabilities_of(voice.model)
        self.briefing = Briefing("")
        """The newest briefing sent."""
        self.released: list[ResponderEvent] = []
        """Events to be reported before those of the next message; `encode` has released them."""
        self._ids = count(1)
        self._parse = msgspec.json.Decoder(ServerEvent).decode
        self._speech_began_ms = 0
        self._directing = ""  # the message that directs the newest reply
        self._sent_bytes = self._received_bytes = 0  # of audio, since the last reply ended
        self._out_of_band: dict[str, str] = {}
        """The responses outside of the conversation that are under way: id → request."""

    # --- ours to theirs --------------------------------------------------------------------------------

    def brief(self, briefing: Briefing, *, first: bool) -> bytes:
        """Return a `session.update`. The voice and formats are fixed by the first one; later ones change the rest."""
        self.briefing = briefing
        session: Json = {"type": "realtime", "instructions": briefing.instructions}
        if first:
            session |= {"model": self._voice.model, "output_modalities": ["audio"], "audio": self._audio(briefing)}
            session |= self._model_settings()
            if self.capabilities.tells_certainty and self._voice.transcript_model.startswith(SURE_MODELS):
                session["include"] = [LOGPROBS]
        tools = msgspec.to_builtins(briefing.tools)
        session |= {"tools": tools, "tool_choice": briefing.tool_choice if tools else "none"}
        return self._event("session.update", session=session)

    def restore(self, history: Sequence[PastMessage]) -> list[bytes]:
        """Return client events that put the history back, as text: assistant audio cannot be put back."""
        return [self._message(said.role, said.text) for said in history]

    def append(self, pcm: bytes | bytearray) -> bytes:
        """Return an `input_audio_buffer.append` of 24 kHz mono PCM16, by template: it runs every 200 ms."""
        self._sent_bytes += len(pcm)
        return APPEND % (next(self._ids), sound_to_json(pcm))

    def encode(self, command: ResponderCommand) -> bytes:
        """Return one command as one client event."""
        match command:
            case do.CommitInput():
                return self._event("input_audio_buffer.commit")
            case do.ClearInput():
                return self._event("input_audio_buffer.clear")
            case do.AddUserText(text, pictures, item):
                return self._user_message(text, pictures, item)
            case do.AddNote(text, item):
                return self._message("system", text, item)
            case do.CreateReply(purpose, request, hint):
                return self._event("response.create", event_id=request, response=self._reply(purpose, request, hint))
            case do.CreateOutOfBand(request, response):
                named = {"metadata": {"request": request, "purpose": OUT_OF_BAND}}
                return self._event("response.create", event_id=request, response={**response, **named})
            case do.CancelReply(None):
                return self._event("response.cancel")
            case do.CancelReply(reply):
                return self._event("response.cancel", response_id=reply)
            case do.TruncateItem(item, heard_ms, _):
                return self._event("conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=heard_ms)
            case do.DeleteItem(item):
                return self._event("conversation.item.delete", item_id=item)
            case do.SubmitResult(call, output):
                result = {"type": "function_call_output", "call_id": call, "output": output}
                return self._event("conversation.item.create", item=result)

    def messages(self, command: ResponderCommand) -> Sequence[bytes]:
        """Return a command as client events: one, unless a provider does it by itself or in several steps."""
        match command:
            case do.CreateReply(purpose, _, hint) if self.capabilities.caches:
                return [*self._direction(purpose, hint), self.encode(command)]
        return (self.encode(command),)

    def _direction(self, purpose: Purpose, hint: str) -> list[bytes]:
        """Return the directions for one reply; they replace earlier ones. They are a message at the end, since
        instructions of a reply would stand first, and nothing after them would be cached.
        """
        former, self._directing = self._directing, ""
        messages = [self._event("conversation.item.delete", item_id=former)] if former else []
        if extra := self._extra(purpose, hint):
            self._directing = f"{DIRECTION}{next(self._ids)}"
            messages.append(self._message("system", extra, self._directing))
        return messages

    def _extra(self, purpose: Purpose, hint: str) -> str:
        return f"{self.briefing.purposes.get(purpose, '')} {hint}".strip()

    def _event(self, type_: str, *, event_id: str | None = None, **fields: Any) -> bytes:
        return json.dumps({"type": type_, "event_id": event_id or f"e{next(self._ids)}", **fields}).encode()

    def _message(self, role: str, text: str, item: str = "") -> bytes:
        content = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        return self._item(role, [content], item)

    def _user_message(self, text: str, pictures: Sequence[str], item: str) -> bytes:
        content: list[Json] = [{"type": "input_image", "image_url": url} for url in pictures]
        if text:
            content.append({"type": "input_text", "text": text})
        return self._item("user", content, item)

    def _item(self, role: str, content: list[Json], item: str) -> bytes:
        named = {"id": item} if 0 < len(item) <= ITEM_ID_LIMIT and self.capabilities.truncates else {}
        message = {**named, "type": "message", "role": role, "content": content}
        return self._event("conversation.item.create", item=message)

    def _reply(self, purpose: Purpose, request: str, hint: str) -> Json:
        reply: Json = {"metadata": {"request": request, "purpose": purpose.value}}
        if not self.capabilities.caches and (extra := self._extra(purpose, hint)):
            # Instructions of a reply replace the session's, so they have to contain them.
            reply["instructions"] = f"{self.briefing.instructions}\n\n{extra}"
        if purpose in QUIET_PURPOSES:
            reply["tool_choice"] = "none"
        return reply

    def _model_settings(self) -> Json:
        """Return the requested settings that the model can follow; for the rest the provider's defaults hold."""
        voice = self._voice
        settings: Json = {}
        if self.capabilities.reasons and voice.effort:
            settings["reasoning"] = {"effort": voice.effort}
        if self.capabilities.parallel_calls:
            settings["parallel_tool_calls"] = True
        if self.capabilities.caches:
            settings["truncation"] = TRUNCATION
        return settings

    def _audio(self, briefing: Briefing) -> Json:
        # Only an explicit null switches the provider's own turn detection off; left out, it stays on.
        detection = None
        if briefing.endpointing == "provider":
            detection = {"type": "semantic_vad", "create_response": False, "interrupt_response": False}
        voice = self._voice
        language = {"language": voice.language} if voice.language else {}
        noise = {"noise_reduction": {"type": voice.noise_reduction}} if voice.noise_reduction else {}
        speed = self.capabilities.speed_of(briefing.speed, voice.speed)
        return {
            "input": {
                "format": PCM,
                "transcription": {"model": voice.transcript_model, **language},
                "turn_detection": detection,
                **noise,
            },
            "output": {
                "format": PCM,
                "voice": self.capabilities.voice_of(briefing.voice, voice.name),
                **({"speed": speed} if speed != 1.0 else {}),
            },
        }

    # --- theirs to ours --------------------------------------------------------------------------------

    def decode(self, text: str | bytes | bytearray | memoryview) -> list[ResponderEvent]:
        """Return the events of ours for one server event; none for unknown types.

        Raises `ResponderUnavailable` if the connection is over, `ResponderRejected` if another would not help.
        """
        try:
            event = self._parse(text)
            if (event.response or self._out_of_band) and (request := self._out_of_band_of(event)):
                return [self._progress(request, event, msgspec.json.decode(text))]
            return self._translate(event)
        except (msgspec.MsgspecError, ValueError, AttributeError, TypeError) as error:
            # An event that does not keep to the protocol is lost, but never the call.
            return [ev.ProviderComplained("unreadable_event", f"An event could not be read ({type(error).__name__}).")]

    def type_of(self, text: str | bytes) -> str:
        """Return the event's type, for the handshake. Raises as `decode` does."""
        event = self._parse(text)
        if event.type == "error":
            self._on_error(event.error or {})
            raise ResponderUnavailable(f"The Responder refused the session: {(event.error or {}).get('message')}")
        return event.type

    def _out_of_band_of(self, event: ServerEvent) -> str:
        """Return the request of the response outside of the conversation to which the event belongs; empty: none."""
        response = event.response or {}
        metadata = response.get("metadata") or {}
        if event.type == "response.created" and metadata.get("purpose") == OUT_OF_BAND:
            self._out_of_band[response.get("id", "")] = metadata.get("request", "")
        return self._out_of_band.get(event.response_id or response.get("id", ""), "")

    def _progress(self, request: str, event: ServerEvent, whole: Json) -> ev.OutOfBandProgress:
        finished = None
        if event.type == "response.done" and event.response is not None:
            self._out_of_band.pop(event.response.get("id", ""), None)
            (finished,) = (each for each in self._on_done(event.response) if isinstance(each, ev.ReplyFinished))
        return ev.OutOfBandProgress(request, whole, finished)

    def _translate(self, event: ServerEvent) -> list[ResponderEvent]:
        match event.type:
            case "response.output_audio.delta":
                pcm = sound_of(event.delta)
                self._received_bytes += len(pcm)
                return [ev.ReplyAudio(event.response_id, event.item_id, pcm)]
            case "response.output_audio_transcript.delta" | "response.output_text.delta":
                return [ev.ReplyText(event.response_id, event.item_id, words_of(event.delta))]
            case "response.created":
                response = event.response or {}
                metadata = response.get("metadata") or {}
                return [ev.ReplyStarted(response.get("id", ""), metadata.get("request"))]
            case "response.output_item.done":
                item = event.item or {}
                is_message = item.get("type") == "message"
                return [ev.MessageFinished(event.response_id, item.get("id", ""))] if is_message else []
            case "response.done":
                return self._on_done(event.response or {})
            case "conversation.item.input_audio_transcription.delta":
                return [ev.UserTranscriptGrew(event.item_id, words_of(event.delta))]
            case "conversation.item.input_audio_transcription.completed":
                return [ev.UserTranscribed(event.item_id, event.transcript, unsure=_is_unsure(event.logprobs))]
            case "conversation.item.input_audio_transcription.failed":
                return [ev.UserTranscribed(event.item_id, "", failed=True)]
            case "input_audio_buffer.committed":
                return [ev.InputCommitted(event.item_id, event.previous_item_id)]
            case "input_audio_buffer.speech_started":
                self._speech_began_ms = event.audio_start_ms
                return [ev.SpeechStarted()]
            case "input_audio_buffer.speech_stopped":
                return [ev.SpeechStopped(max(0, event.audio_end_ms - self._speech_began_ms))]
            case "error":
                return self._on_error(event.error or {})
            case _:
                return []

    def _on_done(self, response: Json) -> list[ResponderEvent]:
        reply = response.get("id", "")
        details = response.get("status_details") or {}
        error = details.get("error") or {}
        if error.get("code") in FATAL:
            raise _rejected(error)
        detail = error.get("code") or error.get("type") or details.get("reason") or ""  # the most exact that is there
        status: ReplyStatus = response.get("status") or "completed"
        # A cancelled reply may hold a call that breaks off, and one without an id cannot be answered.
        calls: list[ResponderEvent] = [
            ev.ToolCalled(reply, item["call_id"], item.get("name", ""), item.get("arguments", ""))
            for item in response.get("output") or []
            if item.get("type") == "function_call"
            and item.get("status", "completed") == "completed"
            and item.get("call_id")
        ]
        usage = response.get("usage") or {}  # null where the reply never began
        end = ev.ReplyFinished(
            reply,
            status,
            detail,
            usage.get("input_tokens") or 0,
            usage.get("output_tokens") or 0,
            usage_of(usage),
            retry_after_s(error),
            milliseconds(self._sent_bytes),
            milliseconds(self._received_bytes),
        )
        self._sent_bytes = self._received_bytes = 0
        return [*calls, end]

    def _on_error(self, error: Json) -> list[ResponderEvent]:
        code = error.get("code") or error.get("type") or "unknown"
        if code in FATAL:
            raise _rejected(error)
        if code == EXPIRED:
            raise ResponderUnavailable("The Responder's session expired.")
        if code in BENIGN:
            return []
        request = error.get("event_id") or ""
        if request.partition("-")[0] in {purpose.value for purpose in Purpose}:
            return [ev.ReplyRefused(request, code, retry_after_s(error))]
        if request.startswith(OUT_OF_BAND):
            return [ev.OutOfBandRefused(request, code, error.get("message") or code)]
        return [ev.ProviderComplained(code, error.get("message") or code)]


def _rejected(error: Json) -> ResponderRejected:
    return ResponderRejected(
        f"The Responder refuses the account ({error.get('code')}).",
        hint="Check OPENAI_API_KEY, and the account's billing and limits.",
    )


def _is_unsure(logprobs: list[Json] | None) -> bool:
    return min((float(each.get("logprob") or 0.0) for each in logprobs or ()), default=0.0) < UNSURE_BELOW
