"""Every setting, in groups. They are read from the environment and from `.env`; the environment wins.

A limit set to 0 is off. `.env.example`, `docs/settings.md` and what Docker Compose passes on
are generated from the groups (`python -m scripts.settings_table`); the comment before a group is its heading there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast, get_type_hints

from pydantic import ValidationError

from backend.errors import SettingsError
from backend.settings.access import AccessSettings
from backend.settings.agent import AgentSettings
from backend.settings.budgets import BudgetSettings
from backend.settings.limits import LimitSettings
from backend.settings.mcp import McpSettings
from backend.settings.memory import MemorySettings
from backend.settings.models import ModelSettings
from backend.settings.notifications import NotificationSettings
from backend.settings.phone import PhoneSettings
from backend.settings.plugin import PluginSettings, faults_in, read_group, read_settings
from backend.settings.provider import ProviderSettings, RealtimeSettings
from backend.settings.rtc import RtcSettings
from backend.settings.server import ServerSettings
from backend.settings.services import ServiceSettings
from backend.settings.tasks import BackgroundSettings, CoordinatorSettings
from backend.settings.turns import TurnSettings
from backend.settings.vad import VadSettings

S = TypeVar("S", bound=PluginSettings)


@dataclass(slots=True)
class _Further:
    """The settings of extensions and plugins, which are read when they are first used."""

    env_file: Path | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    read: dict[type[PluginSettings], PluginSettings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting of the server, in groups; `load_settings` reads them."""

    # Responder
    provider: ProviderSettings
    # Session at the provider
    realtime: RealtimeSettings
    # Text models
    models: ModelSettings
    # Memory
    memory: MemorySettings
    # Services of the tools
    services: ServiceSettings
    # Thinkers, tools, steps and reasoning
    agent: AgentSettings
    # Background tasks
    background: BackgroundSettings
    # Reminders
    notifications: NotificationSettings
    # Coordinator
    coordinator: CoordinatorSettings
    # Model Context Protocol
    mcp: McpSettings
    # Speech detection
    vad: VadSettings
    # Turn-taking
    turns: TurnSettings
    # Network
    rtc: RtcSettings
    # Calls by telephone
    telephone: PhoneSettings
    # Server
    server: ServerSettings
    # Limits
    limits: LimitSettings
    # Budgets
    budgets: BudgetSettings
    # Access
    access: AccessSettings
    _further: _Further = field(default_factory=_Further, repr=False, compare=False)

    def of(self, kind: type[S]) -> S:
        """Return the settings of an extension or a plugin, read once. Raises `SettingsError`, naming the variables."""
        here = self._further
        if kind not in here.read:
            here.read[kind] = read_settings(kind, here.given, here.env_file)
        return cast("S", here.read[kind])


def groups() -> dict[str, type[PluginSettings]]:
    """Return the server's own groups by name, in their order."""
    return {name: kind for name, kind in get_type_hints(Settings).items() if kind is not _Further}


def load_settings(_env_file: Path | None = Path(".env"), **given: Any) -> Settings:
    """Read the settings; values in `given`, by the variable's name in small letters, win over the environment.

    The values of a group with a prefix may be given together: `vad={"engine": "ten"}`. Raises `SettingsError`, which
    names each faulty variable.
    """
    read, faults = dict[str, Any](), list[str]()
    for name, kind in groups().items():
        try:
            read[name] = read_group(kind, given, _env_file)
        except ValidationError as error:
            faults += faults_in(kind, error)
    if not faults:
        settings = Settings(**read, _further=_Further(_env_file, given))
        faults = _contradictions(settings)
    if faults:
        raise SettingsError(
            "; ".join(faults), hint="Correct it in the environment or in .env; .env.example lists every setting."
        )
    return settings


def _contradictions(settings: Settings) -> list[str]:
    """Return the contradictions between groups, a sentence each."""
    needed = {
        "REDIS_URL: the Redis that all the servers share": settings.memory.redis_url,
        "SECRET_KEY: one for all, e.g. what `openssl rand -hex 32` prints": settings.access.secret_key,
    }
    missing = [name for name, value in needed.items() if not value] if settings.server.share_sessions else []
    return [f"SHARE_SESSIONS needs {name}" for name in missing]
