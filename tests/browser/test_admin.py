"""The operator's page on the real routes: sign-in, live figures, and the end of a call."""

import hashlib
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest
from fakeredis import FakeAsyncRedis
from playwright.async_api import Browser

from backend.access.billing import BillingSubject
from backend.access.budgets import Budgets
from backend.access.usage import TURN, Resource
from backend.errors import OverBudget
from backend.page_events import ReplyDiscarded, TranscriptCompleted, TurnMeasured
from backend.settings.budgets import BudgetSettings
from tests.http.world import World, place_call
from tests.support.browser import Tab, tab_in
from tests.support.page import page_world
from tests.support.services import budgets_over

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
TOKEN = "correct horse battery"
TABLES = ("budget", "budget-top", "budget-refused")


async def sign_in(tab: Tab, here: World, token: str = TOKEN) -> None:
    await tab.page.goto(f"{here.url}/admin")
    await tab.sees("gate-title", "Sign in as the operator")
    await tab.page.get_by_test_id("token").fill(token)
    await tab.page.keyboard.press("Enter")


async def test_without_the_setting_the_admin_page_says_how_to_turn_it_on(browser: Browser, tmp_path: Path) -> None:
    async with page_world(tmp_path) as here, tab_in(browser, complaints="expected") as tab:
        await tab.page.goto(f"{here.url}/admin")
        await tab.sees("gate-title", "The admin page is off.")
        await tab.sees("gate-said", "Set ADMIN_TOKEN")
        assert not await tab.page.get_by_test_id("token").is_visible()


async def test_a_wrong_token_is_refused_and_the_right_one_lasts_for_the_tab(browser: Browser, tmp_path: Path) -> None:
    async with (
        page_world(tmp_path, admin_token=TOKEN) as here,
        tab_in(browser, complaints="expected") as tab,
    ):
        await sign_in(tab, here, "not the token at all")
        await tab.sees("gate-title", "The token is wrong.")
        await tab.page.get_by_test_id("token").fill(TOKEN)
        await tab.page.keyboard.press("Enter")
        await tab.sees("freshness", "As of")
        assert TOKEN not in tab.page.url and TOKEN not in str(await tab.page.context.cookies())
        await tab.page.reload()
        await tab.sees("freshness", "As of")
        await tab.press("sign-out")
        await tab.sees("gate-title", "Sign in as the operator")
        await tab.page.reload()
        await tab.sees("gate-title", "Sign in as the operator")


async def test_the_figures_are_updated_without_a_reload(browser: Browser, tmp_path: Path) -> None:
    async with (
        page_world(tmp_path, admin_token=TOKEN, session_cap=5) as here,
        here.browser() as caller,
        tab_in(browser, complaints="expected") as tab,
    ):
        await sign_in(tab, here)
        await tab.sees("tiles", "0 of 5")
        session = here.registry.find((await place_call(caller))["session_id"])
        session.note(TranscriptCompleted("user", "u1", "Hello"))
        here.metrics.turn_measured(TurnMeasured(1, 300, 10, 10, 90, 0, 10, 420, 40))
        here.metrics.thinker_finished("weather", "failed", 1.25)
        await tab.sees("tiles", "1 of 5")
        await tab.sees("sessions", session.id[:8])
        await tab.sees("sessions", "webrtc")
        await tab.sees("tiles", "420 ms")
        await tab.sees("legs", "End of speech confirmed")
        rows = await tab.page.get_by_test_id("admin-thinkers").locator("tbody tr").all_inner_texts()
        assert [row.split("\t") for row in rows] == [["weather", "0", "1", "0", "0", "1250 ms", "1250 ms"]]


async def test_a_second_press_ends_a_call(browser: Browser, tmp_path: Path) -> None:
    async with (
        page_world(tmp_path, admin_token=TOKEN) as here,
        here.browser() as caller,
        tab_in(browser, complaints="expected") as tab,
    ):
        session = here.registry.find((await place_call(caller))["session_id"])
        await sign_in(tab, here)
        end = tab.page.get_by_role("button", name=f"End call {session.id[:8]}")
        await end.focus()
        await tab.page.keyboard.press("Enter")
        assert here.registry.live == 1
        await tab.page.get_by_role("button", name=f"End this call? call {session.id[:8]}").press("Enter")
        await tab.sees("sessions", "operator")
        assert (here.registry.live, session.ended_reason) == (0, "operator")


async def used_by_three() -> Budgets:
    """Return budgets that three callers have used, one of them almost completely."""
    limits = {"user": {"model_tokens": 50_000}, "total": {"model_tokens": 100_000, "usd": 5}}
    prices = {"dear": {"text_in": 10, "text_out": 50}}
    budgets = budgets_over(FakeAsyncRedis(), BudgetSettings.model_validate(limits | {"prices": prices}))
    for number, user in enumerate(("ada", "bob", "cleo"), 1):
        billed = BillingSubject(user, "203.0.113.7", key="shop" if user == "cleo" else "")
        budgets.charge_tokens(billed, "dear", 15_000 * number, 1_000 * number)
        budgets.charge(billed, Counter({Resource.VOICE_SECONDS: 600 * number, Resource.TASKS: number}))
    await budgets.day_counts.flush()
    await budgets.day_counts.rank()
    with suppress(OverBudget):
        await budgets.admit(BillingSubject("cleo"), TURN, Counter({Resource.MODEL_TOKENS: 10_000}))
    return budgets


@pytest.mark.parametrize("scheme", ["dark", "light"])
async def test_budgets_are_drawn_with_the_ceiling_and_the_top_users(
    browser: Browser, tmp_path: Path, scheme: Literal["dark", "light"]
) -> None:
    budgets = await used_by_three()
    async with (
        page_world(tmp_path, admin_token=TOKEN, budgets=budgets) as here,
        tab_in(browser, complaints="expected", scheme=scheme) as tab,
    ):
        here.metrics.on_event(ReplyDiscarded(1, 700, 34))
        await sign_in(tab, here)
        await tab.sees("tiles", "734")
        rows = [await tab.page.get_by_test_id(name).locator("tbody tr").all_inner_texts() for name in TABLES]
        total, top, refused = ([row.split("\t") for row in table] for table in rows)
        assert total[0][:3] == ["Model tokens", "96,000", "100,000"] and total[0][3].strip() == "96 %"
        assert [row[1] for row in total] == ["96,000", "60 min", "6", "0 KB", "$1.20"]
        assert total[4][2] == "$5.00" and total[1][2] == "3,000 min"
        users = [hashlib.sha256(user.encode()).hexdigest()[:8] for user in ("cleo", "bob", "ada")]
        assert [row[1] for row in top if row[0] == "User"] == users, "the top users are not in order"
        assert [row[1:3] for row in top if row[0] == "API key"] == [["shop", "48,000"]]
        assert [row[2] for row in top if row[0] == "Address"] == ["96,000"]
        assert top[0][-1].strip() == "96 %" and refused == [["user: model tokens", "1"]]
        assert await tab.page.evaluate("document.documentElement.scrollWidth") <= 1440
