"""Which STUN and TURN servers each side gets, and with which credentials."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import shutil
import socket
import subprocess
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from aiortc import RTCIceServer

from backend.transports.webrtc.ice import IceConfig
from backend.transports.webrtc.ice_servers import IceServers
from backend.transports.webrtc.transport import accept_offer
from responder_thinker.webrtc import WebRTCCaller

SECRET = "a secret of at least 16 characters"
STUN, TURN = "stun:stun.example:3478", "turn:turn.example:3478"
NOW = 1_700_000_000.0
TURNSERVER = shutil.which("turnserver")


def servers(*listed: RTCIceServer, secret: str = SECRET, ttl_s: float = 600) -> IceServers:
    return IceServers(listed, turn_secret=secret, ttl_s=ttl_s, now=lambda: NOW)


def test_a_callers_credentials_are_what_a_turn_server_computes_from_the_shared_secret() -> None:
    [given], expires_at = servers(RTCIceServer(TURN)).for_caller("ana")
    expiry, _, name = str(given.username).partition(":")
    assert int(expiry) == expires_at == NOW + 600
    expected = hmac.new(SECRET.encode(), str(given.username).encode(), hashlib.sha1).digest()
    assert given.credential == b64encode(expected).decode()
    assert "ana" not in str(given.username) and len(name) == 16


def test_the_name_in_them_is_the_users_own_and_always_the_same() -> None:
    here = servers(RTCIceServer(TURN))
    names = {user: str(here.for_caller(user)[0][0].username) for user in ("ana", "ben")}
    assert names["ana"] != names["ben"]
    assert names["ana"] == str(here.for_caller("ana")[0][0].username)


def test_a_static_password_is_the_servers_own_and_given_to_nobody() -> None:
    both = RTCIceServer([STUN, TURN], username="u", credential="very-secret")
    for secret in ("", SECRET):
        here = servers(both, secret=secret)
        given, _ = here.for_caller("ana")
        assert [each.urls for each in given] == [[STUN]]
        assert ([TURN], "very-secret") in [(each.urls, each.credential) for each in here.for_us()]
        assert here.withheld == [TURN] and not here.gives_credentials
        assert [each.urls for each in here.open_to_all] == [[STUN]]


def test_the_server_signs_credentials_of_its_own() -> None:
    here = servers(RTCIceServer(STUN), RTCIceServer(TURN))
    stun, turn = here.for_us()
    assert stun.username is None
    assert str(turn.username) == f"{int(NOW) + 600}:server"
    assert here.gives_credentials and not here.withheld


@contextmanager
def coturn() -> Iterator[str]:
    """A real TURN server with our secret, on loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--use-auth-secret", f"--static-auth-secret={SECRET}", "--realm=voice.example", "--no-cli", "--no-tls"]
    options += ["--no-dtls", "--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", f"--listening-port={port}"]
    options += ["--no-tcp", "--allow-loopback-peers", "--pidfile=turn.pid", "--db=turn.sqlite", "--log-file=turn.log"]
    with tempfile.TemporaryDirectory() as folder:
        command = [str(TURNSERVER), "-n", *options]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1.0)  # it says nothing when it is ready
            assert process.poll() is None
            yield f"turn:127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(10)


@pytest.mark.skipif(TURNSERVER is None, reason="coturn is not installed")
async def test_coturn_relays_for_these_credentials_and_not_for_expired_or_forged_ones() -> None:
    with coturn() as url:
        listed = [RTCIceServer(url)]
        good = IceServers(listed, turn_secret=SECRET)
        expired = IceServers(listed, turn_secret=SECRET, now=lambda: time.time() - 7200)
        forged = IceServers(listed, turn_secret="another secret of 16")
        for here, relayed in ((good, True), (expired, False), (forged, False)):
            given, _ = here.for_caller("ana")
            assert await is_relayed(tuple(given)) is relayed


async def is_relayed(given: tuple[RTCIceServer, ...]) -> bool:
    caller = WebRTCCaller(IceConfig(force_host="127.0.0.1"))
    try:
        async with asyncio.timeout(10):
            answer, transport = await accept_offer(
                await caller.offer(), IceConfig(force_host="127.0.0.1", ice_servers=given)
            )
        await transport.close()
    except Exception as error:  # noqa: BLE001 - aioice raises what the TURN server answered
        assert "401" in str(error) or "Unauthorized" in str(error) or isinstance(error, TimeoutError), repr(error)
        return False
    finally:
        await caller.close()
    return "typ relay" in answer
