"""Hosts of our own: network namespaces on a bridge, each with an address, as if they stood in a rack.

Needs root and iproute2; `can_make_hosts` tells. Names carry our process id, and everything is taken down again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

IP = shutil.which("ip") or "/usr/sbin/ip"
NETWORK = "10.213.77"


@dataclass(frozen=True, slots=True)
class Host:
    """A host, and how to run something on it."""

    name: str
    address: str

    @property
    def prefix(self) -> list[str]:
        """Put before a command, this runs it there."""
        return [IP, "netns", "exec", self.name]


def can_make_hosts() -> bool:
    """Whether this machine lets us."""
    if os.geteuid() or not shutil.which(IP):
        return False
    probe = f"probe-{os.getpid()}"
    made = subprocess.run([IP, "netns", "add", probe], capture_output=True, check=False).returncode == 0
    if made:
        _ip("netns", "del", probe)
    return made


@contextmanager
def hosts(count: int) -> Iterator[tuple[str, list[Host]]]:
    """The address of this machine on their network, and the hosts."""
    tag = str(os.getpid())[-5:]
    bridge = f"br{tag}"
    made = [Host(f"host{tag}-{number}", f"{NETWORK}.{number + 2}") for number in range(count)]
    try:
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{NETWORK}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for number, host in enumerate(made):
            _connect(host, bridge, f"v{tag}{number}")
        yield f"{NETWORK}.1", made
    finally:
        for host in made:
            subprocess.run([IP, "netns", "del", host.name], capture_output=True, check=False)
        subprocess.run([IP, "link", "del", bridge], capture_output=True, check=False)


def _connect(host: Host, bridge: str, cable: str) -> None:
    _ip("netns", "add", host.name)
    _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", host.name)
    _ip("link", "set", cable, "master", bridge, "up")
    for command in (["addr", "add", f"{host.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
        _ip("-n", host.name, *command)
    _ip("-n", host.name, "link", "set", "lo", "up")


def _ip(*arguments: str) -> None:
    subprocess.run([IP, *arguments], check=True, capture_output=True)
