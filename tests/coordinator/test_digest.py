"""When a digest is due, and what it contains."""

import json

import pytest

from backend.coordinator import decider
from backend.coordinator.coordinator import Digest, DigestItem, due_at, fallback_text
from backend.coordinator.decider import bounded, question
from backend.coordinator.store import ChannelEntry, HistoryEntry
from backend.settings.tasks import CoordinatorSettings
from backend.tasks.task import Task, TaskState

SETTINGS = CoordinatorSettings.model_validate({})
SAID = ChannelEntry("1-0", "input", 100.0, "hello", "voice")
ENDED = ChannelEntry("2-0", "result", 100.0, task_id="t1", state="done")


def a_task(result: str = "They dance. They also sing.", state: TaskState = TaskState.DONE, error: str = "") -> Task:
    return Task("t1", "ada", "", "research", "How do bees talk?", 1.0, 1.0, state=state, result=result, error=error)


@pytest.mark.document("003", "intervals")
@pytest.mark.document("003", "results wait for the teller")
@pytest.mark.parametrize(
    ("waiting", "last_at", "is_listening", "due"),
    [
        ([], 0.0, True, None),
        ([SAID], 0.0, False, 101.0),
        ([SAID], 95.0, True, 110.0),  # fifteen seconds after the previous digest
        ([ENDED], 0.0, False, 120.0),
        ([ENDED], 110.0, False, 125.0),
        ([ENDED], 99.0, True, 100.5),  # a result with a listener does not wait
        ([ENDED, SAID], 0.0, False, 101.0),  # the input makes the result due, too
    ],
)
def test_a_digest_is_due_by_what_waits_and_who_listens(
    waiting: list[ChannelEntry], last_at: float, is_listening: bool, due: float | None
) -> None:
    assert due_at(waiting, last_at, is_listening=is_listening, settings=SETTINGS) == due


@pytest.mark.document("003", "bounded input")
def test_history_keeps_the_newest_entries_within_a_count_and_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    history = [HistoryEntry(f"{n}", float(n), "input", "word " * 20) for n in range(100)]
    assert [thought.id for thought in bounded(history)] == [f"{n}" for n in range(60, 100)]
    monkeypatch.setattr(decider, "HISTORY_BYTES", 1_024)
    few = bounded(history)
    assert 3 < len(few) < 10 and few[-1].id == "99"


@pytest.mark.document("003", "bounded input")
def test_the_question_to_the_model_has_each_new_entry_once() -> None:
    happened = [DigestItem(ENDED, a_task())]
    history = [happened[0].history_entry(), HistoryEntry("0", 1.0, "input", "before")]
    shown = json.loads(question(Digest("d1", "ada", happened, history, [a_task()])))
    assert shown["happened"][0]["result"] == "They dance. They also sing."
    assert shown["before"] == [{"kind": "input", "text": "before"}]


def test_the_fallback_text_names_the_question_and_ends_with_a_sentence() -> None:
    assert (
        fallback_text([DigestItem(ENDED, a_task())])
        == "I have an answer to this: How do bees talk. They dance. They also sing."
    )
    long = fallback_text([DigestItem(ENDED, a_task("They dance in circles. " * 40))])
    assert len(long) < 500 and long.endswith("circles.")
    failed = DigestItem(ENDED, a_task("", TaskState.FAILED, "It took too long."))
    assert fallback_text([failed]) == "I could not finish this: How do bees talk. It took too long."
    assert fallback_text([DigestItem(SAID)]) == ""
