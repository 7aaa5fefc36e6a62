"""xAI's voice agent API, for the contract of Responders."""

from collections.abc import Sequence

from backend.extensions.xai.codec import CAPABILITIES, XaiCodec
from backend.responders.base import Briefing, PastMessage, Responder
from backend.responders.codec import Voice
from backend.responders.realtime import RealtimeEndpoint, connect_realtime
from tests.support.offline_peer import OfflinePeer
from tests.support.responder_rigs import Provider


async def _connect(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
    voice = Voice("grok-voice-latest", "eve", "", effort="none")
    endpoint = RealtimeEndpoint(peer.realtime_url, "k", voice, new_codec=XaiCodec)
    return await connect_realtime(endpoint, briefing, history)


HEARD = 7
"""Tokens of 200 ms and of the silence by which it knows the end."""
PROVIDERS = [
    Provider(
        "xai", _connect, CAPABILITIES, {"xai": {"api_key": "k"}}, "XAI__API_KEY", retry_after_s=0.0, tokens_heard=HEARD
    )
]
