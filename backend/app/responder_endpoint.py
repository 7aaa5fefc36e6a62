"""The line to the Realtime API, and how it fares."""

from __future__ import annotations

from collections.abc import Sequence

from backend.app.models import key_of
from backend.errors import ResponderUnavailable
from backend.responders.base import Briefing, Remembered, Responder
from backend.responders.codec import Voice
from backend.responders.realtime import Line, dial
from backend.settings.settings import Settings


class ResponderLine:
    """Dials the Realtime API, and remembers whether that worked the last time it was tried."""

    def __init__(self, settings: Settings) -> None:
        voice = Voice(settings.realtime_model, settings.realtime_voice, settings.transcript_model)
        self._line = Line(settings.realtime_url, key_of(settings), voice)
        self.trouble = ""
        """Why the last attempt failed; empty when it did not, or none was made."""

    def __repr__(self) -> str:
        return f"ResponderLine({self._line!r}, {self.trouble or 'ok'})"

    async def dial(self, briefing: Briefing, history: Sequence[Remembered]) -> Responder:
        """See `responders.base.Dial`."""
        try:
            responder = await dial(self._line, briefing, history)
        except ResponderUnavailable as error:
            self.trouble = f"{error} {error.hint}".strip()
            raise
        self.trouble = ""
        return responder
