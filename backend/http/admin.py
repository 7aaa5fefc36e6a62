"""`/api/admin` shows an operator the live calls and ends them: the bearer of ADMIN_TOKEN, or of the grant `admin`.

It shows no words of callers, and users only as a few characters of a hash: enough to see whether two calls have one
user.
"""

import hashlib
import time

from fastapi import APIRouter

from backend.access.credentials import token_account
from backend.http.context import Caller, Here
from backend.observability.call_metrics import CallMetrics
from backend.observability.security_log import SecurityEvent, security_event
from backend.runtime.json_objects import Json
from backend.sessions.session import SessionDescription
from backend.storage.memory import briefly

BUDGET_WITHIN_S = 1.0
"""Seconds Redis may take to return what all users together have used."""
SHOWN = 200
"""The most sessions in one answer, live ones first."""


router = APIRouter(tags=["admin"])


@router.get("/api/admin/overview")
async def overview(here: Here) -> Json:
    """Show the sessions of all processes, live and recently ended, and this process's medians and faults."""
    services = here.services
    return {
        "at": time.time(),
        "cap": services.settings.limits.session_cap,
        "sessions": [_shown(session) for session in await services.calls.sessions.newest(SHOWN)],
        "turns": services.state.metrics.recent.turns(),
        "thinkers": services.state.metrics.recent.thinkers(),
        "checks": await services.state.readiness(),
        "budget": await briefly(services.people.budgets.total(), {}, within_s=BUDGET_WITHIN_S),
    } | _numbers(services.state.metrics)


@router.delete("/api/admin/sessions/{session_id}")
async def end_session(session_id: str, here: Here, caller: Caller) -> Json:
    """End a call, wherever it lives; the caller hears a goodbye. 404 when there is none."""
    handle = await here.services.calls.sessions.find(session_id)
    await handle.end("operator")
    security_event(SecurityEvent.ADMIN_ACT, caller.principal, "ended a call", session=handle.id)
    return {"ok": True}


@router.delete("/api/admin/tokens/{token_id:path}")
async def void_token(token_id: str, here: Here, caller: Caller) -> Json:
    """Make one token of an API key void, in all processes within five seconds. 503 while memory is out of reach.

    Its id is the id of its key, a dot, and its `jti`; without one, the first 32 hexadecimal digits of its SHA-256.
    """
    await here.services.people.access_store.revoke(token_account(token_id))
    security_event(SecurityEvent.CREDENTIALS_REVOKED, caller.principal, "a token", token=token_id)
    return {"ok": True}


def _numbers(metrics: CallMetrics) -> Json:
    """Return the part of the metrics that the admin page shows."""
    samples = [sample for metric in metrics.registry.collect() for sample in metric.samples]
    named = {sample.name: sample.value for sample in samples if not sample.labels}
    answers = [sample for sample in samples if sample.name == "voice_http_seconds_count"]
    return {
        "ended": {s.labels["reason"]: int(s.value) for s in samples if s.name == "voice_sessions_ended_total"},
        "queues": {s.labels["queue"]: s.value for s in samples if s.name == "voice_queue_depth"},
        "faults": {
            "server_errors": int(sum(s.value for s in answers if s.labels.get("status", "").startswith("5"))),
            "memory_writes_lost": int(named.get("voice_outbox_dropped_total", 0)),
        },
        "discarded": {
            "replies": int(named.get("voice_replies_discarded_total", 0)),
            "tokens": int(sum(s.value for s in samples if s.name == "voice_replies_discarded_tokens_total")),
        },
        "process": {
            "memory_bytes": named.get("process_resident_memory_bytes", 0.0),
            "cpu_s": named.get("process_cpu_seconds_total", 0.0),
            "started_at": named.get("process_start_time_seconds", 0.0),
            "open_files": named.get("process_open_fds", 0.0),
        },
    }


def _shown(session: SessionDescription) -> Json:
    user = hashlib.sha256(session["owner"].encode()).hexdigest()[:8]
    return {name: value for name, value in session.items() if name != "owner"} | {"user": user}
