"""What a program sees and may call over MCP, with the official client. Without a server of yours, it starts one.

python examples/tools_over_mcp.py                                   # one server, three tokens, three lists
python examples/tools_over_mcp.py http://localhost:8000/mcp/ TOKEN  # a server of yours
"""

import asyncio
import os
import re
import secrets
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import jwt
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


def token(key: str, grant: str) -> str:
    """A token for the user ana, as any program that knows the key can make one."""
    now = int(time.time())
    claims = {"sub": "ana", "iat": now, "exp": now + 600, "grants": {grant: True}}
    return jwt.encode(claims, key, "HS256", headers={"kid": "example"})


@asynccontextmanager
async def server(key: str) -> AsyncIterator[str]:
    """A server of our own that accepts tokens of `key`, in a folder of its own; yields its address."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"ACCESS": "open,key", "API_KEYS": f"example:{key}"}
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
    key = secrets.token_hex(32)
    async with server(key) as url:
        for grant, path in (("mcp", "/mcp/"), ("mcp_copilot", "/mcp/copilot/"), ("mcp_external", "/mcp/external/")):
            await show(f"{url}{path}", token(key, grant))
        async with httpx2.AsyncClient() as http:
            headers = {"authorization": f"Bearer {token(key, 'mcp_external')}"}
            wrong = await http.post(f"{url}/mcp/", headers=headers)
            print(f"\nThe external token at the internal path: {wrong.status_code} {wrong.json()['error']['hint']}")


if __name__ == "__main__":
    asyncio.run(main())
