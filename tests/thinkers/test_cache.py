"""Cached answers: the users they are for, and how long they last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from backend.errors import ModelUnavailable, NoAnswer
from backend.storage.messages import Message
from backend.testing.memory import FakeMemory
from backend.testing.services import open_meteo
from backend.testing.services.server import serving
from backend.thinkers import cache
from backend.thinkers.cache import normalised
from backend.users.profile import load_profile
from tests.support.agents import call
from tests.thinkers.world import World, world

SEATTLE = [call("get_current_weather", '{"location": "Seattle"}')]
AT_HOME = [call("get_current_weather", "{}")]
MANIFEST = """
from backend.thinkers.base import Manifest
MANIFEST = Manifest('shop', 'Shop', 'a shop', 'Open?', 'Tell.', {more})
"""


@asynccontextmanager
async def weather(*scenes: Any) -> AsyncIterator[World]:
    """Thinkers with a weather service that answers."""
    async with serving(open_meteo.answering) as server, world(*scenes, settings=open_meteo.settings_for(server)) as w:
        yield w


def outcomes_of(w: World) -> dict[str, float | None]:
    """Return the counts of the cache's outcomes in `/metrics`."""
    counted = CollectorRegistry()
    w.thinkers.cache.register_in(counted)
    return {each: counted.get_sample_value("voice_answer_cache_total", {"outcome": each}) for each in cache.OUTCOMES}


async def learn(w: World, user: str, **preferences: Any) -> None:
    await w.memory.update_user_context(user, lambda context: {**context, "preferences": preferences})


@pytest.mark.document("001", "cached answers")
async def test_an_answer_is_served_again_with_its_citations_until_it_expires() -> None:
    async with weather(SEATTLE, ["Mild."], SEATTLE, ["Cold."]) as w:
        first = await w.ask("weather", "Is it warm?")
        again = await w.ask("weather", "  is it WARM ", user="bob", session="s2")
        assert (first.source, again.source, again.text) == ("live", "cache", first.text)
        assert again.citations == first.citations != ()
        assert w.progress[-1] == "found in the cache"
        await w.memory.age(601)
        assert (await w.ask("weather", "Is it warm?")).text == "Cold."


async def test_a_personalised_answer_is_never_served_to_another_user() -> None:
    async with weather(AT_HOME, ["Ada's."], AT_HOME, ["Bob's."]) as w:
        for user in ("ada", "bob"):
            await learn(w, user, default_location="Seattle")
        answers = [await w.ask("weather", "rain?", user=user) for user in ("ada", "bob", "ada")]
    assert [answer.text for answer in answers] == ["Ada's.", "Bob's.", "Ada's."]
    assert answers[-1].source == "cache"


@pytest.mark.document("001", "cached answers")
async def test_callers_in_two_places_share_one_answer_to_a_question_that_names_its_place() -> None:
    async with weather(SEATTLE, ["Mild."]) as w:
        await learn(w, "ada", time_zone="Europe/Oslo", default_location="Oslo", name="Ada")
        await learn(w, "bob", time_zone="America/Lima", default_location="Lima", watched_tickers=["AAPL"])
        assert (await w.ask("weather", "Is it warm in Seattle?", user="ada")).source == "live"
        assert (await w.ask("weather", "is it warm in Seattle", user="bob")).source == "cache"
        assert len(await w.memory._client.redis.keys("cache:*")) == 1
        assert "Oslo" not in w.system() and "12:00" not in w.system(), (
            "a shared answer is made without the caller's data"
        )
        assert outcomes_of(w) == {"hit": 1, "miss": 1, "skipped": 0}


async def test_callers_of_one_time_zone_share_answers_that_depend_on_the_time() -> None:
    async with world(["By scattering."], ["By scattering."]) as w:
        for user, zone in (("ada", "Europe/Oslo"), ("bob", "Europe/Oslo"), ("eve", "America/Lima")):
            await learn(w, user, time_zone=zone)
        answers = [await w.ask("knowledge", "Why is the sky blue?", user=user) for user in ("ada", "bob", "eve")]
    assert [answer.source for answer in answers] == ["model", "cache", "model"]


async def test_a_thinker_gets_the_time_unless_it_declares_that_it_needs_none(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(MANIFEST.format(more="history_turns=0, preferences=('time_zone',)"))
    async with world(["Yes."], ["No."], folders=(tmp_path,)) as w:
        await learn(w, "ada", time_zone="Europe/Oslo")
        await learn(w, "bob", time_zone="America/Lima")
        assert [(await w.ask("shop", "Are they there?", user=user)).text for user in ("ada", "bob")] == ["Yes.", "No."]
        assert "07:00 (time zone America/Lima)" in w.system()


async def test_the_date_and_the_unit_are_part_of_the_cache_key() -> None:
    async with weather(*[SEATTLE, ["Mild."]] * 3) as w:
        await learn(w, "ada", time_zone="Europe/Oslo")
        await learn(w, "bob", time_zone="Pacific/Auckland")  # it is Sunday there
        await learn(w, "eve", time_zone="Europe/Oslo", temperature_unit="celsius")
        answers = [await w.ask("weather", "Warm in Seattle?", user=user) for user in ("ada", "bob", "eve")]
    assert [answer.source for answer in answers] == ["live"] * 3


@pytest.mark.document("001", "user context")
async def test_a_cached_answer_still_updates_the_profile() -> None:
    async with weather(SEATTLE, ["Mild."]) as w:
        await learn(w, "bob", default_location="Lima")
        await w.ask("weather", "Seattle?", user="ada")
        assert (await w.ask("weather", "Seattle?", user="bob")).source == "cache"
        ada, bob = [await load_profile(w.memory, user) for user in ("ada", "bob")]
    assert ada.preferences.default_location == "Seattle", "the first place is stored as the home of a user without one"
    assert bob.preferences.default_location == "Lima"
    assert ada.facts == bob.facts == ("Has asked about the weather in: Seattle.",)
    assert ada.signals.topic_counts == bob.signals.topic_counts == {"weather": 1}


async def test_erasing_a_user_erases_their_answers() -> None:
    async with world(["One."], ["Two."]) as w:
        for forgotten in (False, True):
            if forgotten:
                await w.memory.forget_user("ada")
            await learn(w, "ada", name="Ada")
            assert (await w.ask("knowledge", "x")).text == ("Two." if forgotten else "One.")


async def test_an_answer_that_uses_a_conversation_is_not_served_to_others_or_elsewhere() -> None:
    async with world(["For ill Ada."], ["For Bob."], ["For Ada, elsewhere."]) as w:
        await w.memory.append_messages("ada", "s1", Message("user", "I am ill.", 1.0))
        await w.memory.append_messages("ada", "s2", Message("user", "I am well.", 1.0))
        await w.ask("knowledge", "x", user="ada")
        assert (await w.ask("knowledge", "x", user="bob")).text == "For Bob."
        assert (await w.ask("knowledge", "x", user="ada")).text == "For ill Ada."
        assert (await w.ask("knowledge", "x", user="ada", session="s2")).text == "For Ada, elsewhere."


async def test_a_strangers_conversation_is_not_read_at_all() -> None:
    async with world(["One."]) as w:
        await w.memory.append_messages("", "s1", Message("user", "I am ill.", 1.0))
        await w.ask("knowledge", "x", user="")
        assert "I am ill" not in w.system()


@pytest.mark.parametrize("first", [[SEATTLE, ["A sample."]], [["Which place?"]]], ids=["a sample", "a question back"])
async def test_an_answer_without_live_data_is_never_cached(first: list[Any]) -> None:
    async with world(*first, ["Another."]) as w:
        await w.ask("weather", "rain?")
        assert (await w.ask("weather", "rain?")).text == "Another."


async def test_failures_are_never_cached() -> None:
    async with world([ModelUnavailable("gone")], ["Here."]) as w:
        with pytest.raises(NoAnswer):
            await w.ask("knowledge", "x")
        assert (await w.ask("knowledge", "x")).text == "Here."


async def test_a_thinker_may_switch_its_cache_off(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(MANIFEST.format(more="cache_ttl_s=0"))
    async with world(["Six."], ["One."], folders=(tmp_path,)) as w:
        assert [(await w.ask("shop", "x")).text, (await w.ask("shop", "x")).text] == ["Six.", "One."]


async def test_an_unreachable_or_unreadable_cache_is_skipped() -> None:
    memory = FakeMemory()
    async with world(["One."], ["Two."], ["Three."], memory=memory) as w:
        memory.down = True
        assert (await w.ask("knowledge", "x")).text == "One."
        memory.down = False
        await w.ask("knowledge", "x")
        redis = memory._client.redis
        for key in await redis.keys("cache:*"):
            await redis.set(key, '{"odd": 1}')
        assert (await w.ask("knowledge", "x")).text == "Three."


async def test_a_slow_cache_is_skipped_and_counted_as_neither_hit_nor_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(FakeMemory):
        async def cache_get(self, scope: str, key: str) -> str | None:
            await asyncio.sleep(30)
            return None

    monkeypatch.setattr(cache, "CACHE_WITHIN_S", 0.02)
    async with world(["One."], memory=Slow()) as w, asyncio.timeout(10):
        assert (await w.ask("knowledge", "x")).text == "One."
        assert outcomes_of(w) == {"hit": 0, "miss": 0, "skipped": 1}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("What’s  the weather?", "what's the WEATHER", True),
        ("Ｗｅａｔｈｅｒ", "weather", True),
        ("What is 2.5 + 1?", "What is 25 + 1?", False),
        ("What is C?", "What is C++?", False),
        ("Is it -5?", "Is it 5?", False),
        (".5 + 1?", "5 + 1?", False),
        ("What is 5!", "What is 5", False),
    ],
)
def test_normalisation_keeps_every_difference_in_meaning(one: str, other: str, same: bool) -> None:
    assert (normalised(one) == normalised(other)) is same
