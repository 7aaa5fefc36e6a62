"""The sentences the demonstration expects to hear: the ears' language model is built from them.

`{place}`, `{day}` and the other names in braces stand for every entry of their list. A number is a weight.
"""

from __future__ import annotations

from collections.abc import Iterator

from local_responder.dialogue.places import PLACES

DAYS = (
    *("today", "tomorrow", "tonight", "this morning", "this afternoon", "this evening", "this weekend", "next week"),
    *("on monday", "on tuesday", "on wednesday", "on thursday", "on friday", "on saturday", "on sunday", "right now"),
)
SUBJECTS = (
    *("black holes", "photosynthesis", "the moon", "the sun", "mars", "jupiter", "the solar system", "gravity"),
    *("the speed of light", "relativity", "the big bang", "dinosaurs", "evolution", "volcanoes", "earthquakes"),
    *("the roman empire", "the french revolution", "the cold war", "world war two", "ancient egypt", "the renaissance"),
    *("albert einstein", "isaac newton", "marie curie", "charles darwin", "william shakespeare", "leonardo da vinci"),
    *("mozart", "beethoven", "picasso", "napoleon", "cleopatra", "abraham lincoln", "nelson mandela", "gandhi"),
    *("artificial intelligence", "machine learning", "computers", "the internet", "electricity", "democracy"),
    *("whales", "elephants", "penguins", "bees", "coffee", "chocolate", "bread", "football", "chess", "jazz"),
    *("the ocean", "the amazon", "mount everest", "antarctica", "climate change", "rainbows", "vaccines", "dna"),
)
COUNTRIES = (
    *("france", "germany", "italy", "spain", "portugal", "england", "scotland", "ireland", "norway", "sweden"),
    *("denmark", "finland", "poland", "austria", "hungary", "greece", "turkey", "egypt", "kenya", "india"),
    *("china", "japan", "korea", "thailand", "australia", "new zealand", "canada", "mexico", "brazil", "argentina"),
    *("chile", "peru", "cuba", "russia", "ukraine", "iran", "iraq", "israel", "south africa", "the united states"),
)
WORKS = (
    *("hamlet", "macbeth", "romeo and juliet", "war and peace", "don quixote", "moby dick", "the odyssey"),
    *("pride and prejudice", "the great gatsby", "nineteen eighty four", "frankenstein", "dracula"),
)
COMPANIES = (
    *("apple", "microsoft", "google", "amazon", "tesla", "ford", "intel", "boeing", "netflix", "disney"),
    *("coca cola", "general electric", "goldman sachs", "facebook", "starbucks"),
)
TOPICS = (
    *("technology", "science", "sports", "business", "politics", "health", "space", "music", "climate"),
    *("artificial intelligence", "the economy", "europe", "africa", "asia", "america"),
)
EVENTS = (
    *("lunch with ana", "dinner with ana", "lunch with tom", "dinner with tom", "coffee with maria", "a meeting"),
    *("a meeting with ana", "a dentist appointment", "a doctor's appointment", "a haircut", "the meeting"),
)
HOURS = (
    *("noon", "one o'clock", "two o'clock", "three o'clock", "four o'clock", "five o'clock", "six o'clock"),
    *("seven o'clock", "eight o'clock", "nine o'clock", "ten o'clock", "eleven o'clock", "twelve o'clock"),
)
KILOS = (
    *("fifty", "fifty five", "sixty", "sixty five", "seventy", "seventy five", "eighty", "eighty five", "ninety"),
    *("ninety five", "one hundred", "one hundred ten", "one hundred twenty"),
)
HEIGHTS = (
    *("one meter fifty", "one meter fifty five", "one meter sixty", "one meter sixty five", "one meter seventy"),
    *("one meter seventy five", "one meter eighty", "one meter eighty five", "one meter ninety", "two meters"),
)
REMEDIES = (
    *(
        "vitamin d and colds",
        "vitamin c and colds",
        "headaches",
        "migraines",
        "asthma",
        "diabetes",
        "high blood pressure",
    ),
    *("the flu", "a fever", "coffee and the heart", "sleep and memory"),
)
ISSUES = (
    *("how cities cut their traffic", "how cities cut their traffic and what worked", "electric cars", "solar power"),
    *("remote work", "the history of jazz", "artificial intelligence", "climate change", "vaccines", "black holes"),
)
SPANS = (
    *("five seconds", "ten seconds", "twenty seconds", "thirty seconds", "a minute", "two minutes", "five minutes"),
    *("ten minutes", "twenty minutes", "half an hour", "an hour", "two hours"),
)
CHORES = (
    *("take the bread out", "call ana", "call tom", "take my pills", "water the plants", "feed the cat"),
    *("turn off the oven", "drink some water", "leave for the train", "open the window"),
)
NAMES = ("ana", "tom", "maria", "peter", "anna", "david", "sarah", "john", "emma", "paul")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
LISTS = {
    "weekday": WEEKDAYS,
    "number": NUMBERS,
    "place": tuple(place.lower() for place in PLACES),
    "day": DAYS,
    "subject": SUBJECTS,
    "country": COUNTRIES,
    "work": WORKS,
    "company": COMPANIES,
    "topic": TOPICS,
    "name": NAMES,
    "event": EVENTS,
    "hour": HOURS,
    "kilos": KILOS,
    "height": HEIGHTS,
    "remedy": REMEDIES,
    "issue": ISSUES,
    "thing": ("bike", "car", "key", "passport", "umbrella"),
    "room": ("cellar", "kitchen", "garage", "garden", "hall"),
    "span": SPANS,
    "chore": CHORES,
}

PATTERNS: tuple[tuple[str, int], ...] = (
    ("what's the weather in {place}", 8),
    ("what is the weather in {place}", 8),
    ("what's the weather like in {place}", 6),
    ("what is the weather like in {place}", 5),
    ("how's the weather in {place}", 4),
    ("how is the weather in {place}", 4),
    ("what about {place}", 3),
    ("and in {place}", 2),
    ("how about {place}", 2),
    ("tell me the weather in {place}", 2),
    ("what's the weather in {place} {day}", 1),
    ("what is the weather like in {place} {day}", 1),
    ("will it rain in {place} {day}", 1),
    ("is it going to rain in {place} {day}", 1),
    ("what will the weather be in {place} {day}", 1),
    ("what will the weather be like in {place} {day}", 1),
    ("is it raining in {place}", 3),
    ("is it cold in {place}", 2),
    ("is it hot in {place}", 2),
    ("is it sunny in {place}", 2),
    ("is it snowing in {place}", 2),
    ("is it windy in {place}", 2),
    ("how cold is it in {place}", 3),
    ("how warm is it in {place}", 3),
    ("how hot is it in {place}", 3),
    ("do i need an umbrella in {place}", 3),
    ("do i need a jacket in {place}", 2),
    ("what's the temperature in {place}", 5),
    ("what is the temperature in {place}", 4),
    ("what's the forecast for {place}", 3),
    ("what is the forecast for {place} {day}", 1),
    ("weather in {place}", 3),
    ("{place}", 1),
    ("in {place}", 1),
    ("what's the weather", 40),
    ("what's the weather like {day}", 5),
    ("tell me about {subject}", 12),
    ("what is {subject}", 6),
    ("what are {subject}", 5),
    ("who was {subject}", 5),
    ("explain {subject}", 5),
    ("can you explain {subject}", 3),
    ("how does {subject} work", 3),
    ("why is the sky blue", 60),
    ("how far away is the moon", 40),
    ("how far is the sun", 20),
    ("how old is the universe", 30),
    ("how many planets are there", 30),
    ("what is the capital of {country}", 14),
    ("what's the capital of {country}", 10),
    ("what is the population of {country}", 6),
    ("who is the president of {country}", 5),
    ("who wrote {work}", 14),
    ("what language do they speak in {country}", 4),
    ("what's the stock price of {company}", 5),
    ("what is the price of {company} stock", 4),
    ("how is {company} doing today", 3),
    ("how is {company} stock doing", 3),
    ("what's in the news", 40),
    ("what's in the news today", 30),
    ("any news about {topic}", 5),
    ("what's the latest news about {topic}", 4),
    ("give me the headlines", 20),
    ("what's in the news about {topic}", 6),
    ("my name is {name}", 5),
    ("what is my name", 30),
    ("what's my name", 30),
    ("where do i live", 20),
    ("what did i just ask", 30),
    ("what did i ask", 10),
    ("what did i just say", 20),
    ("what did we talk about", 20),
    ("my name is {name} and i live in {place}", 1),
    ("i live in {place}", 1),
    ("will it rain", 20),
    ("will it rain {day}", 4),
    ("tell me about {place}", 1),
    ("stop tell me about {place}", 1),
    ("stop what's the weather in {place}", 1),
    ("what's on my calendar", 20),
    ("what's on my calendar {day}", 6),
    ("what is on my calendar {day}", 3),
    ("do i have anything {day}", 2),
    ("add {event} {day} at {hour}", 1),
    ("cancel {event} {day}", 1),
    ("delete {event} {day}", 1),
    ("move {event} {day} to {hour}", 1),
    ("what is my body mass index at {kilos} kilos and {height}", 1),
    ("what's my body mass index at {kilos} kilos and {height}", 1),
    ("what does research say about {remedy}", 6),
    ("what helps against {remedy}", 4),
    ("research {issue}", 10),
    ("think hard three tickets cost twelve dollars each what change do i get from fifty", 10),
    ("think carefully what is {kilos} percent of two hundred", 2),
    ("remember that my sister's name is {name}", 3),
    ("remember that my {thing} is in the {room}", 1),
    ("what do you know about my sister", 12),
    ("where is my {thing}", 3),
    ("what do you remember", 8),
    ("forget that", 15),
    ("from now on answer in one sentence", 12),
    ("from now on call me captain", 6),
    ("what is your personality", 6),
    ("remind me in {span} to {chore}", 4),
    ("what reminders do i have", 10),
    ("make a note to {chore}", 5),
    ("make a note to {chore} tomorrow at {hour}", 1),
    ("what are my notes", 12),
    ("snooze it until {weekday}", 2),
    ("snooze it until tomorrow", 4),
    ("that's done", 12),
    ("it is done", 4),
    ("which issues are open on github", 8),
    ("which issues are open", 6),
    ("what does issue {number} say", 1),
    ("show me the comments on issue {number}", 1),
    ("close issue {number}", 1),
    ("cancel my reminder", 6),
    ("what about that research", 6),
    ("how is my research going", 6),
    ("cancel the research", 6),
    ("what meetings do i have {day}", 4),
    ("am i free {day}", 4),
    ("search for {subject}", 3),
    ("look up {subject}", 3),
    ("hello", 150),
    ("hello there", 40),
    ("hi", 80),
    ("hi there", 40),
    ("hey", 30),
    ("good morning", 40),
    ("good afternoon", 30),
    ("good evening", 30),
    ("how are you", 80),
    ("how are you doing", 30),
    ("how are you today", 40),
    ("yes", 150),
    ("yes please", 80),
    ("yeah", 40),
    ("no", 150),
    ("no thanks", 60),
    ("no thank you", 60),
    ("okay", 50),
    ("stop", 120),
    ("please stop", 50),
    ("wait", 50),
    ("wait a moment", 30),
    ("be quiet", 20),
    ("never mind", 40),
    ("honey can you close the door", 20),
    ("honey dinner is ready", 10),
    ("not you", 20),
    ("no not you", 10),
    ("i'm talking to my son", 10),
    ("i'm talking to my wife", 10),
    ("i'm not talking to you", 10),
    ("thanks", 100),
    ("thank you", 150),
    ("thank you very much", 60),
    ("thanks a lot", 40),
    ("goodbye", 150),
    ("bye", 80),
    ("bye bye", 40),
    ("see you later", 40),
    ("what time is it", 120),
    ("what's the time", 60),
    ("what day is it", 60),
    ("what day is it today", 40),
    ("what is the date", 40),
    ("what's the date today", 40),
    ("who are you", 120),
    ("what are you", 40),
    ("what's your name", 60),
    ("what can you do", 80),
    ("help", 40),
    ("can you help me", 40),
    ("say that again", 40),
    ("can you repeat that", 40),
    ("tell me a joke", 50),
    ("are you a real person", 30),
    ("are you there", 30),
)


def sentences() -> Iterator[tuple[str, int]]:
    """Every sentence with its weight."""
    for pattern, weight in PATTERNS:
        for sentence in _filled(pattern):
            yield sentence, weight


def _filled(pattern: str) -> Iterator[str]:
    start, end = pattern.find("{"), pattern.find("}")
    if start < 0:
        yield pattern
        return
    for words in LISTS[pattern[start + 1 : end]]:
        yield from _filled(pattern[:start] + words + pattern[end + 1 :])
