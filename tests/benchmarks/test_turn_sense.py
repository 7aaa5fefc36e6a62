"""Scenes depend on their seed only, are played in real calls, and are judged by what was heard."""

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from benchmarks.turn_sense import draw, render
from benchmarks.turn_sense.hearing import HeardReply, Sound
from benchmarks.turn_sense.judge import Outcome, _into_reply, _turn, judged, spent
from benchmarks.turn_sense.plan import Clip, ClipSpec, Kind, Played, Reply, Scene, Spoken, Word
from benchmarks.turn_sense.pooled import Kept
from benchmarks.turn_sense.run import run
from benchmarks.turn_sense.table import rows

TONE_DB = -20.0


def test_a_default_run_has_all_kinds_of_scenes_and_the_same_calls_for_each_provider() -> None:
    calls = draw.calls(3, 400, (0, 250, 500), list(Kind))
    own = [call for call in calls if call.same_sound_as < 0]
    assert sum(len(call.scenes) for call in own) >= 400
    assert {scene.kind for call in own for scene in call.scenes} == set(Kind)
    by_number = {call.number: call for call in calls}
    again = [call for call in calls if call.same_sound_as >= 0]
    assert again
    assert all(call.scenes == by_number[call.same_sound_as].scenes for call in again)


def _heard(began: float, ended: float, words: int = 2, quieter: tuple[float, float, float] = (0, 0, 0)) -> HeardReply:
    at = np.arange(began, ended - 0.01, 0.02)
    db = np.full(len(at), TONE_DB)
    db[(at >= quieter[0]) & (at < quieter[1])] -= quieter[2]
    return HeardReply(Reply("r", 0, "answer", 0, began, [f"0.0.{n}" for n in range(words)]), at, db)


def _outcome(kind: Kind) -> Outcome:
    spoken = Spoken(["one", "two"], [600])
    return Outcome(0, 0, "a voice", Scene(0, kind, [ClipSpec(1, [spoken])]))


CLIP = Clip([], [], [], [Word("one", 0, 1, "caller"), Word("two", 1.6, 2, "caller")], [[(0, 1), (1.6, 2)]])
TURN = Played(0, 0.0, [(0.0, 2.0)], 5.0)


def test_a_reply_during_a_pause_is_a_false_start_and_no_answer() -> None:
    outcome = _outcome(Kind.PAUSE)
    _turn(outcome, TURN, CLIP, Sound([_heard(1.4, 1.7, 1), _heard(2.3, 3.0)]), 9.0)
    assert [pause.spoken_into for pause in outcome.pauses] == [True]
    assert outcome.one_answer is True and outcome.false_starts == 1, (
        "the false start was cut, and the answer is to all words"
    )
    assert outcome.first_sound is None


def test_a_false_start_that_goes_on_or_is_remembered_counts_as_a_second_answer() -> None:
    outcome, answer = _outcome(Kind.PAUSE), _heard(2.6, 3.0)
    _turn(outcome, TURN, CLIP, Sound([_heard(1.4, 2.55, 1), answer]), 9.0)
    assert outcome.one_answer is False
    early = _heard(1.4, 1.7, 1)
    early.reply.items = answer.reply.follows = ["item"]
    _turn(outcome, TURN, CLIP, Sound([early, answer]), 9.0)
    assert outcome.one_answer is False


def test_a_single_reply_to_all_words_is_the_answer() -> None:
    outcome = _outcome(Kind.PAUSE)
    _turn(outcome, TURN, CLIP, Sound([_heard(2.5, 3.0)]), 9.0)
    assert [pause.spoken_into for pause in outcome.pauses] == [False]
    assert outcome.one_answer is True
    assert outcome.first_sound == pytest.approx(0.5)
    _turn(outcome, TURN, CLIP, Sound([_heard(2.5, 3.0, 1)]), 9.0)
    assert outcome.one_answer is False


def test_a_reply_that_is_ducked_and_unducked_goes_on() -> None:
    outcome, played = _outcome(Kind.BACKCHANNEL), Played(0, 0.0, [(0.0, 1.0), (5.0, 5.5)], 12.0)
    said = Clip([], [], [], [], [[(0.0, 0.5)]])
    _into_reply(outcome, played, said, Sound([_heard(2.0, 11.0, quieter=(5.06, 5.7, 15.0))]))
    assert outcome.down == pytest.approx(0.1, abs=0.03)
    assert outcome.goes_on and outcome.up_again and not outcome.holes
    assert outcome.silent == math.inf


def test_a_reply_that_stops_has_yielded_and_was_ducked_before() -> None:
    outcome, played = _outcome(Kind.COMMAND), Played(0, 0.0, [(0.0, 1.0), (5.0, 5.5)], 12.0)
    said = Clip([], [], [], [], [[(0.0, 0.5)]])
    _into_reply(outcome, played, said, Sound([_heard(2.0, 5.4)]))
    assert outcome.silent == pytest.approx(0.42, abs=0.03)
    assert not outcome.goes_on
    _into_reply(outcome, played, said, Sound([]))
    assert outcome.void


@pytest.mark.slow
@pytest.mark.realtime
def test_scenes_are_played_in_real_calls_and_judged(tmp_path: Path) -> None:
    calls = draw.calls(5, 2, (0,), [Kind.CORRECTION, Kind.COMMAND], draw.SHORT_CALLS)
    render.rendered(calls, tmp_path, 2)
    made = run(calls, tmp_path, 2, {}, lambda _: None)
    assert not made.notes
    for call in made.calls:
        assert not call.trouble
        assert not call.log.errors
        first = call.call.scenes[0].clips[0].spoken[0].pieces[0].lower().split()[0]
        assert first in " ".join(commit.transcript for commit in call.log.commits)
        assert call.sound.replies
    outcomes = [each for call in made.calls for each in judged(call, render.read(tmp_path, call.call))]
    assert {each.scene.kind for each in outcomes} == {Kind.CORRECTION, Kind.COMMAND}
    assert not any(each.void for each in outcomes)
    costs = [spent(call) for call in made.calls]
    assert rows(costs, outcomes, (0,))
    kept = Kept(5, [0], costs, outcomes)
    assert msgspec.msgpack.decode(kept.encoded(), type=Kept) == kept
