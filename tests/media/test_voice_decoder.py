"""The voice decoder makes frames of packets of any length, conceals losses, and keeps time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.media.frame import FRAME_BYTES, SILENCE, Frame
from backend.media.opus import OpusEncoder
from backend.media.receive import MAX_CONCEALED, VoiceDecoder
from tests.support.examples import examples
from tests.support.speech import frames_of, power, tone

TWENTY_MS = 960


def encoded(pcm: bytes) -> list[bytes]:
    encoder = OpusEncoder()
    return [encoder.encode(frame) for frame in frames_of(pcm)]


def send(decoder: VoiceDecoder, packets: list[bytes], lost: frozenset[int] = frozenset()) -> list[Frame]:
    """Send all packets except the lost ones on time, then wait for the held ones."""
    frames: list[Frame] = []
    for n, packet in enumerate(packets):
        if n not in lost:
            frames += decoder.receive(1000 + n, n * TWENTY_MS, packet, n * 0.02)
    return frames + decoder.expire(1e9)


def test_concealment_in_a_row_is_bounded() -> None:
    packets = encoded(tone(440, 1000))
    lost = range(10, 30)
    frames = send(VoiceDecoder(), packets, frozenset(lost))
    assert len(frames) == len(packets)
    assert power(frames[10]) > 1e5
    assert set(frames[10 + MAX_CONCEALED : 29]) == {SILENCE}
    assert power(frames[35]) > 1e6


@pytest.mark.parametrize(("toc", "packets", "frames"), [(0xE0, 8, 1), (0xF0, 2, 1), (0xF9, 1, 2), (0x58, 1, 3)])
def test_packets_of_any_length_become_whole_frames(toc: int, packets: int, frames: int) -> None:
    decoder = VoiceDecoder()
    out = []
    length = TWENTY_MS * frames // packets
    for n in range(packets):
        out += decoder.receive(n, n * length, bytes([toc]), n * 0.0025)
    assert [len(frame) for frame in out] == [FRAME_BYTES] * frames


def test_a_bad_packet_counts_as_lost() -> None:
    packets = encoded(tone(440, 200))
    packets[4] = b"\xff\xff\xff"
    assert len(send(VoiceDecoder(), packets)) == len(packets)


@given(st.lists(st.tuples(st.integers(0, 200), st.binary(max_size=40)), max_size=30))
@examples(60)
def test_hostile_packets_never_raise_and_only_frames_come_out(packets: list[tuple[int, bytes]]) -> None:
    decoder = VoiceDecoder()
    for n, (sequence, payload) in enumerate(packets):
        for frame in decoder.receive(sequence, sequence * TWENTY_MS, payload, n * 0.02) + decoder.expire(n * 0.02):
            assert len(frame) == FRAME_BYTES
    decoder.close()
    decoder.close()


def test_a_pause_of_the_sender_is_exact_silence() -> None:
    packets = encoded(tone(440, 100))
    decoder = VoiceDecoder()
    frames = [frame for n in (0, 1) for frame in decoder.receive(n, n * TWENTY_MS, packets[n], n * 0.02)]
    frames += decoder.receive(2, 12 * TWENTY_MS, packets[2], 0.24)
    assert len(frames) == 13
    assert all(frame is SILENCE for frame in frames[2:12]) and frames[12] is not SILENCE
