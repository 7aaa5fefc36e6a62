"""Plivo's REST API for calls, `DELETE /v1/Account/{auth_id}/Call/{uuid}/`, for a local stand-in."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field

from backend.testing.services.server import Reply, Request, json_reply

AUTH_ID = "MA0123456789ABCDEFGH"
TOKEN = "plivo-auth-token"
PATH = re.compile(r"/v1/Account/(\w+)/Call/([\w-]+)/")


@dataclass
class PlivoApi:
    """The stand-in. `ended` are the calls that were hung up."""

    ended: list[str] = field(default_factory=list)

    def answering(self, request: Request) -> Reply:
        """Answer one request."""
        if request.headers.get("authorization") != "Basic " + b64encode(f"{AUTH_ID}:{TOKEN}".encode()).decode():
            return json_reply({"error": "authentication failed"}, 401)
        path = PATH.fullmatch(request.path)
        if request.method != "DELETE" or path is None or path[1] != AUTH_ID:
            return json_reply({"error": "not found"}, 404)
        self.ended.append(path[2])
        return json_reply({}, 204)
