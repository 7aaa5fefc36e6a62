"""Typed turns against the whole server as a process, with its own Redis: restarts, outages, two users, a call."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import httpx2
import psutil

from responder_thinker.signalling import Signalling, page_events
from responder_thinker.websocket import WebSocketCaller
from tests.support.running_server import running_server
from tests.support.waiting import until


async def say(http: httpx2.AsyncClient, text: str, conversation: str = "trip", **more: Any) -> dict[str, Any]:
    """A typed turn that must be answered."""
    body = {"message": text, "conversation_id": conversation} | more
    response = await http.post("/api/multiturn", json=body)
    assert response.status_code == 200, response.text
    reply: dict[str, Any] = response.json()
    return reply


def client(url: str, cookies: httpx2.Cookies | None = None) -> httpx2.AsyncClient:
    """A visitor, or one who comes back."""
    return httpx2.AsyncClient(base_url=url, trust_env=False, timeout=20, cookies=cookies)


def redis_of(server: int) -> psutil.Process:
    (redis,) = [one for one in psutil.Process(server).children(recursive=True) if "redis-server" in one.name()]
    return redis


async def test_a_conversation_survives_a_restart_an_outage_and_a_call_and_stays_its_owners(
    tmp_path: Path,
) -> None:
    with running_server(folder=tmp_path, CHAT_TURNS_PER_MINUTE="0") as first:
        async with client(first.url) as ana, client(first.url) as bob:
            await Signalling(ana).config()
            before = await say(ana, "My name is Ana.", message_id="m1")
            assert before["history"] == "kept"
            assert (await say(bob, "What is my name?"))["text"] == "You have not told me anything about that."
            cookies = ana.cookies
    with running_server(folder=tmp_path, CHAT_TURNS_PER_MINUTE="0") as second:
        async with client(second.url, cookies) as ana:
            assert await say(ana, "My name is Ana.", message_id="m1") == before
            assert (await say(ana, "What is my name?"))["text"] == "You told me: Your name is Ana."
            assert await _heard_in_a_call(ana, "What did you say?") == "You told me: Your name is Ana."
            await until(lambda: _knows(ana, 6))
            await _outage(ana, second.pid)


async def _knows(http: httpx2.AsyncClient, messages: int) -> bool:
    told = (await http.get("/api/conversations/trip")).json()
    return len(told["messages"]) >= messages


async def _heard_in_a_call(http: httpx2.AsyncClient, text: str) -> str:
    """What the Responder says to `text`, typed into a call that goes on with the conversation."""
    signalling, caller = Signalling(http), WebSocketCaller()
    ticket = await signalling.open_session("trip")
    try:
        await caller.connect(signalling.socket_url(ticket), ticket.token, headers=signalling.cookies())
        async for event in page_events(http, ticket):
            if event.type == "session_started":
                assert event.data["history"] == "kept"
                await signalling.ask("POST", f"/api/sessions/{ticket.session_id}/messages", {"text": text})
            if event.type == "transcript" and event.data["role"] == "assistant":
                return str(event.data["content"]).strip()
        raise AssertionError("the call ended without a word")
    finally:
        await signalling.disconnect(ticket)
        await caller.close()


async def _outage(ana: httpx2.AsyncClient, server: int) -> None:
    """Redis stands still in mid-conversation: the answer comes without the history, says so, and soon."""
    redis = redis_of(server)
    redis.send_signal(signal.SIGSTOP)
    try:
        asked_at = time.monotonic()
        reply = await say(ana, "What is 17 times 24?")
        assert reply["history"] == "unavailable" and "408" in reply["text"]
        assert time.monotonic() - asked_at < 10
    finally:
        redis.send_signal(signal.SIGCONT)
    await until(lambda: _back(ana))


async def _back(http: httpx2.AsyncClient) -> bool:
    return bool((await say(http, "What is my name?"))["history"] == "kept")
