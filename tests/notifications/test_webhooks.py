"""A turn posted to another server: a real server on loopback checks the signature as a receiver would."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from backend.errors import SettingsError
from backend.middleware.base import Asked, WholeTurn
from backend.middleware.pipeline import Pipeline, discover
from backend.notifications import webhooks
from backend.notifications.webhooks import BODY_LIMIT, WebhookClient, WebhookFailed, WebhookRefused
from backend.storage.memory import Memory
from backend.testing.memory import FakeMemory
from backend.testing.services.server import ApiServer, Reply, Request, json_reply, serving

SECRET = "a secret of some length"
NOW = 1_795_262_400.0


@asynccontextmanager
async def hooks(
    answer: Callable[[Request], Reply], *, hosts: Sequence[str] = ("127.0.0.1",), url: str = "{url}/hook", **more: Any
) -> AsyncIterator[tuple[WebhookClient, ApiServer]]:
    """WebhookClient to a local server."""
    async with serving(answer) as server:
        more.setdefault("pauses_s", (0.01, 0.01))
        chosen = url.format(url=server.url, port=urlsplit(server.url).port)
        webhooks = WebhookClient(url=chosen, secret=SECRET, hosts=hosts, clock=lambda: NOW, **more)
        try:
            yield webhooks, server
        finally:
            await webhooks.close()


def genuine(request: Request) -> bool:
    """Whether the signature is that of the body, computed as a receiver does."""
    signed = request.headers["x-responder-timestamp"].encode() + b"." + request.body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    return hmac.compare_digest(request.headers["x-responder-signature"], f"sha256={expected}")


async def test_a_delivery_is_signed() -> None:
    async with hooks(lambda _: json_reply({})) as (webhooks, server):
        await webhooks.send("turn", {"answer": "Té."})
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/hook")
    assert genuine(request)
    assert request.headers["x-responder-timestamp"] == "1795262400"
    body = request.json()
    assert (body["event"], body["answer"]) == ("turn", "Té.")
    assert body["delivery"] == request.headers["x-responder-delivery"]


async def test_a_server_that_is_not_ready_gets_the_same_delivery_again() -> None:
    statuses = iter([503, 429, 200])
    async with hooks(lambda _: json_reply({}, next(statuses))) as (webhooks, server):
        await webhooks.send("turn", {})
    assert len({request.headers["x-responder-delivery"] for request in server.requests}) == 1
    assert len(server.requests) == 3 and all(map(genuine, server.requests))


async def test_attempts_at_an_absent_server_end() -> None:
    async with hooks(lambda _: Reply(breaks_off=True)) as (webhooks, server):
        with pytest.raises(WebhookFailed):
            await webhooks.send("turn", {"answer": "words"})
    assert len(server.requests) == 3


async def test_an_attempt_ends_in_time_though_the_server_answers_letter_by_letter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhooks, "TIMEOUT_S", 0.3)

    async def dawdle(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            writer.write(b"HTTP/1.1 200 OK\r\nx-long: ")
            while not writer.is_closing():
                writer.write(b"a")
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.close()
        ended.set()

    ended = asyncio.Event()
    async with await asyncio.start_server(dawdle, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        client = WebhookClient(url=f"http://{host}:{port}/hook", secret=SECRET, hosts=[host], pauses_s=())
        async with asyncio.timeout(20):
            with pytest.raises(WebhookFailed):
                await client.send("turn", {})
            await ended.wait()
        await client.close()


@pytest.mark.parametrize("status", [400, 404, 301, 307])
async def test_a_refusal_or_a_redirect_is_final(status: int) -> None:
    elsewhere = {"location": "http://127.0.0.1:9/"}
    async with hooks(lambda _: json_reply({}, status, headers=elsewhere)) as (webhooks, server):
        with pytest.raises(WebhookFailed):
            await webhooks.send("turn", {})
    assert len(server.requests) == 1


async def test_a_name_that_leads_to_a_private_address_is_refused() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1", "10.0.0.8", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fe80::1"]

    url = "http://hooks.example:{port}/hook"
    async with hooks(lambda _: json_reply({}), hosts=["hooks.example"], url=url, resolve=resolve) as (webhooks, server):
        with pytest.raises(WebhookRefused):
            await webhooks.send("turn", {})
    assert server.requests == []


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.0/8"])
async def test_a_listed_private_address_is_requested_under_its_host_name(allowed: str) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return ["10.0.0.8", "127.0.0.1"]

    url, hosts = "http://hooks.example:{port}/hook", ["hooks.example", allowed]
    async with hooks(lambda _: json_reply({}), hosts=hosts, url=url, resolve=resolve) as (webhooks, server):
        await webhooks.send("turn", {})
    assert server.requests[0].headers["host"].startswith("hooks.example:")


async def test_a_name_without_an_address_is_tried_again() -> None:
    tries = []

    async def resolve(host: str, port: int) -> list[str]:
        tries.append(host)
        raise OSError("no such host")

    url = "http://hooks.example/hook"
    async with hooks(lambda _: json_reply({}), hosts=["hooks.example"], url=url, resolve=resolve) as (webhooks, _):
        with pytest.raises(WebhookFailed):
            await webhooks.send("turn", {})
    assert len(tries) == 3


async def test_a_turn_that_is_too_long_is_not_sent() -> None:
    async with hooks(lambda _: json_reply({})) as (webhooks, server):
        with pytest.raises(WebhookRefused):
            await webhooks.send("turn", {"answer": "x" * BODY_LIMIT})
    assert server.requests == []


@pytest.mark.parametrize(
    ("url", "hosts", "secret", "match"),
    [
        ("https://hooks.example/x", ["other.example"], SECRET, "not among PIPELINE__WEBHOOK_HOSTS"),
        ("https://hooks.example/x", [], SECRET, "not among"),
        ("http://10.0.0.8/x", ["hooks.example"], SECRET, "not among"),
        ("ftp://hooks.example/x", ["hooks.example"], SECRET, "http"),
        ("https://me:pw@hooks.example/x", ["hooks.example"], SECRET, "without a password"),
        ("https://hooks.example/x", ["hooks.example"], "short", "less than 16"),
    ],
)
def test_a_wrong_webhook_setting_stops_the_server(url: str, hosts: list[str], secret: str, match: str) -> None:
    with pytest.raises(SettingsError, match=match):
        WebhookClient(url=url, secret=secret, hosts=hosts)


@pytest.mark.parametrize("words", [True, False])
async def test_a_finished_turn_is_sent_without_delaying_the_caller(words: bool) -> None:
    async with hooks(lambda _: json_reply({})) as (webhooks, server):
        services = {Memory: FakeMemory(), WebhookClient: webhooks}
        pipeline = Pipeline(discover(), services, options={"webhook": {"words": words}})
        asked = Asked("Where?", "ada", "c1", "voice", mode="work")
        turn = await pipeline.after(WholeTurn(asked, "There.", message_id="m1", thinkers=("news",)))
        assert turn.answer == "There."
        await pipeline.close(5.0)
    (request,) = server.requests
    body = json.loads(request.body)
    assert (body["user"], body["conversation"], body["source_mode"], body["mode"]) == ("ada", "c1", "voice", "work")
    assert (body["thinkers"], body["answer_characters"], body["message_id"]) == (["news"], 6, "m1")
    assert (body.get("question"), body.get("answer")) == (("Where?", "There.") if words else (None, None))
