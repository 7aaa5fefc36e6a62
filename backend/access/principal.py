"""A principal is the identity that makes a request, with its rights.

Everything behind the HTTP routes depends on it: which routes answer, which tools are offered, who pays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from backend.errors import Forbidden


class ToolScope(IntEnum):
    """How well a caller is known, and so which tools they may use; a tool's scope is the least one that it asks for."""

    ANONYMOUS = 0
    SIGNED_IN = 1
    OPERATOR = 2
    """May use tools that act with the operator's own credentials."""


class Grant(StrEnum):
    """One part of the API that a principal may use."""

    CALL = "call"
    CHAT = "chat"
    REASON = "reason"
    EMBED = "embed"
    TASKS = "tasks"
    NOTIFY = "notify"
    MEMORY = "memory"
    ADMIN = "admin"
    MCP = "mcp"
    """Use tools over MCP, as one of the operator's own programs."""
    MCP_COPILOT = "mcp_copilot"
    MCP_EXTERNAL = "mcp_external"
    ON_BEHALF = "on_behalf"
    """Act for users of its key that the program names."""


KEY = "key "
"""The beginning of the credential of a principal with a token of an API key."""
MCP_GRANTS = frozenset({Grant.MCP, Grant.MCP_COPILOT, Grant.MCP_EXTERNAL})
PROGRAM_GRANTS = MCP_GRANTS | {Grant.NOTIFY, Grant.ON_BEHALF}
"""The grants of a program that keeps its token in its settings, such as an editor."""
USER_GRANTS = frozenset(
    {Grant.CALL, Grant.CHAT, Grant.REASON, Grant.EMBED, Grant.TASKS, Grant.NOTIFY, Grant.MEMORY},
)
"""The grants of a user of the server's own page."""


@dataclass(frozen=True, slots=True)
class CallerScope:
    """The tools a caller may use, which travel with the caller's work into calls, turns and tasks."""

    scope: ToolScope = ToolScope.ANONYMOUS
    tools: frozenset[str] | None = None
    """The tools that the caller's token names, and no others; None: every tool of the scope and of those below."""


PUBLIC = CallerScope()
"""The scope of an unknown caller: public tools only."""
EVERYTHING = CallerScope(ToolScope.OPERATOR)
"""The scope of the operator's own work."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The identity that makes a request, with its rights."""

    user: str
    """The user id under which the principal's data is stored."""
    scope: ToolScope
    grants: frozenset[Grant]
    tools: frozenset[str] | None
    """The tools they may use, by name; None: every tool of their scope."""
    address: str
    """The client's address: an IPv4 address, or the /64 network of an IPv6 address."""
    credential: str
    """The proof of identity: `none`, `cookie`, `oidc`, `key <id>`, `session` or `admin token`."""
    conversation: str | None = None
    """The only conversation that the principal may name; None: any of its own."""

    @property
    def key(self) -> str:
        """The id of the API key that signed the principal's token; empty: they show another credential."""
        return self.credential.removeprefix(KEY) if self.credential.startswith(KEY) else ""

    @property
    def caller_scope(self) -> CallerScope:
        """The tools they may use."""
        return CallerScope(self.scope, self.tools)

    def opens(self, conversation: str) -> bool:
        """Return whether the principal may name this conversation, provided it is its own."""
        return self.conversation in (None, conversation)

    def conversation_for(self, named: str | None) -> str | None:
        """Return the conversation of a request. Raises `Forbidden` for one that the principal may not name."""
        if named is not None and not self.opens(named):
            raise Forbidden("This token is for another conversation.", hint="Leave `conversation_id` out.")
        return self.conversation or named

    def as_user(self) -> Principal:
        """Return the same principal without an operator's rights."""
        if Grant.ADMIN not in self.grants:
            return self
        return replace(self, scope=ToolScope.SIGNED_IN, grants=self.grants - {Grant.ADMIN})
