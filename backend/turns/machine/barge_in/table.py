"""The barge-in machine: speech over a reply, until it is known whether it wants the floor.

    barge-in         event                               becomes   and
    --------------   ---------------------------------   -------   --------------------------------------------
    NONE             OnsetHinted                         HINTED    DuckPlayback; UnduckPlayback if it was nothing
    NONE, HINTED     a voice takes hold of the reply     DUCKED    DuckPlayback
    NONE, HINTED     ... before it plays                 HELD      HoldPlayback
    DUCKED, HELD     UtteranceRead: a murmur             NONE      UnduckPlayback: nothing is lost
    DUCKED, HELD     ... anything else, "stop" say       NONE      the caller has the floor
    DUCKED, HELD     the voice is off-axis, another's    NONE      UnduckPlayback

Half a second of speech over a reply may agree with it or want the floor. The utterance classifier distinguishes the two
immediately, with errors; the provider's transcript is sure and comes some 300 ms later. So what the caller has said is
committed like a segment of a turn, while the reply plays on:

    the class is      immediately                    the transcript then says: a murmur     anything else
    ---------------   ----------------------------   ------------------------------------   -------------------
    a murmur          the reply comes up again       it was one: its item is deleted        the floor is theirs
    a command         the caller has the floor       the reply goes on where it was cut     it is a turn
    other, nothing    the reply stays turned down    the reply comes up again               the floor is theirs

Without a transcript by `DECIDE_WITHIN_S`, what is in doubt is a turn. A voice that lasts longer than
`interruption_min_ms` takes the floor anyway (`MURMUR_MAX_MS` where it began like a murmur, `LONG_MURMUR_MAX_MS` where
it goes on like one). If the transcript then shows nothing but a murmur, the reply goes on.

A reply that is cut is suspended. If the Responder then calls `wait_for_user`, the speech was not meant for it, and the
reply goes on.
"""

from backend.turns import events as ev
from backend.turns.machine.barge_in import candidate, hints
from backend.turns.machine.barge_in.state import BargeIn
from backend.turns.machine.tables import Table

TABLE: Table[BargeIn] = {
    ev.OnsetHinted: dict.fromkeys(BargeIn, hints.on_hint),
    ev.VoiceOffAxis: {
        BargeIn.NONE: hints.on_off_axis,
        BargeIn.HINTED: hints.on_off_axis,
        BargeIn.DUCKED: hints.on_off_axis_while_held,
        BargeIn.HELD: hints.on_off_axis_while_held,
    },
    ev.UtteranceRead: {BargeIn.DUCKED: candidate.on_read, BargeIn.HELD: candidate.on_read},
}
