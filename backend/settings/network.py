"""The types of settings that name ports, addresses, hosts and origins; lists are comma-separated."""

import re
from ipaddress import ip_network
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator
from pydantic_settings import NoDecode


def port_range(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", value)
    ports = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1024 <= ports[0] <= ports[1] <= 65535:
        raise ValueError("must be LOW-HIGH within 1024-65535, e.g. 10000-10100")
    return ports


def _networks(value: list[str]) -> list[str]:
    for each in value:
        try:
            ip_network(each, strict=False)
        except ValueError:
            raise ValueError(f"{each!r} is no address or network; write e.g. 10.0.0.0/8") from None
    return value


def _hosts(value: list[str]) -> list[str]:
    for each in value:
        if not re.fullmatch(r"\*|(\*\.)?[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?", each):
            raise ValueError(f"{each!r} is no host name; write it without scheme and port, e.g. voice.example.com")
    return [each.strip("[]").lower() for each in value]


def _origins(value: list[str]) -> list[str]:
    origins = [origin.rstrip("/") for origin in value]
    for origin in origins:
        if not re.fullmatch(r"https?://[^/\s]+", origin):
            raise ValueError(f"{origin!r} is not an origin; write scheme and host, e.g. https://voice.example.com")
    return origins


def _http_address(value: str) -> str:
    if not re.match(r"https?://[^/\s]+", value):
        raise ValueError("must start with http:// or https:// and name a host, e.g. https://us.api.openai.com/v1")
    return value.rstrip("/")


def as_list(value: Any) -> Any:
    """Return the parts of a text with commas; anything else as it is."""
    return split(value) if isinstance(value, str) else value


LOOPBACK = r"http://(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:/|$)"
"""The pattern of an HTTP address of this machine."""

Names = Annotated[list[str], NoDecode, BeforeValidator(as_list)]
HttpAddress = Annotated[str, AfterValidator(_http_address)]
PortRange = Annotated[tuple[int, int] | None, NoDecode, BeforeValidator(port_range)]
Networks = Annotated[Names, AfterValidator(_networks)]
HostNames = Annotated[Names, AfterValidator(_hosts)]
Origins = Annotated[Names, AfterValidator(_origins)]


def split(value: str) -> list[str]:
    """Return the parts of a comma-separated text."""
    return [part.strip() for part in value.split(",") if part.strip()]
