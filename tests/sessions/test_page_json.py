"""How each event looks to the page, as `docs/api.md` promises, and that nothing else in the server knows it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend import page_events
from backend.citations import Citation
from backend.page_events import (
    AnswerMeasured,
    ChatStateChanged,
    ChatTurnFinished,
    ChatTurnStarted,
    ConfirmationAnswered,
    ConfirmationAsked,
    DecisionMade,
    ErrorShown,
    EventsMissed,
    FloorChanged,
    IdleDisconnected,
    IdleNudged,
    InterruptionsChanged,
    KeysPressed,
    MurmurHeard,
    NoticeChanged,
    NoticeContent,
    PageEvent,
    PlaybackFinished,
    RecordingChanged,
    ReminderChanged,
    ReplyDiscarded,
    ReplyFailed,
    ReplyWorded,
    ResponderChanged,
    SessionEnded,
    SessionStarted,
    TaskChanged,
    TaskFindings,
    ThinkerChanged,
    ThinkerWork,
    TokenGenerated,
    ToolCallFinished,
    ToolCallStarted,
    ToolProgress,
    TranscriptCompleted,
    TranscriptDelta,
    TranscriptInterrupted,
    TurnMeasured,
    UsageCounted,
    UserContextChanged,
    UserItemAdded,
)
from backend.sessions.event_log import name_of, page_message

ROOT = Path(__file__).resolve().parents[2]
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
    (
        SessionStarted("s", "c", "kept", "webrtc", "ten", "OpenAI", "m", offline=False),
        "session_started",
        {
            "session_id": "s",
            "conversation_id": "c",
            "history": "kept",
            "transport": "webrtc",
            "hearing": "ten",
            "responder": "OpenAI",
            "model": "m",
            "offline": False,
            "interruptions": True,
            "pictures": False,
        },
    ),
    (
        ResponderChanged("connected", "OpenAI", "m"),
        "responder_changed",
        {"state": "connected", "responder": "OpenAI", "model": "m", "pictures": False},
    ),
    (SessionEnded("idle"), "session_ended", {"reason": "idle"}),
    (FloorChanged("user"), "floor", {"floor": "user"}),
    (
        UserItemAdded("u1", "a0"),
        "transcript_delta",
        {"role": "user", "item_id": "u1", "delta": "", "previous_item_id": "a0"},
    ),
    (
        TranscriptDelta("assistant", "a1", "Hi"),
        "transcript_delta",
        {"role": "assistant", "item_id": "a1", "delta": "Hi"},
    ),
    (ReplyWorded("a1", "Hi."), "transcript_done", {"role": "assistant", "item_id": "a1", "content": "Hi."}),
    (TranscriptCompleted("user", "u1", "Hey"), "transcript", {"role": "user", "item_id": "u1", "content": "Hey"}),
    (
        TranscriptInterrupted("a1", "Hi", "Hi there."),
        "transcript_interrupted",
        {"item_id": "a1", "heard": "Hi", "content": "Hi there."},
    ),
    (PlaybackFinished("a1", 1200), "audio_playback_finished", {"item_id": "a1", "played_ms": 1200}),
    (AnswerMeasured(1, 1350), "answer_metrics", {"turn": 1, "answer_ms": 1350}),
    (
        TurnMeasured(1, 300, 1, 50, 100, 0, 20, 471, 60),
        "turn_metrics",
        {
            "turn": 1,
            "hangover_ms": 300,
            "commit_ms": 1,
            "reply_started_ms": 50,
            "first_audio_ms": 100,
            "patience_ms": 0,
            "played_ms": 20,
            "first_sound_ms": 471,
            "first_token_ms": 60,
            "wait_ms": 0,
            "reason": "",
            "pieces": 1,
            "discarded": 0,
        },
    ),
    (MurmurHeard("agreement", "mm-hmm"), "murmur", {"kind": "agreement", "words": "mm-hmm"}),
    (
        ReplyDiscarded(2, 1300, 20),
        "reply_discarded",
        {"turn": 2, "input_tokens": 1300, "output_tokens": 20},
    ),
    (
        ReplyFailed(2, "answer", "incomplete", "max_output_tokens", True, "continued"),
        "reply_failed",
        {
            "turn": 2,
            "purpose": "answer",
            "status": "incomplete",
            "reason": "max_output_tokens",
            "sounded": True,
            "remedy": "continued",
        },
    ),
    (
        UsageCounted("OpenAI Realtime API", "gpt-realtime-2", 300, 100, 45, 1200, 900, 0.0025, 345, None),
        "usage",
        {
            "responder": "OpenAI Realtime API",
            "model": "gpt-realtime-2",
            "input_tokens": 300,
            "cached_tokens": 100,
            "output_tokens": 45,
            "audio_sent_ms": 1200,
            "audio_received_ms": 900,
            "usd": 0.0025,
            "call_tokens": 345,
            "call_usd": None,
        },
    ),
    (InterruptionsChanged(allowed=False), "interruptions", {"allowed": False}),
    (KeysPressed("12#"), "keys_pressed", {"keys": "12#"}),
    (IdleNudged(15), "session_idle_nudge", {"idle_s": 15}),
    (IdleDisconnected(60), "session_idle_disconnect", {"idle_s": 60}),
    (ErrorShown("It failed.", "Try again."), "error", {"message": "It failed.", "hint": "Try again."}),
    (
        ErrorShown("It failed.", "Try again.", "call_failed"),
        "error",
        {"message": "It failed.", "hint": "Try again.", "problem": "call_failed"},
    ),
    (EventsMissed(4), "gap", {"missed": 4}),
    (ThinkerChanged("c1", "stale"), "thinker", {"call_id": "c1", "event": "stale"}),
    (ThinkerChanged("c1", "routed", WORK), "thinker", {"call_id": "c1", "event": "routed", **SHOWN_WORK}),
    (
        ThinkerChanged("c1", "complete", ThinkerWork("weather", "Weather", "rain?", 40, 1, 700, "live", (), "t1")),
        "thinker",
        {"call_id": "c1", "event": "complete", **SHOWN_WORK, "source": "live", "citations": [], "task_id": "t1"},
    ),
    (
        ThinkerChanged("c1", "failed", ThinkerWork("weather", "Weather", "rain?", 40, 1, 700, error="No.")),
        "thinker",
        {"call_id": "c1", "event": "failed", **SHOWN_WORK, "error": "No."},
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
        NoticeChanged("n1", "waiting", NoticeContent("result", "Done.", "t1")),
        "notice",
        {"id": "n1", "kind": "result", "text": "Done.", "source": "t1", "state": "waiting"},
    ),
    (
        NoticeChanged("n1", "waiting", NoticeContent("result", "Done.", "t1", 12.5)),
        "notice",
        {"id": "n1", "kind": "result", "text": "Done.", "source": "t1", "at": 12.5, "state": "waiting"},
    ),
    (ReminderChanged("r1", "set"), "reminder", {"id": "r1", "event": "set"}),
    (
        ReminderChanged("r1", "delivered", "call"),
        "reminder",
        {"id": "r1", "event": "delivered", "way": "call"},
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
    (UserContextChanged(), "user_context", {}),
    (RecordingChanged("a1", on=True), "recording", {"recording_id": "a1", "on": True, "reason": ""}),
    (
        ConfirmationAsked("q1", "c1", "github_issue", {"action": "close", "number": 1}, 300.0),
        "confirmation.asked",
        {
            "id": "q1",
            "conversation_id": "c1",
            "tool": "github_issue",
            "arguments": {"action": "close", "number": 1},
            "expires_at": 300.0,
        },
    ),
    (
        ConfirmationAnswered("q1", "c1", True),
        "confirmation.answered",
        {"id": "q1", "conversation_id": "c1", "agreed": True},
    ),
    (
        ChatTurnStarted(None, "m1", "default"),
        "turn",
        {"conversation_id": None, "message_id": "m1", "mode": "default"},
    ),
    (ChatStateChanged("processing"), "state", {"state": "processing"}),
    (TokenGenerated("word "), "token", {"text": "word "}),
    (ToolCallStarted("1", "fetch", "{}"), "tool_call", {"id": "1", "name": "fetch", "arguments": "{}"}),
    (
        ToolCallFinished("1", "fetch", "{}", None, sample=False, elapsed_ms=5),
        "tool_result",
        {"id": "1", "name": "fetch", "content": "{}", "error": None, "sample": False, "elapsed_ms": 5},
    ),
    (ChatTurnFinished({"text": "Yes."}), "final", {"text": "Yes."}),
]

NAMES = {name for _, name, _ in EXAMPLES}


@pytest.mark.parametrize(("event", "name", "data"), EXAMPLES, ids=[name for _, name, _ in EXAMPLES])
def test_every_event_has_the_name_and_the_fields_that_the_page_knows(
    event: PageEvent, name: str, data: dict[str, Any]
) -> None:
    assert page_message(event) == (name, data)


def test_every_type_is_named_and_shown_by_an_example() -> None:
    kinds = {kind for kind in vars(page_events).values() if isinstance(kind, type) and issubclass(kind, PageEvent)}
    assert {type(event) for event, _, _ in EXAMPLES} == kinds - {PageEvent}


def test_every_name_is_documented() -> None:
    documented = set(re.findall(r"`([\w.]+)[` ]", (ROOT / "docs" / "api.md").read_text()))
    assert documented >= NAMES


def test_only_the_end_of_a_session_ends_its_messages() -> None:
    ends = [event for event, _, _ in EXAMPLES if page_message(event).type == name_of(SessionEnded)]
    assert ends == [SessionEnded("idle")]


# --- nothing else in the server builds or matches them ---------------------------------------------------

OTHERS = ("responders", "extensions", "testing")
"""A provider's events have names of their own, and so has the Realtime protocol; a client reads what it is sent."""
ORDINARY = {"error", "floor", "gap", "notice", "reminder", "decision", "task", "turn", "state", "token", "final"}
ORDINARY |= {"thinker", "transcript", "tool_call", "interruptions", "recording", "usage"}
"""Names that are also ordinary words of other JSON: only where they are published or matched do they mean events."""


def server_files() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted((ROOT / "backend").rglob("*.py")):
        name = path.relative_to(ROOT / "backend").as_posix()
        if name != "page_events.py" and not name.startswith(OTHERS):
            yield name, ast.parse(path.read_text())


def test_no_other_file_of_the_server_writes_a_name_that_only_page_events_have() -> None:
    names = NAMES - ORDINARY
    found = [
        f"{name}:{node.lineno} {node.value}"
        for name, tree in server_files()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert names and not found


def test_no_other_file_of_the_server_publishes_or_matches_an_event_by_its_name() -> None:
    found = []
    for name, tree in server_files():
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(attr="publish" | "_publish" | "show" | "_show" | "append"), args=args):
                    words = [arg.value for arg in args if isinstance(arg, ast.Constant)]
                case ast.Call(func=ast.Name(id="PageMessage" | "LoggedEvent"), args=args):
                    words = [arg.value for arg in args if isinstance(arg, ast.Constant)]
                case ast.Compare(left=ast.Attribute(attr="type"), comparators=others):
                    words = [other.value for other in others if isinstance(other, ast.Constant)]
                case ast.Compare(left=ast.Name(id="type_"), comparators=others):
                    words = [other.value for other in others if isinstance(other, ast.Constant)]
                case ast.Match(subject=ast.Name(id="type_")):
                    words = ["type_"]
                case _:
                    continue
            found += [f"{name}:{node.lineno} {word}" for word in words if word in {*NAMES, "type_"}]
    assert not found
