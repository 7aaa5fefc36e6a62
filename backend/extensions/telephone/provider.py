"""The common part of the telephone providers that pass calls on as media streams: webhook, messages and transfers.
`framing.py` is common, too. Each provider has a file for the rest; a new provider is a file beside `twilio.py`.
"""

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
"""Seconds that a request to a provider's API may take."""
NUMBER = re.compile(r"\+?[0-9]{2,15}")
SIP_ADDRESS = re.compile(r"sips?:[^\s<>\"']{1,200}")


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """The parts of a webhook's request for a new call that are signed or read."""

    urls: Sequence[str]
    """The addresses that the provider may have called: a proxy may have changed scheme or port."""
    headers: Mapping[str, str]
    """The headers, by their names in lower case."""
    form: Sequence[tuple[str, str]]
    """The body's fields, in their order."""
    body: str = ""
    """The body as it was received."""

    def field(self, name: str) -> str:
        """Return the first field of that name; empty if there is none."""
        return next((value for each, value in self.form if each == name), "")


class TelephoneProvider(ABC):
    """The operator's account at one provider."""

    name: ClassVar[str]
    """The first part of the paths that the provider calls: `twilio` in `/twilio/voice`."""
    framing: ClassVar[type[ProviderFraming]]
    """The class that reads and writes one stream's messages."""
    call_field: ClassVar[str] = "CallSid"
    """The field of the webhook's request with the call's id."""
    busy: ClassVar[str] = '<Reject reason="busy"/>'
    """The XML element that refuses a call because all lines are busy."""
    stream_format: ClassVar[str] = ""
    """The attributes of `<Stream>` that choose the streamed track."""
    transfers: bool = False
    """True if calls can be transferred through the provider's API."""

    def __init__(self, public_url: str) -> None:
        """`public_url`: this server's address for the provider; empty: the address in its requests."""
        self.public_url = public_url

    @abstractmethod
    def is_signed(self, request: WebhookRequest) -> bool:
        """Return whether the signature proves that the request comes from the operator's account."""

    def accept(self, stream_url: str, token: str) -> str:
        """Return the XML that streams the call to `stream_url`, with `token` in its first message."""
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
    """The configured telephone providers, by name."""

    providers: Mapping[str, TelephoneProvider] = field(default_factory=dict)


async def order(http: httpx2.AsyncClient, url: str, **request: Any) -> None:
    """Send a request to a provider's API. Raises `LineFailed` with a text for the model."""
    try:
        answer = await http.post(url, timeout=ORDER_WITHIN_S, **request)
    except httpx2.HTTPError as error:
        raise LineFailed(f"The telephone provider cannot be reached ({type(error).__name__}).") from None
    if answer.status_code >= 300:
        raise LineFailed(f"The telephone provider refused the request (status {answer.status_code}).")


def response(verbs: str) -> str:
    """Return the XML document that answers a webhook; its outermost element is the same for all providers."""
    return f'<?xml version="1.0" encoding="UTF-8"?><Response>{verbs}</Response>'


def dial(target: str) -> str:
    """Return the XML that calls a number or a SIP address. Raises `LineFailed` for anything else."""
    if NUMBER.fullmatch(target):
        return f"<Response><Dial><Number>{target}</Number></Dial></Response>"
    if SIP_ADDRESS.fullmatch(target):
        return f"<Response><Dial><Sip>{escape(target)}</Sip></Dial></Response>"
    raise LineFailed("The target of the transfer is neither a telephone number nor a SIP address.")
