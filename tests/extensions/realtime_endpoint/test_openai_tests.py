"""The OpenAI client's own tests, as far as they can use another server, against ours.

`scripts/install.sh test` fetches them with the source of the pinned client. docs/howto/realtime-endpoint.md lists those
that cannot pass, with the reasons.
"""

import asyncio
import os
import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.extensions.realtime_endpoint.test_howto import HOWTO
from tests.support.offline_peer import OfflinePeer
from tests.support.running_server import running_server

SOURCE = Path(__file__).parents[3] / ".venv" / "openai-tests" / version("openai")
FILES = Path("tests/api_resources")
ENDS_WITHIN_S = 120

pytestmark = pytest.mark.realtime


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("file", "those", "count"),
    [
        ("realtime/test_client_secrets.py", "test", 20),
        ("test_models.py", "retrieve or list", 35),
        ("chat/test_completions.py", "create_overload and not all_params", 30),
    ],
)
async def test_the_tests_of_the_openai_client_pass(file: str, those: str, count: int, peer: OfflinePeer) -> None:
    path = SOURCE / FILES / file
    assert path.exists(), "run scripts/install.sh test"
    assert f"`{file}`" in HOWTO.read_text()
    [model] = set(re.findall(r'\.retrieve\(\s*"(.+)"', (SOURCE / FILES / "test_models.py").read_text()))
    await peer.follow({"turns": [{"reply": "Hello."}], "loop": True})
    with running_server(peer, REALTIME_MODEL=model, CHAT_TURNS_PER_MINUTE="0", OFFERS_PER_MINUTE="0") as running:
        options = ("-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-o", "addopts=", "--tb=short", "-k", those)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pytest", *options, FILES / file),
            cwd=SOURCE,
            env={"PATH": os.environ["PATH"], "TEST_API_BASE_URL": f"{running.url}/v1", "NO_PROXY": "*"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(ENDS_WITHIN_S):
                printed = (await process.communicate())[0].decode()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    assert process.returncode == 0, printed[-4000:]
    passed = re.search(r"(\d+) passed", printed)
    assert passed and int(passed[1]) >= count, printed[-500:]
