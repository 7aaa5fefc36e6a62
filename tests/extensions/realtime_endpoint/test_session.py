"""The meaning of a session's fields for the call."""

from typing import Any

import pytest

from backend.media.g711 import Law
from backend.sessions.client_session import ClientSession
from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.limits import TurnLimits


def session(**detection: Any) -> ClientSession:
    made = ClientSession("sess_1", "gpt-realtime-2", voice="marin", transcription="whisper-1", expires_at=0)
    if detection:
        made.update({"type": "realtime", "audio": {"input": {"turn_detection": detection}}})
    return made


@pytest.mark.parametrize("usual", EndpointingStyle)
@pytest.mark.parametrize("detection", [{}, {"type": "server_vad"}, {"type": "semantic_vad"}])
def test_a_session_without_an_eagerness_has_the_servers(usual: EndpointingStyle, detection: dict[str, str]) -> None:
    assert session(**detection).options.limits(TurnLimits(style=usual)).style is usual


@pytest.mark.parametrize(("eagerness", "style"), [("low", "patient"), ("medium", "balanced"), ("high", "eager")])
def test_a_session_with_an_eagerness_has_its_own(eagerness: str, style: str) -> None:
    options = session(type="semantic_vad", eagerness=eagerness).options
    for usual in EndpointingStyle:
        assert options.limits(TurnLimits(style=usual)).style == style


@pytest.mark.parametrize(("kind", "law"), [("audio/pcmu", Law.MU), ("audio/pcma", Law.A)])
@pytest.mark.parametrize("rate", [{}, {"rate": 8000}, {"rate": None}])
def test_telephone_formats_are_accepted_with_their_rate_and_without(kind: str, law: Law, rate: dict[str, Any]) -> None:
    made = session()
    made.update({"type": "realtime", "audio": {"input": {"format": {"type": kind, **rate}}}})
    assert made.input_law is law
