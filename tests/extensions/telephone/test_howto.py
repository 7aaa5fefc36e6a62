"""The guide's settings and addresses for telephone providers, used as they stand, but for what is secret."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.extensions.telephone.announcing import announce, announce_plivo, announce_telnyx
from tests.extensions.telephone.stand_ins import (
    ACCOUNT,
    API_KEY,
    AUTH_ID,
    PLIVO_TOKEN,
    PUBLIC_KEY,
    TELNYX_ACCOUNT,
    TOKEN,
)
from tests.support.offline_peer import running_peer
from tests.support.running_server import running_server

pytestmark = pytest.mark.realtime

HOWTO = Path("docs/howto/telephone.md").read_text()
SECRET = {
    "TWILIO__AUTH_TOKEN": TOKEN,
    "TWILIO__ACCOUNT_SID": ACCOUNT,
    "TELNYX__PUBLIC_KEY": PUBLIC_KEY,
    "TELNYX__API_KEY": API_KEY,
    "TELNYX__ACCOUNT_SID": TELNYX_ACCOUNT,
    "PLIVO__AUTH_TOKEN": PLIVO_TOKEN,
    "PLIVO__AUTH_ID": AUTH_ID,
}


def settings() -> dict[str, str]:
    """What the guide has an operator set for the three providers, and for transfers; our proxy is this machine."""
    blocks = "".join(re.findall(r"```sh\n(.*?)```", HOWTO, re.S))
    found = dict(re.findall(r"^ *([A-Z_]+)=(\S+)", blocks, re.M))
    wanted = {name: value for name, value in found.items() if not name.startswith("SIP__")}
    assert set(wanted) == {*SECRET, "ALLOWED_HOSTS", "TRUSTED_PROXIES", "TELEPHONE__TRANSFERS"}
    return wanted | SECRET | {"TRUSTED_PROXIES": "127.0.0.1/32"}


async def test_the_settings_of_the_guide_take_calls_at_its_addresses_behind_its_proxy() -> None:
    assert "`https://voice.example.com/twilio/voice`" in HOWTO
    through_proxy = {"host": "voice.example.com", "x-forwarded-proto": "https", "x-forwarded-for": "54.172.60.1"}
    with running_peer() as peer, running_server(peer, **settings()) as server:
        signed_for = "https://voice.example.com/twilio/voice"
        answer = await announce(server.url, signed_for=signed_for, headers=through_proxy)
        assert answer.status == 200 and answer.stream[0] == "wss://voice.example.com/twilio/media"
        other = await announce(server.url, signed_for=signed_for.replace("https", "http"), headers=through_proxy)
        assert other.status == 403, "Twilio signs the very address it calls"
        for name, announced in (("telnyx", announce_telnyx), ("plivo", announce_plivo)):
            assert f"`https://voice.example.com/{name}/voice`" in HOWTO
            assert (await announced(server.url)).status == 200
