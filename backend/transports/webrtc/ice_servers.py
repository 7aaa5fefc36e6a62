"""The STUN and TURN servers of a deployment, and the credentials for them.

A TURN server relays all traffic that it gets, and its operator pays for it. So each caller gets separate credentials
that expire: the server signs a name and a time with a secret that it shares with the TURN server, which verifies the
signature (coturn: `use-auth-secret` and `static-auth-secret`; draft-uberti-behave-turn-rest-00). A username and
password in the settings are the server's own and are not given to callers: then only our side of a call is relayed.
"""

import hashlib
import hmac
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import replace

from aiortc import RTCIceServer

OURSELVES = "server"
"""The name in this server's own credentials for TURN."""
NAME_CHARS = 16


class IceServers:
    """The STUN and TURN servers for callers and for this server."""

    def __init__(
        self,
        listed: Sequence[RTCIceServer],
        *,
        turn_secret: str = "",
        ttl_s: float = 3600.0,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`turn_secret` signs credentials that are valid for `ttl_s` seconds; empty: no credentials are made."""
        split = [
            replace(server, urls=urls)
            for server in listed
            for relays in (False, True)
            if (urls := _urls(server, relays))
        ]
        self._open = [server for server in split if not _relays(server)]
        # Where credentials can be signed, callers get their own; the rest of the relays is for this server alone.
        self._own = [server for server in split if _relays(server) and (server.username or not turn_secret)]
        self._signed = [server for server in split if _relays(server) and not server.username and turn_secret]
        self._secret = turn_secret.encode()
        self._ttl_s = ttl_s
        self._now = now

    @property
    def open_to_all(self) -> list[RTCIceServer]:
        """The servers that need no password: STUN."""
        return list(self._open)

    @property
    def gives_credentials(self) -> bool:
        """Return whether `for_caller` returns more than `open_to_all`."""
        return bool(self._signed)

    @property
    def withheld(self) -> list[str]:
        """The URLs of TURN servers for which no credentials can be made, so that callers cannot use them."""
        return [url for server in self._own for url in server.urls]

    def for_caller(self, user: str) -> tuple[list[RTCIceServer], float]:
        """Return the servers for this user's next call, and the Unix time in seconds when their credentials expire.

        The name in them is a hash that stands for the user, so that the TURN server's quotas count per user.
        """
        name = hmac.new(self._secret, b"turn name " + user.encode(), hashlib.sha256).hexdigest()[:NAME_CHARS]
        expires_at = int(self._now() + self._ttl_s)
        return self._open + self._with_credentials(name, expires_at), expires_at

    def for_us(self) -> tuple[RTCIceServer, ...]:
        """Return the servers that this server uses for a call that begins now."""
        return (*self._open, *self._own, *self._with_credentials(OURSELVES, int(self._now() + self._ttl_s)))

    def _with_credentials(self, name: str, expires_at: int) -> list[RTCIceServer]:
        username = f"{expires_at}:{name}"
        signature = hmac.digest(self._secret, username.encode(), "sha1")  # what TURN servers verify
        password = b64encode(signature).decode()
        return [replace(server, username=username, credential=password) for server in self._signed]


def _urls(server: RTCIceServer, relays: bool) -> list[str]:
    listed = [server.urls] if isinstance(server.urls, str) else server.urls
    return [url for url in listed if url.lower().startswith(("turn:", "turns:")) == relays]


def _relays(server: RTCIceServer) -> bool:
    return bool(_urls(server, relays=True))
