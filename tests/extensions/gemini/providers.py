"""Gemini's Live API, for the contract of Responders."""

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
    "test_the_messages_of_a_reply_arrive_in_order_with_an_item_each": "its replies are of one piece",
    "test_an_incomplete_reply_has_its_reason": "it does not say why",
    "test_a_rate_limit_has_the_time_after_which_to_retry": "it does not say so of a reply",
    "test_the_strict_peer_refuses_a_wrong_event_and_keeps_the_connection": "it hangs up: see test_responder.py",
}
PROVIDERS = [Provider("gemini", _connect, CAPABILITIES, {"gemini": {"api_key": "k"}}, "GEMINI__API_KEY", LEAVES_OUT)]
