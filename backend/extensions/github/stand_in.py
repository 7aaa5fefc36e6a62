"""A local stand-in for GitHub's REST API for issues (version 2022-11-28), which keeps the requests that it gets.

It checks tokens, divides lists into pages, and refuses missing or wrong fields.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from backend.testing.services.server import Reply, Request, json_reply
from backend.testing.services.services import StandIn

TOKEN = "github-token"
REPO = "octocat/hello-world"
LOGIN = "octocat"
DOCUMENTATION = "https://docs.github.com/rest"


@dataclass
class GitHub:
    """One repository of one user. Its fields may be changed while it serves."""

    now: Callable[[], float] = time.time
    """Unix time in seconds."""
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)

    def opened(self, title: str, body: str = "", **fields: Any) -> dict[str, Any]:
        """Open an issue now, with further `fields`, and return it."""
        number = max(self.issues, default=0) + 1
        self.issues[number] = {
            "id": 10_000 + number,
            "number": number,
            "title": title,
            "body": body,
            "state": "open",
            "state_reason": None,
            "user": {"login": LOGIN, "id": 1, "type": "User"},
            "labels": [],
            "comments": 0,
            "created_at": self._stamp(),
            "updated_at": self._stamp(),
            "closed_at": None,
            "html_url": f"https://github.com/{REPO}/issues/{number}",
            **fields,
        }
        return self.issues[number]

    def commented(self, number: int, body: str, author: str = LOGIN) -> dict[str, Any]:
        """Write a comment now, and return it."""
        said = self.comments.setdefault(number, [])
        id_ = number * 1_000 + len(said) + 1
        said.append(
            {
                "id": id_,
                "body": body,
                "user": {"login": author, "id": 1, "type": "User"},
                "created_at": self._stamp(),
                "updated_at": self._stamp(),
                "html_url": f"https://github.com/{REPO}/issues/{number}#issuecomment-{id_}",
            }
        )
        self.issues[number]["comments"] = len(said)
        return said[-1]

    def answering(self, request: Request) -> Reply:
        """Return GitHub's answer to a request."""
        if request.headers.get("authorization") not in (f"Bearer {TOKEN}", f"token {TOKEN}"):
            return _error(401, "Bad credentials")
        if request.path == "/user":
            return json_reply({"login": LOGIN, "id": 1, "type": "User"})
        path = re.fullmatch(rf"/repos/{REPO}/issues(?:/(\d+)(/comments)?)?", request.path, re.IGNORECASE)
        if path is None:
            return _error(404, "Not Found")
        if path[1] is None:
            return self._create(request) if request.method == "POST" else self._list(request)
        number = int(path[1])
        if number not in self.issues:
            return _error(404, "Not Found")
        return self._said(number, request) if path[2] else self._one(number, request)

    def _one(self, number: int, request: Request) -> Reply:
        issue = self.issues[number]
        if request.method == "PATCH":
            changes = request.json()
            if changes.get("state", "open") not in ("open", "closed"):
                return _invalid("Issue", "state", "invalid")
            issue |= {name: changes[name] for name in ("title", "body", "state", "state_reason") if name in changes}
            issue["closed_at"] = self._stamp() if issue["state"] == "closed" else None
        return json_reply(issue)

    def _create(self, request: Request) -> Reply:
        sent = request.json()
        if not sent.get("title"):
            return _invalid("Issue", "title", "missing_field")
        return json_reply(self.opened(sent["title"], sent.get("body") or ""), 201)

    def _list(self, request: Request) -> Reply:
        wanted = request.query.get("state", "open")
        found = [issue for issue in self.issues.values() if wanted in ("all", issue["state"])]
        found.sort(key=lambda issue: int(issue["number"]), reverse=request.query.get("direction", "desc") == "desc")
        return _page(found, request)

    def _said(self, number: int, request: Request) -> Reply:
        if request.method == "POST":
            sent = request.json()
            if not sent.get("body"):
                return _invalid("IssueComment", "body", "missing_field")
            return json_reply(self.commented(number, sent["body"]), 201)
        since = request.query.get("since", "")
        found = [comment for comment in self.comments.get(number, []) if comment["updated_at"] >= since]
        return _page(found, request)

    def _stamp(self) -> str:
        return datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _page(found: list[dict[str, Any]], request: Request) -> Reply:
    size, page = min(100, int(request.query.get("per_page", "30"))), int(request.query.get("page", "1"))
    return json_reply(found[(page - 1) * size : page * size])


def seeded() -> GitHub:
    """Return a repository with two issues and a comment."""
    hub = GitHub()
    hub.opened("The door squeaks", "It squeaks when it is cold.", labels=[{"name": "bug"}])
    hub.opened("Paint the fence")
    hub.commented(1, "Oil helps.", author="hubot")
    return hub


def _error(status: int, message: str) -> Reply:
    return json_reply({"message": message, "documentation_url": DOCUMENTATION, "status": str(status)}, status)


def _invalid(resource: str, name: str, code: str) -> Reply:
    errors = [{"resource": resource, "field": name, "code": code}]
    return json_reply({"message": "Validation Failed", "errors": errors, "documentation_url": DOCUMENTATION}, 422)


def as_service() -> StandIn:
    """Return the repository of `seeded` as a service, for servers that ask only stand-ins."""
    given = {"github__token": TOKEN, "github__repo": REPO}
    return StandIn("github", seeded().answering, lambda url: {"github__base_url": url, **given})
