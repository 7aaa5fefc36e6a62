"""A call is recorded once its caller agrees: both sides on one clock, and only the played part of the assistant."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.errors import BadRequest, Forbidden
from backend.extensions.recordings.store import RecordingStore, StoredRecording
from backend.transports.webrtc.transport import WebRTCTransport, accept_offer
from responder_thinker.webrtc import WebRTCCaller
from tests.call.world import PlacedCall, placed_call, settle
from tests.extensions.recordings.recorded import channels, files_in, loud_spans, recording_into, store_in
from tests.support.real_call import LOOPBACK
from tests.support.tones import tone
from tests.support.waiting import until


@asynccontextmanager
async def webrtc_call(store: RecordingStore, **more: Any) -> AsyncIterator[tuple[PlacedCall, WebRTCCaller]]:
    """A call over real WebRTC; the test is its Responder."""
    caller = WebRTCCaller(LOOPBACK)
    answer, transport = await accept_offer(await caller.offer(), LOOPBACK)
    try:
        await caller.accept(answer)
        await caller.connected()
        async with placed_call(transport=transport, open_recorder=recording_into(store), **more) as call:
            await until(lambda: call.events_of("session_started") != [])
            yield call, caller
    finally:
        assert isinstance(transport, WebRTCTransport)
        await transport.close()
        await caller.close()


def extent(side: NDArray[np.int16]) -> tuple[int, int]:
    """The spans, in milliseconds, in which a side sounds. On a busy machine a packet may come late."""
    spans = loud_spans(side)
    return spans[0][0], spans[-1][1]


async def finished(call: PlacedCall, store: RecordingStore, reason: str = "disconnected") -> StoredRecording:
    """Hang up, and return the recording."""
    call.live.hang_up(reason)
    await call.task
    await store.writer.settle(store.writer.active, 5.0)
    (found,) = await store.all_of("ada")
    return found


@pytest.mark.alone
@pytest.mark.realtime
async def test_both_sides_are_aligned_to_within_40_ms(store: RecordingStore) -> None:
    now = asyncio.get_running_loop().time
    async with webrtc_call(store) as (call, caller):
        call.live.record(True)
        await asyncio.sleep(0.3)
        caller.say(tone(700, 400))
        await caller.said()
        said_at = now()
        await until(lambda: call.responder.requests != [])
        await call.begin_reply("good morning", tone(440, 600))
        await call.finish_reply()
        await until(lambda: any(each.audible for each in caller.received.frames))
        heard_at = next(each.at for each in caller.received.frames if each.audible)
        await until(lambda: call.events_of("audio_playback_finished") != [])
        found = await finished(call, store)
    left, right = channels(found.audio)
    spoken, played = extent(left), extent(right)
    assert spoken[1] - spoken[0] >= 380 and played[1] - played[0] >= 580  # and more where the machine was busy
    assert played[0] - spoken[1] == pytest.approx(1000 * (heard_at - said_at), abs=40)
    (reply,) = [each for each in found.journal.said() if each["role"] == "assistant"]
    assert (reply["text"], reply["interrupted"]) == ("good morning", False)
    assert reply["from_ms"] == pytest.approx(played[0], abs=40) and reply["to_ms"] == pytest.approx(played[1], abs=40)


@pytest.mark.alone
@pytest.mark.realtime
async def test_an_interrupted_reply_is_not_in_the_recording_after_the_cut(store: RecordingStore) -> None:
    async with webrtc_call(store) as (call, _):
        recording_id = call.live.record(True)
        call.live.type_text("hello")
        await settle()
        await call.begin_reply("one two three four five six seven eight nine ten", tone(440, 5_000))
        await call.finish_reply()
        await asyncio.sleep(0.9)
        (active,) = store.writer.active
        call.live.type_text("stop")  # takes the floor
        cut_at_ms = active.now() / 24
        await until(lambda: call.events_of("transcript_interrupted") != [])
        await asyncio.sleep(0.6)
        found = await finished(call, store)
    assert found.journal.begin.id == recording_id
    played = extent(channels(found.audio)[1])
    assert 500 < played[1] - played[0] < 1_500 and played[1] <= cut_at_ms + 40
    assert found.journal.end is not None and found.journal.end.duration_ms > played[1] + 500
    (reply,) = [each for each in found.journal.said() if each["role"] == "assistant"]
    assert reply["interrupted"] and reply["text"].startswith("one two") and "ten" not in reply["text"]
    assert reply["to_ms"] == pytest.approx(played[1], abs=40)
    assert [each["typed"] for each in found.journal.said() if each["role"] == "user"] == [True, True]


async def test_nothing_is_recorded_without_consent_or_the_operators_permission(
    store: RecordingStore, tmp_path: Path
) -> None:
    async with placed_call(open_recorder=recording_into(store)) as call:
        await call.speak(20)
        assert call.events_of("recording") == [] and store.writer.active == ()
    async with placed_call() as call:
        with pytest.raises(BadRequest, match="not recorded on this server"):
            call.live.record(True)
    async with placed_call(open_recorder=recording_into(store)) as call:
        call.session.share()  # a participant with the session's token only
        with pytest.raises(Forbidden):
            call.live.record(True)
    assert files_in(tmp_path) == []


async def test_the_page_hears_of_the_beginning_and_the_end_and_a_second_consent_changes_nothing(
    store: RecordingStore,
) -> None:
    async with placed_call(open_recorder=recording_into(store)) as call:
        recording_id = call.live.record(True)
        assert call.live.record(True) == recording_id
        await call.speak(10)
        assert call.live.record(False) == ""
        call.live.record(False)
        await settle()
        assert call.events_of("recording") == [
            {"recording_id": recording_id, "on": True, "reason": ""},
            {"recording_id": recording_id, "on": False, "reason": "stopped"},
        ]
        second = call.live.record(True)
        assert second != recording_id
        call.live.hang_up("disconnected")
        await call.task
        await settle()
        assert call.events_of("recording")[-1] == {"recording_id": second, "on": False, "reason": "call_ended"}
    await store.writer.settle(store.writer.active, 5.0)
    assert {each.journal.begin.id for each in await store.all_of("ada")} == {recording_id, second}


async def test_a_recording_that_ends_by_itself_is_shown_and_does_not_end_the_call(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = store_in(tmp_path / "file")
    async with placed_call(open_recorder=recording_into(store)) as call:
        call.live.record(True)
        await until(lambda: len(call.events_of("recording")) == 2)
        assert call.events_of("recording")[-1]["reason"] == "failed"
        await call.speak(10)
        assert not call.task.done()
    await store.writer.close()


async def test_a_notice_of_the_operators_is_spoken_when_recording_begins(store: RecordingStore) -> None:
    async with placed_call(open_recorder=recording_into(store, "This call is recorded.")) as call:
        call.live.type_text("hello")
        await settle()
        await call.begin_reply()
        await call.finish_reply()
        call.transport.tick(12)
        await settle()
        call.live.record(True)
        await until(lambda: any("This call is recorded." in str(command) for command in call.responder.commands))
