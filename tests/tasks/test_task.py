"""A task's states: which run may change it, and when it is over."""

from collections.abc import Callable

import pytest

from backend.citations import Citation
from backend.tasks.task import (
    DEATHS_LIMIT,
    Superseded,
    Task,
    TaskResult,
    TaskState,
    begun,
    canceled,
    done,
    failed,
    handed_back,
    normalised,
    owns,
    progressed,
)

ANSWER = TaskResult("It is blue.", "live", (Citation("Some source"),))


def queued() -> Task:
    return Task("id", "ana", "c1", "research", "Why is the sky blue?", created_at=1.0, changed_at=1.0)


def test_a_task_is_started_reported_on_and_done() -> None:
    running = begun(queued(), 2.0)
    assert (running.state, running.run, running.started_at) == (TaskState.RUNNING, 1, 2.0)
    reported = progressed(running, 1, "searching", 3.0)
    assert reported.progress == "searching"
    ended = done(reported, 1, ANSWER, 4.0)
    assert (ended.state, ended.result, ended.citations, ended.ended_at) == (
        TaskState.DONE,
        "It is blue.",
        (Citation("Some source"),),
        4.0,
    )
    assert not ended.open


def test_a_run_that_another_has_replaced_can_change_nothing() -> None:
    again = begun(begun(queued(), 2.0), 3.0)
    assert again.run == 2
    attempts: list[Callable[[], object]] = [
        lambda: progressed(again, 1, "late", 4.0),
        lambda: done(again, 1, ANSWER, 4.0),
        lambda: failed(again, 1, "late", 4.0, retry=True),
        lambda: handed_back(again, 1, 4.0),
    ]
    for attempt in attempts:
        with pytest.raises(Superseded):
            attempt()
    owns(again, 2)


def test_a_failure_is_retried_once_before_the_task_fails() -> None:
    first = failed(begun(queued(), 2.0), 1, "no answer", 3.0, retry=True)
    assert (first.state, first.setbacks.ready_at, first.error) == (TaskState.QUEUED, 8.0, "no answer")
    second = failed(begun(first, 8.0), 2, "no answer", 9.0, retry=True)
    assert (second.state, second.ended_at, second.error) == (TaskState.FAILED, 9.0, "no answer")


def test_a_worker_that_ends_in_order_costs_the_task_no_attempt() -> None:
    back = handed_back(begun(queued(), 2.0), 1, 3.0)
    assert (back.state, back.setbacks.failures, back.setbacks.deaths) == (TaskState.QUEUED, 0, 0)
    assert begun(back, 4.0).setbacks.deaths == 0


def test_a_task_that_kills_its_workers_fails() -> None:
    task = begun(queued(), 2.0)
    for death in range(1, DEATHS_LIMIT):
        task = begun(task, 2.0 + death)
        assert (task.state, task.setbacks.deaths) == (TaskState.RUNNING, death)
    given_up = begun(task, 9.0)
    assert given_up.state is TaskState.FAILED
    assert "3 workers" in given_up.error


@pytest.mark.parametrize("running", [False, True])
def test_a_task_can_be_canceled_until_it_is_over(running: bool) -> None:
    task = canceled(begun(queued(), 2.0) if running else queued(), 3.0)
    assert task.state is TaskState.CANCELED
    with pytest.raises(Superseded):
        canceled(task, 4.0)
    with pytest.raises(Superseded):
        begun(task, 4.0)


def test_insignificant_differences_in_an_instruction_make_no_new_task() -> None:
    assert normalised("  Why is the SKY\n blue? ") == normalised("why is the sky blue")
    assert normalised("Why is the sky blue") != normalised("Why is the sea blue")


def test_the_repr_of_a_task_contains_no_words_of_a_user() -> None:
    assert "sky" not in repr(queued())
