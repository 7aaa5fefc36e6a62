"""What `benchmarks.near_voice` says of a question is what became of it."""

from __future__ import annotations

import pytest

from benchmarks.near_voice import Heard, Row, Scene, Utterance

SCENE = Scene([], [(1000.0, 2000.0)], ["question"], 1.0)


def judged(utterances: list[Utterance], forwarded: float = 1.0) -> tuple[str, ...]:
    row = Row()
    row.add(SCENE, Heard(utterances, [1000 + 20.0 * n for n in range(round(50 * forwarded))]))
    return row.cells()


@pytest.mark.parametrize(
    ("ended", "forwarded", "answered"),
    [(2300, 1.0, "100% of 1"), (2600, 1.0, "100% of 1"), (2620, 1.0, "0% of 1"), (2300, 0.8, "0% of 1")],
)
def test_a_question_is_answered_that_ends_in_time_and_is_forwarded(
    ended: float, forwarded: float, answered: str
) -> None:
    assert judged([Utterance(1060, ended, 900)], forwarded)[0] == answered


def test_an_utterance_that_ends_within_the_question_does_not_answer_it() -> None:
    assert judged([Utterance(1060, 1600, 300)])[0] == "0% of 1"
    assert judged([Utterance(1060, 1600, 300), Utterance(1700, 2320, 300)])[0] == "100% of 1"


def test_an_utterance_beside_the_question_is_a_false_turn_if_it_is_long_enough() -> None:
    mine = Utterance(1060, 2300, 900)
    assert judged([mine, Utterance(4000, 4400, 80), Utterance(5000, 5400, 60)])[4] == "1.0"


def test_an_onset_counts_where_nothing_was_under_way() -> None:
    assert judged([Utterance(1060, 2300, 900)])[1] == "60 (60)"
    assert judged([Utterance(200, 2300, 900)])[1] == "–"
