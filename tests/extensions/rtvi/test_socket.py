"""The transport over a WebSocket: sound at the client's rate, a reply a little ahead of time, and a steady clock."""

import asyncio

import pytest

from backend.extensions.rtvi.frames import AudioFrame, read_frame, write_audio
from backend.extensions.rtvi.websocket import AHEAD_FRAMES
from backend.media.frame import FRAME_MS, Frame
from backend.media.resample import resample
from tests.extensions.rtvi.rigs import rtvi_call
from tests.support.tones import audible, pitch, tone
from tests.support.waiting import until

pytestmark = pytest.mark.realtime


@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000, 48_000])
async def test_sound_at_the_clients_rate_is_heard_at_ours(rate: int) -> None:
    frames: list[Frame] = []
    async with rtvi_call() as (transport, client):
        receiving = asyncio.create_task(transport.receive_frames(frames.append))
        spoken = resample(tone(700, 400), 24_000, rate)
        for at in range(0, len(spoken), 1024):
            await client.send(write_audio(spoken[at : at + 1024], rate))
        await until(lambda: sum(map(audible, frames)) >= 18)
        await asyncio.sleep(0.1)
        receiving.cancel()
    heard = b"".join(frame for frame in frames if audible(frame))
    assert len(heard) / 48 == pytest.approx(400, abs=2 * FRAME_MS)
    assert pitch(heard) == pytest.approx(700, rel=0.02)


async def test_a_reply_runs_ahead_and_the_slots_stay_in_step_with_time() -> None:
    slots: list[Frame | None] = []
    served_at: list[float] = []
    loop = asyncio.get_running_loop()

    def note(frame: Frame | None) -> None:
        slots.append(frame)
        served_at.append(loop.time())

    async with rtvi_call() as (transport, client):
        transport.watch_played(note)
        came: list[bytes] = []
        for hertz in (500, 900):
            transport.play(str(hertz), tone(hertz, 400))
            await asyncio.sleep(0.8)
        async with asyncio.timeout(10):
            while len(came) < 40:
                frame = read_frame(bytes(await client.recv(decode=False)))
                assert isinstance(frame, AudioFrame) and (frame.rate, frame.channels) == (24_000, 1)
                came.append(frame.pcm)
    assert b"".join(came) == tone(500, 400) + tone(900, 400)
    lasted_ms = (served_at[-1] - served_at[0]) * 1000
    assert (len(slots) - 1) * FRAME_MS < lasted_ms + 4 * FRAME_MS, "the lead takes no slots before their time"
    first = next(index for index, frame in enumerate(slots) if frame is not None)
    assert all(frame is not None for frame in slots[first : first + AHEAD_FRAMES + 1])


async def test_the_last_messages_leave_before_the_end() -> None:
    async with rtvi_call() as (transport, client):
        transport.protocol.receive('{"label": "rtvi-ai", "id": "m1"}')
        await transport.close()
        frame = read_frame(bytes(await client.recv(decode=False)))
        assert isinstance(frame, bytes) and b"has no type" in frame
        await client.wait_closed()
        assert client.close_code == 1000
