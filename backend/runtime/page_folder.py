"""Finds the page: in a checkout it stands beside `backend/`, in an installed package within `responder_thinker`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def page_folder() -> Path:
    """Return the folder with the page's files; where there is none, only the API is served."""
    checkout = Path(__file__).parents[2] / "frontend"
    package = find_spec("responder_thinker")
    if checkout.is_dir() or package is None or package.origin is None:
        return checkout
    return Path(package.origin).with_name("page")
