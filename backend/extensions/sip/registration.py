"""Registration at a trunk: REGISTER, repeated before it expires and after a failure (RFC 3261, 10).

A supervised loop keeps the registration for as long as the user agent runs. Each attempt ends with an answer or after
32 seconds; the pause after a failure doubles up to five minutes.
"""

import asyncio
import logging
from contextlib import suppress

from aiosipua import SipRequest, SipResponse, generate_call_id, generate_tag
from aiosipua.dialog import Dialog
from aiosipua.headers import parse_uri
from aiosipua.utils import format_addr

from backend.errors import PeerError
from backend.extensions.sip.agent import UserAgent
from backend.extensions.sip.links import KEEP_ALIVE, Link

log = logging.getLogger(__name__)

EXPIRES_S = 300
LONGEST_EXPIRES_S = 3_600
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 300.0
KEEP_ALIVE_S = 25.0
"""Seconds between two datagrams that keep the port of a router (NAT) open."""
UNREGISTER_WITHIN_S = 2.0


class Registration:
    """One registration; `run` it, then `close` it."""

    def __init__(self, agent: UserAgent, trunk: str) -> None:
        """`trunk`: the account at the trunk, such as `sip:account@sip.example.com;transport=tcp`."""
        self._agent = agent
        self._account = account = parse_uri(trunk)
        self._protocol = (account.params.get("transport") or "udp").upper()
        name = f"sip:{account.user}@{account.host}"
        self._requests = Dialog(
            call_id=generate_call_id(account.host),
            local_tag=generate_tag(),
            local_uri=name,
            remote_uri=name,
            remote_target=f"sip:{account.host}" + (f":{account.port}" if account.port else ""),
        )
        """The headers of the REGISTERs. They are not a dialog, but have the headers of one (RFC 3261, 10.2)."""
        self._wanted_s = EXPIRES_S
        self._link: Link | None = None
        self.state = "not registered yet"
        """The state in words for the operator; `ok` when registered."""

    async def run(self) -> None:
        """Register, and stay registered, until cancelled."""
        pause = FIRST_PAUSE_S
        while True:
            try:
                lasts_s = await self._register(self._wanted_s)
            except PeerError as error:
                if self.state != str(error):
                    log.warning("SIP: not registered at the trunk: %s", error)
                self.state = str(error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
                continue
            if self.state != "ok":
                log.info("SIP: registered at the trunk")
            self.state, pause = "ok", FIRST_PAUSE_S
            await self._keep_alive(max(1.0, 0.8 * lasts_s))

    async def close(self) -> None:
        """Unregister, so that the trunk sends no more calls."""
        if self.state == "ok":
            with suppress(PeerError, TimeoutError):
                async with asyncio.timeout(UNREGISTER_WITHIN_S):
                    await self._register(0)
            self.state = "ended"

    async def _keep_alive(self, seconds: float) -> None:
        until = self._agent.now() + seconds
        while (left := until - self._agent.now()) > 0:
            await asyncio.sleep(min(left, KEEP_ALIVE_S))
            if self._link is not None:
                self._link.send(KEEP_ALIVE)

    async def _register(self, expires_s: int) -> float:
        """Register, and return the seconds for which it holds. Raises `PeerError`."""
        self._link = await self._agent.link_to(self._account.host, self._account.port or 5060, self._protocol)
        self._agent.trust(self._link.peer[0])
        answer = await self._ask(self._request(expires_s, self._link), self._link)
        if answer.status_code == 423 and expires_s:
            wanted = _number(answer, "min-expires")
            if expires_s < wanted <= LONGEST_EXPIRES_S:
                self._wanted_s = wanted
                answer = await self._ask(self._request(wanted, self._link), self._link)
        if answer.status_code >= 300:
            raise PeerError(f"The trunk refuses the registration (status {answer.status_code}).")
        return min(LONGEST_EXPIRES_S, self._granted(answer) or self._wanted_s)

    async def _ask(self, request: SipRequest, link: Link) -> SipResponse:
        answered: asyncio.Future[SipResponse | None] = asyncio.get_running_loop().create_future()

        def on_final(response: SipResponse | None) -> None:
            if not answered.done():
                answered.set_result(response)

        self._agent.ask(request, link, on_final, self._requests.next_cseq)
        answer = await answered
        if answer is None:
            raise PeerError("The trunk does not answer.")
        return answer

    def _request(self, expires_s: int, link: Link) -> SipRequest:
        host, port = link.here
        request = self._requests.create_request("REGISTER", via_host=host, via_port=port, via_transport=link.protocol)
        tcp = ";transport=tcp" if link.reliable else ""
        request.headers.set_single("Contact", f"<sip:{self._account.user}@{format_addr(host, port)}{tcp}>")
        request.headers.set_single("Expires", str(expires_s))
        return request

    def _granted(self, answer: SipResponse) -> int:
        """Return the granted seconds, from our contact in the answer or from its Expires header."""
        for contact in answer.contact:
            if contact.uri.user == self._account.user and (value := contact.params.get("expires")):
                with suppress(ValueError):
                    return int(value)
        return _number(answer, "expires")


def _number(answer: SipResponse, header: str) -> int:
    with suppress(ValueError):
        return max(0, int(answer.headers.get_first(header) or 0))
    return 0
