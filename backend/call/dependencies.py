"""The services and settings that a server's calls share."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from backend.call.consent_replies import TakeAnswer
from backend.call.prompts import CallerBackground
from backend.call.utterance_tap import Reader
from backend.media.echo import EchoGuard
from backend.media.endpointing import LocalEndpointing
from backend.notifications.dispatcher import Subscribe
from backend.observability.call_metrics import CallMetrics
from backend.observability.tracing import NO_TRACER, Tracer
from backend.responders.base import Briefing
from backend.responders.failover import Providers
from backend.sessions.recorder import OpenRecorder
from backend.storage.ledger.ledger import Ledger
from backend.storage.messages import Message
from backend.storage.outbox import Enqueue
from backend.thinkers.dispatcher import ThinkerDispatcher
from backend.turns.call_options import CallOptions
from backend.turns.limits import TurnLimits
from backend.users.modes import Mode
from backend.users.profile import UserProfile
from backend.users.profile_learner import LearnerDependencies

Earlier = Callable[[str, str], Awaitable[Sequence[Message] | None]]
"""(user, conversation) → the messages of that conversation, within half a second; None if memory is slow."""
Spend = Callable[[str, str, Mapping[str, int]], int | None]
"""(session, model, tokens by kind as in `TokenUsage`) → charges them; returns their price in millionths of a dollar."""


@dataclass(frozen=True, slots=True)
class CallerKnowledge:
    """The functions that load what is known of a caller, and make a briefing and a mode of it."""

    brief: Callable[[CallerBackground, CallOptions | None], Briefing]
    """Makes the briefing for a caller from what is known of them and what their program has chosen."""
    mode: Callable[[UserProfile], Mode]
    """Returns the mode that the user has chosen."""
    background: Callable[[str], Awaitable[CallerBackground]]
    """Returns what is known of the user with that id, within half a second; an empty background if memory is slow."""
    earlier: Earlier


@dataclass(frozen=True, slots=True)
class CallDependencies:
    """The services and settings that all calls of this server share."""

    providers: Providers
    knowledge: CallerKnowledge
    thinkers: ThinkerDispatcher
    enqueue: Enqueue
    learning: LearnerDependencies
    open_endpointing: Callable[[], LocalEndpointing]
    """Opens local endpointing for a call."""
    limits: TurnLimits
    metrics: CallMetrics
    max_s: float = 0
    """The longest time of a call, in seconds; 0: no limit."""
    tracer: Tracer = NO_TRACER
    spent: Spend = lambda session_id, model, tokens: None
    """Takes the session, the model and the tokens by kind of each reply; returns their price, where it is known."""
    reader: Reader | None = None
    """The utterance classifier; None: the length of speech decides what is an interruption."""
    open_echo_guard: Callable[[], EchoGuard] = EchoGuard
    subscribe: Subscribe | None = None
    """Subscribes a call to its user's notices: see `notifications.dispatcher`."""
    ledger: Ledger | None = None
    """The ledger, which keeps conversations longer than memory; None: it is off."""
    open_recorder: OpenRecorder | None = None
    """Makes the recorder of each call; None: calls are not recorded."""
    transfers: Mapping[str, str] = field(default_factory=dict)
    """The targets to which calls by telephone may be transferred: a name → a number or a SIP address."""
    take_answer: TakeAnswer | None = None
    """Takes what callers answer to consent questions; None: no caller is asked."""
