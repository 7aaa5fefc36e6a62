"""A telephone provider that passes calls on as media streams: its webhook, its messages, and the orders it takes.

Adding one is a file beside `twilio.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from xml.sax.saxutils import escape

import httpx2

from backend.errors import LineFailed
from backend.transports.media_stream_framing import StreamFraming

ORDER_WITHIN_S = 5.0
"""Seconds an order to a provider's API may take."""
NUMBER = re.compile(r"\+?[0-9]{2,15}")
SIP_ADDRESS = re.compile(r"sips?:[^\s<>\"']{1,200}")


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A request that says a call has come in, as far as it is signed and read."""

    urls: Sequence[str]
    """The addresses under which the provider may have asked: a proxy may have hidden scheme or port."""
    headers: Mapping[str, str]
    """By lower-case name."""
    form: Sequence[tuple[str, str]]
    """The body's fields, in their order."""
    body: str = ""
    """The body as it came."""

    def field(self, *names: str) -> str:
        """Return the first field of one of these names; empty if there is none."""
        return next((value for name, value in self.form if name in names), "")


@dataclass(frozen=True, slots=True)
class IncomingCall:
    """A call that waits for an answer."""

    call: str
    """The provider's id of the call."""
    number: str
    """The caller's number, or what stands in its place; never logged."""


class TelephoneProvider(Protocol):
    """One provider. Orders raise `LineFailed`, with words for the model."""

    name: str
    """The beginning of the paths it calls: `twilio` of `/twilio/voice`."""

    def is_signed(self, request: WebhookRequest) -> bool:
        """Return whether the request shows that it comes from the operator's account at the provider."""
        ...

    def incoming(self, request: WebhookRequest) -> IncomingCall:
        """Return the call that the request is about. Raises `BadRequest`."""
        ...

    def accept(self, stream_url: str, token: str) -> str:
        """Return the XML that has the call streamed to `stream_url`, with `token` in its first message."""
        ...

    def reject(self) -> str:
        """Return the XML that refuses a call because all lines are busy."""
        ...

    def framing(self) -> StreamFraming:
        """Return the codec of one stream's messages."""
        ...

    @property
    def takes_orders(self) -> bool:
        """Whether its API can be reached: its credentials are configured."""
        ...

    @property
    def transfers(self) -> bool:
        """Whether calls can be transferred by its API."""
        ...

    async def transfer(self, call: str, target: str) -> None:
        """Connect the caller of `call` with `target`, a number or a SIP address."""
        ...

    async def hang_up(self, call: str) -> None:
        """End the call."""
        ...


@dataclass(frozen=True, slots=True)
class Telephone:
    """The telephone providers that are configured, by name."""

    providers: Mapping[str, TelephoneProvider] = field(default_factory=dict)
    public_urls: Mapping[str, str] = field(default_factory=dict)
    """By provider, the address at which it reaches this server; empty: as its requests say."""


def response(verbs: str) -> str:
    """Return the XML document that answers a webhook; the providers share its outermost element."""
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{verbs}</Response>'


def dialled(target: str) -> str:
    """Return what `<Dial>` holds for a number or a SIP address. Raises `LineFailed` for anything else."""
    if NUMBER.fullmatch(target):
        return f"<Number>{target}</Number>"
    if SIP_ADDRESS.fullmatch(target):
        return f"<Sip>{escape(target)}</Sip>"
    raise LineFailed("The target of the transfer is no telephone number and no SIP address.")


async def give_order(http: httpx2.AsyncClient, method: str, url: str, **request: Any) -> None:
    """Send an order to a provider's API. Raises `LineFailed`."""
    try:
        answer = await http.request(method, url, timeout=ORDER_WITHIN_S, **request)
    except httpx2.HTTPError as error:
        raise LineFailed(f"The telephone provider cannot be reached ({type(error).__name__}).") from None
    if answer.status_code >= 300:
        raise LineFailed(f"The telephone provider refused the order (status {answer.status_code}).")
