"""Keeps session tokens out of the server's logs.

An EventSource and a WebSocket can only carry their token in the query, and the server logs whole addresses.
"""

from __future__ import annotations

import logging
import re

TOKEN = re.compile(r"([?&]token=)[^&\s\"']+")
LOGGERS = ("uvicorn.access", "uvicorn.error", "uvicorn.asgi")
"""Who logs addresses: requests, WebSocket handshakes, trace messages."""


class WithoutTokens(logging.Filter):
    """Replaces the value of every `token=` in a record's message and arguments."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, str):
            record.msg = redact(record.msg)
        if isinstance(record.args, tuple):
            record.args = tuple(redact(value) if isinstance(value, str) else value for value in record.args)
        return True


def redact(text: str) -> str:
    """`text` with every token's value replaced by dots."""
    return TOKEN.sub(r"\1…", text)


def keep_tokens_out() -> None:
    """Put the filter on the server's loggers, once."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(present, WithoutTokens) for present in logger.filters):
            logger.addFilter(WithoutTokens())
