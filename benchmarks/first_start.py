"""How long `make run` takes in a fresh copy of this tree, and once more: `python -m benchmarks.first_start`.

The first start creates .venv and downloads packages; pip's and uv's caches are pointed at an empty folder, so that what
a new user downloads is counted: bytes received by all interfaces but loopback. Run it while nothing else downloads.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "node_modules", "var", "build", "__pycache__", ".*_cache", ".env")
LOOK_EVERY_S = 0.05
END_WITHIN_S = 30.0


def main() -> int:
    """Print a row a start. Returns the exit status: 1 where the second start is not ready in time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_start", description=__doc__)
    parser.add_argument("--within", type=float, default=900.0, help="seconds until a start is given up")
    parser.add_argument("--goal", type=float, default=3.0, help="seconds the second start may take until it is ready")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="first-start-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
        print("| start | page, s | everything loaded, s | received, MB |\n|---|---:|---:|---:|", flush=True)
        for name in ("first", "second"):
            before = received_bytes()
            page_s, ready_s = start(tree, Path(folder) / "cache", options.within)
            megabytes = (received_bytes() - before) / 1e6
            print(f"| {name} | {page_s:.1f} | {ready_s:.1f} | {megabytes:.0f} |", flush=True)
    return 0 if ready_s <= options.goal else 1


def start(tree: Path, cache: Path, within_s: float) -> tuple[float, float]:
    """Run `make run` there; return after how many seconds the page came, and nothing was left to load."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kept = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "HTTPS_PROXY", "HTTP_PROXY") if name in os.environ
    }
    caches = {"PIP_CACHE_DIR": str(cache / "pip"), "UV_CACHE_DIR": str(cache / "uv")}
    pip = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    began = time.monotonic()
    command = ["make", "run", f"PORT={port}"]
    process = subprocess.Popen(
        command, cwd=tree, env=kept | pip | caches, stdout=sys.stderr, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        url = f"http://127.0.0.1:{port}"
        page_s = _until(process, f"{url}/", began + within_s) - began
        return page_s, _until(process, f"{url}/readyz", began + within_s) - began
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(END_WITHIN_S)


def _until(process: subprocess.Popen[bytes], url: str, deadline: float) -> float:
    """Return when the address answered 200 and has nothing left to load."""
    with httpx2.Client(trust_env=False, timeout=2.0) as http:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise SystemExit(f"make run ended with status {process.returncode}; its messages are above.")
            try:
                answer = http.get(url)
            except httpx2.HTTPError:
                time.sleep(LOOK_EVERY_S)
                continue
            is_json = answer.headers.get("content-type", "").startswith("application/json")
            if answer.status_code == 200 and not (is_json and answer.json().get("loading")):
                return time.monotonic()
            time.sleep(LOOK_EVERY_S)
    raise SystemExit(f"{url} was not ready in time.")


def received_bytes() -> int:
    """Return what this machine's interfaces, but loopback, have received (Linux)."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]
    return sum(int(line.split(":")[1].split()[0]) for line in lines if line.split(":")[0].strip() != "lo")


if __name__ == "__main__":
    sys.exit(main())
