"""A scripted model for the research Thinker: plans, looks for gaps, reports; and may keep one of them waiting."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from backend.testing.services.server import Reply, Request
from tests.support.chat_api import ended, stream, words

PLAN = json.dumps({"searches": [{"query": "traffic in cities", "sources": ["get_news_headlines"]}]})
REPORT = "Cities that charged for driving have less traffic."
LONG_S = 120.0


@dataclass
class ResearchMind:
    """A handler for `serving`: `asked` tells what was asked of it, in order."""

    holds: str = ""
    """What it does not answer, for two minutes: plan, gaps or report."""
    asked: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        """One request of the chat completions API."""
        kind = _kind(request.json())
        self.asked.append(kind)
        said = {"plan": PLAN, "gaps": '{"searches": []}', "report": REPORT}[kind]
        parts: list[bytes | float] = [*words(said), *ended()]
        return Reply(content_type="text/event-stream", parts=[LONG_S, *parts]) if kind == self.holds else stream(parts)


def _kind(body: dict[str, Any]) -> str:
    system = str(body["messages"][0]["content"])
    if not system.startswith("You plan a search"):
        return "report"
    return "gaps" if "Searches were already made" in system else "plan"
