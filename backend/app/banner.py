"""The lines that the operator sees at the start."""

from __future__ import annotations

from pathlib import Path

from backend.app.mcp import mcp_summary
from backend.app.stores import Stores
from backend.app.tasks import TaskSubsystem
from backend.app.thinkers import ThinkerSubsystem
from backend.media.endpointing import choose_engine
from backend.settings.settings import Settings


def start_up_lines(
    settings: Settings, stores: Stores, thinkers: ThinkerSubsystem, tasks: TaskSubsystem
) -> tuple[str, ...]:
    """Return a line each for the Responder, memory, Thinkers, speech detection, and whatever else is on."""
    lines = [
        f"Responder  {_responder(settings)}",
        f"Memory     {stores.opened.label}",
        f"Thinkers   {', '.join(manifest.domain for manifest in thinkers.registry.manifests)}",
        f"Detector   {choose_engine(settings.vad.engine) if settings.vad.enabled else 'the provider’s semantic_vad'}",
    ]
    if settings.langsmith_tracing_enabled:
        words = "with what is said" if settings.trace_content else "without what is said"
        lines.append(f"Tracing    LangSmith project {settings.langsmith_project}, {words}")
    if summary := mcp_summary(settings.mcp):
        lines.append(f"MCP        {summary}")
    if stores.opened.detail:
        lines.append(f"           {stores.opened.detail}")
    if settings.rtc_force_host is None and Path("/.dockerenv").exists():
        lines.append("Network    in a container, set RTC_FORCE_HOST to the address callers reach")
    return (*lines, f"Background {tasks.banner}")


def _responder(settings: Settings) -> str:
    if settings.offline:
        return "offline demonstration: simple speech recognition and voice; set OPENAI_API_KEY for the real one"
    return f"{settings.realtime_model} at {settings.openai_base_url}"
