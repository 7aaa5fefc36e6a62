"""Every response has security headers: errors, files and streams alike.

The page runs only its own files, talks only to its own server, and cannot be framed.
"""

import re
from collections.abc import Callable, Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST = re.compile(r"[A-Za-z0-9._-]+(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?")
"""The shape of a `Host` that may be repeated in a response header."""

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
"""Beginnings of the core's paths with responses that no cache may keep; all other paths are the page's files."""
FOR_OTHER_PAGES = ("/client/", "/embed.js")
"""Beginnings of the paths of scripts that pages of other sites load: the client package and the embed."""
ANY_ORIGIN = {"access-control-allow-origin": "*", "cross-origin-resource-policy": "cross-origin"}
HSTS = {"strict-transport-security": "max-age=31536000"}


def with_headers(send: Send, change: Callable[[MutableHeaders], None]) -> Send:
    """Return a `send` that applies `change` to the headers of the response."""

    async def changed(message: Message) -> None:
        if message["type"] == "http.response.start":
            change(MutableHeaders(scope=message))
        await send(message)

    return changed


class SecurityHeaders:
    """This middleware adds missing headers, and never replaces what a route has set."""

    def __init__(self, app: ASGIApp, private: Iterable[str] = ()) -> None:
        """`private` are beginnings of extensions' paths with responses that no cache may keep."""
        self._app = app
        self._private = tuple(f"{path.rstrip('/')}/" for path in (*PRIVATE, *private))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def secure(headers: MutableHeaders) -> None:
            https = scope["scheme"] == "https"
            policy = content_security_policy(Headers(scope=scope).get("host", ""), https=https)
            caching = "no-store" if f"{scope['path']}/".startswith(self._private) else "no-cache"
            answer = ALWAYS | {"content-security-policy": policy, "cache-control": caching} | (HSTS if https else {})
            if scope["path"].startswith(FOR_OTHER_PAGES):
                answer |= ANY_ORIGIN
            for name, value in answer.items():
                headers.setdefault(name, value)

        await self._app(scope, receive, with_headers(send, secure))


def content_security_policy(host: str, *, https: bool) -> str:
    """Return the policy for a page of `host`. It names the WebSocket, which older browsers do not count as 'self'."""
    socket = f" {'wss' if https else 'ws'}://{host}" if HOST.fullmatch(host) else ""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
        f"connect-src 'self'{socket}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )
