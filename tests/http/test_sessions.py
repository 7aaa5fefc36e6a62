"""A caller can read, type into and delete their session."""

from pathlib import Path

import pytest

from backend.access.principal import EVERYTHING, PUBLIC
from backend.http.app import MESSAGES_PER_MINUTE, PICTURES_PER_MINUTE
from backend.http.bodies import MESSAGE_LIMIT
from backend.media.pictures import PICTURE_LIMIT
from backend.page_events import TranscriptCompleted, TranscriptInterrupted
from backend.sessions.session import SessionState
from backend.storage.messages import Message
from tests.http.world import Browser, World, message_of, place_call, world
from tests.support.pictures import data_url, png


async def test_a_session_shows_its_state_and_counts(here: World, browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    shown = (await browser.get(f"/api/sessions/{session_id}")).json()
    assert shown == here.registry.find(session_id).describe()
    assert (shown["state"], shown["responder"], shown["transport"]) == ("live", "fake", "webrtc")


async def test_a_transcript_has_all_words_in_order(here: World, browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    transcript = here.registry.find(session_id).transcript
    transcript.add(TranscriptCompleted("user", "a", "Grüß dich"))
    transcript.add(TranscriptInterrupted("b", "Hello", "Hello there"))
    messages = (await browser.get(f"/api/sessions/{session_id}/transcript")).json()["messages"]
    assert [(entry["role"], entry["content"]) for entry in messages] == [
        ("user", "Grüß dich"),
        ("assistant", "Hello"),
    ]
    assert messages == list(transcript)


async def test_a_typed_message_reaches_the_call_without_surrounding_spaces(here: World, browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    response = await browser.post(f"/api/sessions/{session_id}/messages", json={"text": "  what's the weather? \n"})
    assert (response.status_code, response.json()) == (202, {"ok": True})
    assert here.calls[session_id].typed == ["what's the weather?"]


async def test_a_message_with_only_the_token_of_the_session_limits_the_call_to_public_tools(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as browser, here.browser() as program:
        placed = await place_call(browser)
        session, path = here.registry.find(placed["session_id"]), f"/api/sessions/{placed['session_id']}/messages"
        assert session.caller_scope == EVERYTHING, "the owner did not begin with all tools"
        bearer = {"authorization": f"Bearer {placed['token']}"}
        assert (await browser.post(path, json={"text": "hello"}, headers=bearer)).status_code == 202
        assert session.caller_scope == EVERYTHING and not session.shared
        assert (await program.post(path, json={"text": "What do I remember?"}, headers=bearer)).status_code == 202
        assert session.caller_scope == PUBLIC and session.shared


async def test_a_message_has_1_to_2000_characters(here: World, browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    path = f"/api/sessions/{session_id}/messages"
    assert (await browser.post(path, json={"text": "x" * MESSAGE_LIMIT})).status_code == 202
    for text in ("", "   ", "hunter2" * 300, None, 7):
        response = await browser.post(path, json={"text": text})
        assert response.status_code == 422
        assert "hunter2" not in response.text
    assert len(here.calls[session_id].typed) == 1


async def test_messages_to_a_session_are_limited_per_minute(here: World, browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    path = f"/api/sessions/{session_id}/messages"
    for _ in range(MESSAGES_PER_MINUTE):
        assert (await browser.post(path, json={"text": "again"})).status_code == 202
    response = await browser.post(path, json={"text": "again"})
    assert (response.status_code, response.headers["retry-after"]) == (429, "1")
    here.now[0] += 1
    assert (await browser.post(path, json={"text": "again"})).status_code == 202


async def test_a_picture_is_checked_and_counted_and_reaches_the_call(here: World, browser: Browser) -> None:
    url = data_url(png())
    session_id = (await place_call(browser))["session_id"]
    path = f"/api/sessions/{session_id}/pictures"
    large = {"picture": data_url(b"\xff\xd8\xff" + bytes(PICTURE_LIMIT - 3), "image/jpeg")}
    assert (await browser.post(path, json={"picture": url, "text": " What is this? "})).status_code == 202
    assert (await browser.post(path, json=large)).status_code == 202
    call = here.calls[session_id]
    assert (call.typed, call.shown) == (["What is this?", ""], [url, large["picture"]])
    wrong = {
        "https://example.org/cat.png": 422,
        data_url(b"hunter2 is no picture"): 422,
        "": 422,
        "x" * 800_000: 413,
    }
    for picture, status in wrong.items():
        response = await browser.post(path, json={"picture": picture})
        assert response.status_code == status and "hunter2" not in response.text
    assert (await browser.post(path, json={})).status_code == 422
    for _ in range(PICTURES_PER_MINUTE - 7):
        assert (await browser.post(path, json={"picture": url})).status_code == 202
    assert (await browser.post(path, json={"picture": url})).status_code == 429
    assert len(call.shown) == PICTURES_PER_MINUTE - 5
    typed = {"text": "x" * 70_000}
    assert (await browser.post(f"/api/sessions/{session_id}/messages", json=typed)).status_code == 413


async def test_deleting_a_session_ends_the_call_and_deletes_the_conversation(here: World, browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    session = here.registry.find(session_id)
    await here.memory.append_messages(session.owner, session.conversation_id, Message("user", "my secret", 1.0))
    response = await browser.delete(f"/api/sessions/{session_id}")
    assert (response.status_code, response.json()) == (200, {"ok": True})
    assert (session.state, session.ended_reason) == (SessionState.ENDED, "deleted")
    assert await here.memory.recent_messages(session.owner, session.conversation_id) == []
    assert (await browser.get(f"/api/sessions/{session_id}")).status_code == 404


async def test_a_deletion_that_failed_in_memory_is_reported_and_can_be_repeated(here: World, browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    here.memory.down = True
    response = await browser.delete(f"/api/sessions/{session_id}")
    assert response.status_code == 503
    assert "could not be erased" in message_of(response)
    assert here.registry.live == 0
    here.memory.down = False
    assert (await browser.delete(f"/api/sessions/{session_id}")).status_code == 200


async def test_a_call_continues_the_conversation_it_names_or_begins_a_new_one(
    browser: Browser,
) -> None:
    assert (await place_call(browser, conversation_id="my-talk_1"))["conversation_id"] == "my-talk_1"
    again = (await browser.post("/api/sessions", json={"conversation_id": "my-talk_1"})).json()
    shown = (await browser.get(f"/api/sessions/{again['session_id']}")).json()
    assert shown["conversation_id"] == again["conversation_id"] == "my-talk_1"
    first, second = [(await browser.post("/api/sessions", json={})).json()["conversation_id"] for _ in range(2)]
    assert first and second and first != second
    for odd in ("", "a b", "x" * 65, "user:1", 7):
        assert (await browser.post("/api/sessions", json={"conversation_id": odd})).status_code == 422


async def test_interruptions_can_be_switched_during_a_call_with_true_or_false_only(
    here: World, browser: Browser
) -> None:
    session_id = (await place_call(browser))["session_id"]
    path = f"/api/sessions/{session_id}/interruptions"
    for allowed in (False, True):
        response = await browser.post(path, json={"allowed": allowed})
        assert (response.status_code, response.json()) == (202, {"ok": True})
    for body in ({}, {"allowed": "off"}, {"allowed": 0}, {"allowed": None}):
        assert (await browser.post(path, json=body)).status_code == 422
    assert here.calls[session_id].interruptions == [False, True]


async def test_a_call_may_begin_without_interruptions_over_either_transport(here: World, browser: Browser) -> None:
    placed = await place_call(browser, interruptions=False)
    opened = (await browser.post("/api/sessions", json={"interruptions": False})).json()
    usual = (await browser.post("/api/sessions", json={})).json()
    allowed = [here.registry.find(each["session_id"]).interruptions for each in (placed, opened, usual)]
    assert allowed == [False, False, True]
    assert (await browser.post("/api/sessions", json={"interruptions": "no"})).status_code == 422


async def test_requests_about_a_thinker_reach_the_call(here: World, browser: Browser) -> None:
    session_id = (await place_call(browser))["session_id"]
    for verb in ("cancel", "say"):
        response = await browser.post(f"/api/sessions/{session_id}/thinkers/call-1/{verb}")
        assert (response.status_code, response.json()) == (202, {"ok": True})
    assert (here.calls[session_id].cancelled, here.calls[session_id].said) == (["call-1"], ["call-1"])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("messages", {"text": "hello"}),
        ("pictures", {"picture": data_url(png())}),
        ("interruptions", {"allowed": False}),
        ("thinkers/c1/cancel", {}),
        ("thinkers/c1/say", {}),
    ],
)
async def test_a_session_without_a_live_call_takes_no_requests(browser: Browser, path: str, body: object) -> None:
    session_id = (await browser.post("/api/sessions")).json()["session_id"]
    response = await browser.post(f"/api/sessions/{session_id}/{path}", json=body)
    assert (response.status_code, message_of(response)) == (422, "This session has no live call.")
