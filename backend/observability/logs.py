"""Log lines are text or JSON, with the ids of the session, turn or task that they belong to.

    with log_ids(session="s1", turn=3):
        log.info("…")      →  {"time": …, "level": "info", "message": "…", "session": "s1", "turn": 3, …}

Tasks that begin inside the block keep the ids. Work that another process continues sets them there again. In text form,
the ids stand in square brackets after the message. No line holds what a user says, unless `LOG_WORDS` allows it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from importlib.metadata import version
from numbers import Number
from types import MappingProxyType
from typing import Any, Literal

from backend.errors import VoiceError

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


def set_up_logs(level: str, form: LogFormat, process: str, *, words: bool = False) -> None:
    """Write the lines of `level` and above to the standard error. `process` is the role of this process.

    With `words` and the level debug, lines may hold what users say. Without, libraries log no debug lines.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(process) if form == "json" else TextLines())
    with_words = words and level == "debug"
    logging.basicConfig(level="INFO" if level == "debug" and not with_words else level.upper(), handlers=[handler])
    logging.getLogger("backend").setLevel(level.upper())
    if not with_words:
        keep_words_out()


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
            line["exception"] = record.exc_text or self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


QUERY = re.compile(r"\?[^\s\"'<>]+")
BEHIND_HOST = re.compile(r"(\w+://[^/?#\s\"']+)[/?#][^\s\"'<>]*")
QUOTED = re.compile(r"(?<!\w)(b?(['\"]))(?:\\.|(?!\2)[^\\])+\2")
OURS = frozenset({"backend", "responder_thinker", "security", "uvicorn"})
"""The loggers that write words in queries at most: this server's, and uvicorn's, which has the requests."""


class WordlessRecord(logging.LogRecord):
    """A log record of this server or of a library, without the words of users.

    Every address loses its query, in a library's record its path as well. A library's quoted values are left out. An
    exception has its type and the lines where it was raised; its message stays only if it is a `VoiceError`.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        cut = _cut_own if (self.name or "").partition(".")[0] in OURS else _cut_foreign
        if isinstance(self.args, Mapping):
            self.args = {name: cut(value) for name, value in self.args.items()}
        elif self.args:
            self.args = tuple(cut(value) for value in self.args)
        else:
            self.msg = cut(self.msg)
        if self.exc_info and self.exc_info[1]:
            self.exc_text = "".join(_raised(self.exc_info[1])).rstrip()


def keep_words_out() -> None:
    """Make every log record of this process a `WordlessRecord`, those of libraries included."""
    logging.setLogRecordFactory(WordlessRecord)


def _cut_own(value: Any) -> Any:
    return value if isinstance(value, Number | None) else QUERY.sub("?…", str(value))


def _cut_foreign(value: Any) -> Any:
    cut = _cut_own(type(value).__name__ if isinstance(value, BaseException) else value)
    return QUOTED.sub(r"\1…\2", BEHIND_HOST.sub(r"\1/…", cut)) if isinstance(cut, str) else cut


def _raised(error: BaseException) -> list[str]:
    """Return where an exception was raised, after what led to it."""
    context = None if error.__suppress_context__ else error.__context__
    parts = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    before = [line for each in (error.__cause__ or context, *parts) if each for line in _raised(each)]
    message = f": {_cut_foreign(str(error))}" if isinstance(error, VoiceError) else ""
    lines = traceback.format_tb(error.__traceback__)
    return [*before, "Traceback (most recent call last):\n", *lines, f"{type(error).__name__}{message}\n"]
