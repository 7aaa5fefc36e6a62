"""A story of a caller who pauses, and is transcribed."""

from typing import Any

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.utterances import UtteranceKind
from tests.turns.story import MS, Story


class Talk(Story):
    """A story of a caller who pauses."""

    def __init__(self, **limits: Any) -> None:
        super().__init__(**{"style": EndpointingStyle.BALANCED, "reader": True} | limits)
        self.pieces = 0
        self.voiced_ms = 0

    def say(self, ms: int = 1500) -> None:
        """Speak for so long, and fall silent."""
        self.tell(ev.SpeechStarted())
        self.wait(ms / 1000)
        self.voiced_ms = ms
        self.tell(ev.SpeechPaused(ms))

    def stop(self) -> None:
        """Let the first deadline pass: 300 ms of silence."""
        self.wait(0.28)
        self.tell(ev.SpeechStopped(self.voiced_ms, 300))

    def utter(self, ms: int, read: UtteranceKind | None, words: str = "") -> None:
        """Say something short, which is read in the pause after it."""
        self.say(ms)
        self.wait(0.15)
        self.tell(ev.UtteranceRead(read, words))

    def sound(self, seconds: float, read: UtteranceKind, words: str = "") -> None:
        """Let so much time go by, in which the voice goes on, and is read."""
        self.wait(seconds)
        self.tell(ev.UtteranceRead(read, words, partial=True))

    def call_tool(self, reply: str = "r1", name: str = "route_to_thinker") -> None:
        """The last requested reply begins with a tool call."""
        request = self.all(do.CreateReply)[-1].request
        self.tell(ev.ReplyStarted(reply, request), ev.ToolCalled(reply, "c1", name, "{}"))

    def transcribe(self, words: str, failed: bool = False) -> None:
        self.pieces += 1
        self.tell(ev.InputCommitted(f"u{self.pieces}"), ev.UserTranscribed(f"u{self.pieces}", words, failed))

    def answer(self, reply: str = "r1") -> None:
        """The provider sends the last requested reply."""
        request = self.all(do.CreateReply)[-1].request
        self.tell(
            ev.ReplyStarted(reply, request),
            ev.ReplyText(reply, f"i-{reply}", "It is sunny."),
            ev.ReplyAudio(reply, f"i-{reply}", bytes(1000 * MS)),
            ev.ReplyFinished(reply, "completed", input_tokens=100, output_tokens=20),
        )


def replying(**limits: Any) -> Talk:
    """A long reply is being spoken."""
    talk = Talk(**limits)
    talk.tell(ev.TextTyped("hello"))
    talk.reply(ms=9000, text="one two three four five six seven eight nine")
    return talk
