"""Binds the address a server listens on; imported by processes that must not load the whole server."""

from __future__ import annotations

import socket

from backend.errors import SetupError


def bound_socket(host: str, port: int, *, shared: bool) -> socket.socket:
    """Return a socket bound to the address, not listening yet. Raises `SetupError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT if shared else socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise SetupError(
            f"Cannot listen on {host}:{port}: {error.strerror}.", hint="Choose another with --port or --host."
        ) from error
    return bound


def shown_url(listening: socket.socket) -> str:
    """Return the address as people type it: loopback and "all addresses" are `localhost`."""
    host, port = listening.getsockname()[:2]
    shown = "localhost" if host in ("127.0.0.1", "0.0.0.0", "::", "::1") else host
    return f"http://{shown}:{port}"
