"""The reply machine: the reply that the provider gives. At most one reply is in flight.

    reply        event                                  becomes
    ----------   ------------------------------------   --------------------------------------------------
    NONE         a purpose is wanted, the floor free    REQUESTED   (CreateReply)
    NONE         ... an ANSWER, the floor PAUSING       REQUESTED   if the credit for prepared replies allows it
    REQUESTED    ReplyStarted                           STREAMING
    REQUESTED    ReplyRefused                           NONE; asked for again in RETRY_AFTER_S
    REQUESTED    no sound in FIRST_AUDIO_WITHIN_S       NONE (CancelReply); asked for once more, then an apology
    STREAMING    ReplyFinished                          NONE; one that is not whole: see `failures`
    STREAMING    no sound in STALL_AFTER_S              NONE (CancelReply); continued, or apologised for
    either       the floor is taken                     CANCELLING
    either       ... in a pause of the caller's         DISCARDING: nothing of it was heard
    these two    ReplyFinished, or CANCEL_WITHIN_S      NONE

Audio, words and calls are accepted only from the reply that is STREAMING, by its id: what a cancelled reply still sends
is dropped. A call of a cancelled reply is answered immediately, since the provider waits for that too.

Replies are asked for by purpose, the most urgent first. A reply may queue behind another, and an answer is prepared
while the caller may still go on; everything else waits for a free floor.
"""

from backend.turns import events as ev
from backend.turns.machine import client, thinkers
from backend.turns.machine.reply import replies
from backend.turns.machine.reply.state import Phase
from backend.turns.machine.tables import Table

TABLE: Table[Phase] = {
    ev.ReplyStarted: {
        Phase.NONE: replies.on_started_unasked,
        Phase.REQUESTED: replies.on_started,
        Phase.STREAMING: replies.on_started_too_many,
        Phase.CANCELLING: replies.on_started_late,
        Phase.DISCARDING: replies.on_started_late,
    },
    ev.ReplyAudio: {Phase.STREAMING: replies.on_audio},
    ev.ReplyText: {Phase.STREAMING: replies.on_text},
    ev.MessageFinished: {Phase.STREAMING: replies.on_message_finished},
    ev.ToolCalled: {
        Phase.NONE: thinkers.on_overtaken,
        Phase.REQUESTED: thinkers.on_overtaken,
        Phase.STREAMING: thinkers.on_tool_called,
        Phase.CANCELLING: thinkers.on_overtaken,
        Phase.DISCARDING: thinkers.on_overtaken,
    },
    ev.ReplyFinished: {
        Phase.STREAMING: replies.on_finished,
        Phase.CANCELLING: replies.on_cancelled,
        Phase.DISCARDING: replies.on_discarded,
    },
    ev.ReplyRefused: {
        Phase.REQUESTED: replies.on_refused,
        Phase.CANCELLING: replies.on_refused_late,
        Phase.DISCARDING: replies.on_refused_late,
    },
    ev.ReplyRequested: dict.fromkeys(Phase, client.on_reply_requested),
    ev.ReplyCalledOff: dict.fromkeys(Phase, client.on_reply_called_off),
}
