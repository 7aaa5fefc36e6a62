"""`make run` where everything is installed: its page is there while speech still loads, and it says so."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import time
from pathlib import Path

import httpx2
import pytest

from tests.support.running_server import end
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
READY_WITHIN_S = 10.0
"""Three on a quiet machine; this is what a busy one may take."""
LOADED_WITHIN_S = 60.0


@pytest.mark.slow
@pytest.mark.alone
async def test_a_second_start_serves_its_page_at_once_and_tells_what_it_still_loads(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environment = kept | {"HOME": str(tmp_path), "DATA_DIR": str(tmp_path / "var"), "COLUMNS": "200"}
    log = tmp_path / "printed"
    began = time.monotonic()
    with log.open("wb") as out:
        process = await asyncio.to_thread(
            subprocess.Popen,
            ["make", "run", f"PORT={port}"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as http:

            async def answers(path: str) -> bool:
                try:
                    return (await http.get(path)).status_code == 200
                except httpx2.TransportError:
                    return False

            await until(lambda: answers("/readyz"), LOADED_WITHIN_S)
            assert await answers("/")
            ready_s = time.monotonic() - began
            await until(lambda: "Warm-up    done after" in log.read_text(), LOADED_WITHIN_S)
            assert (await http.get("/api/config")).json()["loading"] == []
    finally:
        await asyncio.to_thread(end, process)
    assert ready_s <= READY_WITHIN_S, log.read_text()
    assert re.search(r"Warm-up +loading .*speech recognition", log.read_text())
