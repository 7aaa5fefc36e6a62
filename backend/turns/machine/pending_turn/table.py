"""The pending-turn machine: the caller's turn as long as it may go on. The server thinks early and speaks late.

    turn         event                                  becomes
    ----------   ------------------------------------   --------------------------------------------------
    NONE         the caller takes the floor             COLLECTING
    COLLECTING   a segment ends (the first moment)      BEGUN: it has a number, and its reply is wanted
    COLLECTING   ... that was read as "um"              COLLECTING, for HESITATION_WAIT_MS; then NONE
    BEGUN        the wait is over (the second moment)   BEGUN: its reply may sound
    BEGUN        the caller goes on before it sounds    BEGUN: another segment; the prepared reply is discarded
    BEGUN        PlaybackStarted                        ANSWERED
    ANSWERED     the caller goes on soon enough         BEGUN: the answer was a false start, and is deleted
    ANSWERED     the next turn begins                   NONE, and COLLECTING again

A turn has two moments. At the first, the end of an utterance, its reply is asked for; at the second, when the turn is
believed over, the reply may sound. In between the floor is PAUSING: whatever the prepared reply sends is deferred, so
that nothing is played, shown or run. A caller who goes on before the second moment has heard nothing: the prepared
reply is cancelled and deleted, and what follows is another segment of the same turn. Even after the second moment a
turn is open until its answer sounds, for `RESUME_WITHIN_S`. Tool calls that were begun by then work on: the answer to
all that was said has the results that are there when it is asked for; `turns.turn` says what becomes of the others.

An answer may still begin to sound into a pause: a *false start*. A caller who speaks again within
`FALSE_START_WITHIN_S` has not heard enough of it to react to: it is cut and deleted as if nothing of it had been said,
and what follows is another segment of the same turn.

If an onset hint stands at the second moment, that moment is put off until the hint is withdrawn, by `HINTED_S` at most.

`turns.end_of_turn` decides how long to wait. It is called again whenever more is known: the words of a segment, the
class of a short utterance, how likely a sentence ends here.

A reply that is prepared and discarded costs tokens. So a call has a *credit*: each turn adds `CREDIT_PER_TURN`, each
discarded reply takes 1. Before its words are known, a turn's reply is asked for if the turn is likely to be over: much
was said, we have asked something, or it has cut a reply that may come back. The credit must not be overdrawn. With a
credit of 1 the reply is also asked for if this caller's latest turns had no pause (`WHOLE_TURNS`). Known words that may
be all need no credit: the reply is asked for immediately (`PREPARE_WAIT_MS`). A turn discards `DISCARDED_PER_TURN`
replies at most.
"""

from backend.turns import events as ev
from backend.turns.machine import client
from backend.turns.machine.pending_turn import waiting, words
from backend.turns.machine.pending_turn.state import TurnStage
from backend.turns.machine.tables import Table

TABLE: Table[TurnStage] = {
    ev.OnsetHinted: {TurnStage.COLLECTING: waiting.on_hint, TurnStage.BEGUN: waiting.on_hint},
    ev.UtteranceRead: {TurnStage.COLLECTING: waiting.on_read, TurnStage.BEGUN: waiting.on_read},
    ev.SentenceEndEstimated: {TurnStage.COLLECTING: waiting.on_sentence_end, TurnStage.BEGUN: waiting.on_sentence_end},
    ev.InputCommitted: dict.fromkeys(TurnStage, words.on_committed),
    ev.UserTranscriptGrew: dict.fromkeys(TurnStage, words.on_transcript_grew),
    ev.UserTranscribed: dict.fromkeys(TurnStage, words.on_transcribed),
    ev.InputCommitWanted: dict.fromkeys(TurnStage, client.on_input_commit_wanted),
}
