"""Private parts of libraries that the server uses: these tests fail when a new version changes one.

When a digest differs: read the new source against the file named in `INSIDE`, mend what no longer fits, run the calls
in `tests/transports` and `tests/responders`, and only then write the new digest here.
"""

import ast
import hashlib
import inspect
import re
import threading
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import aioice.ice
import h11
import pytest
import uvicorn
import uvicorn.server
from aiortc import RTCPeerConnection, RTCRtpReceiver, RTCRtpTransceiver
from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcrtpreceiver import StreamStatistics
from aiortc.rtcrtpsender import RTCRtpSender
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.connection import Connection
from websockets.protocol import Protocol

from backend.transports.webrtc.aiortc_media import PacketReceiver, PacketSender, take_over
from tests.support.callers import webrtc_call

DIGESTS: dict[str, tuple[Callable[..., Any], str]] = {
    "receiver starts": (RTCRtpReceiver.receive, "d6d8d8d7a0bf4e95"),
    "receiver stops": (RTCRtpReceiver.stop, "63734b6894ce67a5"),
    "receiver reports": (RTCRtpReceiver._run_rtcp, "0f57daa3218616c0"),
    "receiver counts": (StreamStatistics.add, "d157b75e24b7ff53"),
    "transport hands packets over": (RTCDtlsTransport._handle_rtp_data, "5def9061cc3da1f6"),
    "transport takes a datagram": (RTCDtlsTransport._recv_next, "998076720c05aa13"),
    "transport sends a packet": (RTCDtlsTransport._send_rtp, "763b02bceb0b0ab9"),
    "transport makes its keys": (RTCDtlsTransport._setup_srtp, "75cc6ec308f16da1"),
    "sender starts": (RTCRtpSender.send, "3969482b77a2a65f"),
    "sender runs": (RTCRtpSender._run_rtp, "ff597a1d554cb373"),
    "sender reports": (RTCRtpSender._run_rtcp, "51e0a924eac4e39b"),
    "sender hears reports": (RTCRtpSender._handle_rtcp_packet, "a4ee4c7355f8de7a"),
    "sender stops": (RTCRtpSender.stop, "38c1e92baf8e2997"),
    "connection sends": (aioice.ice.Connection.sendto, "bf162ec03bdce2cc"),
    "connection takes data": (aioice.ice.Connection.data_received, "5631b17fab717d6b"),
    "a socket takes a datagram": (aioice.ice.StunProtocol.datagram_received, "ff4c8b910d45fb3a"),
    "candidates are gathered": (aioice.ice.Connection.gather_candidates, "d33db28d4d1e49ff"),
    "candidates of a component": (aioice.ice.Connection.get_component_candidates, "118597a9fcb703f9"),
    "a check is authenticated": (aioice.ice.Connection.request_received, "dcdc9a3862c1a0b4"),
    "a check is handled": (aioice.ice.Connection.check_incoming, "cb3e32bd47e5fa82"),
    "own addresses": (aioice.ice.get_host_addresses, "d4a54f9a68c39ff1"),
    "reflexive candidate": (aioice.ice.server_reflexive_candidate, "76dd5558471714f7"),
    "WebSocket takes an event": (Connection.process_event, "90e3399e37c0852f"),
    "WebSocket client takes an event": (ClientConnection.process_event, "047114e631b50af1"),
    "WebSocket takes bytes": (Connection.data_received, "19c5a13dd8eb56f7"),
    "WebSocket sends bytes": (Connection.send_data, "b01f84358ffee740"),
    "WebSocket waits for the network": (Connection.drain, "42a1ae01f9bf2907"),
    "WebSocket frames a text": (Protocol.send_text, "9268f18e580a5d67"),
    "server waits for its end": (uvicorn.Server.main_loop, "afccb353a119333f"),
    "server looks whether to end": (uvicorn.Server.on_tick, "60ea49b06ccf68c1"),
    "HTTP connection begins": (H11Protocol.connection_made, "6efb565ff3d36b91"),
    "HTTP connection ends": (H11Protocol.connection_lost, "dbb688fa2b386000"),
    "HTTP takes bytes": (H11Protocol.data_received, "e03b145518ca44aa"),
    "HTTP takes events": (H11Protocol.handle_events, "e63a9d1492e3efe7"),
    "HTTP becomes a WebSocket": (H11Protocol.handle_websocket_upgrade, "6f42a029e35aed5c"),
    "HTTP refuses": (H11Protocol.send_400_response, "56937b748fc59d92"),
    "HTTP answer ends": (H11Protocol.on_response_complete, "1fbb8f48c6a1afc4"),
    "HTTP idle": (H11Protocol.timeout_keep_alive_handler, "fcd7338529fe645e"),
    "HTTP reader's next event": (h11.Connection.next_event, "7d3288bcc261c49c"),
    "HTTP reader takes bytes": (h11.Connection.receive_data, "e0cf0ded695452eb"),
    "server's WebSocket begins": (WebSocketsSansIOProtocol.connection_made, "f533ec93747c2cbf"),
    "server's WebSocket ends": (WebSocketsSansIOProtocol.connection_lost, "dd116afc4d8034e1"),
    "server's WebSocket takes bytes": (WebSocketsSansIOProtocol.data_received, "c89d394077d8841d"),
    "server's WebSocket takes events": (WebSocketsSansIOProtocol.handle_events, "b2c9351a5d13493f"),
    "server's WebSocket fails": (WebSocketsSansIOProtocol.keepalive_timeout, "8e1ceb6ec446de9d"),
    "server catches signals": (uvicorn.Server.capture_signals, "e1bbcd4770d1c887"),
}
BACKEND = Path(__file__).resolve().parent.parent / "backend"
INSIDE = {
    r"aiortc\.(?!exceptions)": "transports/webrtc/aiortc_media.py",
    r"aioice\.": "transports/webrtc/aioice_sockets.py",
    r"websockets\.(frames|protocol|asyncio\.connection)": "responders/realtime.py",
    r"uvicorn$": "app/server.py",
    r"uvicorn\.(config|protocols|server)": "app/connections.py",
    r"h11$": "app/connections.py",
}
"""Private modules of a library → the one file of `backend/` that imports them."""
OTHER_SERVERS = {"responders/serving/server.py"}
"""Files that serve another application with uvicorn in a process of their own."""


def digest(function: Callable[..., Any]) -> str:
    return digest_of(inspect.getsource(function))


def digest_of(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def source_of(module: ModuleType, name: str) -> str:
    """Return the source of a method as its module's file has it, even if another package replaced the method."""
    text = inspect.getsource(module)
    [found] = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and node.name == name]
    return "".join(text.splitlines(keepends=True)[found.lineno - 1 : found.end_lineno])


def test_versions_of_libraries_with_used_private_parts_are_bounded() -> None:
    wanted = tomllib.loads((BACKEND.parent / "pyproject.toml").read_text())["project"]["dependencies"]
    bounded = {re.split(r"[><=]", each)[0] for each in wanted if ",<" in each}
    assert bounded >= {"aiortc", "aioice", "websockets", "uvicorn"}


@pytest.mark.parametrize("modules", INSIDE)
def test_only_one_file_imports_the_private_modules_of_a_library(modules: str) -> None:
    files = {str(path.relative_to(BACKEND)): modules_of(path) for path in BACKEND.rglob("*.py")}
    reached = {file for file, names in files.items() if any(re.match(modules, name) for name in names)}
    assert reached - OTHER_SERVERS == {INSIDE[modules]}


@cache
def modules_of(path: Path) -> set[str]:
    """Return the modules that a file imports from."""
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


@pytest.mark.parametrize("name", DIGESTS)
def test_the_source_of_a_used_private_part_is_unchanged(name: str) -> None:
    function, expected = DIGESTS[name]
    assert digest(function) == expected, f"{function.__qualname__} has changed: {digest(function)}"


def test_the_signal_handler_of_uvicorn_is_unchanged() -> None:
    """Read the file, since sse-starlette, which the MCP SDK imports, replaces this method in the process."""
    assert digest_of(source_of(uvicorn.server, "handle_exit")) == "553276efa26e09ea"


def names(part: object, owner: type) -> set[str]:
    """Return the names in `part` that are private to `owner`, without the prefix."""
    prefix = f"_{owner.__name__}__"
    return {name.removeprefix(prefix) for name in vars(part) if name.startswith(prefix)}


async def test_senders_and_receivers_have_the_private_parts_that_are_used() -> None:
    peer = RTCPeerConnection()
    transceiver = peer.addTransceiver("audio")
    assert names(transceiver.receiver, RTCRtpReceiver) >= {"started", "rtcp_task", "remote_streams"}
    counters = {"packet_count", "octet_count", "ntp_timestamp", "rtp_timestamp"}
    assert names(transceiver.sender, RTCRtpSender) >= counters | {"rtp_started", "rtp_exited"}
    stock = (transceiver.receiver, transceiver.sender)
    assert names(transceiver, RTCRtpTransceiver) >= {"receiver", "sender"}
    take_over(transceiver, lambda packet: None, bytes)
    assert isinstance(transceiver.receiver, PacketReceiver) and isinstance(transceiver.sender, PacketSender)
    assert peer.getReceivers() == [transceiver.receiver] and peer.getSenders() == [transceiver.sender]
    assert transceiver.receiver.transport is stock[0].transport and transceiver.sender.transport is stock[1].transport
    await peer.close()


async def test_a_call_starts_no_decoder_thread() -> None:
    before = threading.active_count()
    async with webrtc_call():
        assert threading.active_count() == before
