"""The names for the author of a step around every turn: a function under `@step(name, stage=…)`."""

from backend.agent.context import Exchange, Note
from backend.middleware.base import Amended, Aside, Asked, StepOptions, WholeTurn, step
from backend.middleware.brainlets import MultiTurnRequest, brainlet

__all__ = ["Amended", "Aside", "Asked", "Exchange", "Note", "StepOptions", "WholeTurn", "step"]
__all__ += ["MultiTurnRequest", "brainlet"]
