"""The Telegram bot of `examples/`, as a process of its own before a whole server. The test plays Telegram."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.http.test_keys import SECRET as KEY
from tests.http.test_keys import token
from tests.support.offline_peer import running_peer
from tests.support.running_server import end, running_server
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
TOKEN, SECRET = token("on_behalf"), "t" * 40


@contextmanager
def running_bot(server_url: str) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {"ASSISTANT_URL": server_url, "ASSISTANT_TOKEN": TOKEN, "TELEGRAM_SECRET": SECRET}
    command = [sys.executable, "-m", "uvicorn", "--app-dir", "examples", "telegram_bot:app", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=dict(os.environ) | settings, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        end(process)


def update(number: int, user: int, text: str) -> dict[str, Any]:
    """An update with a text message, as the Bot API documents it."""
    sender = {"id": user, "is_bot": False, "first_name": "Ana", "language_code": "en"}
    chat = {"id": user, "first_name": "Ana", "type": "private"}
    return {
        "update_id": number,
        "message": {"message_id": number, "from": sender, "chat": chat, "date": 1, "text": text},
    }


@pytest.mark.document("002", "multiturn")
async def test_each_user_of_a_bot_has_a_conversation_of_their_own() -> None:
    shown = {"x-telegram-bot-api-secret-token": SECRET}
    keyed = {"ACCESS": "open,key", "API_KEYS": f"shop:{KEY}", "API_KEY_GRANTS": "shop:on_behalf"}
    with running_peer() as peer, running_server(peer, **keyed) as server, running_bot(server.url) as bot:
        async with httpx2.AsyncClient(base_url=bot, timeout=30) as telegram:

            async def up() -> bool:
                try:
                    return (await telegram.post("/telegram", json={})).status_code == 403
                except httpx2.TransportError:
                    return False

            await until(up, 20)
            first = update(1, 700, "What's the weather in Seattle?")
            answer = (await telegram.post("/telegram", json=first, headers=shown)).json()
            assert (answer["method"], answer["chat_id"]) == ("sendMessage", 700)
            assert "Seattle" in answer["text"]
            assert (await telegram.post("/telegram", json=first, headers=shown)).json() == answer, "it was sent again"
            assert (await telegram.post("/telegram", json={"update_id": 2, "poll": {}}, headers=shown)).json() == {}
            await telegram.post("/telegram", json=update(3, 800, "Hello."), headers=shown)
        program = {"authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(base_url=server.url, headers=program) as client:
            for user, asked in ((700, first["message"]["text"]), (800, "Hello.")):
                named = {"x-on-behalf-of": f"telegram:{user}"}
                kept = (await client.get(f"/api/conversations/chat_{user}", headers=named)).json()["messages"]
                assert [each["content"] for each in kept if each["role"] == "user"] == [asked]
                other = {"x-on-behalf-of": f"telegram:{1500 - user}"}
                assert (await client.get(f"/api/conversations/chat_{user}", headers=other)).status_code == 404
