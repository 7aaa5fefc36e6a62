"""Each figure follows its definition at the top of `benchmarks/figures.py`."""

import pytest

from benchmarks.figures import (
    Settings,
    added_latencies,
    barge_ins,
    leaks,
    legs,
    media_figures,
)
from benchmarks.measurements import (
    CallersReport,
    CallMeasurements,
    Kind,
    Packets,
    ProviderCall,
    ProviderTurn,
    Utterance,
)

LOUD, QUIET = 9000, 3
NOTHING_SUBTRACTED = Settings(0.0, 0.0)


def packets(*stretches: tuple[int, int], every: float = 0.02) -> Packets:
    """Return packets from second 0 on, in stretches of (count, peak)."""
    peaks = [peak for count, peak in stretches for _ in range(count)]
    numbers = range(len(peaks))
    return Packets([n * every for n in numbers], list(numbers), [n * 960 for n in numbers], peaks, [False] * len(peaks))


def call(heard: Packets, *said: Utterance) -> CallMeasurements:
    return CallMeasurements(setup_s=0.2, said=list(said), packets=heard)


def question(began: float, ended: float) -> Utterance:
    return Utterance(Kind.QUESTION, began, ended)


def interruption(began: float, ended: float, *, late: bool = False) -> Utterance:
    return Utterance(Kind.LATE_INTERRUPTION if late else Kind.INTERRUPTION, began, ended)


def test_an_announced_pause_is_neither_a_gap_nor_skipped_slots() -> None:
    heard = packets((30, QUIET))
    for later in range(20, 30):
        heard.at[later] += 1.0
        heard.timestamp[later] += 48_000
    silent = CallersReport([call(heard)], 0.0, 2.0, [0.0])
    seen = media_figures(silent, [], NOTHING_SUBTRACTED)
    assert seen.gaps_percent == pytest.approx(100 / 29) and seen.slots_skipped == 50
    heard.ends[19] = True
    announced = media_figures(silent, [], NOTHING_SUBTRACTED)
    assert announced.gaps_percent == 0 and announced.slots_skipped == 0 and announced.spacing.count == 28


def test_added_latency_excludes_the_hangover_and_the_delay_of_the_provider() -> None:
    one = call(packets((100, QUIET), (50, LOUD)), question(0.5, 1.5))
    assert added_latencies(one, Settings(0.3, 0.1)) == [pytest.approx(0.1)]


def test_sound_from_before_the_end_of_speech_is_no_answer() -> None:
    one = call(packets((60, LOUD), (40, QUIET), (50, LOUD)), question(0.5, 1.205))
    assert added_latencies(one, NOTHING_SUBTRACTED) == [pytest.approx(2.0 - 1.205)]


def test_a_barge_in_lasts_from_speech_to_the_first_packet_of_a_lasting_silence() -> None:
    one = call(packets((60, LOUD), (2, QUIET), (3, LOUD), (60, QUIET)), interruption(1.0, 2.0))
    assert barge_ins(one, Kind.INTERRUPTION) == [pytest.approx(0.3)]
    assert barge_ins(one, Kind.LATE_INTERRUPTION) == []


def test_audio_after_the_silence_and_during_the_interruption_is_a_leak() -> None:
    heard = packets((55, LOUD), (10, QUIET), (4, LOUD), (40, QUIET), (10, LOUD))
    assert leaks(call(heard, interruption(1.0, 2.0, late=True))) == 4


def test_missing_sequence_numbers_are_lost_packets_and_missing_timestamps_are_skipped_slots() -> None:
    heard = packets((10, QUIET))
    heard.sequence = [65_534, 65_535, 0, 1, 4, 5, 6, 7, 8, 9]
    heard.timestamp = [(number * 960) % (1 << 32) for number in (0, 1, 2, 3, 4, 5, 6, 9, 10, 11)]
    figures = media_figures(report(call(heard)), (), NOTHING_SUBTRACTED)
    assert (figures.packets_lost, figures.slots_skipped) == (2, 2)


def test_a_failed_call_is_counted_without_its_figures() -> None:
    good = call(packets((100, QUIET), (10, LOUD)), question(0.5, 1.5))
    bad = call(packets((10, QUIET)), question(0.05, 0.1))
    bad.trouble = "The call was lost."
    figures = media_figures(report(good, bad), (), NOTHING_SUBTRACTED)
    assert (figures.calls, figures.failed, figures.setup.count) == (2, 1, 1)
    assert figures.troubles == ("The call was lost.",)


def test_the_legs_add_up_to_the_added_latency() -> None:
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


def test_an_utterance_that_became_two_turns_is_counted_as_split() -> None:
    one = call(packets((100, QUIET), (10, LOUD)), question(0.5, 1.5))
    figures = media_figures(report(one), [ProviderCall((), asked=2)], NOTHING_SUBTRACTED)
    assert figures.turns_split == 1


def report(*calls: CallMeasurements, began: float = 0.0, ended: float = 10.0) -> CallersReport:
    return CallersReport(list(calls), began, ended, lateness_ms=[1.0])
