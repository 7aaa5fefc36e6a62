"""What a program sees and may call over MCP, with the official client. Without a server of yours, it starts one.

python examples/tools_over_mcp.py                                   # one server, three tokens, three lists
python examples/tools_over_mcp.py http://localhost:8000/mcp/ TOKEN  # a server of yours
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

SCORE = {"score": "bmi", "values": {"weight_kg": 70, "height_cm": 175}}
PREFERENCE = {"name": "temperature_unit", "value": "celsius"}
READY_WITHIN_S = 30


async def show(url: str, token: str) -> None:
    """List the tools, and call two of them."""
    headers = {"authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        tools = (await client.list_tools()).tools
        print(f"\n{url} offers {len(tools)}: {', '.join(sorted(tool.name for tool in tools))}")
        for name, arguments in (("medical_calculator", SCORE), ("remember_preference", PREFERENCE)):
            result = await client.call_tool(name, arguments)
            [content] = result.content
            print(f"  {name} → {'error: ' if result.is_error else ''}{getattr(content, 'text', '')[:110]}")


@asynccontextmanager
async def server(tokens: dict[str, str]) -> AsyncIterator[str]:
    """A server of our own, in a folder of its own; yields its address."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {f"MCP__{kind.upper()}_TOKENS": token for kind, token in tokens.items()}
        settings["MCP__INTERNAL_TOKENS"] = f"ana:{tokens['internal']}"  # acts for the user ana
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "DATA_DIR": folder, "COLUMNS": "200"}
        process = await asyncio.create_subprocess_exec(
            *(str(Path(sys.executable).parent / "responder-thinker"), "serve", "--port", "0"),
            cwd=folder,
            env=environment | settings,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(READY_WITHIN_S):
                yield await _address(process)
        finally:
            process.terminate()
            await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    address = ""
    while line := (await process.stdout.readline()).decode():
        if found := re.search(r"http://localhost:\d+", line):
            address = found[0]
        if "Ctrl-C" in line and address:
            return address
    raise SystemExit("the server did not start")


async def main() -> None:
    """A server of yours, or the three endpoints of one of ours."""
    if len(sys.argv) == 3:
        await show(sys.argv[1], sys.argv[2])
        return
    tokens = {kind: secrets.token_hex(16) for kind in ("internal", "copilot", "external")}
    async with server(tokens) as url:
        for kind, path in (("internal", "/mcp/"), ("copilot", "/mcp/copilot/"), ("external", "/mcp/external/")):
            await show(f"{url}{path}", tokens[kind])
        async with httpx2.AsyncClient() as http:
            wrong = await http.post(f"{url}/mcp/", headers={"authorization": f"Bearer {tokens['external']}"})
            print(f"\nThe external token at the internal path: {wrong.status_code} {wrong.json()['error']['hint']}")


if __name__ == "__main__":
    asyncio.run(main())
