"""The names for the author of an extension: a folder or package with an `EXTENSION`."""

from backend.access.principal import Grant
from backend.extension import Extension, Ground, ModuleCommand, Opened
from backend.http.context import Caller, Context, Here
from backend.http.services import UserDataStore
from backend.settings.plugin import PluginSettings
from backend.settings.settings import Settings

__all__ = [
    "Caller",
    "Context",
    "Extension",
    "Grant",
    "Ground",
    "Here",
    "ModuleCommand",
    "Opened",
    "PluginSettings",
    "Settings",
    "UserDataStore",
]
