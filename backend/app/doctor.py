"""`responder-thinker doctor` tries each thing that a call needs, and says what to do where it fails.

Every check does the real thing: it opens a session with the provider, writes a file, gathers ICE candidates. No check
changes anything or takes longer than `CHECK_WITHIN_S`.
"""

import asyncio
import importlib.metadata
import platform
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

import httpx2
from aiortc import RTCIceGatherer, RTCIceServer
from pydantic import SecretStr
from redis.exceptions import RedisError
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from backend.app.endpoints import open_named, responder_names
from backend.app.extensions import installed
from backend.errors import VoiceError
from backend.media.frame import SILENCE
from backend.media.opus import OpusDecoder, OpusEncoder
from backend.responders.base import Briefing
from backend.settings.settings import Settings
from backend.storage.client import connect
from backend.storage.ledger.database import address, open_engine
from backend.storage.local_redis import NotUsed, is_ours, place_of
from backend.storage.redis_server import embedded_url, find_binary

CHECK_WITHIN_S = 20.0
"""Seconds a check may take. The local Responder needs several to start."""
DISK_MB = 500
"""Megabytes that should be free."""


class Verdict(StrEnum):
    """The outcome of a check."""

    FINE = "fine"
    NOTE = "note"
    """The check passed, with something that the operator may want to know."""
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of one check."""

    verdict: Verdict
    message: str
    advice: str = ""
    """What the operator can do; empty: nothing."""


fine = partial(Finding, Verdict.FINE)
note = partial(Finding, Verdict.NOTE)
broken = partial(Finding, Verdict.BROKEN)

Check = Callable[[Settings], Awaitable[Finding]]


async def run_checks(settings: Settings, show: Callable[[str, Finding], None]) -> bool:
    """Make all checks, call `show` with the name and finding of each, and return whether nothing is broken."""
    sound = True
    for name, check in CHECKS.items():
        finding = await _run(check, settings)
        show(name, finding)
        sound = sound and finding.verdict is not Verdict.BROKEN
    return sound


async def _run(check: Check, settings: Settings) -> Finding:
    try:
        async with asyncio.timeout(CHECK_WITHIN_S):
            return await check(settings)
    except TimeoutError:
        advice = "Check for a firewall, and whether this machine is overloaded."
        return broken(f"no answer within {CHECK_WITHIN_S:.0f} s", advice)
    except VoiceError as error:
        return broken(str(error), error.hint)
    except Exception as error:  # noqa: BLE001 - whatever it is, the checks after it are made
        return broken(f"{type(error).__name__}: {error}")


async def _python(settings: Settings) -> Finding:
    server = importlib.metadata.version("responder-thinker")
    return fine(f"{platform.python_version()} on {platform.system()} {platform.machine()}, server {server}")


async def _settings(settings: Settings) -> Finding:
    having = installed(settings.agent.plugin_folders)
    if having.faults:
        raise having.faults[0]
    if slips := having.slips():
        return note(" ".join(slips), "Correct the name, in the environment or in .env.")
    return fine("no misspelled names")


async def _codecs(settings: Settings) -> Finding:
    encoder, decoder = OpusEncoder(), OpusDecoder()
    try:
        pcm = decoder.decode(encoder.encode(SILENCE))
    finally:
        encoder.close()
        decoder.close()
    if not pcm:
        return broken("libopus could not decode its own sound", "Install another version of libopus.")
    return fine("libopus encodes and decodes")


async def _detector(settings: Settings) -> Finding:
    if not settings.vad.enabled:
        advice = "Interruptions are slower this way. VAD__ENABLED=true uses a local detector."
        return note("the provider's own (semantic_vad)", advice)
    engine = installed(settings.agent.plugin_folders).vad_engine(settings)
    engine()
    return fine(f"{engine.name} runs")


async def _redis(settings: Settings) -> Finding:
    memory, refusal = settings.memory, ""
    url = memory.redis_url or embedded_url(memory.data_dir / "redis")
    if not url and memory.local_redis_url:
        try:
            await is_ours(memory.local_redis_url)
            url = memory.local_redis_url
        except NotUsed as refused:
            refusal = f"; {refused}"
    if not url:
        binary = find_binary()
        if binary is None:
            advice = "Install it (Debian, Ubuntu: `apt install redis-server`), or set REDIS_URL."
            return broken(f"REDIS_URL is not set, and redis-server is not installed{refusal}", advice)
        return fine(f"embedded: the server will start {binary}{refusal}")
    client = connect(url)
    try:
        version = (await client.info("server"))["redis_version"]
    except (RedisError, OSError) as error:
        advice = "Check REDIS_URL and its password, and that Redis is running there."
        return broken(f"{place_of(url)} does not answer ({type(error).__name__})", advice)
    finally:
        await client.aclose()
    return fine(f"Redis {version} at {place_of(url)}")


async def _database(settings: Settings) -> Finding:
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


async def _provider(settings: Settings) -> Finding:
    """Open a session of each provider with the server's instructions, and close it before anything is said."""
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


async def _models(settings: Settings) -> Finding:
    key = settings.provider.openai_api_key
    if key is None:
        return fine("the Thinkers use the model of the calls")
    listed = await _listing(settings, key)
    wanted = {
        "THINKER_MODEL": settings.models.thinker_model,
        "THINKER_MODEL_ADVANCED": settings.models.thinker_model_advanced,
        "EMBEDDING_MODEL": settings.models.embedding_model,
    }
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


async def _listing(settings: Settings, key: SecretStr) -> set[str] | None:
    """Return the models that the text models' API lists; None: it lists none."""
    async with httpx2.AsyncClient(timeout=10) as http:
        try:
            bearer = {"Authorization": f"Bearer {key.get_secret_value()}"}
            answer = await http.get(f"{settings.provider.openai_base_url.rstrip('/')}/models", headers=bearer)
            return {entry["id"] for entry in answer.raise_for_status().json()["data"]}
        except (httpx2.HTTPError, ValueError, LookupError, TypeError):
            return None


async def _ice(settings: Settings) -> Finding:
    """Gather candidates as a call does: this machine's addresses, and those from STUN and TURN servers."""
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


async def _disk(settings: Settings) -> Finding:
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
    "Redis": _redis,
    "Database": _database,
    "Provider": _provider,
    "Models": _models,
    "ICE": _ice,
}
"""The checks in their order, by name."""
