"""The parts of one voice call, each complete before the engine is built."""

import asyncio
from dataclasses import dataclass
from functools import partial

from backend.call.call_ledger import CallLedger
from backend.call.caller import CallerContext
from backend.call.client_calls import ClientCalls
from backend.call.consent_replies import ConsentReplies
from backend.call.dependencies import CallDependencies
from backend.call.engine import EngineReference
from backend.call.history import CallHistory
from backend.call.inbox import Inbox
from backend.call.observers import CallObservers
from backend.call.out_of_band import OutOfBandResponses
from backend.call.phone import PhoneCall
from backend.call.responder_link import ResponderLink
from backend.call.tool_calls import CallView, ToolCallDispatcher
from backend.call.uplink import Uplink
from backend.call.usage import CallUsage
from backend.call.utterance_tap import UtteranceTap
from backend.media.echo import EchoGuard
from backend.responders.failover import ProviderChoice
from backend.runtime.faults import call_observer
from backend.sessions.recorder import Recorder
from backend.sessions.session import Session
from backend.transports.base import Transport
from backend.turns.turn import TurnMachine


@dataclass(frozen=True, slots=True)
class CallParts:
    """The parts of one call, apart from its engine."""

    session: Session
    transport: Transport
    machine: TurnMachine
    board: EngineReference
    over: asyncio.Event
    """Set when the call is to end."""

    # the caller, and their words that are not part of the audio path
    caller: CallerContext
    inbox: Inbox
    consent: ConsentReplies
    observers: CallObservers

    # the audio path
    link: ResponderLink
    uplink: Uplink
    echo: EchoGuard
    recorder: Recorder | None
    """The recorder of the call; None if the server records no calls."""
    tap: UtteranceTap
    out_of_band: OutOfBandResponses

    # the tool calls
    phone: PhoneCall
    client_calls: ClientCalls
    tool_calls: ToolCallDispatcher


def make_parts(dependencies: CallDependencies, session: Session, transport: Transport) -> CallParts:
    """Return the parts of a call over `transport`."""
    choice = ProviderChoice(dependencies.providers)
    caller = CallerContext(dependencies, session, choice)
    machine = TurnMachine(caller.limits)
    board = EngineReference()
    over = asyncio.Event()
    inbox = Inbox(board.dispatch, choice, over)

    enqueue = partial(call_observer, "memory writes", dependencies.enqueue)
    ledger = CallLedger(dependencies.ledger, session, lambda: choice.about.model)
    history = CallHistory(session.owner, session.conversation_id, enqueue, ledger.on_message)
    usage = CallUsage(session.id, lambda: choice.about, dependencies.spent, dependencies.metrics, board.publish)

    out_of_band = OutOfBandResponses(board.dispatch, usage.on_reply)
    link = ResponderLink(choice, history, lambda: machine.at_rest and not out_of_band.under_way)
    observers = CallObservers(dependencies, session, caller, ledger, history, usage, enqueue, board.brief_again)

    echo = dependencies.open_echo_guard()
    open_recorder = dependencies.open_recorder
    recorder = open_recorder and open_recorder(session, transport, echo.played, board.publish, board.dispatch)
    tap = UtteranceTap(dependencies.reader, board.dispatch)
    view = CallView(
        question=caller.question,
        dispatch=board.dispatch,
        publish=board.publish,
        ledger=ledger,
        history=history.tail,
        traced=observers.trace.thinker,
    )
    return CallParts(
        session=session,
        transport=transport,
        machine=machine,
        board=board,
        over=over,
        caller=caller,
        inbox=inbox,
        consent=ConsentReplies(session, dependencies.take_answer),
        observers=observers,
        link=link,
        uplink=Uplink(dependencies, session, caller.finder, link, board.dispatch, echo, recorder, tap),
        echo=echo,
        recorder=recorder,
        tap=tap,
        out_of_band=out_of_band,
        phone=PhoneCall(board, machine, transport, inbox.type_if_live, dependencies.transfers),
        client_calls=ClientCalls(board.dispatch),
        tool_calls=ToolCallDispatcher(dependencies.thinkers, view, dependencies.metrics),
    )
