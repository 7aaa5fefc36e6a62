"""Which words introduce their speaker, and which only look as if they did."""

import pytest

from backend.users.extraction import stated

NAMES = [
    ("My name is Ana.", "Ana"),
    ("my name is ana", "Ana"),
    ("my name is ana what's the weather", "Ana"),
    ("Hi, my name is Ana, what's the weather in Paris?", "Ana"),
    ("My name’s Zoë", "Zoë"),
    ("My name is Ana María López.", "Ana María López"),
    ("My name is Anne de Vries and I live in Delft", "Anne de Vries"),
    ("My name is Mary-Jane O'Neil!", "Mary-Jane O'Neil"),
    ("My name is Ana, not Anna.", "Ana"),
    ("the name is Bond", "Bond"),
    ("Call me Bob.", "Bob"),
    ("call me bob", "Bob"),
    ("My friends call me Bob.", "Bob"),
    ("My name is Robert but call me Bob", "Bob"),
    ("Call me Bob, my name is Robert.", "Bob"),
    ("I go by Sam", "Sam"),
    ("I'm called Ana", "Ana"),
    ("I'm Dana", "Dana"),
    ("I’m Dana.", "Dana"),
    ("Hey, I'm Dana Smith, what's up?", "Dana Smith"),
    ("I'm Dana from Oslo", "Dana"),
    ("This is Dana speaking", "Dana"),
    ("I'm hungry. I'm Dana.", "Dana"),
    ("I don't know, my name is Ana", "Ana"),
    ("No, I said my name is Ana!", "Ana"),
    ("Ich heiße Jürgen.", "Jürgen"),
    ("Me llamo Inés", "Inés"),
    ("Je m'appelle Chloé", "Chloé"),
]

NO_NAMES = [
    "I'm hungry",
    "I'm not sure",
    "I'm in Paris",
    "I'm from Oslo",
    "i'm dana",  # nothing distinguishes this from "i'm hungry"
    "I'm American",
    "I'm Catholic.",
    "I'm OK",
    "I'm Dana's sister",
    "I'm Bitcoin rich",
    "I'm Dana?",
    "Am I Dana?",
    "I'm a doctor",
    "I'm the Boss",
    "call me back",
    "Call me tomorrow",
    "call me a taxi",
    "call me when it rains",
    "call me crazy, but it will snow",
    "Don't call me Bob",
    "Why do you call me Bob",
    "My name is not Bob",
    "my name is spelled with two n",
    "what is my name",
    "Is my name Ana?",
    "My name is Ana?",
    "If my name is Bob, what is yours?",
    "Imagine my name is Bob",
    "She said my name is Bob",
    "His name is Bob",
    "My dog's name is Rex",
    "This is Paris",
    "My name is",
    "My name is 42",
    "",
]

HOMES = [
    ("I live in Oslo", "Oslo"),
    ("i live in seattle", "Seattle"),
    ("i live in seattle what's the weather", "Seattle"),
    ("i live in new york what's the weather", "New York"),
    ("I live in Portland, Oregon.", "Portland, Oregon"),
    ("I live in Rio de Janeiro", "Rio de Janeiro"),
    ("I live in The Hague", "The Hague"),
    ("I live in the Hague", "the Hague"),
    ("I live in Oslo, Ana lives in Bergen.", "Oslo"),
    ("We live in São Paulo", "São Paulo"),
    ("I'm based in Berlin", "Berlin"),
    ("I just moved to Madrid", "Madrid"),
    ("My home is in Bergen", "Bergen"),
    ("I live in Oslo but I'm in Paris this week", "Oslo"),
    ("My name is Ana and I live in Oslo", "Oslo"),
]

NO_HOMES = [
    "I'm in Paris",
    "What's the weather in Paris?",
    "I'm from Oslo",
    "I used to live in Oslo",
    "I would never live in Oslo",
    "I wish I live in Oslo",
    "My sister lives in Oslo",
    "I live in a small town",
    "i live in fear",
    "I live in Oslo?",
    "If I moved to Oslo, would it rain?",
    "Do I live in Oslo?",
    "I'm living in the moment",
]


def value(text: str, name: str) -> object:
    return next((update.value for update in stated(text) if update.name == name), None)


@pytest.mark.parametrize(("text", "name"), NAMES)
def test_an_introduction_gives_the_name(text: str, name: str) -> None:
    assert value(text, "name") == name


@pytest.mark.parametrize("text", NO_NAMES)
def test_other_words_give_no_name(text: str) -> None:
    assert value(text, "name") is None


@pytest.mark.parametrize(("text", "place"), HOMES)
def test_a_stated_home_gives_the_place(text: str, place: str) -> None:
    assert value(text, "default_location") == place


@pytest.mark.parametrize("text", NO_HOMES)
def test_a_passing_place_is_no_home(text: str) -> None:
    assert value(text, "default_location") is None


def test_a_name_and_a_home_may_come_in_one_sentence() -> None:
    assert [(each.name, each.value) for each in stated("My name is Ana and I live in Oslo.")] == [
        ("name", "Ana"),
        ("default_location", "Oslo"),
    ]


def test_words_that_memory_would_not_store_are_skipped() -> None:
    assert stated("My name is " + "Ana" * 50) == ()
