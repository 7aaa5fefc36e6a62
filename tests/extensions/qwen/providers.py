"""Alibaba's Qwen-Omni-Realtime, for the contract of Responders."""

from collections.abc import Sequence

from backend.extensions.qwen.codec import CAPABILITIES, QwenCodec
from backend.responders.base import Briefing, PastMessage, Responder
from backend.responders.codec import Voice
from backend.responders.realtime import RealtimeEndpoint, connect_realtime
from tests.support.offline_peer import OfflinePeer
from tests.support.responder_rigs import Provider


async def _connect(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    voice = Voice("qwen3.5-omni-plus-realtime", "Tina", "")
    endpoint = RealtimeEndpoint(peer.realtime_url, "k", voice, new_codec=QwenCodec)
    return await connect_realtime(endpoint, briefing, history)


PROVIDERS = [Provider("qwen", _connect, CAPABILITIES, {"qwen": {"api_key": "k"}}, "QWEN__API_KEY", names_refused=False)]
