"""Log lines are text or JSON, with the ids of the session, turn or task that they belong to.

    with log_ids(session="s1", turn=3):
        log.info("…")      →  {"time": …, "level": "info", "message": "…", "session": "s1", "turn": 3, …}

Tasks that begin inside the block keep the ids. Work that another process continues sets them there again. In text form,
the ids stand in square brackets after the message.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from importlib.metadata import version
from types import MappingProxyType
from typing import Literal

LogFormat = Literal["text", "json"]
SERVICE = "responder-thinker"

_ids: ContextVar[Mapping[str, str | int]] = ContextVar("log ids", default=MappingProxyType({}))


@contextmanager
def log_ids(**ids: str | int) -> Iterator[None]:
    """Add ids to all log lines of the block and of the tasks that begin there; empty ids are left out."""
    before = _ids.set({**_ids.get(), **{name: value for name, value in ids.items() if value}})
    try:
        yield
    finally:
        _ids.reset(before)


def set_up_logs(level: str, form: LogFormat, process: str) -> None:
    """Write the lines of `level` and above to the standard error. `process` is the role of this process."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(process) if form == "json" else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler])


class TextLines(logging.Formatter):
    """Lines for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        """Return the line with the ids after it."""
        ids = " ".join(f"{name}={value}" for name, value in _ids.get().items())
        return super().formatMessage(record) + (f" [{ids}]" if ids else "")


class JsonLines(logging.Formatter):
    """A JSON object in each line, for a log collector: time in UTC, service, version, process, and the ids."""

    def __init__(self, process: str) -> None:
        super().__init__()
        self._always = {"service": SERVICE, "version": version(SERVICE), "process": process, "pid": os.getpid()}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. An exception's traceback stands in `exception`."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self._always,
            **_ids.get(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


TOKEN = re.compile(r"([?&](?:token|code)=)[^&\s\"']+")
LOGGERS = ("uvicorn.access", "uvicorn.error", "uvicorn.asgi")
"""The loggers that write URLs: of requests, WebSocket handshakes and trace messages."""


class WithoutTokens(logging.Filter):
    """Replaces the value of every `token=` in a record's message and arguments."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, str):
            record.msg = redact(record.msg)
        if isinstance(record.args, tuple):
            record.args = tuple(redact(value) if isinstance(value, str) else value for value in record.args)
        return True


def redact(text: str) -> str:
    """Return `text` with every token's value replaced by dots."""
    return TOKEN.sub(r"\1…", text)


def redact_tokens_in_logs() -> None:
    """Put the filter on the server's loggers, once."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(present, WithoutTokens) for present in logger.filters):
            logger.addFilter(WithoutTokens())
