"""vLLM-Omni's side of a connection, as its source has it: the `openai` package's types, of which it does a part.

It transcribes nothing, and refuses what `_sanitize_session_config`, `_resolve_response` and `_validate_input_item` in
its `realtime/connection.py` refuse; a reply that is asked for cuts off the one under way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from demo.offline.strict import STRICT, StrictRealtime
from local_responder.realtime.core import Realtime
from local_responder.realtime.effects import Effect, Send
from local_responder.realtime.faults import error_event
from local_responder.realtime.parts import ReplyPart

Event = dict[str, Any]
PCM = {"type": "audio/pcm", "rate": 24000}
CODES = {
    "input_audio_buffer_commit_empty": "Input audio buffer is empty",
    "response_cancel_not_active": "No response is in progress",
}
"""What it says of what OpenAI has a code for; its own code is one for all."""


class VllmOmniRealtime(StrictRealtime):
    """A conversation by its rules."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._next: Event | None = None

    def receive(self, event: Any) -> list[Effect]:
        """Carry out a client event, or refuse it with an `error` event that says what is wrong with it."""
        if found := list(_refused(event)):
            return self._stamped([Send(error_event(found[0], code=STRICT, client_event_id=event.get("event_id")))])
        if event.get("type") == "response.create" and self._active:
            self._next = event
            return super().receive({"type": "response.cancel"})
        return super().receive(event)

    def said(self, response_id: str, part: ReplyPart) -> list[Effect]:
        """A piece of a reply; after the last one of a reply that was cut off comes the one that was asked for."""
        effects = super().said(response_id, part)
        if self._next and not self._active:
            event, self._next = self._next, None
            effects += super().receive(event)
        return effects

    def _stamped(self, effects: Iterable[Effect]) -> list[Effect]:
        return Realtime._stamped(self, (each for effect in effects for each in _as_theirs(effect)))


def _refused(event: Any) -> Iterator[str]:
    match event:
        case {"type": "session.update", "session": {"audio": audio}}:
            hearing, speaking = audio.get("input") or {}, audio.get("output") or {}
            if hearing.get("format", PCM) != PCM or speaking.get("format", PCM) != PCM:
                yield "Only 24 kHz PCM16 audio is supported"
            if (hearing.get("turn_detection") or {}).get("type", "server_vad") != "server_vad":
                yield "Only server_vad turn detection is supported"
        case {"type": "conversation.item.create", "item": {"content": content}}:
            if any(part["type"] == "input_image" for part in content):
                yield "Image input is not supported"
        case {"type": "response.create", "response": {"conversation": "none"}}:
            yield "Out-of-band responses are not supported"


def _as_theirs(effect: Effect) -> Iterator[Effect]:
    """Return what it sends: no word of the caller's, and one code for all errors."""
    if not isinstance(effect, Send):
        yield effect
        return
    event = effect.event
    match event:
        case {"type": str(kind)} if kind.startswith("conversation.item.input_audio_transcription."):
            return
        case {"type": "error", "error": {"code": code} as error} if code != STRICT:
            told = {"code": "invalid_request_error", "message": CODES.get(code, error["message"])}
            yield Send(event | {"error": error | told})
        case _:
            yield effect
