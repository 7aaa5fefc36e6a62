"""The Responder without a provider: recognition, dialogue and voice on this machine."""

from __future__ import annotations

from backend.extension import Extension

EXTENSION = Extension(name="local", title="Local Responder")
