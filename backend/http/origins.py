"""Requests are accepted only for known host names, and from allowed web pages.

A page of `evil.example` can make its own name resolve to this machine (DNS rebinding); the browser then takes this
server for the page's own. So a `Host` is refused unless it is a name of loopback, the address at which the connection
arrived, or configured by the operator.

Pages may call from the server's own origin, and from those the operator names in ALLOWED_ORIGINS.

A browser names the page in `Origin`. A foreign origin is refused wherever something could change or is private.
Programs send no `Origin` and are let through: cookies and tokens decide about them. An allowed page on another site has
no cookie (`SameSite=Lax`), and shows the session's token instead.

A token of an API key may claim an `origin`: only pages of that origin may then use it. A preflight shows no token, so
it is allowed wherever tokens of keys are accepted; it opens nothing by itself. An extension's own credential
(`OwnCredential`) is accepted from pages of every origin, or of the one that it names.
"""

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from backend.access.credentials import Credentials, token_socket
from backend.errors import Forbidden, Misdirected, NotAdmitted
from backend.http.admission import identity_in
from backend.http.errors import refuse
from backend.http.headers import with_headers
from backend.settings.settings import Settings

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
HOST = "Use the server's own address. The operator can allow this one in ALLOWED_HOSTS."
PAGE = "Open this server's own page. The operator can add the origin to ALLOWED_ORIGINS."
PREFLIGHT_HEADERS = {
    "access-control-allow-methods": "GET, POST, PATCH, DELETE",
    "access-control-allow-headers": "Authorization, Content-Type, Last-Event-ID, X-OpenAI-Agents-SDK",
    "access-control-max-age": "600",
}


class Origins:
    """This middleware refuses foreign host names (421) and origins (403), and answers CORS for the allowed ones."""

    def __init__(self, app: ASGIApp, names: Iterable[str], allowed: Iterable[str], credentials: Credentials) -> None:
        """`names` are the host names, and `allowed` the origins, that the operator has configured."""
        self._app = app
        self._names = frozenset(names) | LOOPBACK_NAMES
        self._endings = tuple(name[1:] for name in self._names if name.startswith("*."))
        self._allowed = frozenset(allowed)
        self._credentials = credentials

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        origin = Headers(scope=scope).get("origin")
        if not self._is_ours(scope):
            await refuse(Misdirected("This server does not answer to this host name.", hint=HOST), scope, receive, send)
        elif origin is None:
            await self._app(scope, receive, send)
        elif origin in self._allowed:
            await self._shared(origin, scope, receive, send)
        elif same_host(origin, Headers(scope=scope).get("host", "")) or not _guarded(scope):
            await self._app(scope, receive, send)
        elif self._shows_own(scope) or (self._credentials.keys is not None and self._claimed(origin, scope)):
            await self._shared(origin, scope, receive, send, with_cookies=False)
        else:
            await refuse(Forbidden("Pages of this origin may not use this server.", hint=PAGE), scope, receive, send)

    def _is_ours(self, scope: Scope) -> bool:
        """Return whether the request is addressed to a name of the server, or to the address at which it arrived."""
        if "*" in self._names:
            return True
        own, _ = scope.get("server") or ("", None)
        named = Headers(scope=scope).getlist("host")
        host = host_name(named[0]) if len(named) == 1 else ""
        return bool(host) and (host in self._names or host == own or host.endswith(self._endings))

    def _shows_own(self, scope: Scope) -> bool:
        """Return whether the request shows an extension's credential, or is a preflight for one."""
        connection = HTTPConnection(scope)
        preflight = scope["type"] == "http" and scope["method"] == "OPTIONS"
        if preflight and "access-control-request-method" in connection.headers:
            return any(own.is_at(scope["path"]) for own in self._credentials.own)
        return any(own.is_shown(connection) for own in self._credentials.own)

    def _claimed(self, origin: str, scope: Scope) -> bool:
        """Return whether the request's token is for pages of `origin`, or the token can still follow."""
        headers = Headers(scope=scope)
        if scope["type"] == "websocket":  # The first message is the session's token.
            scope.setdefault("state", {})["foreign"] = True
            if not token_socket(scope):
                return scope["path"].startswith("/ws/") and "cookie" not in headers
            return self._is_claimed(origin, scope)
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            return True
        return "authorization" in headers and self._is_claimed(origin, scope)

    def _is_claimed(self, origin: str, scope: Scope) -> bool:
        try:
            return identity_in(scope, self._credentials).origin == origin
        except NotAdmitted:
            return False

    async def _shared(
        self, origin: str, scope: Scope, receive: Receive, send: Send, *, with_cookies: bool = True
    ) -> None:
        def share(headers: MutableHeaders) -> None:
            headers["access-control-allow-origin"] = origin
            if with_cookies:
                headers["access-control-allow-credentials"] = "true"
            headers["cross-origin-resource-policy"] = "cross-origin"
            headers["access-control-expose-headers"] = "Retry-After, Location"
            headers.add_vary_header("Origin")

        send = with_headers(send, share)
        asked = Headers(scope=scope).get("access-control-request-method")
        # This is how Fetch defines a preflight.
        if scope["type"] == "http" and scope["method"] == "OPTIONS" and asked is not None:
            await Response(status_code=204, headers=PREFLIGHT_HEADERS)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def host_name(host: str) -> str:
    """Return the name or address in a `Host` header without its port; empty if it is not valid."""
    try:
        return (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def allowed_hosts(settings: Settings) -> set[str]:
    """Return the names that the operator has configured."""
    origins = {urlsplit(origin).hostname or "" for origin in settings.access.allowed_origins}
    return {*settings.server.allowed_hosts, settings.rtc.rtc_force_host or "", *origins} - {""}


def same_host(origin: str, host: str) -> bool:
    """Return whether `host` (a `Host` header) is the host of `origin`. Schemes may differ: a proxy may end TLS."""
    try:
        page = urlsplit(origin)
        asked = urlsplit(f"//{host}")
        default = {"http": 80, "https": 443}[page.scheme]
        return bool(page.hostname) and (page.hostname, page.port or default) == (asked.hostname, asked.port or default)
    except (ValueError, KeyError):
        return False


def _guarded(scope: Scope) -> bool:
    reads = scope["type"] != "websocket" and scope["method"] in ("GET", "HEAD")
    return not reads or scope["path"].startswith("/api/")
