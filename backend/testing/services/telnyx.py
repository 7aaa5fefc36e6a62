"""Telnyx's REST API for TeXML calls, `POST /v2/texml/Accounts/{sid}/Calls/{sid}`, for a local stand-in."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backend.testing.services.server import Reply, Request, json_reply

ACCOUNT = "f5586561-8ff0-4291-a51b-c7dfe4139ff9"
API_KEY = "KEY0123456789"
PRIVATE_KEY = Ed25519PrivateKey.from_private_bytes(b"telnyx-signs-its-requests-so!!!!")
PUBLIC_KEY = b64encode(PRIVATE_KEY.public_key().public_bytes_raw()).decode()
PATH = re.compile(r"/v2/texml/Accounts/([^/]+)/Calls/([^/]+)")


@dataclass
class TelnyxApi:
    """The stand-in. `orders` are pairs of a call's SID and the form that was sent for it."""

    orders: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def answering(self, request: Request) -> Reply:
        """Answer one request."""
        if request.headers.get("authorization") != f"Bearer {API_KEY}":
            return json_reply({"errors": [{"code": "10009", "title": "Authentication failed"}]}, 401)
        path = PATH.fullmatch(request.path)
        if request.method != "POST" or path is None or path[1] != ACCOUNT:
            return json_reply({"errors": [{"code": "10005", "title": "Resource not found"}]}, 404)
        call, form = unquote(path[2]), dict(parse_qsl(request.body.decode()))
        self.orders.append((call, form))
        return json_reply({"sid": call, "status": form.get("Status", "in-progress")})
