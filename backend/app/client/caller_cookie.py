"""Who we are to a server, kept between commands: a conversation belongs to whoever began it.

The server's signed cookie lies in `$XDG_STATE_HOME/responder-thinker/callers.json`, by the server's address, for its
owner's eyes only.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import httpx2

log = logging.getLogger(__name__)

COOKIE = "caller"


def state_file() -> Path:
    """Where the cookies are."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "responder-thinker" / "callers.json"


def recall_caller(http: httpx2.AsyncClient) -> None:
    """Be whom this server knew last time, if it knew us."""
    value = _read().get(str(http.base_url))
    if isinstance(value, str):
        http.cookies.set(COOKIE, value)


def keep_caller(http: httpx2.AsyncClient) -> None:
    """Remember who this server says we are. A disk that cannot be written costs that only."""
    value = next((cookie.value for cookie in reversed(list(http.cookies.jar)) if cookie.name == COOKIE), None)
    kept = _read()
    if not value or kept.get(str(http.base_url)) == value:
        return
    file = state_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            json.dump({**kept, str(http.base_url): value}, out)
    except OSError as error:
        log.warning("who we are could not be kept: %s", error.strerror)


def _read() -> dict[str, object]:
    try:
        values = json.loads(state_file().read_text())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}
