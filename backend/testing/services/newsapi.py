"""NewsAPI's documented JSON, for a local stand-in."""

from typing import Any

from backend.testing.services.server import Reply, Request, json_reply

KEY = "news-key"


def article(title: str, source: str = "Daily", url: str = "https://news.example/1") -> dict[str, Any]:
    """Return one article."""
    return {
        "source": {"id": None, "name": source},
        "author": None,
        "title": title,
        "description": f"About {title}.",
        "url": url,
        "publishedAt": "2026-11-21T08:00:00Z",
        "content": None,
    }


ARTICLES = [
    article("Rocket lands - Daily"),
    article("[Removed]"),
    article("Rocket lands - Daily", url="https://news.example/again"),
    article("Moon base opens", "Weekly", "https://news.example/2"),
    article("Comet seen", "Monthly", "https://news.example/3"),
]


def answering(request: Request) -> Reply:
    """Answer one request, in good health."""
    if request.headers.get("x-api-key") != KEY:
        return json_reply({"status": "error", "code": "apiKeyInvalid", "message": "no"}, 401)
    found = [] if request.query.get("q") == "nothing" else ARTICLES
    return json_reply({"status": "ok", "totalResults": len(found), "articles": found})
