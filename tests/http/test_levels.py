"""The scores of the detector as a stream, for the caller only and while they watch."""

from contextlib import ExitStack
from pathlib import Path

from backend.media.endpointing import WATCHERS, Levels
from tests.http.test_chat import Stream
from tests.http.world import Browser, World, message_of, place_call, world
from tests.support.waiting import until


async def test_scores_arrive_in_batches_while_a_page_watches(here: World, browser: Browser) -> None:
    session = here.registry.find((await place_call(browser))["session_id"])
    levels = session.levels = Levels(0.7)
    async with browser.stream("GET", f"/api/events/{session.id}/levels") as answer:
        events = Stream(answer)
        await until(lambda: len(levels._rings) == 1)
        for score in (0.1, 0.91234):
            levels.note(score)
        assert await events.next() == ("levels", {"threshold": 0.7, "frame_ms": 20, "scores": [0.1, 0.912]})
    await until(lambda: not levels._rings)


async def test_the_stream_of_scores_ends_with_the_call_and_is_refused_to_strangers(tmp_path: Path) -> None:
    async with world(tmp_path) as here, here.browser() as browser, here.browser() as stranger:
        session = here.registry.find((await place_call(browser))["session_id"])
        assert (await browser.get(f"/api/events/{session.id}/levels")).status_code == 204
        session.levels = Levels(0.7)
        assert message_of(await stranger.get(f"/api/events/{session.id}/levels"))
        async with browser.stream("GET", f"/api/events/{session.id}/levels") as answer:
            await here.registry.end(session, "disconnected")
            assert "data:" not in "".join([text async for text in answer.aiter_text()])
        assert (await browser.get(f"/api/events/{session.id}/levels")).status_code == 204


async def test_too_many_watchers_are_refused(here: World, browser: Browser) -> None:
    session = here.registry.find((await place_call(browser))["session_id"])
    levels = session.levels = Levels(0.7)
    with ExitStack() as watching:
        for _ in range(WATCHERS):
            watching.enter_context(levels.watch())
        answer = await browser.get(f"/api/events/{session.id}/levels")
        assert answer.status_code == 429 and message_of(answer)
