"""Consent and scopes from outside: whole servers over HTTP, with a model that does everything to act without a yes.

The model calls the tool in every turn, twice in a turn and with a made-up `confirm`. Two processes share one Redis, and
each turn goes to the other one.
"""

import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from backend.extensions.github.stand_in import REPO, TOKEN, GitHub, seeded
from backend.testing.services.server import Reply, Request, serving
from tests.support import chat_api as api
from tests.support.redis_server import running_redis
from tests.support.running_server import running_server

CREATE = {"action": "create", "title": "The gate is stuck", "text": "Since Monday."}
ROUTE = {"domain": "engineering", "query": "Open an issue that the gate is stuck."}


def stubborn(request: Request) -> Reply:
    """A model that always acts, and acts again when it has to ask first."""
    body = json.loads(request.body)
    offered = {each["function"]["name"] for each in body.get("tools", ())}
    results = list(itertools.takewhile(lambda each: each["role"] != "user", reversed(body["messages"])))
    made = sum(each["role"] == "tool" for each in results)
    if "github_issue" in offered and made < 3:
        arguments = CREATE if made != 1 else CREATE | {"confirm": True}
        return api.stream(
            api.call_pieces(0, f"g{made}", "github_issue", json.dumps(arguments)), api.ended("tool_calls")
        )
    if "route_to_thinker" in offered and made < 2:
        return api.stream(
            api.call_pieces(0, f"r{made}", "route_to_thinker", json.dumps(ROUTE)), api.ended("tool_calls")
        )
    return api.stream(api.words("Shall I open it?"), api.ended())


@dataclass
class Servers:
    """Processes that share one Redis, a GitHub they write to, and a visitor of theirs."""

    urls: list[str]
    hub: GitHub
    cookies: httpx2.Cookies = field(default_factory=httpx2.Cookies)
    turns: Any = field(default_factory=itertools.count)

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        """A request of the visitor's, to the next process."""
        url = self.urls[next(self.turns) % len(self.urls)]
        async with httpx2.AsyncClient(base_url=url, cookies=self.cookies, trust_env=False, timeout=30) as http:
            answer = await http.request(method, path, json=body, headers=headers)
            self.cookies.update(http.cookies)
            return answer

    async def say(self, text: str, **headers: str) -> None:
        """Send a message in the one conversation, and return the answer."""
        answer = await self.ask("POST", "/api/multiturn", {"message": text, "conversation_id": "c1"}, **headers)
        assert answer.status_code == 200, answer.text

    async def open_questions(self) -> list[dict[str, Any]]:
        return list((await self.ask("GET", "/api/confirmations")).json()["confirmations"])

    @property
    def posted(self) -> int:
        return sum(issue["title"] == CREATE["title"] for issue in self.hub.issues.values())


@asynccontextmanager
async def servers(
    count: int = 2, model_of: Callable[[Request], Reply] = stubborn, **more: str
) -> AsyncIterator[Servers]:
    hub = seeded()
    async with AsyncExitStack() as stack:
        redis = stack.enter_context(running_redis())
        model = await stack.enter_async_context(serving(model_of))
        github = await stack.enter_async_context(serving(hub.answering))
        settings = {
            "REDIS_URL": redis.url,
            "SECRET_KEY": "k" * 32,
            "OPENAI_API_KEY": "test-key",
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "GITHUB__TOKEN": TOKEN,
            "GITHUB__REPO": REPO,
            "GITHUB__BASE_URL": github.url,
            "CHAT_TURNS_PER_MINUTE": "0",
            "ROUTER__ABOVE": "0",
            **more,
        }
        yield Servers([stack.enter_context(running_server(None, **settings)).url for _ in range(count)], hub)


async def test_an_issue_is_posted_after_a_yes_to_any_process_and_after_nothing_else() -> None:
    async with servers() as here:
        for words in (
            "Open an issue that the gate is stuck.",
            "No! Do not do that.",
            "Why is the sky blue?",
            "Yes, but change the title.",
            "Once more, please.",
        ):
            await here.say(words)
            assert here.posted == 0, words
            assert [each["tool"] for each in await here.open_questions()] == ["github_issue"]
        await here.say("Yes.")
        assert here.posted == 1
        number = len(here.hub.issues)
        await here.say("Thank you. Why is the sky blue?")
        assert len(here.hub.issues) == number


async def test_a_click_agrees_to_the_shown_call_and_must_be_the_users_own() -> None:
    async with servers() as here:
        await here.say("Open an issue that the gate is stuck.")
        [question] = await here.open_questions()
        assert question["arguments"]["title"] == CREATE["title"]
        assert question["conversation_id"] == "c1"
        path = f"/api/confirmations/{question['id']}"
        somebody = Servers(here.urls, here.hub)
        assert (await somebody.ask("POST", path, {"agreed": True})).status_code == 404
        assert (await somebody.ask("GET", "/api/confirmations")).json() == {"confirmations": []}
        assert (await here.ask("POST", path, {"agreed": "yes"})).status_code == 422
        assert (await here.ask("POST", "/api/confirmations/%C3%A9", {"agreed": True})).status_code == 404
        assert (await here.ask("POST", path, {"agreed": True}, origin="http://evil.example")).status_code == 403
        assert here.posted == 0
        assert (await here.ask("POST", path, {"agreed": True})).json() == {"agreed": True}
        await here.say("Yes.")
        assert here.posted == 1
        assert (await here.ask("POST", path, {"agreed": True})).status_code == 404
        await here.say("And another one.")
        [question] = await here.open_questions()
        refused = await here.ask("POST", f"/api/confirmations/{question['id']}", {"agreed": False})
        assert refused.json() == {"agreed": False}
        assert await here.open_questions() == []


async def test_a_stranger_behind_a_proxy_reaches_public_tools_only() -> None:
    async with servers(1) as here:
        theirs = {"x-forwarded-for": "127.0.0.1"}
        tools = (await here.ask("GET", "/api/tools", **theirs)).json()["tools"]
        assert {each["scope"] for each in tools} == {"anonymous"}
        assert "github_issue" not in {each["name"] for each in tools}
        await here.say("Open an issue that the gate is stuck.", **theirs)
        await here.say("Yes.", **theirs)
        assert here.posted == 0 and await here.open_questions() == []
        names = {each["name"] for each in (await here.ask("GET", "/api/tools")).json()["tools"]}
        assert {"github_issue", "memory", "kb_search"} <= names


async def test_a_tunnel_that_ends_on_this_machine_opens_public_tools_only() -> None:
    async with servers(1, ALLOWED_HOSTS="voice.example") as here:
        tools = (await here.ask("GET", "/api/tools", host="voice.example")).json()["tools"]
        assert {each["scope"] for each in tools} == {"anonymous"}
