"""The receive pipeline, with time as an argument: order, loss, silence, and a lost caller."""

from itertools import pairwise

import numpy as np
import pytest

from backend.media.frame import SILENCE, Frame
from backend.media.opus import EMPTY_BYTES, SILENCE_PACKET, OpusEncoder
from backend.media.receive import ReceivePipeline
from tests.support.tones import audible, tone_frames

TICKS = 960


@pytest.fixture
def pipeline() -> ReceivePipeline:
    return ReceivePipeline(0.0, lost_after_s=10)


def speech_packets(frames: int) -> list[bytes]:
    encoder = OpusEncoder()
    return [encoder.encode(frame) for frame in tone_frames(500, frames)]


def feed(pipeline: ReceivePipeline, packets: list[bytes], numbers: list[int], start: float = 0.0) -> list[Frame]:
    """Feed packets `numbers`, each at its own time; return the frames that came out."""
    out: list[Frame] = []
    for number in numbers:
        now = start + number * 0.02
        out += pipeline.expire(now)
        out += pipeline.receive(7, number, number * TICKS, packets[number], now)
    return out


def test_twenty_percent_loss_still_gives_every_frame(pipeline: ReceivePipeline) -> None:
    packets = speech_packets(500)
    kept = [number for number in range(500) if number % 5 or number == 0]
    out = feed(pipeline, packets, [*kept, 499] if kept[-1] != 499 else kept)
    assert len(out) == 500
    assert sum(audible(frame) for frame in out) > 480


def test_silence_is_inserted_when_packets_stop(pipeline: ReceivePipeline) -> None:
    feed(pipeline, speech_packets(5), [0, 1, 2, 3, 4])
    assert pipeline.expire(0.179) == []
    assert pipeline.expire(0.181) == [SILENCE] * 5
    assert pipeline.expire(0.201) == [SILENCE]


def test_a_filled_pause_is_not_inserted_twice(pipeline: ReceivePipeline) -> None:
    """With discontinuous transmission the timestamp of the next packet jumps over a pause that was already filled."""
    packets = speech_packets(10)
    out = feed(pipeline, packets, [0, 1, 2, 3, 4])
    for slot in range(5, 26):
        out += pipeline.expire(slot * 0.02)
    for number in range(5, 10):
        out += pipeline.receive(7, number, (number + 20) * TICKS, packets[number], (number + 20) * 0.02)
    assert len(out) == pytest.approx(30, abs=1)


def test_an_unfilled_pause_is_inserted(pipeline: ReceivePipeline) -> None:
    packets = speech_packets(10)
    out = feed(pipeline, packets, [0, 1, 2, 3, 4])
    out += pipeline.receive(7, 5, 8 * TICKS, packets[5], 0.16)
    assert out[5:8] == [SILENCE] * 3


def test_a_caller_without_packets_for_too_long_is_lost() -> None:
    pipeline = ReceivePipeline(0.0, lost_after_s=2)
    feed(pipeline, speech_packets(1), [0])
    assert pipeline.lost_at == 2.0
    pipeline.expire(1.0)
    assert pipeline.lost_at == 2.0
    pipeline.receive(7, 1, TICKS, speech_packets(1)[0], 1.5)
    assert pipeline.lost_at == 3.5


def test_another_stream_gets_a_new_decoder(pipeline: ReceivePipeline) -> None:
    packets = speech_packets(20)
    feed(pipeline, packets, list(range(10)))
    out = []
    for number in range(10):
        out += pipeline.receive(8, 60_000 + number, number * TICKS, packets[number], 0.2)
    fresh = feed(ReceivePipeline(0.0, lost_after_s=10), packets, list(range(10)))
    assert np.array_equal(np.frombuffer(b"".join(out), "<i2"), np.frombuffer(b"".join(fresh), "<i2"))


def with_pauses(frames: list[Frame]) -> list[bytes]:
    """Return packets as a browser with discontinuous transmission sends them; b"" where it sends nothing."""
    encoder = OpusEncoder(pauses=True)
    packets = [encoder.encode(frame) for frame in frames]
    again = [max(len(a), len(b)) <= EMPTY_BYTES for a, b in pairwise([SILENCE_PACKET, *packets])]
    return [b"" if empty else packet for empty, packet in zip(again, packets, strict=True)]


def received_from(pipeline: ReceivePipeline, packets: list[bytes], asked_after: float) -> list[tuple[float, Frame]]:
    """Return the frames with their times; the pipeline is read `asked_after` seconds after each packet."""
    out: list[tuple[float, Frame]] = []
    sequence = 0
    for number, packet in enumerate(packets):
        now = number * 0.02
        if packet:
            out += [(now, frame) for frame in pipeline.receive(7, sequence, number * TICKS, packet, now)]
            sequence += 1
        out += [(now + asked_after, frame) for frame in pipeline.expire(now + asked_after)]
    return out


@pytest.mark.parametrize("asked_after", [0.001, 0.006, 0.011, 0.019])
def test_a_pausing_sender_is_silent_without_a_gap(asked_after: float) -> None:
    voice = tone_frames(500, 50)
    packets = with_pauses([*voice, *[SILENCE] * 150, *voice])
    assert sum(map(bool, packets)) < 130
    out = received_from(ReceivePipeline(0.0, lost_after_s=10), packets, asked_after)
    assert len(out) == pytest.approx(250, abs=10)
    assert [audible(frame) for _, frame in out].count(True) == pytest.approx(100, abs=4)
    fifteenth = [at for at, frame in out if at > 1.0 and not audible(frame)][14]
    assert fifteenth - 0.98 == pytest.approx(0.3, abs=0.025)


def test_a_stream_that_never_paused_gets_no_silence() -> None:
    packets = speech_packets(50)
    assert all(
        frame is not SILENCE for _, frame in received_from(ReceivePipeline(0.0, lost_after_s=10), packets, 0.019)
    )


@pytest.mark.parametrize("stall", ["late", "never sent"])
def test_a_stall_inserts_no_silence_into_speech(stall: str) -> None:
    voice = tone_frames(500, 50)
    packets = with_pauses([*voice, *[SILENCE] * 50, *voice])
    pipeline, out, sequence = ReceivePipeline(0.0, lost_after_s=10), list[Frame](), 0
    for number, packet in enumerate(packets):
        stalled = 110 <= number < 130
        now = (130 if stalled else number) * 0.02
        if packet and (not stalled or stall == "late"):
            out += pipeline.receive(7, sequence, number * TICKS, packet, now)
        sequence += bool(packet) and (not stalled or stall == "late")
        out += pipeline.expire(number * 0.02 + 0.011) if not stalled or stall != "late" else []
    voices = [audible(frame) for frame in out]
    said = voices[100 + voices[100:].index(True) :]
    assert len(said) == pytest.approx({"late": 50, "never sent": 30}[stall], abs=2)
    assert said.count(False) <= 2


def test_a_pause_with_a_lost_announcement_is_still_silence() -> None:
    voice = tone_frames(500, 50)
    packets = with_pauses([*voice, *[SILENCE] * 100])
    pipeline, out, sequence, lost = ReceivePipeline(0.0, lost_after_s=10), list[tuple[float, Frame]](), 0, 0
    for number, packet in enumerate(packets):
        now = number * 0.02
        if packet:
            if len(packet) <= EMPTY_BYTES and number > 70 and not lost:
                lost = number
            else:
                out += [(now, frame) for frame in pipeline.receive(7, sequence, number * TICKS, packet, now)]
            sequence += 1
        out += [(now + 0.011, frame) for frame in pipeline.expire(now + 0.011)]
    assert lost
    assert len(out) == pytest.approx(150, abs=3)
