"""The security log: JSON lines of who, what and why, a summary of a flood, a count of every event."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from backend.errors import SettingsError
from backend.observability import security_log
from backend.observability.call_metrics import CallMetrics
from backend.observability.security_log import (
    LINES_OF_ADDRESS,
    LINES_OF_EVENT,
    SecurityEvent,
    open_security_log,
    security_event,
)


@dataclass(frozen=True)
class Somebody:
    user: str = "u-1"
    address: str = "203.0.113.9"
    credential: str = "cookie"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security_log, "_lines", security_log._Lines())


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_has_the_event_the_caller_and_the_reason_without_the_user_id(tmp_path: Path) -> None:
    with open_security_log(tmp_path / "log"):
        security_event(SecurityEvent.REQUEST_REFUSED, Somebody(), "wrong token", status=401, route="/api/admin")
    (line,) = lines(tmp_path / "log")
    at = line.pop("at")
    assert at.endswith("+00:00")
    assert line == {
        "event": "request_refused",
        "reason": "wrong token",
        "user": "a24a7f55f278dd49",
        "credential": "cookie",
        "address": "203.0.113.9",
        "status": 401,
        "route": "/api/admin",
    }


def test_a_line_break_in_a_value_starts_no_new_line(tmp_path: Path) -> None:
    with open_security_log(tmp_path / "log"):
        security_event(SecurityEvent.ADMIN_ACT, None, "x", what='\n{"event": "signed_in"}' + "y" * 1000)
    (line,) = lines(tmp_path / "log")
    assert line["event"] == "admin_act"
    assert len(line["what"]) == 200


def test_a_flood_from_one_address_is_summarised_and_hides_no_other_address(tmp_path: Path) -> None:
    with open_security_log(tmp_path / "log"):
        for _ in range(5_000):
            security_event(SecurityEvent.REQUEST_REFUSED, Somebody(), "too many")
        security_event(SecurityEvent.REQUEST_REFUSED, Somebody(address="198.51.100.1"), "wrong token")
        security_event(SecurityEvent.SIGNED_IN, Somebody(), "by password")
    written = lines(tmp_path / "log")
    assert len(written) == LINES_OF_ADDRESS + 3
    assert [line["address"] for line in written[LINES_OF_ADDRESS:-1]] == ["198.51.100.1", "203.0.113.9"]
    assert written[-1]["left_out"] == 5_000 - LINES_OF_ADDRESS


def test_a_flood_from_many_addresses_is_bounded_too(tmp_path: Path) -> None:
    with open_security_log(tmp_path / "log"):
        for n in range(20_000):
            security_event(SecurityEvent.REQUEST_REFUSED, Somebody(address=f"10.0.{n // 250}.{n % 250}"), "too many")
    *written, summary = lines(tmp_path / "log")
    assert (len(written), summary["left_out"]) == (LINES_OF_EVENT, 20_000 - LINES_OF_EVENT)


def test_the_next_window_starts_with_the_summary_and_has_lines_again(tmp_path: Path) -> None:
    with open_security_log(tmp_path / "log"):
        for _ in range(LINES_OF_ADDRESS + 1):
            security_event(SecurityEvent.SIGNED_IN, Somebody(), "by password")
        security_log._lines._window_ends = 0.0
        security_event(SecurityEvent.SIGNED_IN, Somebody(), "by password")
    *_, summary, last = lines(tmp_path / "log")
    assert (summary["left_out"], last["address"]) == (1, "203.0.113.9")


def test_metrics_count_every_event() -> None:
    metrics = CallMetrics()

    def counted() -> float:
        return metrics.registry.get_sample_value("voice_security_events_total", {"event": "data_erased"}) or 0

    before = counted()
    for _ in range(50):
        security_event(SecurityEvent.DATA_ERASED, Somebody(), "asked")
    assert counted() == before + 50


def test_an_unwritable_file_is_reported_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="SECURITY_LOG"), open_security_log(tmp_path / "none" / "log"):
        pass
