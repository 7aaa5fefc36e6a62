"""The price of a share, from Finnhub (a free key is enough): quote, company profile, usual volume, search by name.

Documented at finnhub.io/docs/api: `/quote`, `/stock/profile2`, `/stock/metric`, `/search`.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from httpx2 import AsyncClient
from pydantic import Field

from backend.citations import Citation
from backend.errors import ToolFailed
from backend.settings.settings import Settings
from backend.tools.base import OURS, Json, Result, tool
from backend.tools.fetch import A, ServiceAnswer, ServiceUnreachable, fetch_answer, refused
from backend.tools.own_profile import OwnProfile
from backend.users.context_update import ContextUpdate

SERVICE = "The stock service"
WATCHED_AT_ONCE = 8
"""The most watched shares that are looked up together: the latest ones."""
TICKER = re.compile(r"[A-Z]{1,5}(?:\.[A-Z]{1,3})?")


SAMPLES = (
    ("AAPL", "Apple", 200, 1),
    ("TSLA", "Tesla", 300, -2),
    ("MSFT", "Microsoft", 400, 1),
    ("GOOGL", "Alphabet (Google)", 150, 2),
    ("NVDA", "Nvidia", 120, -1),
    ("SPY", "SPDR S&P 500 ETF", 500, 1),
)
"""Symbol, name, price in dollars and today's percentage of the samples; every other share has a price of 100."""


@tool(
    "get_stock_price",
    "The latest price of a share and how it moved today. Takes a company's name or a ticker symbol. For several "
    "companies, call it once for each, at the same time; without any, it looks up the shares the user watches.",
    guidance="Stocks: say the company's name, the price, and the change today. Never advise to buy or sell.",
    clients=OURS | {"copilot"},
)
async def get_stock_price(
    http: AsyncClient,
    settings: Settings,
    own: OwnProfile,
    symbol: Annotated[
        str,
        Field(
            max_length=80,
            description="A symbol, e.g. 'AAPL', or a company's name, e.g. 'Apple'; left out for the user's own shares.",
        ),
    ] = "",
) -> Result:
    """Return a price, or a labelled sample without a key or the service. Raises `ToolFailed` for an unknown share."""
    if symbol := symbol.strip():
        return await _price(http, settings, symbol)
    watched = (await own.preferences()).watched_tickers[-WATCHED_AT_ONCE:]
    if not watched:
        raise refused("No share was named, and the user watches none. Ask which company is meant.")
    prices = await asyncio.gather(*(_price(http, settings, each) for each in watched), return_exceptions=True)
    return _together(watched, prices)


def _together(watched: Sequence[str], prices: Sequence[Result | BaseException]) -> Result:
    """Return the prices as one result. Raises the first failure when all have failed."""
    found = [price for price in prices if isinstance(price, Result)]
    failures = {each: price for each, price in zip(watched, prices, strict=True) if isinstance(price, BaseException)}
    for failure in failures.values():
        if not found or not isinstance(failure, ToolFailed):
            raise failure
    notes = dict.fromkeys(price.note for price in found if price.note)
    citations = tuple(dict.fromkeys(citation for price in found for citation in price.citations))
    data: Json = {"shares": [price.data for price in found]}
    if failures:
        data["without_a_price"] = {each: str(failure) for each, failure in failures.items()}
    spoken = " ".join(price.spoken for price in found)
    return Result(data, any(price.sample for price in found), " ".join(notes), citations, spoken=spoken)


async def _price(http: AsyncClient, settings: Settings, symbol: str) -> Result:
    if settings.services.finnhub_api_key is None:
        return _sample(symbol, "no FINNHUB_API_KEY is set.")
    finnhub = _Finnhub(http, settings.services.finnhub_url, settings.services.finnhub_api_key.get_secret_value())
    try:
        return await _look_up(finnhub, symbol)
    except ServiceUnreachable as error:
        return _sample(symbol, str(error))


class _Quote(ServiceAnswer):
    price: float = Field(alias="c")
    change: float | None = Field(None, alias="d")
    percent: float | None = Field(None, alias="dp")
    open: float | None = Field(None, alias="o")
    high: float | None = Field(None, alias="h")
    low: float | None = Field(None, alias="l")
    previous_close: float | None = Field(None, alias="pc")
    traded_at: float | None = Field(None, alias="t")


class _Profile(ServiceAnswer):
    name: str = ""
    currency: str = ""
    exchange: str = ""


class _Averages(ServiceAnswer):
    millions: float | None = Field(None, alias="10DayAverageTradingVolume")


class _Metrics(ServiceAnswer):
    metric: _Averages


class Share(ServiceAnswer):
    """A search result of Finnhub."""

    symbol: str = Field(min_length=1)
    description: str = ""
    type: str = ""


class _Shares(ServiceAnswer):
    result: list[Share]


@dataclass(frozen=True, slots=True, repr=False)
class _Finnhub:
    http: AsyncClient
    url: str
    key: str

    async def quote(self, symbol: str) -> _Quote | None:
        """Return the quote; None for an unknown symbol, for which the service returns zeros."""
        quote = await self.get("/quote", _Quote, symbol=symbol)
        return quote if quote.price else None

    async def profile(self, symbol: str) -> _Profile:
        """Return name, currency and exchange; empty if the key's plan does not cover the market."""
        try:
            return await self.get("/stock/profile2", _Profile, symbol=symbol)
        except ToolFailed:
            return _Profile()

    async def volume(self, symbol: str) -> float | None:
        """Return the usual daily volume in millions of shares; None if it is not known."""
        try:
            return (await self.get("/stock/metric", _Metrics, symbol=symbol, metric="all")).metric.millions
        except ToolFailed:
            return None

    async def get(self, path: str, form: type[A], **params: str) -> A:
        # The key goes into a header, since URLs end up in logs.
        headers = {"X-Finnhub-Token": self.key}
        return await fetch_answer(self.http, SERVICE, self.url.rstrip("/") + path, form, params, headers)


async def _look_up(finnhub: _Finnhub, company: str) -> Result:
    if TICKER.fullmatch(company) and (report := await _reported(finnhub, company, "")):
        return report
    best = best_share((await finnhub.get("/search", _Shares, q=company)).result, company)
    if best is None:
        raise refused(f"No share of {company!r} was found. Ask the user which company is meant.")
    report = await _reported(finnhub, best.symbol, best.description)
    if report is None:
        raise refused(f"There is no price for {best.symbol}.")
    return report


async def _reported(finnhub: _Finnhub, symbol: str, name: str) -> Result | None:
    quote, profile, volume = await asyncio.gather(
        finnhub.quote(symbol), finnhub.profile(symbol), finnhub.volume(symbol)
    )
    return _report(symbol, name, quote, profile, volume) if quote else None


def best_share(found: list[Share], company: str) -> Share | None:
    """Return the likeliest share: with exactly that symbol, or a common stock of a main market, or the first."""

    def rank(one: Share) -> tuple[bool, bool, bool]:
        return one.symbol != company.upper(), one.type != "Common Stock", "." in one.symbol

    return min(found, key=rank, default=None)


def _report(symbol: str, name: str, quote: _Quote, profile: _Profile, volume: float | None) -> Result:
    change, percent = quote.change or 0, quote.percent or 0
    report = {
        "symbol": symbol,
        "company": profile.name or name.title() or symbol,
        "price": round(quote.price, 2),
        "currency": profile.currency or "USD",
        "change": round(change, 2),
        "change_percent": round(percent, 2),
        "direction": "up" if change > 0 else "down" if change < 0 else "unchanged",
        **quote.model_dump(include={"open", "high", "low", "previous_close"}),
    }
    if volume:
        report["average_volume_of_10_days"] = round(volume * 1_000_000)
    if profile.exchange:
        report["exchange"] = profile.exchange
    if quote.traded_at:
        report["as_of"] = datetime.fromtimestamp(quote.traded_at, UTC).isoformat(timespec="minutes")
    return Result(
        report,
        spoken=_spoken(report),
        citations=(Citation("Finnhub", "https://finnhub.io"),),
        update=ContextUpdate(add_watched_tickers=(symbol,)),
    )


def _sample(company: str, reason: str) -> Result:
    """Return made-up numbers that are recognisably round."""
    words = re.findall(r"[\w&]+", company.casefold())
    symbol, name, price, percent = next(
        (one for one in SAMPLES if words and words[0] in re.findall(r"[\w&]+", f"{one[0]} {one[1]}".casefold())),
        (company.upper()[:12], company, 100, 1),
    )
    data = {
        "symbol": symbol,
        "company": name,
        "price": float(price),
        "currency": "USD",
        "change": price * percent / 100,
        "change_percent": float(percent),
        "direction": "up" if percent > 0 else "down",
    }
    note = f"This is a sample, not a real price, because {reason[0].lower()}{reason[1:]} Say so to the user."
    return Result(data, sample=True, note=note, spoken=_spoken(data))


def _spoken(report: Json) -> str:
    """Return a price in spoken words: 'Apple is at 201.50 dollars, down 1.2 percent today.'"""
    currency = "dollars" if report["currency"] == "USD" else report["currency"]
    price = f"{report['price']:.2f}".removesuffix(".00")
    by = f" {abs(report['change_percent']):g} percent" if report["direction"] != "unchanged" else ""
    return f"{report['company']} is at {price} {currency}, {report['direction']}{by} today."
