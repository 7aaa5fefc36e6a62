"""The security log: one line of JSON for each refusal, sign-in, act of an operator, erasure and exhausted budget.

A line says who (the beginning of a hash of the user id, the kind of credential, the address), what, and why. It holds
no secret and no user's words: `reason` and the fields are texts of this server, and paths are those of the routes.
Writing is beside the event loop, through a bounded queue. Of one address and kind, ten lines in ten seconds are
written, of one kind two hundred; the rest is summarised in one line, so that a flood neither fills the disk nor hides
what else happens. `/metrics` counts all of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import queue
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
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
ADDRESSES_COUNTED = 1_000
"""Addresses of which a window keeps a count; further ones are counted together."""
ADDRESSES_SHOWN = 5
"""Addresses that a summary names, those with most events first."""
TEXT_LIMIT = 200
"""Characters of one value."""
WAITING_LIMIT = 1_000
"""Lines that wait to be written; further ones are lost and counted."""
CLOSE_WITHIN_S = 2.0
"""Seconds the lines that wait have to be written at the end."""

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
    """The caller of a request, as far as the log names it: every `Principal` fits."""

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


class EventRate:
    """Decides which events get a line, and counts the others for the summary. `now` gives seconds of a steady clock."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._since = now()
        self._written: Counter[tuple[SecurityEvent, str]] = Counter()
        self._left_out: dict[SecurityEvent, Counter[str]] = {}

    def __repr__(self) -> str:
        return (
            f"EventRate({self._written.total()} written, {sum(map(Counter.total, self._left_out.values()))} left out)"
        )

    @property
    def over(self) -> bool:
        """Return whether the window is over, so that the next one begins with `summaries`."""
        return self._now() - self._since >= WINDOW_S

    def admits(self, kind: SecurityEvent, address: str) -> bool:
        """Count an event, and return whether it gets a line of its own."""
        of_address = self._written[kind, address] if address else 0
        if self._written[kind, ""] < LINES_OF_EVENT and of_address < LINES_OF_ADDRESS:
            self._written[kind, ""] += 1
            if address:
                self._written[kind, address] += 1
            return True
        counts = self._left_out.setdefault(kind, Counter())
        counts[address if address in counts or len(counts) < ADDRESSES_COUNTED else "others"] += 1
        return False

    def summaries(self) -> Iterator[dict[str, str | int]]:
        """Yield a line for each kind with events left out, and begin a new window."""
        left_out, seconds = self._left_out, round(self._now() - self._since)
        self._since, self._left_out = self._now(), {}
        self._written.clear()
        for kind, counts in left_out.items():
            most = ", ".join(f"{address or 'no address'} {n}" for address, n in counts.most_common(ADDRESSES_SHOWN))
            yield {
                "event": kind,
                "reason": "too many for a line each",
                "left_out": counts.total(),
                "seconds": seconds,
                "addresses": len(counts),
                "most": most,
            }


class _Lines:
    """The lines of this process: written, or counted until the window's summary."""

    def __init__(self) -> None:
        self._rate = EventRate()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, kind: SecurityEvent, address: str, fields: dict[str, str | int]) -> None:
        if self._rate.over:
            self.summarise()
        if self._rate.admits(kind, address):
            self._write(fields)
        elif self._timer is None:
            with suppress(RuntimeError):  # without a loop it is written with the next event, or at the end
                self._timer = asyncio.get_running_loop().call_later(WINDOW_S, self.summarise)

    def summarise(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for line in self._rate.summaries():
            self._write(line)

    def _write(self, fields: dict[str, str | int]) -> None:
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        shown = {name: value if isinstance(value, int) else str(value)[:TEXT_LIMIT] for name, value in fields.items()}
        log.info("%s", json.dumps({"at": at} | shown))


_lines = _Lines()


class _BoundedQueueHandler(QueueHandler):
    """Hands records to the writing thread; a queue that is full costs the line, never the event loop's time."""

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
        # A reader of our output who has stopped reading must not keep the process alive.
        ending = threading.Thread(target=listener.stop, daemon=True)
        ending.start()
        ending.join(CLOSE_WITHIN_S)
        target.close()
