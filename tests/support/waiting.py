"""Waiting, where most tests look for it: see `backend.testing.waiting`."""

from backend.testing.waiting import until as until
