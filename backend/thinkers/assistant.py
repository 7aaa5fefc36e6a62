"""The user's reminders and notes."""

from __future__ import annotations

from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="assistant",
    label="Assistant",
    description=(
        "the user's reminders ('remind me …': set, list, cancel), with the time as it was said; their notes: to make, "
        "list or snooze one, or that it is done; also their yes or no to a change that was just asked about, with the "
        "change named in full"
    ),
    example="Remind me in ten minutes to take the bread out.",
    examples=(
        "What reminders do I have?",
        "Make a note to call the plumber.",
        "That's done.",
    ),
    prompt=(
        "You keep the user's reminders with reminders, and their notes, things to come back to, with stickynotes. "
        "Reckon dates from today's, in the user's time zone, and send them as ISO; if a day or an hour is missing, ask "
        "for it. If a tool says that the user has to agree first, nothing has been done: say exactly what would be "
        "done, and ask. If the conversation shows that you have asked and the user now agrees, make the same call with "
        "the same arguments. Say only what the tools confirm as done."
    ),
    tools=(
        "reminders",
        "stickynotes",
        "remember_preference",
    ),
    cache_ttl_s=0,
    filler="Still looking it up.",
    preferences=("name", "time_zone"),
    phrases=(
        "Don't let me forget to call Tom at five.",
        "Set a reminder for six o'clock.",
        "Take down an idea, a shed in the yard.",
        "Cancel the reminder about the bread.",
        "Write down that the car needs oil.",
        "What are my notes?",
        "What have I noted?",
        "New note: the key is with Tom.",
        "Take a note that the key is under the mat.",
        "Postpone that note.",
        "Snooze it until Monday.",
        "Remind me.",
        "Remind me to lock the door.",
        "Remind me tonight about the game.",
        "Could you remind me to feed the dog?",
        "I need a reminder for the exam.",
        "Wake me with a reminder at seven.",
        "Remind me every morning to drink water.",
        "Show my reminders.",
        "Are there any reminders for today?",
        "Delete the reminder.",
        "Don't let me forget the cake in the oven.",
        "Note that the window is broken.",
        "Note down this idea.",
        "Jot down a thought for me.",
        "Put on my list that we need sugar.",
        "Write this down: the code is on the fridge.",
        "Add a note about the garden.",
        "Show me my notes.",
        "Have I made any notes about the house?",
        "Mark the note as done.",
        "Tick off the note about the gift.",
        "Take down a thought.",
    ),
)
