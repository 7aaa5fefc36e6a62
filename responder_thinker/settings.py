"""The names for the settings of a Thinker, a tool or a step."""

from backend.settings.plugin import PluginSettings, plugin_settings

__all__ = ["PluginSettings", "plugin_settings"]
