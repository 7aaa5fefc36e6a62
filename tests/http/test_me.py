"""The data of a user is shown to them only, exported completely, and erased for good."""

import ast
from pathlib import Path
from typing import Any

import httpx2
import pytest

from backend.storage.messages import Message
from backend.users.profile_updates import AddFact, CountSession, SetPreference, update_profile
from tests.http.test_identity import background_work, user_of
from tests.http.world import Browser, World, message_of, place_call, world

NOTHING = {"preferences": {}, "facts": [], "summary": "", "signals": {}, "instructions": [], "retention_days": 0}


async def learn(here: World, browser: httpx2.AsyncClient) -> str:
    """Place a call, and store something about its user; return the id of the user."""
    session_id = (await place_call(browser))["session_id"]
    user = user_of(here, session_id)
    await update_profile(here.memory, user, SetPreference("name", "Ana"), AddFact("has a dog"), CountSession(5.0))
    await here.memory.append_messages(user, "c1", Message("user", "hello", 1.0))
    await here.memory.cache_put(user, "weather:home", "rain", ttl_s=120)
    await background_work(here)
    return user


async def test_a_caller_sees_their_profile(tmp_path: Path) -> None:
    async with world(tmp_path, user_retention_days=30) as here, here.browser() as browser:
        await learn(here, browser)
        assert (await browser.get("/api/me")).json() == {
            "preferences": {"name": "Ana"},
            "facts": ["has a dog"],
            "summary": "",
            "signals": {"last_active": 5.0, "session_count": 1},
            "instructions": [],
            "retention_days": 30,
        }


async def test_the_profile_of_a_stranger_is_empty(browser: Browser) -> None:
    assert (await browser.get("/api/me")).json() == NOTHING
    assert (await browser.get("/api/me/export")).json() == {"memory": {}}
    assert (await browser.delete("/api/me")).json() == {"ok": True}


async def test_the_token_of_a_session_opens_no_data_of_its_owner(here: World, browser: Browser) -> None:
    await learn(here, browser)
    ticket = await place_call(browser, conversation_id="c1")
    async with here.browser(headers={"authorization": f"Bearer {ticket['token']}"}) as program:
        for method in ("GET", "DELETE", "PATCH"):
            assert (await program.request(method, "/api/me")).status_code == 403
        for path in ("/api/me/export", "/api/conversations", "/api/conversations/c1"):
            assert (await program.get(path)).status_code == 403
        asked = {"message": "x", "conversation_id": "c1"}
        assert (await program.post("/api/multiturn", json=asked)).status_code == 403
    assert (await browser.get("/api/me")).json()["facts"] == ["has a dog"]


async def test_the_export_is_a_complete_file_that_is_not_cached(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as browser:
        user = await learn(here, browser)
        answer = await browser.get("/api/me/export")
        kept: dict[str, Any] = answer.json()["memory"]
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["cache-control"] == "no-store"
    assert kept[f"user:{user}:context"]["facts"] == ["has a dog"]
    assert kept[f"user:{user}:cache:weather:home"] == "rain"
    assert any(":conversation:" in name and value[0]["content"] == "hello" for name, value in kept.items())


async def test_an_erasure_removes_everything_and_ends_only_the_calls_of_its_user(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as browser, here.browser() as other:
        user, stays = await learn(here, browser), await learn(here, other)
        call = next(call for session, call in here.calls.items() if user_of(here, session) == user)
        assert (await browser.delete("/api/me")).json() == {"ok": True}
        assert call.hung_up.result() == "deleted"
        assert await here.memory.export_user(user) == {}
        assert (await browser.get("/api/sessions")).json() == {"sessions": []}
        assert (await browser.get("/api/me")).json() == NOTHING
        assert await here.memory.export_user(stays)
        assert here.registry.live == 1


async def test_an_incomplete_erasure_is_reported(here: World, browser: Browser) -> None:
    user = await learn(here, browser)
    here.memory.down = True
    for method, path in (("GET", "/api/me"), ("GET", "/api/me/export"), ("DELETE", "/api/me")):
        answer = await browser.request(method, path)
        assert answer.status_code == 503 and message_of(answer) and "retry-after" in answer.headers
    here.memory.down = False
    assert (await here.memory.user_context(user))["facts"] == ["has a dog"]
    assert (await browser.delete("/api/me")).status_code == 200
    assert await here.memory.export_user(user) == {}


async def changed(browser: httpx2.AsyncClient, *changes: dict[str, Any]) -> httpx2.Response:
    """Send these changes; return the server's answer."""
    return await browser.patch("/api/me", json={"changes": changes})


async def test_a_caller_can_change_their_profile(here: World, browser: Browser) -> None:
    user = await learn(here, browser)
    answer = await changed(
        browser,
        {"op": "set_preference", "name": "default_location", "value": " Oslo "},
        {"op": "set_preference", "name": "watched_tickers", "value": ["aapl", "msft"]},
        {"op": "watch_ticker", "symbol": "aapl", "watched": False},
        {"op": "drop_preference", "name": "name"},
        {"op": "add_fact", "text": "plays the cello"},
        {"op": "drop_fact", "text": "Has a dog."},
        {"op": "write_summary", "text": "Asked about the weather."},
    )
    assert answer.status_code == 200
    assert answer.json() == (await browser.get("/api/me")).json()
    known = await here.memory.user_context(user)
    assert known["preferences"] == {"default_location": "Oslo", "watched_tickers": ["MSFT"]}
    assert known["facts"] == ["plays the cello"]
    assert known["summary"] == "Asked about the weather."
    assert known["signals"] == {"last_active": 5.0, "session_count": 1}


async def test_a_caller_can_add_and_remove_a_standing_instruction(here: World, browser: Browser) -> None:
    user = await learn(here, browser)
    wish = {"op": "add_instruction", "text": " Call me captain. "}
    assert (await changed(browser, wish, wish)).json()["instructions"] == ["Call me captain."]
    exported = (await browser.get("/api/me/export")).json()["memory"]
    assert exported[f"user:{user}:context"]["instructions"] == ["Call me captain."]
    many = [{"op": "add_instruction", "text": f"Rule {number}."} for number in range(10)]
    refused = await changed(browser, {"op": "drop_preference", "name": "name"}, *many)
    assert refused.status_code == 422 and "no room" in message_of(refused)
    me = (await browser.get("/api/me")).json()
    assert me["instructions"] == ["Call me captain."] and me["preferences"] == {"name": "Ana"}
    assert (await changed(browser, {"op": "drop_instruction", "text": "call me CAPTAIN"})).json()["instructions"] == []


async def test_live_calls_get_a_change_of_the_profile(here: World, browser: Browser) -> None:
    user = await learn(here, browser)
    heard: list[dict[str, Any]] = []
    unwatch = here.memory.observers.add(user, heard.append)
    await changed(browser, {"op": "set_preference", "name": "name", "value": "Bo"})
    unwatch()
    assert [known["preferences"]["name"] for known in heard] == ["Bo"]


@pytest.mark.parametrize(
    "change",
    [
        {"op": "set_preference", "name": "shoe_size", "value": "44"},
        {"op": "set_preference", "name": "temperature_unit", "value": "kelvin"},
        {"op": "set_preference", "name": "watched_tickers", "value": "AAPL"},
        {"op": "set_preference", "name": "name", "value": ["Ana"]},
        {"op": "set_preference", "name": "name", "value": "Ana", "silently": True},
        {"op": "watch_ticker", "symbol": "not a symbol"},
        {"op": "add_fact", "text": "x" * 201},
        {"op": "add_fact", "text": "  "},
        {"op": "add_instruction", "text": "x" * 301},
        {"op": "add_instruction", "text": "?!"},
        {"op": "become_admin"},
        {},
    ],
)
async def test_an_invalid_change_changes_nothing(here: World, browser: Browser, change: dict[str, Any]) -> None:
    user = await learn(here, browser)
    before = await here.memory.user_context(user)
    answer = await changed(browser, {"op": "drop_preference", "name": "name"}, change)
    assert answer.status_code == 422 and message_of(answer)
    assert await here.memory.user_context(user) == before


async def test_an_empty_list_of_changes_and_a_long_one_are_refused(browser: Browser) -> None:
    for number in (0, 51):
        answer = await changed(browser, *[{"op": "add_fact", "text": f"fact {n}"} for n in range(number)])
        assert answer.status_code == 422


def test_every_store_of_user_data_is_exported_and_erased(pytestconfig: pytest.Config) -> None:
    """Every class that exports or erases user data does both, and is in the list of stores or part of another."""
    backend = Path(pytestconfig.rootpath) / "backend"
    parts = {"Channels", "CoordinatorState", "EventStore", "CalDavStore", "KeptEvents", "ReminderRepository"}
    parts |= {"TaskRepository", "Memories", "SharedLinks"}  # these inherit or contain the other half
    incomplete = {}
    for path in backend.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and node.name not in parts:
                names = {each.name for each in node.body if isinstance(each, ast.AsyncFunctionDef)}
                assigned = [target for each in node.body if isinstance(each, ast.Assign) for target in each.targets]
                names |= {target.id for target in assigned if isinstance(target, ast.Name)}
                has = names & {"export", "erase"}
                if has and has != {"export", "erase"}:
                    incomplete[node.name] = has
    assert incomplete == {}
