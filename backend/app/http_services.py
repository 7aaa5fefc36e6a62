"""The edge side: what the HTTP routes are given of the house."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from backend.app.calls import Calls
from backend.app.data_subjects import keepers_of
from backend.app.demo_process import OfflineChild
from backend.app.models import Minds
from backend.app.stores import Kept
from backend.app.tasks import Work
from backend.app.thinkers import Thinking
from backend.chat.chat import Chat
from backend.http.services import Services
from backend.mcp.tokens import Tokens
from backend.observability.call_metrics import Metrics
from backend.sessions.handles import LocalSwitchboard
from backend.settings.settings import Settings
from backend.transports.base import Transport
from backend.transports.websocket import WebSocketTransport

FRONTEND = Path(__file__).parent.parent.parent / "frontend"


def services_of(
    settings: Settings,
    child: OfflineChild | None,
    *,
    kept: Kept,
    minds: Minds,
    thinking: Thinking,
    work: Work,
    calls: Calls,
    chat: Chat,
    doors: Mapping[str, ASGIApp],
    metrics: Metrics,
) -> Services:
    """Everything a route may reach."""
    registry, others = thinking.thinkers.desk.toolbox, thinking.others
    return Services(
        settings=settings,
        directory=calls.directory,
        sessions=calls.fleet or LocalSwitchboard(calls.directory),
        memory=kept.memory,
        chat=chat,
        embedder=minds.embedder,
        accept_offer=calls.accept_offer,
        attach_socket=_attach_socket,
        page_config=lambda: _page_config(settings, kept, thinking, calls),
        readiness=partial(_readiness, kept, child, calls),
        tasks=work.background.board,
        archive=minds.archive,
        keepers=keepers_of(settings, kept, minds, thinking, work, calls, chat),
        frontend=FRONTEND,
        notices=work.teller.waiting,
        seen=work.teller.seen,
        pages=calls.pages,
        reminding=thinking.reminding,
        bearers=Tokens(settings.mcp).bearer,
        coordinating=work.coordinating,
        tools=lambda client: {"tools": registry.described(client), "servers": others.states() if others else {}},
        doors=doors,
        metrics=metrics,
        reasoner=thinking.thinkers.desk.reasoner,
    )


def _attach_socket(socket: WebSocket) -> Transport:
    return WebSocketTransport(socket)


def _page_config(settings: Settings, kept: Kept, thinking: Thinking, calls: Calls) -> dict[str, Any]:
    """What `GET /api/config` tells the page. No secret but what browsers need for TURN."""
    about = calls.line.about
    return {
        "responder": {"name": about["responder"], "model": about["model"], "offline": about["offline"]},
        "memory": {"label": kept.opened.label.partition(" (")[0]},  # without the path of its file
        "ice_servers": [server.model_dump(exclude_none=True) for server in settings.ice_servers],
        "thinkers": [
            {"domain": m.domain, "label": m.label, "description": m.description, "example": m.example}
            for m in thinking.thinkers.manifests
        ],
        "limits": {"session_max_minutes": settings.session_max_minutes},
    }


async def _readiness(kept: Kept, child: OfflineChild | None, calls: Calls) -> dict[str, str]:
    checks = {"memory": "ok" if await kept.memory.ping() else "Redis does not answer; calls go on without memory"}
    if child is not None and not child.running:
        checks["responder"] = "the offline demonstration is not running"
    else:
        checks["responder"] = calls.responder.trouble or "ok"
    if calls.directory.closing:
        checks["calls"] = "no new ones: the server is about to end"
    return checks
