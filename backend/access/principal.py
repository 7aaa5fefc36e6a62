"""A principal is who makes a request, as the server learned it at the door, and what they may do here.

Everything behind the HTTP routes decides by it: which routes answer, which tools are offered, who pays.
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
    """Tools over MCP, as one of the operator's own programs."""
    MCP_COPILOT = "mcp_copilot"
    MCP_EXTERNAL = "mcp_external"
    ON_BEHALF = "on_behalf"
    """Act for users that the program names: reminders at `/notification`, and `X-On-Behalf-Of` at `/mcp/…`."""


MCP_GRANTS = frozenset({Grant.MCP, Grant.MCP_COPILOT, Grant.MCP_EXTERNAL})
PROGRAM_GRANTS = MCP_GRANTS | {Grant.NOTIFY, Grant.ON_BEHALF}
"""What a program may do that keeps its token in its settings, an editor say."""
USER_GRANTS = frozenset(
    {Grant.CALL, Grant.CHAT, Grant.REASON, Grant.EMBED, Grant.TASKS, Grant.NOTIFY, Grant.MEMORY},
)
"""What a user of the server's own page may do."""


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
    """The one who makes a request, with their rights."""

    user: str
    """The user id under which their data is stored."""
    scope: ToolScope
    grants: frozenset[Grant]
    tools: frozenset[str] | None
    """The tools they may use, by name; None: every tool of their scope."""
    address: str
    """The client's address as limits count it: an IPv4 address, or the /64 network of an IPv6 address."""
    credential: str
    """How they proved who they are: `none`, `cookie`, `oidc`, `key <id>` or `session`."""
    conversation: str | None = None
    """The only conversation they may name; None: any of their own."""

    @property
    def caller_scope(self) -> CallerScope:
        """The tools they may use."""
        return CallerScope(self.scope, self.tools)

    def opens(self, conversation: str) -> bool:
        """Return whether they may name this conversation, if it is their own."""
        return self.conversation in (None, conversation)

    def conversation_for(self, named: str | None) -> str | None:
        """Return the conversation that a request is about. Raises `Forbidden` for another than their one."""
        if named is not None and not self.opens(named):
            raise Forbidden("This token is for another conversation.", hint="Leave `conversation_id` out.")
        return self.conversation or named

    def as_user(self) -> Principal:
        """Return the same without what makes an operator of them."""
        if Grant.ADMIN not in self.grants:
            return self
        return replace(self, scope=ToolScope.SIGNED_IN, grants=self.grants - {Grant.ADMIN})
