"""Each event in the page's JSON, as `docs/api.md` promises."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields

from backend import page_events
from backend.citations import Citation
from backend.page_events import (
    ChatTurnFinished,
    DecisionMade,
    NoticeChanged,
    NoticeContent,
    PageEvent,
    ReplyWorded,
    SessionEnded,
    TaskChanged,
    TaskFindings,
    ThinkerChanged,
    ThinkerWork,
    ToolProgress,
    UserItemAdded,
)
from backend.sessions.event_log import name_of, page_message

API = (Path(__file__).resolve().parents[2] / "docs" / "api.md").read_text()
WORK = ThinkerWork("weather", "Weather", "rain?", 40, 1, 700)
SHOWN_WORK = {
    "domain": "weather",
    "label": "Weather",
    "query": "rain?",
    "elapsed_ms": 40,
    "turn": 1,
    "into_turn_ms": 700,
}
EXAMPLES: list[tuple[PageEvent, str, dict[str, Any]]] = [
    (SessionEnded("idle"), "session_ended", {"reason": "idle"}),
    (
        UserItemAdded("u1", "a0"),
        "transcript_delta",
        {"role": "user", "item_id": "u1", "delta": "", "previous_item_id": "a0"},
    ),
    (ReplyWorded("a1", "Hi."), "transcript_done", {"role": "assistant", "item_id": "a1", "content": "Hi."}),
    (ThinkerChanged("c1", "stale"), "thinker", {"call_id": "c1", "event": "stale"}),
    (ThinkerChanged("c1", "routed", WORK), "thinker", {"call_id": "c1", "event": "routed", **SHOWN_WORK}),
    (
        ThinkerChanged("c1", "complete", ThinkerWork("weather", "Weather", "rain?", 40, 1, 700, "live", (), "t1")),
        "thinker",
        {"call_id": "c1", "event": "complete", **SHOWN_WORK, "source": "live", "citations": [], "task_id": "t1"},
    ),
    (
        ThinkerChanged("c1", "working", WORK, "calling fetch", ToolProgress("1", "fetch", "started")),
        "thinker",
        {
            "call_id": "c1",
            "event": "working",
            **SHOWN_WORK,
            "detail": "calling fetch",
            "tool": {"id": "1", "name": "fetch", "event": "started"},
        },
    ),
    (NoticeChanged("n1", "told"), "notice", {"id": "n1", "state": "told"}),
    (
        NoticeChanged("n1", "waiting", NoticeContent("result", "Done.", "t1", 12.5)),
        "notice",
        {"id": "n1", "kind": "result", "text": "Done.", "source": "t1", "at": 12.5, "state": "waiting"},
    ),
    (
        DecisionMade("d1", "Do it.", ("t1",), "", ("create_task",), ("5-0",), "research: Why? (queued)"),
        "decision",
        {
            "id": "d1",
            "text": "Do it.",
            "tasks": ["t1"],
            "failure": "",
            "actions": ["create_task"],
            "inputIds": ["5-0"],
            "taskSummary": "research: Why? (queued)",
        },
    ),
    (
        TaskChanged("t1", "progress", "research", "Why?", "searching"),
        "task",
        {"task_id": "t1", "event": "progress", "kind": "research", "instruction": "Why?", "detail": "searching"},
    ),
    (
        TaskChanged("t1", "done", "research", "Why?", result=TaskFindings("So.", "live", (Citation("A book"),))),
        "task",
        {
            "task_id": "t1",
            "event": "done",
            "kind": "research",
            "instruction": "Why?",
            "result": "So.",
            "source": "live",
            "citations": [{"title": "A book", "url": ""}],
        },
    ),
    (ChatTurnFinished({"text": "Yes."}), "final", {"text": "Yes."}),
]

KINDS = [
    kind
    for kind in vars(page_events).values()
    if isinstance(kind, type) and issubclass(kind, PageEvent) and kind is not PageEvent
]


@pytest.mark.parametrize(("event", "name", "data"), EXAMPLES, ids=[name for _, name, _ in EXAMPLES])
def test_an_event_in_the_pages_form_has_the_documented_names(event: PageEvent, name: str, data: dict[str, Any]) -> None:
    assert page_message(event) == (name, data)


@pytest.mark.document("001", "events of the page")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_event_is_documented_with_its_fields(kind: type[PageEvent]) -> None:
    rows = [line for line in API.splitlines() if re.search(rf"`{re.escape(name_of(kind))}[` ]", line)]
    assert rows
    spread = {field for event, _, _ in EXAMPLES if type(event) is kind for field in event.__struct_fields__}
    names = {field.encode_name for field in fields(kind)} - spread
    assert names <= set(re.findall(r"\w+", " ".join(rows)))
