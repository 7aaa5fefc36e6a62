"""LangSmith's batch ingest on loopback: checks what its documentation asks of runs, and keeps them.

async with langsmith() as server:
    ... server.url, server.run("turn 1"), server.children(run)
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from demo.services.server import Reply, Request, json_reply, serving

KEY = "ls-very-secret"
TRACES_OF_A_DELETION = 1_000
RUN_TYPES = {"tool", "chain", "llm", "retriever", "embedding", "prompt", "parser"}
STEP = re.compile(r"(\d{8}T\d{12}Z)([0-9a-f-]{36})")


@dataclass
class LangSmith:
    """The server. `mood` is how it answers: "well", a status, or "hangs"."""

    mood: str | int = "well"
    delay_s: float = 0.0
    url: str = ""
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    batches: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    asked: int = 0
    deletions: int = 0
    """Requests to delete traces so far."""
    deletes_at_once: bool = True

    async def answer(self, request: Request) -> Reply:
        """One request."""
        self.asked += 1
        self.keys.add(request.headers.get("x-api-key", ""))
        if self.mood == "hangs":
            await asyncio.sleep(60)
        if isinstance(self.mood, int):
            return json_reply({"detail": "no"}, self.mood)
        if (request.method, request.path, request.headers.get("x-api-key")) == ("POST", "/api/v1/runs/delete", KEY):
            return self.delete(request.json())
        if (request.method, request.path.partition("?")[0]) == ("GET", "/api/v1/sessions"):
            return json_reply([{"id": "project-1", "name": "of the tests"}])
        if (request.method, request.path) == ("POST", "/api/v1/runs/query"):
            return self.query(request.json())
        if (request.method, request.path) != ("POST", "/runs/batch") or KEY not in self.keys:
            return json_reply({"detail": "not here"}, 404)
        batch = request.json()
        for run in (*batch["post"], *batch["patch"]):
            check_run(run)
        self.batches.append(batch)
        for run in batch["post"]:
            assert run["id"] not in self.runs, "a run is posted once"
            self.runs[run["id"]] = run
        for run in batch["patch"]:
            self.runs.setdefault(run["id"], {}).update(run)
        return json_reply({}, 202, delay_s=self.delay_s)

    def query(self, body: dict[str, Any]) -> Reply:
        """The outermost runs of the project that have the metadata asked for, a hundred at most."""
        assert body["session"] == ["project-1"] and body["is_root"] and body["limit"] <= 100
        matched = re.fullmatch(r'and\(eq\(metadata_key, "(\w+)"\), eq\(metadata_value, "(\w+)"\)\)', body["filter"])
        assert matched
        wanted = {matched[1]: matched[2]}
        found = [
            id_ for id_, run in self.runs.items() if not run["parent_run_id"] and told(run).items() & wanted.items()
        ]
        return json_reply({"runs": [{"id": id_} for id_ in found[: body["limit"]]]})

    def delete(self, body: dict[str, Any]) -> Reply:
        """Traces of which a run has one of the metadata, from `start_time` on; the real one takes until the weekend."""
        self.deletions += 1
        if not self.deletes_at_once:
            return json_reply({}, 202)
        assert set(body) == {"metadata", "start_time"}
        since = datetime.fromisoformat(body["start_time"])
        gone = {
            run["trace_id"]
            for run in self.runs.values()
            if told(run).items() & body["metadata"].items() and datetime.fromisoformat(run["start_time"]) >= since
        }
        gone = set(sorted(gone)[:TRACES_OF_A_DELETION])
        self.runs = {id_: run for id_, run in self.runs.items() if run["trace_id"] not in gone}
        return json_reply({})

    def run(self, name: str) -> dict[str, Any]:
        """The one run of this name."""
        [run] = [run for run in self.runs.values() if run["name"] == name]
        return run

    def over(self, name: str) -> bool:
        """Whether the run of this name is here and has ended."""
        return any(run["name"] == name and "end_time" in run for run in self.runs.values())

    def children(self, run: dict[str, Any]) -> list[dict[str, Any]]:
        """The runs directly within another, as they began."""
        found = [each for each in self.runs.values() if each["parent_run_id"] == run["id"]]
        return sorted(found, key=lambda each: str(each["dotted_order"]))


def check_run(run: dict[str, Any]) -> None:
    """What the API's documentation asks of a run in a batch."""
    steps = run["dotted_order"].split(".")
    matches = [STEP.fullmatch(step) for step in steps]
    assert all(matches), run["dotted_order"]
    ids = [match[2] for match in matches if match]
    assert ids[-1] == run["id"] and ids[0] == run["trace_id"]
    assert run["parent_run_id"] == (ids[-2] if len(ids) > 1 else None)
    assert all(UUID(each).version == 7 for each in ids)
    assert run["run_type"] in RUN_TYPES and run["session_name"] and run["name"]
    began = datetime.fromisoformat(run["start_time"])
    assert f"{began:%Y%m%dT%H%M%S%fZ}" in steps[-1]
    assert "end_time" not in run or datetime.fromisoformat(run["end_time"]) >= began
    assert isinstance(run["inputs"], dict) and isinstance(run.get("outputs", {}), dict)
    assert run["extra"]["metadata"]["session_id"]


def told(run: dict[str, Any]) -> dict[str, Any]:
    """A run's metadata."""
    metadata: dict[str, Any] = run["extra"]["metadata"]
    return metadata


def times(run: dict[str, Any]) -> tuple[datetime, datetime]:
    """When it began and ended."""
    return datetime.fromisoformat(run["start_time"]), datetime.fromisoformat(run["end_time"])


def lasts_within(inner: dict[str, Any], outer: dict[str, Any]) -> bool:
    """Whether one run's time lies in the other's."""
    (begins, ends), (earliest, latest) = times(inner), times(outer)
    return earliest <= begins <= ends <= latest


@asynccontextmanager
async def langsmith(mood: str | int = "well", delay_s: float = 0.0) -> AsyncIterator[LangSmith]:
    """A server on a free port."""
    server = LangSmith(mood, delay_s)
    async with serving(server.answer) as api:
        server.url = api.url
        yield server
