"""The signalling of one incoming call: its answer or refusal, then hold, keys, transfer, and its end.

    RINGING ─ accept ─► ANSWERED ─ ACK ─► UP ─ BYE, ours or theirs ─► OVER
       └─ refuse, CANCEL ─────────────────────────────────────────────┘

A call ends once, for any reason. Its sound stops, and its user agent forgets it. Our BYE is repeated by its
transaction, which no longer needs the call.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from enum import StrEnum
from typing import TYPE_CHECKING

from aiosipua import SipRequest, SipResponse
from aiosipua.dialog import Dialog, create_dialog_from_request, dialog_matches, remote_cseq_valid
from aiosipua.headers import parse_address
from aiosipua.utils import format_addr

from backend.errors import BadOffer, LineFailed, NeverConnected, TransportLost, VoiceError
from backend.extensions.sip.messages import body_type, response_to, tokens, uri_of
from backend.extensions.sip.rtp_stream import open_rtp_socket
from backend.extensions.sip.sdp import (
    Here,
    MediaPlan,
    read_description,
    write_again,
    write_answer,
    write_offer,
)
from backend.extensions.sip.settings import SipSettings
from backend.extensions.sip.transactions import OnFinal, ServerTransaction
from backend.extensions.sip.transport import SipTransport

if TYPE_CHECKING:
    from backend.extensions.sip.agent import UserAgent

log = logging.getLogger(__name__)

SDP = "application/sdp"
REFER_WITHIN_S = 5.0
"""Seconds that a peer may take to accept a transfer."""
REFERRED_WITHIN_S = 2.0
"""Seconds to wait for the report of a failed transfer, before we leave."""
INFO_KEY = re.compile(r"(?:signal\s*=\s*)?([0-9*#A-D])\s*(?:\n|$)", re.I)


class CallState(StrEnum):
    """The life of a call, in order."""

    RINGING = "ringing"
    ANSWERED = "answered"
    UP = "up"
    OVER = "over"


class SipCall:
    """The state of one call, from its INVITE on."""

    def __init__(self, agent: UserAgent, invite: ServerTransaction, caller: str, settings: SipSettings) -> None:
        """`caller`: a number, a SIP address or a user; never logged."""
        self.caller = caller
        self.state = CallState.RINGING
        self.over = asyncio.Event()
        """Set at the end of the call."""
        self.link = invite.link
        self.transport: SipTransport | None = None
        self._agent, self._invite, self._settings = agent, invite, settings
        self._dialog: Dialog = create_dialog_from_request(invite.request)
        self._plan: MediaPlan | None = None
        self._here: Here | None = None
        self._referred: asyncio.Future[int] | None = None
        allowed = tokens(invite.request, "allow")
        self.takes_transfers = not allowed or "refer" in allowed

    @property
    def id(self) -> str:
        """The Call-ID."""
        return self._dialog.call_id

    # --- what the server does -------------------------------------------------------------------------

    def refuse(self, status: int, retry_after_s: int = 0) -> None:
        """Refuse the call."""
        if self.state is CallState.RINGING:
            self._respond(self._invite, status, headers={"Retry-After": str(retry_after_s)} if retry_after_s else {})
            self._end()

    def accept(self) -> SipTransport:
        """Answer the call, and return its sound. Raises `BadOffer`, and `TooMany` when no port is free."""
        request, codecs = self._invite.request, self._settings.codecs
        description = plan = None
        if request.body:
            if body_type(request) != SDP:
                raise BadOffer("The body of the INVITE is not an SDP description.")
            description, plan = read_description(request.text, codecs)
        sock = open_rtp_socket(self._settings.host, self._settings.rtp_ports)
        transport = SipTransport(self, sock)
        session = secrets.randbits(31)
        self._here = Here(self.link.here[0], sock.getsockname()[1], session, session)
        if description is not None and plan is not None:
            body = write_answer(description, plan, self._here)
            self._use(transport, plan)
        else:
            body = write_offer(codecs, self._here)
        self.transport, self.state = transport, CallState.ANSWERED
        self._respond(self._invite, 200, body=body)
        return transport

    def hang_up(self) -> None:
        """End the call by a BYE, or by a refusal if it was not answered. Do nothing if it is over."""
        if self.state is CallState.RINGING:
            self.refuse(480)
        elif self.state is not CallState.OVER:
            self._ask("BYE", lambda response: None)
            self._end()

    async def refer(self, target: str) -> None:
        """Ask the peer to call `target`, a number or a SIP address. Raises `LineFailed`."""
        loop = asyncio.get_running_loop()
        accepted: asyncio.Future[int] = loop.create_future()
        self._referred = loop.create_future()

        def answered(response: SipResponse | None) -> None:
            if not accepted.done():
                accepted.set_result(response.status_code if response is not None else 408)

        self._ask("REFER", answered, {"Refer-To": f"<{self._uri_of(target)}>", "Referred-By": f"<{self._contact}>"})
        try:
            async with asyncio.timeout(REFER_WITHIN_S):
                status = await accepted
        except TimeoutError:
            raise LineFailed("The telephone network did not answer the transfer in time.") from None
        if status >= 300:
            raise LineFailed(f"The telephone network refused the transfer (status {status}).")
        done, _ = await asyncio.wait({self._referred}, timeout=REFERRED_WITHIN_S)
        if done and (status := self._referred.result()) >= 300:
            raise LineFailed(f"The other end could not be reached (status {status}).")

    # --- what the peer does ---------------------------------------------------------------------------

    def cancel(self) -> None:
        """Handle a CANCEL: the caller has given up."""
        if self.state is CallState.RINGING:
            self._respond(self._invite, 487)
            self._end()

    def acknowledge(self, request: SipRequest) -> None:
        """Handle an ACK: the peer knows that the call was accepted. The ACK may answer this server's offer."""
        if self.transport is None or self.state is CallState.OVER or not dialog_matches(self._dialog, request):
            return  # it belongs to no call that is up
        if body_type(request) == SDP:
            try:
                _, plan = read_description(request.text, self._settings.codecs)
            except BadOffer:
                self._lose(TransportLost("The call's SDP description cannot be used."))
                return
            self._use(self.transport, plan)
        self.state = CallState.UP
        self.transport.arrive()

    def unacknowledged(self) -> None:
        """Note that our acceptance was repeated for 32 s, and never acknowledged."""
        if self.state is CallState.ANSWERED:
            self._lose(NeverConnected("The caller's telephone did not acknowledge our answer."))

    def take(self, transaction: ServerTransaction) -> None:
        """Handle a request within the call."""
        request = transaction.request
        if self.state is CallState.OVER or not dialog_matches(self._dialog, request):
            self._respond(transaction, 481)
            return
        if not remote_cseq_valid(self._dialog, request):
            self._respond(transaction, 500)
            return
        self.link = transaction.link  # a connection may have been replaced
        match request.method:
            case "BYE":
                self._respond(transaction, 200)
                self._end()
                if self.transport is not None:
                    self.transport.end(None)
            case "INVITE" | "UPDATE":
                self._renegotiate(transaction)
            case "INFO":
                self._take_info(transaction)
            case "NOTIFY":
                self._take_notice(transaction)
            case "OPTIONS":
                self._respond(transaction, 200)
            case _:
                self._respond(transaction, 405)

    # --- in between -----------------------------------------------------------------------------------

    def _renegotiate(self, transaction: ServerTransaction) -> None:
        """Handle a re-INVITE or an UPDATE: hold, another address or codec, or a session refresh."""
        request = transaction.request
        if self.transport is None or self._here is None:
            self._respond(transaction, 491)
            return
        body = ""
        if request.body:
            if body_type(request) != SDP:
                self._respond(transaction, 415)
                return
            try:
                description, plan = read_description(request.text, self._settings.codecs)
            except BadOffer:
                self._respond(transaction, 488)
                return
            self._here = Here(self._here.host, self._here.port, self._here.session, self._here.version + 1)
            body = write_answer(description, plan, self._here)
            self._use(self.transport, plan)
        elif request.method == "INVITE" and self._plan is not None:
            body = write_again(self._plan, self._here)
        self._dialog.remote_target = uri_of(request, "contact") or self._dialog.remote_target
        self._respond(transaction, 200, body=body)

    def _take_info(self, transaction: ServerTransaction) -> None:
        """Handle an INFO request with a key; some telephones send keys this way."""
        kind = body_type(transaction.request)
        if kind not in ("application/dtmf-relay", "application/dtmf"):
            self._respond(transaction, 415 if kind else 200)
            return
        self._respond(transaction, 200)
        found = INFO_KEY.match(transaction.request.text.strip())
        if found and self.transport is not None:
            self.transport.press_here(found[1].upper())

    def _take_notice(self, transaction: ServerTransaction) -> None:
        """Handle a NOTIFY about a transfer (RFC 3515)."""
        event = (transaction.request.headers.get_first("event") or "").partition(";")[0].strip().lower()
        if event != "refer":
            self._respond(transaction, 489)
            return
        self._respond(transaction, 200)
        found = re.match(r"SIP/2\.0 ([2-6]\d\d)", transaction.request.text.strip())
        if found and self._referred is not None and not self._referred.done():  # the first report counts
            self._referred.set_result(int(found[1]))

    def _use(self, transport: SipTransport, plan: MediaPlan) -> None:
        self._plan = plan
        transport.use(plan, self.link.peer[0])

    def _lose(self, error: VoiceError) -> None:
        """End the call because its peer is gone."""
        if self.transport is not None:
            self.transport.end(error)
        self.hang_up()

    def _end(self) -> None:
        self.state = CallState.OVER
        self._agent.forget(self)
        self.over.set()
        if self._referred is not None and not self._referred.done():
            self._referred.set_result(200)  # a transferred caller leaves

    @property
    def _contact(self) -> str:
        host, port = self.link.here
        return f"sip:{format_addr(host, port)}{';transport=tcp' if self.link.protocol == 'TCP' else ''}"

    def _respond(
        self, transaction: ServerTransaction, status: int, *, body: str = "", headers: dict[str, str] | None = None
    ) -> None:
        self._agent.respond(
            transaction,
            response_to(
                transaction.request,
                status,
                tag=self._dialog.local_tag,
                contact=self._contact if status < 300 else "",
                body=body,
                headers=headers,
            ),
        )

    def _request(self, method: str) -> SipRequest:
        host, port = self.link.here
        request = self._dialog.create_request(method, via_host=host, via_port=port, via_transport=self.link.protocol)
        request.headers.set_single("Contact", f"<{self._contact}>")
        return request

    def _ask(self, method: str, on_final: OnFinal, headers: dict[str, str] | None = None) -> None:
        request = self._request(method)
        for name, value in (headers or {}).items():
            request.headers.set_single(name, value)
        self._agent.ask(request, self.link, on_final, self._dialog.next_cseq)

    def _uri_of(self, target: str) -> str:
        """Return the target as a URI; a number becomes a URI at the caller's own domain."""
        if target.startswith(("sip:", "sips:")):
            return target
        domain = parse_address(f"<{self._dialog.remote_uri}>").uri.host or self.link.peer[0]
        return f"sip:{target}@{domain}"
