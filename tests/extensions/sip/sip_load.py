"""Short calls by SIP, many at once, which SIPp places beside a rain of garbage; then nothing may be stuck.

Before and after the calls the server is asked what it holds: calls, SIP transactions, sessions, event loop tasks,
sockets and memory. Everything but memory has to be what it was.
"""

from __future__ import annotations

import os
import random
import re
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx2
import psutil

HERE = "127.0.0.1"
CALLER, STRANGER = "127.0.0.3", "127.0.0.9"
"""The address that may call, and one that may not; garbage comes from both."""
SETTLED_WITHIN_S = 45.0
"""A transaction lingers for 32 s."""
SCENARIO = """<?xml version="1.0" encoding="UTF-8"?>
<scenario name="short call">
  <send retrans="500"><![CDATA[
INVITE sip:assistant@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch];rport
From: <sip:+1555{prefix}[call_number]@load.test>;tag=[pid]t[call_number]
To: <sip:assistant@[remote_ip]>
Call-ID: [call_id]
CSeq: 1 INVITE
Contact: <sip:load@[local_ip]:[local_port]>
Max-Forwards: 70
Content-Type: application/sdp
Content-Length: [len]

v=0
o=load 1 1 IN IP4 [local_ip]
s=-
c=IN IP4 [media_ip]
t=0 0
m=audio [media_port] RTP/AVP 0 8 101
a=rtpmap:0 PCMU/8000
a=rtpmap:8 PCMA/8000
a=rtpmap:101 telephone-event/8000
  ]]></send>
  <recv response="100" optional="true"/>
  <recv response="180" optional="true"/>
  <recv response="200"/>
  <send><![CDATA[
ACK sip:assistant@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch];rport
From: <sip:+1555{prefix}[call_number]@load.test>;tag=[pid]t[call_number]
To: <sip:assistant@[remote_ip]>[peer_tag_param]
Call-ID: [call_id]
CSeq: 1 ACK
Max-Forwards: 70
Content-Length: 0

  ]]></send>
  <pause milliseconds="{pause_ms}"/>
  <send retrans="500"><![CDATA[
BYE sip:assistant@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch];rport
From: <sip:+1555{prefix}[call_number]@load.test>;tag=[pid]t[call_number]
To: <sip:assistant@[remote_ip]>[peer_tag_param]
Call-ID: [call_id]
CSeq: 2 BYE
Max-Forwards: 70
Content-Length: 0

  ]]></send>
  <recv response="200"/>
</scenario>
"""


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a server holds, once."""

    calls: int
    transactions: int
    """And connections."""
    sessions: int
    tasks: int
    udp_sockets: int
    memory_mb: float


@dataclass(frozen=True, slots=True)
class Load:
    """Calls to place: how many, how many at once, begun how fast, and how long each is up."""

    calls: int
    at_once: int
    per_second: int = 10
    pause_ms: int = 400
    garbage_per_second: int = 50


def sip_settings(caller: str) -> dict[str, str]:
    """Return the settings of a server that takes calls from that address; `SIP__PORT` is to be added."""
    return {
        "SIP__ENABLED": "true",
        "SIP__HOST": HERE,
        "SIP__PEERS": f"{caller}/32",
        "SIP__RTP_PORTS": "24000-24999",
        "SIP__MAX_CALLS": "500",
    }


def look(url: str, pid: int) -> Holdings:
    """Ask the server, and the system about it."""
    text = httpx2.get(f"{url}/metrics", trust_env=False, timeout=10).raise_for_status().text
    process = psutil.Process(pid)
    udp = process.net_connections(kind="udp")
    return Holdings(
        calls=_figure(text, 'voice_queue_depth{queue="sip_calls"}'),
        transactions=_figure(text, 'voice_queue_depth{queue="sip_transactions"}'),
        sessions=_figure(text, "voice_sessions_live"),
        tasks=_figure(text, "voice_loop_tasks"),
        udp_sockets=len(udp),
        memory_mb=process.memory_info().rss / 1e6,
    )


def place(load: Load, port: int) -> None:
    """Place the calls, in garbage. Raises `RuntimeError` with SIPp's figures when one of them has failed."""
    limit_s = 60 + 10 * load.calls // load.at_once
    scenario = SCENARIO.replace("{prefix}", f"{random.randrange(1_000):03}").replace("{pause_ms}", str(load.pause_ms))
    with tempfile.TemporaryDirectory() as folder, raining(port, load.garbage_per_second):
        (Path(folder) / "call.xml").write_text(scenario)
        command = [
            "sipp",
            "-sf",
            "call.xml",
            f"{HERE}:{port}",
            "-i",
            CALLER,
            "-p",
            str(free_port()),
            "-nostdin",
            "-timeout",
            str(limit_s),
        ]
        command += ["-trace_err", "-error_file", "errors.log"]
        command += ["-m", str(load.calls), "-l", str(load.at_once), "-r", str(load.per_second)]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=limit_s + 30, check=False)
        errors = Path(folder) / "errors.log"
        told = errors.read_text(errors="replace")[:2_500] if errors.exists() else ended.stderr[-2_500:]
    if ended.returncode:
        raise RuntimeError(f"SIPp ended with {ended.returncode}:\n{ended.stdout[-2_500:]}{told}")


@contextmanager
def raining(port: int, per_second: int) -> Iterator[None]:
    """Send garbage within the block, from our address and from a stranger's."""
    over = threading.Event()
    thread = threading.Thread(target=_rain, args=(port, per_second, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def settled(
    url: str, pid: int, before: Holdings, within_s: float = SETTLED_WITHIN_S, ignoring: Collection[str] = ()
) -> Holdings:
    """Wait until the server holds no more than before, or the time is up; return what it holds."""
    deadline = time.monotonic() + within_s
    while True:
        now = look(url, pid)
        if not stuck(before, now, ignoring) or time.monotonic() > deadline:
            return now
        time.sleep(0.5)


def stuck(before: Holdings, after: Holdings, ignoring: Collection[str] = ()) -> list[str]:
    """Return what has become more, memory and what is `ignoring` aside."""
    then, now = asdict(before), asdict(after)
    names = [name for name in then if name != "memory_mb" and name not in ignoring]
    return [f"{name}: {then[name]} before, {now[name]} after" for name in names if now[name] > then[name]]


def garbage(number: int) -> bytes:
    """Return a datagram that no telephone sends, of many kinds."""
    chance = random.Random(number)
    invite = b"INVITE sip:assistant@x SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.9;branch=z9hG4bK%d;rport\r\n" % number
    invite += b"From: <sip:a@b>;tag=1\r\nTo: <sip:c@d>\r\nCall-ID: g%d\r\nCSeq: 1 INVITE\r\n\r\nv=0" % number
    kinds = [
        os.urandom(chance.randrange(1, 1_400)),
        invite,
        invite[: chance.randrange(120)],
        invite.replace(b"CSeq: 1", b"CSeq: 18446744073709551616"),
        invite.replace(b"INVITE", b"BYE").replace(b"<sip:c@d>", b"<sip:c@d>;tag=9"),
        invite.replace(b"INVITE", b"CANCEL"),
        invite.replace(b"\r\n", b"\n\n"),
        b"SIP/2.0 200 OK\r\n" + invite.partition(b"\r\n")[2],
        b"REGISTER" + invite[6:].replace(b"INVITE", b"REGISTER"),
        b"\r\n\r\n",
        invite.replace(b"<sip:a@b>", b'"' + b"x" * 5_000 + b"<"),
    ]
    return kinds[number % len(kinds)]


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((HERE, 0))
        port: int = probe.getsockname()[1]
    return port


def _rain(port: int, per_second: int, over: threading.Event) -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger,
    ):
        ours.bind((CALLER, 0))
        stranger.bind((STRANGER, 0))
        number = 0
        while not over.wait(1 / per_second):
            (stranger if number % 2 else ours).sendto(garbage(number), (HERE, port))
            number += 1


def _figure(text: str, name: str) -> int:
    found = re.search(rf"^{re.escape(name)} ([\d.e+]+)$", text, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"/metrics does not tell {name}")
    return int(float(found[1]))
