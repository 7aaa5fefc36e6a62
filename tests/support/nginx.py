"""A real nginx on loopback with the project's own nginx.conf. Only its addresses and folders are replaced."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.ports import free_port, wait_listening

ROOT = Path(__file__).resolve().parent.parent.parent
TEMP_PATHS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def binary() -> str:
    found = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert found, "tests need nginx: run make install-test"
    return found


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate and its key."""

    chain: Path
    key: Path


def rendered(port: int, backend_port: int, folder: Path, tls: Certificate | None = None) -> str:
    """The configuration with other addresses and folders.

    With `tls`, its server is that of the profile of that name, and listens for nothing else.
    """
    text = (ROOT / "nginx.conf").read_text()
    added = (ROOT / "nginx-tls.conf").read_text() if tls else ""
    folders = "".join(f"    {name}_temp_path {folder}/{name};\n" for name in TEMP_PATHS)
    owner = "user root;\n" if os.geteuid() == 0 else ""  # other users cannot read pytest's folders
    for old, new in {
        "pid /run/nginx.pid;": f"{owner}daemon off;\npid {folder}/nginx.pid;",
        "worker_processes auto;": "worker_processes 1;",
        "http {\n": f"http {{\n{folders}",
        "server backend:8000;": f"server 127.0.0.1:{backend_port};",
        "listen 80;": "" if tls else f"listen 127.0.0.1:{port};",
        "include /etc/nginx/server.d/*.conf;": added.replace("443", f"127.0.0.1:{port}"),
        "root /usr/share/nginx/html;": f"root {ROOT / 'frontend'};",
    }.items():
        assert text.count(old) == 1, f"nginx.conf should say {old!r} once"
        text = text.replace(old, new)
    if tls:
        text = text.replace("/etc/nginx/certificates/fullchain.pem", str(tls.chain))
        text = text.replace("/etc/nginx/certificates/privkey.pem", str(tls.key))
    return text


@contextmanager
def running_nginx(backend_port: int, folder: Path, tls: Certificate | None = None) -> Iterator[str]:
    """The base URL of an nginx in front of `127.0.0.1:backend_port`, which ends with the block."""
    port = free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(rendered(port, backend_port, folder, tls))
    with (folder / "nginx.log").open("wb") as log:
        process = subprocess.Popen([binary(), "-p", str(folder), "-c", str(configuration)], stderr=log, stdout=log)
    try:
        wait_listening(process, port)
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=5)
