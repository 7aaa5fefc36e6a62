"""Endpointing makes frames for the Responder and events for the turn machine from the microphone, in order."""

from backend.media.endpointing import LocalEndpointing, ProviderEndpointing
from backend.media.frame import SILENCE, Frame
from backend.media.segmenter import Segmenter
from backend.turns import events as ev
from tests.call.world import VOICE, loudness_endpointing
from tests.support.detector import Saying

LOUD = Frame(VOICE)


def heard(frames: list[Frame]) -> list[Frame | ev.SpeechEvent]:
    local = loudness_endpointing()
    return [piece for frame in frames for piece in local.process(frame)]


def test_an_utterance_becomes_events_around_its_frames() -> None:
    assert heard([SILENCE, LOUD, LOUD, SILENCE, LOUD, SILENCE, SILENCE, SILENCE, SILENCE]) == [
        ev.SpeechStarted(),
        LOUD,
        LOUD,
        ev.SpeechPaused(40),
        ev.SpeechResumed(40),
        LOUD,
        ev.SpeechPaused(60),
        ev.SpeechStopped(60, 60),
    ]


def test_silence_makes_no_events() -> None:
    assert heard([SILENCE] * 20) == []


def test_every_frame_is_forwarded_without_events_if_the_provider_finds_turns() -> None:
    opened = ProviderEndpointing()
    assert opened.name == "provider"
    assert [piece for frame in (SILENCE, LOUD) for piece in opened.process(frame)] == [SILENCE, LOUD]


def test_a_doubtful_score_begins_speech_but_only_a_sure_one_continues_it() -> None:
    local = LocalEndpointing(Saying(0.6, 0.6, 0.8, 0.6, 0.6), Segmenter(0, 0, 3), threshold=0.7)
    events = [[type(piece) for piece in local.process(SILENCE) if not isinstance(piece, bytes)] for _ in range(5)]
    assert events == [[ev.SpeechStarted], [ev.SpeechPaused], [ev.SpeechResumed], [ev.SpeechPaused], []]


def test_an_onset_is_never_harder_than_speech() -> None:
    local = LocalEndpointing(Saying(0.4), Segmenter(0, 0, 3), threshold=0.3)
    assert ev.SpeechStarted() in local.process(SILENCE)


def test_a_local_detector_finds_speech_while_no_provider_is_connected() -> None:
    opened: list[Saying] = []

    def open_stand_in() -> LocalEndpointing:
        opened.append(Saying(0.9, 0.9, 0.1, 0.1, 0.9, 0.9))
        return LocalEndpointing(opened[-1], Segmenter(0, 0, 2), threshold=0.5)

    endpointing = ProviderEndpointing(open_stand_in)
    assert endpointing.follow_line(stands=True) == [] and not opened, "the detector was opened during a connection"
    for _ in range(2):
        assert endpointing.follow_line(stands=False) == []
    events = [piece for _ in range(6) for piece in endpointing.process(LOUD) if not isinstance(piece, bytes)]
    assert events == [ev.SpeechStarted(), ev.SpeechPaused(40), ev.SpeechStopped(40, 40), ev.SpeechStarted()]
    assert endpointing.follow_line(stands=True) == [ev.SpeechStopped(40)], "the provider did not take over"
    assert list(endpointing.process(LOUD)) == [LOUD] and len(opened) == 1
