"""GPT-Live's utterances, by the test's own clock: ends, stalls, and the events after a stall."""

import base64
import json

from backend.extensions.gpt_live.codec import ENDS_AFTER_S, LiveCodec
from backend.responders.base import Briefing
from backend.turns import commands as do
from backend.turns import events as ev
from backend.turns.commands import Purpose

LOUD = b"\x00\x20" * 2400
QUIET = bytes(4800)
"""100 ms each."""


def sound(pcm: bytes) -> bytes:
    delta = base64.b64encode(pcm).decode()
    return json.dumps({"type": "session.output_audio.delta", "delta": delta}).encode()


def answering(*, sends_silence: bool) -> tuple[LiveCodec, list[ev.Event]]:
    """A model that has begun to answer at 1.0 s, in a session that sends silence as sound or does not."""
    codec = LiveCodec("gpt-live-1", "marin")
    codec.start(Briefing("be kind"), [])
    if sends_silence:
        codec.decode(sound(QUIET), 0.5)
    codec.encode(do.CommitInput(), 0.9)
    codec.encode(do.CreateReply(Purpose.ANSWER, "answer-1"), 0.9)
    return codec, [*codec.decode(sound(LOUD), 1.0)]


def test_silence_that_is_sent_ends_an_utterance() -> None:
    codec, _ = answering(sends_silence=True)
    events = [event for number in range(6) for event in codec.decode(sound(QUIET), 1.1 + number / 10)]
    assert [type(event) for event in events] == [ev.MessageFinished, ev.ReplyFinished]


def test_in_a_session_with_silence_a_model_that_sends_nothing_has_stalled_and_not_ended() -> None:
    codec, _ = answering(sends_silence=True)
    events = codec.expire(1.0 + ENDS_AFTER_S) + codec.expire(9.0)
    assert not [event for event in events if isinstance(event, ev.MessageFinished | ev.ReplyFinished)]


def test_in_a_session_without_silence_time_ends_an_utterance() -> None:
    codec, _ = answering(sends_silence=False)
    assert [type(event) for event in codec.expire(1.0 + ENDS_AFTER_S)] == [ev.MessageFinished, ev.ReplyFinished]


def test_sound_after_a_stalled_utterance_was_cancelled_is_the_requested_reply() -> None:
    codec, [started, *_] = answering(sends_silence=True)
    assert isinstance(started, ev.ReplyStarted)
    _, events = codec.encode(do.CancelReply(started.reply), 9.0)
    assert [event.status for event in events if isinstance(event, ev.ReplyFinished)] == ["cancelled"]
    codec.encode(do.CreateReply(Purpose.ANSWER, "answer-2"), 9.0)
    again, audio, *_ = codec.decode(sound(LOUD), 9.01)
    assert isinstance(again, ev.ReplyStarted) and again.request == "answer-2"
    assert isinstance(audio, ev.ReplyAudio) and audio.pcm == LOUD
