"""The floor machine: who may speak.

    floor       event                                   becomes     and
    ---------   -------------------------------------   ---------   -----------------------------------------
    LISTENING   SpeechStarted, nothing to interrupt     USER
    LISTENING   SpeechStarted, a reply is coming        HELD        HoldPlayback
    ASSISTANT   SpeechStarted                           HELD        DuckPlayback immediately
    HELD        speech lasted interruption_min_ms       USER        CancelReply, FlushPlayback -> truncate, delete
    HELD        ... over an answer that has just begun  USER        the same, -> delete: the turn before goes on
    HELD        SpeechStopped, under cough_max_ms       as before   ClearInput, UnduckPlayback
    USER        SpeechPaused, COMMIT_AFTER_MS ago       USER        CommitInput: its words come early
    USER        SpeechStopped (the first moment)        PAUSING     CommitInput, an ANSWER is wanted
    USER        SpeechStopped, under TURN_MIN_MS        LISTENING   ClearInput: it was noise
    PAUSING     speech lasted TURN_MIN_MS               USER        CancelReply, DeleteItem: the same turn goes on
    PAUSING     the wait is over (the second moment)    LISTENING   what the reply has sent meanwhile happens now
    LISTENING   ReplyAudio, PlayClip                    ASSISTANT   Play
    ASSISTANT   PlaybackDrained, reply finished         LISTENING   Remember what was heard; idling counts from here
    any         TransportClosed, HangUpRequested, ...   CLOSED      CancelThinker, HangUp

The barge-in machine decides whether a voice over a reply takes the floor. While interruptions are off, or a reply must
be heard to its end, speech over the reply is answered after it. Typed words are a turn of their own; words typed while
the caller speaks wait for the answer to the speech.
"""

from backend.turns import events as ev
from backend.turns.machine import client, ending
from backend.turns.machine.floor import playback, speech, typed
from backend.turns.machine.floor.state import Floor
from backend.turns.machine.tables import Table

TABLE: Table[Floor] = {
    ev.SpeechStarted: {
        Floor.LISTENING: speech.on_onset,
        Floor.ASSISTANT: speech.on_onset_over_reply,
        Floor.PAUSING: speech.on_onset_in_pause,
        Floor.HELD: speech.on_onset_in_pause,
    },
    ev.SpeechPaused: {
        Floor.USER: speech.on_paused_in_turn,
        Floor.LISTENING: speech.on_paused,
        Floor.ASSISTANT: speech.on_paused,
        Floor.PAUSING: speech.on_paused,
        Floor.HELD: speech.on_paused,
    },
    ev.SpeechResumed: {
        Floor.USER: speech.on_resumed_in_turn,
        Floor.LISTENING: speech.on_resumed,
        Floor.ASSISTANT: speech.on_resumed_over_reply,
        Floor.PAUSING: speech.on_resumed_in_pause,
        Floor.HELD: speech.on_resumed_in_pause,
    },
    ev.SpeechStopped: {
        Floor.USER: speech.on_stopped_in_turn,
        Floor.LISTENING: speech.on_stopped,
        Floor.ASSISTANT: speech.on_stopped_over_reply,
        Floor.PAUSING: speech.on_stopped_in_pause,
        Floor.HELD: speech.on_stopped_over_held_reply,
    },
    ev.UtteranceRead: dict.fromkeys(Floor, speech.on_read),
    ev.TextTyped: dict.fromkeys(Floor, typed.on_typed),
    ev.InputHandedIn: dict.fromkeys(Floor, client.on_input_handed_in),
    ev.InputDropped: dict.fromkeys(Floor, client.on_input_dropped),
    ev.PlaybackStarted: dict.fromkeys(Floor, playback.on_started),
    ev.PlaybackDrained: dict.fromkeys(Floor, playback.on_drained),
    ev.PlaybackFlushed: dict.fromkeys(Floor, playback.on_flushed),
    ev.HangUpRequested: dict.fromkeys(Floor, ending.on_hang_up_requested),
    ev.TransportClosed: dict.fromkeys(Floor, ending.on_transport_closed),
}
