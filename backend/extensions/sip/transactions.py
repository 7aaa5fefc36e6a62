"""SIP transactions (RFC 3261, 17; RFC 6026) decide which messages to repeat, and when to give up. Pure.

Theory. UDP loses datagrams, so requests and their final answers are repeated: after half a second (T1), then after
twice as long each time, four seconds at most (T2), for 32 seconds in all. A *server transaction* is a received request.
Its repetitions get the same answer again, and are not carried out. The final answer to an INVITE is repeated until its
ACK comes; a call with an acceptance that is never acknowledged has failed. A *client transaction* is our own request.
It is repeated until an answer comes, and fails without one.

Only requests of admitted peers become transactions; strangers are answered statelessly. A transaction lives for 32
seconds, and each table is bounded: requests beyond the bound are dropped, as if the network had lost them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

from aiosipua import SipRequest, SipResponse
from aiosipua.headers import parse_via

from backend.extensions.sip.links import Link

T1_S, T2_S = 0.5, 4.0
LIFE_S = 64 * T1_S
"""Seconds after which repeating and waiting end."""
MOST = 5_000
"""The most transactions of a kind at the same time."""

Key = tuple[str, ...]
OnFinal = Callable[[SipResponse | None], None]
"""Called with the final answer to this server's request; None if there was none."""


@dataclass(slots=True)
class ServerTransaction:
    """A received request, and its answer."""

    request: SipRequest
    link: Link
    ends_at: float
    status: int = 0
    answer: bytes = b""
    repeat_at: float = inf
    pause_s: float = T1_S
    acknowledged: bool = False

    @property
    def is_invite(self) -> bool:
        """Return whether its final answer waits for an ACK."""
        return self.request.method == "INVITE"


@dataclass(slots=True)
class ClientTransaction:
    """A request of this server that waits for its final answer."""

    request: SipRequest
    link: Link
    on_final: OnFinal
    ends_at: float
    repeat_at: float
    pause_s: float = T1_S


@dataclass(slots=True)
class Due:
    """The messages that are due, and the transactions that have ended, as `expire` finds them."""

    repeat: list[tuple[Link, bytes]] = field(default_factory=list)
    unacknowledged: list[ServerTransaction] = field(default_factory=list)
    """The INVITEs that were accepted and never acknowledged."""
    unanswered: list[ClientTransaction] = field(default_factory=list)


class Transactions:
    """All transactions of a user agent. `now` is any steady clock in seconds."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._servers: dict[Key, ServerTransaction] = {}
        self._accepted: dict[str, ServerTransaction] = {}  # accepted INVITEs that wait for their ACK, by Call-ID
        self._clients: dict[tuple[str, str], ClientTransaction] = {}

    def __len__(self) -> int:
        return len(self._servers) + len(self._clients)

    @property
    def asking(self) -> int:
        """The number of this server's requests that wait for an answer."""
        return len(self._clients)

    def accepted(self, ack: SipRequest) -> ServerTransaction | None:
        """Return the accepted INVITE of an ACK, which has another branch (RFC 3261, 13.2.2.4); None without one."""
        found = self._accepted.get(ack.call_id or "")
        theirs, ours = ack.cseq, found.request.cseq if found is not None else None
        return found if theirs is not None and ours is not None and theirs.seq == ours.seq else None

    def find(self, key: Key) -> ServerTransaction | None:
        """Return the transaction of a repeated request; None for a new request."""
        return self._servers.get(key)

    def open(self, key: Key, request: SipRequest, link: Link, now: float) -> ServerTransaction | None:
        """Begin a transaction for a new request; return None if there are too many."""
        if len(self._servers) >= self._most:
            return None
        # An INVITE may be answered within three minutes; other requests are answered immediately.
        life_s = 180.0 if request.method == "INVITE" else LIFE_S
        transaction = self._servers[key] = ServerTransaction(request, link, now + life_s)
        return transaction

    def answer(self, transaction: ServerTransaction, response: SipResponse, now: float) -> None:
        """Send a response; repeat it if the transaction demands that."""
        transaction.status, transaction.answer = response.status_code, bytes(response)
        transaction.link.send(transaction.answer)
        if response.status_code < 200:
            return
        transaction.ends_at = now + LIFE_S
        if transaction.is_invite and (response.status_code < 300 or not transaction.link.reliable):
            transaction.repeat_at, transaction.pause_s = now + T1_S, T1_S  # until its ACK comes (RFC 3261, 17.2.1)
        if transaction.is_invite and response.status_code < 300:
            self._accepted[transaction.request.call_id or ""] = transaction

    def acknowledge(self, transaction: ServerTransaction) -> None:
        """Stop repeating the answer, since its ACK has come."""
        transaction.acknowledged, transaction.repeat_at = True, inf
        self._release(transaction)

    def ask(self, request: SipRequest, link: Link, on_final: OnFinal, now: float) -> None:
        """Send a request, and repeat it until it is answered. It fails immediately if there are too many."""
        if len(self._clients) >= self._most:
            on_final(None)
            return
        repeat_at = inf if link.reliable else now + T1_S
        branch = parse_via(request.headers.get("via")[0]).branch or ""
        self._clients[branch, request.method] = ClientTransaction(request, link, on_final, now + LIFE_S, repeat_at)
        link.send(bytes(request))

    def take(self, response: SipResponse) -> None:
        """End the transaction of a final answer. A provisional answer slows down the repetitions of its request."""
        cseq, vias = response.cseq, response.headers.get("via")
        assert cseq is not None
        key = (parse_via(vias[0]).branch or "", cseq.method)
        transaction = self._clients.get(key)
        if transaction is None:
            return
        if response.status_code < 200:
            transaction.pause_s = T2_S
            return
        del self._clients[key]
        transaction.on_final(response)

    def expire(self, now: float) -> Due:
        """Return the messages to send again, and the transactions that have ended."""
        due = Due()
        for key, server in list(self._servers.items()):
            if now >= server.ends_at:
                del self._servers[key]
                self._release(server)
                if server.is_invite and 200 <= server.status < 300 and not server.acknowledged:  # the call failed
                    due.unacknowledged.append(server)
            elif now >= server.repeat_at:
                due.repeat.append((server.link, server.answer))
                server.pause_s = min(2 * server.pause_s, T2_S)
                server.repeat_at = now + server.pause_s
        for branch, client in list(self._clients.items()):
            if now >= client.ends_at:
                del self._clients[branch]
                due.unanswered.append(client)
            elif now >= client.repeat_at:
                due.repeat.append((client.link, bytes(client.request)))
                client.pause_s = min(2 * client.pause_s, T2_S)
                client.repeat_at = now + client.pause_s
        return due

    def abandon(self) -> None:
        """Drop all transactions."""
        self._servers.clear()
        self._accepted.clear()
        self._clients.clear()

    def _release(self, transaction: ServerTransaction) -> None:
        call_id = transaction.request.call_id or ""
        if self._accepted.get(call_id) is transaction:
            del self._accepted[call_id]
