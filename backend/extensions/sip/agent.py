"""The SIP user agent of this server owns the sockets, routes each message to its call, and repeats messages by a timer.

A message is read, matched to its transaction, and passed to its call. Requests of strangers are answered statelessly,
and only a limited number per minute. While there are transactions, the agent looks every `TICK_S` for what is due;
otherwise there is no timer.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable

from aiosipua import SipRequest, SipResponse, generate_branch
from aiosipua.auth import answer_challenge
from aiosipua.headers import parse_via, stringify_via

from backend.errors import BadRequest, PeerError
from backend.extensions.sip.call import SipCall
from backend.extensions.sip.gate import Gate, Refused
from backend.extensions.sip.links import DatagramLink, Datagrams, Link, Streams, address_towards, bound_sockets
from backend.extensions.sip.messages import ALLOW, note_source, read_message, response_to, tokens, transaction_key
from backend.extensions.sip.settings import SipSettings
from backend.extensions.sip.transactions import OnFinal, ServerTransaction, Transactions
from backend.runtime.supervisor import cancel_all, start_among
from backend.runtime.timer import Alarm

log = logging.getLogger(__name__)

TICK_S = 0.1
RESOLVE_WITHIN_S = 5.0
GOODBYE_WITHIN_S = 2.0
"""Seconds that peers have to answer our last BYEs when the server ends."""
RETRY_AFTER_S = 15

OnCall = Callable[[SipCall], Awaitable[None]]
"""Answers or refuses a call, and returns when it is over."""


class UserAgent:
    """One user agent. `open` it, and `close` it."""

    def __init__(
        self, settings: SipSettings, gate: Gate, on_call: OnCall, may_ask: Callable[[str], bool] = lambda address: True
    ) -> None:
        """`may_ask` returns whether another request of a stranger's address is answered."""
        self._settings, self._gate, self._on_call, self._may_ask = settings, gate, on_call, may_ask
        self._transactions = Transactions()
        self._calls: dict[str, SipCall] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._datagrams = Datagrams(self._on_message, self._here)
        self._streams = Streams(self._on_message, self._here, self._is_busy)
        self._alarm = Alarm(self._tick)
        self.closing = False

    @property
    def port(self) -> int:
        """The port on which the agent listens, by UDP and TCP."""
        return self._datagrams.port

    @property
    def live(self) -> int:
        """The number of current calls."""
        return len(self._calls)

    async def open(self) -> None:
        """Listen by UDP and TCP. Raises `OSError`."""
        datagrams, stream = bound_sockets(self._settings.host, self._settings.port)
        await self._datagrams.open(datagrams)
        try:
            await self._streams.open(stream)
        except OSError:
            self._datagrams.close()
            stream.close()
            raise

    async def close(self) -> None:
        """End every call, wait a moment for the answers, and release the sockets."""
        self.closing = True
        for call in list(self._calls.values()):
            call.hang_up()
        for _ in range(int(GOODBYE_WITHIN_S / TICK_S)):
            if not self._transactions.asking:
                break
            await asyncio.sleep(TICK_S)
        self._alarm.stop()
        self._transactions.abandon()
        await cancel_all(self._tasks, within_s=GOODBYE_WITHIN_S)
        self._datagrams.close()
        await self._streams.close()

    async def link_to(self, host: str, port: int, protocol: str) -> Link:
        """Look up a peer's name, and return a link to the peer. Raises `PeerError`."""
        family = socket.AF_UNSPEC if ":" in self._settings.host else socket.AF_INET
        try:
            async with asyncio.timeout(RESOLVE_WITHIN_S):
                found = await asyncio.get_running_loop().getaddrinfo(host, port, family=family)
        except OSError:
            raise PeerError("The SIP peer has no address that can be reached from here.") from None
        address = str(found[0][4][0])
        if protocol == "TCP":
            return await self._streams.connect(address, port)
        return self._datagrams.link((address, port))

    # --- what calls and the registration use ----------------------------------------------------------

    def now(self) -> float:
        """Return the time, in seconds of a steady clock."""
        return asyncio.get_running_loop().time()

    def respond(self, transaction: ServerTransaction, response: SipResponse) -> None:
        """Answer a request."""
        if response.status_code in (200, 405):
            response.headers.set_single("Allow", ALLOW)
        self._transactions.answer(transaction, response, self.now())

    def ask(self, request: SipRequest, link: Link, on_final: OnFinal, next_cseq: Callable[[], int]) -> None:
        """Send a request until there is a final answer. Only the trunk's challenges are answered."""

        def answered(response: SipResponse | None) -> None:
            credentials = self._settings.credentials if link.peer[0] in self._gate.trunk else None
            if response is not None and response.status_code in (401, 407) and credentials is not None:  # challenged
                shown = answer_challenge(credentials, response, response.status_code, request.method, request.uri)
                if shown is not None:
                    _renew(request, next_cseq(), shown)
                    self._transactions.ask(request, link, on_final, self.now())
                    return
            on_final(response)

        self._transactions.ask(request, link, answered, self.now())
        self._alarm.set(self.now() + TICK_S)

    def trust(self, address: str) -> None:
        """Treat an address as the trunk's: accept its calls, and answer its challenges."""
        self._gate.trunk.add(address)

    def forget(self, call: SipCall) -> None:
        """Stop routing messages to the call."""
        if self._calls.get(call.id) is call:
            del self._calls[call.id]

    # --- what comes -----------------------------------------------------------------------------------

    def _on_message(self, data: bytes, link: Link) -> None:
        try:
            message = read_message(data)
        except BadRequest:
            return
        try:
            if isinstance(message, SipRequest):
                where = note_source(message, link.peer, datagram=not link.reliable)
                if isinstance(link, DatagramLink) and where != link.peer:
                    link = link.towards(where)
                self._on_request(message, link)
            else:
                self._transactions.take(message)
        except Exception:
            log.exception("a SIP message could not be handled")
        if self._transactions:
            self._alarm.set(self.now() + TICK_S)

    def _on_request(self, request: SipRequest, link: Link) -> None:
        transaction = self._transactions.find(transaction_key(request))
        call = self._calls.get(request.call_id or "")
        if request.method == "ACK":
            self._on_ack(request, transaction, call)
        elif request.method == "CANCEL":
            self._on_cancel(request, transaction, link)
        elif transaction is not None:
            if transaction.answer:  # a repeated request gets the same answer again
                link.send(transaction.answer)
        elif call is not None and _is_within(request):
            transaction = self._transactions.open(transaction_key(request), request, link, self.now())
            if transaction is not None:
                call.take(transaction)
        elif not self._gate.is_peer(link.peer[0]) and not self._may_ask(link.peer[0]):
            return
        elif _is_within(request):
            self._answer(request, link, 481)
        elif request.method == "INVITE":
            self._on_invite(request, link)
        elif request.method == "OPTIONS":
            self._answer(request, link, 200, {"Accept": "application/sdp"})
        else:
            self._answer(request, link, 405)

    def _on_invite(self, request: SipRequest, link: Link) -> None:
        verdict = self._gate.judge(request, link.peer[0], time.time())
        if isinstance(verdict, Refused):
            if verdict.status:
                self._answer(request, link, verdict.status, verdict.headers)
            return
        status, headers = self._objection(request)
        if status:
            self._answer(request, link, status, headers)
            return
        transaction = self._transactions.open(transaction_key(request), request, link, self.now())
        if transaction is None:
            return
        call = self._calls[request.call_id or ""] = SipCall(self, transaction, verdict.caller, self._settings)
        self.respond(transaction, response_to(request, 100))
        start_among(self._tasks, "sip call", self._run(call))

    def _objection(self, request: SipRequest) -> tuple[int, dict[str, str]]:
        """Return the status that refuses an admitted INVITE; 0 if it is accepted."""
        if unknown := tokens(request, "require"):
            return 420, {"Unsupported": ", ".join(sorted(unknown))}
        if request.call_id in self._calls:
            return 482, {}
        if self.closing or len(self._calls) >= self._settings.max_calls:
            return 503, {"Retry-After": str(RETRY_AFTER_S)}
        return 0, {}

    async def _run(self, call: SipCall) -> None:
        try:
            await self._on_call(call)
        except Exception:
            log.exception("a call by SIP failed")
            call.refuse(500)
        finally:
            call.hang_up()

    def _on_ack(self, request: SipRequest, transaction: ServerTransaction | None, call: SipCall | None) -> None:
        if transaction is not None and transaction.status >= 300:
            self._transactions.acknowledge(transaction)
            return
        if (accepted := self._transactions.accepted(request)) is not None:
            self._transactions.acknowledge(accepted)
        if call is not None:
            call.acknowledge(request)

    def _on_cancel(self, request: SipRequest, transaction: ServerTransaction | None, link: Link) -> None:
        self._answer(request, link, 200 if transaction is not None else 481)
        call = self._calls.get(request.call_id or "")
        if transaction is not None and transaction.status < 200 and call is not None:  # no final answer yet
            call.cancel()

    def _answer(self, request: SipRequest, link: Link, status: int, headers: dict[str, str] | None = None) -> None:
        """Answer a request without a stored transaction."""
        host, port = link.here
        tag = f"{abs(hash((request.call_id, host, port))):x}"  # the same for its repetitions
        response = response_to(request, status, tag=tag, headers=headers)
        if status in (200, 405):
            response.headers.set_single("Allow", ALLOW)
        link.send(bytes(response))

    # --- time -----------------------------------------------------------------------------------------

    def _tick(self) -> None:
        now = self.now()
        due = self._transactions.expire(now)
        for link, data in due.repeat:
            link.send(data)
        for transaction in due.unacknowledged:
            if (call := self._calls.get(transaction.request.call_id or "")) is not None:
                call.unacknowledged()
        for client in due.unanswered:
            client.on_final(None)
        if self._transactions:
            self._alarm.set(now + TICK_S)

    def _here(self, host: str) -> str:
        return address_towards(host, self._settings.host, self._settings.public_address)

    def _is_busy(self, link: Link) -> bool:
        return any(call.link is link for call in self._calls.values())


def _is_within(request: SipRequest) -> bool:
    """Return whether a request belongs to a present or past call."""
    address = request.to_addr
    return address is not None and bool(address.tag)


def _renew(request: SipRequest, cseq: int, credentials: tuple[str, str]) -> None:
    """Add the answer to a challenge to the request."""
    via = parse_via(request.headers.get("via")[0])
    via.params["branch"] = generate_branch()
    request.headers.get("via")[0] = stringify_via(via)
    request.headers.set_single("CSeq", f"{cseq} {request.method}")
    request.headers.set_single(*credentials)
