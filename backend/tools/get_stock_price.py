"""A share's price now, from Finnhub (a free key does): quote, company profile, search by name.

Documented at finnhub.io/docs/api: `/quote`, `/stock/profile2`, `/search`.
"""

from __future__ import annotations

import asyncio
import math
import re
from datetime import UTC, datetime
from typing import Annotated

from httpx2 import AsyncClient
from pydantic import Field

from backend.errors import ToolFailed
from backend.settings.settings import Settings
from backend.tools.base import OURS, Json, Result, tool
from backend.tools.fetch import ServiceUnreachable, fetch_json, refused

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
    """Raises `ToolFailed` when there is no such share. Without a key, or a service, gives a labelled sample."""
    if settings.finnhub_api_key is None:
        return _sample(company, "no FINNHUB_API_KEY is set.")
    finnhub = _Finnhub(http, settings.finnhub_url, settings.finnhub_api_key.get_secret_value())
    try:
        return Result(await _look_up(finnhub, company.strip()), citations=("Finnhub (https://finnhub.io)",))
    except ServiceUnreachable as error:
        return _sample(company, str(error))


class _Finnhub:
    """The three requests, each answer checked for its documented form."""

    def __init__(self, http: AsyncClient, url: str, key: str) -> None:
        self._http = http
        self._url = url.rstrip("/")
        self._key = key

    async def quote(self, symbol: str) -> Json | None:
        """The quote; None for a symbol the service does not know (it answers with zeros)."""
        quote = await self._get("/quote", symbol=symbol)
        numbers = [quote.get("c"), quote.get("d") or 0, quote.get("dp") or 0]
        if not all(isinstance(one, (int, float)) and math.isfinite(one) for one in numbers):
            raise ServiceUnreachable(f"{SERVICE} answers with a quote we cannot read.")
        return quote if quote["c"] else None

    async def profile(self, symbol: str) -> Json:
        """Name, currency, exchange; empty where the key's plan does not cover the market."""
        try:
            return await self._get("/stock/profile2", symbol=symbol)
        except ToolFailed:
            return {}

    async def search(self, name: str) -> list[Json]:
        """Symbols whose company's name fits, best first."""
        found = (await self._get("/search", q=name)).get("result")
        if not isinstance(found, list) or not all(isinstance(one, dict) and one.get("symbol") for one in found):
            raise ServiceUnreachable(f"{SERVICE} answers with a list we cannot read.")
        return found

    async def _get(self, path: str, **params: str) -> Json:
        # the key goes in a header: addresses end up in logs
        answer = await fetch_json(self._http, SERVICE, self._url + path, params, {"X-Finnhub-Token": self._key})
        if not isinstance(answer, dict):
            raise ServiceUnreachable(f"{SERVICE} answers with something we cannot read.")
        return answer


async def _look_up(finnhub: _Finnhub, company: str) -> Json:
    """The report on the share meant by `company`."""
    if TICKER.fullmatch(company):
        quote, profile = await asyncio.gather(finnhub.quote(company), finnhub.profile(company))
        if quote:
            return _report(company, "", quote, profile)
    best = best_symbol(await finnhub.search(company), company)
    if best is None:
        raise refused(f"No share of {company!r} was found. Ask the user which company is meant.")
    symbol = str(best["symbol"])
    quote, profile = await asyncio.gather(finnhub.quote(symbol), finnhub.profile(symbol))
    if quote is None:
        raise refused(f"There is no price for {symbol}.")
    return _report(symbol, str(best.get("description", "")), quote, profile)


def best_symbol(found: list[Json], company: str) -> Json | None:
    """The share most likely meant: that very symbol, else a common stock of a main market, else the first."""

    def rank(one: Json) -> tuple[bool, bool, bool]:
        symbol = str(one["symbol"])
        return symbol != company.upper(), one.get("type") != "Common Stock", "." in symbol

    return min(found, key=rank, default=None)


def _report(symbol: str, name: str, quote: Json, profile: Json) -> Json:
    change, percent = quote.get("d") or 0, quote.get("dp") or 0
    report = {
        "symbol": symbol,
        "company": profile.get("name") or name.title() or symbol,
        "price": round(quote["c"], 2),
        "currency": profile.get("currency") or "USD",
        "change": round(change, 2),
        "change_percent": round(percent, 2),
        "direction": "up" if change > 0 else "down" if change < 0 else "unchanged",
        "open": quote.get("o"),
        "high": quote.get("h"),
        "low": quote.get("l"),
        "previous_close": quote.get("pc"),
    }
    if exchange := profile.get("exchange"):
        report["exchange"] = exchange
    if isinstance(traded_at := quote.get("t"), (int, float)) and traded_at:
        report["as_of"] = datetime.fromtimestamp(traded_at, UTC).isoformat(timespec="minutes")
    return report


def _sample(company: str, reason: str) -> Result:
    """Made-up numbers, round enough to look it."""
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
