"""Registration at a trunk: a registrar that challenges, wants longer times, refuses, or is silent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from aiosipua import SipMessage, SipRequest

from backend.extensions.sip.digest import DigestAuth, DigestVerdict
from backend.extensions.sip.messages import response_to
from backend.extensions.sip.registration import Registration
from tests.extensions.sip.sip_agents import user_agent
from tests.extensions.sip.sip_phone import HERE
from tests.support.offline_peer import running_peer
from tests.support.running_server import RunningServer, a_browser, running_server
from tests.support.waiting import until

PASSWORD = "the-trunk's-password"


@dataclass
class Registrar(asyncio.DatagramProtocol):
    """A trunk's registrar, on a real socket."""

    refuses: int = 0
    shortest_s: int = 0
    digest: DigestAuth = field(default_factory=lambda: DigestAuth(b"r" * 32, "trunk", {"account": PASSWORD}))
    registered: list[int] = field(default_factory=list)
    """The seconds of each granted registration."""
    contacts: list[str] = field(default_factory=list)
    keep_alives: int = 0
    second: int = 1_000

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: Any) -> None:
        if not data.strip():
            self.keep_alives += 1
            return
        request = SipMessage.parse(data)
        assert isinstance(request, SipRequest)
        self.transport.sendto(bytes(self.answer(request)), addr)

    def answer(self, request: SipRequest) -> SipMessage:
        asked = int(request.headers.get_first("expires") or 0)
        if self.refuses:
            return response_to(request, self.refuses)
        if self.digest.check(request, HERE, self.second)[0] is not DigestVerdict.RIGHT:
            self.second += 1  # a nonce of its own for each
            challenge = self.digest.challenge(HERE, self.second)
            return response_to(request, 401, headers={"WWW-Authenticate": challenge})
        if 0 < asked < self.shortest_s:
            return response_to(request, 423, headers={"Min-Expires": str(self.shortest_s)})
        self.registered.append(asked)
        self.contacts.append(request.headers.get_first("contact") or "")
        return response_to(request, 200, headers={"Expires": str(asked)})


@asynccontextmanager
async def listening(**options: Any) -> AsyncIterator[tuple[Registrar, str]]:
    """A registrar, and the address of an account there."""
    loop = asyncio.get_running_loop()
    transport, registrar = await loop.create_datagram_endpoint(lambda: Registrar(**options), local_addr=(HERE, 0))
    try:
        yield registrar, f"sip:account@{HERE}:{registrar.port}"
    finally:
        transport.close()


@asynccontextmanager
async def registering(**options: Any) -> AsyncIterator[tuple[Registrar, Registration]]:
    """A user agent that registers at a registrar until the end."""
    async with (
        listening(**options) as (registrar, account),
        user_agent(lambda call: call.refuse(486), trunk=account, trunk_password=PASSWORD) as agent,
    ):
        registration = Registration(agent, account)
        running = asyncio.create_task(registration.run())
        try:
            yield registrar, registration
        finally:
            running.cancel()
            await registration.close()


async def test_a_challenge_is_answered_and_at_the_end_the_account_is_released() -> None:
    async with registering() as (registrar, registration):
        await until(lambda: registration.state == "ok")
        assert registrar.registered == [300]
        assert registrar.contacts[0].startswith(f"<sip:account@{HERE}:")
        assert registration._agent._gate.trunk == {HERE}
    assert registrar.registered == [300, 0]


async def test_a_registrar_that_wants_longer_times_gets_them() -> None:
    async with registering(shortest_s=900) as (registrar, registration):
        await until(lambda: registration.state == "ok")
        assert registrar.registered == [900]


async def test_a_refusal_is_logged_and_not_tried_again_immediately() -> None:
    async with registering(refuses=403) as (registrar, registration):
        await until(lambda: "403" in registration.state)
        await asyncio.sleep(0.5)
        assert registrar.registered == []


async def test_the_server_shows_the_state_of_its_registration() -> None:
    settings = {"SIP__ENABLED": "true", "SIP__HOST": HERE, "SIP__PORT": "0", "SIP__TRUNK_PASSWORD": PASSWORD}

    async def shows(server: RunningServer, state: str) -> bool:
        async with a_browser(server) as browser:
            answer = await browser.get("/readyz")
        assert answer.status_code == 200, "without its trunk it still takes other calls"
        return state in answer.json()["sip_trunks"][trunk]

    async with listening() as (registrar, trunk):
        with running_peer() as peer:
            for refuses, state in ((0, "ok"), (403, "refuses the registration")):
                registrar.refuses = refuses
                with running_server(peer, **settings, SIP__TRUNK=trunk) as server:
                    await until(partial(shows, server, state))
