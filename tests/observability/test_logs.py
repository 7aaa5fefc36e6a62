"""Log lines: JSON with the ids of call, turn and task, in this process and matched with another's."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest

from backend.errors import VoiceError
from backend.observability.logs import JsonLines, TextLines, log_ids


class Lines(logging.Handler):
    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self.written: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.written.append(self.format(record))


@pytest.fixture
def log() -> Iterator[logging.Logger]:
    logger = logging.getLogger("test of lines")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    yield logger
    logger.handlers.clear()


def lines_of(logger: logging.Logger, formatter: logging.Formatter) -> list[str]:
    handler = Lines(formatter)
    logger.addHandler(handler)
    return handler.written


@pytest.mark.document("002", "logs and databases")
def test_a_json_line_has_its_level_its_logger_and_its_ids(log: logging.Logger) -> None:
    written = lines_of(log, JsonLines("worker"))
    with log_ids(session="s1", turn=3, conversation=""):
        log.info("an answer after %d ms", 20)
    log.warning("outside")
    inside, outside = map(json.loads, written)
    assert inside["message"] == "an answer after 20 ms" and inside["level"] == "info"
    assert (inside["session"], inside["turn"]) == ("s1", 3) and "conversation" not in inside
    assert (inside["service"], inside["process"]) == ("responder-thinker", "worker")
    assert inside["version"] == version("responder-thinker")
    assert inside["time"].endswith("+00:00")
    assert "session" not in outside


def test_an_exception_is_one_line_too(log: logging.Logger) -> None:
    written = lines_of(log, JsonLines("server"))
    try:
        raise ValueError("odd")
    except ValueError:
        log.exception("it failed")
    [line] = written
    assert "ValueError" in json.loads(line)["exception"] and "\n" not in line


def test_in_text_lines_the_ids_follow_the_message(log: logging.Logger) -> None:
    written = lines_of(log, TextLines())
    with log_ids(session="s1"), log_ids(turn=3):
        log.info("Hello.")
    log.info("Bye.")
    assert written[0].endswith("test of lines: Hello. [session=s1 turn=3]")
    assert written[1].endswith("test of lines: Bye.")


URL = "https://news.example/everything?q=bees+sleep"


@pytest.mark.usefixtures("wordless_logs")
@pytest.mark.parametrize(
    ("name", "message", "given", "written"),
    [
        ("httpx2", 'HTTP Request: %s %s "%s %d"', ("GET", URL, "HTTP/1.1", 200), "GET https://news.example/… "),
        ("asyncio", "Exception in callback say('my bees', b'sleep', 3)", (), "say('…', b'…', 3)"),
        ("a.plugin", "%(what)s failed: %(why)s", ({"what": 3, "why": ValueError("bees")},), "3 failed: ValueError"),
        ("uvicorn.access", '"%s %s" %d', ("GET", "/ws/a?token=bees", 200), '"GET /ws/a?…" 200'),
        ("backend.tools", "answered by '%s': %s", ("stocks", VoiceError("No.")), "answered by 'stocks': No."),
    ],
)
def test_a_record_holds_no_words_of_users(
    name: str, message: str, given: tuple[Any, ...], written: str, caplog: pytest.LogCaptureFixture
) -> None:
    logging.getLogger(name).warning(message, *given)
    assert written in caplog.text and "bees" not in caplog.text and "sleep" not in caplog.text


@pytest.mark.usefixtures("wordless_logs")
def test_an_exception_is_logged_without_its_message_unless_it_is_ours(log: logging.Logger) -> None:
    written, said = lines_of(log, JsonLines("server")), "two bees"
    try:
        try:
            int(said)
        except ValueError as error:
            raise ExceptionGroup(said, [VoiceError("It is no number."), KeyError(said)]) from error
    except ExceptionGroup:
        log.exception("it failed")
    trace = json.loads(written[0])["exception"]
    assert said not in trace and trace.count("test_logs.py") == 2
    assert "ValueError\n" in trace and "VoiceError: It is no number.\n" in trace and trace.endswith("ExceptionGroup")


async def test_the_ids_follow_the_work_and_reach_no_other_work(log: logging.Logger) -> None:
    written = lines_of(log, JsonLines("server"))

    async def work(number: int) -> None:
        await asyncio.sleep(0)
        log.info("work %d", number)

    with log_ids(session="s1"):
        first = asyncio.create_task(work(1))
    with log_ids(session="s2"):
        second = asyncio.create_task(work(2))
    await asyncio.gather(first, second)
    sessions: dict[str, Any] = {line["message"]: line["session"] for line in map(json.loads, written)}
    assert sessions == {"work 1": "s1", "work 2": "s2"}
