"""The names for the author of a Thinker: one file with a `MANIFEST`, and `think` where the prompt is not enough."""

from backend.agent.context import Note
from backend.citations import Citation
from backend.errors import ToolFailed, VoiceError
from backend.thinkers.base import Answer, Manifest
from backend.thinkers.run import ThinkerRun
from backend.users.context_update import ContextUpdate

__all__ = ["Answer", "Citation", "ContextUpdate", "Manifest", "Note", "ThinkerRun", "ToolFailed", "VoiceError"]
