"""xAI's voice agent API: OpenAI's events, with a session of its own, and a provider that answers turns by itself.

Its schema is published (docs.x.ai/voice-realtime.ws.json; guide: docs.x.ai, "Voice Agent API"). What differs here:

- The session has the voice, the turn detection and the tools at its top, and neither `type` nor `tool_choice`.
- A reply is asked for by `instructions`, `modalities` and `metadata` alone. `metadata` comes back with the reply.
- Turns are found there: `input_audio_buffer.commit` is refused while it listens, and each turn is answered without
  being asked, even with `create_response: false` (pydantic-ai, `realtime/xai.py`, tried with a key). So our wish for
  an answer is not sent but matched with that reply, whose metadata is null; until we wish for it, it is held back.
- What the caller talks over ends there at once, now and then without `response.done` (livekit/agents #6729).
- `conversation.item.truncate` works too late and not always (pydantic-ai, likewise): we do not use it.
- Transcripts that are not yet whole come as `completed` with the status `in_progress` (livekit's plugin).
- `status_details` is text, and the end of a session is an error of the type `max_duration`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from backend.conversation import commands as do
from backend.conversation import events as ev
from backend.conversation.commands import Purpose, ResponderCommand
from backend.conversation.events import ResponderEvent
from backend.errors import ResponderUnavailable
from backend.responders.base import Briefing, Capabilities, PastMessage
from backend.responders.codec import CALL_NOTHING, QUIET_PURPOSES, RealtimeCodec, ServerEvent, Voice
from backend.runtime.json_objects import Json

CAPABILITIES = Capabilities(
    endpointers=frozenset({"provider"}),
    cancels=True,
    truncates=False,
    restores=True,
    delegates=False,
    several_messages=False,
    parallel_calls=True,
    images=False,
    reasons=True,
    input_rate_hz=24_000,
    output_rate_hz=24_000,
    session_s=7200.0,
    voices=("ara", "eve", "leo", "rex", "sal"),
)
HELD_LIMIT = 2_000
"""Events of a reply that nobody has asked for yet; one that is longer is dropped."""


class XaiEvent(ServerEvent):
    """A server event, with what xAI's have besides."""

    status: str = ""


class XaiCodec(RealtimeCodec):
    """Translates for one connection, and matches the replies that come by themselves with those we wish for."""

    def __init__(self, voice: Voice) -> None:
        super().__init__(voice, CAPABILITIES)
        self._parse = msgspec.json.Decoder(XaiEvent).decode
        self._due = False
        """A turn is over, and nobody has wished for its answer yet."""
        self._wish = ""
        """The request that the next reply that comes by itself answers."""
        self._open = ""
        """The reply we have reported as begun, and not as ended."""
        self._held_id = ""
        self._held: list[ResponderEvent] = []

    # --- ours to theirs --------------------------------------------------------------------------------

    def brief(self, briefing: Briefing, *, first: bool) -> bytes:
        """Return a `session.update`; after the first, only the instructions and tools."""
        self.briefing = briefing
        session: Json = {"instructions": briefing.instructions, "tools": msgspec.to_builtins(briefing.tools)}
        if first:
            pcm = {"type": "audio/pcm", "rate": 24000}
            session |= {
                "voice": CAPABILITIES.voice_of(briefing.voice, self._voice.name),
                "turn_detection": {"type": "server_vad"},
            }
            session |= {"audio": {"input": {"format": pcm}, "output": {"format": pcm}}}
            if self._voice.effort:
                session["reasoning"] = {"effort": self._voice.effort}
        return self._event("session.update", session=session)

    def restore(self, history: Sequence[PastMessage]) -> list[bytes]:
        """Return what was said before, as text."""
        return [self._message(said.role, said.text) for said in history]

    def messages(self, command: ResponderCommand) -> Sequence[bytes]:
        """Return a command as client events: none for a turn and its first answer, which come by themselves."""
        match command:
            case do.CommitInput():
                return ()
            case do.CreateReply(Purpose.ANSWER, request) if self._due:
                self._claim(request)
                return ()
            case do.CreateReply() | do.AddUserText():
                self._drop()
        return super().messages(command)

    def _message(self, role: str, text: str, item: str = "") -> bytes:
        content = {"type": "text" if role == "assistant" else "input_text", "text": text}
        return self._event("conversation.item.create", item={"type": "message", "role": role, "content": [content]})

    def _reply(self, purpose: Purpose, request: str, hint: str) -> Json:
        reply = super()._reply(purpose, request, hint)
        if reply.pop("tool_choice", None) and purpose in QUIET_PURPOSES:
            reply["instructions"] = f"{reply.get('instructions') or self.briefing.instructions}\n\n{CALL_NOTHING}"
        return reply

    # --- theirs to ours --------------------------------------------------------------------------------

    def _translate(self, event: ServerEvent) -> list[ResponderEvent]:
        match event.type:
            case "conversation.item.input_audio_transcription.completed" if _is_partial(event):
                return []
            case "input_audio_buffer.speech_started":
                self._drop()
            case "input_audio_buffer.speech_stopped":
                self._drop()
                self._due = True
                return [*self._cut_off(), *super()._translate(event)]
            case "input_audio_buffer.committed" if not self._wish:
                self._due = True
        events = super()._translate(event)
        return [each for one in events for each in self._matched(one)]

    def _matched(self, event: ResponderEvent) -> list[ResponderEvent]:
        match event:
            case ev.ReplyStarted(reply, request):
                return self._on_started(reply, request)
            case ev.ReplyFinished(reply=reply) if reply == self._open:
                self._open = ""
            case _ if self._held_id and getattr(event, "reply", None) == self._held_id:
                self._hold(event)
                return []
        return [event]

    def _on_started(self, reply: str, request: str | None) -> list[ResponderEvent]:
        cut_off = self._cut_off()
        if request is None and self._due:
            self._held_id, self._held = reply, []
            return cut_off
        if request is None and self._wish:
            request, self._wish = self._wish, ""
        self._open = reply
        return [*cut_off, ev.ReplyStarted(reply, request)]

    def _hold(self, event: ResponderEvent) -> None:
        self._held.append(event)
        if len(self._held) > HELD_LIMIT:
            self._drop()

    def _claim(self, request: str) -> None:
        self._due = False
        if not self._held_id:
            self._wish = request
            return
        self.released += [ev.ReplyStarted(self._held_id, request), *self._held]
        self._open = "" if any(isinstance(each, ev.ReplyFinished) for each in self._held) else self._held_id
        self._held_id, self._held = "", []

    def _drop(self) -> None:
        """Forget the reply that nobody wished for, and the wish for one that has not come."""
        self._due, self._wish, self._held_id, self._held = False, "", "", []

    def _cut_off(self) -> list[ResponderEvent]:
        """End the reply that the caller talked over, if nobody has told us of its end."""
        reply, self._open = self._open, ""
        return [ev.ReplyFinished(reply, "cancelled")] if reply else []

    def _on_done(self, response: Json) -> list[ResponderEvent]:
        details = response.get("status_details")
        if isinstance(details, str):
            response = response | {"status_details": {"reason": details}}
        return super()._on_done(response)

    def _on_error(self, error: Json) -> list[ResponderEvent]:
        if error.get("type") == "max_duration":
            raise ResponderUnavailable("The Responder's session expired.")
        return super()._on_error(error)


def _is_partial(event: ServerEvent) -> bool:
    return isinstance(event, XaiEvent) and event.status == "in_progress"
