"""WebSockets of clients that show their token in the address, as `?token=…`: a page cannot choose the headers.

A browser shows its page nothing of a handshake that was refused. So these are accepted, get the reason in a
message of their protocol, and are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.types import Scope

WriteRefusal = Callable[[str], bytes]
"""Writes the message that tells a client why it is refused."""
TokenSockets = Mapping[str, WriteRefusal]
"""By path."""


def token_socket(scope: Scope) -> WriteRefusal | None:
    """Return what writes the refusal of this WebSocket; None where the token is not shown in the address."""
    if scope["type"] != "websocket" or "app" not in scope:
        return None
    sockets: TokenSockets = scope["app"].state.token_sockets
    return sockets.get(scope["path"])
