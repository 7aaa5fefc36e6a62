"""A call of an RTVI client, for the suite that every transport passes."""

from __future__ import annotations

from tests.extensions.rtvi.rtvi_calls import rtvi_rig

RIGS = [rtvi_rig]
