"""The documented JSON of SearXNG, Brave Search and NCBI's E-utilities, for local stand-ins."""

from __future__ import annotations

from typing import Any

from backend.testing.services.server import Reply, Request, json_reply, text_reply

BRAVE_KEY = "brave-key"
PAGES = [
    {"url": "https://a.example/bikes", "title": "Bikes &amp; <strong>cities</strong>", "content": "Lanes <b>work</b>."},
    {"url": "https://a.example/bikes/", "title": "The same page", "content": "Again."},
    {"url": "https://b.example/trams", "title": "Trams", "content": "Trams work too."},
    {"url": "javascript:alert(1)", "title": "Evil", "content": "No."},
]


def searxng(request: Request) -> Reply:
    """Answer as a SearXNG server with its JSON format on."""
    if request.path != "/search" or request.query.get("format") != "json":
        return text_reply("<html>search</html>")
    return json_reply({"query": request.query["q"], "results": PAGES, "answers": [], "suggestions": []})


def brave(request: Request) -> Reply:
    """Answer as Brave's web search."""
    if request.headers.get("x-subscription-token") != BRAVE_KEY:
        return json_reply({"type": "ErrorResponse", "error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}, 422)
    if request.query["q"] == "nothing":
        return json_reply({"type": "search", "query": {"original": "nothing"}})
    results = [{**page, "description": page["content"]} for page in PAGES]
    return json_reply({"type": "search", "web": {"type": "search", "results": results}})


def summary(title: str, **fields: Any) -> dict[str, Any]:
    """Return an article as `esummary` has it."""
    return {
        "title": title,
        "source": "Lancet",
        "pubdate": "2023 Jan 5",
        "authors": [{"name": "Smith J", "authtype": "Author"}, {"name": "Doe A", "authtype": "Author"}],
        "pubtype": ["Journal Article", "Review"],
        **fields,
    }


ABSTRACTS = """<?xml version="1.0"?>
<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID Version="1">11</PMID><Article><Abstract>
<AbstractText Label="BACKGROUND">Colds are <i>common</i>.</AbstractText>
<AbstractText Label="RESULTS">Fewer colds.</AbstractText>
</Abstract></Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"""


def pubmed(request: Request) -> Reply:
    """Answer as NCBI's E-utilities over two articles."""
    match request.path:
        case "/esearch.fcgi":
            ids = [] if "nothing" in request.query["term"] else ["11", "12"]
            return json_reply({"header": {"type": "esearch"}, "esearchresult": {"count": "2", "idlist": ids}})
        case "/esummary.fcgi":
            articles = {"11": summary("Vitamin D and colds."), "12": summary("Zinc.", authors=[], pubdate="2019")}
            return json_reply({"header": {"type": "esummary"}, "result": {"uids": ["11", "12"], **articles}})
        case "/efetch.fcgi":
            return text_reply(ABSTRACTS, content_type="text/xml")
    return json_reply({}, 404)
