"""Sound, where most tests look for it: see `backend.testing.speech`."""

from backend.testing.speech import *  # noqa: F403
