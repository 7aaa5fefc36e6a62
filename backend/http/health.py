"""`/healthz` says that the process answers, `/readyz` that it can take a call; `/metrics` is for Prometheus."""

import asyncio
import hmac

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from backend.access.addresses import is_from_here
from backend.access.credentials import bearer
from backend.errors import NotAdmitted, NotFound
from backend.http.context import Here
from backend.runtime.supervisor import failing_loops
from backend.settings.settings import Settings

READY_WITHIN_S = 3
"""Seconds the checks may take together."""

router = APIRouter(tags=["health"])


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answer 200 as long as the event loop runs."""
    return {"status": "ok"}


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz")
async def readyz(response: Response, here: Here) -> dict[str, str | list[str] | dict[str, str]]:
    """Answer 200 when every check is `ok`, else 503; each check says what is wrong.

    The states of providers, tool servers, extensions and restarted loops are shown but do not count: one bad record
    would take all processes out of service. Parts that still load do not count either, since calls wait for them.
    """
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            checks = await here.services.state.readiness()
    except TimeoutError:
        checks = {"readiness": f"no answer within {READY_WITHIN_S} s"}
    ready = all(found == "ok" for found in checks.values())
    response.status_code = 200 if ready else 503
    status = "ready" if ready else "not ready"
    answer: dict[str, str | list[str] | dict[str, str]] = {"status": status, "checks": checks}
    for name, parts in here.services.state.further_states.items():
        answer[name] = {part: state() for part, state in parts.items()}
    shown: dict[str, list[str] | dict[str, str]] = {
        "loading": here.services.state.loading(),
        "responders": here.services.state.responders(),
        "tool_servers": here.services.state.tool_servers(),
        "failing_loops": failing_loops(),
    }
    return answer | {name: found for name, found in shown.items() if found}


@router.get("/metrics")
async def metrics(request: Request, here: Here) -> Response:
    """Return the metrics in Prometheus's text format. They need METRICS_TOKEN, or a caller on this machine."""
    _require_metrics_access(request, here.services.settings)
    own = generate_latest(here.services.state.metrics.registry).decode()
    return Response(await here.services.calls.sessions.metrics(own), media_type=CONTENT_TYPE_LATEST)


def _require_metrics_access(request: Request, settings: Settings) -> None:
    """Raise `NotAdmitted` without the token, or `NotFound` where the metrics are off."""
    if settings.server.metrics_token is not None:
        shown, wanted = bearer(request) or "", settings.server.metrics_token.get_secret_value()
        if not hmac.compare_digest(shown.encode(), wanted.encode()):
            raise NotAdmitted("The metrics require a token.", hint="Send METRICS_TOKEN as `Authorization: Bearer …`.")
    elif not is_from_here(request):
        raise NotFound("The metrics are off.", hint="Set METRICS_TOKEN.")
