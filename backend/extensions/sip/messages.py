"""Reads, checks, answers and writes SIP messages. Pure; aiosipua parses them.

The network is not trusted: a message must have the headers that RFC 3261, 8.1.1 demands, each of limited length. The
answer to a request over UDP goes to the address that the request came from (RFC 3581).
"""

import logging
from collections.abc import Mapping
from contextlib import suppress

from aiosipua import SipMessage, SipRequest, SipResponse
from aiosipua.headers import Address, parse_address, parse_via, stringify_uri, stringify_via
from aiosipua.message import missing_required_headers

from backend.errors import BadRequest

logging.getLogger("aiosipua").setLevel(logging.ERROR)  # it would log a warning for each wrong message of a stranger

MAX_BYTES = 65_535
MAX_ID_CHARS = 300
"""The most characters of a Call-ID, a tag or a branch."""
SOFTWARE = "responder-thinker"
ALLOW = "INVITE, ACK, CANCEL, BYE, OPTIONS, UPDATE, INFO, NOTIFY"
PHRASES = {1: "Trying", 2: "OK", 4: "Refused", 5: "Unavailable"}
"""The reason phrases of statuses, by their first digit."""

Message = SipRequest | SipResponse
Address_ = tuple[str, int]


def read_message(data: bytes) -> Message:
    """Return the message in `data`. Raises `BadRequest` for anything else, without repeating it."""
    if len(data) > MAX_BYTES:
        raise BadRequest("A SIP message is too long.")
    try:
        message = SipMessage.parse(data)
        if isinstance(message, SipRequest):
            if not data.split(b"\n", 1)[0].strip().endswith(b" SIP/2.0") or missing_required_headers(message):
                raise BadRequest("A SIP request lacks its version or a required header.")
        elif not 100 <= message.status_code <= 699:
            raise BadRequest("A SIP response has no valid status.")
        cseq, via = message.cseq, parse_via(message.headers.get("via")[0])
        ids = [message.call_id or "", via.branch or "", via.host, _tag(message, "from"), _tag(message, "to")]
    except (ValueError, IndexError, KeyError, AttributeError, TypeError, RecursionError):
        raise BadRequest("A SIP message cannot be read.") from None
    if cseq is None or not 0 <= cseq.seq < 2**31 or not cseq.method or not ids[0] or not ids[2]:  # needed to match
        raise BadRequest("A SIP message lacks CSeq, Call-ID or Via.")
    if isinstance(message, SipRequest) and message.method != cseq.method:
        raise BadRequest("A SIP request and its CSeq name different methods.")
    if max(map(len, ids)) > MAX_ID_CHARS:
        raise BadRequest("A SIP message has an id that is too long.")
    return message


def transaction_key(request: SipRequest) -> tuple[str, ...]:
    """Return a request's key. Repetitions have the same key, as an INVITE's CANCEL and ACK do (RFC 3261, 17.2.3)."""
    via, cseq = parse_via(request.headers.get("via")[0]), request.cseq
    assert cseq is not None
    method = "INVITE" if cseq.method in ("ACK", "CANCEL") else cseq.method
    return via.branch or "", via.host, str(via.port), request.call_id or "", method, str(cseq.seq)


def note_source(request: SipRequest, source: Address_, *, datagram: bool) -> Address_:
    """Write a request's source into its Via (RFC 3261, 18.2.1; RFC 3581); return the address for the answer."""
    via = parse_via(request.headers.get("via")[0])
    asked = "rport" in via.params
    port = source[1] if asked or not datagram else via.port or 5060
    if asked:
        via.params["rport"] = str(source[1])
    if asked or via.host.strip("[]") != source[0]:
        via.params["received"] = source[0]
    request.headers.get("via")[0] = stringify_via(via)
    return source[0], port


def response_to(
    request: SipRequest,
    status: int,
    *,
    tag: str = "",
    contact: str = "",
    body: str = "",
    headers: Mapping[str, str] | None = None,
) -> SipResponse:
    """Return a response. `tag` is our tag, which To gets if it has none."""
    response = SipResponse(status_code=status, reason_phrase=PHRASES[status // 100])
    for via in request.headers.get("via"):
        response.headers.append("Via", via)
    for name in ("From", "To", "Call-ID", "CSeq"):
        value = request.headers.get_first(name) or ""
        if name == "To" and tag and not _tag(request, "to"):  # a request within a call has our tag already
            value += f";tag={tag}"
        response.headers.set_single(name, value)
    if 101 <= status < 300:
        for route in request.headers.get("record-route"):
            response.headers.append("Record-Route", route)
    if contact:
        response.headers.set_single("Contact", f"<{contact}>")
    for name, value in (headers or {}).items():
        response.headers.set_single(name, value)
    response.headers.set_single("Server", SOFTWARE)
    if body:
        response.text = body
        response.headers.set_single("Content-Type", "application/sdp")
    return response


def address_of(message: Message, name: str) -> Address | None:
    """Return the address in a header; None if it is missing or cannot be read."""
    value = message.headers.get_first(name)
    with suppress(ValueError, IndexError):
        return parse_address(value) if value else None
    return None


def uri_of(message: Message, name: str) -> str:
    """Return the URI in a header; empty if there is none."""
    address = address_of(message, name)
    return stringify_uri(address.uri) if address is not None and address.uri.host else ""


def tokens(message: Message, name: str) -> set[str]:
    """Return the tokens of a header with a list, in lower case."""
    return {each.strip().lower() for value in message.headers.get(name) for each in value.split(",") if each.strip()}


def body_type(message: Message) -> str:
    """Return the media type of the body, without parameters; empty if there is no body."""
    return (message.headers.get_first("content-type") or "").partition(";")[0].strip().lower() if message.body else ""


def _tag(message: Message, name: str) -> str:
    address = address_of(message, name)
    return (address.tag if address is not None else None) or ""
