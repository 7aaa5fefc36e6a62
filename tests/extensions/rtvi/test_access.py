"""Who may open an RTVI call over a WebSocket, by token, origin and limits, and what refused clients hear."""

import asyncio
import json
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from backend.extensions.rtvi.frames import read_frame, write_audio, write_message
from tests.http.test_keys import PAGE, keyed, token
from tests.http.world import World, world
from tests.support.waiting import until


async def asked(here: World, query: str = "", origin: str = "") -> str:
    """Open the socket; return why the call is refused, or nothing."""
    headers = {"origin": origin} if origin else {}
    url = here.url.replace("http", "ws") + "/api/rtvi" + query
    before = len(here.calls)
    async with connect(url, proxy=None, compression=None, additional_headers=headers) as socket, asyncio.timeout(30):
        try:
            while len(here.calls) == before:
                read = read_frame(bytes(await asyncio.wait_for(socket.recv(decode=False), 0.1)))
                assert isinstance(read, bytes)
                message: dict[str, Any] = json.loads(read)
                assert (message["type"], message["data"]["fatal"]) == ("error", True)
                try:
                    await socket.recv()
                except ConnectionClosed as closed:
                    assert closed.rcvd is not None and closed.rcvd.code == 1008
                return str(message["data"]["error"])
        except TimeoutError:
            await until(lambda: len(here.calls) > before)
    return ""


async def test_a_token_in_the_address_opens_a_call_and_strangers_get_advice(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here:
        assert "requires a token" in await asked(here)
        assert "requires a token" in await asked(here, "?token=a.b.c")
        assert "does not grant call" in await asked(here, f"?token={token('chat')}")
        assert await asked(here, f"?token={token('call')}") == ""
        [session] = here.registry.newest(5)
        assert session["transport"] == "rtvi" and session["owner"].endswith("ada")


async def test_a_page_of_another_origin_needs_a_token_for_it(tmp_path: Path) -> None:
    async with keyed(tmp_path) as here:
        assert await asked(here, f"?token={token('call', origin=PAGE)}", PAGE) == ""
        for query in ("", f"?token={token('call')}", f"?token={token('call', origin='https://other.example')}"):
            assert "Pages of this origin" in await asked(here, query, PAGE)
        assert len(here.calls) == 1


async def test_a_client_hears_of_a_full_server_and_of_too_many_calls(tmp_path: Path) -> None:
    async with (
        world(tmp_path, session_cap=1) as here,
        connect(here.url.replace("http", "ws") + "/api/rtvi", proxy=None, compression=None),
    ):
        await until(lambda: bool(here.calls))
        assert "All lines are busy." in await asked(here)
    async with world(tmp_path, offers_per_minute=1) as here:
        assert await asked(here) == ""
        assert "Too many new calls" in await asked(here)


async def test_an_invalid_frame_ends_the_call_with_the_reason(tmp_path: Path) -> None:
    wrong: list[str | bytes] = ["text", b"\xff\xff", write_audio(b"123", 16_000), write_audio(b"1234", 7)]
    async with world(tmp_path) as here:
        for message in wrong:
            async with connect(here.url.replace("http", "ws") + "/api/rtvi", proxy=None, compression=None) as socket:
                await socket.send(write_message(b"{}"))
                await socket.send(message)
                async with asyncio.timeout(30):
                    frame = read_frame(bytes(await socket.recv(decode=False)))
                    await socket.wait_closed()
            assert isinstance(frame, bytes) and b'"fatal":true' in frame
            assert socket.close_code == 1003
