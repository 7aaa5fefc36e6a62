"""The session of a client over the Realtime protocol, and the meaning of the protocol's fields for its call.

`thinkers` is a field of this server's own (docs/howto/realtime-endpoint.md). Fields that the server's settings decide
are shown as given, and change nothing.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from backend.media.g711 import Law
from backend.realtime.session import FORMATS, RealtimeSession, SessionFields
from backend.runtime.json_objects import Json
from backend.turns.call_options import OUR_TOOLS, CallOptions, ClientTool
from backend.turns.end_of_turn import EndpointingStyle

LAWS: Mapping[str, Law | None] = {"audio/pcm": None, "audio/pcmu": Law.MU, "audio/pcma": Law.A}
EAGERNESS: Mapping[str, EndpointingStyle] = {
    "low": EndpointingStyle.PATIENT,
    "medium": EndpointingStyle.BALANCED,
    "high": EndpointingStyle.EAGER,
}
"""Any other value, such as `auto`, means the server's settings."""


class ClientFields(SessionFields, frozen=True, kw_only=True):
    """The fields of a `session.update` to this server."""

    thinkers: bool | None = None


class ClientSession(RealtimeSession):
    """The session as its client sees it; `options` are its choices for the call."""

    fields = ClientFields
    formats = FORMATS
    reserved = OUR_TOOLS
    own: ClassVar[Json] = {"thinkers": True}
    voice_chosen = False
    """True if the client has chosen the voice."""

    def update(self, given: Any) -> None:
        """Take the fields of a `session.update`, all or none. Raises `Fault`."""
        super().update(given)
        output = (given.get("audio") or {}).get("output") or {}
        self.voice_chosen = self.voice_chosen or output.get("voice") is not None

    @property
    def interruptions(self) -> bool:
        """Return whether the caller's voice interrupts replies."""
        return self.turn_detection is None or bool(self.turn_detection["interrupt_response"])

    @property
    def input_law(self) -> Law | None:
        """The law of the client's audio; None for PCM16 at 24 kHz."""
        return LAWS[self._shown["audio"]["input"]["format"]["type"]]

    @property
    def output_law(self) -> Law | None:
        """Return the law of the audio to the client; None for PCM16 at 24 kHz."""
        return LAWS[self._shown["audio"]["output"]["format"]["type"]]

    @property
    def options(self) -> CallOptions:
        """Return the session's choices as options of the call."""
        shown, detection = self._shown, self.turn_detection or {}
        return CallOptions(
            instructions=self.instructions,
            tools=tuple(
                ClientTool(tool["name"], tool.get("description") or "", tool.get("parameters") or {"type": "object"})
                for tool in self.tools
            ),
            tool_choice=self.tool_choice,
            thinkers=shown["thinkers"],
            voice=self.voice if self.voice_chosen else "",
            detects_turns=bool(detection),
            answers=bool(detection.get("create_response")),
            style=EAGERNESS.get(detection.get("eagerness", "auto")),
            idle_nudge_s=(detection.get("idle_timeout_ms") or 0) / 1000,
        )
