"""What callers might ask: natural questions over all domains, none of which stands in a rule, a manifest or a test.

Written before the routing was tuned. The even ones were looked at while tuning, the odd ones (`held_out`) were not.
"""

from __future__ import annotations

from tests.extensions.local.routed.asked import (
    SMALL_TALK,
    Asked,
    computes,
    event,
    events,
    issue,
    memory,
    news,
    note,
    reminder,
    score,
    stocks,
    weather,
)

QUESTIONS: tuple[Asked, ...] = (
    # weather
    weather("Should I take a coat with me in Helsinki?", "helsinki"),
    weather("Is it going to pour in Manchester this evening?", "manchester"),
    weather("How many degrees do they have in Cairo right now?", "cairo"),
    weather("Give me the forecast for Lisbon, would you?", "lisbon"),
    weather("I'm flying to Reykjavik on Thursday, will it be freezing there?", "reykjavik"),
    weather("Could you check if it's foggy in San Francisco?", "san francisco"),
    weather("What's it like outside in Buenos Aires?", "buenos aires"),
    weather("Do people in Mumbai need umbrellas tomorrow?", "mumbai"),
    weather("Is there any snow in Innsbruck at the moment?", "innsbruck"),
    weather("Tell me how hot it gets in Phoenix on Saturday.", "phoenix"),
    weather("Can we have a picnic in Copenhagen on Sunday or will there be showers?", "copenhagen"),
    weather("How windy is Wellington today?", "wellington"),
    weather("And tomorrow?", "oslo", "What's the weather in Oslo?"),
    weather("What about Boston?", "boston", "Is it sunny in Denver?"),
    # stocks
    stocks("What is Nvidia trading at?", "nvidia"),
    stocks("Did Tesla go up today?", "tesla"),
    stocks("How much is one share of Berkshire Hathaway?", "berkshire hathaway"),
    stocks("Tell me the current price of Netflix shares.", "netflix"),
    stocks("Has Boeing's stock fallen again?", "boeing"),
    stocks("Give me a quote for IBM.", "ibm"),
    stocks("I'd like to know what Spotify stock costs at the moment.", "spotify"),
    stocks("Are Siemens shares up or down?", "siemens"),
    stocks("What's Coca-Cola worth on the stock market?", "coca-cola"),
    stocks("Check the Airbus share price, please.", "airbus"),
    stocks("And Apple?", "apple", "What's the share price of Microsoft?"),
    stocks("What about Ford?", "ford", "How is General Motors stock today?"),
    # news
    news("What happened in the world today?"),
    news("Is there anything new about the elections?", topic="election"),
    news("Read me the latest headlines."),
    news("What are the newspapers saying about inflation?", topic="inflation"),
    news("Catch me up on current events."),
    news("Give me some science news.", category="science"),
    news("Any headlines on electric cars?", topic="electric cars"),
    news("What's going on in sports?", category="sports"),
    news("What's the latest on the Mars mission?", topic="mars mission"),
    news("I'd like to hear the business headlines.", category="business"),
    # knowledge
    Asked("How do airplanes stay in the air?", "knowledge"),
    Asked("Who painted the Mona Lisa?", "knowledge"),
    Asked("Why do cats purr?", "knowledge"),
    Asked("What's the tallest mountain in Africa?", "knowledge"),
    Asked("Explain how a refrigerator works.", "knowledge"),
    Asked("When did the Berlin Wall come down?", "knowledge"),
    Asked("How long does it take to boil an egg?", "knowledge"),
    Asked("What does the word serendipity mean?", "knowledge"),
    Asked("Could you tell me about the history of chess?", "knowledge"),
    Asked("What's a good present for a ten year old?", "knowledge"),
    Asked("How many bones does a human have?", "knowledge"),
    Asked("Which language is spoken in Brazil?", "knowledge"),
    Asked("Do you know who invented the telephone?", "knowledge"),
    Asked("What's the difference between a lake and a pond?", "knowledge"),
    # medical
    Asked("What are the symptoms of a migraine?", "medical", "pubmed_search", (("query", "migraine"),)),
    Asked("Does zinc help against a cold?", "medical", "pubmed_search", (("query", "zinc"),)),
    score("Work out my BMI, I weigh 72 kilos and I'm 175 centimeters tall.", "bmi", weight_kg="72", height_cm="175"),
    Asked("Is ibuprofen bad for the stomach?", "medical", "pubmed_search", (("query", "ibuprofen"),)),
    Asked("What do studies say about coffee and blood pressure?", "medical", "pubmed_search", (("query", "coffee"),)),
    score(
        "Can you calculate the body mass index for 95 kilograms at one meter ninety?",
        "bmi",
        weight_kg="95",
        height_cm="190",
    ),
    Asked("How is type two diabetes treated?", "medical", "pubmed_search", (("query", "diabetes"),)),
    Asked("Are there side effects of the flu vaccine?", "medical", "pubmed_search", (("query", "flu vaccine"),)),
    Asked("I have had a sore throat for a week, what could it be?", "medical"),
    Asked("What lowers cholesterol?", "medical", "pubmed_search", (("query", "cholesterol"),)),
    # reminders
    reminder("Remind me to water the plants at six.", action="create", text="water the plants", at="six"),
    reminder("In twenty minutes remind me to check the oven.", action="create", text="check the oven", at="twenty"),
    reminder(
        "I need a reminder tomorrow morning at eight to call my mother.",
        action="create",
        text="call my mother",
        at="tomorrow",
    ),
    reminder("Which reminders have I set?", action="list"),
    reminder("Don't let me forget the laundry in an hour.", action="create", text="laundry", at="hour"),
    reminder("Get rid of the reminder about the oven.", action="cancel", text="oven"),
    reminder(
        "Remind me every Sunday at seven to put the bins out.",
        action="create",
        text="put the bins out",
        repeat="weekly",
    ),
    reminder("Could you remind me about the parcel on Friday at noon?", action="create", text="parcel", at="friday"),
    # notes
    note("Write down that we're out of coffee.", action="create", text="out of coffee"),
    note("Jot down an idea: a lamp that dims itself.", action="create", text="lamp"),
    note("Read my notes to me.", action="list"),
    note("Take a note, the meter reading is four one two.", action="create", text="meter reading"),
    note("Do I have any notes?", action="list"),
    note("Put off that note until next Tuesday.", action="snooze", due="tuesday"),
    # calendar
    events("What have I got on Wednesday?", start="wednesday"),
    event("Schedule a haircut for Tuesday at four.", title="haircut", start="tuesday"),
    events("Am I busy tomorrow afternoon?", start="tomorrow"),
    event("Book a table at Luigi's on Saturday at eight.", title="luigi", start="saturday"),
    events("Which appointments are coming up next week?", start="monday"),
    event("I have a meeting with Paul tomorrow at half past ten, put it in.", title="paul", start="tomorrow"),
    events("Cancel my appointment with the dentist on Monday.", query="dentist"),
    event("Can you add a phone call with the bank on Thursday at two?", title="bank", start="thursday"),
    events("Move the team meeting to Friday at nine.", query="team meeting"),
    events("When is my next appointment?"),
    # memory
    memory("Remember that I'm allergic to peanuts.", action="create", text="peanuts"),
    memory("Keep in mind that my daughter's birthday is the third of May.", action="create", text="birthday"),
    memory("What do you know about my daughter?", action="search", query="daughter"),
    memory("Please remember my parking spot is number 42.", action="create", text="parking spot"),
    memory("Do you remember where I parked?", action="search", query="parked"),
    Asked(
        "From now on, keep your answers short.",
        "memory",
        "manage_prompt",
        (("action", "add"), ("text", "keep your answers short")),
    ),
    memory("Forget what I told you about peanuts.", action="search", query="peanuts"),
    memory("What have I told you about my family?", action="search", query="family"),
    Asked("Always call me boss.", "memory", "manage_prompt", (("action", "add"), ("text", "boss"))),
    Asked("Which personality are you using?", "memory", "get_personality"),
    # research
    Asked("Compare heat pumps and gas heating for me, thoroughly.", "research"),
    Asked("Do a thorough search on the best electric bikes.", "research"),
    Asked("Find out what different sources say about remote work.", "research"),
    Asked("Research whether school uniforms help, and take your time.", "research"),
    Asked("Look into how other countries handle plastic waste.", "research"),
    Asked("I need an overview of the studies on four day work weeks.", "research"),
    Asked("Search the web for the best hiking trails in Scotland.", "research"),
    Asked("Investigate why bees are dying.", "research"),
    # reason
    computes("Think carefully: if a shirt costs forty dollars and is thirty percent off, what do I pay?", "28"),
    computes("Think hard, what is seventeen times twenty three?", "391"),
    Asked("Here's a riddle: what has keys but can't open locks?", "reason"),
    Asked("Think it over: should I rent or buy a flat?", "reason"),
    computes("Reason step by step: five apples at two dollars each, how much change from twenty?", "10"),
    Asked("Help me weigh this up carefully, a cheap car with high taxes or an expensive one with low taxes?", "reason"),
    # tasks
    Asked("How far along is that research?", "tasks", "background_tasks", (("action", "get"),)),
    Asked("Did anything come of the search you were doing for me?", "tasks", "background_tasks", (("action", "get"),)),
    Asked("You can stop working on that research.", "tasks", "background_tasks", (("action", "cancel"),)),
    Asked("What are you still working on in the background?", "tasks", "background_tasks", (("action", "list"),)),
    Asked("Is my research finished yet?", "tasks", "background_tasks", (("action", "get"),)),
    Asked("What came of the work I asked for earlier?", "tasks", "background_tasks", (("action", "get"),)),
    # engineering
    issue("What's open in our issue tracker?", action="list"),
    issue("Read issue seven to me.", action="view", number="7"),
    issue("File a bug on GitHub: the login button does nothing.", action="create", title="login button"),
    issue("Please close issue number thirty one.", action="close", number="31"),
    issue("Which GitHub issues have been closed?", action="list", state="closed"),
    issue("Reply to issue 12 saying it's fixed in the next release.", action="comment", number="12", text="fixed"),
    # answered by the Responder itself
    Asked("Hey, good to hear you!", SMALL_TALK),
    Asked("How's your day going?", SMALL_TALK),
    Asked("That was great, thanks a million.", SMALL_TALK),
    Asked("Nice to meet you.", SMALL_TALK),
    Asked("Ok, I have to go now, see you tomorrow.", SMALL_TALK),
    Asked("What sort of things can I ask you?", SMALL_TALK),
    Asked("Tell me something funny.", SMALL_TALK),
    Asked("What's today's date?", SMALL_TALK),
)


def tuned() -> tuple[Asked, ...]:
    """The half that was looked at while the routing was tuned."""
    return QUESTIONS[::2]


def held_out() -> tuple[Asked, ...]:
    """The half that was not."""
    return QUESTIONS[1::2]
