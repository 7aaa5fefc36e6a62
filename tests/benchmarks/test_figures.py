"""From records to figures: each definition at the top of `benchmarks/figures.py`, once."""

from __future__ import annotations

import math

import pytest

from benchmarks.figures import (
    Settings,
    added_latencies,
    barge_ins,
    leaks,
    legs,
    media_figures,
    percentile,
    silenced_at,
    spread,
)
from benchmarks.provider_log import call_of
from benchmarks.record import (
    CallersReport,
    CallRecord,
    Kind,
    Packets,
    ProviderCall,
    ProviderTurn,
    Utterance,
    decode,
    encode,
)

LOUD, QUIET = 9000, 3
NOTHING_SUBTRACTED = Settings(0.0, 0.0)


def packets(*stretches: tuple[int, int], every: float = 0.02) -> Packets:
    """Packets from second 0 on: (how many, how loud) after each other."""
    peaks = [peak for count, peak in stretches for _ in range(count)]
    numbers = range(len(peaks))
    return Packets([n * every for n in numbers], list(numbers), [n * 960 for n in numbers], peaks, [False] * len(peaks))


def call(heard: Packets, *said: Utterance) -> CallRecord:
    return CallRecord(setup_s=0.2, said=list(said), packets=heard)


def question(began: float, ended: float) -> Utterance:
    return Utterance(Kind.QUESTION, began, ended)


def interruption(began: float, ended: float, *, late: bool = False) -> Utterance:
    return Utterance(Kind.LATE_INTERRUPTION if late else Kind.INTERRUPTION, began, ended)


def test_a_pause_that_was_told_is_neither_a_gap_nor_slots_left_out() -> None:
    heard = packets((30, QUIET))
    for later in range(20, 30):
        heard.at[later] += 1.0
        heard.timestamp[later] += 48_000
    silent = CallersReport([call(heard)], 0.0, 2.0, [0.0])
    seen = media_figures(silent, [], NOTHING_SUBTRACTED)
    assert seen.gaps_percent == pytest.approx(100 / 29) and seen.slots_skipped == 50
    heard.ends[19] = True
    told = media_figures(silent, [], NOTHING_SUBTRACTED)
    assert told.gaps_percent == 0 and told.slots_skipped == 0 and told.spacing.count == 28


def test_added_latency_is_what_is_left_without_hangover_and_the_providers_delay() -> None:
    one = call(packets((100, QUIET), (50, LOUD)), question(0.5, 1.5))
    assert added_latencies(one, Settings(0.3, 0.1)) == [pytest.approx(0.1)]


def test_sound_from_before_the_end_of_speech_is_no_answer() -> None:
    one = call(packets((60, LOUD), (40, QUIET), (50, LOUD)), question(0.5, 1.205))
    assert added_latencies(one, NOTHING_SUBTRACTED) == [pytest.approx(2.0 - 1.205)]


def test_an_utterance_that_got_no_answer_before_the_next_one_is_left_out() -> None:
    one = call(packets((150, QUIET), (50, LOUD)), question(0.5, 1.0), question(2.0, 2.5))
    assert added_latencies(one, NOTHING_SUBTRACTED) == [pytest.approx(0.5)]


def test_barge_in_runs_from_speech_to_the_first_packet_of_a_lasting_silence() -> None:
    one = call(packets((60, LOUD), (2, QUIET), (3, LOUD), (60, QUIET)), interruption(1.0, 2.0))
    assert barge_ins(one, Kind.INTERRUPTION) == [pytest.approx(0.3)]
    assert barge_ins(one, Kind.LATE_INTERRUPTION) == []


def test_an_interruption_of_nothing_is_not_counted() -> None:
    one = call(packets((40, LOUD), (60, QUIET)), interruption(1.0, 1.5))
    assert silenced_at(one, one.said[0]) is None


def test_a_reply_that_is_never_silenced_is_not_counted() -> None:
    one = call(packets((100, LOUD)), interruption(1.0, 1.5))
    assert barge_ins(one, Kind.INTERRUPTION) == []


def test_audio_heard_after_the_silence_and_during_the_interruption_leaked() -> None:
    heard = packets((55, LOUD), (10, QUIET), (4, LOUD), (40, QUIET), (10, LOUD))
    assert leaks(call(heard, interruption(1.0, 2.0, late=True))) == 4


def test_only_the_measured_time_counts_for_spacing_and_gaps() -> None:
    heard = packets((100, QUIET))
    heard.at[50:] = [at + 0.030 for at in heard.at[50:]]
    inside = media_figures(report(call(heard), began=0.5, ended=1.5), (), NOTHING_SUBTRACTED)
    assert inside.spacing.worst == pytest.approx(50.0)
    assert inside.gaps_percent == pytest.approx(100 / inside.spacing.count)
    before = media_figures(report(call(heard), began=0.0, ended=0.9), (), NOTHING_SUBTRACTED)
    assert before.gaps_percent == 0


def test_missing_sequence_numbers_are_lost_packets_and_missing_time_is_skipped_slots() -> None:
    heard = packets((10, QUIET))
    heard.sequence = [65_534, 65_535, 0, 1, 4, 5, 6, 7, 8, 9]
    heard.timestamp = [(number * 960) % (1 << 32) for number in (0, 1, 2, 3, 4, 5, 6, 9, 10, 11)]
    figures = media_figures(report(call(heard)), (), NOTHING_SUBTRACTED)
    assert (figures.packets_lost, figures.slots_skipped) == (2, 2)


def test_a_call_that_went_wrong_is_counted_and_its_figures_are_not() -> None:
    good = call(packets((100, QUIET), (10, LOUD)), question(0.5, 1.5))
    bad = call(packets((10, QUIET)), question(0.05, 0.1))
    bad.trouble = "The call was lost."
    figures = media_figures(report(good, bad), (), NOTHING_SUBTRACTED)
    assert (figures.calls, figures.failed, figures.setup.count) == (2, 1, 1)
    assert figures.troubles == ("The call was lost.",)


def test_legs_add_up_to_the_added_latency() -> None:
    one = call(packets((100, QUIET), (10, LOUD)), question(0.5, 1.5))
    settings = Settings(0.3, 0.1)
    log = ProviderCall((ProviderTurn(0.2, 0.3), ProviderTurn(asked=1.85, answered=1.96)), asked=2)
    parts = legs([one], [log], settings)
    assert parts is not None
    assert parts.to_provider == pytest.approx(50)
    assert parts.provider == pytest.approx(10)
    assert parts.to_provider + parts.provider + parts.to_caller == pytest.approx(
        1000 * added_latencies(one, settings)[0]
    )


def test_without_the_providers_log_there_are_no_legs() -> None:
    assert legs([call(packets((100, QUIET), (10, LOUD)), question(0.5, 1.5))], [], NOTHING_SUBTRACTED) is None


def test_the_providers_log_is_read_reply_by_reply() -> None:
    def audio(reply: str, at: float) -> dict[str, object]:
        return {"type": "response.output_audio.delta", "at": at, "event": {"response_id": reply}}

    connection = {
        "opened_at": 1000.0,
        "received": [
            {"type": "input_audio_buffer.commit", "at": 0.9},
            *({"type": "response.create", "at": at} for at in (1.0, 2.0, 3.0)),
        ],
        "sent": [audio("a", 1.1), audio("a", 1.2), audio("c", 3.1), {"type": "response.done", "at": 3.2}],
    }
    turns = (ProviderTurn(101.0, 101.1), ProviderTurn(103.0, 103.1))
    assert call_of(connection, 900.0) == ProviderCall(turns, asked=3)


def test_an_utterance_taken_for_two_turns_is_one_too_many() -> None:
    one = call(packets((100, QUIET), (10, LOUD)), question(0.5, 1.5))
    figures = media_figures(report(one), [ProviderCall((), asked=2)], NOTHING_SUBTRACTED)
    assert figures.turns_split == 1


def test_a_reply_that_was_prepared_and_thrown_away_is_no_turn() -> None:
    one = call(packets((100, QUIET), (10, LOUD)), question(0.5, 1.5))
    one.discarded = 1
    figures = media_figures(report(one), [ProviderCall((), asked=2)], NOTHING_SUBTRACTED)
    assert (figures.turns_split, figures.discarded) == (0, 1)


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(n) for n in range(1, 101)]
    assert [percentile(values, share) for share in (50, 95, 99, 100)] == [50, 95, 99, 100]
    assert percentile([7.0], 99) == 7


def test_the_spread_of_nothing_is_not_a_number_rather_than_nought() -> None:
    nothing = spread([])
    assert nothing.count == 0
    assert math.isnan(nothing.p50)


def test_a_report_survives_its_trip_between_processes() -> None:
    sent = report(call(packets((3, LOUD)), interruption(0.0, 1.0)))
    assert decode(encode(sent)) == sent


def report(*calls: CallRecord, began: float = 0.0, ended: float = 10.0) -> CallersReport:
    return CallersReport(list(calls), began, ended, lateness_ms=[1.0])
