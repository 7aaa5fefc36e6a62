"""The real page: on a stand-in for its server, or on the real HTTP edge with fake calls and a fake memory."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from fakeredis import FakeAsyncRedis, FakeServer
from playwright.async_api import Browser

from backend.access.budgets import Budgets
from backend.app.notifications import open_notifications
from backend.http.page_streams import PageStreams
from backend.settings.notifications import NotificationSettings
from backend.storage.pubsub import PubSub
from backend.testing.memory import FakeMemory
from tests.http.world import World, world
from tests.support.browser import Tab, tab_in
from tests.support.standin import StandIn, standing_in

FRONTEND = Path(__file__).parents[2] / "frontend"


@contextlib.asynccontextmanager
async def page_world(
    folder: Path, *, budgets: Budgets | None = None, services_with: dict[str, Any] | None = None, **settings: Any
) -> AsyncIterator[World]:
    """A `World` that serves the project's own page, with notices and reminders."""
    (folder / "page").symlink_to(FRONTEND, target_is_directory=True)
    store = FakeServer()
    chosen = NotificationSettings.model_validate({})
    async with (
        contextlib.aclosing(FakeAsyncRedis(server=store)) as redis,
        contextlib.aclosing(FakeAsyncRedis(server=store)) as waiting,
        open_notifications(chosen, redis, PubSub(redis, waiting), FakeMemory()) as notifications,
    ):
        pages = PageStreams()
        services: dict[str, Any] = {
            "reminders": notifications.reminders,
            "notices": notifications.dispatcher,
            "pages": pages,
            **({"budgets": budgets} if budgets else {}),
            **(services_with or {}),
        }
        async with world(folder, page=False, services_with=services, **settings) as here:
            try:
                yield here
            finally:
                pages.close()


@contextlib.asynccontextmanager
async def page_on_stand_in(
    browser: Browser, *scripts: str, address: str = "/?raw=1", **options: Any
) -> AsyncIterator[tuple[Tab, StandIn]]:
    """An opened page, in which `scripts` ran first, and its stand-in."""
    async with standing_in() as server, tab_in(browser, **options) as tab:
        for script in scripts:
            await tab.page.add_init_script(script)
        await tab.page.goto(server.url + address)
        await tab.sees("state", "Ready to talk")
        yield tab, server
