"""The security log has one line of JSON for each refusal, sign-in, act of an operator, erasure and exhausted budget.

A line says who (the beginning of a hash of the user id, the kind of credential, the address), what, and why. It holds
no secret and no user's words: `reason` and the fields are texts of this server, and paths are those of routes. A thread
writes the lines from a bounded queue. In ten seconds it writes at most ten lines of one address and kind, and two
hundred of one kind. A later line counts the rest, so that a flood neither fills the disk nor hides other events.
`/metrics` counts all of them.
"""

import hashlib
import json
import logging
import queue
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from logging.handlers import QueueHandler, QueueListener, WatchedFileHandler
from pathlib import Path
from typing import Protocol

from backend.errors import SettingsError

log = logging.getLogger("security")

WINDOW_S = 10.0
"""Seconds over which lines are counted."""
LINES_OF_ADDRESS = 10
"""The most lines of one kind about one address in a window."""
LINES_OF_EVENT = 200
"""The most lines of one kind in a window."""
TEXT_LIMIT = 200
"""Characters of one value."""
WAITING_LIMIT = 1_000
"""The most lines that wait to be written; further ones are lost and counted."""
CLOSE_WITHIN_S = 2.0
"""Seconds to write the waiting lines at the end."""

security_events: Counter[str] = Counter()
"""Security events of this process, by kind, written or summarised."""


class SecurityEvent(StrEnum):
    """The kinds of security events."""

    REQUEST_REFUSED = "request_refused"
    SESSION_REFUSED = "session_refused"
    CONNECTION_REFUSED = "connection_refused"
    CALL_CUT = "call_cut"
    SIGNED_IN = "signed_in"
    SIGN_IN_FAILED = "sign_in_failed"
    CREDENTIALS_REVOKED = "credentials_revoked"
    ADMIN_ACT = "admin_act"
    DATA_EXPORTED = "data_exported"
    DATA_ERASED = "data_erased"
    BUDGET_STOPPED = "budget_stopped"
    CONSENT_GIVEN = "consent_given"
    CONSENT_REFUSED = "consent_refused"
    TOOL_REFUSED = "tool_refused"


class Requester(Protocol):
    """The part of a request's caller that the log names. Every `Principal` has it."""

    @property
    def user(self) -> str: ...
    @property
    def address(self) -> str: ...
    @property
    def credential(self) -> str: ...


def security_event(kind: SecurityEvent, principal: Requester | None, reason: str, **fields: str | int) -> None:
    """Write that `kind` happened to, or was done by, `principal`, and count it. Never waits and never fails.

    `reason` says why in a few words of this server's own; neither it nor the fields hold secrets or users' words.
    """
    security_events[kind] += 1
    who: dict[str, str | int] = {}
    address = ""
    if principal is not None:
        address = principal.address
        who = {"user": hashed(principal.user), "credential": principal.credential, "address": address}
    _lines.add(kind, address, {"event": kind, "reason": reason} | who | fields)


def hashed(user: str) -> str:
    """Return 16 hex digits that stand for a user id in logs; the admin page shows the first eight of them."""
    return hashlib.sha256(user.encode()).hexdigest()[:16] if user else ""


class _Lines:
    """The lines of this process: written, or counted for the summary that begins the next window."""

    def __init__(self) -> None:
        self._window_ends = 0.0
        self._written: Counter[tuple[SecurityEvent, str]] = Counter()
        self._left_out: Counter[SecurityEvent] = Counter()

    def add(self, kind: SecurityEvent, address: str, fields: dict[str, str | int]) -> None:
        if time.monotonic() >= self._window_ends:
            self.summarise()
            self._window_ends = time.monotonic() + WINDOW_S
        of_address = self._written[kind, address] if address else 0
        if self._written[kind, ""] >= LINES_OF_EVENT or of_address >= LINES_OF_ADDRESS:
            self._left_out[kind] += 1
            return
        self._written.update({(kind, ""), (kind, address)})
        self._write(fields)

    def summarise(self) -> None:
        """Write a line for each kind with events left out, and forget what was written."""
        for kind, number in self._left_out.items():
            self._write({"event": kind, "reason": "too many for a line each", "left_out": number})
        self._left_out.clear()
        self._written.clear()

    def _write(self, fields: dict[str, str | int]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        shown = {name: value if isinstance(value, int) else str(value)[:TEXT_LIMIT] for name, value in fields.items()}
        log.info("%s", json.dumps({"at": at} | shown))


_lines = _Lines()


class _BoundedQueueHandler(QueueHandler):
    """Hands records to the writing thread. A full queue drops the line, and never delays the event loop."""

    def enqueue(self, record: logging.LogRecord) -> None:
        try:
            self.queue.put_nowait(record)
        except queue.Full:
            security_events["line_lost"] += 1


@contextmanager
def open_security_log(path: Path | None) -> Iterator[None]:
    """Write the lines within the block to the file at `path`, or to standard output. Raises `SettingsError`."""
    target: logging.Handler
    try:
        target = WatchedFileHandler(path, encoding="utf-8") if path else logging.StreamHandler(sys.stdout)
    except OSError as error:
        raise SettingsError(f"SECURITY_LOG: the file cannot be written ({error.strerror}).") from None
    waiting: queue.Queue[logging.LogRecord] = queue.Queue(WAITING_LIMIT)
    handler, listener = _BoundedQueueHandler(waiting), QueueListener(waiting, target)
    level, propagates = log.level, log.propagate
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    listener.start()
    try:
        yield
    finally:
        _lines.summarise()
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagates
        # A reader of the output that has stopped reading must not keep the process alive.
        ending = threading.Thread(target=listener.stop, daemon=True)
        ending.start()
        ending.join(CLOSE_WITHIN_S)
        target.close()
