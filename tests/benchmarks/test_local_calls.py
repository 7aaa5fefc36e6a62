"""What is made of local calls: who was late, what gave way, what grew."""

from __future__ import annotations

from benchmarks.local_calls.judge import times, yielding
from benchmarks.local_calls.memory import Growth, faults, role
from benchmarks.record import CallersReport, CallRecord, Kind, Packets, Utterance
from benchmarks.soak import Sample

LOUD, SILENT = 8000, 0
BOUNDS = Growth(each_mb=8.0, pool_mb=900.0)


def heard(*stretches: tuple[float, float]) -> Packets:
    """A packet every 20 ms of ten seconds, loud within the stretches."""
    at = [number * 0.02 for number in range(500)]
    peaks = [LOUD if any(begin <= moment < end for begin, end in stretches) else SILENT for moment in at]
    return Packets(at, list(range(500)), [number * 960 for number in range(500)], peaks, [False] * 500)


def a_call(kind: Kind, began: float, ended: float, *stretches: tuple[float, float]) -> CallRecord:
    return CallRecord(0.1, [Utterance(kind, began, ended)], heard(*stretches))


def test_an_answer_is_late_from_the_last_sound_and_words_are_those_of_their_own_question() -> None:
    call = a_call(Kind.QUESTION, 1.0, 2.0, (2.9, 4.0))
    call.said.append(Utterance(Kind.QUESTION, 5.0, 6.0))
    call.transcribed, call.shown = [2.4, 6.3], [1.2, 2.3, 5.5, 6.1]
    found = times(CallersReport([call], 0.0, 10.0, []))
    assert round(found.answer.p50) == 900 and found.unanswered == 1
    assert (round(found.transcript.p50), round(found.transcript.worst)) == (300, 400)
    assert (round(found.shown.p50), round(found.shown.worst)) == (100, 300)


def test_a_reply_that_falls_silent_has_given_way_and_a_pause_between_words_is_none() -> None:
    found = yielding([a_call(Kind.INTERRUPTION, 3.0, 5.0, (1.0, 3.1), (3.3, 3.5), (6.0, 8.0))])
    assert found.interruptions == 1 and found.ignored == 0
    assert round(found.silence.p50, -1) == 500


def test_a_reply_that_goes_on_has_ignored_the_interruption() -> None:
    found = yielding([a_call(Kind.INTERRUPTION, 3.0, 5.0, (1.0, 9.0))])
    assert (found.interruptions, found.ignored, found.silence.count) == (1, 1, 0)


def test_a_murmur_that_cuts_a_reply_is_a_false_start_and_one_that_does_not_is_none() -> None:
    calls = [a_call(Kind.MURMUR, 3.0, 3.4, (1.0, 3.6)), a_call(Kind.MURMUR, 3.0, 3.4, (1.0, 9.0))]
    found = yielding(calls)
    assert (found.murmurs, found.false_starts) == (2, 1)


def test_who_speaks_into_silence_interrupts_nobody() -> None:
    assert yielding([a_call(Kind.INTERRUPTION, 3.0, 5.0, (0.5, 1.0))]).interruptions == 0


def samples(megabytes: list[float]) -> list[Sample]:
    return [Sample(5.0 * number, mb, 20, 3) for number, mb in enumerate(megabytes)]


def test_flat_memory_within_its_bound_is_no_fault() -> None:
    flat = {name: samples([250.0, 251.0, 249.0] * 40) for name in ("local Responder", "recognition", "synthesis")}
    assert faults(flat, 600, BOUNDS) == []


def test_a_process_that_grows_is_named() -> None:
    flat = {name: samples([250.0] * 120) for name in ("local Responder", "synthesis")}
    found = faults(flat | {"recognition": samples([250 + 0.25 * n for n in range(120)])}, 600, BOUNDS)
    assert len(found) == 1 and found[0].startswith("recognition: MB of memory grew")


def test_a_pool_over_its_bound_or_not_there_at_all_is_a_fault() -> None:
    heavy = {name: samples([310.0] * 120) for name in ("local Responder", "recognition", "synthesis")}
    assert faults(heavy, 600, BOUNDS) == ["the pool took 930 MB"]
    assert "synthesis was not seen" in faults({k: v for k, v in heavy.items() if k != "synthesis"}, 600, BOUNDS)


def test_processes_are_known_by_their_command_lines() -> None:
    worker = ["python", "-m", "backend.extensions.local.speech_worker"]
    assert role([*worker, "backend.extensions.local.recognition.moonshine"], is_root=False) == "recognition"
    assert role([*worker, "backend.extensions.local.synthesis.jobs"], is_root=False) == "synthesis"
    assert role(["python", "-m", "backend.extensions.local", "--port", "0"], is_root=False) == "local Responder"
    assert role(["python", "serve"], is_root=True) == "server"
