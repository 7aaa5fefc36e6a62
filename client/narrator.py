"""Prints a call's events on a terminal, one line each, as they arrive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from backend.errors import VoiceError

MARKS = {"routed": "→", "working": "…", "complete": "✓", "failed": "✗", "stale": "·", "cancelled": "✗"}


class Narrator:
    """Prints what happens in a call; keeps nothing."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def connected(self, session_id: str, transport: str) -> None:
        """Print that the call is connected."""
        self._print(f"[dim]connected over {transport}, session {escape(session_id)}[/]")

    def on_event(self, type_: str, data: dict[str, Any]) -> None:
        """Print one event; those of no interest to a reader are left out."""
        match type_:
            case "session_started":
                self._print(f"[dim]talking to the {self._text(data, 'responder')}: {self._text(data, 'model')}[/]")
            case "transcript":
                who = "you" if data.get("role") == "user" else "assistant"
                self._print(f"[bold]{who}:[/] {self._text(data, 'content')}")
            case "transcript_interrupted":
                self._print(f"[bold]assistant (interrupted):[/] {self._text(data, 'heard')}")
            case "thinker" if data.get("event") != "working" or data.get("detail"):
                self._print(self._thinker(data))
            case "error":
                self._print(f"[red]{self._text(data, 'message')}[/] {self._text(data, 'hint')}")
            case "session_ended":
                self._print(f"[dim]session ended: {self._text(data, 'reason')}[/]")

    def failed(self, error: VoiceError) -> None:
        """Print why a call could not be made."""
        self._print(f"[red]{escape(str(error))}[/] {escape(error.hint)}")

    def finished(self, answered: bool, out: Path | None) -> None:
        """Print that the call is over and where its sound is."""
        if not answered:
            self._print("[red]Nothing was heard.[/] Does the file hold speech, and does the server's log say more?")
        elif out is not None:
            self._print(f"[dim]what was heard is in {escape(str(out))}[/]")

    def _thinker(self, data: dict[str, Any]) -> str:
        event = str(data.get("event"))
        more = [self._text(data, "label") or self._text(data, "domain"), event]
        if event == "routed":
            more.append(f"“{self._text(data, 'query')}”")
        if detail := self._text(data, "detail"):
            more.append(detail)
        if event in ("complete", "failed", "stale", "cancelled"):
            more.append(f"after {float(data.get('elapsed_ms') or 0) / 1000:.1f} s")
        if source := self._text(data, "source"):
            more.append(f"({source})")
        if problem := self._text(data, "error"):
            more.append(problem)
        return f"[cyan]{MARKS.get(event, '·')} {' '.join(more)}[/]"

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)

    @staticmethod
    def _text(data: dict[str, Any], key: str) -> str:
        return escape(str(data.get(key) or ""))
