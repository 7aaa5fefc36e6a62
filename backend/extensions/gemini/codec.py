"""The codec of Gemini's Live API turns commands into its messages, and its messages into events. Pure.

Written against "Live API - WebSockets API reference" (ai.google.dev/api/live), "Session management with Live API", the
tools guide and the page of `gemini-3.8-live` on the same site. What differs from the Realtime API:

    turns        With `automaticActivityDetection` disabled, `activityEnd` asks for the reply by itself: so a committed
                 turn is ended only by the `CreateReply` that follows. An activity cannot be taken back; so speech
                 begins one only when it has lasted `HELD_MS`, or is committed.
    interrupting `activityStart` interrupts a reply, and so does any `clientContent`. The caller's speech during a reply
                 is kept here until the interruption is decided, and messages wait for the next request.
    ends         `generationComplete` ends a reply; `turnComplete` comes when it would have been played, or not at all,
                 and may hold the tokens. An interrupted turn sends `interrupted`, then `turnComplete`; after a later
                 request, these may belong to the turn before. `_ModelTurn` distinguishes them.
    cancelling   A cancelled reply is over for us immediately; the rest of it is dropped.
    truncation   There is none; the call engine sends the model a note of what was heard.
    tools        Functions are `NON_BLOCKING` and answered `SILENT`: we decide when a result is spoken.
    briefing     A connection's configuration is fixed; a resumed session may have another.
"""

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import msgspec

from backend.extensions.gemini.messages import GeminiToolCall, ServerContent, ServerMessage, Usage
from backend.media.frame import milliseconds
from backend.media.pictures import picture_parts
from backend.media.resample import Resampler
from backend.responders.base import Briefing, Capabilities, PastMessage
from backend.responders.codec import CALL_NOTHING, QUIET_PURPOSES
from backend.runtime.json_objects import Json
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import ResponderCommand
from backend.turns.events import ReplyStatus, ResponderEvent

VOICES = ("Aoede", "Charon", "Fenrir", "Kore", "Leda", "Orus", "Puck", "Zephyr")
CAPABILITIES = Capabilities(
    endpointers=frozenset({"local"}),
    parallel_calls=True,
    images=True,
    input_rate_hz=16_000,
    session_s=600.0,
    resumes=True,
    voices=VOICES,
)
AUDIO_TYPE = "audio/pcm;rate=16000"
BYTES_PER_MS = 32
HELD_MS = 400
"""Milliseconds of speech, including 100 ms before it, that are longer than most coughs."""
CHUNK_MS = 100
"""Milliseconds of audio in one message. 20 to 100 are usual, and nothing waits for the audio before the commit."""
KEPT_MS = 30_000
"""Milliseconds of speech kept during a reply; the beginning of longer speech is lost."""
MESSAGES_KEPT = 60
"""The most messages that wait for the next request; the newest are kept."""
NOTE = "(A note from the system, not said by the caller: {text})"
GO_ON = "Go on."
"""The text of a request for a reply without other content: a turn cannot be empty."""
RESULT = "The tool {name}, whose call you had cancelled, has returned: {output}"


NUMBERS = count(1)
"""The numbers of replies and items, which the provider does not name; they are unique in a call."""


@dataclass(slots=True)
class _ModelTurn:
    """A turn that the provider was asked for and has not completed."""

    sounded: bool = False
    over: bool = False
    """The turn is generated or interrupted: only its `turnComplete` is still to come."""


class GeminiCodec:
    """The translator of one call; its state outlives a connection."""

    def __init__(self, model: str, voice: str) -> None:
        self._model = model
        self._voice = voice
        self.briefing = Briefing("")
        self.handle = ""
        """The handle of the session for the next connection; empty while none is up to date."""
        self._decode = msgspec.json.Decoder(ServerMessage).decode
        self._resampler = Resampler(24_000, CAPABILITIES.input_rate_hz)
        self._kept = bytearray()  # 16 kHz speech, not yet sent
        self._active = False  # between activityStart and activityEnd
        self._void = False  # the activity holds nothing but noise
        self._messages: deque[list[Json]] = deque(maxlen=MESSAGES_KEPT)  # the parts of each message
        self._items: list[str] = []  # the items of the caller's turn without final words
        self._held_items: list[str] = []  # items committed during a reply, not reported yet
        self._user_words = ""
        self._last_item: str | None = None
        self._request = ""
        self._turn: _ModelTurn | None = None
        self._former: _ModelTurn | None = None
        self._reply = ""
        self._item = ""
        self._calls: dict[str, str] = {}  # the names of the open calls
        self._cancelled_calls: dict[str, str] = {}
        self._called = False
        self._last: tuple[str, ReplyStatus] | None = None
        self._usage: Usage | None = None
        self._sent_bytes = self._received_bytes = 0

    @property
    def idle(self) -> bool:
        """Return whether the connection may be changed without a loss."""
        return not self._answering and (self._void or not self._active)

    @property
    def has_called(self) -> bool:
        """Return whether the running reply has called a tool, which may be its end."""
        return bool(self._reply) and self._called

    @property
    def _answering(self) -> bool:
        return bool(self._reply or self._request)

    # --- ours to theirs --------------------------------------------------------------------------------

    def setup(self) -> bytes:
        """Begin a connection: return its first message, which resumes the session if there is a handle."""
        self._active = self._void = False
        self._turn = self._former = None
        voice = CAPABILITIES.voice_of(self.briefing.voice, self._voice)
        setup: Json = {
            "model": f"models/{self._model}",
            "generationConfig": {
                "responseModalities": ["AUDIO"],
                "speechConfig": {"voiceConfig": {"prebuiltVoiceConfig": {"voiceName": voice}}},
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
        """Return the message that restores what was said before, as text."""
        roles = {"user": "user", "assistant": "model"}
        turns = [{"role": roles[said.role], "parts": [{"text": said.text}]} for said in history]
        return [_json(clientContent={"turns": turns, "turnComplete": False})] if turns else []

    def append(self, pcm: bytes) -> list[bytes]:
        """Take 24 kHz speech; return messages. Speech is kept as long as it might interrupt a reply, or be a cough."""
        self._kept += self._resampler.push(pcm)
        if self._answering and not self._active:
            del self._kept[: -KEPT_MS * BYTES_PER_MS]
            return []
        enough_ms = CHUNK_MS if self._active else HELD_MS
        return self._begin() if len(self._kept) >= enough_ms * BYTES_PER_MS else []

    def encode(self, command: ResponderCommand) -> tuple[list[bytes], list[ResponderEvent]]:
        """Return a command as messages, and the events that the provider does not report itself."""
        match command:
            case do.CommitInput():
                return self._commit()
            case do.ClearInput():
                self._clear()
            case do.AddUserText(text, pictures):
                self._messages.append([*map(_picture, pictures), *_words(text)])
            case do.AddNote(text):
                self._note(text)
            case do.CreateReply():
                return self._ask(command)
            case do.CancelReply() if self._answering:
                events = self._finished("cancelled")
                return self._begin(), events
            case do.SubmitResult(call, output):
                return self._submit(call, output), []
        return [], []

    def _begin(self) -> list[bytes]:
        """Send the kept speech; it begins an activity unless one is under way."""
        if not self._kept:
            return []
        messages = [] if self._active else [_json(realtimeInput={"activityStart": {}})]
        self._active = True
        self._items, self._held_items = [*self._items, *self._held_items], []
        self._sent_bytes += len(self._kept)
        audio = {"mimeType": AUDIO_TYPE, "data": bytes(self._kept)}
        self._kept.clear()
        return [*messages, msgspec.json.encode({"realtimeInput": {"audio": audio}})]

    def _commit(self) -> tuple[list[bytes], list[ResponderEvent]]:
        self._kept += self._resampler.flush()
        self._resampler = Resampler(24_000, CAPABILITIES.input_rate_hz)
        before, item = self._last_item, f"user-{next(NUMBERS)}"
        self._last_item = item
        committed = ev.InputCommitted(item, before)
        if self._answering and not self._active:
            self._held_items.append(item)
            return [], [committed]
        self._void = False
        events = [*self._transcribed(), committed]
        self._items, self._held_items = [*self._held_items, item], []
        if self._user_words:
            events.append(ev.UserTranscriptGrew(item, self._user_words))
        return self._begin(), events

    def _clear(self) -> None:
        self._kept.clear()
        self._held_items.clear()
        self._resampler = Resampler(24_000, CAPABILITIES.input_rate_hz)
        if self._active and not self._items:
            self._void, self._user_words = True, ""

    def _ask(self, command: do.CreateReply) -> tuple[list[bytes], list[ResponderEvent]]:
        events = self._finished("cancelled")
        if not self._active:
            events += self._transcribed()
        self._request, self.handle = command.request, ""
        self._former, self._turn = self._turn, _ModelTurn()
        quiet = CALL_NOTHING if command.purpose in QUIET_PURPOSES and self.briefing.tools else ""
        if extra := " ".join(filter(None, (self.briefing.purposes.get(command.purpose), command.hint, quiet))):
            self._note(extra)
        messages = self._begin() if self._active or self._held_items else []
        if not self._messages and (self._void or not self._active):  # a turn cannot be empty
            self._note(GO_ON)
        if self._messages:
            turns = [{"role": "user", "parts": parts} for parts in self._messages]
            messages.append(_json(clientContent={"turns": turns, "turnComplete": not self._active}))
            self._messages.clear()
        if self._active:
            messages.append(_json(realtimeInput={"activityEnd": {}}))
        self._active = self._void = False
        return messages, events

    def _note(self, text: str) -> None:
        self._messages.append(_words(NOTE.format(text=text)))

    def _submit(self, call: str, output: str) -> list[bytes]:
        self.handle = ""
        name = self._calls.pop(call, None)
        if name is None:  # the provider would refuse the result of a call that it has cancelled
            name = self._cancelled_calls.pop(call, "")
            self._note(RESULT.format(name=name, output=output))
            return []
        answer = {"id": call, "name": name, "response": {"output": output}, "scheduling": "SILENT"}
        return [_json(toolResponse={"functionResponses": [answer]})]

    # --- theirs to ours --------------------------------------------------------------------------------

    def decode(self, text: bytes | bytearray | memoryview) -> tuple[ServerMessage, list[ResponderEvent]]:
        """Return a server message, and the Responder events that follow from it."""
        try:
            message = self._decode(text)
        except (msgspec.MsgspecError, ValueError) as error:
            complaint = f"A message could not be read ({type(error).__name__})."
            return ServerMessage(), [ev.ProviderComplained("unreadable_event", complaint)]
        events: list[ResponderEvent] = []
        self._usage = message.usageMetadata or self._usage
        if update := message.sessionResumptionUpdate:
            self.handle = update.newHandle if update.resumable else ""
        if message.toolCall:
            events += self._tool_called(message.toolCall)
        for cancelled in message.toolCallCancellation.ids if message.toolCallCancellation else ():
            if cancelled in self._calls:
                self._cancelled_calls[cancelled] = self._calls.pop(cancelled)
        if message.serverContent:
            events += self._content(message.serverContent)
        if self._usage and self._last and not self._reply:  # the tokens came after the end of the reply
            events.append(self._counted(*self._last))
        return message, events

    def end_called(self) -> list[ResponderEvent]:
        """End a reply that has sent nothing for a while since it called a tool."""
        if not self.has_called:
            return []
        if self._turn:
            self._turn.over = True
        return self._finished("completed")

    def _content(self, content: ServerContent) -> list[ResponderEvent]:
        events: list[ResponderEvent] = []
        if heard := content.inputTranscription:
            events += self._heard(heard.text)
        parts = content.modelTurn.parts if content.modelTurn else []
        sounds = [part.inlineData.data for part in parts if part.inlineData]
        words = content.outputTranscription.text if content.outputTranscription else ""
        if (sounds or words) and self._is_ours():  # output of an earlier reply is dropped
            events += self._started()
            if words:
                events.append(ev.ReplyText(self._reply, self._item, words))
            for pcm in sounds:
                self._received_bytes += len(pcm)
                events.append(ev.ReplyAudio(self._reply, self._item, pcm))
        if content.interrupted or content.generationComplete:
            events += self._over("cancelled" if content.interrupted else "completed")
        if content.turnComplete:
            events += self._turn_completed()
        return events

    def _heard(self, words: str) -> list[ResponderEvent]:
        if not (self._items or self._active):
            return []  # they belong to a turn with final words
        self._user_words += words
        return [ev.UserTranscriptGrew(self._items[-1], words)] if self._items else []

    def _is_ours(self) -> bool:
        """Return whether the output belongs to the reply that was asked for last."""
        if not self._reply:
            former = self._former
            if self._request and not (former and former.sounded and not former.over):  # no earlier reply goes on
                self._former = None
            elif turn := former or self._turn:
                turn.sounded = True
                return False
            else:
                return False
        if self._turn:
            self._turn.sounded = True
        return True

    def _tool_called(self, calls: GeminiToolCall) -> list[ResponderEvent]:
        if not self._is_ours():
            return []
        events = [*self._started(), *self._transcribed_as_far()]
        self._called = True
        for call in calls.functionCalls:
            self._calls[call.id] = call.name
            events.append(ev.ToolCalled(self._reply, call.id, call.name, json.dumps(call.args)))
        return events

    def _over(self, status: ReplyStatus) -> list[ResponderEvent]:
        turn = self._turn if self._reply else self._former or self._turn
        if turn and (self._reply or not self._request or self._former):  # the requested turn has not begun otherwise
            turn.over = True
        return self._finished(status) if self._reply else []

    def _turn_completed(self) -> list[ResponderEvent]:
        if self._request and self._former:
            self._former = None
            return []
        self._turn = self._former = None
        events = self._finished("completed")
        return events if self._active else [*events, *self._transcribed()]

    def _started(self) -> list[ResponderEvent]:
        if self._reply:
            return []
        number = next(NUMBERS)
        self._reply, self._item = f"reply-{number}", f"item-{number}"
        self._last_item = self._item
        request, self._request = self._request, ""
        return [ev.ReplyStarted(self._reply, request)]

    def _finished(self, status: ReplyStatus) -> list[ResponderEvent]:
        """End the reply that is running, or that is requested and has not begun."""
        if not self._answering:
            return []
        events = [*self._started(), *self._transcribed_as_far()]
        if self._received_bytes:
            events.append(ev.MessageFinished(self._reply, self._item))
        self._last = (self._reply, status)
        events.append(self._counted(*self._last))
        self._reply, self._called = "", False
        return events

    def _counted(self, reply: str, status: ReplyStatus) -> ev.ReplyFinished:
        used, self._usage = self._usage or Usage(), None
        sent_bytes, self._sent_bytes = self._sent_bytes, 0
        received_bytes, self._received_bytes = self._received_bytes, 0
        return ev.ReplyFinished(
            reply,
            status,
            input_tokens=used.promptTokenCount,
            output_tokens=used.responseTokenCount + used.thoughtsTokenCount,
            usage=used.by_kind(),
            audio_sent_ms=sent_bytes // BYTES_PER_MS,
            audio_received_ms=milliseconds(received_bytes),
        )

    def lost(self) -> list[ResponderEvent]:
        """Return the events of a broken session: no more of the caller's words will come."""
        return self._transcribed_as_far()

    def _transcribed_as_far(self) -> list[ResponderEvent]:
        """Close the words of the caller's turn if there are any; they may come at any time, and without an end."""
        return self._transcribed() if self._user_words else []

    def _transcribed(self) -> list[ResponderEvent]:
        """Close the words of the caller's turn so far."""
        if not self._items:
            return []
        *before, last = self._items
        words, self._user_words = self._user_words.strip(), ""
        self._items = []
        return [*(ev.UserTranscribed(item, "") for item in before), ev.UserTranscribed(last, words)]


def _words(text: str) -> list[Json]:
    return [{"text": text}] if text else []


def _picture(url: str) -> Json:
    kind, data = picture_parts(url)
    return {"inlineData": {"mimeType": kind, "data": data}}


def _json(**message: object) -> bytes:
    return msgspec.json.encode(message)
