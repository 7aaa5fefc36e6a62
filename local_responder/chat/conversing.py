"""A conversation by text: where a specialist can be asked, the rules are those of the spoken demonstration.

It keeps nothing between requests: what was asked before stands in the messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from local_responder.dialogue import wording
from local_responder.dialogue.intents import Question, Talk, understand
from local_responder.dialogue.remembering import Said, remembered
from local_responder.dialogue.routing import Routing, routing_of

Call = tuple[str, str]
"""A tool's name and its arguments as JSON."""


def converse(said: Sequence[Said], known: str, tools: Sequence[Mapping[str, Any]]) -> str | Call | None:
    """Words, or a call of the tool that asks a specialist; None when none of the tools does.

    `said` is the whole conversation, the question last; `known` is what the instructions tell.
    """
    routing = routing_of([tool for tool in tools if str(tool.get("name")).startswith("route_")])
    if routing is None or not said:
        return None
    question, before = said[-1][1], said[:-1]
    if (answer := remembered(question, before, known)) is not None:
        return answer
    wish = _agreed(understand(question, routing.domains, last_domain=_last_domain(before, routing)), before, routing)
    if isinstance(wish, Question):
        return routing.name, routing.arguments(wish)
    turn = sum(role == "user" for role, _ in said)
    return wording.talk(wish, turn=turn, now=datetime.now(), last_said=_last(before, "assistant"))


def _last_domain(before: Sequence[Said], routing: Routing) -> str | None:
    """Of the question before, for "and in Paris?"."""
    wish = understand(_last(before, "user"), routing.domains)
    return wish.domain if isinstance(wish, Question) else None


def _agreed(wish: Talk | Question, before: Sequence[Said], routing: Routing) -> Talk | Question:
    """A yes to what was asked is the wish itself once more."""
    if wish is not Talk.YES or wording.YES_OR_NO not in _last(before, "assistant"):
        return wish
    asked = understand(_last(before, "user"), routing.domains)
    return Question(asked.domain, wording.consent(asked.query)) if isinstance(asked, Question) else wish


def _last(said: Sequence[Said], wanted: str) -> str:
    return next((text for role, text in reversed(said) if role == wanted and text.strip()), "")
