"""The pure core: what each client event does, and what it may not do. Every event is checked against the types."""

from __future__ import annotations

import pytest

from backend.realtime.serving.core import Realtime
from backend.realtime.serving.effects import CloseConnection, Stop
from backend.realtime.serving.parts import Begin, Call, End, Expire, ReplySound, TranscriptDone, Words
from tests.realtime.talking import a_core, append, ask, commit, error_code, events, message, said, sent_back, tell


def test_a_commit_makes_a_user_item_linked_to_the_one_before() -> None:
    core = a_core()
    first = commit(core).item.id
    append(core, bytes(9600))
    committed, added, done = sent_back(core, "input_audio_buffer.commit")
    assert committed["previous_item_id"] == added["previous_item_id"] == done["previous_item_id"] == first
    assert committed["item_id"] == added["item"]["id"] != first
    assert added["item"]["content"] == [{"type": "input_audio", "transcript": None}]


@pytest.mark.parametrize("ms", [0, 99])
def test_a_commit_of_less_than_100_ms_is_refused(ms: int) -> None:
    core = a_core()
    append(core, bytes(ms * 48))
    assert error_code(sent_back(core, "input_audio_buffer.commit")) == "input_audio_buffer_commit_empty"


def test_cleared_audio_is_gone() -> None:
    core = a_core()
    append(core, bytes(48_000))
    assert [event["type"] for event in sent_back(core, "input_audio_buffer.clear")] == ["input_audio_buffer.cleared"]
    assert error_code(sent_back(core, "input_audio_buffer.commit")) == "input_audio_buffer_commit_empty"


def test_a_transcript_may_come_after_the_reply_began_and_fills_the_item() -> None:
    core = a_core()
    listen = commit(core)
    order = ask(core)
    said(core, order, Begin(), Words("Hi"))
    (completed,) = events(core.heard(listen.item, TranscriptDone("hello")))
    assert (completed["item_id"], completed["transcript"]) == (listen.item.id, "hello")
    assert listen.item.shown()["content"][0]["transcript"] == "hello"


def test_a_transcript_is_sent_only_to_a_client_that_asked_for_it() -> None:
    core = Realtime("offline")
    audio = {"input": {"turn_detection": None}}
    tell(core, "session.update", session={"type": "realtime", "audio": audio})
    assert core.heard(commit(core).item, TranscriptDone("hello")) == []


def test_a_call_follows_its_spoken_acknowledgement_in_one_response() -> None:
    core = a_core()
    tell(core, "conversation.item.create", item=message("user", "weather?"))
    seen = said(
        core, ask(core), Begin(), Words("Let me see."), ReplySound(bytes(4800)), Call("route", '{"a": 1}'), End()
    )
    done = next(event for event in seen if event["type"] == "response.done")
    spoken, called = done["response"]["output"]
    assert (spoken["type"], called["type"], called["arguments"]) == ("message", "function_call", '{"a": 1}')
    indexes = {event["output_index"] for event in seen if "output_index" in event}
    assert indexes == {0, 1}
    pieces = [event["delta"] for event in seen if event["type"] == "response.function_call_arguments.delta"]
    assert "".join(pieces) == '{"a": 1}'
    usage = done["response"]["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"] > 0


def test_a_text_reply_has_text_events_and_no_audio() -> None:
    core = a_core()
    seen = said(core, ask(core, output_modalities=["text"]), Begin(), Words("Hi"), ReplySound(b"\0\0"), End())
    kinds = {event["type"] for event in seen}
    assert "response.output_text.delta" in kinds
    assert not any("audio" in kind for kind in kinds)


def test_a_cancelled_reply_takes_late_deltas_and_ends_as_cancelled() -> None:
    core = a_core()
    order = ask(core)
    said(core, order, Begin(), ReplySound(bytes(4800)))
    assert tell(core, "response.cancel") == [Stop(order.response_id)]
    assert [event["type"] for event in said(core, order, ReplySound(bytes(4800)))] == ["response.output_audio.delta"]
    ended = events(core.stopped(order.response_id))
    done = next(event for event in ended if event["type"] == "response.done")
    assert done["response"]["status"] == "cancelled"
    assert done["response"]["output"][0]["status"] == "incomplete"
    assert core.said(order.response_id, ReplySound(bytes(4800))) == []


def test_a_cancel_without_a_reply_is_a_harmless_error() -> None:
    core = a_core()
    assert error_code(sent_back(core, "response.cancel")) == "response_cancel_not_active"
    order = ask(core)
    said(core, order, Begin(), End())
    assert error_code(sent_back(core, "response.cancel", response_id=order.response_id)) == "response_cancel_not_active"


def test_a_second_reply_waits_for_the_first_even_before_it_began() -> None:
    core = a_core()
    order = ask(core)
    assert error_code(sent_back(core, "response.create")) == "conversation_already_has_active_response"
    said(core, order, Begin(), End())
    assert ask(core).response_id != order.response_id


def test_an_out_of_band_reply_runs_in_parallel_and_leaves_no_item() -> None:
    core = a_core()
    main = ask(core)
    said(core, main, Begin(), Words("a"))
    own_input = [message("user", "Summarise.")]
    beside = ask(core, conversation="none", metadata={"for": "summary"}, input=own_input)
    assert [item.words for item in beside.items] == ["Summarise."]
    seen = said(core, beside, Begin(), Words("b"), End())
    assert not any(event["type"].startswith("conversation.") for event in seen)
    assert len(core.conversation) == 1


def truncatable() -> tuple[Realtime, str]:
    """A core with one spoken second of audio; and the item's id."""
    core = a_core()
    done = said(core, ask(core), Begin(), Words("One two three."), ReplySound(bytes(48_000)), End())
    return core, next(event for event in done if event["type"] == "response.done")["response"]["output"][0]["id"]


def test_a_directing_message_joins_the_instructions_and_not_the_conversation() -> None:
    core = a_core()
    tell(core, "session.update", session={"type": "realtime", "instructions": "be kind"})
    tell(core, "conversation.item.create", item=message("user", "weather?"))
    tell(core, "conversation.item.create", item={**message("system", "Say you are looking."), "id": "direction_7"})
    order = ask(core)
    assert order.instructions == "be kind\n\nSay you are looking."
    assert [item.words for item in order.items] == ["weather?"]


def test_truncation_cuts_audio_and_words_in_proportion() -> None:
    core, item = truncatable()
    (cut,) = sent_back(core, "conversation.item.truncate", item_id=item, content_index=0, audio_end_ms=400)
    assert cut["audio_end_ms"] == 400
    kept = core.conversation.find(item, "retrieve")
    assert (kept.audio_ms, kept.heard_ms, kept.words) == (400, 400, "One")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"audio_end_ms": 1001}, "invalid_value"),
        ({"audio_end_ms": -1}, "invalid_value"),
        ({"content_index": 1}, "invalid_value"),
        ({"item_id": "no_such"}, "item_truncate_invalid_item_id"),
    ],
)
def test_a_truncation_out_of_bounds_is_refused(change: dict[str, object], code: str) -> None:
    core, item = truncatable()
    fields = {"item_id": item, "content_index": 0, "audio_end_ms": 400, **change}
    assert error_code(sent_back(core, "conversation.item.truncate", **fields)) == code
    assert core.conversation.find(item, "retrieve").heard_ms is None


def test_only_spoken_assistant_items_can_be_truncated() -> None:
    core = a_core()
    user = commit(core).item.id
    answer = sent_back(core, "conversation.item.truncate", item_id=user, content_index=0, audio_end_ms=10)
    assert error_code(answer) == "unsupported_content_type"


def test_a_deleted_item_is_gone() -> None:
    core, item = truncatable()
    assert sent_back(core, "conversation.item.delete", item_id=item)[0]["item_id"] == item
    assert error_code(sent_back(core, "conversation.item.delete", item_id=item)) == "item_delete_invalid_item_id"


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ({"type": "function_call_output", "call_id": "none", "output": "{}"}, "invalid_tool_call_id"),
        (message("user", "x", id="x" * 33), "invalid_value"),
        (message("user", "twice", id="taken"), "item_create_duplicate_item_id"),
        ({"type": "message", "role": "assistant", "content": [{"type": "output_audio", "audio": ""}]}, "invalid_value"),
    ],
)
def test_a_wrong_item_is_refused(item: dict[str, object], code: str) -> None:
    core = a_core()
    tell(core, "conversation.item.create", item=message("user", "first", id="taken"))
    assert error_code(sent_back(core, "conversation.item.create", item=item)) == code


@pytest.mark.parametrize(
    ("event", "code", "param"),
    [
        ({}, "invalid_event", None),
        ({"type": "no.such.event"}, "invalid_value", "type"),
        ({"type": "session.update"}, "missing_required_parameter", "session"),
        ({"type": "input_audio_buffer.append"}, "missing_required_parameter", "audio"),
        ({"type": "input_audio_buffer.append", "audio": "***"}, "invalid_value", "audio"),
        ({"type": "input_audio_buffer.append", "audio": "AQ=="}, "invalid_value", "audio"),
        ({"type": "conversation.item.create"}, "missing_required_parameter", "item"),
        ({"type": "conversation.item.truncate"}, "missing_required_parameter", "item_id"),
        ({"type": "response.create", "response": {"metadata": {"a": 1}}}, "invalid_type", "response.metadata[...]"),
        ([], "invalid_event", None),
    ],
)
def test_a_wrong_event_is_answered_with_code_and_parameter(event: object, code: str, param: str | None) -> None:
    core = a_core()
    (answer,) = events(core.receive(event))
    assert (answer["error"]["code"], answer["error"]["param"]) == (code, param)


def test_an_expired_session_says_so_and_closes() -> None:
    core = a_core()
    effects = core.said(ask(core).response_id, Expire())
    assert events(effects)[0]["error"]["code"] == "session_expired"
    assert effects[-1] == CloseConnection(1001, "session_expired")
