"""One call's caller: the choices of the caller and of their program, from which limits, briefing and rights follow."""

from dataclasses import replace

from backend.call.dependencies import CallDependencies
from backend.call.prompts import CallerBackground
from backend.call.uplink import TurnFinder
from backend.responders.base import Briefing
from backend.responders.failover import ProviderChoice
from backend.sessions.session import Session
from backend.thinkers.base import Question
from backend.tools.base import ToolRights
from backend.turns.call_options import CallOptions
from backend.turns.end_of_turn import EndpointingStyle
from backend.turns.limits import TurnLimits
from backend.users.profile import Preferences, UserProfile

STYLES = frozenset(EndpointingStyle)


class CallerContext:
    """The caller of one call. A participant with only the session's token has no profile here."""

    def __init__(self, dependencies: CallDependencies, session: Session, choice: ProviderChoice) -> None:
        """`choice` knows who can detect turns with the model that serves the call now."""
        self._dependencies = dependencies
        self._session = session
        self._choice = choice
        self._background = CallerBackground()
        self.options: CallOptions | None = session.options
        """The options of the caller's program; None without a program, when the caller's own preferences count."""
        self.mode = dependencies.knowledge.mode(UserProfile())

    @property
    def preferences(self) -> Preferences:
        """Return the caller's choices for every call."""
        return self._background.profile.preferences

    @property
    def is_answered(self) -> bool:
        """Return whether each turn is answered; otherwise the caller's program asks for replies."""
        return self.options is None or self.options.answers

    @property
    def limits(self) -> TurnLimits:
        """The limits of this call: the server's, as its caller or their program has changed them."""
        usual, options = self._dependencies.limits, self.options
        limits = replace(usual, interruptible=self._session.interruptions)
        if options:
            limits = options.limits(limits)
        if options is None or options.detects_turns:
            limits = replace(limits, endpointing=self._choice.capabilities.endpointer(limits.endpointing))
        if options:
            return limits
        chosen = self.preferences.turn_patience
        return replace(limits, style=EndpointingStyle(chosen) if chosen in STYLES else usual.style)

    @property
    def finder(self) -> TurnFinder:
        """Return who detects the caller's turns."""
        return self.limits.endpointing if self.options is None or self.options.detects_turns else "client"

    async def load(self) -> None:
        """Load what is known of the caller, within half a second; keep a profile that has changed meanwhile."""
        before = self._background.profile
        background = await self._dependencies.knowledge.background(self._session.owner)
        now = self._background.profile
        self._background = background if now is before else replace(background, profile=now)

    def use_mode(self) -> None:
        """Use the mode in the profile."""
        self.mode = self._dependencies.knowledge.mode(self._background.profile)

    def learn(self, profile: UserProfile) -> None:
        """Take a profile that has changed."""
        self._background = replace(self._background, profile=profile)
        self.use_mode()

    def briefing(self) -> Briefing:
        """Return the Responder's briefing: what is known of the caller, and their program's wishes."""
        return self._dependencies.knowledge.brief(self._background, self.options)

    def question(self, untrusted: bool, unsure: bool) -> Question:
        """Return a question of the caller with their rights, still without words; see `ToolRights` for the flags."""
        session = self._session
        rights = ToolRights(session.caller_scope, untrusted=untrusted, unsure=unsure)
        user, conversation = "" if session.shared else session.owner, session.conversation_id
        return Question("", "", session.id, user, mode=self.mode, conversation_id=conversation, rights=rights)
