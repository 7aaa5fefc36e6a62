"""A call's steps as RTVI messages. Pure: events and commands in, JSON objects out.

`user-started-speaking` comes when the caller has the floor, since clients take it for an interruption: a cough or
"mm-hmm" over a reply does not cause it.

    in the call                              to the client
    ---------------------------------------  --------------------------------------------------------
    FloorChanged to user, from user          user-started-speaking, user-stopped-speaking
    TranscriptDelta, -Completed of the user  user-transcription, user-llm-text
    TranscriptDelta of the assistant         bot-llm-started, bot-llm-text, bot-output
    ReplyWorded                              bot-llm-stopped
    PlaybackStarted                          bot-tts-started, bot-started-speaking, bot-tts-text
    PlaybackFinished, FloorChanged           bot-tts-stopped, bot-stopped-speaking
    TranscriptCompleted, -Interrupted        bot-output
    RunThinker, and how it ended             llm-function-call-started, -in-progress, -stopped
    TurnMeasured                             metrics
    HangUp over a limit                      error
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from backend import page_events as page
from backend.extensions.rtvi.messages import error, message
from backend.extensions.rtvi.spoken_words import SpokenWords
from backend.runtime.json_objects import Json, decode_object
from backend.turns import commands as do
from backend.turns import events as ev

SPEAKING = frozenset({"assistant", "held"})
"""Floors during which a reply is spoken."""
TYPED = "typed-"
"""The prefix of the names of typed items: the client knows their words."""
ENDS: Mapping[str, str] = {
    "max_minutes": "The call has reached its longest duration. Call again to go on.",
    "budget": "Your budget is used up. Try again when it begins again, or ask the operator for more.",
    "responder_gone": "The model cannot be reached at the moment. Call again in a minute.",
    "responder_refused": "The model's provider refuses this server. Its operator finds the reason in the log.",
    "shutdown": "The server is shutting down. Call again: another one may answer.",
}
"""Reasons for a call's end that are reported, with the text for the client."""
ITEMS_LIMIT = 32
"""The most items of the caller's with a transcript in parts."""


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class RtviTranslator:
    """Translates the steps of one call, in order."""

    def __init__(self, is_client_tool: Callable[[str], bool], now: Callable[[], str] = _now) -> None:
        """`now` returns the time as clients show it."""
        self.legacy = False
        """True if the client speaks the protocol's first version."""
        self._is_client_tool = is_client_tool
        self._now = now
        self._words = SpokenWords()
        self._partial: dict[str, str] = {}  # the caller's words so far, by item
        self._calls: dict[str, str] = {}  # tool calls under way → the function's name
        self._wording = ""  # the item that gets words now
        self._floor = "listening"
        self._speaking = False
        self._out: list[Json] = []

    @property
    def awaits_client(self) -> bool:
        """Return whether the client still has functions to carry out."""
        return any(self._is_client_tool(name) for name in self._calls.values())

    def step(self, event: ev.Event | None, commands: Sequence[do.Command]) -> list[Json]:
        """Return the messages for one step of the call."""
        self._out = []
        self._words.legacy = self.legacy
        match event:
            case ev.PlaybackStarted(item):
                self._on_sound(item)
            case ev.ThinkerFinished(call, output):
                self._call_over(call, result=output)
            case ev.ToolAnswered(call, output):
                self._call_over(call, result=output)
            case ev.ThinkerFailed(call) | ev.ThinkerDismissed(call):
                self._call_over(call)
        for command in commands:
            self._on_command(command)
        return self._out

    def _on_command(self, command: do.Command) -> None:
        match command:
            case do.Publish(event):
                self._on_page_event(event)
            case do.RunThinker(call, name, arguments):
                self._call_begun(call, name, arguments)
            case do.CancelThinker(call):
                self._call_over(call)
            case do.CancelReply() | do.FlushPlayback():
                self._worded()
            case do.HangUp(reason) if reason in ENDS:
                self._out.append(error(ENDS[reason], fatal=True))

    def _on_page_event(self, event: page.PageEvent) -> None:
        match event:
            case page.FloorChanged(floor):
                self._on_floor(floor)
            case page.TranscriptDelta("user", item, delta):
                self._on_partial(item, delta)
            case page.TranscriptCompleted("user", item, words):
                self._on_transcript(item, words)
            case page.TranscriptDelta("assistant", item, delta):
                self._on_words(item, delta)
            case page.ReplyWorded(item):
                self._out += self._words.worded(item)
                self._worded()
            case page.TranscriptCompleted("assistant", item):
                self._out += self._words.heard(item)
            case page.TranscriptInterrupted(item, heard):
                self._out += self._words.heard(item, heard)
            case page.PlaybackFinished():
                self._fall_silent()
            case page.TurnMeasured(first_sound_ms=first_sound_ms):
                self._say("metrics", {"ttfb": [{"processor": "responder-thinker", "value": first_sound_ms / 1000}]})

    # --- the caller -----------------------------------------------------------------------------------------

    def _on_floor(self, floor: str) -> None:
        before, self._floor = self._floor, floor
        if floor == "user" and before != "user":
            self._say("user-started-speaking")
        if floor not in SPEAKING:
            self._fall_silent()
        if before == "user" and floor != "user":
            self._say("user-stopped-speaking")

    def _on_partial(self, item: str, delta: str) -> None:
        self._partial[item] = words = self._partial.get(item, "") + delta
        if len(self._partial) > ITEMS_LIMIT:
            del self._partial[next(iter(self._partial))]
        self._transcription(words, final=False)

    def _on_transcript(self, item: str, words: str) -> None:
        self._partial.pop(item, None)
        if not words:
            return
        if not item.startswith(TYPED):
            self._transcription(words, final=True)
        self._say("user-llm-text", {"text": words})

    def _transcription(self, words: str, *, final: bool) -> None:
        data = {"text": words.strip(), "final": final, "timestamp": self._now(), "user_id": ""}
        self._say("user-transcription", data)

    # --- the assistant ----------------------------------------------------------------------------------------

    def _on_words(self, item: str, delta: str) -> None:
        if self._wording != item:
            self._worded()
            self._wording = item
            self._say("bot-llm-started")
        self._say("bot-llm-text", {"text": delta})
        self._out += self._words.grew(item, delta)

    def _worded(self) -> None:
        if self._wording:
            self._wording = ""
            self._say("bot-llm-stopped")

    def _on_sound(self, item: str) -> None:
        if not self._speaking:
            self._speaking = True
            self._say("bot-tts-started")
            self._say("bot-started-speaking")
        if item.startswith(do.CLIP_ITEM):
            words = do.CLIP_WORDS[do.Clip(item.removeprefix(do.CLIP_ITEM))]
            self._out += self._words.grew(item, words)
        self._out += self._words.sounds(item)
        if item.startswith(do.CLIP_ITEM):
            self._out += self._words.heard(item)

    def _fall_silent(self) -> None:
        if self._speaking:
            self._speaking = False
            self._say("bot-tts-stopped")
            self._say("bot-stopped-speaking")

    # --- functions ----------------------------------------------------------------------------------------------

    def _call_begun(self, call: str, name: str, arguments: str) -> None:
        """Report a function call. The client carries out its own functions, and gets only the names of the server's."""
        self._calls[call] = name
        if not self._is_client_tool(name):
            self._say("llm-function-call-started", {"function_name": name})
            return
        given = _object(arguments)
        if self.legacy:
            self._say("llm-function-call", {"function_name": name, "tool_call_id": call, "args": given})
            return
        self._say("llm-function-call-started", {"function_name": name})
        self._say("llm-function-call-in-progress", {"function_name": name, "tool_call_id": call, "arguments": given})

    def _call_over(self, call: str, result: str | None = None) -> None:
        name = self._calls.pop(call, None)
        if name is None:
            return
        data: Json = {"function_name": name, "tool_call_id": call, "cancelled": result is None}
        if result is not None and self._is_client_tool(name):
            data["result"] = result
        self._say("llm-function-call-stopped", data)

    def _say(self, kind: str, data: Any = None) -> None:
        self._out.append(message(kind, data))


def _object(arguments: str) -> Json:
    """Return a call's arguments as an object; an empty one if the model sent something else."""
    try:
        return decode_object(arguments)
    except (msgspec.DecodeError, RecursionError):
        return {}
