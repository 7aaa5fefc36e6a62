"""The stock tool against a server that speaks Finnhub's JSON, and against one that does not."""

import httpx2
import pytest

from backend.errors import ToolFailed
from backend.settings.settings import Settings, load_settings
from backend.testing.memory import FakeMemory
from backend.testing.services import finnhub
from backend.testing.services.server import ApiServer, Handler, Reply, json_reply, serving, text_reply
from backend.tools.base import Result
from backend.tools.get_stock_price import Share, best_share, get_stock_price
from backend.tools.own_profile import OwnProfile
from backend.users.profile_updates import WatchTicker, update_profile

STRANGER = OwnProfile("", None)


def settings(url: str, key: str | None = finnhub.KEY) -> Settings:
    return load_settings(_env_file=None, finnhub_url=url, finnhub_api_key=key)


async def price(company: str, handler: Handler = finnhub.answering, key: str | None = finnhub.KEY) -> Result:
    return (await asked(company, handler, key))[0]


async def asked(company: str, handler: Handler, key: str | None = finnhub.KEY) -> tuple[Result, ApiServer]:
    async with serving(handler) as server, httpx2.AsyncClient(verify=False) as http:
        return await get_stock_price(http, settings(server.url, key), STRANGER, company), server


@pytest.mark.document("001", "tools and samples")
async def test_a_price_comes_with_its_movement_and_its_company() -> None:
    result = await price("AAPL")
    assert result.data == {
        "symbol": "AAPL",
        "company": "Apple Inc",
        "price": 261.74,
        "currency": "USD",
        "change": -2.5,
        "change_percent": -0.95,
        "direction": "down",
        "open": 261.07,
        "high": 263.31,
        "low": 260.68,
        "previous_close": 264.24,
        "average_volume_of_10_days": 45_727_310,
        "exchange": "NASDAQ NMS - GLOBAL MARKET",
        "as_of": "2026-11-20T18:40+00:00",
    }
    assert not result.sample
    assert result.spoken == "Apple Inc is at 261.74 dollars, down 0.95 percent today."


@pytest.mark.document("001", "tools and samples")
@pytest.mark.parametrize("name", ["Apple", "apple inc", "APPLE"])
async def test_a_name_finds_its_common_stock(name: str) -> None:
    assert (await price(name)).data["symbol"] == "AAPL"


def test_an_exact_symbol_comes_first() -> None:
    found = [Share(symbol="F", type="Common Stock"), Share(symbol="FORD.L", type="ETP")]
    assert best_share(found, "ford.l") == found[1]
    assert best_share([], "x") is None


async def test_an_unknown_company_is_an_error_and_nothing_is_made_up() -> None:
    with pytest.raises(ToolFailed, match="No share") as caught:
        await price("Atlantis Shipping")
    assert not caught.value.retryable


async def test_a_company_without_a_price_is_an_error() -> None:
    found = [{"symbol": "GONE", "description": "GONE INC", "type": "Common Stock"}]

    def handler(request: object) -> Reply:
        if getattr(request, "path", "") == "/search":
            return json_reply({"count": 1, "result": found})
        return json_reply(finnhub.NO_QUOTE)

    with pytest.raises(ToolFailed, match="no price"):
        await price("Gone", handler)


async def test_a_profile_outside_of_the_plan_costs_the_profile_only() -> None:
    def handler(request: object) -> Reply:
        if getattr(request, "path", "") == "/stock/profile2":
            return json_reply({"error": "You don't have access to this resource."}, 403)
        return json_reply(finnhub.QUOTE)

    assert (await price("AAPL", handler)).data["company"] == "AAPL"


@pytest.mark.document("001", "tools and samples")
async def test_without_a_key_there_is_a_labelled_sample_and_no_request() -> None:
    result, server = await asked("Apple", finnhub.answering, key=None)
    assert result.sample
    assert "FINNHUB_API_KEY" in result.note
    assert server.requests == []


@pytest.mark.parametrize(
    ("named", "symbol"),
    [
        ("Apple", "AAPL"),
        ("apple inc", "AAPL"),
        ("GOOGL", "GOOGL"),
        ("Google", "GOOGL"),
        ("T", "T"),
        ("F", "F"),
        ("?", "?"),
    ],
)
async def test_a_sample_is_for_the_named_share(named: str, symbol: str) -> None:
    assert (await price(named, key=None)).data["symbol"] == symbol


async def test_watched_shares_without_a_price_are_named() -> None:
    memory = FakeMemory()
    await update_profile(memory, "ada", WatchTicker("AAPL"), WatchTicker("ZZZ"))
    async with serving(finnhub.answering) as server, httpx2.AsyncClient(verify=False) as http:
        own = OwnProfile("ada", memory)
        result = await get_stock_price(http, settings(server.url), own)
        assert [share["symbol"] for share in result.data["shares"]] == ["AAPL"]
        assert result.spoken == "Apple Inc is at 261.74 dollars, down 0.95 percent today."
        assert list(result.data["without_a_price"]) == ["ZZZ"] and own.used
        await update_profile(memory, "ada", WatchTicker("AAPL", watched=False))
        with pytest.raises(ToolFailed, match="ZZZ"):
            await get_stock_price(http, settings(server.url), own)


QUOTES = ['{"c": 1e999}', '{"c": 5, "dp": "high"}', '{"c": NaN}', '{"c": null}']


@pytest.mark.parametrize("reply", [Reply(503), *map(text_reply, QUOTES)])
async def test_a_failing_service_gives_a_labelled_sample(reply: Reply) -> None:
    result, server = await asked("AAPL", lambda request: reply)
    assert result.sample and "sample" in result.note and "as_of" not in result.data
    assert finnhub.KEY not in str(server.requests[0].query), "the key travels in a header only"
