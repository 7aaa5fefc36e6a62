"""Current headlines, from NewsAPI: by topic over the last three days, or the top ones of a category.

Documented at newsapi.org/docs: `/everything` and `/top-headlines`.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Literal

from httpx2 import AsyncClient
from pydantic import AfterValidator, AliasPath, BeforeValidator, Field

from backend.citations import Citation
from backend.settings.settings import Settings
from backend.tools.base import OURS, Clock, Result, tool
from backend.tools.fetch import ServiceAnswer, ServiceUnreachable, fetch_answer

SERVICE = "The news service"
WINDOW_DAYS = 3
SAID = 3
"""The most headlines that are spoken."""

Category = Literal["business", "entertainment", "general", "health", "science", "sports", "technology"]


SAMPLES = (
    (
        ("ai", "artificial", "intelligence"),
        ("A language model learns to say it does not know", "Robots take a day off"),
    ),
    (("economy", "business", "inflation", "markets"), ("Prices stay where they were", "A bakery opens a second shop")),
    (("sports", "sport", "football"), ("The home team wins by one point", "A runner finishes a marathon in the rain")),
    (
        ("technology", "tech"),
        ("A telephone lasts for a week on one charge", "An update is installed without a restart"),
    ),
    (("science", "space", "climate"), ("A comet passes at a great distance", "Two kinds of moss are found to be one")),
    (("health", "medicine"), ("A walk a day is still good for you", "A hospital opens its new garden")),
)
"""The words of a topic, and its made-up headlines, which resemble no real event."""


@tool(
    "get_news_headlines",
    "Current news headlines. Give a topic for news about it from the last three days, or a category for its top "
    "headlines; with neither, the top headlines of all.",
    guidance="News: tell the two or three most important items in a sentence each, and name the source of each.",
    clients=OURS | {"copilot"},
    untrusted=True,
    searches="the news",
)
async def get_news_headlines(
    http: AsyncClient,
    settings: Settings,
    clock: Clock,
    topic: Annotated[str | None, Field(max_length=200, description="What the news is about, in a few words.")] = None,
    category: Annotated[Category | None, "Used when there is no topic."] = None,
    count: Annotated[int, Field(ge=1, le=5, description="How many headlines.")] = 3,
) -> Result:
    """Return headlines; empty without news of the topic. Without a key or the service, a labelled sample."""
    if settings.services.newsapi_api_key is None:
        return _sample(topic or category or "general", count, "no NEWSAPI_API_KEY is set.")
    path, params = _request(topic, category, count, clock)
    headers = {"X-Api-Key": settings.services.newsapi_api_key.get_secret_value()}
    try:
        url = settings.services.newsapi_url.rstrip("/") + path
        headlines = _headlines((await fetch_answer(http, SERVICE, url, _Articles, params, headers)).articles)[:count]
    except ServiceUnreachable as error:
        return _sample(topic or category or "general", count, str(error))
    citations = tuple(Citation(one["title"], one["url"]) for one in headlines if one["url"])
    found = {"topic": topic, "category": category, "headlines": headlines}
    return Result(found, citations=citations, empty=not headlines, spoken=_spoken(headlines))


def _request(topic: str | None, category: str | None, count: int, clock: Clock) -> tuple[str, dict[str, str]]:
    wanted = str(count * 3)  # Some are withdrawn or repeated.
    if topic and topic.strip():
        since = (clock.now() - timedelta(days=WINDOW_DAYS)).date().isoformat()
        params = {"q": topic.strip(), "from": since, "sortBy": "relevancy", "language": "en", "pageSize": wanted}
        return "/everything", params
    return "/top-headlines", {"category": category or "general", "country": "us", "pageSize": wanted}


Text = Annotated[str, BeforeValidator(lambda text: "" if text is None else text)]


class _Article(ServiceAnswer):
    title: Text = ""
    source: Text = Field("", validation_alias=AliasPath("source", "name"))
    summary: Annotated[Text, AfterValidator(lambda text: text[:300])] = Field("", alias="description")
    published: Text = Field("", alias="publishedAt")
    url: Text = ""


class _Articles(ServiceAnswer):
    articles: list[_Article]


def _headlines(articles: list[_Article]) -> list[dict[str, str]]:
    """Return the articles in the order given, without withdrawn and repeated ones."""
    headlines: dict[str, dict[str, str]] = {}
    for article in articles:
        title = article.title.removesuffix(f" - {article.source}").strip()
        if title and title != "[Removed]":
            headlines.setdefault(title.casefold(), article.model_dump() | {"title": title})
    return list(headlines.values())


def _sample(about: str, count: int, reason: str) -> Result:
    """Return sample headlines that cannot be mistaken for news."""
    words = set(re.findall(r"[a-z]+", about.lower()))
    known = next((titles for names, titles in SAMPLES if words & set(names)), ())
    titles = [*(f"{title} (sample)" for title in known), *(f"Sample headline {n} about {about}" for n in range(1, 6))]
    headlines = [{"title": title, "source": "sample"} for title in titles[:count]]
    note = f"These are sample headlines, not real news, because {reason[0].lower()}{reason[1:]} Say so to the user."
    return Result({"headlines": headlines}, sample=True, note=note, spoken=_spoken(headlines))


def _spoken(headlines: Sequence[Mapping[str, str]]) -> str:
    """Return the first headlines in spoken words, with their sources."""
    said = [
        f"{each['title'].rstrip('.')}{f', says {source}' if (source := each['source']) != 'sample' else ''}."
        for each in headlines[:SAID]
    ]
    return " ".join(said) or "I found no headlines about that."
