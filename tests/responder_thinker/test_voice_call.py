"""The client library against a whole server, and the program of its how-to."""

import asyncio
import re
from pathlib import Path

import pytest

from backend.media.frame import FRAME_BYTES
from backend.media.sound_file import read_audio
from responder_thinker.signalling import CallRefused, ReceivedEvent
from responder_thinker.voice_call import Transport, place_call
from tests.responder_thinker.parrot import ANSWER_HZ, ANSWER_MS, impatient, mute, parrot_server
from tests.support.tones import audible, pitch, tone

pytestmark = pytest.mark.realtime

ROOT = Path(__file__).parents[2]
HOWTO = ROOT / "docs" / "howto" / "python-client.md"
QUESTION = tone(400, 300)


def voiced(pcm: bytes) -> bytes:
    frames = (pcm[at : at + FRAME_BYTES] for at in range(0, len(pcm), FRAME_BYTES))
    return b"".join(frame for frame in frames if audible(frame))  # type: ignore[arg-type]


@pytest.mark.parametrize("transport", ["webrtc", "ws"])
async def test_events_and_audio_arrive_as_they_happen(tmp_path: Path, transport: Transport) -> None:
    events: list[ReceivedEvent] = []
    heard = bytearray()
    async with (
        parrot_server(tmp_path) as url,
        place_call(url, transport=transport, on_event=events.append, on_audio=heard.extend) as call,
    ):
        await call.say(QUESTION)
        assert await call.answered(within_s=20, quiet_after_s=1.0)
    assert [event.data["content"] for event in events if event.type == "transcript"] == [
        "Will it [bold]rain?",
        "It will.",
    ]
    assert pitch(voiced(bytes(heard))) == pytest.approx(ANSWER_HZ, rel=0.05)
    assert len(voiced(call.received.pcm())) / 48 == pytest.approx(ANSWER_MS, abs=120)


async def test_the_answer_to_a_first_question_is_not_taken_for_the_second_ones(tmp_path: Path) -> None:
    async with parrot_server(tmp_path) as url, place_call(url) as call:
        for _ in range(2):
            await call.say(QUESTION)
            assert await call.answered(within_s=20, quiet_after_s=1.0)
    assert len(voiced(call.received.pcm())) / 48 == pytest.approx(2 * ANSWER_MS, abs=240)


async def test_a_call_that_the_server_ends_has_the_reason(tmp_path: Path) -> None:
    async with parrot_server(tmp_path, impatient) as url, place_call(url) as call:
        assert not await call.answered(within_s=20)
        assert call.is_over and call.end_reason == "idle"


async def test_a_refusal_has_the_message_of_the_server(tmp_path: Path) -> None:
    async with parrot_server(tmp_path, mute, cap=1) as url, place_call(url):
        with pytest.raises(CallRefused, match="All lines are busy"):
            async with place_call(url):
                pass


async def test_an_error_of_a_callback_reaches_the_program(tmp_path: Path) -> None:
    def broken(event: ReceivedEvent) -> None:
        raise RuntimeError(f"cannot take {event.type}")

    async with parrot_server(tmp_path) as url:
        with pytest.raises(RuntimeError, match="cannot take session_started"):
            async with place_call(url, on_event=broken) as call:
                await call.say(QUESTION)


async def test_the_program_of_the_how_to_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    [program] = re.findall(r"```python\n(.*?)```", HOWTO.read_text(), re.S)
    async with parrot_server(tmp_path / "data") as url:
        code = compile(program.replace("http://localhost:8000", url), str(HOWTO), "exec")
        await asyncio.to_thread(exec, code, {})
    assert voiced(read_audio(tmp_path / "reply.wav"))
