"""Requests that schemathesis makes from the whole OpenAPI document, against a real server: no answer is a 5xx.

A server answers 503 if it is full, a peer is away or a budget is spent, but no server of these tests is in such a
state. `FUZZ_SECONDS` is the time for each caller: eight in `make test-all`, ten minutes in `make fuzz`.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.access.keys import ApiKeys
from tests.support.running_server import RunningServer, running_server

SECONDS = int(os.environ.get("FUZZ_SECONDS", "3"))
ADMIN_TOKEN = "the operator's own token"
SECRET = "s" * 32
GRANTS = dict.fromkeys(("call", "chat", "reason", "embed", "tasks", "notify", "memory", "admin"), True)
STREAMS = r"/events(/|$)"
"""Paths of streams that do not end by themselves; they are asked for in a test of their own."""
SETTINGS = {
    "ACCESS": "open,key",
    "API_KEYS": f"shop:{SECRET}",
    "API_KEY_GRANTS": "shop:" + "+".join(GRANTS),
    "ADMIN_TOKEN": ADMIN_TOKEN,
    "CHAT_TURNS_PER_MINUTE": "0",
    "REASONING__PER_MINUTE": "0",
    "SESSION_CAP": "0",
    **{f"BUDGETS__TOTAL__{name}": "0" for name in ("MODEL_TOKENS", "VOICE_MINUTES", "TASKS", "KEPT_KILOBYTES", "USD")},
}
ODD = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
HEADER = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80).map(str.strip)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS * 3 + 120)]


@pytest.fixture(
    scope="module", params=["1", pytest.param("2", marks=pytest.mark.long)], ids=["one worker", "two workers"]
)
def server(request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    with running_server(None, WORKERS=request.param, **SETTINGS) as running:
        yield running


def cookie_of(server: RunningServer) -> str:
    """The cookie of a new visitor."""
    with httpx2.Client(base_url=server.url, trust_env=False) as visitor:
        visitor.get("/api/me").raise_for_status()
        return f"caller={visitor.cookies['caller']}"


def credentials(caller: str, server: RunningServer) -> list[str]:
    """The credentials of a caller, as header arguments of schemathesis."""
    match caller:
        case "visitor":
            return ["--header", f"Cookie: {cookie_of(server)}"]
        case "program":
            token = ApiKeys({"shop": SECRET}).sign("shop", {"sub": "ada", "grants": GRANTS})
            return ["--header", f"Authorization: Bearer {token}"]
        case "operator":
            return ["--header", f"Authorization: Bearer {ADMIN_TOKEN}"]
        case _:
            return []


@pytest.mark.parametrize("caller", ["stranger", "visitor", "program", "operator"])
def test_no_request_made_from_the_document_is_answered_with_a_5xx(
    caller: str, server: RunningServer, tmp_path: Path
) -> None:
    arguments = ["--max-time", str(SECONDS), "--checks", "not_a_server_error", "--exclude-path-regex", STREAMS]
    quiet = ["--no-color", "--no-shrink", "--warnings", "off", "--generation-database", "none"]
    run = subprocess.run(
        [
            *(Path(sys.executable).parent / "schemathesis", "run", f"{server.url}/api/openapi.json"),
            *(*arguments, *quiet, "--request-timeout", "20", "--continue-on-failure", *credentials(caller, server)),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    sys.stdout.write(run.stdout[run.stdout.rfind("= SUMMARY ") :])  # `make fuzz` shows how many requests were made
    assert run.returncode == 0, run.stdout[-8_000:] + run.stderr[-2_000:]
    log = (server.folder / "stderr.log").read_text()
    assert "unexpected error" not in log
    assert "Traceback" not in log


@settings(
    max_examples=25,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(session=ODD, after=st.one_of(st.integers(), ODD), last=HEADER, token=ODD)
def test_no_request_for_a_stream_is_answered_with_a_5xx(
    server: RunningServer, session: str, after: int | str, last: str, token: str
) -> None:
    with httpx2.Client(base_url=server.url, trust_env=False) as stranger:
        for path in ("/api/me/events", f"/api/events/{quote(session, safe='')}"):
            for levels in ("", "/levels"):
                query = {"after": str(after), "token": token}
                with stranger.stream("GET", path + levels, params=query, headers={"last-event-id": last}) as answer:
                    assert answer.status_code < 500, answer.request.url
