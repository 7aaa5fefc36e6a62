"""Responses outside of the conversation where they cannot be had: that is an error of the request alone."""

from __future__ import annotations

from dataclasses import replace

from backend.call.out_of_band import OutOfBandResponses
from backend.turns import commands as do
from backend.turns import events as ev
from tests.support.scripted_responder import ScriptedResponder


def test_a_responder_that_cannot_give_them_is_not_asked() -> None:
    told: list[ev.Event] = []
    responses = OutOfBandResponses(told.append, lambda finished: None)
    responder = ScriptedResponder()
    responder.capabilities = replace(responder.capabilities, out_of_band=False)
    responses.ask(do.CreateOutOfBand("mine", {}), responder)
    [refused] = told
    assert isinstance(refused, ev.OutOfBandRefused) and refused.request == "mine" and not responses.under_way
