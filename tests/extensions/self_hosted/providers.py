"""Self-hosted servers, for the contract of Responders."""

from collections.abc import Sequence

from backend.extensions.self_hosted.codecs import CODECS, SPEECH_TO_SPEECH, VLLM_OMNI
from backend.extensions.self_hosted.scripted import REFUSALS
from backend.responders.base import Briefing, Capabilities, PastMessage, Responder
from backend.responders.codec import Voice
from backend.responders.limits_and_usage import UNNAMED_WAIT_S
from backend.responders.realtime import RealtimeEndpoint, connect_realtime
from tests.support.offline_peer import OfflinePeer
from tests.support.responder_rigs import Provider

LEAVES_OUT = {
    "test_the_tokens_of_a_reply_are_counted_by_kind": "it counts no audio, or nothing at all: see test_codecs.py",
    "test_the_strict_peer_refuses_a_wrong_event_and_keeps_the_connection": "it knows no clear, or takes it",
}
NO_LIMIT = {"test_a_rate_limit_has_the_time_after_which_to_retry": "it does not say so of a reply"}
NO_REASON = {"test_an_incomplete_reply_has_its_reason": "it does not say why"}


def _provider(name: str, can: Capabilities, left_out: dict[str, str], retry_after_s: float = 1.5) -> Provider:
    async def connect(peer: OfflinePeer, briefing: Briefing, history: Sequence[PastMessage]) -> Responder:
        voice = Voice("ours", "", transcript_model="")
        endpoint = RealtimeEndpoint(peer.realtime_url, "k", voice, new_codec=CODECS[name])
        return await connect_realtime(endpoint, briefing, history)

    return Provider(
        name, connect, can, leaves_out=LEAVES_OUT | left_out, retry_after_s=retry_after_s, refuses_with=REFUSALS
    )


PROVIDERS = [
    _provider("speech_to_speech", SPEECH_TO_SPEECH, {}, UNNAMED_WAIT_S),
    _provider("localai", SPEECH_TO_SPEECH, NO_LIMIT | NO_REASON),
    _provider("vllm_omni", VLLM_OMNI, NO_LIMIT),
]
