"""The JSON log lines of one turn, over two real processes: a server's call and the worker that goes on with it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.support.offline_peer import offline_peer
from tests.support.redis_server import running_redis
from tests.support.running_server import placed_call, running_server
from tests.support.waiting import until
from tests.support.workers import running_worker

ASKED = "Research electric cars in the background"


def lines_in(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


async def test_the_lines_of_one_turn_are_joined_by_its_ids_across_processes(tmp_path: Path) -> None:
    async with offline_peer() as peer:
        with ExitStack() as stack:
            redis = stack.enter_context(running_redis())
            shared = {"REDIS_URL": redis.url, "LOG_FORMAT": "json", "LOG_LEVEL": "info"}
            worked = tmp_path / "worker.log"
            stack.enter_context(running_worker(peer, log=worked, **shared))
            server = stack.enter_context(running_server(peer, BACKGROUND__WORKER="off", **shared))
            async with placed_call(server, transport="ws") as call:
                path, token = f"/api/sessions/{call.ticket.session_id}/messages", call.ticket.token
                headers = {"Authorization": f"Bearer {token}", "X-Request-ID": "from-the-proxy"}
                answer = await call.http.post(path, json={"text": ASKED}, headers=headers)
                assert answer.headers["x-request-id"] == "from-the-proxy"
                await call.told("thinker", event="complete", within_s=20)
                await until(lambda: "thinker_end" in worked.read_text(), 30)
            lines = lines_in(server.folder / "stderr.log")
            theirs = lines_in(worked)
    [handed] = [line for line in lines if line["message"].startswith("handed to the background: task ")]
    assert handed["session"] == call.ticket.session_id and handed["turn"] >= 1
    assert handed["process"] == "server"
    task = handed["message"].removeprefix("handed to the background: task ")
    of_the_task = [line["message"].split(":")[0] for line in theirs if line.get("task") == task]
    assert {"thinker_start", "thinker_end"} <= set(of_the_task)
    assert {line["process"] for line in theirs} == {"worker"}
    assert {line["conversation"] for line in theirs if line.get("task") == task} == {handed["conversation"]}
    assert all("Research electric" not in json.dumps(line) for line in [*lines, *theirs])
