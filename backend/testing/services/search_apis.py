"""The documented JSON of SearXNG and Brave Search, for local stand-ins."""

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
