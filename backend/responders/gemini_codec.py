"""The codec of Gemini's Live API: commands of ours to its messages, its messages to events of ours. Pure.

Written against "Live API - WebSockets API reference" (ai.google.dev/api/live), "Session management with Live API"
(ai.google.dev/gemini-api/docs/live-session) and the tools guide of the same site. What differs from the Realtime API:

    turns        With `automaticActivityDetection` disabled, `activityEnd` asks for the reply by itself: so a committed
                 turn is ended only by the `CreateReply` that follows.
    cancelling   Only `activityStart` interrupts a reply. What the caller says during one is kept here until it is
                 decided whether that is a turn (`CancelReply`) or a cough (`ClearInput`).
    truncation   There is none; the call engine tells the model what was heard by a note.
    tools        Functions are declared `NON_BLOCKING` and answered `SILENT`: when a result is spoken is ours to say.
                 That is documented of Gemini 2.5's models, and not of all that came later.
    briefing     A connection's configuration is fixed; a resumed one may have another.

Nowhere documented, and so not relied upon: which message brings `usageMetadata`, and reasons of a broken-off reply.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count

import msgspec

from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation.commands import ResponderCommand
from backend.conversation.events import ResponderEvent, TokenUsage
from backend.media.frame import milliseconds
from backend.responders.base import Briefing, Capabilities, PastMessage
from backend.responders.gemini_messages import Modality, ServerContent, ServerMessage, Usage
from backend.runtime.json_objects import Json

CAPABILITIES = Capabilities(
    endpointers=frozenset({"local"}),
    cancels=True,
    truncates=False,
    restores=True,
    delegates=False,
    several_messages=False,
    parallel_calls=True,
    images=False,
    reasons=False,
    input_rate_hz=16_000,
    output_rate_hz=24_000,
    session_s=600.0,
)
AUDIO_TYPE = "audio/pcm;rate=16000"
KEPT_BYTES = 30 * 16_000 * 2
"""Speech kept during a reply; of longer speech, the beginning is lost."""
NOTE = "(A note from the system, not said by the caller: {text})"
GO_ON = "Go on."
"""Said where a reply is wanted and nothing else is to be told: a turn cannot be empty."""


class GeminiCodec:
    """Translates for one call: its state outlives a connection."""

    def __init__(self, model: str, voice: str) -> None:
        self._model = model
        self._voice = voice
        self.briefing = Briefing("")
        self.handle = ""
        """Names the session to the next connection; empty while there is none that could be resumed."""
        self._numbers = count(1)
        self._decode = msgspec.json.Decoder(ServerMessage).decode
        self._kept = bytearray()  # 16 kHz speech, not yet part of an activity
        self._active = False  # between activityStart and activityEnd
        self._user_item = ""
        self._user_words = ""
        self._last_item: str | None = None
        self._requests: list[str] = []
        self._reply = ""
        self._item = ""
        self._names: dict[str, str] = {}  # of the open tool calls
        self._usage = Usage()
        self._sent_bytes = self._received_bytes = 0

    @property
    def idle(self) -> bool:
        """Nothing is under way that another connection would not know."""
        return not (self._active or self._reply or self._requests)

    # --- ours to theirs --------------------------------------------------------------------------------

    def setup(self) -> bytes:
        """Return the first message of a connection, which goes on with the session where there is a handle."""
        setup: Json = {
            "model": f"models/{self._model}",
            "generationConfig": {
                "responseModalities": ["AUDIO"],
                "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": self._voice}}},
            },
            "systemInstruction": {"parts": [{"text": self.briefing.instructions}]},
            "realtimeInputConfig": {"automaticActivityDetection": {"disabled": True}},
            "inputAudioTranscription": {},
            "outputAudioTranscription": {},
            "sessionResumption": {"handle": self.handle} if self.handle else {},
            "contextWindowCompression": {"slidingWindow": {}},
        }
        if self.briefing.tools:
            functions = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": tool.parameters,
                    "behavior": "NON_BLOCKING",
                }
                for tool in self.briefing.tools
            ]
            setup["tools"] = [{"functionDeclarations": functions}]
        return _json(setup=setup)

    def restore(self, history: Sequence[PastMessage]) -> list[bytes]:
        """Return what was said before, as text."""
        roles = {"user": "user", "assistant": "model"}
        turns = [{"role": roles[said.role], "parts": [{"text": said.text}]} for said in history]
        return [_json(clientContent={"turns": turns, "turnComplete": False})] if turns else []

    def append(self, pcm: bytes) -> list[bytes]:
        """Take 16 kHz speech; it is kept as long as it might interrupt a reply."""
        self._kept += pcm
        if (self._reply or self._requests) and not self._active:
            del self._kept[:-KEPT_BYTES]
            return []
        return self._begin()

    def encode(self, command: ResponderCommand) -> tuple[list[bytes], list[ResponderEvent]]:
        """Return a command as messages, and what is to be reported that the provider does not report itself."""
        match command:
            case do.CommitInput():
                return self._commit()
            case do.ClearInput():
                self._kept.clear()
            case do.AddUserText(text):
                return [_said(text)], []
            case do.AddNote(text):
                return [_said(NOTE.format(text=text))], []
            case do.CreateReply():
                return self._ask(command), []
            case do.CancelReply() if self._reply or self._requests:
                return self._begin(), []
            case do.SubmitResult(call, output):
                answer = {
                    "id": call,
                    "name": self._names.pop(call, ""),
                    "response": {"output": output},
                    "scheduling": "SILENT",
                }
                return [_json(toolResponse={"functionResponses": [answer]})], []
        return [], []

    def _begin(self) -> list[bytes]:
        """Begin an activity unless one is under way, and tell what was kept."""
        messages = [] if self._active else [_json(realtimeInput={"activityStart": {}})]
        self._active = True
        if self._kept:
            self._sent_bytes += len(self._kept)
            audio = {"mimeType": AUDIO_TYPE, "data": bytes(self._kept)}
            messages.append(msgspec.json.encode({"realtimeInput": {"audio": audio}}))
            self._kept.clear()
        return messages

    def _commit(self) -> tuple[list[bytes], list[ResponderEvent]]:
        before, self._last_item = self._last_item, f"user-{next(self._numbers)}"
        self._user_item, self._user_words = self._last_item, ""
        return self._begin(), [ev.InputCommitted(self._user_item, before)]

    def _ask(self, command: do.CreateReply) -> list[bytes]:
        self._requests = [command.request]
        extra = f"{self.briefing.purposes.get(command.purpose, '')} {command.hint}".strip()
        if self._active:
            self._active = False
            hint = [_said(NOTE.format(text=extra))] if extra else []
            return [*hint, _json(realtimeInput={"activityEnd": {}})]
        return [_said(NOTE.format(text=extra or GO_ON), complete=True)]

    # --- theirs to ours --------------------------------------------------------------------------------

    def decode(self, text: bytes | bytearray | memoryview) -> tuple[ServerMessage, list[ResponderEvent]]:
        """Return a server message, and as events of ours what it says of the conversation."""
        try:
            message = self._decode(text)
        except (msgspec.MsgspecError, ValueError) as error:
            complaint = f"A message could not be read ({type(error).__name__})."
            return ServerMessage(), [ev.ProviderComplained("unreadable_event", complaint)]
        events: list[ResponderEvent] = []
        if message.usageMetadata:
            self._usage = message.usageMetadata
        if update := message.sessionResumptionUpdate:
            self.handle = update.newHandle if update.resumable else ""
        if message.toolCall:
            events += self._started()
            for call in message.toolCall.functionCalls:
                self._names[call.id] = call.name
                events.append(ev.ToolCalled(self._reply, call.id, call.name, json.dumps(call.args)))
        if message.toolCallCancellation:
            for cancelled in message.toolCallCancellation.ids:
                self._names.pop(cancelled, None)
        if message.serverContent:
            events += self._content(message.serverContent)
        return message, events

    def _content(self, content: ServerContent) -> list[ResponderEvent]:
        events: list[ResponderEvent] = []
        if heard := content.inputTranscription:
            self._user_words += heard.text
            events.append(ev.UserTranscriptGrew(self._user_item, heard.text))
        sounds = (
            [part.inlineData.data for part in content.modelTurn.parts if part.inlineData] if content.modelTurn else []
        )
        words = content.outputTranscription.text if content.outputTranscription else ""
        if sounds or words:
            events += self._started()
        if words:
            events.append(ev.ReplyText(self._reply, self._item, words))
        for pcm in sounds:
            self._received_bytes += len(pcm)
            events.append(ev.ReplyAudio(self._reply, self._item, pcm))
        if content.interrupted:
            events += self._finished("cancelled")
        elif content.turnComplete:
            events += self._finished("completed")
        return events

    def _started(self) -> list[ResponderEvent]:
        if self._reply:
            return []
        self.handle = ""  # the one so far does not know of this reply
        number = next(self._numbers)
        self._reply, self._item = f"reply-{number}", f"item-{number}"
        self._last_item = self._item
        return [ev.ReplyStarted(self._reply, self._requests.pop(0) if self._requests else None)]

    def _finished(self, status: ev.ReplyStatus) -> list[ResponderEvent]:
        """End the reply; one that was interrupted, or empty, before it began has begun now."""
        if not (self._reply or self._requests):
            return []  # the `turnComplete` after an interruption
        events = self._started()
        if self._user_words:
            events.append(ev.UserTranscribed(self._user_item, self._user_words.strip()))
            self._user_words = ""
        if self._received_bytes:
            events.append(ev.MessageFinished(self._reply, self._item))
        used = self._usage
        events.append(
            ev.ReplyFinished(
                self._reply,
                status,
                input_tokens=used.promptTokenCount,
                output_tokens=used.responseTokenCount,
                usage=_by_kind(used),
                audio_sent_ms=self._sent_bytes // 32,
                audio_received_ms=milliseconds(self._received_bytes),
            )
        )
        self._reply, self._usage = "", Usage()
        self._sent_bytes = self._received_bytes = 0
        return events


def _json(**message: object) -> bytes:
    return msgspec.json.encode(message)


def _said(text: str, *, complete: bool = False) -> bytes:
    return _json(clientContent={"turns": [{"role": "user", "parts": [{"text": text}]}], "turnComplete": complete})


def _by_kind(used: Usage) -> TokenUsage:
    def of(details: list[Modality], modality: str) -> int:
        return sum(each.tokenCount for each in details if each.modality == modality)

    audio_in, image_in = of(used.promptTokensDetails, "AUDIO"), of(used.promptTokensDetails, "IMAGE")
    audio_out = of(used.responseTokensDetails, "AUDIO")
    return TokenUsage(
        text_in=max(0, used.promptTokenCount - audio_in - image_in),
        audio_in=audio_in,
        image_in=image_in,
        text_out=max(0, used.responseTokenCount - audio_out),
        audio_out=audio_out,
    )
