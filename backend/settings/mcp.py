"""Settings of the Model Context Protocol (`MCP__…`): who may use our tools, and which tools of others we use."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from backend.settings.plugin import PluginSettings

SERVER_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
NAME_LIMIT = 20
SERVERS_LIMIT = 20


class McpServerEntry(BaseModel):
    """One other server: a `command` to start (its standard input and output are spoken to), or a `url` to call."""

    model_config = ConfigDict(extra="forbid")

    command: str = ""
    args: list[str] = Field(default_factory=list, repr=False)
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    cwd: Path | None = None
    url: str = ""
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    tools: list[str] | None = None
    """Of its tools, the ones that are wanted, by its own names; None: all."""
    clients: list[Literal["voice", "chat", "internal", "copilot", "external"]] = ["voice", "chat", "internal"]
    confirm: bool | list[str] = False
    """Tools (true: all) for which the user must agree first, beside those that may destroy something."""
    read_only: list[str] = []
    """Tools that change nothing though their server does not say so (`readOnlyHint`), and so need no agreement."""
    scope: Literal["public", "signed_in", "operator"] | None = None
    """Who may use them; None: the operator's scope for a `command` and where `headers` or `env` hold credentials, else
    public."""
    deadline_s: float = Field(default=8.0, gt=0, le=120)

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> McpServerEntry:
        if bool(self.command) == bool(self.url):
            raise ValueError("needs either a command or a url")
        if self.url and not re.match(r"https?://[^/\s@]+", self.url):
            raise ValueError("url must start with http:// or https:// and hold no password: put it into headers")
        return self


class McpSettings(PluginSettings, env_prefix="MCP__"):
    """How our tools are served, and which of other servers are used. Tokens of API keys open the endpoints."""

    per_minute: int = Field(300, ge=0, description="Requests to /mcp/ one token may make in a minute; 0: any number.")
    servers: SecretStr | None = Field(
        None, description="Other servers with tools to use: JSON by name, or a file with it (see the how-to)."
    )

    @field_validator("servers")
    @classmethod
    def _readable(cls, value: SecretStr | None) -> SecretStr | None:
        _entries(value)
        return value

    @property
    def entries(self) -> dict[str, McpServerEntry]:
        """Return the other servers by name."""
        return _entries(self.servers)


def _entries(value: SecretStr | None) -> dict[str, McpServerEntry]:
    """Return the servers by name. Raises `ValueError` that repeats no secret."""
    if value is None or not (text := value.get_secret_value().strip()):
        return {}
    try:
        servers: Any = json.loads(text if text.startswith("{") else Path(text).read_text())
    except json.JSONDecodeError:
        raise ValueError("is not valid JSON") from None
    except (OSError, UnicodeDecodeError):
        raise ValueError("must be JSON that begins with {, or name a file that can be read") from None
    if isinstance(servers, dict) and set(servers) == {"mcpServers"}:
        servers = servers["mcpServers"]  # the form other programs keep it in
    if not isinstance(servers, dict) or len(servers) > SERVERS_LIMIT:
        raise ValueError(f'must be JSON like {{"name": {{"url": "…"}}}}, with at most {SERVERS_LIMIT} servers')
    return {name: _entry(name, entry) for name, entry in servers.items()}


def _entry(name: str, entry: Any) -> McpServerEntry:
    if not SERVER_NAME.fullmatch(name) or len(name) > NAME_LIMIT:
        raise ValueError(
            f"server names are lower-case words of at most {NAME_LIMIT} characters joined by one underscore"
        )
    try:
        return McpServerEntry.model_validate(entry)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False)
        words = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}".removeprefix(": ") for each in problems)
        raise ValueError(f"server {name}: {words.replace('Value error, ', '')}") from None
