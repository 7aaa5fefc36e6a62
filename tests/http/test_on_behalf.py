"""A program of the operator acts for the users of its platform, and no other client does."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.access.tenants import Tenant
from tests.http.test_chat import shown_to_model
from tests.http.test_keys import keyed, shown, token
from tests.http.world import World

PROGRAM = token("mcp", "notify", "on_behalf")


def program(here: World, shown_token: str = PROGRAM) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
    return here.browser(headers=shown(shown_token))


def asked(user_id: str | None, text: str = "Hello.", **body: Any) -> dict[str, Any]:
    named = {} if user_id is None else {"user_id": user_id, "platform": "discord"}
    return {"message": text, "conversation_id": "room"} | named | body


@pytest.mark.document("002", "multiturn")
async def test_each_user_of_a_platform_has_conversations_of_their_own(tmp_path: Path) -> None:
    scenes = (["One."], ["Two."], ["Three."], ["Four."])
    async with keyed(tmp_path, "open", "key", scenes=scenes) as here, program(here) as bot:
        for body in (asked("ana", "I am Ana."), asked("bob", "I am Bob."), asked("ana", "And now?")):
            assert (await bot.post("/api/multiturn", json=body)).status_code == 200
        assert shown_to_model(here.model) == ["I am Ana.", "One.", "And now?"]
        other = asked("ana", "Who?") | {"platform": "imessage"}
        assert (await bot.post("/api/multiturn", json=other)).status_code == 200
        assert shown_to_model(here.model) == ["Who?"], "users of two platforms share a conversation"


async def test_the_header_names_a_platform_and_its_user(tmp_path: Path) -> None:
    async with keyed(tmp_path, "open", "key") as here, program(here) as bot:
        for wrong in ("ana", "discord:", ":ana", "dis cord:ana"):
            refused = await bot.get("/api/conversations", headers={"x-on-behalf-of": wrong})
            assert refused.status_code == 422 and "platform:user" in refused.json()["error"]["hint"]


async def test_only_the_program_may_name_a_user_and_it_must(tmp_path: Path) -> None:
    async with keyed(tmp_path, "open", "key", scenes=(["One."],)) as here:
        named, header = asked("ana"), {"x-on-behalf-of": "discord:ana"}
        for stranger in (here.browser(), program(here, token("mcp_external")), program(here, token("mcp"))):
            async with stranger as client:
                assert (await client.post("/api/multiturn", json=named)).status_code == 403
                assert (await client.get("/api/conversations", headers=header)).status_code == 403
        async with program(here, "x" * 40) as unknown:
            assert (await unknown.post("/api/multiturn", json=named)).status_code in (401, 403)
        async with program(here) as bot:
            refused = await bot.post("/api/multiturn", json=asked(None))
            assert refused.status_code == 403 and "user_id" in refused.json()["error"]["hint"]
            assert (await bot.get("/api/conversations")).status_code == 403, (
                "the program saw conversations without naming a user"
            )
            assert (await bot.post("/api/rtc/offer", json={}, headers=header)).status_code == 403
        assert here.model.requests == []


async def test_a_user_of_a_platform_is_neither_a_user_of_the_page_nor_an_operator(tmp_path: Path) -> None:
    async with keyed(tmp_path, "open", "key", scenes=(["One."], ["Two."])) as here, here.browser() as page:
        await page.post("/api/multiturn", json={"message": "I am the page's.", "conversation_id": "room"})
        mine = (await page.get("/api/me/export")).json()
        async with program(here) as bot:
            body = asked("ana", "What was said?")
            assert (await bot.post("/api/multiturn", json=body)).status_code == 200
            assert shown_to_model(here.model) == ["What was said?"]
            admin = await bot.get("/api/admin/users", headers={"x-on-behalf-of": "discord:ana"})
            assert admin.status_code in (401, 403, 404)
        assert (await page.get("/api/me/export")).json().keys() == mine.keys()


@pytest.mark.document("002", "multiturn")
@given(st.sets(st.tuples(st.from_regex(r"[A-Za-z0-9_.-]{1,32}", fullmatch=True), st.text(min_size=1)), min_size=2))
def test_users_of_different_platforms_never_have_the_same_id(named: set[tuple[str, str]]) -> None:
    for platform_user in (Tenant("shop").platform_user, Tenant("shop", heir=True).platform_user):
        assert len({platform_user(platform, user) for platform, user in named}) == len(named)
        assert platform_user("a", "b-c") != platform_user("a-b", "c")
        assert platform_user("a", "1") == platform_user("a", "1")
