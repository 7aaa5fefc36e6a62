"""The scripted HTTP server, under the name tests know it by; it lives with the stand-ins."""

from __future__ import annotations

from backend.standins.server import ApiServer, Handler, Reply, Request, json_reply, serving, text_reply

__all__ = ["ApiServer", "Handler", "Reply", "Request", "json_reply", "serving", "text_reply"]
