"""Our reach inside aiortc and aioice: these fail, loudly, when a new version changes what is relied on.

When a digest differs: read the new source against `aiortc_media.py` or `aioice_ports.py`, mend what no longer
fits, run the calls in this directory, and only then write the new digest here.
"""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import aioice.ice
import pytest
from aiortc import RTCPeerConnection, RTCRtpReceiver
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpsender import RTCRtpSender

from backend.transports.aiortc_media import PacketReceiver, take_packets
from tests.support.callers import webrtc_call

DIGESTS: dict[str, tuple[Callable[..., Any], str]] = {
    "receiver starts": (RTCRtpReceiver.receive, "d6d8d8d7a0bf4e95"),
    "receiver stops": (RTCRtpReceiver.stop, "63734b6894ce67a5"),
    "receiver takes a packet": (RTCRtpReceiver._handle_rtp_packet, "4e54983d021a6336"),
    "receiver reports": (RTCRtpReceiver._run_rtcp, "0f57daa3218616c0"),
    "transport hands packets over": (RTCDtlsTransport._handle_rtp_data, "5def9061cc3da1f6"),
    "sender asks its track": (RTCRtpSender._next_encoded_frame, "89dd9fa4fb33741c"),
    "candidates are gathered": (aioice.ice.Connection.gather_candidates, "d33db28d4d1e49ff"),
    "candidates of a component": (aioice.ice.Connection.get_component_candidates, "118597a9fcb703f9"),
    "own addresses": (aioice.ice.get_host_addresses, "d4a54f9a68c39ff1"),
    "reflexive candidate": (aioice.ice.server_reflexive_candidate, "76dd5558471714f7"),
}


def digest(function: Callable[..., Any]) -> str:
    return hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:16]


def test_the_versions_are_the_ones_looked_into() -> None:
    assert version("aiortc").startswith("1.16.")
    assert version("aioice").startswith("0.13.")


@pytest.mark.parametrize("name", DIGESTS)
def test_the_source_relied_on_is_unchanged(name: str) -> None:
    function, expected = DIGESTS[name]
    assert digest(function) == expected, f"{function.__qualname__} has changed: {digest(function)}"


async def test_a_receiver_has_what_is_reached_for() -> None:
    peer = RTCPeerConnection()
    transceiver = peer.addTransceiver("audio")
    inside = vars(transceiver.receiver)
    assert {f"_RTCRtpReceiver__{name}" for name in ("started", "rtcp_task", "remote_streams")} <= inside.keys()
    assert vars(transceiver)["_RTCRtpTransceiver__receiver"] is transceiver.receiver
    take_packets(transceiver, lambda packet: None)
    assert isinstance(transceiver.receiver, PacketReceiver)
    assert peer.getReceivers() == [transceiver.receiver]
    await peer.close()


async def test_a_call_starts_no_decoder_thread() -> None:
    before = threading.active_count()
    async with webrtc_call():
        assert threading.active_count() == before
