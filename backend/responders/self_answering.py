"""The codec of a provider that detects turns by itself and answers each without a request.

Our request for an answer is therefore not sent, but matched with the reply that comes by itself, which has no request
of ours in its metadata. That reply is kept until we want it. The provider has also answered a turn that the call
ignores, unheard, and ends a reply immediately when the caller talks over it.
"""

from collections.abc import Sequence

from backend.responders.base import Capabilities
from backend.responders.codec import RealtimeCodec, ServerEvent, Voice
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose, ResponderCommand
from backend.turns.events import ResponderEvent

HELD_LIMIT = 2_000
"""The most events kept of a reply before it is asked for; a longer reply is dropped."""


class SelfAnsweringCodec(RealtimeCodec):
    """The codec of one connection, which matches the replies that come by themselves with those we want."""

    def __init__(self, voice: Voice, capabilities: Capabilities) -> None:
        super().__init__(voice, capabilities)
        self._due = False
        """A turn is over, and its answer is not wanted yet."""
        self._wish = ""
        """The request that the next reply that comes by itself answers."""
        self._open = ""
        """The reply that was reported as begun, and not as ended."""
        self._held_id = ""
        self._held: list[ResponderEvent] = []

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

    def _translate(self, event: ServerEvent) -> list[ResponderEvent]:
        match event.type:
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
        """Forget a reply that is not wanted, and a wanted one that has not come."""
        self._due, self._wish, self._held_id, self._held = False, "", "", []

    def _cut_off(self) -> list[ResponderEvent]:
        """End the reply that the caller talked over, if its end was not reported."""
        reply, self._open = self._open, ""
        return [ev.ReplyFinished(reply, "cancelled")] if reply else []
