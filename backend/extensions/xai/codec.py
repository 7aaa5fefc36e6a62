"""xAI's voice agent API: OpenAI's events, with a session of its own, and a provider that answers turns by itself.

Its schema is published (docs.x.ai/voice-realtime.ws.json; guide: docs.x.ai, "Voice Agent API"). What differs here:

- The session has the voice, the turn detection and the tools at its top, and neither `type` nor `tool_choice`.
- A reply is asked for by `instructions`, `modalities` and `metadata` alone. `metadata` comes back with the reply.
- Turns are found there: `input_audio_buffer.commit` is refused while it listens, and each turn is answered without
  being asked, even with `create_response: false` (pydantic-ai, `realtime/xai.py`, tried with a key). So our wish for
  an answer is not sent but matched with that reply, which has no metadata; until we wish for it, it is held back.
- What the caller talks over ends there immediately, now and then without `response.done` (livekit/agents #6729).
- `conversation.item.truncate` works too late and not always (pydantic-ai, likewise): we do not use it.
- Transcripts that are not yet whole come as `completed` with the status `in_progress` (livekit's plugin).
- `status_details` is text, and the end of a session is an error of the type `max_duration`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from backend.errors import ResponderUnavailable
from backend.responders.base import Briefing, Capabilities, PastMessage
from backend.responders.codec import CALL_NOTHING, QUIET_PURPOSES, ServerEvent, Voice
from backend.responders.self_answering import SelfAnsweringCodec
from backend.runtime.json_objects import Json
from backend.turns.commands import Purpose
from backend.turns.events import ResponderEvent

CAPABILITIES = Capabilities(
    endpointers=frozenset({"provider"}),
    parallel_calls=True,
    reasons=True,
    session_s=7200.0,
    voices=("ara", "eve", "leo", "rex", "sal"),
)


class XaiEvent(ServerEvent):
    """A server event, with what xAI's have besides."""

    status: str = ""


class XaiCodec(SelfAnsweringCodec):
    """Translates for one connection."""

    def __init__(self, voice: Voice) -> None:
        super().__init__(voice, CAPABILITIES)
        self._parse = msgspec.json.Decoder(XaiEvent).decode

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
        if event.type == "conversation.item.input_audio_transcription.completed" and _is_partial(event):
            return []
        return super()._translate(event)

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
