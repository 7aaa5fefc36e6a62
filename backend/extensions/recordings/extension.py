"""Calls are recorded where their callers agree."""

from __future__ import annotations

from backend.access.principal import Grant
from backend.extension import Extension
from backend.extensions.recordings.routes import router

EXTENSION = Extension(name="recordings", title="Recordings", routes=(router,), grants={"/api/recordings": Grant.CALL})
