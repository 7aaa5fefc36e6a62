"""The codec of Alibaba's Qwen-Omni-Realtime, which takes some of the events of OpenAI's beta.

Sources: Model Studio's "Client events" and "Server events" (help.aliyun.com/zh/model-studio/client-events,
server-events). The differences:

- The session is flat, its tools are nested, and there is no `tool_choice` and no choice of parallel calls.
- The caller's audio is PCM16 at 16 kHz, the model's at 24 kHz.
- `conversation.item.create` takes function results only. So the instructions hold earlier messages, typed text and our
  notes.
- `response.create` and `response.cancel` have no fields. Directions for one reply are put into the session before it,
  and removed before the next. A reply belongs to the oldest request that has no reply yet.
- Its turn detection answers each turn by itself. So our detector finds the turns, and `turn_detection` is null.
- Items cannot be deleted or truncated.
- An error of `response.create` names it in `param`; this is documented only for its sibling Qwen-Audio.
"""

from collections import deque
from collections.abc import Sequence

import msgspec

from backend.media.resample import Resampler
from backend.responders.base import Briefing, Capabilities, PastMessage
from backend.responders.codec import QUIET_PURPOSES, RealtimeCodec, ServerEvent, Voice
from backend.runtime.json_objects import Json
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import ResponderCommand
from backend.turns.events import ResponderEvent

CAPABILITIES = Capabilities(
    endpointers=frozenset({"local"}),
    input_rate_hz=16_000,
    session_s=7200.0,
)
RENAMED = {
    "response.audio.delta": "response.output_audio.delta",
    "response.audio_transcript.delta": "response.output_audio_transcript.delta",
    "response.text.delta": "response.output_text.delta",
}
"""The beta's names of events that were renamed later."""
NOTES_KEPT = 60
"""The number of notes in the instructions besides the briefing; the newest stay."""
HAPPENED = "# What has happened in this call, the newest last\n\n"
ACTIVE_REPLY = "conversation_already_has_active_response"


class QwenCodec(RealtimeCodec):
    """Translates for one connection, and keeps the notes for the instructions."""

    def __init__(self, voice: Voice) -> None:
        super().__init__(voice, CAPABILITIES)
        self._resampler = Resampler(24_000, CAPABILITIES.input_rate_hz)
        self._notes: deque[str] = deque(maxlen=NOTES_KEPT)
        self._asked: deque[str] = deque()
        """The requests without a reply yet, oldest first."""
        self._special = False
        """True while the session holds directions for a single reply."""
        self._calls: dict[str, Json] = {}
        """The tool calls of the current reply, by id; they come before its end."""

    # --- ours to theirs --------------------------------------------------------------------------------

    def brief(self, briefing: Briefing, *, first: bool) -> bytes:
        """Return a `session.update`; after the first, only the instructions and tools."""
        self.briefing = briefing
        fixed: Json = {
            "modalities": ["text", "audio"],
            "voice": self._voice.name,
            "input_audio_format": "pcm",
            "output_audio_format": "pcm",
            "turn_detection": None,
        }
        return self._update(fixed if first else {})

    def restore(self, history: Sequence[PastMessage]) -> list[bytes]:
        """Return an update of the instructions with the messages of earlier calls."""
        names = {"user": "The caller said", "assistant": "You said"}
        self._notes.extend(f"{names[said.role]}: {said.text}" for said in history)
        return [self._update()] if history else []

    def append(self, pcm: bytes | bytearray) -> bytes:
        """Return an `input_audio_buffer.append`, at the provider's sample rate."""
        return self._append(self._resampler.push(bytes(pcm)), len(pcm))

    def _append(self, made: bytes, taken: int) -> bytes:
        sent = self._sent_bytes + taken
        message = super().append(made)
        self._sent_bytes = sent  # counted at 24 kHz, as all audio is here
        return message

    def messages(self, command: ResponderCommand) -> Sequence[bytes]:
        """Return a command as client events."""
        match command:
            case do.CommitInput() | do.ClearInput():
                rest, self._resampler = self._resampler.flush(), Resampler(24_000, CAPABILITIES.input_rate_hz)
                return (*([self._append(rest, 0)] if rest else []), self.encode(command))
            case do.AddUserText(text):
                return (self._note(f"The caller typed: {text}"),)
            case do.AddNote(text):
                return (self._note(text),)
            case do.CancelReply():
                return (self._event("response.cancel"),)
            case do.CreateReply(purpose, request, hint):
                self._asked.append(request)
                extra = f"{self.briefing.purposes.get(purpose, '')} {hint}".strip()
                before = self._prepare(extra, may_call=purpose not in QUIET_PURPOSES)
                return (*before, self._event("response.create", event_id=request))
        return super().messages(command)

    def _note(self, text: str) -> bytes:
        self._notes.append(text)
        return self._update()

    def _prepare(self, extra: str, *, may_call: bool) -> Sequence[bytes]:
        special = bool(extra) or not may_call
        if not special and not self._special:
            return ()
        update = self._update(extra=extra, may_call=may_call)
        self._special = special
        return (update,)

    def _update(self, more: Json | None = None, *, extra: str = "", may_call: bool = True) -> bytes:
        notes = HAPPENED + "\n".join(self._notes) if self._notes else ""
        parts = (self.briefing.instructions, notes, extra)
        tools = [{"type": "function", "function": _function(each)} for each in self.briefing.tools if may_call]
        self._special = False
        session: Json = {"instructions": "\n\n".join(filter(None, parts)), "tools": tools, **(more or {})}
        return self._event("session.update", session=session)

    # --- theirs to ours --------------------------------------------------------------------------------

    def _translate(self, event: ServerEvent) -> list[ResponderEvent]:
        item = event.item or {}
        if event.type == "response.output_item.done" and item.get("type") == "function_call":
            self._calls[item.get("call_id", "")] = item
        if name := RENAMED.get(event.type):
            event = msgspec.structs.replace(event, type=name)
        return [self._named(each) for each in super()._translate(event)]

    def _named(self, event: ResponderEvent) -> ResponderEvent:
        if isinstance(event, ev.ReplyStarted) and self._asked:
            return ev.ReplyStarted(event.reply, self._asked.popleft())
        return event

    def _on_done(self, response: Json) -> list[ResponderEvent]:
        output = list(response.get("output") or [])
        known = {item.get("call_id") for item in output}
        if response.get("status", "completed") == "completed":
            output += [item for call, item in self._calls.items() if call not in known]
        self._calls.clear()
        usage = response.get("usage") or {}
        usage = {name.replace("_tokens_details", "_token_details"): each for name, each in usage.items()}
        return super()._on_done(response | {"output": output, "usage": usage})

    def _on_error(self, error: Json) -> list[ResponderEvent]:
        if error.get("param") == "response.create" and self._asked:
            error = error | {"event_id": self._asked.pop(), "code": ACTIVE_REPLY}
        elif str(error.get("event_id")) in self._asked:
            self._asked.remove(str(error["event_id"]))
        return super()._on_error(error)


def _function(tool: object) -> Json:
    named: Json = msgspec.to_builtins(tool)
    return {name: each for name, each in named.items() if name != "type"}
