"""The GitHub tool against a server that speaks GitHub's protocol, in good health and failing as documented."""

import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from backend.extensions.github import api as github_api
from backend.extensions.github.issue import github_issue
from backend.extensions.github.settings import GitHubSettings
from backend.extensions.github.stand_in import REPO, TOKEN, GitHub
from backend.settings.settings import Settings, load_settings
from backend.testing.services.server import ApiServer, Reply, Request, json_reply, serving, text_reply
from backend.tools.base import Clock
from backend.tools.runner import Toolbox, ToolResult
from tests.support.consent import confirmations, tool_context
from tests.support.troubles import every_trouble

HOUR_S = 3_600
NOON = 1_795_262_400.0  # 2026-11-21 12:00 UTC
Misbehaviour = Callable[[Request], Reply | None]
Call = tuple[str, dict[str, Any]]
LOOKS: list[Call] = [("list", {}), ("view", {"number": 1}), ("list_comments", {"number": 1})]


class Desk:
    """The tool over a stand-in, for a user who speaks turn by turn, ten seconds apart."""

    def __init__(self, hub: GitHub, server: ApiServer, http: httpx2.AsyncClient, settings: Settings) -> None:
        self.hub = hub
        self.server = server
        self.now = NOON
        self.turns = itertools.count()
        hub.now = lambda: self.now
        ours = settings.of(GitHubSettings)
        services = {httpx2.AsyncClient: http, Settings: settings, GitHubSettings: ours, Clock: Clock(lambda: self.now)}
        self.confirmations = confirmations(lambda: self.now)
        declared = github_issue.__tool__  # type: ignore[attr-defined]
        self.box = Toolbox([declared], services, self.confirmations)

    async def run(self, action: str, user: str = "ada", **arguments: Any) -> ToolResult:
        """Make one call in a turn of its own."""
        self.now += 10
        context = tool_context(user, "c1", turn=str(next(self.turns)), client="chat")
        return await self.box.run("github_issue", json.dumps({"action": action, **arguments}), context)

    async def call(self, action: str, **arguments: Any) -> Any:
        """What the model is shown."""
        return json.loads((await self.run(action, **arguments)).content)

    async def say(self, words: str) -> None:
        """A message of the user's."""
        self.now += 10
        await self.confirmations.take_answer("ada", "c1", words, message=str(next(self.turns)))

    async def agreed(self, action: str, **arguments: Any) -> Any:
        """Make a call that needs consent, and again once the user has agreed."""
        assert (await self.call(action, **arguments))["error"]["type"] == "needs_confirmation"
        await self.say("Yes, please.")
        return await self.call(action, **arguments)

    async def trouble(self, action: str, **arguments: Any) -> str:
        """Why a call failed."""
        return str((await self.call(action, **arguments))["error"]["message"])

    def asked(self, method: str) -> list[Request]:
        return [request for request in self.server.requests if request.method == method]


@asynccontextmanager
async def desk(misbehaving: Misbehaviour = lambda request: None, **github: Any) -> AsyncIterator[Desk]:
    """A desk over a hub with two issues; `trouble` comes first."""
    hub = GitHub(now=lambda: NOON - HOUR_S * 24)
    hub.opened("The door squeaks", "It squeaks when it is cold.", labels=[{"name": "bug"}])
    hub.opened("Paint the fence")
    hub.commented(1, "Oil helps.", author="hubot")

    def answering(request: Request) -> Reply:
        return misbehaving(request) or hub.answering(request)

    async with serving(answering) as server, httpx2.AsyncClient(verify=False) as http:
        chosen = {"token": TOKEN, "repo": REPO, "base_url": server.url} | github
        yield Desk(hub, server, http, load_settings(_env_file=None, github=chosen))


async def test_issues_are_listed_newest_first_and_without_pull_requests() -> None:
    async with desk() as d:
        d.hub.opened("Oil the door", pull_request={"url": "…"})
        listed = await d.call("list")
        assert [(each["number"], each["title"]) for each in listed["issues"]] == [
            (2, "Paint the fence"),
            (1, "The door squeaks"),
        ]
        assert listed["issues"][1]["labels"] == ["bug"] and listed["issues"][1]["author"] == "octocat"
        assert "more" not in listed
        assert listed["spoken"] == "The issues: 2, Paint the fence; 1, The door squeaks."
        d.hub.issues[1]["state"] = "closed"
        assert [each["number"] for each in (await d.call("list", state="closed"))["issues"]] == [1]
        assert len((await d.call("list", state="all"))["issues"]) == 2


async def test_the_documented_headers_are_sent() -> None:
    async with desk() as d:
        await d.call("list")
        headers = d.server.requests[0].headers
        assert headers["authorization"] == f"Bearer {TOKEN}"
        assert headers["x-github-api-version"] == "2022-11-28"
        assert headers["accept"] == "application/vnd.github+json"
        assert headers["user-agent"] == "responder-thinker"


async def test_an_issue_is_shown_with_its_text_and_its_source() -> None:
    async with desk() as d:
        shown = await d.call("view", number=1)
        assert shown["spoken"] == "Issue 1, open: The door squeaks. It squeaks when it is cold."
        assert shown["issue"]["text"] == "It squeaks when it is cold." and shown["issue"]["comments"] == 1
        assert shown["citations"] == [{"title": f"{REPO} issue 1", "url": f"https://github.com/{REPO}/issues/1"}]
        d.hub.issues[1] |= {"body": "x" * 5_000, "state": "closed", "state_reason": "not_planned", "user": None}
        shown = await d.call("view", number=1)
        assert len(shown["issue"]["text"]) == 1_500 and shown["issue"]["reason"] == "not_planned"


async def test_the_latest_comments_are_shown_whichever_page_they_are_on() -> None:
    async with desk() as d:
        only = await d.call("list_comments", number=1)
        assert [(each["author"], each["text"]) for each in only["comments"]] == [("hubot", "Oil helps.")]
        assert "earlier_ones" not in only and only["spoken"] == "hubot says: Oil helps."
        for number in range(2, 183):
            d.hub.commented(1, f"Number {number}")
        shown = await d.call("list_comments", number=1, count=3)  # the last page has two
        assert [each["text"] for each in shown["comments"]] == ["Number 180", "Number 181", "Number 182"]
        assert shown["earlier_ones"]
        assert len(d.asked("GET")) == 5


async def test_the_number_of_pages_is_bounded() -> None:
    async with desk() as d:
        for number in range(400):
            d.hub.opened(f"Pull {number}", pull_request={})
        listed = await d.call("list")
        assert (listed["issues"], listed["more"]) == ([], True)
        assert len(d.asked("GET")) == github_api.PAGES_LIMIT


@pytest.mark.document("002", "built-in tools")
@pytest.mark.parametrize(
    ("action", "arguments", "done"),
    [
        ("create", {"title": "The gate is stuck", "text": "Since Monday."}, "created"),
        ("comment", {"number": 1, "text": "Oiled it."}, "commented"),
        ("close", {"number": 1}, "closed"),
    ],
)
async def test_an_act_is_asked_about_first_and_then_done_once(
    action: str, arguments: dict[str, Any], done: str
) -> None:
    async with desk() as d:
        assert (await d.call(action, **arguments))["error"]["type"] == "needs_confirmation"
        assert (await d.call(action, **arguments))["error"]["type"] == "needs_confirmation"
        assert d.server.requests == [], "a repeated call is no answer"
        await d.say("Yes.")
        result = await d.call(action, **arguments)
        assert result[done]["number"] in (1, 3) and result[done]["url"].startswith("https://github.com/")
        assert len(d.asked("POST")) + len(d.asked("PATCH")) == 1
    spoken = {
        "create": "Opened as issue 3.",
        "comment": "Your comment is on issue 1.",
        "close": "I have closed issue 1.",
    }
    assert result["spoken"] == spoken[action]
    issues, said = d.hub.issues, d.hub.comments[1]
    match action:
        case "create":
            assert (issues[3]["title"], issues[3]["body"]) == ("The gate is stuck", "Since Monday.")
        case "comment":
            assert said[-1]["body"] == "Oiled it."
        case "close":
            assert (issues[1]["state"], issues[1]["state_reason"]) == ("closed", "completed")


async def test_looking_needs_no_consent_and_an_unknown_user_can_do_nothing() -> None:
    async with desk() as d:
        for action, more in LOOKS:
            assert (await d.run(action, **more)).error is None
            assert (await d.run(action, "", **more)).error == "not_allowed"
        assert "external" not in d.box.offered()[0].clients


async def test_the_same_text_is_not_posted_twice_within_the_hour() -> None:
    async with desk() as d:
        acts: list[Call] = [
            ("create", {"title": "The gate is stuck", "text": "Since\nMonday."}),
            ("comment", {"number": 1, "text": "Oiled it."}),
        ]
        for action, arguments in acts:
            first, again = await d.agreed(action, **arguments), await d.agreed(action, **arguments)
            assert "not posted again" in again["note"] and "note" not in first
        assert (len(d.hub.issues), len(d.hub.comments[1])) == (3, 2)
        d.now += HOUR_S
        assert "note" not in await d.agreed("comment", number=1, text="Oiled it.")
        assert "note" not in await d.agreed("comment", number=2, text="Oiled it.")


async def test_another_users_text_may_be_posted_again() -> None:
    async with desk() as d:
        d.hub.now = lambda: d.now
        d.hub.commented(1, "Me too.", author="hubot")
        assert "note" not in await d.agreed("comment", number=1, text="Me too.")
        assert len(d.hub.comments[1]) == 3


@pytest.mark.parametrize("action", ["create", "comment", "close"])
async def test_an_act_with_a_lost_answer_is_found_again_and_not_repeated(action: str) -> None:
    acts: dict[str, dict[str, Any]] = {
        "create": {"title": "The gate is stuck"},
        "comment": {"number": 1, "text": "Oiled it."},
        "close": {"number": 1},
    }

    def done_without_a_word(request: Request) -> Reply | None:
        if request.method == "GET":
            return None
        d.hub.answering(request)
        return Reply(breaks_off=True)

    async with desk(done_without_a_word) as d:
        result = await d.agreed(action, **acts[action])
        assert "error" not in result and "note" not in result
        assert len(d.asked("POST")) + len(d.asked("PATCH")) == 1
        assert (len(d.hub.issues), len(d.hub.comments[1])) == {"create": (3, 1), "comment": (2, 2), "close": (2, 1)}[
            action
        ]


@pytest.mark.parametrize("reply", [Reply(breaks_off=True), text_reply("bad gateway", 502), text_reply("<p>")])
async def test_an_act_with_an_unknown_outcome_is_reported_as_unknown(reply: Reply) -> None:
    async with desk(lambda request: reply if request.method == "POST" else None) as d:
        result = await d.agreed("create", title="The gate is stuck")
        assert "may have been posted nevertheless" in result["error"]["message"]
        assert not result["error"]["retryable"]
        assert len(d.asked("POST")) == 1


async def test_looking_is_tried_twice() -> None:
    failures = iter([Reply(breaks_off=True), None, json_reply({}, 503), None])
    async with desk(lambda request: next(failures)) as d:
        assert len((await d.call("list"))["issues"]) == 2
        assert (await d.call("view", number=1))["issue"]["number"] == 1
        assert len(d.server.requests) == 4


async def test_a_silent_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github_api, "LOOK_WITHIN_S", 0.5)
    monkeypatch.setattr(github_api, "RETRY_AFTER_S", 0.0)
    async with desk(lambda request: Reply(delay_s=30.0)) as d:
        result = await d.run("list")
        assert result.retryable and "GitHub does not answer." in result.content
    settings = load_settings(_env_file=None, github={"token": "t", "repo": REPO, "base_url": "http://127.0.0.1:9"})
    async with httpx2.AsyncClient(verify=False) as http:
        d = Desk(d.hub, d.server, http, settings)
        assert await d.trouble("list") == "GitHub cannot be reached."


@every_trouble
async def test_an_unusable_answer_is_an_error_in_plain_words(trouble: Reply, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(github_api, "RETRY_AFTER_S", 0.0)
    async with desk(lambda request: trouble) as d:
        for action, more in LOOKS:
            result = await d.run(action, **more)
            assert (result.error, "broken" in result.content) in (("failed", False), (None, False))
        assert not d.asked("POST")


@pytest.mark.parametrize(
    ("status", "said", "headers", "duration"),
    [
        (403, "", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOON) + HOUR_S)}, "60 minutes"),
        (403, "", {"retry-after": "30"}, "30 seconds"),
        (403, "A secondary rate limit.", {}, "60 seconds"),
        (429, "", {}, "60 seconds"),
    ],
)
async def test_a_rate_limit_is_reported_with_its_duration(
    status: int, said: str, headers: dict[str, str], duration: str
) -> None:
    async with desk(lambda request: json_reply({"message": said}, status, headers=headers)) as d:
        assert await d.trouble("list") == f"GitHub accepts no more requests from us for about {duration}."
        assert len(d.server.requests) == 1  # and is not tried again


@pytest.mark.parametrize(
    ("status", "said", "words"),
    [
        (401, "Bad credentials", "GitHub does not accept our token; the operator has to renew GITHUB__TOKEN."),
        (403, "It is read-only.", "GitHub does not let our token do that. It says: It is read-only."),
        (404, "Not Found", f"There is no issue 2 in {REPO}, or our token may not see it."),
        (410, "It was deleted.", f"That is gone, or turned off: issue 2 in {REPO}. It says: It was deleted."),
        (301, "Moved Permanently", f"The issue 2 in {REPO} has moved to another place."),
    ],
)
async def test_refusals_are_reported_in_plain_words(status: int, said: str, words: str) -> None:
    moved = {"location": "/repositories/2/issues/2"}
    async with desk(lambda request: json_reply({"message": said}, status, headers=moved)) as d:
        assert await d.trouble("view", number=2) == words
        assert len(d.server.requests) == 1  # a redirect is not followed


@pytest.mark.parametrize(
    ("action", "arguments", "message"),
    [
        ("view", {}, "The issue's number is missing. List the issues"),
        ("list_comments", {}, "The issue's number is missing."),
        ("view", {"number": 0}, "number: Input should be greater than or equal to 1"),
        ("list", {"count": 21}, "count: Input should be less than or equal to 20"),
        ("list", {"repo": "evil/repo"}, f"may not be asked for here. There are: {REPO}, "),
        ("list", {"repo": "spoon-knife"}, "may not be asked for here."),
        ("list", {"repo": "../.."}, "may not be asked for here."),
    ],
)
async def test_an_incomplete_call_names_the_missing_argument(
    action: str, arguments: dict[str, Any], message: str
) -> None:
    async with desk(repo=f"{REPO},octocat/spoon-knife,hubot/spoon-knife") as d:
        assert message in await d.trouble(action, **arguments)
        assert d.server.requests == []


async def test_incomplete_acts_are_not_sent() -> None:
    async with desk() as d:
        lacking: list[Call] = [("create", {"title": " "}), ("comment", {"number": 1}), ("close", {})]
        for action, arguments in lacking:
            assert "is missing" in (await d.agreed(action, **arguments))["error"]["message"]
        assert d.server.requests == []


@pytest.mark.parametrize(
    ("github", "asked", "path"),
    [
        ({"repo": f"{REPO}, octocat/other"}, "", REPO),
        ({"repo": f"{REPO}, octocat/other"}, "OTHER", "octocat/other"),
        ({"repo": f"{REPO}, octocat/third"}, "octocat/THIRD", "octocat/third"),
    ],
)
async def test_the_repository_is_one_of_those_allowed(github: dict[str, Any], asked: str, path: str) -> None:
    async with desk(**github) as d:
        await d.call("list", repo=asked)
        assert d.server.requests[0].path == f"/repos/{path}/issues"
