"""A real OpenID provider on loopback, in a process of its own: started for a test and ended with it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from backend.testing.peer import end
from tests.support.ports import free_port, wait_listening

CLIENT = "voice"


@contextmanager
def openid_provider(**claims: dict[str, object]) -> Iterator[str]:
    """Yield the issuer's address; its users are named by the arguments, each with their claims."""
    port = free_port()
    users = [part for sub, more in claims.items() for part in ("--user-claims", json.dumps({"sub": sub} | more))]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce"]
    process = subprocess.Popen([*command, "true", *users], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_listening(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        end(process)
