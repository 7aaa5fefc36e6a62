"""When a program's call is over."""

from typing import Any

import pytest

from responder_thinker.progress import Progress

Step = tuple[str, float] | tuple[str, float, dict[str, Any]]


def thinker(event: str, call: str = "c1") -> dict[str, Any]:
    return {"call_id": call, "event": event, "domain": "weather"}


def after(*steps: Step) -> Progress:
    """A call with these events: their time, name and data."""
    progress = Progress(2.0)
    for what, at, *data in steps:
        if what in ("asked", "heard"):
            getattr(progress, what)(at)
        else:
            progress.on_event(what, data[0] if data else {}, at)
    return progress


ANSWERED: tuple[Step, ...] = (("asked", 1.0), ("heard", 3.0))
AT_WORK: tuple[Step, ...] = (*ANSWERED, ("thinker", 3.0, thinker("routed")), ("thinker", 3.1, thinker("working")))


@pytest.mark.parametrize(
    ("steps", "not_yet", "over"),
    [
        (ANSWERED, 4.9, 5.0),
        ((*AT_WORK, ("thinker", 31.0, thinker("complete"))), 32.9, 33.0),
        ((*AT_WORK, ("thinker", 4.0, thinker("failed", "c2")), ("thinker", 61.0, thinker("stale"))), 62.9, 63.0),
        ((*ANSWERED, ("transcript_delta", 4.9), ("turn_metrics", 6.5)), 6.8, 6.9),
    ],
)
def test_a_call_is_over_after_two_quiet_seconds(steps: tuple[Step, ...], not_yet: float, over: float) -> None:
    progress = after(*steps)
    assert progress.answered and not progress.over(not_yet) and progress.over(over)


@pytest.mark.parametrize("steps", [(("asked", 1.0),), AT_WORK, (("heard", 0.5), ("asked", 1.0), ("heard", 0.5))])
def test_a_call_without_an_answer_or_with_a_working_thinker_is_not_over(steps: tuple[Step, ...]) -> None:
    assert not after(*steps).over(1000.0)


def test_the_servers_end_is_the_end() -> None:
    progress = after(("session_ended", 1.0, {"reason": "idle"}))
    assert progress.over(1.0) and progress.ended == "idle"
