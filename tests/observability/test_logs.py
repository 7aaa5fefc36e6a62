"""Log lines: JSON with the ids of call, turn and task, in this process and matched with another's."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest

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
    assert "ValueError: odd" in json.loads(line)["exception"] and "\n" not in line


def test_in_text_lines_the_ids_follow_the_message(log: logging.Logger) -> None:
    written = lines_of(log, TextLines())
    with log_ids(session="s1"), log_ids(turn=3):
        log.info("Hello.")
    log.info("Bye.")
    assert written[0].endswith("test of lines: Hello. [session=s1 turn=3]")
    assert written[1].endswith("test of lines: Bye.")


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
    told: dict[str, Any] = {line["message"]: line["session"] for line in map(json.loads, written)}
    assert told == {"work 1": "s1", "work 2": "s2"}
