"""The STUN and TURN servers of each side, and their credentials."""

import hashlib
import hmac
from base64 import b64encode

from aiortc import RTCIceServer

from backend.transports.webrtc.ice_servers import IceServers

SECRET = "a secret of at least 16 characters"
STUN, TURN = "stun:stun.example:3478", "turn:turn.example:3478"
NOW = 1_700_000_000.0


def servers(*listed: RTCIceServer, secret: str = SECRET, ttl_s: float = 600) -> IceServers:
    return IceServers(listed, turn_secret=secret, ttl_s=ttl_s, now=lambda: NOW)


def test_a_callers_credentials_are_those_that_a_turn_server_computes_from_the_shared_secret() -> None:
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


def test_a_static_password_is_for_the_server_only() -> None:
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
