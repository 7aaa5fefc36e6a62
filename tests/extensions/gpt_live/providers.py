"""OpenAI's GPT-Live, for the contract of Responders."""

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
    "test_the_messages_of_a_reply_arrive_in_order_with_an_item_each": "its replies are of one piece",
    "test_parallel_tool_calls_arrive_before_the_end_and_take_results": "it delegates: see test_responder.py",
    "test_an_incomplete_reply_has_its_reason": "it does not say why",
    "test_a_rate_limit_has_the_time_after_which_to_retry": "it does not say so of a reply",
    "test_the_tokens_of_a_reply_are_counted_by_kind": "it counts seconds of the session",
    "test_the_strict_peer_refuses_a_wrong_event_and_keeps_the_connection": "it begins otherwise: see test_responder.py",
}
PROVIDERS = [Provider("gpt_live", _connect, CAPABILITIES, {"openai_api_key": "k"}, "OPENAI_API_KEY", LEAVES_OUT)]
