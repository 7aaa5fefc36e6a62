"""The binary frames: Pipecat's own are read, written ones are read again, and junk is refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as some

from backend.errors import BadRequest
from backend.extensions.rtvi.frames import AudioFrame, read_frame, write_audio, write_message

SERIALIZED_AUDIO = (
    bytes.fromhex("1215") + bytes.fromhex("1205617564696f") + bytes.fromhex("1a0401000200") + b"\x20\x80\x7d\x28\x01"
)
"""`ProtobufFrameSerializer.serializeAudio` of two samples at 16,000 Hz, as version 1.7 writes it."""


def test_audio_of_pipecats_serializer_is_read() -> None:
    frame = SERIALIZED_AUDIO[:1] + bytes([len(SERIALIZED_AUDIO) - 2]) + SERIALIZED_AUDIO[2:]
    assert read_frame(frame) == AudioFrame(b"\x01\x00\x02\x00", 16_000, 1)


@given(pcm=some.binary(max_size=4_000), rate=some.integers(0, 2**32 - 1))
def test_written_audio_is_read_again(pcm: bytes, rate: int) -> None:
    assert read_frame(write_audio(pcm, rate)) == AudioFrame(pcm, rate, 1)


@given(text=some.binary(max_size=70_000))
def test_a_written_message_is_read_again(text: bytes) -> None:
    assert read_frame(write_message(text)) == text


@given(data=some.binary(max_size=300))
def test_junk_is_refused_or_read_without_another_error(data: bytes) -> None:
    with contextlib.suppress(BadRequest):
        read_frame(data)


@given(data=some.binary(min_size=1, max_size=60), cut=some.integers(0, 100), flipped=some.integers(0, 7))
def test_a_damaged_frame_is_refused_or_read_without_another_error(data: bytes, cut: int, flipped: int) -> None:
    frame = bytearray(write_audio(data, 16_000))
    frame[cut % len(frame)] ^= 1 << flipped
    for damaged in (bytes(frame), bytes(frame[: cut % len(frame)])):
        with contextlib.suppress(BadRequest):
            read_frame(damaged)


@pytest.mark.parametrize(
    "data", [b"\x22\xff\xff\xff\xff\x0f", b"\x12\x01", b"\xff" * 11, b"\x13", b"\x22\x02\x08\x01\x01"]
)
def test_lengths_beyond_the_end_and_unknown_wire_types_are_refused(data: bytes) -> None:
    with pytest.raises(BadRequest):
        read_frame(data)


def test_unknown_fields_are_skipped() -> None:
    unknown = b"\x50\x01" + b"\x59" + bytes(8) + b"\x65" + bytes(4) + b"\x72\x03abc"
    assert read_frame(unknown + write_message(b"{}") + unknown) == b"{}"
    assert read_frame(unknown) is None
