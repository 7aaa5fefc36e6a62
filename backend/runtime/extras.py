"""The error for a setting that needs an extra of this package which is not installed."""

from importlib.util import find_spec

from backend.errors import MissingLibrary


def require(package: str, *, extra: str, needed_by: str) -> None:
    """Raise `MissingLibrary` if the importable `package` is not installed, with the command that installs it."""
    if find_spec(package) is None:
        raise MissingLibrary(f"{needed_by} needs the package {package}.", hint=how_to_install(extra))


def how_to_install(*extras: str) -> str:
    """Return the command that installs these extras."""
    return f"pip install 'responder-thinker[{','.join(extras)}]'"
