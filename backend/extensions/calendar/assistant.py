"""This addition gives the Thinker `assistant` the user's calendar."""

from backend.thinkers.base import Addition

CALENDAR = Addition(
    domain="assistant",
    tools=("calendar_create_event", "calendar_list_events", "calendar_update_event", "calendar_delete_event"),
    description="the user's calendar and diary: appointments, meetings, plans",
    prompt=(
        "You keep the user's calendar with the calendar tools; what has a place and an hour, such as an appointment, "
        "is for the calendar. Before you change or delete an event, list it to get its id; if several fit, ask which. "
        "For one of a repeating event, ask whether only that one or all are meant, unless it is plain. Where you have "
        "to ask, name the event's title, day and time; once the user has agreed, list the event again before you make "
        "the same call."
    ),
    examples=(
        "Put the dentist in my calendar for tomorrow at three.",
        "What's on my calendar tomorrow?",
        "Am I free or busy on Friday?",
        "Move my meeting to three o'clock.",
    ),
    phrases=(
        "When do I have to be at the station?",
        "Add an appointment with the doctor on Monday at nine.",
        "Which appointments do I have?",
        "I have a meeting at ten, enter it please.",
        "Is there anything in my diary?",
        "What do I have on Thursday?",
        "Do I have any plans?",
        "When is my meeting with Tom?",
        "Book a meeting with Tom for tomorrow.",
        "Cancel dinner with Lisa.",
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
    ),
)
ADDITIONS = (CALENDAR,)
