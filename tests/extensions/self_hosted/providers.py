"""Self-hosted servers, for the contract of Responders."""

from __future__ import annotations

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
    "test_the_tokens_of_a_reply_are_told_by_kind": "it counts no audio, or nothing at all: see test_codecs.py",
    "test_over_the_wire_a_wrong_event_is_refused_and_the_line_lives_on": "it knows no clear, or takes it",
}
NO_LIMIT = {"test_a_rate_limit_names_the_time_after_which_to_ask_again": "it does not say so of a reply"}
NO_REASON = {"test_why_a_reply_broke_off_is_told": "it does not say why"}


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
