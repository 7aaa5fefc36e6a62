"""Finds the page: beside `backend/` in a checkout, within `responder_thinker` in an installed package."""

from importlib.util import find_spec
from pathlib import Path


def page_folder() -> Path:
    """Return the folder of the page's files, which may not exist: then only the API is served."""
    checkout = Path(__file__).parents[2] / "frontend"
    package = find_spec("responder_thinker")
    if checkout.is_dir() or package is None or package.origin is None:
        return checkout  # the checkout wins, and a program without the package has no other
    return Path(package.origin).with_name("page")
