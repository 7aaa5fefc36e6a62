"""OpenAI's GPT-Live, for the contract of Responders."""

from __future__ import annotations

from collections.abc import Sequence

from backend.extensions.gpt_live.codec import CAPABILITIES
from backend.extensions.gpt_live.responder import connect_live
from backend.extensions.gpt_live.settings import GptLiveSettings
from backend.responders.base import Briefing, PastMessage, Responder
from tests.support.offline_peer import OfflinePeer
from tests.support.responder_rigs import Provider


async def _connect(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    return await connect_live(GptLiveSettings.model_validate({"url": peer.realtime_url}), "k", briefing, history)


LEAVES_OUT = {
    "test_several_messages_of_a_reply_come_in_order_each_under_its_own_item": "its replies are of one piece",
    "test_parallel_calls_come_before_the_end_and_are_each_answered": "it delegates: see test_responder.py",
    "test_why_a_reply_broke_off_is_told": "it does not say why",
    "test_a_rate_limit_names_the_time_after_which_to_ask_again": "it does not say so of a reply",
    "test_the_tokens_of_a_reply_are_told_by_kind": "it counts seconds of the session",
    "test_over_the_wire_a_wrong_event_is_refused_and_the_line_lives_on": "it begins otherwise: see test_responder.py",
}
PROVIDERS = [Provider("gpt_live", _connect, CAPABILITIES, {"openai_api_key": "k"}, "OPENAI_API_KEY", LEAVES_OUT)]
