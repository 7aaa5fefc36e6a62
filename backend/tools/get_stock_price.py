"""The price of a share, from Finnhub (a free key is enough): quote, company profile, search by name.

Documented at finnhub.io/docs/api: `/quote`, `/stock/profile2`, `/search`.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from httpx2 import AsyncClient
from pydantic import Field

from backend.errors import ToolFailed
from backend.settings.settings import Settings
from backend.tools.base import OURS, Result, tool
from backend.tools.fetch import A, ServiceAnswer, ServiceUnreachable, fetch_answer, refused

SERVICE = "The stock service"
TICKER = re.compile(r"[A-Z]{1,5}(?:\.[A-Z]{1,3})?")


@tool(
    "get_stock_price",
    "The latest price of a share and how it moved today. Takes a company's name or a ticker symbol. For several "
    "companies, call it once for each, at the same time.",
    guidance="Stocks: say the company's name, the price, and the change today. Never advise to buy or sell.",
    clients=OURS | {"copilot"},
)
async def get_stock_price(
    http: AsyncClient,
    settings: Settings,
    company: Annotated[
        str, Field(min_length=1, max_length=80, description="A company's name, e.g. 'Apple', or a symbol, e.g. 'AAPL'.")
    ],
) -> Result:
    """Return a labelled sample without a key or a service. Raise `ToolFailed` when there is no such share."""
    if settings.finnhub_api_key is None:
        return _sample(company, "no FINNHUB_API_KEY is set.")
    finnhub = _Finnhub(http, settings.finnhub_url, settings.finnhub_api_key.get_secret_value())
    try:
        return await _look_up(finnhub, company.strip())
    except ServiceUnreachable as error:
        return _sample(company, str(error))


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
        """Return the quote; None for a symbol the service does not know, which it answers with zeros."""
        quote = await self.get("/quote", _Quote, symbol=symbol)
        return quote if quote.price else None

    async def profile(self, symbol: str) -> _Profile:
        """Return name, currency and exchange; empty where the key's plan does not cover the market."""
        try:
            return await self.get("/stock/profile2", _Profile, symbol=symbol)
        except ToolFailed:
            return _Profile()

    async def get(self, path: str, form: type[A], **params: str) -> A:
        # the key goes in a header: addresses end up in logs
        headers = {"X-Finnhub-Token": self.key}
        return await fetch_answer(self.http, SERVICE, self.url.rstrip("/") + path, form, params, headers)


async def _look_up(finnhub: _Finnhub, company: str) -> Result:
    if TICKER.fullmatch(company):
        quote, profile = await asyncio.gather(finnhub.quote(company), finnhub.profile(company))
        if quote:
            return _report(company, "", quote, profile)
    best = best_share((await finnhub.get("/search", _Shares, q=company)).result, company)
    if best is None:
        raise refused(f"No share of {company!r} was found. Ask the user which company is meant.")
    quote, profile = await asyncio.gather(finnhub.quote(best.symbol), finnhub.profile(best.symbol))
    if quote is None:
        raise refused(f"There is no price for {best.symbol}.")
    return _report(best.symbol, best.description, quote, profile)


def best_share(found: list[Share], company: str) -> Share | None:
    """Return the share most likely meant: that very symbol, else a common stock of a main market, else the first."""

    def rank(one: Share) -> tuple[bool, bool, bool]:
        return one.symbol != company.upper(), one.type != "Common Stock", "." in one.symbol

    return min(found, key=rank, default=None)


def _report(symbol: str, name: str, quote: _Quote, profile: _Profile) -> Result:
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
    if profile.exchange:
        report["exchange"] = profile.exchange
    if quote.traded_at:
        report["as_of"] = datetime.fromtimestamp(quote.traded_at, UTC).isoformat(timespec="minutes")
    return Result(report, citations=("Finnhub (https://finnhub.io)",))


def _sample(company: str, reason: str) -> Result:
    """Return made-up numbers, round enough to be recognised as such."""
    data = {
        "symbol": company.upper()[:12],
        "company": company,
        "price": 100.0,
        "currency": "USD",
        "change": 1.0,
        "change_percent": 1.0,
        "direction": "up",
    }
    note = f"This is a sample, not a real price, because {reason[0].lower()}{reason[1:]} Say so to the user."
    return Result(data, sample=True, note=note)
