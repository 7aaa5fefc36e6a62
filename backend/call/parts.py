"""The parts of one voice call, complete before its engine is built of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from backend.call.briefer import Briefer
from backend.call.caller import Caller
from backend.call.client_calls import ClientCalls
from backend.call.consent_replies import ConsentReplies
from backend.call.inbox import Inbox
from backend.call.observers import CallObservers
from backend.call.out_of_band import OutOfBandResponses
from backend.call.phone import PhoneCall
from backend.call.provider_calls import ProviderCalls
from backend.call.responder_link import ResponderLink
from backend.call.tool_calls import ToolCallDispatcher
from backend.call.uplink import Uplink
from backend.call.utterance_tap import UtteranceTap
from backend.media.echo import EchoGuard
from backend.sessions.recorder import Recorder
from backend.sessions.session import Session
from backend.transports.base import Transport
from backend.turns.turn import TurnMachine


@dataclass(frozen=True, slots=True)
class CallParts:
    """Everything that one call consists of, beside its engine."""

    session: Session
    transport: Transport
    machine: TurnMachine
    over: asyncio.Event
    """The call is to end."""

    # whose call it is, and what they say beside speaking
    caller: Caller
    briefer: Briefer
    inbox: Inbox
    consent: ConsentReplies
    observers: CallObservers

    # the way of the sound
    link: ResponderLink
    uplink: Uplink
    echo: EchoGuard
    recorder: Recorder
    tap: UtteranceTap
    out_of_band: OutOfBandResponses

    # the tool calls
    provider_calls: ProviderCalls
    phone: PhoneCall
    client_calls: ClientCalls
    tool_calls: ToolCallDispatcher
