"""The agent of a chat gets the Responder's tool `route_to_thinker`.

Voice and text thus share one implementation of each domain, with its prompt, tools, cache and deadline.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from backend.errors import NoAnswer
from backend.observability.tracing import opened
from backend.thinkers.base import Question
from backend.thinkers.dispatcher import OnChange, ThinkerCall, ThinkerDispatcher
from backend.thinkers.registry import ROUTE_TOOL, Route
from backend.tools.base import Result, Tool, ToolContext, ToolLimits

SLACK_S = 5.0
"""Seconds of the tool's deadline beyond the slowest Thinker's, so that the Thinker reports what took long."""
GUIDANCE = """For everything that needs facts, current data or thought, call {tool} with the fitting domain and the \
whole question; never guess what a specialist would know. Small talk, and what was said in this conversation, you \
answer yourself. The specialists:
{guide}"""
NOTE = "Give this in your own words, briefly; if it is sample data, say so."


class ThinkerRouting:
    """The Thinkers of one typed turn, or of work that a call's model has handed over."""

    def __init__(
        self,
        thinkers: ThinkerDispatcher,
        asked: Question,
        publish: OnChange,
        on_end: Callable[[ThinkerCall], None] = lambda call: None,
        *,
        ids: str = "thinker_",
    ) -> None:
        """`asked` is the question without domain and words, `publish` shows progress, `on_end` gets outcomes.

        The ids of the calls are `ids` with a number.
        """
        self._thinkers = thinkers
        self._asked = asked
        self._publish = publish
        self._on_end = on_end
        self._ids = ids
        self._numbers = itertools.count(1)
        self.domains: list[str] = []
        """The domains that were asked, in order."""

    def tool(self) -> Tool:
        """Return the tool `route_to_thinker` for the agent's toolbox."""
        registry = self._thinkers.registry
        route = registry.route_tool("chat")
        slowest = max(map(self._thinkers.deadline_of, registry.manifests))
        return Tool(
            name=ROUTE_TOOL,
            description=route["description"],
            function=self._ask,
            read_arguments=lambda text: {"route": registry.parse(ROUTE_TOOL, text)},
            parameters=route["parameters"],
            services={"context": ToolContext},
            cache=False,
            always=True,
            guidance=GUIDANCE.format(tool=ROUTE_TOOL, guide=registry.guide()),
            limits=ToolLimits(slowest + SLACK_S),
        )

    async def _ask(self, context: ToolContext, route: Route) -> Result:
        """Ask the Thinker. Raises `NoAnswer`, which the runner reports to the model, if there is none."""
        domain = route.manifest.domain
        call = ThinkerCall(
            f"{self._ids}{next(self._numbers)}",
            replace(self._asked, domain=domain, query=route.query, user_id=context.user_id, rights=context.rights),
            route.manifest.label,
            on_change=self._publish,
            on_end=self._on_end,
            background=route.background,
        )
        self.domains.append(domain)
        with opened("thinker", domain) as span:
            span.asked(route.query)
            await self._thinkers.start(call)
            if (answer := call.answer) is None:
                span.end("failed")
            else:
                span.note(source=answer.source, citations=len(answer.citations))
        self._publish(call.changed("failed" if answer is None else "complete"))
        if answer is None:
            raise NoAnswer(call.error)
        data = {"domain": domain, "answer": answer.text, "source": answer.source}
        if answer.task_id:
            return Result({**data, "task_id": answer.task_id})
        return Result(
            data,
            sample=answer.source == "sample",
            note=NOTE,
            citations=answer.citations,
            untrusted=answer.untrusted,
        )
