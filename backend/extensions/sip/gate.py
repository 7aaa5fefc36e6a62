"""The gate of SIP admits allowed addresses, and users who answer a challenge, and finds the caller's name. Pure.

A scanner that looks for open telephone servers gets 401 or 403 a few times, and then no answer.
"""

import ipaddress
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aiosipua import SipRequest

from backend.extensions.sip.digest import DigestAuth, DigestVerdict
from backend.extensions.sip.messages import address_of, tokens, uri_of

NUMBER = re.compile(r"\+?[0-9]{2,15}")
MAX_CALLER_CHARS = 200
ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True)
class Admitted:
    """An admitted request. `caller` is a number, a SIP address or a user; it is never logged."""

    caller: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A refused request with its answer; status 0: no answer."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)


class Gate:
    """Admits calls. `now` is wall-clock time in seconds."""

    def __init__(
        self, peers: Sequence[str], digest: DigestAuth | None, may_fail: Callable[[str], bool] = lambda address: True
    ) -> None:
        """`may_fail` returns whether an address may get another refusal."""
        self._networks = [ipaddress.ip_network(each, strict=False) for each in peers]
        self._digest = digest
        self._may_fail = may_fail
        self.trunk: set[str] = set()
        """The addresses of the trunk at which we register; they count as peers."""

    def is_peer(self, address: str) -> bool:
        """Return whether calls from that address need no password."""
        try:
            asked = ipaddress.ip_address(address)
        except ValueError:
            return False
        if isinstance(asked, ipaddress.IPv6Address) and asked.ipv4_mapped is not None:
            asked = asked.ipv4_mapped
        return address in self.trunk or any(asked in network for network in self._networks)

    def judge(self, request: SipRequest, address: str, now: float) -> Admitted | Refused:
        """Decide about an INVITE from `address`."""
        if self.is_peer(address):
            return Admitted(caller_of(request))
        if self._digest is None:
            return Refused(403 if self._may_fail(address) else 0)
        verdict, name = self._digest.check(request, address, now)
        if verdict is DigestVerdict.RIGHT:
            return Admitted(f"sip-user:{name}")
        if verdict is DigestVerdict.WRONG or "authorization" not in request.headers:
            if not self._may_fail(address):
                return Refused(0)
            if verdict is DigestVerdict.WRONG:
                return Refused(403)
        return Refused(401, {"WWW-Authenticate": self._digest.challenge(address, now)})


def caller_of(request: SipRequest) -> str:
    """Return the caller that a peer names, by its asserted identity (RFC 3325) or From; as a number if possible."""
    if tokens(request, "privacy") & {"id", "user", "header"}:
        return ANONYMOUS
    name = "p-asserted-identity" if request.headers.get_first("p-asserted-identity") else "from"
    address = address_of(request, name)
    if address is None:
        return ANONYMOUS
    user = (address.uri.user or "").partition(";")[0]
    return user if NUMBER.fullmatch(user) else uri_of(request, name)[:MAX_CALLER_CHARS]
