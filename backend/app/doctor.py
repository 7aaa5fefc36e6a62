"""`responder-thinker doctor`: tries what a call needs, one thing after another, and says for each what to do.

Every check does the real thing: it opens a session with the provider, writes a file, gathers ICE candidates. None
changes anything, and none waits longer than `CHECK_WITHIN_S`.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import shutil
import socket
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from aiortc import RTCIceGatherer, RTCIceServer
from redis.exceptions import RedisError
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from backend.app.endpoints import open_named, responder_names
from backend.app.extensions import installed
from backend.errors import VoiceError
from backend.media.frame import SILENCE
from backend.media.opus import OpusDecoder, OpusEncoder
from backend.media.vad_silero import SileroEngine
from backend.responders.base import Briefing
from backend.settings.settings import Settings
from backend.settings.unknown import unknown_settings
from backend.storage.client import connect
from backend.storage.ledger.database import address, open_engine
from backend.storage.redis_server import embedded_url, find_binary

CHECK_WITHIN_S = 20.0
"""Seconds a check may take; the local Responder needs some to start."""
DISK_MB = 500
"""Megabytes that should be free."""
SKEW_S = 30.0
"""Seconds by which the clock may be wrong: signed tokens and TURN credentials live for minutes."""


class Verdict(StrEnum):
    """The outcome of a check."""

    FINE = "fine"
    NOTE = "note"
    """It works, and the operator may want to know something."""
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of one check."""

    verdict: Verdict
    message: str
    advice: str = ""
    """What to do about it; empty where there is nothing to do."""


fine = partial(Finding, Verdict.FINE)
note = partial(Finding, Verdict.NOTE)
broken = partial(Finding, Verdict.BROKEN)

Check = Callable[[Settings, int], Awaitable[Finding]]


async def run_checks(settings: Settings, port: int, show: Callable[[str, Finding], None]) -> bool:
    """Make all checks, and show each finding as it comes, by its name; return whether nothing is broken."""
    sound = True
    for name, check in CHECKS.items():
        finding = await _run(check, settings, port)
        show(name, finding)
        sound = sound and finding.verdict is not Verdict.BROKEN
    return sound


async def _run(check: Check, settings: Settings, port: int) -> Finding:
    try:
        async with asyncio.timeout(CHECK_WITHIN_S):
            return await check(settings, port)
    except TimeoutError:
        advice = "Check for a firewall, and whether this machine is overloaded."
        return broken(f"no answer within {CHECK_WITHIN_S:.0f} s", advice)
    except VoiceError as error:
        return broken(str(error), error.hint)
    except Exception as error:  # noqa: BLE001 - whatever it is, the checks after it are made
        return broken(f"{type(error).__name__}: {error}")


async def _python(settings: Settings, port: int) -> Finding:
    server = importlib.metadata.version("responder-thinker")
    return fine(f"{platform.python_version()} on {platform.system()} {platform.machine()}, server {server}")


async def _settings(settings: Settings, port: int) -> Finding:
    slips = unknown_settings(os.environ)
    if slips:
        return note(" ".join(slips), "Correct the name, in the environment or in .env.")
    return fine("no misspelled names")


async def _codecs(settings: Settings, port: int) -> Finding:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    try:
        pcm = decoder.decode(encoder.encode(SILENCE))
    finally:
        encoder.close()
        decoder.close()
    if not pcm:
        return broken("libopus could not decode its own sound", "Install another version of libopus.")
    return fine("libopus encodes and decodes")


async def _detector(settings: Settings, port: int) -> Finding:
    if not settings.vad.enabled:
        advice = "Interruptions are slower this way. VAD__ENABLED=true uses a local detector."
        return note("the provider's own (semantic_vad)", advice)
    SileroEngine()
    return fine("silero runs")


async def _redis(settings: Settings, port: int) -> Finding:
    url = settings.memory.redis_url or embedded_url(settings.memory.data_dir / "redis")
    if not url:
        binary = find_binary()
        if binary is None:
            advice = "Install it (Debian, Ubuntu: `apt install redis-server`), or set REDIS_URL."
            return broken("REDIS_URL is not set, and redis-server is not installed", advice)
        return fine(f"embedded: the server will start {binary}")
    place = f"{urlsplit(url).hostname or urlsplit(url).path}"
    client = connect(url)
    try:
        version = (await client.info("server"))["redis_version"]
    except (RedisError, OSError) as error:
        advice = "Check REDIS_URL and its password, and that Redis is running there."
        return broken(f"{place} does not answer ({type(error).__name__})", advice)
    finally:
        await client.aclose()
    return fine(f"Redis {version} at {place}")


async def _database(settings: Settings, port: int) -> Finding:
    url = address(settings.memory.database_url.get_secret_value(), settings.memory.data_dir)
    is_file = url.get_backend_name() == "sqlite"
    place = f"SQLite in {url.database}" if is_file else f"PostgreSQL at {url.host}:{url.port or 5432}"
    if is_file and not await asyncio.to_thread(Path(url.database or "").exists):
        return fine(f"{place}, which the server will create")
    engine = open_engine(url)
    try:
        async with engine.connect() as connection:
            await connection.execute(text("select 1"))
    except (SQLAlchemyError, OSError) as error:
        advice = "Check DATABASE_URL, and that its user may create tables."
        return broken(f"{place} does not answer ({type(error).__name__})", advice)
    finally:
        await engine.dispose()
    return fine(place)


async def _provider(settings: Settings, port: int) -> Finding:
    """Open a session of each provider with our instructions, and close it before anything is said."""
    results, verdict, advice = [], Verdict.FINE, ""
    having = installed(settings.agent.plugin_folders)
    for name in responder_names(settings, having):
        async with AsyncExitStack() as stack:
            try:
                opened = await open_named(name, settings, stack, having.responders)
                began = time.monotonic()
                responder = await opened.provider.connect(Briefing("You are being tested."), ())
                results.append(f"{name}: {opened.provider.about.model} in {(time.monotonic() - began) * 1000:.0f} ms")
                await responder.close()
            except VoiceError as error:
                results.append(f"{name}: {error}")
                verdict, advice = Verdict.BROKEN, error.hint or advice
    return Finding(verdict, "; ".join(results), advice)


async def _models(settings: Settings, port: int) -> Finding:
    listed, _ = await _listing(settings)
    wanted = {
        "THINKER_MODEL": settings.models.thinker_model,
        "THINKER_MODEL_ADVANCED": settings.models.thinker_model_advanced,
        "EMBEDDING_MODEL": settings.models.embedding_model,
    }
    if settings.provider.openai_api_key is None:
        return fine("the Thinkers use the model of the calls")
    if listed is None:
        advice = (
            "Check OPENAI_API_KEY and OPENAI_BASE_URL. Some APIs never list their models: ignore this if yours is one."
        )
        return note(f"{settings.provider.openai_base_url} does not list its models", advice)
    missing = [f"{name}={model}" for name, model in wanted.items() if model and model not in listed]
    if missing:
        some = ", ".join(sorted(listed)[:8])
        return broken(f"not available: {', '.join(missing)}", f"Available, among others: {some}")
    return fine(", ".join(dict.fromkeys(filter(None, wanted.values()))))


async def _clock(settings: Settings, port: int) -> Finding:
    _, there = await _listing(settings)
    now = time.time()
    here = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(now))
    if there is None:
        return fine(f"{here} UTC; not compared with another clock")
    skew = now - there
    if abs(skew) > SKEW_S:
        message = f"{here} UTC, {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'} of the provider's clock"
        return broken(message, "Set the clock, e.g. `timedatectl set-ntp true`.")
    return fine(f"{here} UTC, the same as the provider's clock")


async def _listing(settings: Settings) -> tuple[set[str] | None, float | None]:
    """Return the models that the text models' API lists, and what time it has; None for what it does not say."""
    key = settings.provider.openai_api_key
    if key is None:
        return None, None
    async with httpx2.AsyncClient(timeout=10) as http:
        try:
            bearer = {"Authorization": f"Bearer {key.get_secret_value()}"}
            answer = await http.get(f"{settings.provider.openai_base_url.rstrip('/')}/models", headers=bearer)
            date = answer.headers.get("date")
            there = parsedate_to_datetime(date).timestamp() if date else None
            listed = {entry["id"] for entry in answer.json()["data"]} if answer.status_code == httpx2.codes.OK else None
        except (httpx2.HTTPError, ValueError, LookupError, TypeError):
            return None, None
    return listed, there


async def _ice(settings: Settings, port: int) -> Finding:
    """Gather candidates as a call does: our addresses, and those that STUN and TURN servers give."""
    servers = [RTCIceServer(each.urls, each.username, each.credential) for each in settings.rtc.ice_servers]
    gatherer = RTCIceGatherer(servers)
    await gatherer.gather()
    found = gatherer.getLocalCandidates()
    kinds = {candidate.type for candidate in found}
    hosts = sorted({candidate.ip for candidate in found if candidate.type == "host"})
    message = f"this host: {', '.join(hosts) or 'no address'}"
    urls = " ".join(
        url for each in settings.rtc.ice_servers for url in ([each.urls] if isinstance(each.urls, str) else each.urls)
    )
    for scheme, kind in (("stun", "srflx"), ("turn", "relay")):
        if f"{scheme}:" in urls and kind not in kinds:
            advice = "Check its address, user name and password in ICE_SERVERS, and that UDP to it is allowed."
            return broken(f"{message}; the {scheme.upper()} server did not answer", advice)
    if settings.rtc.rtc_force_host:
        return fine(f"{message}; callers get {settings.rtc.rtc_force_host}")
    if not hosts:
        return broken(message, "Set RTC_FORCE_HOST to the IP address that callers reach.")
    if not servers:
        advice = (
            "Behind NAT or in a container, set RTC_FORCE_HOST. For callers behind firewalls, set ICE_SERVERS with TURN."
        )
        return note(message, advice)
    return fine(f"{message}; {', '.join(sorted(kinds - {'host'}))}")


async def _ports(settings: Settings, port: int) -> Finding:
    if _taken(socket.SOCK_STREAM, port):
        advice = "If it is another program, choose another port with --port."
        return note(f"{port}/tcp is in use, perhaps by this server", advice)
    if settings.rtc.rtc_port_range is None:
        return fine(f"{port}/tcp is free; calls take any free UDP port")
    first, last = settings.rtc.rtc_port_range
    free = sum(not _taken(socket.SOCK_DGRAM, each) for each in range(first, last + 1))
    message = f"{port}/tcp is free; {free} of the {last - first + 1} UDP ports from {first} to {last} are free"
    if free < min(settings.limits.session_cap, last - first + 1):
        return note(message, "Widen RTC_PORT_RANGE: each call needs one port.")
    return fine(f"{message}; the firewall must let them through")


def _taken(kind: socket.SocketKind, port: int) -> bool:
    with socket.socket(socket.AF_INET, kind) as tried:
        if kind is socket.SOCK_STREAM:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1" if kind is socket.SOCK_STREAM else "0.0.0.0", port))
        except OSError:
            return True
    return False


async def _microphone(settings: Settings, port: int) -> Finding:
    """Browsers give a microphone to https and to localhost only: which of our addresses are neither."""
    plain = [each for each in settings.access.allowed_origins if each.startswith("http://") and not _is_local(each)]
    message = f"browsers allow it on http://localhost:{port} and on https:// addresses"
    if plain:
        advice = "Serve the page over HTTPS (see nginx-tls.conf)."
        return broken(f"{message}, but not on {', '.join(plain)}", advice)
    return fine(f"{message} only")


def _is_local(origin: str) -> bool:
    return urlsplit(origin).hostname in ("localhost", "127.0.0.1", "::1")


async def _disk(settings: Settings, port: int) -> Finding:
    folder = settings.memory.data_dir.absolute()
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest) as file:
            file.write(b"x")
    except OSError as error:
        advice = "Set DATA_DIR to a writable folder, or change its owner."
        return broken(f"{nearest} cannot be written to: {error}", advice)
    free_mb = shutil.disk_usage(nearest).free // 1_000_000
    message = f"{free_mb:,} MB free for {folder}"
    if free_mb < DISK_MB:
        return note(message, "Free some space: conversations and documents are stored there.")
    return fine(message)


CHECKS: dict[str, Check] = {
    "Python": _python,
    "Settings": _settings,
    "Codecs": _codecs,
    "Detector": _detector,
    "Disk": _disk,
    "Clock": _clock,
    "Redis": _redis,
    "Database": _database,
    "Provider": _provider,
    "Models": _models,
    "ICE": _ice,
    "Ports": _ports,
    "Microphone": _microphone,
}
"""The checks in their order, by name."""
