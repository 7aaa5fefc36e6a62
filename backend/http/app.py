"""The FastAPI application: thin routes, and the middleware around them in the order in which a request meets it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.routing import Route
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from backend.access.credentials import Credentials, OwnCredential, Signatures, TokenSockets, token_age_s
from backend.access.keys import ApiKeys
from backend.access.rates import Buckets
from backend.access.secret_key import secret_keys
from backend.http import (
    admin,
    calls,
    chat,
    confirmations,
    events,
    health,
    ice_servers,
    me,
    notification,
    page,
    reasoning,
    sessions,
    tasks,
)
from backend.http.admission import GRANTS, Admission, Grants
from backend.http.bodies import BodyLimit
from backend.http.callers import Callers
from backend.http.context import Context
from backend.http.errors import ErrorBoundary, install
from backend.http.headers import SecurityHeaders
from backend.http.openapi import complete_openapi
from backend.http.origins import Origins, allowed_hosts
from backend.http.services import Services
from backend.observability.request_metrics import RequestMetrics

MESSAGES_PER_MINUTE = 60
"""The most typed messages of one session."""
PICTURES_PER_MINUTE = 10
"""The most pictures of one session: each costs about as much as a minute of speech."""
ATTEMPTS_PER_MINUTE = 10
"""The most wrong admin tokens of one address."""
HEARTBEAT_S = 15.0
"""Seconds without an event after which a stream sends a heartbeat."""
AS_THEY_ARE = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/json", "text/plain")
"""Content types that are not compressed: streams of events, and answers that a call may wait for."""

ROUTES = (
    calls,
    ice_servers,
    sessions,
    tasks,
    confirmations,
    me,
    notification,
    admin,
    events,
    health,
    reasoning,
    chat,
    page,
)
"""The routes in order of precedence; the page's files come after them."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The parts that extensions add to the application."""

    routers: Sequence[APIRouter] = ()
    grants: Grants = field(default_factory=dict)
    token_sockets: TokenSockets = field(default_factory=dict)
    credentials: Sequence[OwnCredential] = ()


def build_app(
    services: Services,
    joined: Joined = Joined(),
    *,
    heartbeat_s: float = HEARTBEAT_S,
    now: Callable[[], float] = time.monotonic,
) -> FastAPI:
    """Return the application over `services`. Raises `SettingsError` when there is no key to sign with.

    Run it without the server's own proxy handling and without an access log, which would hold tokens. The application
    reads forwarded headers itself, and only from TRUSTED_PROXIES.
    """
    settings = services.settings
    secrets, keys = secret_keys(settings), ApiKeys.of(settings.access) if "key" in settings.access.access else None
    signatures = Signatures(secrets, token_age_s=token_age_s(settings))
    credentials = Credentials(signatures, services.people.access, keys, joined.credentials)

    def rate(per_minute: int, what: str, name: str) -> Buckets:
        shared = services.people.access_store if settings.server.several_processes else None
        return Buckets(per_minute, what=what, name=name, shared=shared)

    app = FastAPI(
        title="responder-thinker",
        middleware=[  # outermost first
            Middleware(ProxyHeadersMiddleware, trusted_hosts=settings.server.trusted_proxies),
            Middleware(RequestMetrics, registry=services.state.metrics.registry),
            Middleware(SecurityHeaders, private=joined.grants),
            Middleware(GZipMiddleware, compresslevel=6, exclude_content_types=AS_THEY_ARE),
            Middleware(ErrorBoundary),
            Middleware(
                Origins,
                names=allowed_hosts(settings),
                allowed=settings.access.allowed_origins,
                credentials=credentials,
            ),
            Middleware(
                Admission,
                credentials=credentials,
                store=services.people.access_store,
                grants={**GRANTS, **joined.grants},
                visits_count=not settings.access.identify_by_fingerprint,
            ),
            Middleware(BodyLimit),
        ],
        openapi_url="/api/openapi.json",
        docs_url=None,  # FastAPI's page loads scripts from elsewhere, which the page's policy forbids: see `openapi`.
        redoc_url=None,
    )
    app.state.token_sockets = joined.token_sockets
    app.state.context = Context(
        services=services,
        signatures=signatures,
        callers=Callers(secrets[0]),
        offers=rate(settings.limits.offers_per_minute, "new calls", "offers"),
        messages=rate(MESSAGES_PER_MINUTE, "messages", "messages"),
        pictures=rate(PICTURES_PER_MINUTE, "pictures", "pictures"),
        attempts=rate(ATTEMPTS_PER_MINUTE, "wrong tokens", "attempts"),
        turns=rate(settings.limits.chat_turns_per_minute, "messages", "turns"),
        programs=rate(settings.mcp.per_minute, "requests of this token", "mcp"),
        reasoning=rate(settings.agent.reasoning.per_minute, "tasks to reason about", "reasoning"),
        now=now,
        heartbeat_s=heartbeat_s,
    )
    install(app)
    for router in (*(module.router for module in ROUTES), *joined.routers):
        app.router.routes += router.routes  # `include_router` would analyse each of them again.
    for path, endpoint in services.endpoints.items():
        app.router.routes += [Route(path, endpoint), Route(path.rstrip("/"), endpoint)]
    complete_openapi(app)
    page.serve_page(app, services.frontend)
    services.state.metrics.watch_sessions(lambda: services.calls.registry.live)
    return app
