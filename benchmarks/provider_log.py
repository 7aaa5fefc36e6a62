"""The Responder's side of a run, from the offline server's own log (`/debug/connections`)."""

from collections.abc import Iterator
from typing import Any

import httpx2

from benchmarks.measurements import ProviderCall, ProviderTurn

FETCH_WITHIN_S = 60.0


def provider_calls(provider_url: str, clock_ahead_s: float) -> list[ProviderCall]:
    """Per connection, oldest first: when each reply was asked for, and when its first audio left.

    `clock_ahead_s`: how far wall-clock time, which the log keeps, is ahead of the steady clock of our records.
    """
    answer = httpx2.get(f"{provider_url}/debug/connections", timeout=FETCH_WITHIN_S, trust_env=False)
    answer.raise_for_status()
    return [call_of(connection, clock_ahead_s) for connection in answer.json()["connections"]]


def call_of(connection: dict[str, Any], clock_ahead_s: float) -> ProviderCall:
    """One connection's log."""
    asked = sum(event["type"] == "response.create" for event in connection["received"])
    return ProviderCall(tuple(_turns(connection, clock_ahead_s)), asked)


def _turns(connection: dict[str, Any], clock_ahead_s: float) -> Iterator[ProviderTurn]:
    opened = connection["opened_at"] - clock_ahead_s
    asked = [opened + event["at"] for event in connection["received"] if event["type"] == "response.create"]
    sent = [event for event in connection["sent"] if event["type"] == "response.output_audio.delta"]
    first: dict[str, float] = {}
    for event in sent:
        first.setdefault(event["event"]["response_id"], opened + event["at"])
    answered = sorted(first.values())
    for at, following in zip(asked, [*asked[1:], float("inf")], strict=False):
        audio = next((moment for moment in answered if at <= moment < following), None)
        if audio is not None:
            yield ProviderTurn(at, audio)
