"""A shared transcript: anyone with the link reads it, until it expires, is revoked, or its data is erased."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fakeredis import FakeAsyncRedis

from backend.access.access import Access
from backend.access.rates import Buckets
from backend.citations import Citation
from backend.extensions.sharing.routes import READS_PER_MINUTE, Sharing
from backend.extensions.sharing.shared_links import SharedLinks
from backend.storage.messages import Message
from tests.http.test_identity import user_of
from tests.http.test_keys import shown, token
from tests.http.world import World, message_of, place_call, world

SECRETS = ("c-secret", "msg_secret", "tool_secret")
SOURCE = {"title": "Faust", "url": "https://example.org/faust"}
DAY_S = 86_400


@asynccontextmanager
async def sharing_world(folder: Path, *, days: float = 30, **more: Any) -> AsyncIterator[tuple[World, list[float]]]:
    """A server over links with a clock of the test's."""
    now = [time.time()]
    links = SharedLinks(FakeAsyncRedis(), clock=lambda: now[0])
    readers = Buckets(READS_PER_MINUTE, what="requests for shared transcripts")
    sharing = Sharing(links, readers, days)
    with_links = {"opened": {Sharing: sharing}, "user_data": {"shared links": links}} | more.pop("services_with", {})
    async with world(folder, services_with=with_links, **more) as here:
        (folder / "page" / "shared.html").write_text("<!doctype html><title>Shared</title>")
        yield here, now


async def conversation_of(here: World, browser: httpx2.AsyncClient, conversation: str = SECRETS[0]) -> str:
    """Say something in a conversation of this browser's; returns the session of their call."""
    placed = await place_call(browser, conversation_id=conversation)
    owner, at = user_of(here, placed["session_id"]), time.time() - 60
    await here.memory.append_messages(
        owner,
        conversation,
        Message("user", "Who wrote <b>Faust</b>?", at, message_id=SECRETS[1]),
        Message("assistant", "", at + 1),
        Message("tool", "a tool's output", at + 2, tool_call_id=SECRETS[2]),
        Message("assistant", "Goethe did.", at + 3, citations=(Citation("Faust", "https://example.org/faust"),)),
    )
    return str(placed["session_id"])


async def share(browser: httpx2.AsyncClient, conversation: str = SECRETS[0], **body: Any) -> dict[str, Any]:
    answer = await browser.post(f"/api/conversations/{conversation}/links", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_any_reader_sees_the_words_up_to_the_sharing_and_no_names(tmp_path: Path) -> None:
    async with sharing_world(tmp_path) as (here, _), here.browser() as owner, here.browser() as reader:
        session = await conversation_of(here, owner)
        link = await share(owner)
        user = user_of(here, session)
        await here.memory.append_messages(user, SECRETS[0], Message("user", "Said later.", time.time() + 60))
        read = await reader.get(f"/api{link['path']}")
        assert read.json() == {
            "shared_at": link["shared_at"],
            "expires_at": link["expires_at"],
            "messages": [
                {"role": "user", "content": "Who wrote <b>Faust</b>?", "citations": []},
                {"role": "assistant", "content": "Goethe did.", "citations": [SOURCE]},
            ],
        }
        page = await reader.get(link["path"])
        assert page.status_code == 200 and "<title>Shared</title>" in page.text
        for answer in (read, page):
            assert "noindex" in answer.headers["x-robots-tag"] and answer.headers["cache-control"] == "no-store"
            assert answer.headers["referrer-policy"] == "no-referrer" and "set-cookie" not in answer.headers
            assert not [secret for secret in (*SECRETS, user, session) if secret in answer.text + link["path"]]


async def test_a_link_works_for_a_week_or_for_the_owners_time_and_then_says_that_it_is_over(
    tmp_path: Path,
) -> None:
    async with sharing_world(tmp_path) as (here, now), here.browser() as owner, here.browser() as reader:
        await conversation_of(here, owner)
        week, day = await share(owner), await share(owner, days=1)
        assert week["expires_at"] - week["shared_at"] == pytest.approx(7 * DAY_S)
        now[0] += DAY_S + 1
        gone = await reader.get(f"/api{day['path']}")
        assert gone.status_code == 410 and message_of(gone) == "This conversation is no longer shared."
        assert (await reader.get(day["path"])).status_code == 410
        assert (await reader.get(f"/api{week['path']}")).status_code == 200
        listed = (await owner.get("/api/links")).json()
        assert listed == {"days": 30, "links": [week]}


async def test_an_unknown_link_is_not_found(tmp_path: Path) -> None:
    async with sharing_world(tmp_path) as (here, _), here.browser() as owner, here.browser() as reader:
        await conversation_of(here, owner)
        link = await share(owner)
        assert (await reader.get("/api/shared/" + "A" * 22)).status_code == 410
        for path in (link["path"][:-1], "/shared/x", "/shared/%00", "/shared/" + "y" * 4_000):
            unknown = await reader.get(f"/api{path}")
            assert unknown.status_code == 404 and message_of(unknown) == "There is no such page.", path
            assert (await reader.get(path)).status_code == 404, path


@pytest.mark.parametrize(
    "path",
    ["/api/links/{link}", "/api/conversations/{conversation}", "/api/sessions/{session}", "/api/me"],
)
async def test_a_link_ends_when_it_is_revoked_and_with_its_conversation_its_call_and_its_user(
    tmp_path: Path, path: str
) -> None:
    async with sharing_world(tmp_path) as (here, _), here.browser() as owner, here.browser() as reader:
        session = await conversation_of(here, owner)
        link = await share(owner)
        exported = (await owner.get("/api/me/export")).json()["shared links"]
        assert [each["conversation_id"] for each in exported] == [SECRETS[0]]
        named = path.format(link=link["id"], conversation=SECRETS[0], session=session)
        assert (await owner.delete(named)).json()["ok"]
        assert (await reader.get(f"/api{link['path']}")).status_code == 410
        assert (await owner.get("/api/links")).json()["links"] == []


async def test_a_deleted_conversation_is_not_shown(tmp_path: Path) -> None:
    async with sharing_world(tmp_path) as (here, _), here.browser() as owner, here.browser() as reader:
        session = await conversation_of(here, owner)
        link = await share(owner)
        await here.memory.forget_conversation(user_of(here, session), SECRETS[0])
        assert (await reader.get(f"/api{link['path']}")).status_code == 410


async def test_a_stranger_shares_lists_and_revokes_nothing(tmp_path: Path) -> None:
    async with sharing_world(tmp_path) as (here, _), here.browser() as owner, here.browser() as stranger:
        await conversation_of(here, owner)
        link = await share(owner)
        foreign = await stranger.post(f"/api/conversations/{SECRETS[0]}/links", json={})
        unknown = await stranger.post("/api/conversations/unknown/links", json={})
        assert foreign.status_code == unknown.status_code == 404 and foreign.content == unknown.content
        assert (await stranger.get("/api/links")).json()["links"] == []
        for link_id in (link["id"], "A" * 22, "%00"):
            refused = await stranger.delete(f"/api/links/{link_id}")
            assert refused.status_code == 404 and message_of(refused) == "No such link."
        assert (await owner.get("/api/links")).json()["links"] == [link]


@pytest.mark.parametrize("days", [0, -1, 31, "many"])
async def test_a_links_time_is_at_most_the_servers_and_not_zero(tmp_path: Path, days: Any) -> None:
    async with sharing_world(tmp_path) as (here, _), here.browser() as owner:
        await conversation_of(here, owner)
        refused = await owner.post(f"/api/conversations/{SECRETS[0]}/links", json={"days": days})
        assert refused.status_code == 422
        assert (await owner.get("/api/links")).json()["links"] == []


async def test_without_sharing_on_the_server_no_link_is_made(tmp_path: Path) -> None:
    async with sharing_world(tmp_path, days=0) as (here, _), here.browser() as owner:
        await conversation_of(here, owner)
        refused = await owner.post(f"/api/conversations/{SECRETS[0]}/links", json={})
        assert refused.status_code == 422 and message_of(refused) == "Conversations cannot be shared on this server."


async def test_readers_are_limited_by_their_address(tmp_path: Path) -> None:
    async with sharing_world(tmp_path) as (here, _), here.browser() as owner, here.browser() as reader:
        await conversation_of(here, owner)
        link = await share(owner)
        statuses = [(await reader.get(f"/api{link['path']}")).status_code for _ in range(61)]
        assert statuses == [200] * 60 + [429]
        page = await reader.get(link["path"])
        assert page.status_code == 429 and "<title>Shared</title>" in page.text
        here.now[0] += 60
        assert (await reader.get(f"/api{link['path']}")).status_code == 200


async def test_a_token_for_one_conversation_shares_nothing_and_readers_need_none(tmp_path: Path) -> None:
    only_keys = {"access": Access(frozenset({"key"}))}
    async with (
        sharing_world(tmp_path, services_with=only_keys, access=["key"], api_keys=f"shop:{'s' * 32}") as (here, _),
        here.browser() as program,
    ):
        await here.memory.append_messages("shop.ada", "c1", Message("user", "Hello.", time.time() - 60))
        bound = await program.post(
            "/api/conversations/c1/links", json={}, headers=shown(token("chat", conversation="c1"))
        )
        assert bound.status_code == 403
        assert (await program.get("/api/links")).status_code == 401
        made = await program.post("/api/conversations/c1/links", json={}, headers=shown(token("chat")))
        assert (await program.get(f"/api{made.json()['path']}")).status_code == 200
