"""Gemini's Live API, for the contract of Responders."""

from __future__ import annotations

from collections.abc import Sequence

from backend.extensions.gemini.codec import CAPABILITIES
from backend.extensions.gemini.responder import connect_gemini
from backend.extensions.gemini.settings import GeminiSettings
from backend.responders.base import Briefing, PastMessage, Responder
from tests.support.offline_peer import OfflinePeer
from tests.support.responder_rigs import Provider


async def _connect(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    settings = GeminiSettings.model_validate({"url": peer.realtime_url, "api_key": "k"})
    return await connect_gemini(settings, briefing, history)


LEAVES_OUT = {
    "test_several_messages_of_a_reply_come_in_order_each_under_its_own_item": "its replies are of one piece",
    "test_why_a_reply_broke_off_is_told": "it does not say why",
    "test_a_rate_limit_names_the_time_after_which_to_ask_again": "it does not say so of a reply",
    "test_over_the_wire_a_wrong_event_is_refused_and_the_line_lives_on": "it hangs up: see test_responder.py",
}
PROVIDERS = [Provider("gemini", _connect, CAPABILITIES, {"gemini": {"api_key": "k"}}, "GEMINI__API_KEY", LEAVES_OUT)]
