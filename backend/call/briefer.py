"""Keeps the Responder's briefing up to date with what is known of the caller, and turns with what they have chosen."""

from __future__ import annotations

from collections.abc import Callable

from backend import page_events as page
from backend.call.caller import Caller
from backend.call.phone import PhoneCall
from backend.call.responder_link import ResponderLink
from backend.turns import events as ev
from backend.users.profile import UserProfile


class Briefer:
    """One call's briefings; the newest is the link's."""

    def __init__(
        self,
        caller: Caller,
        link: ResponderLink,
        phone: PhoneCall,
        dispatch: Callable[[ev.Event], None],
        publish: Callable[[page.PageEvent], None],
    ) -> None:
        self._caller = caller
        self._link = link
        self._phone = phone
        self._dispatch = dispatch
        self._publish = publish

    def __repr__(self) -> str:
        return f"Briefer({self._caller!r})"

    def brief(self) -> None:
        """Brief the Responder with what is known of the caller, their program's wishes, and the tools of their line."""
        self._link.brief(self._phone.brief(self._caller.briefing()))

    def brief_first(self) -> None:
        """Brief the Responder before its first connection; a profile that has changed meanwhile has done so already."""
        if self._link.briefing is None:
            self.brief()
            self._caller.use_mode()
            self._use_preferences()
        if self._caller.options is None:
            self._link.prefer(self._caller.preferences.responder)

    def brief_again(self, profile: UserProfile) -> None:
        """Show the page that the profile has changed, and brief the Responder again where it matters to it."""
        self._publish(page.UserContextChanged())
        self._caller.learn(profile)
        self._use_preferences()
        self.brief()

    def _use_preferences(self) -> None:
        """Take turns as the caller has chosen; a program that has chosen itself is not overruled."""
        if self._caller.options is None:
            self._dispatch(ev.OptionsChanged(self._caller.limits, answered=True))
