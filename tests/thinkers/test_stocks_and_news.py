"""Stocks and news, from services and as labelled samples."""

import json

import pytest

from backend.settings.settings import load_settings
from backend.testing.services import finnhub
from backend.testing.services.server import serving
from backend.users.profile import load_profile
from tests.support.agents import call
from tests.thinkers.world import world

PRICE = [call("get_stock_price", '{"symbol": "Apple"}')]


@pytest.mark.document("001", "user context")
async def test_the_stocks_thinker_gets_the_watched_tickers() -> None:
    async with world([call("get_stock_price", "{}")], ["Up."], [call("get_stock_price", "{}")], ["Which?"]) as w:
        await w.memory.update_user_context("ada", lambda c: {**c, "preferences": {"watched_tickers": ["AAPL", "SPY"]}})
        await w.ask("stocks", "How are my stocks?")
        shares = json.loads(w.model.requests[-1]["messages"][-1]["content"])["shares"]
        assert [share["symbol"] for share in shares] == ["AAPL", "SPY"]
        assert [share["price"] for share in shares] == [200.0, 500.0], "each sample has its own price"
        await w.ask("stocks", "How are my stocks?", user="bob")
        assert "Ask which company is meant" in w.model.requests[-1]["messages"][-1]["content"]


@pytest.mark.document("001", "user context")
async def test_a_share_in_a_question_is_watched_from_then_on() -> None:
    async with serving(finnhub.answering) as server:
        settings = load_settings(_env_file=None, finnhub_url=server.url, finnhub_api_key=finnhub.KEY)
        async with world(PRICE, ["It fell."], settings=settings) as w:
            await w.ask("stocks", "How is Apple doing?")
            profile = await load_profile(w.memory, "ada")
    assert profile.preferences.watched_tickers == ("AAPL",)
    assert profile.facts == ("Asked about AAPL stock",)
