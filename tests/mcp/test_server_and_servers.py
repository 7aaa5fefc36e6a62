"""The whole server serves tools over MCP, and uses those of others in a chat and in a Thinker."""

import json
import sys
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.mcp.world import SECRET, client, content_of, token
from tests.support.processes import gone
from tests.support.real_server import real_server
from tests.support.waiting import until

TIDES = Path(__file__).resolve().parents[2] / "examples" / "tides_server.py"
THINKER = """
from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="tides",
    label="Tides",
    description="tides: high and low water at a port",
    example="When is high water in Brest?",
    prompt="You answer questions about tides.",
    tools=("coast__tides",),
)
"""


@pytest.mark.document("002", "tool loop")
async def test_a_server_serves_its_tools_and_uses_those_of_another(tmp_path: Path) -> None:
    (tmp_path / "tides_thinker.py").write_text(THINKER)
    settings = {
        "PLUGIN_FOLDERS": str(tmp_path),
        "ACCESS": "open,key",
        "API_KEYS": f"shop:{SECRET}",
        "MCP__SERVERS": json.dumps({"coast": {"command": sys.executable, "args": [str(TIDES)]}}),
    }
    async with real_server(**settings) as url, httpx2.AsyncClient(base_url=url, timeout=20) as http:

        async def coast_is_there() -> bool:
            return bool((await http.get("/api/tools")).json()["servers"] == {"coast": "ok"})

        await until(coast_is_there, 15)
        ready = (await http.get("/readyz")).json()
        assert ready["status"] == "ready" and ready["tool_servers"] == {"coast": "ok"}
        shown = {each["name"]: each for each in (await http.get("/api/tools")).json()["tools"]}
        assert shown["coast__tides"]["source"] == "coast" and shown["get_current_weather"]["source"] == "local"
        assert shown["remember_preference"]["always"]

        async with client(f"{url}/mcp/", token("mcp")) as mcp:
            assert {"coast__tides", "remember_preference"} <= {each.name for each in (await mcp.list_tools()).tools}
            tides = content_of(await mcp.call_tool("coast__tides", {"port": "Brest"}))
            assert tides["sample"] and tides["high_water"] == ["04:12", "16:38"]
            await mcp.call_tool("remember_preference", {"name": "home_location", "value": "Bergen"})

        reply = (
            await http.post("/api/multiturn", json={"message": "Ask the tides specialist for high water in Brest."})
        ).json()
        assert reply["thinkers"] == ["tides"], reply
        assert "Brest" in reply["text"] and "04:12" in reply["text"] and "sample" in reply["text"]
        children = [each for each in psutil.process_iter() if str(TIDES) in _line(each)]
        assert len(children) == 1
    await gone(children, 3)


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
