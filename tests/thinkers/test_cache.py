"""Answers served again: to which users, for how long, and worked out once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from backend.errors import ModelUnavailable, NoAnswer
from backend.storage.messages import Message
from backend.testing.memory import FakeMemory
from backend.testing.model import ScriptedModel
from backend.testing.services import open_meteo
from backend.testing.services.server import serving
from backend.thinkers import cache
from backend.thinkers.base import Answer, OnProgress
from backend.thinkers.cache import AnswerCache, Computed, Slot, Slots, normalised
from backend.users.profile import load_profile
from tests.support.agents import call
from tests.support.waiting import until
from tests.thinkers.world import World, world

SEATTLE = [call("get_current_weather", '{"location": "Seattle"}')]
AT_HOME = [call("get_current_weather", "{}")]


async def learn(w: World, user: str, **preferences: Any) -> None:
    await w.memory.update_user_context(user, lambda context: {**context, "preferences": preferences})


async def test_an_answer_is_served_again_from_the_cache_and_says_so() -> None:
    async with world(["Because."], ["Never asked."]) as w:
        first = await w.ask("knowledge", "Why is the sky blue?")
        again = await w.ask("knowledge", "  why is the SKY blue ", user="bob", session="s2")
    assert (first.source, again.source) == ("model", "cache")
    assert again.text == first.text
    assert len(w.model.requests) == 1
    assert w.progress[-1] == "found in the cache"


async def test_citations_are_kept() -> None:
    async with (
        serving(open_meteo.answering) as server,
        world(SEATTLE, ["Mild."], settings=open_meteo.settings_for(server)) as w,
    ):
        first = await w.ask("weather", "Seattle?")
        again = await w.ask("weather", "Seattle?")
    assert again.source == "cache"
    assert again.citations == first.citations != ()


async def test_an_answer_expires_after_its_domains_time() -> None:
    memory = FakeMemory()
    async with world(["One."], ["Two."], memory=memory) as w:
        await w.ask("knowledge", "x")
        await memory.age(100)
        assert (await w.ask("knowledge", "x")).source == "cache"
        await memory.age(21)
        assert (await w.ask("knowledge", "x")).text == "Two."


async def test_a_personalised_answer_is_never_served_to_another_user() -> None:
    async with (
        serving(open_meteo.answering) as server,
        world(AT_HOME, ["Ada's."], AT_HOME, ["Bob's."], settings=open_meteo.settings_for(server)) as w,
    ):
        await learn(w, "ada", default_location="Seattle")
        await learn(w, "bob", default_location="Seattle")
        assert (await w.ask("weather", "rain?", user="ada")).text == "Ada's."
        assert (await w.ask("weather", "rain?", user="bob")).text == "Bob's."
        assert (await w.ask("weather", "rain?", user="ada")).text == "Ada's."
        assert (await w.ask("weather", "rain?", user="ada")).source == "cache"


async def test_callers_in_two_places_share_one_answer_to_a_question_that_names_its_place() -> None:
    async with (
        serving(open_meteo.answering) as server,
        world(SEATTLE, ["Mild."], settings=open_meteo.settings_for(server)) as w,
    ):
        await learn(w, "ada", time_zone="Europe/Oslo", default_location="Oslo", name="Ada")
        await learn(w, "bob", time_zone="America/Lima", default_location="Lima", watched_tickers=["AAPL"])
        assert (await w.ask("weather", "Is it warm in Seattle?", user="ada")).source == "live"
        assert (await w.ask("weather", "is it warm in Seattle", user="bob")).source == "cache"
        assert len(await w.memory._client.redis.keys("cache:*")) == 1
        assert "Oslo" not in w.system() and "12:00" not in w.system(), "a shared answer is made without what is theirs"
        counted = CollectorRegistry()
        w.thinkers.cache.show_in(counted)
        assert counted.get_sample_value("voice_answer_cache_total", {"outcome": "hit"}) == 1
        assert counted.get_sample_value("voice_answer_cache_total", {"outcome": "miss"}) == 1


async def test_what_rests_on_the_time_of_day_is_answered_with_it_and_shared_by_nobody_elsewhere() -> None:
    async with world(["Because."], ["It is one."], ["It is seven."]) as w:
        await learn(w, "ada", time_zone="Europe/Oslo")
        await learn(w, "bob", time_zone="America/Lima")
        await w.ask("knowledge", "Why is the sky blue?", user="ada")
        assert (await w.ask("knowledge", "Why is the sky blue?", user="bob")).source == "cache"
        assert "Oslo" not in w.system()
        assert (await w.ask("knowledge", "What time is it?", user="ada")).text == "It is one."
        assert "13:00 (time zone Europe/Oslo)" in w.system()
        assert (await w.ask("knowledge", "What time is it?", user="bob")).text == "It is seven."
        assert "07:00 (time zone America/Lima)" in w.system()


async def test_a_thinker_of_another_makers_is_told_the_time_unless_it_says_it_needs_none(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "from backend.thinkers.base import Manifest\n"
        "MANIFEST = Manifest('shop', 'Shop', 'a shop', 'Open?', 'Tell.', history_turns=0, preferences=('time_zone',))\n"
    )
    async with world(["Yes."], ["No."], folders=(tmp_path,)) as w:
        await learn(w, "ada", time_zone="Europe/Oslo")
        await learn(w, "bob", time_zone="America/Lima")
        assert [(await w.ask("shop", "Are they there?", user=user)).text for user in ("ada", "bob")] == ["Yes.", "No."]
        assert "07:00 (time zone America/Lima)" in w.system()


async def test_another_date_and_another_unit_part_answers() -> None:
    scenes = [SEATTLE, ["Mild."]] * 3
    async with (
        serving(open_meteo.answering) as server,
        world(*scenes, settings=open_meteo.settings_for(server)) as w,
    ):
        await learn(w, "ada", time_zone="Europe/Oslo")
        await learn(w, "bob", time_zone="Pacific/Auckland")  # it is Sunday there
        await learn(w, "eve", time_zone="Europe/Oslo", temperature_unit="celsius")
        answers = [await w.ask("weather", "Warm in Seattle?", user=user) for user in ("ada", "bob", "eve")]
    assert [answer.source for answer in answers] == ["live"] * 3


async def test_who_waits_for_anothers_answer_that_turns_out_personal_gets_their_own() -> None:
    async with (
        serving(open_meteo.answering) as server,
        world([0.05, *AT_HOME], ["Ada's."], AT_HOME, ["Bob's."], settings=open_meteo.settings_for(server)) as w,
    ):
        await learn(w, "ada", default_location="Seattle")
        await learn(w, "bob", default_location="Seattle")
        ada, bob = await asyncio.gather(*(w.ask("weather", "rain?", user=user) for user in ("ada", "bob")))
    assert (ada.text, bob.text) == ("Ada's.", "Bob's.")


async def test_what_an_answer_teaches_reaches_the_profile_also_from_the_cache() -> None:
    async with (
        serving(open_meteo.answering) as server,
        world(SEATTLE, ["Mild."], settings=open_meteo.settings_for(server)) as w,
    ):
        await learn(w, "bob", default_location="Lima")
        await w.ask("weather", "Seattle?", user="ada")
        assert (await w.ask("weather", "Seattle?", user="bob")).source == "cache"
        ada, bob = [await load_profile(w.memory, user) for user in ("ada", "bob")]
    assert ada.preferences.default_location == "Seattle", "the first place is taken as the home of who stated none"
    assert bob.preferences.default_location == "Lima"
    assert ada.facts == bob.facts == ("Has asked about the weather in: Seattle.",)


async def test_forgetting_a_user_forgets_their_answers() -> None:
    async with world(["One."], ["Two."]) as w:
        await learn(w, "ada", name="Ada")
        await w.ask("knowledge", "x")
        await w.memory.forget_user("ada")
        await learn(w, "ada", name="Ada")
        assert (await w.ask("knowledge", "x")).text == "Two."


async def test_an_answer_into_which_a_conversation_went_is_never_anothers_nor_another_conversations() -> None:
    async with world(["For ill Ada."], ["For Bob."], ["For Ada, elsewhere."]) as w:
        await w.memory.append_messages("ada", "s1", Message("user", "I am ill.", 1.0))
        await w.ask("knowledge", "x", user="ada")
        assert (await w.ask("knowledge", "x", user="bob")).text == "For Bob."
        assert (await w.ask("knowledge", "x", user="ada")).text == "For ill Ada."
        await w.memory.append_messages("ada", "s2", Message("user", "I am well.", 1.0))
        assert (await w.ask("knowledge", "x", user="ada", session="s2")).text == "For Ada, elsewhere."


async def test_a_strangers_conversation_is_not_read_at_all() -> None:
    async with world(["One."]) as w:
        await w.memory.append_messages("", "s1", Message("user", "I am ill.", 1.0))
        await w.ask("knowledge", "x", user="")
        assert "I am ill" not in w.system()


async def test_a_sample_is_never_cached() -> None:
    async with world(SEATTLE, ["Mild."], SEATTLE, ["Mild again."]) as w:
        await w.ask("weather", "Seattle?")
        assert (await w.ask("weather", "Seattle?")).text.startswith("Mild again.")


async def test_a_question_back_is_never_cached() -> None:
    async with world(["Which place?"], ["Which place, please?"]) as w:
        await w.ask("weather", "rain?")
        assert (await w.ask("weather", "rain?")).text == "Which place, please?"


async def test_failures_are_never_cached() -> None:
    async with world([ModelUnavailable("gone")], ["Here."]) as w:
        with pytest.raises(NoAnswer):
            await w.ask("knowledge", "x")
        assert (await w.ask("knowledge", "x")).text == "Here."


async def test_a_thinker_may_forbid_it(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text(
        "from backend.thinkers.base import Manifest\n"
        "MANIFEST = Manifest('dice', 'Dice', 'dice', 'Roll.', 'Roll.', cache_ttl_s=0)\n"
    )
    async with world(["Six."], ["One."], folders=(tmp_path,)) as w:
        assert [(await w.ask("dice", "x")).text, (await w.ask("dice", "x")).text] == ["Six.", "One."]


async def test_a_cache_that_is_gone_or_garbled_is_no_cache() -> None:
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


async def test_a_slow_cache_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(FakeMemory):
        async def cache_get(self, scope: str, key: str) -> str | None:
            await asyncio.sleep(30)
            return None

    monkeypatch.setattr(cache, "CACHE_WITHIN_S", 0.02)
    async with world(["One."], memory=Slow()) as w, asyncio.timeout(2):
        assert (await w.ask("knowledge", "x")).text == "One."


async def test_the_same_question_at_the_same_time_is_worked_out_once() -> None:
    async with world([0.02, "Once."]) as w:
        answers = await asyncio.gather(*(w.ask("knowledge", "x", session=f"s{n}", user=f"u{n}") for n in range(20)))
    assert {answer.text for answer in answers} == {"Once."}
    assert len(w.model.requests) == 1
    assert w.progress.count("putting the answer into words") == 20


async def test_work_goes_on_for_who_still_waits_and_stops_with_the_last() -> None:
    model = ScriptedModel([0.1, "Done."], [30.0, "Never."])
    async with world(model=model) as w:
        first, second = (asyncio.create_task(w.ask("knowledge", "x")) for _ in range(2))
        await until(lambda: model.open == 1)
        first.cancel()
        assert (await second).text == "Done."
        third = asyncio.create_task(w.ask("knowledge", "y"))
        await until(lambda: model.open == 1)
        third.cancel()
        await asyncio.wait({third})
        assert model.open == 0


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
def test_only_what_changes_nothing_is_normalised(one: str, other: str, same: bool) -> None:
    assert (normalised(one) == normalised(other)) is same


async def test_what_must_be_heard_to_its_end_is_so_from_the_cache_too() -> None:
    memory = FakeMemory()
    served = AnswerCache(memory)

    async def compute(_: OnProgress) -> Computed:
        return Computed(Answer("This call is recorded.", "model", interruptible=False), keep=True)

    async def serve() -> Answer:
        return await served.serve(Slots(Slot("shared", "terms"), None), 60, compute, lambda _: None)

    assert [(answer.source, answer.interruptible) for answer in (await serve(), await serve())] == [
        ("model", False),
        ("cache", False),
    ]
