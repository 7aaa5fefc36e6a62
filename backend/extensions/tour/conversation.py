"""Text, voice, text: one conversation, begun in the terminal, gone on with in a real call, ended in the terminal."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import httpx2
from rich.console import Console

from backend.extensions.tour.toured_server import toured_server
from backend.extensions.tour.voice import spoken, voice_name
from backend.media.sound_file import write_wav
from responder_thinker.chat import Conversation
from responder_thinker.signalling import Signalling
from responder_thinker.talk import HEARD_AN_ANSWER, talk

ID = "trip"
BEFORE = ("My name is Ana, and I live in Seattle.", "Will it rain tomorrow?")
BY_VOICE = "What is my name?"
AFTER = ("What do you know about me?",)


async def run(console: Console) -> int:
    """The exit code: 0 if the call knew the typed words, and the later chat the spoken ones."""
    async with toured_server() as url, httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
        typing = Conversation(http, ID, console)
        console.print("[bold]Typed[/]")
        for line in BEFORE:
            await typing.say(line)
        console.print(f"\n[bold]Spoken[/], in a call that goes on with it, with the voice of {voice_name()}")
        heard = await _call(url, http, console)
        console.print("\n[bold]Typed[/] again")
        for line in AFTER:
            await typing.say(line)
        told = await Signalling(http).ask("GET", f"/api/conversations/{ID}")
    modes = [message["source_mode"] for message in told["messages"]]
    worked = heard and "Ana" in _answer_to(told["messages"], BY_VOICE) and "Ana" in told["messages"][-1]["content"]
    mark = "[green]✓[/]" if worked else "[red]✗[/]"
    console.print(f"\n{mark} one conversation: {modes.count('chat')} typed messages, {modes.count('voice')} spoken")
    return 0 if worked else 1


async def _call(url: str, http: httpx2.AsyncClient, console: Console) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        wav = Path(folder) / "question.wav"
        write_wav(wav, await spoken(BY_VOICE))
        code = await talk(wav, url=url, conversation=ID, cookies=http.cookies, console=console)
    return code == HEARD_AN_ANSWER


def _answer_to(messages: list[dict[str, Any]], question: str) -> str:
    """Return the words after `question`."""
    places = [index for index, message in enumerate(messages) if message["content"] == question]
    return " ".join(message["content"] for message in messages[places[0] + 1 :][:1]) if places else ""
