"""Health questions: clinical scores, and a Thinker that informs without being a doctor."""

from __future__ import annotations

from backend.extension import Extension

EXTENSION = Extension(
    name="medical",
    title="Medicine",
    tools=("backend.extensions.medical.calculator",),
    thinkers=("backend.extensions.medical.thinker",),
)
