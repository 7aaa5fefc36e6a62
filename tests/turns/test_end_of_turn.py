"""Each row of the table of reasons, the rules for all of them, and how well fragments are recognised."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.turns import end_of_turn
from backend.turns.end_of_turn import (
    WAIT_MS,
    AskedFor,
    EndpointingStyle,
    PauseContext,
    Reason,
    TurnWait,
    end_of_turn_wait,
    expected_answer,
)
from backend.turns.grammar import could_be_corrected, words_of
from scripts.train_completeness import SENTENCES, UNSEEN, WORDS_KNOWN_MS, Cut, cuts

EAGER, BALANCED, PATIENT = EndpointingStyle.EAGER, EndpointingStyle.BALANCED, EndpointingStyle.PATIENT


def balanced(words: str | None, expected: AskedFor = AskedFor.NOTHING) -> TurnWait:
    return end_of_turn_wait(PauseContext(words, expected=expected), BALANCED)


def test_every_reason_is_in_the_documented_table() -> None:
    table = end_of_turn.__doc__ or ""
    rows = {row.split("|")[0].strip(): row.split("|")[2:] for row in table.splitlines() if row.count("|") == 3}
    for reason in set(WAIT_MS) - {Reason.EAGER}:
        assert tuple(int(cell) for cell in rows[reason]) == WAIT_MS[reason]


def test_digits_are_a_dictation_after_our_question_for_a_number_and_a_time_is_not() -> None:
    assert balanced("Set an alarm for six thirty").reason is not Reason.NUMBER
    assert balanced("four one", AskedFor.NUMBER).reason == Reason.NUMBER
    assert balanced("Sure", AskedFor.NUMBER).reason == Reason.NUMBER
    assert balanced("Sure", AskedFor.YES_OR_NO).reason == Reason.QUICK_ANSWER


def test_the_first_item_of_a_requested_list_is_not_taken_for_the_whole_list() -> None:
    assert (
        balanced("Two loaves of bread please").wait_ms < balanced("Two loaves of bread please", AskedFor.LIST).wait_ms
    )
    assert balanced("Bread and milk please", AskedFor.LIST) == balanced("Bread and milk please")


def test_without_words_the_wait_is_seven_hundred_and_longer_for_an_expected_number() -> None:
    assert balanced(None).wait_ms == 700
    assert balanced(None, AskedFor.NUMBER).wait_ms == balanced(None, AskedFor.SPELLING).wait_ms == 1000


def test_the_reading_of_a_short_utterance_counts_until_the_transcript_is_there() -> None:
    read = PauseContext(reading="no")
    assert end_of_turn_wait(read, BALANCED).reason == Reason.QUICK_ANSWER
    assert (
        end_of_turn_wait(replace(read, words="I would like to book a table for"), BALANCED).reason
        == Reason.TRAILING_OFF
    )


def test_a_caller_is_not_cut_off_in_a_pause_of_their_usual_length() -> None:
    said = PauseContext("the heating doesn't work")
    slow = end_of_turn_wait(replace(said, caller_pauses_ms=(1460, 1350, 1420)), EndpointingStyle.PATIENT)
    assert (slow.wait_ms, slow.reason) == (1560, Reason.OWN_PAUSES)
    assert end_of_turn_wait(replace(said, caller_pauses_ms=(760,)), BALANCED).reason == Reason.MAY_GO_ON
    sure = PauseContext("I got married last month and my name has changed.", caller_pauses_ms=(790, 650, 780))
    assert end_of_turn_wait(sure, BALANCED).reason == Reason.STATEMENT, (
        "every answer would be late for a few corrections"
    )
    assert end_of_turn_wait(PauseContext("yes", caller_pauses_ms=(700, 650, 720)), BALANCED).wait_ms == 400


def test_the_language_model_moves_the_verdict_both_ways() -> None:
    said = PauseContext("I'd like to change my seat")
    assert (
        end_of_turn_wait(replace(said, sentence_end=-0.3), BALANCED).wait_ms
        < end_of_turn_wait(replace(said, sentence_end=-2.5), BALANCED).wait_ms
    )


@pytest.mark.parametrize(
    "words",
    [
        "Turn off the lights please",
        "Can I pay by card?",
        "Tell me what happened in the news today",
        "There was no wait",
        "My phone is broken",
    ],
)
def test_an_utterance_without_values_of_the_caller_is_not_corrected(words: str) -> None:
    assert not could_be_corrected(words_of(words))


@pytest.mark.parametrize(
    ("words", "pauses_ms", "wait_ms", "reason"),
    [
        ("Send it to my office", (), 760, Reason.CORRECTABLE),
        ("Send it to my office", (200, 180), 760, Reason.CORRECTABLE),
        ("Send it to my office", (400,), 960, Reason.OWN_PAUSES),
        ("Send it to my office", (400, 1200, 1100), 960, Reason.OWN_PAUSES),
        ("Turn off the lights please", (400,), 480, Reason.REQUEST),
    ],
)
def test_a_pause_within_a_turn_lengthens_the_wait_after_a_short_order(
    words: str, pauses_ms: tuple[int, ...], wait_ms: int, reason: Reason
) -> None:
    said = PauseContext(words, sentence_end=-0.3, caller_pauses_ms=pauses_ms)
    assert end_of_turn_wait(said, BALANCED) == TurnWait(wait_ms, reason)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("What's your phone number?", AskedFor.NUMBER),
        ("Thanks. Please tell me the booking code.", AskedFor.NUMBER),
        ("Could you spell your last name?", AskedFor.SPELLING),
        ("What is your e-mail address?", AskedFor.SPELLING),
        ("Shall I book it?", AskedFor.YES_OR_NO),
        ("What should I put on the list?", AskedFor.LIST),
        ("It is at nine. Is that all right?", AskedFor.YES_OR_NO),
        ("Your table is booked.", AskedFor.NOTHING),
        ("How many people will come?", AskedFor.NOTHING),
    ],
)
def test_our_question_says_what_to_expect(words: str, expected: AskedFor) -> None:
    assert expected_answer(words) is expected


CONTEXTS = st.builds(
    PauseContext,
    words=st.one_of(
        st.none(), st.text(max_size=60), st.sampled_from([cut.words for cut in cuts(SENTENCES) + cuts(UNSEEN)])
    ),
    expected=st.sampled_from(AskedFor),
    caller_pauses_ms=st.lists(st.integers(0, 5000), max_size=16).map(tuple),
    sentence_end=st.one_of(st.none(), st.floats(-8, 0)),
    reading=st.one_of(st.none(), st.sampled_from(["yes", "stop", "um"])),
)


@given(CONTEXTS)
def test_the_wait_is_bounded_and_grows_from_eager_to_patient(context: PauseContext) -> None:
    waits = [end_of_turn_wait(context, style).wait_ms for style in (EAGER, BALANCED, PATIENT)]
    assert 0 < waits[0] <= waits[1] <= waits[2] <= 3000


@given(CONTEXTS, st.integers(0, 1000), st.sampled_from([BALANCED, PATIENT]))
def test_longer_pauses_of_the_caller_never_shorten_the_wait(
    context: PauseContext, more_ms: int, style: EndpointingStyle
) -> None:
    longer = replace(context, caller_pauses_ms=tuple(pause + more_ms for pause in context.caller_pauses_ms))
    assert end_of_turn_wait(context, style).wait_ms <= end_of_turn_wait(longer, style).wait_ms


def spoken_into(judged: list[Cut], pause_ms: int) -> float:
    """Return the share of these fragments' pauses that a provider without a delay would speak into."""
    waits = [max(WORDS_KNOWN_MS, balanced(cut.words.lower(), AskedFor(cut.expected)).wait_ms) for cut in judged]
    return sum(wait <= pause_ms for wait in waits) / len(waits)


def test_unseen_sentences_are_not_spoken_into_and_are_answered_soon() -> None:
    """The sentences have no punctuation except at their end, and there is no trigram model: the hardest case."""
    judged = cuts(UNSEEN)
    fragments = [cut for cut in judged if not cut.complete]
    for pause_ms, most in ((300, 0.0), (600, 0.06), (800, 0.09)):
        assert spoken_into(fragments, pause_ms) <= most, f"pauses of {pause_ms} ms"
    assert spoken_into([cut for cut in fragments if cut.kind == "d" and cut.plausible], 800) <= 0.10
    whole = sorted(balanced(cut.words, AskedFor(cut.expected)).wait_ms for cut in judged if cut.complete)
    assert sum(whole) / len(whole) <= 735 and whole[math.ceil(len(whole) * 0.9)] <= 960
    assert sum(wait > 880 for wait in whole) <= 0.11 * len(whole)
