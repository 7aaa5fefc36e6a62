"""Puts the Thinkers together: the one call `main` makes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx2

from backend.agent.session import Agent
from backend.agent.tool_router import ToolRouter
from backend.calendar.calendars import Calendars, open_calendars
from backend.errors import BadPlugin
from backend.middleware.discovery import steps_of
from backend.middleware.pipeline import NO_STEPS, Pipeline
from backend.models.base import ChatModel
from backend.reasoning.reasoner import Reasoner
from backend.settings.settings import Settings
from backend.storage.memory import Memory
from backend.thinkers.preferences import MemoryPreferences
from backend.thinkers.profiles import ModeProfiles
from backend.thinkers.registry import ROUTE_TOOL, Thinkers
from backend.thinkers.work import Desk
from backend.tools import registry as tools
from backend.tools.background_tasks import NoTasks, UserTasks
from backend.tools.clock import Clock
from backend.tools.discovery import folder_modules
from backend.tools.get_personality import Profiles
from backend.tools.remember_preference import Preferences
from backend.tools.runner import Toolbox, ToolSource
from backend.users.load_modes import load_modes


def build(
    settings: Settings,
    *,
    model: ChatModel,
    memory: Memory,
    http: httpx2.AsyncClient,
    folders: Iterable[Path] = (),
    pipeline: Pipeline = NO_STEPS,
    tool_sources: Iterable[ToolSource] = (),
    modes_file: Path | None = None,
    user_tasks: UserTasks | None = None,
    services: Mapping[Any, Any] | None = None,
    clock: Callable[[], float] = time.time,
) -> Thinkers:
    """All Thinkers with their tools and services. `folders` hold further Thinker and tool files.
    `tool_sources` have the tools of other servers; `services` are further ones for tools, by type.

    The caller keeps ownership of `model`, `memory` and `http`. Raises `BadPlugin`.
    """
    folders = tuple(folders)
    _check_plugins(folders)
    profiles = ModeProfiles(memory)
    known: dict[Any, Any] = {
        httpx2.AsyncClient: http,
        Settings: settings,
        Memory: memory,
        Clock: Clock(clock),
        Preferences: MemoryPreferences(memory),
        Calendars: open_calendars(settings, http),
        UserTasks: user_tasks or NoTasks(),
        Profiles: profiles,
        **(services or {}),
    }
    toolbox = tools.discover(known, folders, tool_sources)
    agent = Agent(model, toolbox, settings.thinker_model, clock=clock)
    modes = load_modes(modes_file, tools=_ForModes(toolbox), check_steps=pipeline.check_names)
    profiles.modes = modes
    fast, advanced = settings.thinker_model, settings.thinker_model_advanced
    reasoner = Reasoner(agent, settings.reasoning, fast=fast, advanced=advanced)
    desk = Desk(agent, toolbox, memory, settings, pipeline, reasoner, clock, modes, _router(settings, model))
    return Thinkers.discover(desk, folders=folders)


def _check_plugins(folders: Iterable[Path]) -> None:
    """A file that was put among the plugins and holds none is a mistake, and better said than skipped."""
    for module in (module for folder in folders for module in folder_modules(folder)):
        if not hasattr(module, "MANIFEST") and not tools.tools_of(module) and not steps_of(module):
            raise BadPlugin(f"{module.__file__} holds neither a MANIFEST, nor a tool, nor a step.")


def _router(settings: Settings, model: ChatModel) -> ToolRouter:
    chosen = settings.tools
    name = chosen.router_model or settings.thinker_model
    return ToolRouter(model, name, above=chosen.router_above, deadline_s=chosen.router_deadline_s)


class _ForModes:
    """The names a mode may use: every tool's, also of other servers that are not there yet, and routing's."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    def __contains__(self, name: object) -> bool:
        return name == ROUTE_TOOL or name in self._toolbox
