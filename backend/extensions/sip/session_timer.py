"""The session timer (RFC 4028), pure: a call ends when its peer is gone without a word.

Who refreshes is agreed on with the acceptance: the peer, unless it wants us to. One side refreshes at half of the
interval. The other side ends the call if it got no refresh shortly before the interval's end.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from math import inf

from aiosipua import SipRequest

from backend.extensions.sip.messages import tokens

MIN_S = 90
"""The shortest interval (RFC 4028, 5)."""


@dataclass(slots=True)
class SessionTimer:
    """One call's timer. `interval_s` 0: there is none."""

    interval_s: int = 0
    ours: bool = False
    """Whether we refresh."""
    refresh_at: float = inf
    ends_at: float = inf

    def start(self, now: float) -> None:
        """Begin an interval: the session was just set up, or refreshed."""
        if self.interval_s:
            self.refresh_at = now + self.interval_s / 2 if self.ours else inf
            self.ends_at = now + self.interval_s - min(32, self.interval_s / 3)

    @property
    def headers(self) -> dict[str, str]:
        """The session timer as an acceptance states it."""
        if not self.interval_s:
            return {}
        return {"Session-Expires": f"{self.interval_s};refresher={'uas' if self.ours else 'uac'}", "Require": "timer"}


def asked_interval(request: SipRequest) -> int:
    """Return the seconds that a request asks for; 0 if for none."""
    value = (request.headers.get_first("session-expires") or request.headers.get_first("x") or "").partition(";")[0]
    with suppress(ValueError):
        return max(0, int(value.strip()[:9]))
    return 0


def agreed(request: SipRequest, longest_s: int) -> SessionTimer:
    """Return the timer of a call that begins with `request`. `longest_s`: what we want at most; 0: none."""
    if not longest_s or "timer" not in tokens(request, "supported"):
        return SessionTimer()
    asked = (request.headers.get_first("session-expires") or request.headers.get_first("x") or "").lower()
    interval = min(asked_interval(request) or longest_s, longest_s)
    return SessionTimer(max(interval, MIN_S), ours="refresher=uas" in asked.replace(" ", ""))
