"""What a calling program keeps of received audio."""

from backend.media.frame import FRAME_BYTES, SILENCE, Frame
from responder_thinker.caller import ReceivedAudio, cut_frames
from tests.support.tones import tone_frames


def test_pauses_on_the_wire_are_pauses_in_the_recording() -> None:
    received = ReceivedAudio()
    voice = tone_frames(500, 2)
    received.add(voice[0], 10.0)
    received.add(voice[1], 11.0)
    assert received.pcm() == voice[0] + SILENCE * 49 + voice[1]


def test_jitter_is_no_pause() -> None:
    received = ReceivedAudio()
    voice = tone_frames(500, 4)
    for frame, at in zip(voice, (10.0, 10.07, 10.07, 10.08), strict=True):
        received.add(frame, at)
    assert received.pcm() == b"".join(voice)


def test_silence_is_not_audible_and_a_voice_is() -> None:
    received = ReceivedAudio()
    received.add(SILENCE, 1.0)
    times = [received.last_audible_at]
    received.add(tone_frames(500, 1)[0], 1.02)
    times.append(received.last_audible_at)
    assert times == [None, 1.02]
    assert [heard.audible for heard in received.frames] == [False, True]


def test_the_last_frame_of_a_file_is_padded() -> None:
    frames = list(cut_frames(b"\1" * (FRAME_BYTES + 2)))
    assert frames == [Frame(b"\1" * FRAME_BYTES), Frame(b"\1\1" + bytes(FRAME_BYTES - 2))]
