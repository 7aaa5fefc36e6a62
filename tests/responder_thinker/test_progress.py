"""When a program's call is over."""

from __future__ import annotations

from typing import Any

from responder_thinker.progress import Progress


def thinker(event: str, call: str = "c1") -> dict[str, Any]:
    return {"call_id": call, "event": event, "domain": "weather"}


def test_nothing_heard_is_never_over() -> None:
    progress = Progress(2.0)
    progress.asked(1.0)
    assert not progress.over(1000.0)
    assert not progress.answered


def test_two_quiet_seconds_after_the_answer_it_is_over() -> None:
    progress = Progress(2.0)
    progress.asked(1.0)
    progress.heard(5.0)
    assert not progress.over(6.9)
    assert progress.over(7.0)
    assert progress.answered


def test_a_voice_before_the_question_was_asked_is_no_answer() -> None:
    progress = Progress(2.0)
    progress.heard(0.5)
    progress.asked(1.0)
    progress.heard(0.5)
    assert not progress.answered


def test_a_thinker_at_work_keeps_the_call() -> None:
    progress = Progress(2.0)
    progress.asked(1.0)
    progress.heard(3.0)
    progress.on_event("thinker", thinker("routed"), 3.0)
    progress.on_event("thinker", thinker("working"), 3.1)
    assert not progress.over(30.0)
    progress.on_event("thinker", thinker("complete"), 31.0)
    assert not progress.over(32.9)
    assert progress.over(33.0)


def test_each_thinker_is_waited_for() -> None:
    progress = Progress(2.0)
    progress.asked(1.0)
    progress.heard(3.0)
    progress.on_event("thinker", thinker("routed", "c1"), 3.0)
    progress.on_event("thinker", thinker("routed", "c2"), 3.0)
    progress.on_event("thinker", thinker("failed", "c2"), 4.0)
    assert not progress.over(60.0)
    progress.on_event("thinker", thinker("stale", "c1"), 61.0)
    assert progress.over(63.0)


def test_news_keeps_the_call_a_little_longer() -> None:
    progress = Progress(2.0)
    progress.asked(1.0)
    progress.heard(3.0)
    progress.on_event("transcript_delta", {"delta": "It"}, 4.9)
    assert not progress.over(5.1)
    progress.on_event("turn_metrics", {}, 6.5)
    assert progress.over(6.9)


def test_the_servers_end_is_the_end() -> None:
    progress = Progress(2.0)
    progress.on_event("session_ended", {"reason": "idle"}, 1.0)
    assert progress.over(1.0)
    assert progress.ended == "idle"
