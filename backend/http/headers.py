"""Security headers go with every answer: errors, files and streams alike.

The page runs nothing but its own files, talks to its own server only, and cannot be framed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = re.compile(r"[A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")
"""A `Host` that may be repeated in a header of ours."""

ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "microphone=(self), camera=(), geolocation=(), payment=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
PRIVATE = (
    "/api/",
    "/embedding",
    "/mcp",
    "/metrics",
    "/mode",
    "/notification",
    "/shared/",
    "/v1/",
)
"""Beginnings of the core's paths with answers that no cache may keep; the others are the page's files."""
FOR_OTHER_PAGES = ("/client/", "/embed.js")
"""Beginnings of the paths of scripts that pages of other sites load: the client package and the embed."""
ANY_ORIGIN = {"access-control-allow-origin": "*", "cross-origin-resource-policy": "cross-origin"}
HSTS = {"strict-transport-security": "max-age=31536000"}


def with_headers(send: Send, change: Callable[[MutableHeaders], None]) -> Send:
    """Return `send` for a middleware that has `change` applied to the headers of the answer."""

    async def changed(message: Message) -> None:
        if message["type"] == "http.response.start":
            change(MutableHeaders(scope=message))
        await send(message)

    return changed


class SecurityHeaders:
    """Middleware: adds what is missing, never replaces what a route has set."""

    def __init__(self, app: ASGIApp, private: Iterable[str] = ()) -> None:
        """`private`: beginnings of the paths of extensions, with answers that no cache may keep either."""
        self._app = app
        self._private = (*PRIVATE, *private)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def secure(headers: MutableHeaders) -> None:
            https = scope["scheme"] == "https"
            policy = content_security_policy(Headers(scope=scope).get("host", ""), https=https)
            caching = "no-store" if scope["path"].startswith(self._private) else "no-cache"
            answer = ALWAYS | {"content-security-policy": policy, "cache-control": caching} | (HSTS if https else {})
            if scope["path"].startswith(FOR_OTHER_PAGES):
                answer |= ANY_ORIGIN
            for name, value in answer.items():
                headers.setdefault(name, value)

        await self._app(scope, receive, with_headers(send, secure))


def content_security_policy(host: str, *, https: bool) -> str:
    """Return the policy for a page of `host`. Older browsers do not count a WebSocket as 'self': it is named, too."""
    socket = f" {'wss' if https else 'ws'}://{host}" if HOST.fullmatch(host) else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
        f"connect-src 'self'{socket}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
