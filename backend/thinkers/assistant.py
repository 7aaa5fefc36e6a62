"""The user's calendar, reminders and notes."""

from __future__ import annotations

from backend.thinkers.base import Manifest

MANIFEST = Manifest(
    domain="assistant",
    label="Assistant",
    description=(
        "the user's calendar and diary: appointments, meetings, "
        "plans; reminders ('remind me …': set, list, cancel), with the time as "
        "it was said; their notes: to make, list or snooze one, or that it is done; also their yes or no to a change "
        "that was just asked about, with the change named in full"
    ),
    example="Put the dentist in my calendar for tomorrow at three.",
    examples=(
        "Remind me in ten minutes to take the bread out.",
        "What reminders do I have?",
        "Make a note to call the plumber.",
        "That's done.",
        "What's on my calendar tomorrow?",
        "Am I free or busy on Friday?",
        "Move my meeting to three o'clock.",
    ),
    prompt=(
        "You keep the user's calendar with the calendar tools, and their reminders with reminders. "
        "Reckon dates from today's, in the user's time zone, and "
        "send them as ISO; if a day or an hour is missing, ask for it. Before you change or delete an event, list it "
        "to get its id; if several fit, ask which. For one of a repeating event, ask whether only that one or all are "
        "meant, unless it is plain. If a tool says that the user has to agree first, nothing has been done: say "
        "exactly what would be done, with the event's title, day and time, and ask. If the conversation shows that "
        "you have asked and the user now agrees, list the event again and make the same call with the same arguments. "
        "Say only what the tools confirm as done. Their notes, things to come back to, you keep with the tool notes; "
        "what has a place and an hour, such as an appointment, is for the calendar."
    ),
    tools=(
        "reminders",
        "notes",
        "calendar_create_event",
        "calendar_list_events",
        "calendar_update_event",
        "calendar_delete_event",
        "remember_preference",
    ),
    cache_ttl_s=0,
    filler="Still looking it up.",
    preferences=("name", "time_zone"),
    phrases=(
        "Don't let me forget to call Tom at five.",
        "Set a reminder for six o'clock.",
        "Take down an idea, a shed in the yard.",
        "When do I have to be at the station?",
        "Cancel the reminder about the bread.",
        "Write down that the car needs oil.",
        "What are my notes?",
        "What have I noted?",
        "New note: the key is with Tom.",
        "Take a note that the key is under the mat.",
        "Postpone that note.",
        "Snooze it until Monday.",
        "Add an appointment with the doctor on Monday at nine.",
        "Which appointments do I have?",
        "I have a meeting at ten, enter it please.",
        "Is there anything in my diary?",
        "What do I have on Thursday?",
        "Do I have any plans?",
        "When is my meeting with Tom?",
        "Book a meeting with Tom for tomorrow.",
        "Cancel dinner with Lisa.",
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
        "What's on tomorrow?",
        "What's on today?",
        "What is planned for today?",
        "What does my week look like?",
        "How does my Tuesday look?",
        "How full is my day tomorrow?",
        "Anything on my schedule this afternoon?",
        "Do I have time on Saturday?",
        "Do I have to be anywhere today?",
        "When am I seeing the dentist?",
        "What time is my appointment?",
        "When does my train leave on Monday, it's in my calendar?",
        "What's my next meeting?",
        "Who am I meeting on Wednesday?",
        "Am I free tonight?",
        "Put the concert in my calendar.",
        "Add the party to my calendar for Saturday.",
        "Enter a conference on Monday at eight.",
        "Schedule a call with the bank for Friday.",
        "Book an appointment at the garage on Tuesday.",
        "Block two hours on Thursday morning.",
        "I have an appointment at noon, put it in.",
        "Make an appointment for a haircut.",
        "Arrange a meeting with the team at eleven.",
        "Cancel my appointment.",
        "Delete the piano lesson on Sunday.",
        "Remove the party from my calendar.",
        "Call off the meeting.",
        "Reschedule the interview.",
        "Move the lesson to Wednesday.",
        "Postpone dinner by an hour.",
        "Push the call to Thursday at five.",
        "Shift my massage to next week.",
        "Book a table for Friday at eight.",
        "Reserve the room at ten.",
        "When is my flight?",
        "Take down a thought.",
    ),
)
