"""Prints a call's events on a terminal, one line each, as they arrive."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from backend.errors import VoiceError

MARKS = {"routed": "→", "working": "…", "complete": "✓", "failed": "✗", "stale": "·", "cancelled": "✗"}
STATES = {"routed": "asked:", "complete": "answered", "stale": "answered late", "cancelled": "was cancelled"}
SOURCES = {"live": "live data", "cache": "from cache", "sample": "sample data", "model": "model's knowledge"}
ENDS = {
    "idle": "there was no speech for a while",
    "disconnected": "one side hung up",
    "network_lost": "the connection was lost",
    "never_connected": "no connection was made",
    "shutdown": "the server is shutting down",
    "max_minutes": "it reached its time limit",
    "budget": "today's talking time is used up",
    "responder_gone": "the voice service is not responding",
    "responder_refused": "the voice service refused the call",
    "operator": "the operator ended it",
    "error": "an error in the server",
}
"""The end of a call in words, by the server's reason."""


class Narrator:
    """Prints the events of a call; keeps nothing."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def connected(self, session_id: str, transport: str) -> None:
        """Print that the call is connected."""
        self._print(f"[dim]Connected over {transport}, session {escape(session_id)}[/]")

    def on_event(self, type_: str, data: dict[str, Any]) -> None:
        """Print one event, unless it does not matter to a reader."""
        match type_:
            case "session_started":
                self._print(f"[dim]Talking to: {self._text(data, 'responder')}: {self._text(data, 'model')}[/]")
            case "transcript":
                who = "you" if data.get("role") == "user" else "assistant"
                self._print(f"[bold]{who}:[/] {self._text(data, 'content')}")
            case "transcript_interrupted":
                self._print(f"[bold]assistant (interrupted):[/] {self._text(data, 'heard')}")
            case "thinker" if data.get("event") != "working" or data.get("detail"):
                self._print(self._thinker(data))
            case "turn_metrics":
                self._print(f"[dim]Time to first sound: {self._seconds(data, 'first_sound_ms')}[/]")
            case "answer_metrics":
                self._print(f"[dim]Time to the answer: {self._seconds(data, 'answer_ms')}[/]")
            case "error":
                self._print(f"[red]{self._text(data, 'message')}[/] {self._text(data, 'hint')}")
            case "session_ended":
                reason = self._text(data, "reason")
                self._print(f"[dim]The call ended: {ENDS.get(reason, reason)}.[/]")

    def failed(self, error: VoiceError) -> None:
        """Print the error for which a call could not be made."""
        self._print(f"[red]{escape(str(error))}[/] {escape(error.hint)}")

    def finished(self, answered: bool, out: Path | None) -> None:
        """Print that the call is over, and the file with its audio."""
        if not answered:
            self._print(
                "[red]No answer was heard.[/] Check that the file contains speech, and look at the server's log."
            )
        elif out is not None:
            self._print(f"[dim]The reply was saved to {escape(str(out))}[/]")

    def _thinker(self, data: dict[str, Any]) -> str:
        event, name = str(data.get("event")), self._text(data, "label") or self._text(data, "domain")
        more = [f"{name}:" if event == "working" else f"{name} {STATES.get(event, event)}"]
        if event == "routed":
            more.append(f"“{self._text(data, 'query')}”")
        if detail := self._text(data, "detail"):
            more.append(detail)
        if event in ("complete", "failed", "stale", "cancelled"):
            more.append(f"after {self._seconds(data, 'elapsed_ms')}")
        if source := self._text(data, "source"):
            more.append(f"({SOURCES.get(source, source)})")
        if problem := self._text(data, "error"):
            more.append(problem)
        return f"[cyan]{MARKS.get(event, '·')} {' '.join(more)}[/]"

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)

    @staticmethod
    def _seconds(data: dict[str, Any], key: str) -> str:
        return f"{float(data.get(key) or 0) / 1000:.1f} s"

    @staticmethod
    def _text(data: dict[str, Any], key: str) -> str:
        return escape(str(data.get(key) or ""))
