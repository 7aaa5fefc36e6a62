"""The client's events for each step of a call."""

from typing import Any

from backend import page_events as page
from backend.extensions.rtvi.translator import RtviTranslator
from backend.turns import commands as do
from backend.turns import events as ev


def translator() -> RtviTranslator:
    return RtviTranslator(lambda name: name == "look", now=lambda: "2026-01-01T00:00:00.000+00:00")


def sent(under_test: RtviTranslator, event: ev.Event | None = None, *commands: do.Command) -> list[tuple[str, Any]]:
    messages = under_test.step(event, commands)
    assert all(each["label"] == "rtvi-ai" and each["id"] for each in messages)
    return [(each["type"], each.get("data")) for each in messages]


def published(under_test: RtviTranslator, *events: page.PageEvent) -> list[tuple[str, Any]]:
    return sent(under_test, None, *(do.Publish(event) for event in events))


def test_the_floor_decides_who_counts_as_speaking() -> None:
    t = translator()
    assert published(t, page.FloorChanged("user")) == [("user-started-speaking", None)]
    assert published(t, page.FloorChanged("pausing")) == [("user-stopped-speaking", None)]
    assert published(t, page.FloorChanged("assistant")) == []
    assert sent(t, ev.PlaybackStarted("a")) == [("bot-tts-started", None), ("bot-started-speaking", None)]
    assert published(t, page.FloorChanged("held")) == [], "a voice over a reply has not interrupted it yet"
    assert published(t, page.FloorChanged("user")) == [
        ("user-started-speaking", None),
        ("bot-tts-stopped", None),
        ("bot-stopped-speaking", None),
    ]


def test_the_callers_words_grow_and_then_are_final() -> None:
    t = translator()
    first = published(t, page.TranscriptDelta("user", "u", "What is"), page.TranscriptDelta("user", "u", " it?"))
    assert [(kind, data["text"], data["final"]) for kind, data in first] == [
        ("user-transcription", "What is", False),
        ("user-transcription", "What is it?", False),
    ]
    (_, final), (kind, text) = published(t, page.TranscriptCompleted("user", "u", "What is it?"))
    assert (
        final["final"]
        and final["timestamp"].startswith("2026")
        and (kind, text["text"]) == ("user-llm-text", "What is it?")
    )
    typed = published(t, page.TranscriptCompleted("user", "typed-1", "Hi"))
    assert [kind for kind, _ in typed] == ["user-llm-text"], "the client has shown its typed words itself"


def outputs(messages: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(data["text"], data["spoken_status"]) for kind, data in messages if kind == "bot-output"]


def test_an_answer_is_reported_sentence_by_sentence_and_then_as_it_was_heard() -> None:
    t = translator()
    words = published(t, page.TranscriptDelta("assistant", "a", "It is sunny. It st"))
    assert [kind for kind, _ in words] == ["bot-llm-started", "bot-llm-text", "bot-output", "bot-transcription"]
    assert outputs(words) == [("It is sunny.", "new")]
    assert ("bot-tts-text", {"text": "It is sunny."}) in sent(t, ev.PlaybackStarted("a"))
    rest = published(t, page.TranscriptDelta("assistant", "a", "ays warm."), page.ReplyWorded("a", "…"))
    assert outputs(rest) == [("It stays warm.", "new")] and rest[-1] == ("bot-llm-stopped", None)
    assert ("bot-tts-text", {"text": "It stays warm."}) in rest
    heard = published(t, page.TranscriptInterrupted("a", "It is sunny. It", "It is sunny. It stays warm."))
    assert outputs(heard) == [("It is sunny.", "completed"), ("It stays warm.", "in-progress")]
    progress = heard[-1][1]["spoken_progress"]
    assert progress == {"accumulated_text": "It", "remaining_text": " stays warm."}


def test_an_older_client_hears_whether_words_were_spoken() -> None:
    t = translator()
    t.legacy = True
    told_of = published(t, page.TranscriptDelta("assistant", "a", "Yes."), page.ReplyWorded("a", "Yes."))
    told_of += published(t, page.TranscriptCompleted("assistant", "a", "Yes."))
    spoken = [data["spoken"] for kind, data in told_of if kind == "bot-output"]
    assert spoken == [False, True]
    asked = sent(t, None, do.RunThinker("c", "look", '{"at": "sky"}'))
    assert asked == [("llm-function-call", {"function_name": "look", "tool_call_id": "c", "args": {"at": "sky"}})]


def test_functions_of_the_clients_are_reported_whole_and_ours_by_name() -> None:
    t = translator()
    assert sent(t, None, do.RunThinker("1", "route_to_thinker", '{"query": "secret"}')) == [
        ("llm-function-call-started", {"function_name": "route_to_thinker"})
    ]
    owes = [t.awaits_client]
    assert sent(t, None, do.RunThinker("2", "look", "not JSON"))[-1][1]["arguments"] == {}
    owes.append(t.awaits_client)
    over = sent(t, ev.ThinkerFinished("1", "the answer"))
    assert over == [
        (
            "llm-function-call-stopped",
            {"function_name": "route_to_thinker", "tool_call_id": "1", "cancelled": False},
        )
    ]
    assert sent(t, ev.ToolAnswered("2", "rain"))[0][1]["result"] == "rain"
    assert [*owes, t.awaits_client] == [False, True, False]
    assert sent(t, ev.ToolAnswered("2", "rain")) == [], "once"


def test_a_call_that_ends_over_a_limit_says_so() -> None:
    (kind, data), *_ = sent(translator(), None, do.HangUp("max_minutes"))
    assert kind == "error" and data["fatal"] and "longest duration" in data["error"]
    assert sent(translator(), None, do.HangUp("disconnected")) == []


def test_a_clip_of_ours_is_reported_when_it_sounds() -> None:
    t = translator()
    kinds = [kind for kind, _ in sent(t, ev.PlaybackStarted(f"{do.CLIP_ITEM}{do.Clip.MOMENT}"))]
    assert kinds[:2] == ["bot-tts-started", "bot-started-speaking"] and "bot-output" in kinds
