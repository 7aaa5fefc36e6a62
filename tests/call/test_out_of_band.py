"""A response outside of the conversation fails alone if the Responder cannot give one."""

from dataclasses import replace

from backend.call.out_of_band import OutOfBandResponses
from backend.testing.responder import ScriptedResponder
from backend.turns import commands as do
from backend.turns import events as ev


def test_a_responder_without_out_of_band_responses_is_not_asked() -> None:
    events: list[ev.Event] = []
    responses = OutOfBandResponses(events.append, lambda finished: None)
    responder = ScriptedResponder()
    responder.capabilities = replace(responder.capabilities, out_of_band=False)
    responses.ask(do.CreateOutOfBand("mine", {}), responder)
    [refused] = events
    assert isinstance(refused, ev.OutOfBandRefused) and refused.request == "mine" and not responses.under_way
