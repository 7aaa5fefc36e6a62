"""An API key is a tenant: no other key reads, changes or erases its users. One token of a key can be made void."""

from pathlib import Path
from typing import Any

import pytest
from fakeredis import FakeAsyncRedis

from backend.access.store import CACHED_S, AccessStore
from backend.access.tenants import ID_LIMIT, Tenant
from backend.errors import BadRequest
from tests.http.test_keys import SECRET, keyed, shown, token
from tests.http.world import Browser

ADMIN = "a" * 24
ANA = {"x-on-behalf-of": "discord:ana"}
OF_SHOP = shown(token("on_behalf"))
OF_MILL = shown(token("on_behalf", key="mill", secret=SECRET[:-1] + "t"))


async def say(program: Browser, headers: dict[str, str], **named: Any) -> None:
    asked = {"message": "I am Ana.", "conversation_id": "room", "platform": "discord", "user_id": "ana"} | named
    assert (await program.post("/api/multiturn", headers=headers, json=asked)).status_code == 200


async def rooms(program: Browser, headers: dict[str, str]) -> list[str]:
    answer = await program.get("/api/conversations", headers=headers | ANA)
    return [each["id"] for each in answer.json()["conversations"]]


async def test_no_key_reads_changes_or_erases_the_users_of_another(tmp_path: Path) -> None:
    async with keyed(tmp_path, scenes=(["One."], ["Two."])) as here, here.browser() as program:
        await say(program, OF_SHOP)
        assert (await rooms(program, OF_SHOP), await rooms(program, OF_MILL)) == (["room"], [])
        assert "Ana" not in (await program.get("/api/me/export", headers=OF_MILL | ANA)).text
        await say(program, OF_MILL, message="Hello.")
        assert "Ana" not in str(here.model.requests[-1]), "the model was shown what another key's user said"
        assert (await program.delete("/api/me", headers=OF_MILL | ANA)).status_code == 200
        assert (await rooms(program, OF_SHOP), await rooms(program, OF_MILL)) == (["room"], [])
        assert (await program.get("/api/conversations", headers=OF_MILL | ANA)).status_code == 200, "not void by it"
        assert "I am Ana." in (await program.get("/api/me/export", headers=OF_SHOP | ANA)).text
        assert (await program.delete("/api/me", headers=OF_SHOP | ANA)).status_code == 200
        assert await rooms(program, OF_SHOP) == []


async def test_users_named_before_keys_were_tenants_belong_to_one_key(tmp_path: Path) -> None:
    redis = FakeAsyncRedis()
    store = AccessStore(redis)
    async with (
        keyed(tmp_path, scenes=(["One."], ["Two."]), services_with={"access_store": store}) as here,
        here.browser() as program,
    ):
        await redis.set(f"user:{Tenant('', heir=True).platform_user('discord', 'ana')}:context", "{}")
        for key in ("shop", "mill"):
            await store.bequeath(key)
        await say(program, OF_SHOP)
        assert await here.used_memory.conversations(Tenant("", heir=True).platform_user("discord", "ana"))
        assert (await rooms(program, OF_SHOP), await rooms(program, OF_MILL)) == (["room"], [])


def test_a_name_means_a_user_of_the_programs_own_key() -> None:
    mine, heir, operator = Tenant("shop"), Tenant("shop", heir=True), Tenant("shop", operator=True)
    for name in ("ada", "mill.ada", "oidc.f00", "phone-1", "@discord-1", "shopx.ada", "Nq3rT5uW7yZ9aB1cD2eF3g"):
        assert mine.user(name) == f"shop.{name}"
        assert operator.user(name) == name
    assert mine.user("shop.ada") == "shop.ada" and heir.user("@discord-1") == "@discord-1"
    assert heir.user("ada") == "shop.ada" != heir.user("mill.ada") == "shop.mill.ada"
    with pytest.raises(BadRequest):
        mine.user("a" * ID_LIMIT)


async def test_one_token_is_made_void_and_its_users_other_tokens_stay(tmp_path: Path) -> None:
    redis, now = FakeAsyncRedis(), [0.0]
    here_and_there = [AccessStore(redis, lambda: now[0]) for _ in range(2)]
    void, unnamed, other = (shown(token("chat", "memory", **given)) for given in ({"jti": "a/b"}, {"jti": "c"}, {}))
    async with keyed(tmp_path, admin_token=ADMIN, services_with={"access_store": here_and_there[0]}) as here:
        async with here.browser(headers=void) as thief, here.browser() as program:
            assert (await thief.get("/api/me")).status_code == 200
            for caller in (void, other, {}):
                assert (await program.delete("/api/admin/tokens/shop.a%2Fb", headers=caller)).status_code in (401, 403)
            operator = {"authorization": f"Bearer {ADMIN}"}
            assert (await program.delete("/api/admin/tokens/shop.a%2Fb", headers=operator)).json() == {"ok": True}
            refused = await thief.get("/api/me")
            assert refused.status_code == 401 and "void" in refused.text
            for still in (unnamed, other):
                assert (await program.get("/api/me", headers=still)).status_code == 200
        now[0] += CACHED_S
        assert await here_and_there[1].epoch("token shop.a/b") == 1, "another process takes it"
