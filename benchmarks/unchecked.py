"""The server with its checks of strangers switched off: `benchmarks.call_checks` compares with it, nobody else runs it.

Off are: who may (hosts, grants, revoked cookies), how much (budgets, permits, metering), limits of connections and
messages, and the log of refusals. Cookies, origins and bodies are still read, as before there were such checks.
"""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

import backend.app.connections as connections
from backend.access.store import AccessStore
from backend.app.cli import main
from backend.budgets.budgets import Budgets
from backend.budgets.day_counts import DayCounts
from backend.budgets.metered import CallMeter
from backend.budgets.new_users import NewUsers
from backend.budgets.permits import Permits
from backend.budgets.usage import Payer
from backend.http.grants import GrantCheck
from backend.http.hosts import AllowedHosts
from backend.http.refusals import RefusalLog


async def _passed(self: Any, scope: Scope, receive: Receive, send: Send) -> None:
    await self._app(scope, receive, send)


async def _nothing(*_: Any, **__: Any) -> None:
    return


async def _true(*_: Any) -> bool:
    return True


async def _zero(*_: Any) -> int:
    return 0


async def _asleep(*_: Any) -> None:
    await asyncio.Event().wait()


REPLACED: tuple[tuple[object, str, object], ...] = (
    *((middleware, "__call__", _passed) for middleware in (GrantCheck, AllowedHosts, RefusalLog)),
    *((loop, "run", _asleep) for loop in (DayCounts, Permits, NewUsers, CallMeter)),
    (Budgets, "admit", _nothing),
    (Budgets, "admits_new_user", _true),
    (Budgets, "charge", lambda *_: None),
    (Budgets, "excess", lambda *_: None),
    (Payer, "with_address", ()),  # nothing that permits count
    (AccessStore, "epoch", _zero),
    (connections, "HttpProtocol", H11Protocol),
    (connections, "WebSocketProtocol", WebSocketsSansIOProtocol),
)


def switch_off() -> None:
    """Replace every check by nothing."""
    for owner, name, replacement in REPLACED:
        setattr(owner, name, replacement)


if __name__ == "__main__":
    switch_off()
    main()
