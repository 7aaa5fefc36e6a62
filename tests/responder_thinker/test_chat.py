"""`responder-thinker chat` against a server on a real socket."""

import asyncio
import io
import os
import pty
import signal
from pathlib import Path

import pytest
from rich.console import Console

from backend.errors import ModelUnavailable
from responder_thinker.chat import chat
from tests.http.world import World, world
from tests.support.agents import call
from tests.support.running_server import COMMAND
from tests.support.waiting import until

ROUTE = '{"domain": "knowledge", "query": "Why is the sky blue?"}'


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the cookies of the person who runs the tests out of every test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


async def typed(here: World, *lines: str, conversation: str | None = None) -> str:
    """The output of the terminal for these typed lines."""
    out = io.StringIO()
    console = Console(file=out, width=200, highlight=False, force_terminal=False)
    stdin = io.StringIO("".join(f"{line}\n" for line in lines))
    assert await chat(conversation=conversation, url=here.url, console=console, stdin=stdin) == 0
    return out.getvalue()


async def test_a_conversation_goes_on_in_the_next_command(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["Hello ", "Ana."], ["It is Ana."])) as here:
        shown = await typed(here, "I am Ana.", conversation="trip")
        assert "you: I am Ana.\nassistant: Hello Ana.\n" in shown and "--conversation trip" in shown
        assert "assistant: It is Ana.\n" in await typed(here, "Who am I?", "/quit", "never", conversation="trip")
        assert [m["content"] for m in here.model.requests[-1]["messages"][1:]] == [
            "I am Ana.",
            "Hello Ana.",
            "Who am I?",
        ]
        assert (tmp_path / "state/responder-thinker/callers.json").stat().st_mode & 0o077 == 0


async def test_the_actions_of_thinkers_are_shown(tmp_path: Path) -> None:
    scenes = ([call("route_to_thinker", ROUTE)], ["Scattering."], ["Because of scattering."])
    async with world(tmp_path, scenes=scenes) as here:
        shown = await typed(here, "Why is the sky blue?")
    assert "→ Knowledge asked: “Why is the sky blue?”" in shown and "✓ Knowledge answered" in shown
    assert "assistant: Because of scattering." in shown


async def test_an_error_is_shown_and_the_conversation_goes_on(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=([ModelUnavailable("The model is gone.")], ["Here."])) as here:
        shown = await typed(here, "Hello?", "/mode odd", "/mode concise", "Again?")
    assert "The model is gone." in shown and "There is no such mode." in shown
    assert "Mode: concise." in shown and "assistant: Here." in shown


async def test_the_help_lists_the_commands_and_the_transcript_is_shown(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["Hello ", "Ana."], ["Again."])) as here:
        shown = await typed(here, "/history", "I am Ana.", "/help", "/history", "/hlep", "/new", "Hello?")
    assert "Nothing has been said yet." in shown
    assert "/history  shows what was said" in shown and "There is no command /hlep." in shown
    assert shown.count("you: I am Ana.\n") == 2 and shown.count("assistant: Hello Ana.\n") == 2
    assert len(here.model.requests[-1]["messages"]) == 2  # a new conversation: the instructions and the question


async def test_at_a_terminal_lines_are_edited_and_the_prompt_waits_for_the_answer(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["Hello Ana."],)) as here:
        parent, child = pty.openpty()
        environment = os.environ | {"TERM": "dumb", "COLUMNS": "200"}
        terminal = await asyncio.create_subprocess_exec(
            COMMAND, "chat", "--url", here.url, stdin=child, stdout=child, stderr=child, env=environment
        )
        os.close(child)
        shown = b""

        async def read_until(words: bytes) -> None:
            nonlocal shown
            async with asyncio.timeout(30):
                while words not in shown:
                    shown += await asyncio.to_thread(os.read, parent, 4096)

        await read_until(b"you: ")
        os.write(parent, b"I am Ann\x7fa.\n".replace(b"nn\x7fa", b"nb\x7fa"))  # a typing mistake, deleted
        await read_until(b"Hello Ana.\r\n")
        await read_until(b"Hello Ana.\r\nyou: ")
        os.write(parent, b"/quit\n")
        assert await asyncio.wait_for(terminal.wait(), 30) == 0
        os.close(parent)
    assert here.model.requests[-1]["messages"][-1]["content"] == "I am Ana."


async def test_an_interrupt_stops_the_answer_and_a_second_one_ends(tmp_path: Path) -> None:
    theirs, ours = os.pipe()
    stdin = os.fdopen(theirs)
    os.write(ours, b"Hello?\n")
    async with world(tmp_path, scenes=(["One", 30.0],)) as here:
        out = io.StringIO()
        console = Console(file=out, width=200, highlight=False)
        talking = asyncio.create_task(chat(url=here.url, console=console, stdin=stdin))
        await until(lambda: "One" in out.getvalue())
        signal.raise_signal(signal.SIGINT)
        await until(lambda: "(stopped)" in out.getvalue())
        assert here.model.open == 0
        signal.raise_signal(signal.SIGINT)
        assert await asyncio.wait_for(talking, 15) == 0
    os.close(ours)
    stdin.close()


async def test_without_a_server_the_command_prints_two_lines_and_fails(tmp_path: Path) -> None:
    out = io.StringIO()
    assert await chat(url="http://127.0.0.1:9", console=Console(file=out), stdin=io.StringIO("")) == 2
    assert "No server is responding" in out.getvalue()
