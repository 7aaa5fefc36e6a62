"""An example plugin in one file: a Thinker, its tool and a step. `PLUGIN_FOLDERS=examples/plugin` loads it."""

import math
from typing import Annotated

from responder_thinker.steps import Asked, Note, step
from responder_thinker.thinkers import Manifest
from responder_thinker.tools import Clock, Result, tool

MANIFEST = Manifest(
    domain="tides",
    label="Tides",
    description="tide tables: high and low water at a coast",
    example="When is high tide in Brest?",
    prompt="You answer questions about tides. Get the time with high_tide; never guess it.",
    tools=("high_tide",),
    cache_ttl_s=600,
)
PORTS = {"brest": 3.5, "dover": 11.2, "lisbon": 2.1}
"""Hours after the moon's transit at which the water is high: rough means, not for navigation."""
LUNAR_DAY_S = 24.84 * 3600


@tool("high_tide", "The next high tide at a port.")
async def high_tide(clock: Clock, port: Annotated[str, "A port, e.g. 'Brest'."]) -> Result:
    """Estimate the next high tide from the port's mean delay."""
    delay_h = PORTS.get(port.strip().lower())
    if delay_h is None:
        return Result({"port": port, "error": "unknown port", "known": sorted(PORTS)})
    half, now = LUNAR_DAY_S / 2, clock.now().timestamp()
    minutes = math.ceil((half - (now - delay_h * 3600) % half) / 60)
    return Result({"port": port, "in_minutes": minutes}, note="A mean value for this port, not a forecast; say so.")


@step("tide_warning", stage="pre", domains=("tides",))
async def tide_warning(asked: Asked) -> Note | None:
    """Remind the model of safety when a user means to swim."""
    if "swim" not in asked.text.lower():
        return None
    return Note("Safety", {"advice": "Mention that currents are strongest halfway between the tides."}, personal=False)
