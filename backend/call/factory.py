"""Builds a voice call: its parts first, each complete, then the engine that connects them."""

from __future__ import annotations

import asyncio
from functools import partial

from backend.call.briefer import Briefer
from backend.call.caller import Caller
from backend.call.client_calls import ClientCalls
from backend.call.consent_replies import ConsentReplies
from backend.call.dependencies import CallDependencies
from backend.call.engine import CallEngine, Switchboard
from backend.call.history import CallHistory
from backend.call.inbox import Inbox
from backend.call.observers import CallObservers
from backend.call.out_of_band import OutOfBandResponses
from backend.call.parts import CallParts
from backend.call.phone import PhoneCall, PhoneView
from backend.call.provider_calls import ProviderCalls
from backend.call.record import CallRecord
from backend.call.responder_link import ResponderLink
from backend.call.tool_calls import CallView, ToolCallDispatcher
from backend.call.uplink import Uplink
from backend.call.usage import CallUsage
from backend.call.utterance_tap import UtteranceTap
from backend.call.voice_call import VoiceCall
from backend.responders.failover import ProviderChoice
from backend.runtime.faults import call_listener
from backend.sessions.session import Session
from backend.transports.base import Transport
from backend.turns.turn import TurnMachine


def open_call(dependencies: CallDependencies, session: Session, transport: Transport) -> VoiceCall:
    """Return a call over `transport`, ready to run."""
    choice = ProviderChoice(dependencies.providers)
    caller = Caller(dependencies, session, choice)
    machine = TurnMachine(caller.limits)
    board = Switchboard(machine)
    parts = _parts(dependencies, session, transport, choice, caller, machine, board)
    engine = CallEngine(parts, dependencies.subscribe, dependencies.times.max_s)
    board.connect(engine)
    return VoiceCall(parts, engine, dependencies.knowledge.earlier)


def _parts(
    dependencies: CallDependencies,
    session: Session,
    transport: Transport,
    choice: ProviderChoice,
    caller: Caller,
    machine: TurnMachine,
    board: Switchboard,
) -> CallParts:
    over = asyncio.Event()
    inbox = Inbox(board.dispatch, choice, over)

    enqueue = partial(call_listener, "memory writes", dependencies.enqueue)
    record = CallRecord(dependencies.ledger, session, lambda: choice.about.model)
    history = CallHistory(session.owner, session.conversation_id, enqueue, record.on_message)
    usage = CallUsage(session.id, lambda: choice.about, dependencies.spent, dependencies.metrics, board.publish)

    out_of_band = OutOfBandResponses(board.dispatch, usage.on_reply)
    times = dependencies.times
    link = ResponderLink(
        choice,
        history,
        lambda: machine.at_rest and not out_of_band.under_way,
        times.line_patience_s,
        times.connection_max_s,
    )
    phone = PhoneCall(
        PhoneView(transport, board.turn, board.dispatch, board.publish, inbox.type_if_live),
        dependencies.transfers,
    )
    briefer = Briefer(caller, link, phone, board.dispatch, board.publish)
    observers = CallObservers(dependencies, session, caller, record, history, usage, enqueue, briefer.brief_again)

    echo = dependencies.open_echo_guard()
    recorder = dependencies.open_recorder(session, transport, echo.played, board.publish, board.dispatch)
    tap = UtteranceTap(dependencies.reader, board.dispatch)
    provider_calls = ProviderCalls(board.dispatch, link.send, caller.agree, board.turn)
    view = CallView(
        question=caller.question,
        turn=board.turn,
        turn_age_ms=board.turn_age_ms,
        dispatch=board.dispatch,
        publish=board.publish,
        record=record,
        untrusted=provider_calls.untrusted,
        history=history.tail,
        traced=observers.trace.thinker,
    )
    return CallParts(
        session=session,
        transport=transport,
        machine=machine,
        over=over,
        caller=caller,
        briefer=briefer,
        inbox=inbox,
        consent=ConsentReplies(session, dependencies.take_answer),
        observers=observers,
        link=link,
        uplink=Uplink(dependencies, session, caller.finder, link, board.dispatch, echo, recorder, tap),
        echo=echo,
        recorder=recorder,
        tap=tap,
        out_of_band=out_of_band,
        provider_calls=provider_calls,
        phone=phone,
        client_calls=ClientCalls(board.dispatch),
        tool_calls=ToolCallDispatcher(dependencies.thinkers, view, dependencies.metrics),
    )
