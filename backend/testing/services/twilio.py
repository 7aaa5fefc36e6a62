"""Twilio's REST API for calls, `POST …/Calls/{CallSid}.json`, for a local stand-in that keeps what it was ordered."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from backend.testing.services.server import Reply, Request, json_reply

ACCOUNT = "AC0123456789abcdef0123456789abcdef"
TOKEN = "twilio-auth-token"
PATH = re.compile(r"/2010-04-01/Accounts/(\w+)/Calls/(\w+)\.json")


@dataclass
class TwilioApi:
    """The stand-in. `orders` are pairs of a call's SID and the form that was sent for it."""

    account: str = ACCOUNT
    token: str = TOKEN
    fails: bool = False
    """Whether orders are refused, as for a call that is over (error 21220)."""
    orders: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def answering(self, request: Request) -> Reply:
        """Answer one request."""
        expected = "Basic " + b64encode(f"{self.account}:{self.token}".encode()).decode()
        if request.headers.get("authorization") != expected:
            return json_reply({"code": 20003, "message": "Authenticate", "status": 401}, 401)
        path = PATH.fullmatch(request.path)
        if request.method != "POST" or path is None or path[1] != self.account:
            return json_reply({"code": 20404, "message": "not found", "status": 404}, 404)
        if self.fails:
            return json_reply({"code": 21220, "message": "Call is not in-progress.", "status": 400}, 400)
        form = dict(parse_qsl(request.body.decode()))
        self.orders.append((path[2], form))
        return json_reply({"sid": path[2], "status": form.get("Status", "in-progress")})
