"""The telephone providers' REST APIs for calls, played on loopback: they record their orders."""

import re
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backend.testing.services.server import Reply, Request, json_reply

ACCOUNT = "AC0123456789abcdef0123456789abcdef"
TOKEN = "twilio-auth-token"
TELNYX_ACCOUNT = "f5586561-8ff0-4291-a51b-c7dfe4139ff9"
API_KEY = "KEY0123456789"
PRIVATE_KEY = Ed25519PrivateKey.from_private_bytes(b"telnyx-signs-its-requests-so!!!!")
PUBLIC_KEY = b64encode(PRIVATE_KEY.public_key().public_bytes_raw()).decode()
PLIVO_TOKEN = "plivo-auth-token"


def basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


@dataclass
class CallApi:
    """One provider's API. `orders` are pairs of a call's id and the form for it."""

    authorization: str
    path: str
    """A pattern; its one group is the call's id."""
    fails: bool = False
    """Whether orders are refused, as for a call that is over."""
    orders: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def answering(self, request: Request) -> Reply:
        """Answer one request."""
        if request.headers.get("authorization") != self.authorization:
            return json_reply({"message": "Authenticate"}, 401)
        call = re.fullmatch(self.path, request.path)
        if request.method != "POST" or call is None:
            return json_reply({"message": "not found"}, 404)
        if self.fails:
            return json_reply({"code": 21220, "message": "Call is not in-progress.", "status": 400}, 400)
        self.orders.append((unquote(call[1]), dict(parse_qsl(request.body.decode()))))
        return json_reply({})


def twilio_api() -> CallApi:
    """`POST …/Calls/{CallSid}.json`."""
    return CallApi(basic(ACCOUNT, TOKEN), rf"/2010-04-01/Accounts/{ACCOUNT}/Calls/(\w+)\.json")


def telnyx_api() -> CallApi:
    """`POST /v2/texml/Accounts/{sid}/Calls/{sid}`."""
    return CallApi(f"Bearer {API_KEY}", rf"/v2/texml/Accounts/{TELNYX_ACCOUNT}/Calls/([^/]+)")
