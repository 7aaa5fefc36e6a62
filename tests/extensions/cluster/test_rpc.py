"""Errors between processes: an error in the answering process is raised in the asking one."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import backend.errors
from backend.errors import BadOffer, ModelUnavailable, TooMany, VoiceError
from backend.extensions.cluster.rpc import RpcReply, decode_error, encode_error
from tests.extensions.cluster.test_cluster import link_to
from tests.extensions.cluster.test_faulty_records import rpc_of
from tests.http.world import message_of, place_call, world
from tests.support.redis_server import RedisProcess

KINDS = [kind for kind in vars(backend.errors).values() if isinstance(kind, type) and issubclass(kind, VoiceError)]


def made(kind: type[VoiceError]) -> VoiceError:
    return kind("No.", retry_after_s=7, hint="Wait.") if issubclass(kind, TooMany) else kind("No.", hint="Ask.")


def facts(error: VoiceError) -> tuple[Any, ...]:
    names = ("status", "retry_after_s", "retryable")
    return (type(error), str(error), error.hint, *(getattr(error, name, None) for name in names))


@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_every_kind_of_error_arrives_as_it_was(kind: type[VoiceError]) -> None:
    error = made(kind)
    sent = msgspec.json.encode(encode_error(error))
    assert facts(decode_error(msgspec.json.decode(sent, type=RpcReply))) == facts(error)


def test_changed_fields_of_an_error_arrive_too() -> None:
    error = ModelUnavailable("Away for good.")
    error.retryable = False
    assert facts(decode_error(encode_error(error))) == facts(error)


async def test_errors_travel_by_rpc_and_an_internal_one_reveals_nothing(redis: RedisProcess) -> None:
    async def answer(what: str, args: msgspec.Raw) -> Any:
        if what == "fault":
            raise RuntimeError("a user's words")
        raise BadOffer("There is no audio in it.")

    async with rpc_of(redis, "node", answer) as rpc:
        with pytest.raises(BadOffer) as refused:
            await rpc.call("node", "offer")
        assert refused.value.status == 422 and "Opus" in refused.value.hint
        with pytest.raises(VoiceError) as broken:
            await rpc.call("node", "fault")
        assert type(broken.value) is VoiceError and "words" not in str(broken.value)


async def test_an_offer_that_the_other_server_cannot_read_is_refused_as_here(
    redis: RedisProcess, tmp_path: Path
) -> None:
    async def refuse(sdp: str) -> None:
        if "video" in sdp:
            raise BadOffer("There is no audio in it.")

    async with (
        link_to(redis) as one,
        link_to(redis) as other,
        world(tmp_path, locate=one.locate, session_cap=1) as here,
        world(tmp_path, locate=other.locate, page=False, accept=refuse),
        here.browser() as browser,
    ):
        await place_call(browser)
        refused = await browser.post("/api/rtc/offer", json={"sdp": "v=0\r\nm=video\r\n"})
        assert (refused.status_code, message_of(refused)) == (422, "There is no audio in it.")
        assert (await browser.post("/api/rtc/offer", json={"sdp": "v=0\r\n"})).status_code == 200
