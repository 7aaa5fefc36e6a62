"""Steps around a turn: what they see, what they give, and what their failures cost."""

import asyncio
import logging
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from backend.agent.context import Exchange, Note, Situation
from backend.citations import Citation
from backend.errors import BadPlugin, MemoryUnavailable, SettingsError
from backend.middleware.base import Amended, Aside, Asked, StepOptions, WholeTurn, step
from backend.middleware.pipeline import LATER_LIMIT, Pipeline
from backend.middleware.run import OUTPUT_LIMIT
from backend.users.profile import Preferences, UserProfile
from tests.middleware.world import pipeline

ASKED = Asked("What do I like?", "ada", "c1")
SECRET = "the user's secret"


def counted(steps: Pipeline, name: str, outcome: str) -> float:
    registry = CollectorRegistry()
    steps.counts.register_in(registry)
    return registry.get_sample_value("voice_pipeline_step_seconds_count", {"step": name, "outcome": outcome}) or 0.0


@step("likes", stage="pre")
async def likes(asked: Asked) -> Note:
    return Note("What they like", {"of": asked.user_id, "likes": ["tea"]})


@step("shops", stage="pre", depends_on=["likes"])
async def shops(asked: Asked) -> Exchange:
    note = asked.earlier.get("likes")
    found = note.data["likes"] if isinstance(note, Note) else ["nothing in particular"]
    return Exchange("find_shop", {"sells": found}, {"shop": "The Kettle"}, citations=(Citation("The Kettle"),))


@step("shout", stage="post")
async def shout(turn: WholeTurn) -> Amended:
    return Amended(turn.answer.upper())


@step("sign", stage="post", depends_on=["shout"])
async def sign(turn: WholeTurn) -> Amended:
    return Amended(f"{turn.answer} Yours, the machine.")


@step("broken", stage="pre")
async def broken() -> Note:
    raise RuntimeError(SECRET)


@step("behind_it", stage="pre", depends_on=["broken"])
async def behind_it(asked: Asked) -> Note:
    return Note("Seen", sorted(asked.earlier))


async def test_a_later_step_sees_the_output_of_an_earlier_one() -> None:
    prepared = await pipeline(shops, likes).before(ASKED)
    assert list(prepared.outputs) == ["likes", "shops"]
    situation = prepared.add_to(Situation(UserProfile(Preferences(time_zone="Europe/Oslo"))))
    (exchange,) = situation.exchanges
    assert isinstance(exchange, Exchange) and exchange.arguments == {"sells": ["tea"]}
    assert (situation.zone, len(situation.notes)) == ("Europe/Oslo", 1)


async def test_independent_steps_run_in_parallel() -> None:
    met = asyncio.Barrier(2)

    @step("one", stage="pre")
    async def one() -> None:
        await met.wait()

    @step("two", stage="pre")
    async def two() -> None:
        await met.wait()

    prepared = await pipeline(one, two).before(ASKED)
    assert [outcome.kind for outcome in prepared.outcomes] == ["nothing", "nothing"]


@pytest.mark.document("002", "brainlets")
async def test_a_failing_step_is_skipped_and_its_error_text_stays_private(caplog: pytest.LogCaptureFixture) -> None:
    steps = pipeline(broken, behind_it, likes)
    with caplog.at_level(logging.INFO):
        prepared = await steps.before(ASKED)
    assert [note.data for note in prepared.add_to(Situation()).notes] == [{"of": "ada", "likes": ["tea"]}, []]
    assert "step broken is broken: RuntimeError" in caplog.text
    assert SECRET not in caplog.text
    assert (counted(steps, "broken", "failed"), counted(steps, "likes", "done")) == (1, 1)


async def test_the_log_names_an_unreachable_service(caplog: pytest.LogCaptureFixture) -> None:
    @step("looks_up", stage="pre")
    async def looks_up() -> None:
        raise MemoryUnavailable("Redis does not answer.", hint="Start it.")

    assert (await pipeline(looks_up).before(ASKED)).outputs == {}
    assert "step looks_up failed and is skipped: Redis does not answer. Start it." in caplog.text


async def test_a_slow_step_costs_only_its_deadline() -> None:
    @step("slow", stage="pre", deadline_s=0.05)
    async def slow() -> Note:
        await asyncio.sleep(30)
        return Note("Never", {})

    steps = pipeline(slow, likes)
    async with asyncio.timeout(10):
        prepared = await steps.before(ASKED)
    assert list(prepared.outputs) == ["likes"]
    assert counted(steps, "slow", "timeout") == 1


async def test_a_step_that_ignores_cancellation_is_left_behind() -> None:
    release = asyncio.Event()

    @step("stubborn", stage="pre", deadline_s=0.02)
    async def stubborn() -> None:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async with asyncio.timeout(10):
        (outcome,) = (await pipeline(stubborn).before(ASKED)).outcomes
    assert outcome.kind == "timeout"
    release.set()
    await asyncio.sleep(0)


async def test_cancelling_a_turn_stops_its_steps() -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    @step("long", stage="pre")
    async def long() -> None:
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            stopped.set()

    task = asyncio.create_task(pipeline(long).before(ASKED))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(10):
        await stopped.wait()


async def test_steps_amend_an_answer_one_after_the_other() -> None:
    turn = await pipeline(sign, shout).after(WholeTurn(ASKED, "Tea."))
    assert turn.answer == "TEA. Yours, the machine."
    assert sorted(turn.earlier) == ["shout", "sign"]


async def test_a_post_step_sees_the_question_the_answer_and_earlier_outputs() -> None:
    seen: list[WholeTurn] = []

    @step("look", stage="post", depends_on=["likes"])
    async def look(turn: WholeTurn) -> Aside:
        seen.append(turn)
        return Aside({"n": 1})

    steps = pipeline(look, likes)
    prepared = await steps.before(ASKED)
    turn = await steps.after(prepared.turn("Tea.", tools=("clock",), message_id="msg_1"))
    assert turn.answer == "Tea."
    (whole,) = seen
    assert (whole.asked.text, whole.answer, whole.tools, whole.message_id) == (
        "What do I like?",
        "Tea.",
        ("clock",),
        "msg_1",
    )
    assert isinstance(whole.earlier["likes"], Note)


async def test_an_empty_amendment_changes_nothing() -> None:
    @step("silence", stage="post")
    async def silence() -> Amended:
        return Amended("  ")

    assert (await pipeline(silence).after(WholeTurn(ASKED, "Tea."))).answer == "Tea."


@pytest.mark.parametrize(
    "output", ["words", Amended("Not yet."), Note("Too long", "x" * OUTPUT_LIMIT), Note("No JSON", {(1, 2): 3})]
)
async def test_a_pre_step_with_a_wrong_output_fails(output: Any) -> None:
    @step("odd", stage="pre")
    async def odd() -> Any:
        return output

    steps = pipeline(odd)
    assert (await steps.before(ASKED)).outputs == {}
    assert counted(steps, "odd", "failed") == 1


@pytest.mark.document("002", "brainlets")
async def test_modes_domains_and_names_decide_which_steps_run() -> None:
    @step("at_work", stage="pre", modes=["work"])
    async def at_work() -> Note:
        return Note("Work", 1)

    @step("for_news", stage="pre", domains=["news"])
    async def for_news() -> Note:
        return Note("News", 1)

    steps = pipeline(at_work, for_news)

    async def ran(asked: Asked, names: list[str] | None = None) -> list[str]:
        return list((await steps.before(asked, names=names)).outputs)

    assert await ran(ASKED) == ["for_news"]
    assert await ran(Asked("x", mode="work")) == ["at_work", "for_news"]
    assert await ran(Asked("x", mode="work", domain="weather")) == ["at_work"]
    assert await ran(Asked("x", mode="work", domain="news"), ["for_news"]) == ["for_news"]
    assert await ran(ASKED, []) == []


async def test_a_step_can_be_limited_to_platforms_and_every_step_sees_the_platform() -> None:
    seen: list[str] = []

    @step("on_the_phone", stage="pre", platforms=["phone", "watch"])
    async def on_the_phone(asked: Asked) -> Note:
        seen.append(asked.platform)
        return Note("Room on the screen", "three lines", personal=False)

    @step("anywhere", stage="post")
    async def anywhere(turn: WholeTurn) -> None:
        seen.append(f"after, {turn.asked.platform or 'nowhere'}")

    steps = pipeline(on_the_phone, anywhere)
    for platform, runs in (("phone", True), ("watch", True), ("terminal", False), ("", False)):
        prepared = await steps.before(Asked("x", platform=platform))
        assert bool(prepared.outputs) == runs, platform
        await steps.after(prepared.turn("Tea."))
    assert seen == ["phone", "after, phone", "watch", "after, watch", "after, terminal", "after, nowhere"]


@pytest.mark.document("002", "brainlets")
async def test_an_operator_sets_the_options_that_a_step_declares() -> None:
    seen: list[StepOptions] = []

    @step("set_up", stage="pre", model="fast", options={"limit": 3, "depth": 1})
    async def set_up(options: StepOptions) -> None:
        seen.append(options)

    steps = pipeline(set_up, options={"set_up": {"limit": 5}}, models={"fast": "small-model"})
    await steps.before(ASKED)
    assert seen == [StepOptions({"limit": 5, "depth": 1}, "small-model")]
    wrongs: list[tuple[str, dict[str, int]]] = [("nobody", {}), ("set_up", {"limt": 5}), ("set_up", {"temperature": 7})]
    for name, wrong in wrongs:
        with pytest.raises(SettingsError, match=r"no step called nobody|no option limt|temperature"):
            pipeline(set_up, options={name: wrong})


async def test_a_service_is_injected_and_an_optional_service_may_be_missing() -> None:
    seen: list[Any] = []

    @step("asks", stage="pre")
    async def asks(there: CollectorRegistry, maybe: logging.Logger | None) -> None:
        seen.extend((there, maybe))

    registry = CollectorRegistry()
    await pipeline(asks, services={CollectorRegistry: registry}).before(ASKED)
    assert seen == [registry, None]
    with pytest.raises(BadPlugin, match="asks for there: CollectorRegistry"):
        pipeline(asks)


def test_a_wrong_declaration_of_a_step_is_refused_where_it_stands() -> None:
    async def fine(asked: Asked) -> None: ...

    def plain(asked: Asked) -> None: ...

    async def untyped(asked) -> None: ...  # type: ignore[no-untyped-def]

    for match, name, stage, function in (
        ("not a lower-case name", "Not One", "pre", fine),
        ("not an async function", "plain", "pre", plain),
        ("has no type", "untyped", "pre", untyped),
        ("has the stage", "fine", "during", fine),
        ("sees WholeTurn", "fine", "post", fine),
    ):
        with pytest.raises(BadPlugin, match=match):
            step(name, stage=stage)(function)  # type: ignore[arg-type, type-var]
    with pytest.raises(BadPlugin, match="not positive"):
        step("fine", stage="pre", deadline_s=0)(fine)


async def test_background_steps_see_the_amended_answer_and_delay_nothing() -> None:
    answers: list[str] = []

    @step("keep", stage="post", detached=True)
    async def keep(turn: WholeTurn) -> None:
        answers.append(turn.answer)

    steps = pipeline(shout, keep)
    steps.later(WholeTurn(ASKED, "Tea."))
    assert answers == []
    await steps.close(2.0)
    assert answers == ["TEA."]
    steps.later(WholeTurn(ASKED, "Too late."))
    assert steps.depth == 0


async def test_with_too_many_waiting_turns_the_oldest_is_dropped_and_counted() -> None:
    done: list[str] = []
    go = asyncio.Event()

    @step("note_down", stage="post")
    async def note_down(turn: WholeTurn) -> None:
        await go.wait()
        done.append(turn.answer)

    steps = pipeline(note_down)
    for number in range(LATER_LIMIT + 10):
        steps.later(WholeTurn(ASKED, str(number)))
    assert (steps.depth, steps.counts.lost) == (LATER_LIMIT, 6)
    go.set()
    await steps.close(5.0)
    assert [int(one) for one in done] == [0, 1, 2, 3, *range(10, LATER_LIMIT + 10)]


async def test_background_steps_skip_the_turn_of_an_erased_user() -> None:
    done: list[str] = []
    go = asyncio.Event()

    @step("note_down", stage="post")
    async def note_down(turn: WholeTurn) -> None:
        await go.wait()
        done.append(turn.asked.user_id)

    steps = pipeline(note_down)
    for user in ("ada", "bo", "ada", "bo", "ada", "bo"):
        steps.later(WholeTurn(Asked("x", user), "y"))
    await asyncio.sleep(0)
    await steps.forget("ada")
    go.set()
    await steps.close(2.0)
    assert done == ["bo", "bo", "bo"]


async def test_close_cancels_steps_that_do_not_end_in_time() -> None:
    @step("endless", stage="post")
    async def endless() -> None:
        await asyncio.sleep(30)

    steps = pipeline(endless)
    for _ in range(6):
        steps.later(WholeTurn(ASKED, "x"))
    async with asyncio.timeout(10):
        await steps.close(0.05)
    assert steps.counts.lost == 2
