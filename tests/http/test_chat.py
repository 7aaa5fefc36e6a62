"""Typed turns over a real socket: conversations, streams, repeated messages, cancellation, outages and modes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backend.errors import ModelUnavailable
from backend.storage.messages import Message
from backend.users.profile_updates import AddFact, SetPreference, update_profile
from tests.http.world import Browser, message_of, place_call, world
from tests.support.agents import call
from tests.support.waiting import until

ROUTE = '{"domain": "knowledge", "query": "Why is the sky blue?"}'


async def say(browser: httpx2.AsyncClient, text: str, **body: Any) -> dict[str, Any]:
    """Send a message that must be answered; return the reply."""
    response = await browser.post("/api/multiturn", json={"message": text} | body)
    assert response.status_code == 200, response.text
    reply: dict[str, Any] = response.json()
    return reply


@asynccontextmanager
async def streaming(browser: httpx2.AsyncClient, text: str, **body: Any) -> AsyncIterator[Stream]:
    """Send a message; yield its events as they arrive."""
    wanted = {"message": text, "stream": True} | body
    async with browser.stream("POST", "/api/multiturn", json=wanted) as response:
        assert response.status_code == 200
        yield Stream(response)


class Stream:
    """The events of a turn."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def next(self) -> tuple[str, dict[str, Any]]:
        """Return the type and data of the next event."""
        type_ = ""
        async for line in self._lines:
            name, _, value = line.partition(": ")
            if name == "event":
                type_ = value
            elif name == "data":
                return type_, json.loads(value)
        raise EOFError

    async def until(self, wanted: str) -> dict[str, Any]:
        """Return the data of the next event of a type."""
        while True:
            type_, data = await self.next()
            if type_ == wanted:
                return data

    async def rest(self) -> list[tuple[str, dict[str, Any]]]:
        """Return all remaining events."""
        remaining = []
        try:
            while True:
                remaining.append(await self.next())
        except EOFError:
            return remaining


def shown_to_model(model: Any, request: int = -1) -> list[str]:
    """Return the texts of a request to the model, without the system prompt."""
    return [message["content"] for message in model.requests[request]["messages"][1:]]


# --- a conversation -----------------------------------------------------------------------------------


@pytest.mark.document("002", "multiturn")
async def test_a_conversation_continues_from_message_to_message(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["Hello ", "Ana."], ["It is Ana."])) as here, here.browser() as browser:
        first = await say(browser, "My name is Ana.")
        assert (first["text"], first["state"], first["history"]) == ("Hello Ana.", "complete", "kept")
        second = await say(browser, "What is my name?", conversation_id=first["conversation_id"])
        assert shown_to_model(here.model) == ["My name is Ana.", "Hello Ana.", "What is my name?"]
        shown = (await browser.get(f"/api/conversations/{first['conversation_id']}")).json()
        (listed,) = (await browser.get("/api/conversations")).json()["conversations"]
    assert [one["content"] for one in shown["messages"]][-1] == second["text"] == "It is Ana."
    assert {one["source_mode"] for one in shown["messages"]} == {"chat"}
    assert [shown["messages"][index]["message_id"] for index in (0, 1)] == [first["message_id"], first["reply_id"]]
    assert (listed["id"], listed["messages"]) == (first["conversation_id"], 4)


async def test_a_typed_turn_knows_what_was_said_in_a_call(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["Ana."],)) as here, here.browser() as browser:
        ticket = await place_call(browser, conversation_id="c1")
        owner = here.registry.find(ticket["session_id"]).owner
        await here.memory.append_messages(owner, "c1", Message("user", "I am Ana.", 1.0))
        await say(browser, "Who am I?", conversation_id="c1")
        assert shown_to_model(here.model) == ["I am Ana.", "Who am I?"]


async def test_another_user_can_neither_read_nor_change_a_conversation(tmp_path: Path) -> None:
    scenes = (["Noted."], ["I know nothing of it."], [0.3, "Still here."])
    async with world(tmp_path, scenes=scenes) as here, here.browser() as ana, here.browser() as bob:
        await say(ana, "My secret is blue.", conversation_id="c1")
        for method, path in (("GET", "/api/conversations/c1"),):
            assert (await bob.request(method, path)).status_code == 404
        assert (
            await bob.delete("/api/conversations/c1")
        ).status_code == 200  # his own conversation of that name, which is empty
        await say(bob, "What is the secret?", conversation_id="c1")
        assert shown_to_model(here.model) == ["What is the secret?"]
        async with streaming(ana, "Go on.", conversation_id="c1") as stream:
            await stream.until("state")
            assert (await bob.post("/api/conversations/c1/cancel")).json() == {"cancelled": False}
            assert (await stream.until("final"))["state"] == "complete"
        assert len((await ana.get("/api/conversations/c1")).json()["messages"]) == 4


async def test_the_token_of_a_session_ends_the_call_but_keeps_the_conversation(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["One."],)) as here, here.browser() as browser:
        ticket = await place_call(browser)
        await say(browser, "Hello.", conversation_id=ticket["conversation_id"])
        async with here.browser(headers={"authorization": f"Bearer {ticket['token']}"}) as program:
            assert (await program.delete(f"/api/sessions/{ticket['session_id']}")).status_code == 200
        shown = await browser.get(f"/api/conversations/{ticket['conversation_id']}")
        assert len(shown.json()["messages"]) == 2


@pytest.mark.document("002", "singleturn")
async def test_a_single_turn_reads_and_writes_no_history(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["One."], ["Two."])) as here, here.browser() as browser:
        for _ in range(2):
            reply = (await browser.post("/api/singleturn", json={"message": "Hello."})).json()
            assert (reply["conversation_id"], reply["history"]) == (None, "none")
        assert shown_to_model(here.model) == ["Hello."]
        assert (await browser.get("/api/conversations")).json() == {"conversations": []}


async def test_messages_of_a_request_begin_a_conversation_but_do_not_change_one(tmp_path: Path) -> None:
    brought = [{"role": "user", "content": "I am Ana."}, {"role": "assistant", "content": "Hello."}]
    asked = {"messages": [*brought, {"role": "user", "content": "Who am I?"}], "conversation_id": "c1"}
    async with world(tmp_path, scenes=(["Ana."], ["Ana!"])) as here, here.browser() as browser:
        for _ in range(2):
            assert (await browser.post("/api/multiturn", json=asked)).status_code == 200
        assert shown_to_model(here.model, 0) == ["I am Ana.", "Hello.", "Who am I?"]
        assert shown_to_model(here.model, 1) == ["I am Ana.", "Hello.", "Who am I?", "Ana.", "Who am I?"]


@pytest.mark.document("002", "multiturn")
async def test_system_messages_and_tool_calls_of_a_request_reach_the_model_and_are_kept(tmp_path: Path) -> None:
    made = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    brought: list[dict[str, Any]] = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "Look outside."},
        {"role": "assistant", "content": None, "tool_calls": [made], "function_call": None},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "assistant", "content": "It rains."},
        {"role": "user", "content": "Still?"},
    ]
    async with world(tmp_path, scenes=(["Aye."], ["No."])) as here, here.browser() as browser:
        asked = {"messages": brought, "conversation_id": "c1"}
        assert (await browser.post("/api/multiturn", json=asked)).status_code == 200
        assert (await browser.post("/api/singleturn", json={"messages": brought[1:4]})).status_code == 200
        kept = (await browser.get("/api/conversations/c1")).json()["messages"]
        seen = here.model.requests
    assert seen[0]["messages"][0]["content"].startswith("You are a pirate.")
    asked_of_model = seen[0]["messages"][1:]
    assert [each["role"] for each in asked_of_model] == [each["role"] for each in brought[1:]]
    assert (asked_of_model[1]["tool_calls"], asked_of_model[2]["tool_call_id"]) == ([made], "c1")
    assert [each["role"] for each in seen[1]["messages"]] == ["system", "user", "assistant", "tool"]
    assert (kept[1]["tool_calls"][0]["id"], kept[2]["tool_call_id"], kept[2]["content"]) == ("c1", "c1", "rain")


@pytest.mark.document("002", "multiturn")
async def test_a_field_that_would_be_lost_is_refused_by_name(browser: Browser) -> None:
    call = {"name": "look", "arguments": "{}"}
    for field, message in (
        ("function_call", {"role": "assistant", "function_call": call}),
        ("tool_call_id", {"role": "user", "content": "x", "tool_call_id": "c1"}),
        ("tool_calls", {"role": "user", "tool_calls": [{"id": "c1", "function": call}]}),
        ("role", {"role": "tool", "tool_call_id": "c1", "content": "rain"}),
    ):
        asked = {"messages": [message, {"role": "user", "content": "x"}]}
        refused = await browser.post("/api/multiturn", json=asked)
        assert refused.status_code == 422 and message_of(refused).startswith(f"messages[0].{field}: ")


async def test_the_prompt_has_the_profile_of_the_user_as_data(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["Hi."], ["Hi."])) as here, here.browser() as browser:
        session = (await place_call(browser))["session_id"]
        owner = here.registry.find(session).owner
        await update_profile(here.memory, owner, SetPreference("name", "Ana"), AddFact("has a dog"))
        await say(browser, "Hello.")
        system = here.model.requests[0]["messages"][0]["content"]
    assert '"name": "Ana"' in system and "has a dog" in system and "known of the user (data)" in system


# --- Thinkers and tools -------------------------------------------------------------------------------


@pytest.mark.document("002", "multiturn")
async def test_a_typed_turn_consults_thinkers_and_streams_every_step(tmp_path: Path) -> None:
    scenes = ([call("route_to_thinker", ROUTE)], ["Scattering."], ["Because of ", "scattering."])
    async with (
        world(tmp_path, scenes=scenes) as here,
        here.browser() as browser,
        streaming(browser, "Why is the sky blue?") as stream,
    ):
        events = await stream.rest()
    kinds = [type_ for type_, _ in events]
    assert kinds[0] == "turn" and kinds[-1] == "final"
    data = dict(events)
    assert data["tool_call"]["tool_name"] == "route_to_thinker"
    thinker = [one["event"] for type_, one in events if type_ == "thinker"]
    assert thinker[0] == "routed" and thinker[-1] == "complete" and data["thinker"]["domain"] == "knowledge"
    assert data["tool_call"]["arguments"] == json.loads(ROUTE)
    assert "Scattering." in json.dumps(data["tool_result"]["result"])
    assert [one["text"] for type_, one in events if type_ == "token"] == ["Because of ", "scattering."]
    assert (data["final"]["text"], data["final"]["thinkers"]) == ("Because of scattering.", ["knowledge"])
    states = [one["state"] for type_, one in events if type_ == "state"]
    assert states[-1] == "complete" and "tool_calling" in states and "generating" in states


async def test_a_standing_instruction_applies_to_every_later_conversation_of_its_user(tmp_path: Path) -> None:
    add = call("manage_prompt", '{"action": "add", "text": "Call me captain."}')
    scenes = ([add], ["Aye."], ["Aye, captain."], ["Hello."], ["As you wish."])
    async with world(tmp_path, scenes=scenes) as here, here.browser() as ana, here.browser() as bob:
        await say(ana, "From now on, call me captain.")
        for browser in (ana, bob):
            await say(browser, "Hello.")
        systems = [request["messages"][0]["content"] for request in here.model.requests]
        await ana.patch("/api/me", json={"changes": [{"op": "drop_instruction", "text": "Call me captain."}]})
        await say(ana, "Call me Ana.")
        systems.append(here.model.requests[-1]["messages"][0]["content"])
    assert ['["Call me captain."]' in system for system in systems] == [False, False, True, False, False]


async def test_the_model_learns_that_a_thinker_failed_and_still_answers(tmp_path: Path) -> None:
    scenes = ([call("route_to_thinker", ROUTE)], [ModelUnavailable("gone")], ["I could not find out."])
    async with world(tmp_path, scenes=scenes) as here, here.browser() as browser:
        reply = await say(browser, "Why is the sky blue?")
        assert reply["text"] == "I could not find out."
        assert json.loads(shown_to_model(here.model)[-1])["error"]["type"] == "failed"


# --- repeated messages --------------------------------------------------------------------------------


async def test_a_repeated_message_gets_the_stored_answer(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["One."],)) as here, here.browser() as browser:
        first = await say(browser, "Hello.", message_id="m1")
        assert await say(browser, "Hello.", message_id="m1") == first
        assert await say(browser, "Hello.", message_id="m1", conversation_id=first["conversation_id"]) == first
        assert len(here.model.requests) == 1
        shown = (await browser.get(f"/api/conversations/{first['conversation_id']}")).json()
        assert len(shown["messages"]) == 2


async def test_a_message_that_is_repeated_during_its_answer_joins_the_answer(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["One", 1.5, " two."],)) as here, here.browser() as browser:
        await browser.get("/api/me")
        async with streaming(browser, "Hello.", message_id="m1", conversation_id="c1") as stream:
            await stream.until("token")
            whole, streamed = await asyncio.gather(
                say(browser, "Hello.", message_id="m1", conversation_id="c1"), _streamed(browser)
            )
            assert (await stream.until("final"))["text"] == whole["text"] == streamed[-1][1]["text"] == "One two."
        assert [data["text"] for type_, data in streamed if type_ == "token"] == ["One", " two."]
        assert len(here.model.requests) == 1


async def _streamed(browser: httpx2.AsyncClient) -> list[tuple[str, dict[str, Any]]]:
    async with streaming(browser, "Hello.", message_id="m1", conversation_id="c1") as stream:
        return await stream.rest()


async def test_the_id_of_another_message_is_refused(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["One."],)) as here, here.browser() as browser:
        await say(browser, "Hello.", message_id="m1")
        response = await browser.post("/api/multiturn", json={"message": "Bye.", "message_id": "m1"})
        assert response.status_code == 422 and "another message" in message_of(response)


async def test_a_repeated_message_is_tried_again_after_a_failure(tmp_path: Path) -> None:
    async with (
        world(tmp_path, scenes=([ModelUnavailable("The model is gone.")], ["Here."])) as here,
        here.browser() as browser,
    ):
        await browser.get("/api/me")
        asked = {"message": "Hello.", "message_id": "m1", "conversation_id": "c1"}
        failed = await browser.post("/api/multiturn", json=asked)
        assert failed.status_code == 503 and message_of(failed) == "The model is gone."
        assert (await say(browser, "Hello.", message_id="m1", conversation_id="c1"))["text"] == "Here."
        shown = (await browser.get("/api/conversations/c1")).json()["messages"]
        assert [one["content"] for one in shown] == ["Hello.", "Here."]


# --- parallel messages, cancellation and limits -------------------------------------------------------


async def test_a_conversation_answers_one_message_at_a_time(tmp_path: Path) -> None:
    async with (
        world(tmp_path, scenes=([1.5, "One."], ["Other."])) as here,
        here.browser() as browser,
        streaming(browser, "First.", conversation_id="c1") as stream,
    ):
        await stream.until("state")
        refused = await browser.post("/api/multiturn", json={"message": "Second.", "conversation_id": "c1"})
        assert refused.status_code == 409 and "busy" in message_of(refused)
        assert (await say(browser, "Elsewhere.", conversation_id="c2"))["text"] == "Other."
        assert (await stream.until("final"))["text"] == "One."


@pytest.mark.alone
async def test_cancelling_ends_the_stream_within_100_ms_and_keeps_its_words(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["One", 30.0, " two."], ["Again."])) as here, here.browser() as browser:
        async with streaming(browser, "Hello.", conversation_id="c1", message_id="m1") as stream:
            await stream.until("token")
            asked_at = time.perf_counter()
            cancelled = await browser.post("/api/conversations/c1/cancel")
            final = await stream.until("final")
            took_s = time.perf_counter() - asked_at
        assert cancelled.json() == {"cancelled": True}
        assert (final["state"], final["text"]) == ("cancelled", "One")
        assert took_s < 0.1 and here.model.open == 0
        assert (await browser.post("/api/conversations/c1/cancel")).json() == {"cancelled": False}
        await say(browser, "Hello.", conversation_id="c1", message_id="m1")
        shown = (await browser.get("/api/conversations/c1")).json()["messages"]
        assert [one["content"] for one in shown] == ["Hello.", "Again."]


async def test_closing_a_stream_cancels_the_turn_but_leaving_a_whole_answer_does_not(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["One", 30.0], ["Two", 1.5, " three."])) as here, here.browser() as browser:
        await browser.get("/api/me")
        async with streaming(browser, "Hello.", conversation_id="c1") as stream:
            await stream.until("token")
        await until(lambda: here.chat.running == 0)
        assert here.model.open == 0
        with pytest.raises(httpx2.ReadTimeout):
            await browser.post(
                "/api/multiturn",
                json={"message": "Bye.", "message_id": "m2", "conversation_id": "c1"},
                timeout=httpx2.Timeout(5, read=0.1),
            )
        assert (await say(browser, "Bye.", message_id="m2", conversation_id="c1"))["text"] == "Two three."


async def test_a_turn_that_takes_too_long_answers_503(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["One", 30.0],), chat_deadline_s=0.1) as here, here.browser() as browser:
        response = await browser.post("/api/multiturn", json={"message": "Hello."})
        assert response.status_code == 503 and message_of(response)
        assert here.model.open == 0


async def test_turns_per_minute_are_limited_for_each_user(tmp_path: Path) -> None:
    scenes = (["One."], ["Two."], ["Three."])
    async with world(tmp_path, scenes=scenes, chat_turns_per_minute=2) as here, here.browser() as browser:
        await browser.get("/api/me")
        for _ in range(2):
            await say(browser, "Hello.")
        refused = await browser.post("/api/multiturn", json={"message": "Hello."})
        assert refused.status_code == 429 and "retry-after" in refused.headers
        async with here.browser() as other:
            await other.get("/api/me")
            await say(other, "Hello.")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"message": ""},
        {"message": "x" * 8_001},
        {"message": "x", "messages": [{"role": "user", "content": "x"}]},
        {"messages": [{"role": "assistant", "content": "x"}]},
        {"message": "x", "conversation_id": "a b"},
        {"message": "x", "message_id": "a b"},
    ],
)
async def test_an_invalid_body_is_refused(browser: Browser, body: dict[str, Any]) -> None:
    assert (await browser.post("/api/multiturn", json=body)).status_code == 422


# --- failures and deletion ----------------------------------------------------------------------------


async def test_an_outage_of_memory_is_reported_as_unavailable_history(tmp_path: Path) -> None:
    brought = [{"role": "user", "content": "I am Ana."}, {"role": "user", "content": "Who am I?"}]
    async with world(tmp_path, scenes=(["One."], ["Two."], ["Ana."], ["Four."])) as here, here.browser() as browser:
        await say(browser, "Hello.", conversation_id="c1")
        here.memory.down = True
        assert (await say(browser, "And now?", conversation_id="c1"))["history"] == "unavailable"
        assert shown_to_model(here.model) == ["And now?"]
        answer = await browser.post("/api/multiturn", json={"messages": brought, "conversation_id": "c1"})
        assert answer.json()["history"] == "unavailable"
        assert shown_to_model(here.model) == ["I am Ana.", "Who am I?"]
        assert (await browser.get("/api/conversations/c1")).status_code == 503
        here.memory.down = False
        assert (await say(browser, "Back?", conversation_id="c1"))["history"] == "kept"
        assert shown_to_model(here.model) == ["Hello.", "One.", "Back?"]


async def test_a_failure_during_a_stream_is_an_event(tmp_path: Path) -> None:
    async with (
        world(tmp_path, scenes=(["One", ModelUnavailable("The model is gone.")],)) as here,
        here.browser() as browser,
        streaming(browser, "Hello.") as stream,
    ):
        events = await stream.rest()
    assert events[-1][0] == "error" and events[-1][1]["message"] == "The model is gone."


async def test_deleting_a_conversation_cancels_its_answer_and_ends_its_calls(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["One", 30.0],)) as here, here.browser() as browser:
        ticket = await place_call(browser, conversation_id="c1")
        other = await place_call(browser)
        async with streaming(browser, "Hello.", conversation_id="c1") as stream:
            await stream.until("token")
            assert (await browser.delete("/api/conversations/c1")).json() == {"ok": True}
        assert here.chat.running == 0
        assert (await browser.get("/api/conversations/c1")).status_code == 404
        assert here.calls[ticket["session_id"]].hung_up.result() == "deleted"
        assert not here.calls[other["session_id"]].hung_up.done()


# --- modes --------------------------------------------------------------------------------------------


@pytest.mark.document("002", "mode")
async def test_each_user_chooses_the_mode_of_later_turns(tmp_path: Path) -> None:
    async with world(tmp_path, scenes=(["One."], ["Two."], ["Three."])) as here, here.browser() as browser:
        shown = (await browser.get("/mode")).json()
        assert shown["mode"] == "default" and {"default", "concise", "expert"} <= {m["name"] for m in shown["modes"]}
        assert (await browser.post("/mode/expert")).json() == {"mode": "expert"}
        assert (await browser.get("/mode")).json()["mode"] == "expert"
        reply = await say(browser, "Hello.")
        request = here.model.requests[-1]
        assert (reply["mode"], request["model"]) == ("expert", "gpt-5.4")
        assert "knows the subject" in request["messages"][0]["content"]
        assert (await say(browser, "Hello.", mode="concise"))["mode"] == "concise"
        async with here.browser() as other:
            assert (await say(other, "Hello."))["mode"] == "default"


@pytest.mark.document("002", "mode")
async def test_an_unknown_mode_answers_404_with_the_known_ones(browser: Browser) -> None:
    for answer in (
        await browser.post("/mode/odd"),
        await browser.post("/api/multiturn", json={"message": "x", "mode": "odd"}),
    ):
        assert answer.status_code == 404 and "concise" in answer.json()["error"]["hint"]
