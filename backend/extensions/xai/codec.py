"""The codec of xAI's voice agent API, which has OpenAI's events, its own session, and answers turns by itself.

Its schema is published (docs.x.ai/voice-realtime.ws.json; guide: docs.x.ai, "Voice Agent API"). The differences:

- The session has the voice, the turn detection and the tools at its top, and neither `type` nor `tool_choice`.
- `response.create` has only `instructions`, `modalities` and `metadata`. `metadata` comes back with the reply.
- The provider finds the turns: it refuses `input_audio_buffer.commit` while it listens, and answers each turn
  unasked, even with `create_response: false` (pydantic-ai, `realtime/xai.py`, tried with a key). So our request for
  an answer is not sent but matched with that reply, which has no metadata; the reply is held back until then.
- A reply that the caller interrupts ends immediately, sometimes without `response.done` (livekit/agents #6729).
- `conversation.item.truncate` works too late and not always (pydantic-ai, likewise), so we do not use it.
- Partial transcripts come as `completed` with the status `in_progress` (livekit's plugin).
- `status_details` is text, and the end of a session is an error of the type `max_duration`.
"""

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
    """A server event, with xAI's additional fields."""

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
        """Return the messages of earlier calls as text items."""
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
