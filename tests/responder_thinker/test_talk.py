"""`talk` against a whole server: what it prints, what it saves, and how it reports errors."""

import io
import socket
from pathlib import Path

import httpx2
import pytest
from rich.console import Console

from backend.media.sound_file import read_audio, write_wav
from responder_thinker.signalling import Signalling
from responder_thinker.talk import HEARD_AN_ANSWER, HEARD_NOTHING, NOT_CONNECTED, talk
from tests.responder_thinker.parrot import ANSWER_HZ, ANSWER_MS, impatient, mute, parrot_server
from tests.support.leaks import holdings, released
from tests.support.tones import audible, pitch, tone

pytestmark = pytest.mark.realtime


def question(folder: Path) -> Path:
    path = folder / "question.wav"
    write_wav(path, tone(400, 300))
    return path


def screen() -> Console:
    return Console(file=io.StringIO(), width=200, highlight=False)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


async def test_a_question_is_asked_and_the_answer_printed_and_saved(tmp_path: Path) -> None:
    out, console = tmp_path / "reply.wav", screen()
    async with parrot_server(tmp_path) as url:
        code = await talk(question(tmp_path), out=out, url=url, quiet_after_s=1.0, console=console)
    assert code == HEARD_AN_ANSWER
    lines = shown(console).splitlines()
    assert "you: Will it [bold]rain?" in lines
    assert "assistant: It will." in lines
    assert any("Weather asked: “rain?”" in line for line in lines)
    assert any("Weather answered after 0.0 s (sample data)" in line for line in lines)
    assert [line for line in lines if "Time to" in line] == ["Time to first sound: 0.4 s", "Time to the answer: 1.6 s"]
    saved = read_audio(out)
    voice = b"".join(f for at in range(0, len(saved), 960) if audible(f := saved[at : at + 960]))  # type: ignore[arg-type]
    assert pitch(voice) == pytest.approx(ANSWER_HZ, rel=0.05)
    assert len(voice) / 48 == pytest.approx(ANSWER_MS, abs=120)


async def test_a_call_leaves_nothing_behind(tmp_path: Path) -> None:
    async with parrot_server(tmp_path) as url, httpx2.AsyncClient(base_url=url) as http:
        await Signalling(http).config()  # starts the server's own worker thread
        before = holdings()
        await talk(question(tmp_path), url=url, quiet_after_s=0.1, console=screen())
        await released(before)


async def test_silence_is_reported(tmp_path: Path) -> None:
    console = screen()
    async with parrot_server(tmp_path, mute) as url:
        assert await talk(question(tmp_path), url=url, within_s=0.5, console=console) == HEARD_NOTHING
    assert "No answer was heard" in shown(console)


async def test_a_call_that_the_server_ends_is_over(tmp_path: Path) -> None:
    console = screen()
    async with parrot_server(tmp_path, impatient) as url:
        assert await talk(question(tmp_path), url=url, within_s=20, console=console) == HEARD_NOTHING
    assert "The call ended: there was no speech for a while." in shown(console)


async def test_a_missing_server_is_a_plain_error(tmp_path: Path) -> None:
    console = screen()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert await talk(question(tmp_path), url=f"http://127.0.0.1:{port}", console=console) == NOT_CONNECTED
    assert f"No server is responding at http://127.0.0.1:{port}" in shown(console)


async def test_a_file_in_another_format_is_a_plain_error(tmp_path: Path) -> None:
    path, console = tmp_path / "text.wav", screen()
    path.write_text("not a sound")
    assert await talk(path, console=console) == NOT_CONNECTED
    assert "WAV" in shown(console)
