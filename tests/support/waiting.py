"""Waiting, under the name that most tests import: see `backend.testing.waiting`."""

from backend.testing.waiting import until as until
