"""An account decides under which id the data of a user who signs in is stored."""

import asyncio

import pytest
from fakeredis import FakeAsyncRedis

from backend.access.store import ACCOUNT_IDS, AccessStore


async def test_the_first_sign_in_decides_under_which_id_the_data_is_stored() -> None:
    store = AccessStore(FakeAsyncRedis())
    assert await store.link("ada") == "ada"
    assert await store.link("ada", "visitor") == "ada"
    assert await store.link("ben", "another") == "another"
    assert await store.link("ben") == "another"
    assert await store.ids_of("ada") == ["ada", "visitor"]
    await store.unlink("ben")
    assert await store.ids_of("ben") == []


@pytest.mark.parametrize("shown", [0, 2])
async def test_a_visitor_with_a_void_cookie_is_not_linked_to_an_account(shown: int) -> None:
    store = AccessStore(FakeAsyncRedis())
    await store.revoke("visitor")
    assert await store.link("ada", "visitor", shown) == "ada"
    assert await store.epoch("visitor") == 1


async def test_two_parallel_sign_ins_link_the_visitor_to_one_account_only() -> None:
    redis = FakeAsyncRedis()
    ids = await asyncio.gather(*(AccessStore(redis).link(account, "visitor") for account in ("ada", "ben")))
    assert sorted(ids) in (["ben", "visitor"], ["ada", "visitor"])
    assert await AccessStore(redis).epoch("visitor") == 1


async def test_an_account_keeps_its_own_id_and_the_newest_of_the_others() -> None:
    store = AccessStore(FakeAsyncRedis())
    for number in range(ACCOUNT_IDS + 5):
        await store.link("ada", f"visitor-{number}")
    ids = await store.ids_of("ada")
    assert len(ids) == ACCOUNT_IDS and ids[0] == "visitor-0" and ids[1] == "visitor-6"
