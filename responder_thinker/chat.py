"""`responder-thinker chat`: typed turns in the terminal, in the same conversations as calls, with streamed answers."""

from __future__ import annotations

import asyncio
import importlib
import json
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TextIO

import httpx2
from rich.console import Console
from rich.markup import escape

from backend.errors import TransportLost, VoiceError
from responder_thinker.narrator import Narrator
from responder_thinker.signalling import CallRefused, Signalling, restore_cookie, save_cookie

SILENT_FOR_S = 60.0
"""Seconds without even a heartbeat after which a stream counts as dead."""
HELLO = "[dim]Type /help for the commands. Ctrl-C stops an answer, /quit ends the chat.[/]"
COMMANDS = {
    "/help": "lists the commands",
    "/history": "shows what was said in this conversation, typed and spoken",
    "/mode": "shows the mode and the others available; /mode NAME chooses one",
    "/new": "starts a new conversation",
    "/quit": "ends the chat",
}
NOT_CONNECTED = 2
END = ""
"""The line that is read at the end of the input."""


async def chat(
    *,
    conversation: str | None = None,
    url: str = "http://127.0.0.1:8000",
    console: Console | None = None,
    stdin: TextIO | None = None,
) -> int:
    """Converse until /quit or the end of the input; return the exit code. `conversation` continues one."""
    console = console or Console(highlight=False)
    timeout = httpx2.Timeout(10, read=SILENT_FOR_S)
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=timeout) as http:
        restore_cookie(http)
        try:
            await Signalling(http).config()
            save_cookie(http)
            await TypedConversation(http, conversation, console).run(stdin or sys.stdin)
            save_cookie(http)
        except VoiceError as error:
            Narrator(console).failed(error)
            return NOT_CONNECTED
    return 0


class TypedConversation:
    """One conversation with one server."""

    def __init__(self, http: httpx2.AsyncClient, conversation_id: str | None, console: Console) -> None:
        self._http = http
        self._id = conversation_id
        self._console = console
        self._narrator = Narrator(console)
        self._answering: asyncio.Task[None] | None = None
        self._cancelling: asyncio.Task[Any] | None = None
        self._line: asyncio.Future[str] | None = None
        """The line that is being typed."""
        self._written = ""

    async def run(self, stdin: TextIO) -> None:
        """Read and answer line by line. Raises `VoiceError` if the server is gone."""
        self._console.print(HELLO)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        echo = not stdin.isatty()
        read = stdin.readline if echo else _prompt
        try:
            while (line := await self._next(read)) != END and (words := line.strip()) != "/quit":
                await (self.say(words) if echo else self._handle(words))
        finally:
            loop.remove_signal_handler(signal.SIGINT)
        if self._id:
            self._console.print(f"[dim]To continue later: responder-thinker chat --conversation {escape(self._id)}[/]")

    async def _next(self, read: Callable[[], str]) -> str:
        """Return the next line, or `END`; a separate thread waits for it, and ends with the program."""
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()
        self._line = line

        def wait() -> None:
            typed = read()
            with suppress(RuntimeError):  # the conversation is over
                loop.call_soon_threadsafe(partial(_settle, line, typed))

        threading.Thread(target=wait, name="stdin", daemon=True).start()
        return await line

    async def say(self, line: str) -> None:
        """Show a line that was not typed here, and answer it. Raises `TransportLost`."""
        self._console.print(f"[bold]you:[/] {escape(line)}", soft_wrap=True)
        await self._handle(line)

    async def _handle(self, line: str) -> None:
        command, _, rest = line.partition(" ")
        try:
            if command == "/mode":
                await self._choose(rest.strip())
            elif command == "/help":
                for name, does in COMMANDS.items():
                    self._console.print(f"  {name:<9} [dim]{does}[/]")
            elif command == "/history":
                await self._show_history()
            elif command == "/new":
                self._id = None
                self._console.print("[dim]A new conversation.[/]")
            elif command.startswith("/"):
                self._console.print(f"[red]There is no command {escape(command)}.[/] Type /help for the commands.")
            elif line:
                self._answering = asyncio.create_task(self._answer(line), name="answer")
                await self._answering
        except CallRefused as error:
            self._narrator.failed(error)
        finally:
            self._answering = None

    def _interrupt(self) -> None:
        """Stop the answer on Ctrl-C; without one, end."""
        if self._answering is None:
            if self._line:
                _settle(self._line, END)
        elif self._id and (self._cancelling is None or self._cancelling.done()):  # one request to cancel at a time
            self._cancelling = asyncio.create_task(self._cancel(self._id), name="cancel")

    async def _cancel(self, conversation_id: str) -> None:
        try:
            await Signalling(self._http).ask("POST", f"/api/conversations/{conversation_id}/cancel")
        except VoiceError as error:
            self._narrator.failed(error)

    async def _choose(self, mode: str) -> None:
        if mode:
            await Signalling(self._http).ask("POST", f"/mode/{mode}")
        modes = await Signalling(self._http).ask("GET", "/mode")
        names = ", ".join(one["name"] for one in modes["modes"])
        self._console.print(f"[dim]Mode: {escape(modes['mode'])}. Available: {escape(names)}[/]", soft_wrap=True)

    async def _show_history(self) -> None:
        said = await Signalling(self._http).ask("GET", f"/api/conversations/{self._id}") if self._id else {}
        for message in said.get("messages", ()):
            who = {"user": "you", "assistant": "assistant"}.get(message["role"])
            if who:
                self._console.print(f"[bold]{who}:[/] {escape(message['content'])}", soft_wrap=True)
        if not said.get("messages"):
            self._console.print("[dim]Nothing has been said yet.[/]")

    async def _answer(self, text: str) -> None:
        self._written = ""
        body = {"message": text, "conversation_id": self._id, "platform": "terminal", "stream": True}
        try:
            async with self._http.sse("/api/multiturn", method="POST", json=body) as source:
                if source.response.is_error:
                    await source.response.aread()
                    raise CallRefused.of(source.response)
                async for event in source:
                    if event.data:
                        self._show(event.event, json.loads(event.data))
        except httpx2.TransportError as error:
            raise TransportLost(
                "The connection to the server was lost.",
                hint="Start `responder-thinker chat` again: the conversation is kept for an hour.",
            ) from error

    def _show(self, type_: str, data: dict[str, Any]) -> None:
        match type_:
            case "turn":
                self._id = data["conversation_id"]
            case "token":
                self._write(data["text"])
            case "thinker":
                self._narrator.on_event("thinker", data)
            case "tool_call" if data["tool_name"] != "route_to_thinker":
                self._console.print(f"[cyan]→ {escape(data['tool_name'])}[/]")
            case "tool_result" if data["error"] and data["tool_name"] != "route_to_thinker":
                self._console.print(f"[cyan]✗ {escape(data['tool_name'])} {escape(data['error'])}[/]")
            case "error":
                self._console.print(f"\n[red]{escape(data['message'])}[/] {escape(data['hint'])}", soft_wrap=True)
            case "final":
                self._end(data)

    def _write(self, text: str) -> None:
        if not self._written:
            self._console.print("[bold]assistant:[/] ", end="")
        self._written += text
        self._console.print(escape(text), end="", soft_wrap=True)

    def _end(self, reply: dict[str, Any]) -> None:
        """Print what the streamed words have not shown: an amended answer, a cancelled one, a lost history."""
        if reply["state"] == "cancelled":
            self._console.print(" [dim](stopped)[/]")
        elif self._written.strip() == reply["text"].strip():
            self._console.print()
        else:
            lead = "\n" if self._written else ""
            self._console.print(f"{lead}[bold]assistant:[/] {escape(reply['text'])}", soft_wrap=True)
        for citation in reply["citations"]:
            words = " – ".join(filter(None, (citation["title"], citation["url"])))
            self._console.print(f"    [dim]{escape(words)}[/]", soft_wrap=True)
        if reply["history"] == "unavailable":
            self._console.print("[dim]Answered without the earlier conversation: memory is not available.[/]")


def _prompt() -> str:
    """Return the line typed at the prompt, which can be edited with the arrow keys; they also recall earlier lines."""
    importlib.import_module("readline")
    try:
        return input("you: ") + "\n"
    except EOFError:
        return END


def _settle(line: asyncio.Future[str], typed: str) -> None:
    if not line.done():
        line.set_result(typed)
