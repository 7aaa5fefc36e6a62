"""The contract of `Transport`, tried on the fake, WebSocket, WebRTC, and those of extensions."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from backend.media.frame import FRAME_BYTES, FRAME_MS, Frame
from backend.media.playout import DUCK_DB
from backend.transports.base import Transport
from backend.turns.events import Heard, PlaybackDrained, PlaybackEvent, PlaybackStarted
from tests.support.callers import OpenRig, fake_rig, webrtc_rig, websocket_rig
from tests.support.of_extensions import of_extensions
from tests.support.tones import audible, loudness_db, pitch, sounding_ms, tone

pytestmark = pytest.mark.realtime

RIGS = [fake_rig, websocket_rig, webrtc_rig]
RIGS += [rig for module in of_extensions("rigs") for rig in module.RIGS]
on_every_wire = pytest.mark.parametrize("open_rig", RIGS)

IN_FLIGHT = 3
"""Frames that may still be on the wire (two after a stall) or ring in the codec when a command is given."""


@on_every_wire
async def test_the_callers_frames_arrive_in_order(open_rig: OpenRig) -> None:
    async with open_rig() as rig, collected(rig.transport) as frames:
        await rig.say(tone(500, 120) + tone(1000, 120) + tone(2000, 120))
        await rig.pass_time(100)
        speech = b"".join(frame for frame in frames if audible(frame))
    assert {len(frame) for frame in frames} == {FRAME_BYTES}
    third = len(speech) // 3 // FRAME_BYTES * FRAME_BYTES
    pitches = [pitch(speech[at : at + third]) for at in (0, third, 2 * third)]
    assert pitches == pytest.approx([500, 1000, 2000], rel=0.15)


@on_every_wire
async def test_the_caller_hears_what_is_played(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        speech = tone(700, 300)
        assert rig.transport.play("a", speech)
        await rig.pass_time(600)
        heard = b"".join(rig.heard())
        assert pitch(heard) == pytest.approx(700, rel=0.05)
        assert len(heard) == pytest.approx(len(speech), abs=FRAME_BYTES)
        if rig.exact:
            assert heard == speech


@on_every_wire
async def test_a_watcher_sees_the_frame_of_each_slot(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        slots: list[Frame | None] = []
        rig.transport.watch_played(slots.append)
        await rig.pass_time(100)
        speech = tone(700, 300)
        rig.transport.play("a", speech)
        await rig.pass_time(600)
        assert slots[:3] == [None] * 3
        assert b"".join(frame for frame in slots if frame is not None) == speech
        assert len(slots) <= 700 / FRAME_MS + 3  # a slot that is due too late is left out


@on_every_wire
async def test_an_item_starts_once_and_the_queue_drains_once(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        events: list[PlaybackEvent] = []
        rig.transport.listen_to_playback(events.append)
        rig.transport.play("a", tone(700, 100))
        rig.transport.play("a", tone(700, 100))
        rig.transport.play("b", tone(900, 50))
        await rig.pass_time(500)
        assert events == [PlaybackStarted("a"), PlaybackStarted("b"), PlaybackDrained("b", 50)]


@on_every_wire
async def test_hold_silences_a_reply_within_a_frame(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        rig.transport.play("a", tone(700, 1000))
        await rig.pass_time(200)
        rig.transport.hold()
        before = len(rig.heard())
        await rig.pass_time(200)
        assert before > 0
        assert len(rig.heard()) <= before + IN_FLIGHT


@on_every_wire
async def test_flush_returns_how_much_was_heard(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        rig.transport.play("a", tone(700, 2000))
        rig.transport.play("b", tone(700, 500))
        await rig.pass_time(300)
        unfinished = rig.transport.flush()
        await rig.pass_time(120)
        assert [heard.item for heard in unfinished] == ["a", "b"]
        assert unfinished[1].played_ms == 0
        assert unfinished[0].played_ms == pytest.approx(len(rig.heard()) * FRAME_MS, abs=rig.slack_ms)


@on_every_wire
async def test_duck_lowers_the_volume_within_60_ms_and_unduck_restores_it(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        speech = tone(700, 900)
        rig.transport.play("a", speech)
        await rig.pass_time(200)
        full, before = loudness_db(rig.heard()[-1]), len(rig.heard())
        rig.transport.duck()
        await rig.pass_time(400)
        ducked = rig.heard()[before:]
        rig.transport.unduck()
        await rig.pass_time(800)
        begins = next(number for number, frame in enumerate(ducked) if loudness_db(frame) < full - 1)
        assert begins == 0 or rig.slack_ms  # what a wire carries, or a late caller has not read, was sent before
        wire = 0 if rig.exact else 1  # a codec rings on
        lower = [loudness_db(frame) - full for frame in ducked[begins + (60 // FRAME_MS) - 1 + wire :]]
        assert len(lower) >= 5
        assert lower == pytest.approx([-DUCK_DB] * len(lower), abs=2)
        after = rig.heard()[before + len(ducked) + 100 // FRAME_MS :]
        assert loudness_db(after[2]) == pytest.approx(full, abs=1)
        assert sounding_ms(rig.heard()) == pytest.approx(900, abs=25)


@on_every_wire
async def test_restore_continues_where_flush_stopped(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        events: list[PlaybackEvent] = []
        rig.transport.listen_to_playback(events.append)
        speech = tone(700, 400)
        rig.transport.play("a", speech)
        await rig.pass_time(140)
        assert rig.transport.flush() and not rig.transport.flush()
        await rig.pass_time(100)
        assert rig.transport.restore() and not rig.transport.restore()
        await rig.pass_time(600)
        assert events == [PlaybackStarted("a"), PlaybackStarted("a"), PlaybackDrained("a", 400)]
        if rig.exact:
            assert b"".join(rig.heard()) == speech
        else:  # a codec rings on for some milliseconds into the frame after a sound ends, here twice
            assert sounding_ms(rig.heard()) == pytest.approx(400, abs=25)


@on_every_wire
async def test_receiving_ends_when_the_caller_hangs_up(open_rig: OpenRig) -> None:
    async with open_rig() as rig, asyncio.timeout(5):
        reader = asyncio.create_task(read_all(rig.transport))
        await rig.pass_time(100)
        await rig.hang_up()
        await reader


@on_every_wire
async def test_close_ends_receiving_and_may_be_called_twice(open_rig: OpenRig) -> None:
    async with open_rig() as rig, asyncio.timeout(5):
        reader = asyncio.create_task(read_all(rig.transport))
        await rig.pass_time(100)
        await rig.transport.close()
        await rig.transport.close()
        await reader


@on_every_wire
async def test_a_fault_of_the_receiver_ends_receiving_but_not_playing(open_rig: OpenRig) -> None:
    def fail(frame: Frame) -> None:
        raise RuntimeError("a mistake")

    async with open_rig() as rig, asyncio.timeout(5):
        receiving = asyncio.create_task(rig.transport.receive_frames(fail))
        await rig.say(tone(500, 60))
        with pytest.raises(RuntimeError):
            await receiving
        rig.transport.play("a", tone(700, 100))
        await rig.pass_time(300)
        assert rig.heard()


@on_every_wire
async def test_commands_after_the_end_have_no_effect(open_rig: OpenRig) -> None:
    async with open_rig() as rig:
        await rig.transport.close()
        rig.transport.play("a", tone(700, 100))
        rig.transport.hold()
        rig.transport.resume()
        rig.transport.duck()
        rig.transport.unduck()
        assert rig.transport.flush() == (Heard("a", 0),)
        assert rig.transport.restore()


@asynccontextmanager
async def collected(transport: Transport) -> AsyncIterator[list[Frame]]:
    """Collect the frames of a transport in the background while the block runs."""
    frames: list[Frame] = []
    task = asyncio.create_task(transport.receive_frames(frames.append))
    try:
        yield frames
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def read_all(transport: Transport) -> list[Frame]:
    """Return every frame until the end."""
    frames: list[Frame] = []
    await transport.receive_frames(frames.append)
    return frames
