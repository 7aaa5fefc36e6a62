"""A telephone provider that passes calls on as media streams: its webhook, its messages, and transfers. The three
providers share this file and `framing.py`; each has a file for the rest. Adding one is a file beside `twilio.py`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar
from xml.sax.saxutils import escape, quoteattr

import httpx2

from backend.errors import LineFailed
from backend.extensions.telephone.framing import TOKEN_PARAMETER, ProviderFraming

ORDER_WITHIN_S = 5.0
"""Seconds an order to a provider's API may take."""
NUMBER = re.compile(r"\+?[0-9]{2,15}")
SIP_ADDRESS = re.compile(r"sips?:[^\s<>\"']{1,200}")


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """The request of a webhook for a new call, as far as it is signed and read."""

    urls: Sequence[str]
    """The addresses under which the provider may have asked: a proxy may have hidden scheme or port."""
    headers: Mapping[str, str]
    """By lower-case name."""
    form: Sequence[tuple[str, str]]
    """The body's fields, in their order."""
    body: str = ""
    """The body as it came."""

    def field(self, name: str) -> str:
        """Return the first field of that name; empty if there is none."""
        return next((value for each, value in self.form if each == name), "")


class TelephoneProvider(ABC):
    """The operator's account at one provider."""

    name: ClassVar[str]
    """The beginning of the paths it calls: `twilio` of `/twilio/voice`."""
    framing: ClassVar[type[ProviderFraming]]
    """The codec of one stream's messages."""
    call_field: ClassVar[str] = "CallSid"
    """The field of its webhook that holds the call's id."""
    busy: ClassVar[str] = '<Reject reason="busy"/>'
    """The XML element that refuses a call because all lines are busy."""
    stream_format: ClassVar[str] = ""
    """The attributes of `<Stream>` that choose the streamed track."""
    transfers: bool = False
    """Whether calls can be transferred by its API."""

    def __init__(self, public_url: str) -> None:
        """`public_url`: the address of this server for the provider; empty: the one in its requests."""
        self.public_url = public_url

    @abstractmethod
    def is_signed(self, request: WebhookRequest) -> bool:
        """Return whether the request shows that it comes from the operator's account at the provider."""

    def accept(self, stream_url: str, token: str) -> str:
        """Return the XML that has the call streamed to `stream_url`, with `token` in its first message."""
        parameter = f"<Parameter name={quoteattr(TOKEN_PARAMETER)} value={quoteattr(token)}/>"
        return response(
            f"<Connect><Stream url={quoteattr(stream_url)}{self.stream_format}>{parameter}</Stream></Connect>"
        )

    def reject(self) -> str:
        """Return the XML that refuses a call because all lines are busy."""
        return response(self.busy)

    async def transfer(self, call: str, target: str) -> None:
        """Connect the caller of `call` with `target`, a number or a SIP address. Raises `LineFailed`."""
        raise LineFailed("Calls cannot be transferred by this telephone provider.")


@dataclass(frozen=True, slots=True)
class Telephone:
    """The telephone providers that are configured, by name."""

    providers: Mapping[str, TelephoneProvider] = field(default_factory=dict)


async def order(http: httpx2.AsyncClient, url: str, **request: Any) -> None:
    """Send an order to a provider's API. Raises `LineFailed`, with words for the model."""
    try:
        answer = await http.post(url, timeout=ORDER_WITHIN_S, **request)
    except httpx2.HTTPError as error:
        raise LineFailed(f"The telephone provider cannot be reached ({type(error).__name__}).") from None
    if answer.status_code >= 300:
        raise LineFailed(f"The telephone provider refused the order (status {answer.status_code}).")


def response(verbs: str) -> str:
    """Return the XML document that answers a webhook; the providers share its outermost element."""
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{verbs}</Response>'


def dial(target: str) -> str:
    """Return the XML that calls a number or a SIP address. Raises `LineFailed` for anything else."""
    if NUMBER.fullmatch(target):
        return f"<Response><Dial><Number>{target}</Number></Dial></Response>"
    if SIP_ADDRESS.fullmatch(target):
        return f"<Response><Dial><Sip>{escape(target)}</Sip></Dial></Response>"
    raise LineFailed("The target of the transfer is no telephone number and no SIP address.")
