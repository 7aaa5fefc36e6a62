"""vLLM-Omni's own server of the Realtime API, the turn-based one: most of OpenAI's events, without the caller's words.

Read in its source, `vllm_omni/entrypoints/openai/realtime/connection.py` at 2003b438, and its page "Realtime Audio
WebSocket API". What differs here:

- What the caller says is never transcribed, though `transcription` is taken: each turn counts as one whose transcript
  failed, so that nothing waits for it.
- Turns are found by the client, or by `server_vad`; `semantic_vad` is refused. So they are found here.
- `response.create` cuts off a reply that is under way, rather than being refused.
- Pictures, replies outside of the conversation, MCP servers and another speed are refused or left out.
- Errors have one code for all; of those that cost nothing, only the message tells.
"""

from __future__ import annotations

from dataclasses import replace

from backend.conversation import events as ev
from backend.conversation.events import ResponderEvent
from backend.responders.codec import RealtimeCodec, ServerEvent, Voice
from backend.responders.openai_models import capabilities_of
from backend.runtime.json_objects import Json

CAPABILITIES = replace(
    capabilities_of("a model of one's own"),
    endpointers=frozenset({"local"}),
    parallel_calls=True,
    out_of_band=False,
    transcribes=False,
    session_s=86_400.0,
)
"""It ends no connection by itself: that of a day is made anew."""
NOTHING_LOST = ("Input audio buffer is empty", "No response is in progress")


class VllmOmniCodec(RealtimeCodec):
    """Translates for one connection."""

    def __init__(self, voice: Voice) -> None:
        super().__init__(voice, CAPABILITIES)

    def _translate(self, event: ServerEvent) -> list[ResponderEvent]:
        events = super()._translate(event)
        if event.type == "input_audio_buffer.committed":
            events.append(ev.UserTranscribed(event.item_id, "", failed=True))
        return events

    def _on_error(self, error: Json) -> list[ResponderEvent]:
        if str(error.get("message")).startswith(NOTHING_LOST):
            return []
        return super()._on_error(error)
