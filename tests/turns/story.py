"""Stories for a turn machine: events, the passing of time, and the machine's commands. Nothing waits."""

from typing import Any, TypeVar

from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Command, Purpose
from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.limits import TurnLimits
from backend.turns.machine.floor.state import Floor
from backend.turns.turn import TurnMachine

MS = 48


T = TypeVar("T")


class Story:
    """Gives a machine events and records its commands."""

    def __init__(self, **limits: Any) -> None:
        limits.setdefault("style", EndpointingStyle.EAGER)  # the pending turn is tested in talk.py
        self.machine = TurnMachine(TurnLimits(**limits))
        self.now = 0.0
        self.said: list[Command] = []
        self.tell(ev.CallStarted())

    def tell(self, *events: ev.Event) -> list[Command]:
        said = [command for event in events for command in self.machine.receive(event, self.now)]
        self.said += said
        return said

    def wait(self, seconds: float) -> list[Command]:
        """Let time go by, meeting every deadline on the way."""
        until, said = self.now + seconds, []
        while (due := self.machine.deadline()) is not None and due <= until:
            self.now = max(due, self.now)
            said += self.machine.expire(self.now)
        self.now = until
        self.said += said
        return said

    def all(self, kind: type[T]) -> list[T]:
        return [command for command in self.said if isinstance(command, kind)]

    def published(self, kind: type[T]) -> list[T]:
        return [command.event for command in self.all(do.Publish) if isinstance(command.event, kind)]

    def floor(self) -> Floor:
        return self.machine.floor

    def ask(self) -> None:
        """The caller says something; its reply is requested."""
        self.tell(ev.SpeechStarted())
        self.now += 1
        self.tell(ev.SpeechPaused(1000), ev.SpeechStopped(1000, 300))

    def reply(self, ms: int = 2000, text: str = "It is sunny in Seattle today.", reply: str = "r1") -> None:
        """The requested reply comes, whole, and begins to play."""
        request = self.all(do.CreateReply)[-1].request
        self.tell(
            ev.ReplyStarted(reply, request),
            ev.ReplyText(reply, f"i-{reply}", text),
            ev.ReplyAudio(reply, f"i-{reply}", bytes(ms * MS)),
            ev.ReplyFinished(reply, "completed"),
            ev.PlaybackStarted(f"i-{reply}"),
        )

    def hear(self, reply: str = "r1", text: str = "It is sunny in Seattle today.") -> None:
        """The requested reply comes, and is heard to its end."""
        self.reply(reply=reply, text=text)
        self.now += 2
        self.tell(ev.PlaybackDrained(f"i-{reply}", 2000))

    def call(self, *calls: str, reply: str = "r1", arguments: str = "{}") -> None:
        """The requested reply is nothing but tool calls."""
        request = self.all(do.CreateReply)[-1].request
        self.tell(ev.ReplyStarted(reply, request))
        self.tell(*(ev.ToolCalled(reply, call, "route_to_thinker", arguments) for call in calls))
        self.tell(ev.ReplyFinished(reply, "completed"))


def purposes(story: Story) -> list[Purpose]:
    return [command.purpose for command in story.all(do.CreateReply)]


def waits_told(story: Story, seconds: int, clip_s: float = 1.2) -> list[float]:
    """The seconds at which the caller was asked to wait, by clips of that length, over so many seconds."""
    began, heard = story.now, []
    while story.now - began < seconds:
        if clips := [each for each in story.wait(0.1) if isinstance(each, do.PlayClip)]:
            heard.append(round(story.now - began, 1))
            item = f"clip:{clips[0].clip}"
            story.tell(ev.PlaybackStarted(item))
            story.now += clip_s
            story.tell(ev.PlaybackDrained(item, round(clip_s * 1000)))
    return heard
